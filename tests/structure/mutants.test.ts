import assert from 'node:assert/strict'
import { test } from 'node:test'
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
  const distance = distances(files, { kubeloop: 'mod.ts' })
  assert.deepEqual(
    ['tests/a.test.ts', 'tests/b.test.ts'].map((test) => [distance(test, 'lib/x/b.ts'), distance(test, 'lib/x/c.ts')]),
    [[2, Infinity], [3, Infinity]],
  )
})
