/** Informers of pods that a test feeds by hand, for sources and controllers. */
import { Api } from '../../lib/client/api.ts'
import { Informer } from '../../lib/cache/informer.ts'
import { FakeClock } from '../../lib/testing/fake_clock.ts'
import type { AnyResource } from '../../lib/core/resource.ts'
import { formatKey, keyOf, type KubeObject } from '../../lib/core/objects.ts'
import type { Sink } from '../../lib/controller/source.ts'
import type { Delta } from '../../lib/cache/store.ts'
import { type Answer, keptLog, list, POD, ScriptedServer, Stream } from '../cache/scripted_server.ts'

export interface Fed {
  readonly informer: Informer
  readonly stream: Stream
  readonly server: ScriptedServer
}

/** An informer with a first list, and a watch for the test to write to. Without `objects` its list never comes. */
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

/** Lets everything that needs no time happen: a controller gives way to the event loop after each run. */
export async function settle(clock: FakeClock, turns = 20): Promise<void> {
  for (let i = 0; i < turns; i++) await clock.advance(0)
}

/** A sink that keeps what is added. */
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

/** An informer without a server: its handlers hear what the test tells. */
export function toldInformer(
  resource: AnyResource = POD,
): { readonly informer: Informer; tell(delta: Delta): void; readonly handlers: () => number } {
  const handlers = new Set<(delta: Delta) => void>()
  const told = {
    resource,
    isSynced: true,
    ended: new Promise<void>(() => {}),
    synced: () => Promise.resolve(),
    addHandler: (
      handler: (delta: Delta) => void,
    ) => (handlers.add(handler), { synced: () => Promise.resolve(), remove: () => void handlers.delete(handler) }),
  }
  return {
    informer: told as unknown as Informer,
    tell: (delta) => handlers.forEach((handler) => handler(delta)),
    handlers: () => handlers.size,
  }
}
