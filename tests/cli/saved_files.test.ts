import assert from 'node:assert/strict'
import { appendFileSync, copyFileSync, mkdirSync, readFileSync, renameSync } from 'node:fs'
import { symlinkSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { FakeClock } from 'kubeloop/testing'
import { importedFiles } from '../../lib/cli/dev/import_graph.ts'
import { type Saved, SavedFiles, savedFilesOf } from '../../lib/cli/dev/saved_files.ts'
import { withFolder } from '../tools/folder.ts'
import { WAYS } from './saving.ts'

/** Returns files in memory, and a clock that the test advances. */
function memory(
  isLoading: () => boolean = () => false,
): {
  files: Map<string, string>
  clock: FakeClock
  saved: SavedFiles
  versions: Map<string, number>
  save(file: string, text: string | undefined): void
} {
  const clock = new FakeClock()
  const files = new Map([['a.ts', 'a'], ['b.ts', 'b']])
  const versions = new Map<string, number>()
  const stamp = (file: string): string | undefined => (files.get(file) ? `${versions.get(file) ?? 0}` : undefined)
  const saved = new SavedFiles({
    clock,
    isLoading,
    scan: () =>
      Promise.resolve({
        texts: new Map([...files]),
        stamps: new Map([...files.keys()].map((file) => [file, stamp(file)])),
      }),
    disk: {
      poll: (wanted) => Promise.resolve(new Map([...wanted].map((file) => [file, stamp(file)]))),
      read: (file) => Promise.resolve(files.get(file)),
    },
  })
  return {
    files,
    clock,
    saved,
    versions,
    save(file, text) {
      versions.set(file, (versions.get(file) ?? 0) + 1)
      if (text === undefined) files.delete(file)
      else files.set(file, text)
    },
  }
}

/** Returns a function that returns what `next` has resolved with so far. */
function resultOf(saved: SavedFiles, signal: AbortSignal = new AbortController().signal): () => Saved | undefined {
  let heard: Saved | undefined
  void saved.next(signal).then((value) => (heard = value), () => {})
  return () => heard
}

test('a save is noticed when the file no longer changes', async () => {
  const { clock, saved, save } = memory()
  await saved.begin()
  const result = resultOf(saved)
  await clock.advance(60_000)
  assert.equal(result(), undefined)
  save('b.ts', 'b2')
  await clock.advance(190)
  assert.equal(result(), undefined)
  save('b.ts', 'b3')
  await clock.advance(50)
  assert.equal(result(), undefined, 'it was saved again meanwhile')
  await clock.advance(100)
  assert.deepEqual(result()?.files, ['b.ts'])
  assert.equal(clock.pending, 0)
})

test('a save before next is called, or between two processes, is noticed by the next call', async () => {
  const { clock, saved, save } = memory()
  await saved.begin()
  save('a.ts', 'a2')
  const first = resultOf(saved)
  await clock.advance(300)
  assert.deepEqual(first()?.files, ['a.ts'])
  await saved.begin()
  const second = resultOf(saved)
  await clock.advance(1000)
  assert.equal(second(), undefined)
  save('a.ts', 'a3')
  await clock.advance(300)
  assert.deepEqual(second()?.files, ['a.ts'])
})

test('next waits for a missing or empty file for one second', async () => {
  for (const during of [undefined, '']) {
    const { clock, saved, save } = memory()
    await saved.begin()
    const result = resultOf(saved)
    save('a.ts', during)
    await clock.advance(900)
    assert.equal(result(), undefined)
    save('a.ts', 'whole')
    await clock.advance(150)
    assert.deepEqual(result()?.files, ['a.ts'])
    await saved.begin()
    const gone = resultOf(saved)
    save('a.ts', during)
    await clock.advance(1300)
    assert.deepEqual(gone()?.files, ['a.ts'])
  }
})

test('while a process loads, only a changed text counts, so that a process that writes a module at its start does not restart forever', async () => {
  let loading = true
  const { clock, saved, save } = memory(() => loading)
  await saved.begin()
  const result = resultOf(saved)
  save('b.ts', 'b')
  await clock.advance(5000)
  loading = false
  await clock.advance(5000)
  assert.equal(result(), undefined, 'nor later')
  loading = true
  save('b.ts', 'other')
  await clock.advance(300)
  assert.deepEqual(result()?.files, ['b.ts'])
  loading = false
  await saved.begin()
  const later = resultOf(saved)
  save('b.ts', 'other')
  await clock.advance(300)
  assert.deepEqual(later()?.files, ['b.ts'], 'a save without a change restarts the process')
})

test('an abort ends the wait and leaves no timer', async () => {
  const { clock, saved, save } = memory()
  await saved.begin()
  const scope = new AbortController()
  const reason = new Error('the end')
  const waiting = assert.rejects(saved.next(scope.signal), reason)
  save('a.ts', undefined)
  await clock.advance(200)
  scope.abort(reason)
  await waiting
  assert.equal(clock.pending, 0)
})

interface Disk {
  path(name: string): string
  /** Returns the files that were saved since the last call. Advances the clock until there is one, for up to three seconds. */
  next(): Promise<readonly string[]>
}

function onDisk(
  write: (path: (name: string) => string) => void,
  use: (disk: Disk) => Promise<void>,
): Promise<void> {
  return withFolder(async (folder) => {
    const path = (name: string): string => join(folder, name)
    const clock = new FakeClock()
    const scope = new AbortController()
    write(path)
    const saved = savedFilesOf(path('operator.ts'), clock, () => false)
    await saved.begin()
    const next = async (): Promise<readonly string[]> => {
      const result = resultOf(saved, scope.signal)
      // The files are real, so give the polls after each step of the clock time to finish.
      for (let ms = 0; ms < 3000 && !result(); ms += 50) {
        await clock.advance(50)
        for (let look = 0; look < 10; look++) await stat(folder)
      }
      await saved.begin()
      return result()?.files ?? []
    }
    await use({ path, next }).finally(() => scope.abort())
  })
}

for (const [how, save] of Object.entries(WAYS)) {
  test(`six saves are noticed, each once: ${how}`, async () => {
    await onDisk((path) => {
      writeFileSync(path('operator.ts'), `import './greeting.ts'\n`)
      writeFileSync(path('greeting.ts'), 'export {}\n')
    }, async ({ path, next }) => {
      for (let n = 1; n <= 6; n++) {
        const file = path(n % 2 ? 'operator.ts' : 'greeting.ts')
        // Each text has another size, because file times have a resolution of some milliseconds, and real saves are slower.
        save(file, `${n % 2 ? `import './greeting.ts'` : 'export {}'} // ${'.'.repeat(n)}\n`)
        assert.deepEqual(await next(), [file], `save ${n}`)
      }
      writeFileSync(path('other.ts'), '')
      assert.deepEqual(await next(), [])
    })
  })
}

test('files with every extension are looked for, and aliases in every file that may have them', async () => {
  const ends = ['ts', 'tsx', 'mts', 'js', 'mjs', 'jsx', 'json']
  const texts = new Map([['/op.ts', `import './b'`], ['/x/op.ts', `import 'c'`]])
  const read = (file: string) => Promise.resolve(texts.get(file))
  const found = async (
    entry: string,
  ) => [
    ...(await importedFiles(entry, { read, modulesBelow: async () => [], realFolder: async () => undefined })).keys(),
  ]
  assert.deepEqual(await found('/op.ts'), [
    ...['/op.ts', '/b', ...ends.map((end) => `/b.${end}`), ...ends.map((end) => `/b/index.${end}`)],
  ])
  for (const name of ['/package.json', '/deno.json', '/deno.jsonc']) {
    texts.set(name, '{ "imports": { "c": "./c.ts" } }')
    assert.deepEqual(await found('/x/op.ts'), ['/x/op.ts', name, '/c.ts'])
    texts.delete(name)
  }
})

const IMPORTED = ['a.ts', 'b.ts', 'c/index.ts', 'd.json', 'e.ts', 'one.ts', 'f.ts', 'deep/g.ts']

test('every file that an operator imports is watched, wherever it is and whatever its name is', async () => {
  await onDisk((path) => {
    for (const folder of ['node_modules/@acme', 'node_modules/theirs', 'packages/shared/src', 'lib/deep']) {
      mkdirSync(path(folder), { recursive: true })
    }
    writeFileSync(
      path('package.json'),
      JSON.stringify({ imports: { '#lib/*': './lib/*', '#one': { default: './lib/one.ts' } } }),
    )
    const paths = '"baseUrl": "./lib", /* as "tsc --init" writes it, */ "paths": { "~/*": ["*"], },'
    writeFileSync(path('tsconfig.json'), `{ \n// as everywhere\n"compilerOptions": { ${paths} } }`)
    writeFileSync(
      path('operator.ts'),
      [
        `import type { A } from './lib/a.ts'`,
        `export * from "./lib/b.js"`,
        `const c = await import('./lib/c')`,
        `import data from './lib/d.json' with { type: 'json' }`,
        `import '#lib/e.ts'`,
        `import '#one'`,
        `import { f } from '~/f'`,
        `import g from '@acme/shared'`,
        `import h from 'theirs'`,
        `import 'node:fs'`,
        `import './later.ts'`,
      ].join('\n'),
    )
    for (const name of IMPORTED) {
      mkdirSync(join(path('lib'), name, '..'), { recursive: true })
      writeFileSync(path(`lib/${name}`), name === 'a.ts' ? `import './deep/g.ts'\nimport '../operator.ts'` : '{}')
    }
    writeFileSync(path('packages/shared/src/mod.ts'), '{}')
    writeFileSync(path('node_modules/theirs/index.js'), '{}')
    symlinkSync(path('packages/shared'), path('node_modules/@acme/shared'))
  }, async ({ path, next }) => {
    for (
      const name of [
        ...IMPORTED.map((each) => `lib/${each}`),
        'packages/shared/src/mod.ts',
        'package.json',
        'tsconfig.json',
      ]
    ) {
      appendFileSync(path(name), ' ')
      assert.deepEqual(await next(), [path(name)], name)
    }
    appendFileSync(path('node_modules/theirs/index.js'), ' ')
    assert.deepEqual(await next(), [])
    writeFileSync(path('later.ts'), `import './even_later.ts'`)
    assert.deepEqual(await next(), [path('later.ts')], 'a file that was missing')
    writeFileSync(path('even_later.ts'), 'export {}')
    assert.deepEqual(await next(), [path('even_later.ts')], 'what a saved file imports')
    utimesSync(path('operator.ts'), 1, 1)
    assert.deepEqual(await next(), [path('operator.ts')], 'a file from an archive has an old time')
    unlinkSync(path('lib/e.ts'))
    assert.deepEqual(await next(), [path('lib/e.ts')])
    copyFileSync(path('lib/a.ts'), path('lib/e.ts'))
    renameSync(path('lib/e.ts'), path('lib/f.ts'))
    assert.deepEqual(await next(), [path('lib/f.ts')])
    assert.match(readFileSync(path('lib/f.ts'), 'utf8'), /deep/)
  })
})
