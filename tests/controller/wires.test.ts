/** Each option of a controller reaches its part: one row per option, with the behaviour that it changes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ControllerDependencies, ReconcileReport } from '../../lib/controller/controller.ts'
import type { Result } from '../../lib/controller/result.ts'
import type { LogFields } from '../../lib/observe/log.ts'
import { aborted } from '../../lib/async/abort.ts'
import { memoryMeter } from '../observe/memory_meter.ts'
import { pod } from '../cache/scripted_server.ts'
import { controlling, gated } from './controlling.ts'

const PODS = [pod('a', '1'), pod('b', '2'), pod('c', '3')]
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

/** Returns how many of three keys are reconciled at once. */
async function atOnce(options: Partial<ControllerDependencies>): Promise<number> {
  const gate = gated()
  const c = controlling({ pods: PODS, ...options, reconcile: gate.reconcile })
  await c.start()
  const count = gate.begun.length
  for (let i = 0; i < PODS.length; i++) {
    for (const name of gate.begun) gate.release(name)
    await c.settle()
  }
  await c.end()
  return count
}

const rows: Record<string, () => Promise<void>> = {
  async name() {
    const c = controlling({ name: 'own', pods: [pod('a', '1')], reconcile: failing, meter: undefined })
    await c.start()
    assert.equal(c.controller.name, 'own')
    assert.ok(c.lines.includes('debug Controller "own" runs'), c.lines.join('\n'))
    await c.end()
  },
  async kind() {
    for (const [kind, text] of [['Pod', 'Pod "default/a"'], [undefined, 'test "default/a"']] as const) {
      const c = controlling({ kind, pods: [pod('a', '1')], reconcile: failing })
      await c.start()
      assert.ok(c.lines.some((line) => line.startsWith(`error Cannot reconcile ${text}: mine`)), c.lines.join('\n'))
      await c.end()
    }
  },
  async sources() {
    const c = controlling({ sources: undefined, pods: PODS, reconcile: async ({ key }) => assert.fail(key.name) })
    await c.start()
    assert.deepEqual([c.controller.idle, c.lines.filter((line) => line.startsWith('error'))], [true, []])
    await c.end()
  },
  async concurrency() {
    assert.deepEqual([await atOnce({}), await atOnce({ concurrency: 2 }), await atOnce({ concurrency: 5 })], [1, 2, 3])
  },
  async timeoutMs() {
    for (const timeoutMs of [undefined, 700]) {
      let signal: AbortSignal | undefined
      const gate = Promise.withResolvers<void>()
      const c = controlling({
        pods: [pod('a', '1')],
        timeoutMs,
        reconcile: (run) => (signal = run.signal, gate.promise),
      })
      await c.start()
      await c.clock.advance(700)
      assert.equal(signal!.aborted, timeoutMs !== undefined)
      gate.resolve()
      await c.settle()
      await c.end()
    }
  },
  async backoff() {
    assert.deepEqual(await times({}, 40), [0, 5, 15, 35])
    assert.deepEqual(await times({ backoff: { baseMs: 10, maxMs: 15 } }, 60), [0, 10, 25, 40, 55])
    assert.deepEqual(await times({ backoff: { maxMs: 6 } }, 20), [0, 5, 11, 17])
  },
  async limiter() {
    assert.deepEqual(
      await times({ limiter: { when: () => 30, failures: () => 0, forget() {} }, backoff: { baseMs: 1 } }, 70),
      [0, 30, 60],
    )
  },
  async when() {
    const seen: string[] = []
    const c = controlling({
      pods: PODS,
      when: ({ metadata }) => metadata.name !== 'b',
      reconcile: async ({ key }) => void seen.push(key.name),
    })
    await c.start()
    assert.deepEqual(seen, ['a', 'c'])
    await c.end()
  },
  async syncTimeoutMs() {
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
  },
  async unsynced() {
    const sources = [{
      name: 'slow',
      start: () => new Promise<void>(() => {}),
      synced: () => new Promise<void>(() => {}),
    }]
    const c = controlling({ syncTimeoutMs: 1000, sources, unsynced: () => ['the moon'] })
    await c.start()
    await c.clock.advance(6000)
    await c.settle()
    assert.match(String(c.ended()?.error), /still missing: the source "slow", the moon$/)
  },
  async warmup() {
    assert.equal(controlling({}).controller.warmup, undefined)
    const runs: string[] = []
    const c = controlling({
      warmup: true,
      pods: [pod('a', '1')],
      reconcile: async ({ key }) => void runs.push(key.name),
    })
    const stop = new AbortController()
    const warm = c.controller.warmup!(stop.signal)
    await c.start()
    assert.deepEqual(runs, ['a'])
    stop.abort()
    await warm
    c.stop()
    await c.settle()
  },
  async everyReplica() {
    for (const everyReplica of [undefined, true, false]) {
      assert.equal(controlling({ everyReplica }).controller.everyReplica, everyReplica)
    }
  },
  async abandon() {
    const abandon = new AbortController()
    let signal: AbortSignal | undefined
    const gate = Promise.withResolvers<void>()
    const c = controlling({
      pods: [pod('a', '1')],
      abandon: abandon.signal,
      reconcile: (run) => (signal = run.signal, gate.promise),
    })
    await c.start()
    abandon.abort(new Error('over'))
    assert.equal((signal!.reason as Error).message, 'over')
    gate.resolve()
    await c.settle()
    await c.end()
  },
  async stopping() {
    const lines = {
      stop: /^debug The stop has cut the reconcile of Pod "default\/a" short/,
      abandon: /^error .*the end/,
      other: /^error .*mine/,
    }
    for (const [end, expected] of Object.entries(lines)) {
      const [stopping, abandon] = [new AbortController(), new AbortController()]
      const c = controlling({
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
      await c.end()
    }
  },
  async holdEvents() {
    for (const holdEvents of [undefined, true]) {
      const runs: string[] = []
      const c = controlling({
        pods: [pod('a', '1')],
        holdEvents,
        reconcile: async ({ key }) => (runs.push(key.name), assert.fail('mine')),
      })
      await c.start()
      c.stream.send('MODIFIED', pod('a', '6'))
      await c.settle()
      assert.equal(runs.length, holdEvents ? 1 : 2)
      await c.end()
    }
  },
  async skipsGone() {
    for (const skipsGone of [undefined, true]) {
      const runs: string[] = []
      const c = controlling({
        warmup: true,
        skipsGone,
        pods: [pod('a', '1')],
        reconcile: async ({ key }) => void runs.push(key.name),
      })
      const stop = new AbortController()
      const warm = c.controller.warmup!(stop.signal)
      c.feeds[0]!.informer.start(stop.signal).catch(() => {})
      await c.settle()
      c.stream.send('DELETED', pod('a', '6'))
      await c.settle()
      c.controller.start(stop.signal).catch(() => {})
      await c.settle()
      assert.deepEqual(runs, skipsGone ? [] : ['a'])
      stop.abort()
      await warm
    }
  },
  async onReconcile() {
    const reports: ReconcileReport[] = []
    const c = controlling({
      pods: [pod('a', '1')],
      onReconcile: (report) => void reports.push(report),
      reconcile: failing,
    })
    await c.start()
    assert.deepEqual(
      reports.map((
        { controller, kind, key, causes, count, attempt },
      ) => [controller, kind, key, causes, count, attempt]),
      [['test', 'Pod', 'default/a', ['added'], 1, 1]],
    )
    assert.deepEqual(c.lines.filter((line) => line.startsWith('error')), [])
    await c.end()
  },
  async meter() {
    const meter = memoryMeter()
    const c = controlling({ meter, concurrency: 2, pods: PODS })
    await c.start()
    const labels = { controller: 'test', name: 'test' }
    assert.deepEqual([
      meter.value('controller_runtime_reconcile_total', { controller: 'test', result: 'success' }),
      meter.value('workqueue_adds_total', labels),
    ], [3, 3])
    await c.end()
  },
  async clock() {
    const c = controlling({ pods: [pod('a', '1')], reconcile: failing })
    await c.start()
    assert.ok(c.clock.pending > 0)
    await c.end()
  },
  async log() {
    const lines: string[] = []
    const write = (line: string): void => void lines.push(line)
    const c = controlling({
      log: { debug: write, info: write, warn: write, error: write },
      pods: [pod('a', '1')],
      reconcile: async ({ log }) => log.info('the user’s'),
    })
    await c.start()
    assert.ok(
      lines.includes('the user’s') && lines.some((line) => line.startsWith('Controller "test" runs')),
      lines.join('\n'),
    )
    await c.end()
  },
  async uuid() {
    const ids: unknown[] = []
    const write = (_: string, fields?: LogFields): void => void ids.push(fields?.['reconcileID'])
    const log = { debug() {}, info: write, warn: write, error: write }
    const c = controlling({
      log,
      uuid: () => 'run-id',
      pods: [pod('a', '1')],
      reconcile: async ({ log }) => log.info('the user’s'),
    })
    await c.start()
    assert.ok(ids.includes('run-id'), ids.join())
    await c.end()
  },
  async namespaces() {
    const [warnings, seen] = [[] as string[], [] as string[]]
    const c = controlling({
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
    await c.end()
  },
  async reconcile() {
    const seen: string[] = []
    const c = controlling({ pods: PODS, reconcile: async ({ key }) => void seen.push(`${key.namespace}/${key.name}`) })
    await c.start()
    assert.deepEqual(seen, ['default/a', 'default/b', 'default/c'])
    await c.end()
  },
} satisfies Record<keyof ControllerDependencies, () => Promise<void>>

for (const [option, check] of Object.entries(rows)) {
  test(`the option ${option} does what it says`, check)
}
