import assert from 'node:assert/strict'
import { posix } from 'node:path'
import { test } from 'node:test'
import { checkLayers, MAX_VALUES } from './layer_rules.ts'
import { JOBS, mapOf, ROWS } from './rooms.ts'
import { readFacts } from './source_facts.ts'
import { readTree } from '../tools/tree.ts'

test('mod.ts and lib keep the layers', () => {
  const files = readTree(['mod.ts', 'lib'], /\.(ts|js)$/)
  assert.ok(files.size > 20, `only ${files.size} files were found`)
  assert.deepEqual(checkLayers(files), [])
})

test('the map in docs/architecture.md has each folder of lib, from the top row down', () => {
  const folders = new Set(
    [...readTree(['lib'], /\.(ts|js)$/).keys()].flatMap((path) => {
      const [, ...parts] = posix.dirname(path).split('/')
      return parts.map((_, at) => parts.slice(0, at + 1).join('/'))
    }),
  )
  assert.deepEqual(Object.keys(JOBS).toSorted(), [...folders].toSorted())
  assert.ok(
    readTree(['docs'], /architecture\.md$/).get('docs/architecture.md')?.includes(`\n${mapOf()}\n`),
    'run `node tests/tools/map.ts`',
  )
  const rows = Object.keys(JOBS).map((path) => ROWS.findIndex((row) => row.includes(path.split('/')[0]!)))
  assert.deepEqual(rows, rows.toSorted((a, b) => b - a))
})

test('a folder imports from itself and from lower rows', () => {
  assert.deepEqual(
    check({
      'lib/queue/a.ts': `import { b } from './b.ts'\nimport type { c } from '../core/c.ts'`,
      'lib/queue/b.ts': '',
      'lib/core/c.ts': '',
    }),
    [],
  )
  assert.deepEqual(check({ 'lib/core/a.ts': `import type { b } from '../queue/b.ts'`, 'lib/queue/b.ts': '' }), [
    'lib/core/a.ts:1 core (row 0) imports lib/queue/b.ts (row 2)',
  ])
  assert.deepEqual(check({ 'lib/queue/a.ts': `\nexport { b } from '../client/b.ts'`, 'lib/client/b.ts': '' }), [
    'lib/queue/a.ts:2 queue (row 2) imports lib/client/b.ts (row 2)',
  ])
  assert.deepEqual(check({ 'lib/core/a.ts': `type B = import('../async/b.ts').B`, 'lib/async/b.ts': '' }), [
    'lib/core/a.ts:1 core (row 0) imports lib/async/b.ts (row 1)',
  ])
  assert.deepEqual(check({ 'lib/core/a.ts': `await import('../async/b.ts')`, 'lib/async/b.ts': '' }), [
    'lib/core/a.ts:1 core (row 0) imports lib/async/b.ts (row 1)',
  ])
})

test('the operator imports the manager, never the reverse', () => {
  assert.deepEqual(check({ 'lib/operator/a.ts': `import '../manager/b.ts'`, 'lib/manager/b.ts': '' }), [])
  assert.deepEqual(check({ 'lib/manager/a.ts': `import '../operator/b.ts'`, 'lib/operator/b.ts': '' }), [
    'lib/manager/a.ts:1 manager (row 5) imports lib/operator/b.ts (row 5)',
  ])
})

test('the embedded API and the kinds import fewer folders than those of lower rows', () => {
  const api = 'it may use core, async, observe, runtime only'
  assert.deepEqual(check({ 'lib/apiserver/a.ts': `import '../client/b.ts'`, 'lib/client/b.ts': '' }), [
    `lib/apiserver/a.ts:1 apiserver imports lib/client/b.ts: ${api}`,
  ])
  assert.deepEqual(check({ 'lib/kinds/a.ts': `import '../async/b.ts'`, 'lib/async/b.ts': '' }), [
    'lib/kinds/a.ts:1 kinds imports lib/async/b.ts: it may use core only',
  ])
})

