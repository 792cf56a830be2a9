/** A recorder on an embedded API server; the test controls its network, log and clock. */
import { ApiServer } from '../../lib/apiserver/mod.ts'
import { Api } from '../../lib/client/api.ts'
import type { KubeObject } from '../../lib/core/objects.ts'
import type { AnyResource } from '../../lib/core/resource.ts'
import type { Transport } from '../../lib/core/transport.ts'
import { EventRecorder, type EventRecorderOptions } from '../../lib/events/event_recorder.ts'
import type { EventBody, EventSeries } from '../../lib/events/event.ts'
import type { Log, LogFields } from '../../lib/observe/log.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { type Recorder, recorder } from '../client/transports.ts'

export const EVENT: AnyResource = {
  group: 'events.k8s.io',
  version: 'v1',
  kind: 'Event',
  plural: 'events',
  scope: 'Namespaced',
}
export const PATH = '/apis/events.k8s.io/v1/namespaces/default/events'

export const FOO: KubeObject = {
  apiVersion: 'example.dev/v1',
  kind: 'Foo',
  metadata: {
    namespace: 'default',
    name: 'a',
    uid: 'uid-a',
    resourceVersion: '7',
    creationTimestamp: '2026-01-01T00:00:00Z',
  },
}

export function foo(name: string, over: Partial<KubeObject['metadata']> = {}): KubeObject {
  return { ...FOO, metadata: { ...FOO.metadata, name, uid: `uid-${name}`, ...over } }
}

export type StoredEvent = EventBody & { readonly series?: EventSeries }

export interface Fixture {
  readonly clock: FakeClock
  readonly events: EventRecorder
  readonly server: Transport
  readonly network: Recorder
  /** Log lines as `warn text`, without debug lines. */
  readonly lines: string[]
  readonly debug: string[]
  /** The errors of all lines. */
  readonly errors: unknown[]
  /** `note × count`, in the order of their first occurrence. */
  notes(namespace?: string): Promise<string[]>
  stored(namespace?: string): Promise<readonly StoredEvent[]>
  start(): void
  stop(): void
  /** The result of its start; undefined while it runs. */
  outcome: 'resolved' | Error | undefined
}

export function fixture(over: Partial<EventRecorderOptions> = {}): Fixture {
  const clock = new FakeClock()
  const server = new ApiServer({ clock }).handle
  const network = recorder(server)
  const lines: string[] = []
  const debug: string[] = []
  const errors: unknown[] = []
  const say = (level: Exclude<keyof Log, 'level' | 'withLevel'>) => (message: string, fields?: LogFields) => {
    const rest = message === 'Events were dropped' ? ` ${JSON.stringify(fields)}` : ''
    if (fields?.['error'] !== undefined) errors.push(fields['error'])
    ;(level === 'debug' ? debug : lines).push(`${level} ${message}${rest}`)
  }
  const events = new EventRecorder({
    api: new Api({ transport: network.transport }),
    clock,
    controller: 'foo-operator',
    instance: 'foo-operator-host',
    random: () => 0,
    log: { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') },
    ...over,
  })
  const stopping = new AbortController()
  const stored = async (namespace = 'default'): Promise<readonly StoredEvent[]> => {
    const { items } = await new Api({ transport: server }).list({ resource: EVENT, namespace })
    return (items as unknown as StoredEvent[]).toSorted((
      a,
      b,
    ) => (a.eventTime + a.metadata.name < b.eventTime + b.metadata.name ? -1 : 1))
  }
  const self: Fixture = {
    clock,
    events,
    server,
    network,
    lines,
    debug,
    errors,
    stored,
    outcome: undefined,
    notes: async (namespace) =>
      (await stored(namespace)).map(({ note, series }) => (series ? `${note} × ${series.count}` : note)),
    start: () =>
      void events.start(stopping.signal).then(
        () => (self.outcome = 'resolved'),
        (error: Error) => (self.outcome = error),
      ),
    stop: () => stopping.abort(new DOMException('The test has ended', 'AbortError')),
  }
  return self
}

/** Returns a fixture whose recorder is started. */
export function started(over?: Partial<EventRecorderOptions>): Fixture {
  const self = fixture(over)
  self.start()
  return self
}
