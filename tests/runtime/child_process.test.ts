import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { test } from 'node:test'
import { guardProcesses, startProcess } from '../../lib/runtime/os/child_process.ts'
import { killProcess, processExists } from '../../lib/runtime/os/this_runtime.ts'
import { withFolder } from '../tools/folder.ts'

test('a process that another user owns exists, and cannot be killed', () => {
  const { kill } = process
  const refusing = (code: string) => () => {
    throw Object.assign(new Error('no'), { code })
  }
  try {
    for (const [code, exists] of [['EPERM', true], ['ESRCH', false]] as const) {
      process.kill = refusing(code)
      assert.equal(processExists(1), exists)
      if (exists) assert.throws(() => killProcess(1), /no/)
      else killProcess(1)
    }
  } finally {
    process.kill = kill
  }
})

test('a process writes its output to a private file, and reports how it ended; a missing program is an error', () =>
  withFolder(async (folder) => {
    const output = join(folder, 'log')
    writeFileSync(output, 'before\n', { mode: 0o600 })
    const child = await startProcess({
      command: '/bin/sh',
      args: ['-c', 'echo $GREETING; echo bad >&2; exit 7'],
      output,
      env: { GREETING: 'hello' },
    })
    assert.deepEqual(await child.ended, { code: 7, signal: null })
    assert.equal(readFileSync(output, 'utf8'), 'before\nhello\nbad\n')
    assert.equal(statSync(output).mode & 0o777, 0o600)
    const sleeper = await startProcess({ command: '/bin/sh', args: ['-c', 'exec sleep 600'], output })
    sleeper.kill('SIGKILL')
    assert.deepEqual(await sleeper.ended, { code: null, signal: 'SIGKILL' })
    await assert.rejects(
      startProcess({ command: '/nowhere/etcd', args: [], output }),
      /^Error: Cannot start "\/nowhere\/etcd": /,
    )
  }))

for (
  const [how, last] of [
    ['killed', `process.kill(process.pid, 'SIGKILL')`],
    ['ended by an exception', `throw new Error('x')`],
    ['ended by exit', 'process.exit(0)'],
  ] as const
) {
  test(`guarded processes end when their owner is ${how}`, () =>
    withFolder(async (folder) => {
      const guarded = join(folder, 'guarded')
      const path = new URL('../../lib/runtime/os/child_process.ts', import.meta.url).pathname
      writeFileSync(
        join(folder, 'script.ts'),
        `
        import { mkdirSync } from 'node:fs'
        import { guardProcesses, startProcess } from '${path}'
        mkdirSync('${guarded}')
        const guard = guardProcesses('${guarded}')
        const child = await startProcess({ command: '/bin/sh', args: ['-c', 'exec sleep 600'], output: '${folder}/log' })
        guard.watch([child.pid])
        console.log(child.pid)
        setTimeout(() => { ${last} }, 50)
        setTimeout(() => {}, 60000)`,
      )
      const script = spawn(process.execPath, [
        ...('Deno' in globalThis ? ['run', '-A', '--no-check'] : []),
        join(folder, 'script.ts'),
      ], {
        stdio: ['ignore', 'pipe', 'ignore'],
      })
      const pid = await new Promise<number>((resolve) =>
        script.stdout.setEncoding('utf8').once('data', (text: string) => resolve(Number(text)))
      )
      assert.ok(pid > 1)
      await eventually(() => !isAlive(pid) && !existsSync(guarded))
    }))
}

test('a released guard leaves processes and folder alone', () =>
  withFolder(async (folder) => {
    const child = await startProcess({
      command: '/bin/sh',
      args: ['-c', 'exec sleep 600'],
      output: join(folder, 'log'),
    })
    const guard = guardProcesses(folder)
    guard.watch([child.pid])
    await guard.release()
    assert.ok(existsSync(folder) && isAlive(child.pid))
    child.kill('SIGKILL')
    await child.ended
  }))

/** Polls, because a guard acts after its starter has ended: no process is left that could tell. */
async function eventually(check: () => boolean): Promise<void> {
  for (let left = 200; !check(); left--) {
    assert.ok(left > 0, 'it did not happen within 10 s')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    // A killed child whose parent is gone may wait a moment to be collected.
    return !existsSync(`/proc/${pid}/status`) || !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}
