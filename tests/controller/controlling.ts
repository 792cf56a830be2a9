/** A controller of pods that a test controls. */
import assert from 'node:assert/strict'
import type { KubeObject } from '../../lib/core/objects.ts'
import { Controller, type ControllerDependencies, type ReconcileReport } from '../../lib/controller/controller.ts'
import { ownKey } from '../../lib/controller/handlers.ts'
import { KindSource } from '../../lib/controller/kind_source.ts'
import type { Result, Run } from '../../lib/controller/result.ts'
import { FakeClock } from '../../lib/testing/fake_clock.ts'
import { countedSignal } from '../async/counted_signal.ts'
import { keptLog } from '../cache/scripted_server.ts'
import { type Fed, fed, settle } from './fixture.ts'

/** Returns a controller of pods with running caches. `gate` blocks a run until the test opens it. */
export function controlling(
  options: Partial<ControllerDependencies> & {
    readonly pods?: readonly KubeObject[]
    readonly feeds?: (clock: FakeClock) => Fed[]
  },
) {
  const { pods = [], feeds: make, ...more } = options
  const clock = new FakeClock()
  const feeds = make?.(clock) ?? [fed(clock, pods)]
  const { lines, log } = keptLog()
  const sources = feeds.map(({ informer }) =>
    new KindSource({ informers: [informer], map: ownKey, own: true, clock, log })
  )
  const reports: ReconcileReport[] = []
  const controller = new Controller({
    name: 'test',
    kind: 'Pod',
    sources,
    reconcile: () => Promise.resolve(),
    clock,
    log,
    ...more,
  })
  const signal = countedSignal()
  const caching = new AbortController()
  let ended: { readonly error?: unknown } | undefined
  return {
    controller,
    clock,
    lines,
    reports,
    stream: feeds[0]!.stream,
    feeds,
    listeners: signal.listeners,
    ended: () => ended,
    stop: () => signal.controller.abort(new Error('the test is over')),
    settle: () => settle(clock),
    async start(): Promise<void> {
      controller.start(signal.controller.signal).then(() => (ended = {}), (error: unknown) => (ended = { error }))
      for (const { informer } of feeds) informer.start(caching.signal).catch(() => {})
      await settle(clock)
    },
    /** Stops everything, and checks that nothing is left. */
    async end(): Promise<void> {
      signal.controller.abort(new Error('the test is over'))
      caching.abort()
      await settle(clock)
      assert.deepEqual([ended, clock.pending, signal.listeners()], [{}, 0, 0])
    },
  }
}

/** Returns a reconcile that stores its runs and waits until the test ends them. */
export function gated() {
  const begun: string[] = []
  const open = new Map<string, PromiseWithResolvers<Result>>()
  const reconcile = ({ key }: Run): Promise<Result> => {
    begun.push(key.name)
    const gate = Promise.withResolvers<Result>()
    open.set(key.name, gate)
    return gate.promise
  }
  return {
    begun,
    reconcile,
    release: (name: string, result?: Result) => open.get(name)!.resolve(result),
    fail: (name: string) => open.get(name)!.reject(new Error('mine')),
  }
}
