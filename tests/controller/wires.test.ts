/** Options of a controller, and their defaults, which no other test of controllers shows. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ControllerDependencies } from '../../lib/controller/controller.ts'
import type { Result } from '../../lib/controller/result.ts'
import { aborted } from '../../lib/async/abort.ts'
import { pod } from '../cache/scripted_server.ts'
import { controlling } from './fixture.ts'

const failing = (): Promise<Result> => Promise.reject(new Error('mine'))

/** Returns the times at which the only pod was reconciled. */
async function times(options: Partial<ControllerDependencies>, advanceMs: number): Promise<number[]> {
  const at: number[] = []
  const c = controlling({
    pods: [pod('a', '1')],
    ...options,
    reconcile: async () => {
      at.push(c.clock.monotonic())
      throw new Error('mine')
    },
  })
  await c.start()
  await c.clock.advance(advanceMs)
  await c.settle()
  await c.end()
  return at
}

test('without a kind, the log has the name', async () => {
  for (const [kind, text] of [['Pod', 'Pod "default/a"'], [undefined, 'test "default/a"']] as const) {
    await using c = controlling({ kind, pods: [pod('a', '1')], reconcile: failing })
    await c.start()
    assert.ok(c.lines.some((line) => line.startsWith(`error Cannot reconcile ${text}: mine`)), c.lines.join('\n'))
  }
})

test('a controller may have no sources', async () => {
  await using c = controlling({
    sources: undefined,
    pods: [pod('a', '1')],
    reconcile: async ({ key }) => assert.fail(key.name),
  })
  await c.start()
  assert.deepEqual([c.controller.idle, c.lines.filter((line) => line.startsWith('error'))], [true, []])
})

test('the back-off has a first and a longest delay', async () => {
  assert.deepEqual(await times({}, 40), [0, 5, 15, 35])
  assert.deepEqual(await times({ backoff: { baseMs: 10, maxMs: 15 } }, 60), [0, 10, 25, 40, 55])
  assert.deepEqual(await times({ backoff: { maxMs: 6 } }, 20), [0, 5, 11, 17])
})

test('the first lists may take two minutes by default', async () => {
  for (const [syncTimeoutMs, text] of [[undefined, '2 m'], [5000, '5 s']] as const) {
    const c = controlling({
      syncTimeoutMs,
      sources: [{ name: 'slow', start: () => new Promise(() => {}), synced: () => new Promise(() => {}) }],
    })
    await c.start()
    await c.clock.advance((syncTimeoutMs ?? 120_000) - 1)
    assert.equal(c.ended(), undefined)
    await c.clock.advance(1)
    await c.clock.advance(5000)
    await c.settle()
    assert.match(
      String(c.ended()?.error),
      new RegExp(`its sources were not in sync within ${text}; still missing: the source "slow"$`),
    )
  }
})

test('a controller says whether it runs on every replica', async () => {
  for (const everyReplica of [undefined, true, false]) {
    assert.equal(controlling({ everyReplica }).controller.everyReplica, everyReplica)
  }
})

test('an abort by the stop is no failure; other errors during the stop are', async () => {
  const lines = {
    stop: /^debug The stop has cut the reconcile of Pod "default\/a" short/,
    abandon: /^error .*the end/,
    other: /^error .*mine/,
  }
  for (const [end, expected] of Object.entries(lines)) {
    const [stopping, abandon] = [new AbortController(), new AbortController()]
    await using c = controlling({
      pods: [pod('a', '1')],
      stopping: stopping.signal,
      abandon: abandon.signal,
      reconcile: async (run) => {
        await aborted(run.stopping)
        if (end === 'abandon') await aborted(run.signal)
        if (end === 'abandon') throw run.signal.reason
        throw end === 'stop' ? new Error('wrapped', { cause: run.stopping.reason }) : new Error('mine')
      },
    })
    await c.start()
    stopping.abort(new Error('the stop'))
    if (end === 'abandon') abandon.abort(new DOMException('the end', 'AbortError'))
    await c.settle()
    assert.match(c.lines.find((each) => !each.startsWith('debug Controller'))!, expected)
  }
})

test('keys in other namespaces are dropped, and the first one is logged', async () => {
  const [warnings, seen] = [[] as string[], [] as string[]]
  await using c = controlling({
    log: { debug() {}, info() {}, warn: (line) => void warnings.push(line), error() {} },
    namespaces: new Set(['default']),
    sources: [{
      name: 'keys',
      start: async (sink) => ['default/a', 'other/b', 'cluster-scoped', 'other/c'].forEach((key) => sink.add(key)),
    }],
    reconcile: async ({ key }) => void seen.push(key.name),
  })
  await c.start()
  assert.deepEqual([seen, warnings], [['a', 'cluster-scoped'], [
    'Controller "test" drops keys in namespaces that it does not watch, such as "other/b": watch Pod in "other", or leave such keys out',
  ]])
})
