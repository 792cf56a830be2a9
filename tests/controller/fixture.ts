/** Informers of pods that a test feeds by hand, for sources and controllers. */
import { Api } from '../../lib/client/api.ts'
import { Informer } from '../../lib/cache/informer.ts'
import { FakeClock } from '../../lib/testing/fake_clock.ts'
import type { AnyResource } from '../../lib/core/resource.ts'
import type { KubeObject } from '../../lib/core/objects.ts'
import { keptLog, list, POD, ScriptedServer, Stream, type Answer } from '../cache/scripted_server.ts'

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
  const informer = new Informer({ api: new Api({ transport: server.transport }), resource, clock, log: keptLog().log, random: () => 0 })
  return { informer, stream, server }
}

const neverUnlessAborted: Answer = ({ signal }) => new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason), { once: true }))

/** Lets everything that needs no time happen: a controller gives way to the event loop after each run. */
export async function settle(clock: FakeClock, turns = 20): Promise<void> {
  for (let i = 0; i < turns; i++) await clock.advance(0)
}
