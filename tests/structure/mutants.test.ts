import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { withFolder } from '../tools/folder.ts'
import { Children } from '../tools/mutate/children.ts'
import { mutantsOf } from '../tools/mutate/mutants.ts'
import { distances } from '../tools/mutate/nearest.ts'

function planted(text: string): string[] {
  return mutantsOf('a.ts', text).map(({ start, end, text: to }) => text.slice(0, start) + to + text.slice(end))
}

test('each kind of bug is planted, one at a time', () => {
  assert.deepEqual(planted('if (a < b) c()'), ['if (false) c()', 'if (a <= b) c()', 'if (a < b) ;'])
  assert.deepEqual(planted('x = a ?? !b'), ['x = a', 'x = a ?? b'])
  assert.deepEqual(planted('x = a ? b : c'), ['x = (b)', 'x = (c)'])
  assert.deepEqual(planted('x = [a, b]'), ['x = [b]', 'x = [a]'])
  assert.deepEqual(planted('x = { a, b: 1 }'), ['x = { b: 1 }', 'x = { a }', 'x = { a, b: 2 }'])
  assert.deepEqual(planted('x = `${a}/${b}`'), ["x = `${''}/${b}`", "x = `${a}/${''}`"])
  assert.deepEqual(planted('x = true'), ['x = false'])
})

test('types, imports, log lines and errors stay', () => {
  const kept =
    `import { a, b } from 'c'\ninterface A { b: true }\nthis.#log.warn(\`\${a}\${b}\`)\nthrow new Error(1 + 2)`
  assert.deepEqual(planted(kept), [])
})

test('the distance to a source is the number of imports on the shortest way, through entries too', () => {
  const files = new Map([
    ['tests/a.test.ts', `import '../lib/x/a.ts'\nimport type { T } from '../lib/x/c.ts'`],
    ['tests/b.test.ts', `import 'kubeloop'`],
    ['mod.ts', `export { a } from './lib/x/a.ts'`],
    ['lib/x/a.ts', `import './b.ts'`],
    ['lib/x/b.ts', ''],
    ['lib/x/c.ts', ''],
  ])
  const importsOf = distances(files, { kubeloop: 'mod.ts' })
  assert.deepEqual(
    ['tests/a.test.ts', 'tests/b.test.ts'].map((test) =>
      ['b', 'c'].map((name) => importsOf(test).get(`lib/x/${name}.ts`))
    ),
    [[2, undefined], [3, undefined]],
  )
})

test('a bug is found by a test that fails with it and not without it; one that no test notices survives', async () => {
  const source = 'export const isLarge = (size: number) => size > 3\n'
  const tests = `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isLarge } from '../../lib/room/a.ts'
let runs = 0
test('fails in its third run', () => void (isLarge(++runs) || runs === 3 && assert.fail()))
test('4 is large, 2 is not', () => assert.deepEqual([4, 2].map(isLarge), [true, false]))
`
  await withFolder(async (folder) => {
    for (const [path, text] of [['lib/room/a.ts', source], ['tests/room/a.test.ts', tests]] as const) {
      mkdirSync(join(folder, path, '..'), { recursive: true })
      writeFileSync(join(folder, path), text)
    }
    const children = new Children(folder, ['room'])
    try {
      const measured = await children.measure('tests/room/a.test.ts')
      const finders: (string | undefined)[] = []
      for (const index of mutantsOf('a.ts', source).keys()) {
        finders.push(await children.firstFailure('lib/room/a.ts', index, measured!))
      }
      assert.deepEqual(finders, [undefined, 'tests/room/a.test.ts: 4 is large, 2 is not'])
    } finally {
      children.end()
    }
  })
})
