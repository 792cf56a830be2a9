/** Informers, sources and controllers of pods that a test controls. */
import assert from 'node:assert/strict'
import { Api } from '../../lib/client/api.ts'
import { Informer } from '../../lib/cache/informer.ts'
import type { Delta } from '../../lib/cache/store.ts'
import { Controller, type ControllerDependencies } from '../../lib/controller/controller.ts'
import { KindSource } from '../../lib/controller/kind_source.ts'
import type { Result, Run } from '../../lib/controller/result.ts'
import type { Sink } from '../../lib/controller/source.ts'
import { formatKey, keyOf, type KubeObject } from '../../lib/core/objects.ts'
import type { AnyResource } from '../../lib/core/resource.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { countedSignal } from '../async/counted_signal.ts'
import { type Answer, keptLog, list, POD, ScriptedServer, Stream } from '../cache/scripted_server.ts'

export interface Fed {
  readonly informer: Informer
  readonly stream: Stream
  readonly server: ScriptedServer
}

/** Returns an informer with a first list, and a watch that the test writes to. Without `objects` the list never ends. */
export function fed(clock: FakeClock, objects: readonly KubeObject[] | undefined, resource: AnyResource = POD): Fed {
  const server = new ScriptedServer()
  const stream = new Stream()
  server.lists.push(objects ? list('5', objects) : neverUnlessAborted)
  server.watches.push(stream.answer)
  const informer = new Informer({
    api: new Api({ transport: server.transport }),
    resource,
    clock,
    log: keptLog().log,
    random: () => 0,
  })
  return { informer, stream, server }
}

const neverUnlessAborted: Answer = ({ signal }) =>
  new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason), { once: true }))

/** Runs all work that is due: a controller yields to the event loop after each run. */
export async function settle(clock: FakeClock, turns = 20): Promise<void> {
  for (let i = 0; i < turns; i++) await clock.advance(0)
}

/** Returns a sink that stores the added keys. */
export function keptSink(
  passes: Sink['passes'] = () => true,
): { readonly sink: Sink; readonly added: { readonly key: string; readonly priority: number }[]; keys(): string[] } {
  const added: { key: string; priority: number }[] = []
  const sink: Sink = {
    add: (key, options) =>
      void added.push({ key: typeof key === 'string' ? key : formatKey(keyOf(key)), priority: options?.priority ?? 0 }),
    passes,
  }
  return { sink, added, keys: () => added.splice(0).map(({ key }) => key) }
}

/** Returns an informer without a server: the test sends events to its handlers. */
export function scriptedInformer(
  resource: AnyResource = POD,
): { readonly informer: Informer; send(delta: Delta): void; readonly handlers: () => number } {
  const handlers = new Set<(delta: Delta) => void>()
  const informer = {
    resource,
    isSynced: true,
    ended: new Promise<void>(() => {}),
    synced: () => Promise.resolve(),
    addHandler: (
      handler: (delta: Delta) => void,
    ) => (handlers.add(handler), { synced: () => Promise.resolve(), remove: () => void handlers.delete(handler) }),
  }
  return {
    informer: informer as unknown as Informer,
    send: (delta) => handlers.forEach((handler) => handler(delta)),
    handlers: () => handlers.size,
  }
}

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
  const sources = feeds.map(({ informer }) => new KindSource({ informers: [informer], own: true, clock, log }))
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
  /** Stops everything, and checks that nothing is left. */
  const end = async (): Promise<void> => {
    signal.controller.abort(new Error('the test is over'))
    caching.abort()
    await settle(clock)
    assert.deepEqual([ended, clock.pending, signal.listeners()], [{}, 0, 0])
  }
  return {
    controller,
    clock,
    lines,
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
    end,
    [Symbol.asyncDispose]: end,
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