test('the embedded API has one way in, by its name, and rows inside', () => {
  const files = {
    'lib/apiserver/mod.ts': '',
    'lib/apiserver/model/b.ts': '',
    'lib/apiserver/verbs/b.ts': '',
    'lib/apiserver/wire/b.ts': '',
    'lib/apiserver/wire/deep/b.ts': '',
  }
  assert.deepEqual(check({ ...files, 'lib/cli/a.ts': `import type { b } from '../apiserver/model/b.ts'` }), [
    'lib/cli/a.ts:1 imports lib/apiserver/model/b.ts: the way in is "kubeloop/apiserver"',
  ])
  assert.deepEqual(check({ ...files, 'lib/cli/a.ts': `import type { b } from '../apiserver/mod.ts'` }).length, 1)
  assert.deepEqual(check({ ...files, 'lib/apiserver/a.ts': `import './verbs/b.ts'` }), [])
  assert.deepEqual(check({ ...files, 'lib/apiserver/verbs/a.ts': `import './b.ts'\nimport '../wire/b.ts'` }), [])
  assert.deepEqual(check({ ...files, 'lib/apiserver/wire/deep/a.ts': `import '../b.ts'` }), [])
  assert.deepEqual(check({ ...files, 'lib/apiserver/wire/a.ts': `import type { b } from '../verbs/b.ts'` }), [
    'lib/apiserver/wire/a.ts:1 wire (row 2) imports lib/apiserver/verbs/b.ts (row 6)',
  ])
  assert.deepEqual(check({ ...files, 'lib/apiserver/wire/a.ts': `import '../mod.ts'` }), [
    'lib/apiserver/wire/a.ts:1 wire (row 2) imports lib/apiserver/mod.ts (row 9)',
  ])
  assert.deepEqual(check({ ...files, 'lib/apiserver/other/a.ts': `import '../model/b.ts'` }), [
    'lib/apiserver/other/a.ts:1 other is a folder without a row',
  ])
})

test('node modules and runtime globals stay in lib/runtime', () => {
  assert.deepEqual(check({ 'lib/runtime/a.ts': `import 'node:fs'\nprocess.exit()\nBuffer.from('')` }), [])
  assert.deepEqual(check({ 'lib/core/a.ts': `import 'node:fs'` }), [
    'lib/core/a.ts:1 imports node:fs: node modules are for lib/runtime',
  ])
  for (const name of ['process', 'Buffer', 'Deno', 'Bun', '__dirname', 'globalThis.process']) {
    const text = `const x = ${name}.y`
    assert.deepEqual(check({ 'lib/core/a.ts': text }), [
      `lib/core/a.ts:1 uses ${name.replace('globalThis.', '')}: runtime globals are for lib/runtime`,
    ], text)
  }
  assert.deepEqual(check({ 'lib/core/a.ts': `type X = typeof process` }).length, 1)
  for (
    const text of [
      'x.process()',
      'const x = { process: 1 }',
      'interface X { process: string }',
      'function f(process: () => void) { process() }',
      '// process.exit()',
      `'process'`,
    ]
  ) {
    assert.deepEqual(check({ 'lib/core/a.ts': text }), [], text)
  }
})

test('only the launcher may use them, as it runs before lib/runtime can be loaded', () => {
  const text = `import fs from 'node:fs'\nprocess.exit()`
  assert.deepEqual(check({ 'lib/cli/bin.js': text }), [])
  assert.equal(check({ 'lib/cli/main.ts': text }).length, 2)
})

test('time is a parameter', () => {
  for (const call of ['setTimeout(f)', 'Date.now()', 'performance.now()', 'new Date()', 'AbortSignal.timeout(1)']) {
    assert.equal(check({ 'lib/core/a.ts': call }).length, 1, call)
    assert.equal(check({ 'lib/async/clock.ts': call }).length, 0, call)
  }
  assert.deepEqual(check({ 'lib/core/a.ts': 'new Date(ms)\nclock.now()' }), [])
  assert.match(check({ 'lib/core/a.ts': 'AbortSignal.any([])' })[0] ?? '', /it leaks/)
})

test('other packages are imported dynamically', () => {
  assert.deepEqual(
    check({ 'lib/schema/a.ts': `import * as z from 'zod/v4/core'`, 'lib/config/a.ts': `await import('croner')` }),
    [],
  )
  assert.deepEqual(check({ 'lib/config/a.ts': `import { Cron } from 'croner'` }), [
    'lib/config/a.ts:1 imports "croner" statically: import it dynamically',
  ])
  assert.deepEqual(check({ 'lib/schema/a.ts': `import * as z from 'zod'` }), [
    'lib/schema/a.ts:1 imports the package "zod"',
  ])
  assert.deepEqual(check({ 'lib/config/a.ts': `const name = '@kubernetes/' + 'client-node'\nawait import(name)` }), [])
  assert.deepEqual(check({ 'lib/core/a.ts': `await import(name)` }), ['lib/core/a.ts:1 imports a computed name'])
})

test('only the top row imports the package by its name', () => {
  const parts = { 'lib/apiserver/mod.ts': '', 'lib/testing/mod.ts': '' }
  assert.deepEqual(check({ ...parts, 'lib/cli/a.ts': `import { x } from 'kubeloop'\nimport 'kubeloop/apiserver'` }), [])
  assert.deepEqual(check({ ...parts, 'lib/operator/a.ts': `import { x } from 'kubeloop/apiserver'` }), [
    'lib/operator/a.ts:1 imports "kubeloop/apiserver" by name: only cli, testing, simcluster, parts may',
  ])
  assert.match(
    check({ 'lib/testing/mod.ts': '', 'lib/testing/a.ts': `import 'kubeloop/testing'` })[0] ?? '',
    /its own folder/,
  )
})

