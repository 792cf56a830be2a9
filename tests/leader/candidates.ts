/** Candidates for one Lease on an embedded API server, each with its own network. */
import { ApiServer } from '../../lib/apiserver/mod.ts'
import { Api } from '../../lib/client/api.ts'
import type { Fence } from '../../lib/core/fence.ts'
import type { KubeObject } from '../../lib/core/objects.ts'
import type { Resource } from '../../lib/core/resource.ts'
import type { HttpRequest, HttpResponse, Transport } from '../../lib/core/transport.ts'
import type { Clock } from '../../lib/async/clock.ts'
import { type ElectionOptions, LeaderElector, type LeaderElectorOptions } from '../../lib/leader/leader_elector.ts'
import { DEFAULT_TIMINGS, type LeaseRecord } from '../../lib/leader/lease_state.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { keptLog } from '../cache/scripted_server.ts'
import type { Host } from './host.ts'
import { type Recorder, recorder } from '../client/transports.ts'

export const LEASE: Resource<KubeObject> = {
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  scope: 'Namespaced',
}
export const TARGET = { resource: LEASE, namespace: 'default', name: 'lock' }
export const PATH = '/apis/coordination.k8s.io/v1/namespaces/default/leases'

export interface Candidate {
  readonly elector: LeaderElector
  readonly network: Recorder
  /** Log lines as `warn text`. */
  readonly lines: string[]
  /** The number of terms it has begun. */
  leads: number
  /** The result of its start; undefined while it runs. */
  outcome: 'resolved' | Error | undefined
  /** Called at the beginning of a term. */
  lead: ((fence: Fence) => void) | undefined
  /** Called when its start has ended. */
  onEnd: (() => void) | undefined
  start(options?: ElectionOptions): void
  stop(): void
  readonly stopping: AbortController
  /** The machine it runs on, if any, and a function that removes it. */
  host?: Host
  crash?: () => void
}

export function candidate(
  server: Transport,
  clock: Clock,
  identity: string,
  over: Partial<LeaderElectorOptions> = {},
): Candidate {
  const network = recorder(server)
  const { lines, log } = keptLog()
  const elector = new LeaderElector({
    api: new Api({ transport: network.transport }),
    lease: 'lock',
    namespace: 'default',
    identity,
    timings: DEFAULT_TIMINGS,
    clock,
    log,
    random: () => 0,
    ...over,
  })
  const stopping = new AbortController()
  const self: Candidate = {
    elector,
    network,
    lines,
    stopping,
    leads: 0,
    outcome: undefined,
    lead: undefined,
    onEnd: undefined,
    start: (options) => {
      const lead = (fence: Fence): void => {
        self.leads++
        self.lead?.(fence)
      }
      elector.start(stopping.signal, lead, options)
        .then(() => (self.outcome = 'resolved'), (error: Error) => (self.outcome = error))
        .then(() => self.onEnd?.())
    },
    stop: () => stopping.abort(new DOMException('The test has ended', 'AbortError')),
  }
  return self
}

/** Returns a clock, and an embedded API server that uses it. */
export function setup(clock: FakeClock = new FakeClock()): { readonly clock: FakeClock; readonly server: Transport } {
  return { clock, server: new ApiServer({ clock }).handle }
}

type Alone = ReturnType<typeof setup> & { readonly a: Candidate }

/** Returns a candidate without others, which has not started. */
export function alone(over?: Partial<LeaderElectorOptions>): Alone {
  const { clock, server } = setup()
  return { clock, server, a: candidate(server, clock, 'a', over) }
}

/** Starts a candidate without others, and advances the clock. */
export async function leading(forMs: number, over?: Partial<LeaderElectorOptions>): Promise<Alone> {
  const { clock, server, a } = alone(over)
  a.start()
  await clock.advance(forMs)
  return { clock, server, a }
}

/** Starts a leader, and a follower with this network that has observed it. */
export async function pair(
  over?: Partial<LeaderElectorOptions>,
  intercept?: Intercept,
  itsClock?: FakeClock,
): Promise<ReturnType<typeof setup> & { readonly a: Candidate; readonly b: Candidate }> {
  const { clock, server } = setup(itsClock)
  const [a, b] = [candidate(server, clock, 'a'), candidate(server, clock, 'b', over)]
  b.network.intercept = intercept
  a.start()
  await clock.advance(1)
  b.start()
  await clock.advance(0)
  return { clock, server, a, b }
}

type Intercept = Recorder['intercept']

/** Answers the matching requests instead of the server. */
export function where(
  matches: (request: HttpRequest) => boolean,
  answer: (request: HttpRequest, next: Transport) => HttpResponse | Promise<HttpResponse>,
): NonNullable<Intercept> {
  return async (request, next) => await (matches(request) ? answer(request, next) : next(request))
}

/** Returns whether a request has the method. */
export function is(method: string): (request: HttpRequest) => boolean {
  return (request) => request.method === method
}

export interface LeaseObject extends KubeObject {
  readonly spec: LeaseRecord
}

/** Resolves with the Lease on the server. */
export async function leaseOn(server: Transport): Promise<LeaseObject> {
  return (await new Api({ transport: server }).get(TARGET)) as LeaseObject
}

/** Resolves with the holder of the Lease; empty without a holder. */
export async function holderOn(server: Transport): Promise<string> {
  return (await leaseOn(server)).spec.holderIdentity ?? ''
}

/** Patches the Lease as another client would. */
export async function patchLease(server: Transport, patch: object): Promise<void> {
  await new Api({ transport: server }).patch(TARGET, 'merge', patch, {})
}
