import assert from 'node:assert/strict'
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { test } from 'node:test'
import { env, optionalEnv } from '../../lib/runtime/os/env.ts'
import { CommandNotFound, exec } from '../../lib/runtime/os/exec.ts'
import { exists, folderOf, readText, readTextIfExists, resolvePath, splitPaths } from '../../lib/runtime/os/files.ts'
import { appendText, claimFolder, createFolder, writeNew, writePrivate } from '../../lib/runtime/os/user_files.ts'
import { countedSignal } from '../async/counted_signal.ts'
import { withFolder } from '../tools/folder.ts'

const sh = (script: string, options = {}): ReturnType<typeof exec> => exec('/bin/sh', ['-c', script], options)

test('exec returns output, error output and exit code, and leaves no listener', async () => {
  const { controller: { signal }, listeners } = countedSignal()
  const result = await sh('echo out; echo err >&2; exit 3', { signal })
  assert.deepEqual(result, { code: 3, stdout: 'out\n', stderr: 'err\n' })
  assert.equal(listeners(), 0)
})

test('variables are added to the environment of this process', async () => {
  process.env['KUBELOOP_TEST_INHERITED'] = 'inherited'
  const { stdout } = await sh('echo "$KUBELOOP_TEST_INHERITED $ADDED"', { env: { ADDED: 'added' } })
  delete process.env['KUBELOOP_TEST_INHERITED']
  assert.equal(stdout, 'inherited added\n')
})

test('standard input is the given text, or empty', async () => {
  assert.equal((await sh('cat', { stdin: 'input ä' })).stdout, 'input ä')
  assert.equal((await sh('cat')).stdout, '')
  assert.equal((await sh('exit 0', { stdin: 'x'.repeat(1_000_000) })).code, 0, 'a program need not read')
})

test('a missing program is CommandNotFound', async () => {
  await assert.rejects(exec('kubeloop-no-such-program', []), (error) => {
    assert.ok(error instanceof CommandNotFound)
    assert.match(error.message, /^Cannot run "kubeloop-no-such-program": it is not installed/)
    return true
  })
})

test('a program is killed at its timeout, even if its children keep its output open', async () => {
  let expire: (() => void) | undefined
  let cleared = 0
  const after = (ms: number, fire: () => void): () => void => {
    assert.equal(ms, 5000)
    expire = fire
    return () => void cleared++
  }
  const clock = { now: () => 0, monotonic: () => 0, after }
  const run = sh('sleep 60 & sleep 60', { timeoutMs: 5000, clock })
  expire!()
  await assert.rejects(run, /^Error: Cannot run "\/bin\/sh": it took longer than 5 s$/)
  assert.equal(cleared, 1)
})

test('an abort kills the program and rejects with its reason', async () => {
  const controller = new AbortController()
  const run = sh('sleep 60', { signal: controller.signal })
  const reason = new Error('stop')
  controller.abort(reason)
  await assert.rejects(run, (error) => error === reason)
})

test('a program that writes too much is killed, and the error has none of its output', async () => {
  for (const [options, limit] of [[{ maxBytes: 10_000 }, 10_000], [{}, 2 ** 20]] as const) {
    assert.equal((await sh(`head -c ${limit} /dev/zero`, options)).stdout.length, limit)
    await assert.rejects(sh('yes secret', options), (error) => {
      assert.match(String(error), new RegExp(`it printed more than ${limit} bytes`))
      assert.doesNotMatch(String(error), /secret/)
      return true
    })
  }
})

test('a private file is readable only by its owner, also one that was public, and is replaced atomically', () =>
  withFolder(async (folder) => {
    const file = join(folder, 'deep', 'kubeconfig')
    await writePrivate(file, 'one')
    assert.equal(statSync(file).mode & 0o777, 0o600)
    chmodSync(file, 0o644)
    await writePrivate(file, 'two')
    assert.equal(readFileSync(file, 'utf8'), 'two')
    assert.equal(statSync(file).mode & 0o777, 0o600)
    assert.deepEqual(readdirSync(join(folder, 'deep')), ['kubeconfig'])
  }))

test('a folder that the system does not allow is refused, and those above a new one are created once', () =>
  withFolder(async (folder) => {
    const deep = join(folder, 'a', 'b', 'c')
    const made = await Promise.all([createFolder(deep), createFolder(deep), createFolder(join(folder, 'a', 'd'))])
    assert.deepEqual(made, [join(folder, 'a'), undefined, join(folder, 'a', 'd')])
    writeFileSync(join(folder, 'file'), '')
    await assert.rejects(createFolder(join(folder, 'file')), /EEXIST|exists/)
    if (process.platform !== 'linux') return
    for (const write of [createFolder, writeNew, writePrivate, claimFolder]) {
      await assert.rejects(write('/proc/none/at/all', '', ''), /ENOENT|No such file/i)
    }
    assert.throws(() => appendText('/proc/none/at/all', ''), /ENOENT|No such file/i)
  }))

test('one of several claims of a folder succeeds, and no process sees it without its file', () =>
  withFolder(async (folder) => {
    const lock = join(folder, 'a', 'lock')
    const claims = ['1', '2', '3'].map(async (text) =>
      [await claimFolder(lock, 'pid', text), readFileSync(join(lock, 'pid'), 'utf8') === text] as const
    )
    const outcomes = await Promise.all(claims)
    assert.deepEqual(outcomes.toSorted(), [[false, false], [false, false], [true, true]])
    assert.deepEqual(readdirSync(join(folder, 'a')), ['lock'])
  }))

test('a failed write leaves nothing behind', () =>
  withFolder(async (folder) => {
    await writePrivate(join(folder, 'folder', 'x'), '')
    await assert.rejects(writePrivate(join(folder, 'folder'), 'text'))
    assert.deepEqual(readdirSync(folder), ['folder'])
  }))

test('missing files are distinguished from unreadable ones', () =>
  withFolder(async (folder) => {
    assert.equal(await readTextIfExists(join(folder, 'none')), undefined)
    assert.equal(await exists(join(folder, 'none')), false)
    assert.equal(await exists(folder), true)
    await assert.rejects(readTextIfExists(folder), (error) =>
      error instanceof Error && 'code' in error && error.code === 'EISDIR')
    await assert.rejects(readText(join(folder, 'none')), (error) =>
      error instanceof Error && 'code' in error && error.code === 'ENOENT')
  }))

test('paths are resolved, split and reduced to their folder', () => {
  assert.equal(resolvePath('/etc/kube', '../ca.crt'), '/etc/ca.crt')
  assert.equal(resolvePath('/etc/kube', '/ca.crt'), '/ca.crt')
  assert.equal(resolvePath('.', 'ca.crt'), 'ca.crt')
  assert.equal(folderOf('/etc/kube/config'), '/etc/kube')
  assert.deepEqual(splitPaths('/a::/b'), ['/a', '/b'])
})

test('unset and empty variables are the same', () => {
  process.env['KUBELOOP_TEST'] = 'x'
  assert.deepEqual([env('KUBELOOP_TEST'), optionalEnv('KUBELOOP_TEST')], ['x', 'x'])
  process.env['KUBELOOP_TEST'] = ''
  assert.deepEqual([env('KUBELOOP_TEST'), optionalEnv('KUBELOOP_TEST')], [undefined, undefined])
  delete process.env['KUBELOOP_TEST']
  assert.equal(env('KUBELOOP_TEST'), undefined)
})