test('a cycle is found, also through types and the package name', () => {
  assert.deepEqual(check({ 'lib/core/a.ts': `import './b.ts'`, 'lib/core/b.ts': `import type { A } from './a.ts'` }), [
    'cycle: lib/core/a.ts → lib/core/b.ts → lib/core/a.ts',
  ])
  const byName = { 'lib/cli/a.ts': `import 'kubeloop/testing'`, 'lib/testing/mod.ts': `import '../cli/a.ts'` }
  assert.ok(check(byName).some((problem) => problem.startsWith('cycle: ')))
})

test('paths have an extension and exist', () => {
  assert.deepEqual(check({ 'lib/core/a.ts': `import './b'` }), [`lib/core/a.ts:1 imports "./b" without its extension`])
  assert.deepEqual(check({ 'lib/core/a.ts': `import './b.ts'` }), [
    'lib/core/a.ts:1 imports lib/core/b.ts, which does not exist',
  ])
  assert.deepEqual(
    check({
      'lib/unheard_of/a.ts': `import '../core/a.ts'`,
      'lib/core/a.ts': `import '../unheard_of/b.ts'`,
      'lib/unheard_of/b.ts': '',
    })
      .length,
    1,
  )
})

test('mod.ts is a list of names', () => {
  const files = { 'lib/core/a.ts': '' }
  assert.deepEqual(
    check({
      ...files,
      'mod.ts': `export { a, type b } from './lib/core/a.ts'\nexport type { c } from './lib/core/a.ts'`,
    }),
    [],
  )
  assert.deepEqual(check({ ...files, 'mod.ts': `export * from './lib/core/a.ts'` }), [
    'mod.ts exports *: name each export',
  ])
  assert.deepEqual(check({ ...files, 'mod.ts': `export const a = 1` }), [
    'mod.ts has 1 statements besides exports of names',
  ])
  const many = Array.from({ length: MAX_VALUES + 1 }, (_, at) => `n${at}`).join(', ')
  assert.deepEqual(check({ ...files, 'mod.ts': `export { ${many} } from './lib/core/a.ts'` }), [
    `mod.ts exports ${MAX_VALUES + 1} values, more than ${MAX_VALUES}`,
  ])
  const types = `export type { ${many} } from './lib/core/a.ts'\nexport { ${
    many.replaceAll('n', 'type m')
  } } from './lib/core/a.ts'`
  assert.deepEqual(check({ ...files, 'mod.ts': types }), [])
  assert.deepEqual(
    check({
      ...files,
      'mod.ts': `${types}\nexport { ${
        many.replaceAll('n', 'v')
      } } from './lib/core/a.ts'\nexport * as more from './lib/core/a.ts'`,
    }),
    [
      `mod.ts exports ${MAX_VALUES + 2} values, more than ${MAX_VALUES}`,
    ],
  )
  assert.deepEqual(
    check({ ...files, 'mod.ts': `export { a } from './lib/core/a.ts'\nexport { b as a } from './lib/core/a.ts'` }),
    [
      'mod.ts exports twice: a',
    ],
  )
  assert.deepEqual(checkLayers(new Map()), ['mod.ts is missing'])
})

test('an operator under kubeloop dev does not load the embedded API: it starts again with each save', () => {
  const files = readTree(['lib'], /\.ts$/)
  const loaded = loadedBy('lib/cli/dev/child/preload.ts', files)
  assert.ok(loaded.size > 50, `only ${loaded.size} files were found`)
  assert.deepEqual([...loaded].filter((file) => /^lib\/apiserver\/|^kubeloop\/apiserver$/.test(file)), [])
})

/** Returns the files that a file loads at once or later, and the packages. */
function loadedBy(start: string, files: ReadonlyMap<string, string>): ReadonlySet<string> {
  const loaded = new Set([start])
  for (const file of loaded) {
    const text = files.get(file)
    if (text === undefined) continue
    for (const { specifier, how } of readFacts(file, text).imports) {
      if (specifier === undefined || how === 'type') continue
      loaded.add(specifier.startsWith('.') ? posix.join(posix.dirname(file), specifier) : specifier)
    }
  }
  return loaded
}

test('the names of imports are read', () => {
  const { imports } = readFacts(
    'a.ts',
    `import { a, type B, c as d } from './x.ts'\nimport { type E } from './y.ts'\nimport * as f from './z.ts'`,
  )
  assert.deepEqual(imports.map(({ how, names }) => [how, names.join()]), [['static', 'a,c'], ['type', ''], [
    'static',
    '',
  ]])
})

function check(files: Readonly<Record<string, string>>): string[] {
  return checkLayers(new Map(Object.entries({ 'mod.ts': '', ...files })))
}
