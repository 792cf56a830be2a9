/** Rules for all examples. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT } from '../tools/tree.ts'

const EXAMPLES = readdirSync(join(ROOT, 'examples')).filter((name) => name.endsWith('.ts')).sort()

test('the examples are numbered, at most 60 lines long, and begin with a sentence', () => {
  assert.ok(EXAMPLES.length >= 7, `there are ${EXAMPLES.length}`)
  for (const [i, name] of EXAMPLES.entries()) {
    const lines = readFileSync(join(ROOT, 'examples', name), 'utf8').trimEnd().split('\n')
    assert.ok(name.startsWith(`${i + 1}_`), `${name} is number ${i + 1}`)
    assert.ok(lines.length <= 60, `${name} has ${lines.length} lines`)
    assert.match(lines[0]!, /^\/\/ [A-Z].*\.$/, name)
  }
})

test('every example has a test that runs it', () => {
  const tests = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.test.ts')).map((name) =>
    readFileSync(join(import.meta.dirname, name), 'utf8')
  )
  for (const name of EXAMPLES) {
    assert.ok(
      tests.some((text) =>
        text.includes(`from '../../examples/${name}'`) || text.includes(`import '../../examples/${name}'`)
      ),
      name,
    )
  }
})
