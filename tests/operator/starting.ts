/** Starts operators on APIs in memory with a fake clock, and records requests, log lines and the outcome. */
// Loaded before the tests, as a first load during a start takes real time.
import '../../lib/cache/catch_up.ts'
import '../../lib/client/shared_apply.ts'
import '../../lib/client/subresource_verbs.ts'
import '../../lib/leader/follower.ts'
import '../../lib/manager/metrics.ts'
import '../../lib/controller/finalizer.ts'
import '../../lib/operator/definitions.ts'
import '../../lib/operator/endpoints.ts'
import '../../lib/operator/other_clusters.ts'
import '../../lib/operator/tasks.ts'
import '../../lib/runtime/net/http_server.ts'
import '../../lib/operator/schedules.ts'
import '../../lib/cache/compact/compact_caches.ts'
import '../../lib/operator/namespaces.ts'
import '../../lib/operator/other_sources.ts'
import '../../lib/operator/sharding/sharding_parts.ts'
import 'croner'
import { type Client, type Clock, Cluster, type Operator, type OtherCluster, type Parts } from 'kubeloop'
import { ApiServer } from 'kubeloop/apiserver'
import { ConfigMap } from 'kubeloop/kinds'
import { FakeClock } from 'kubeloop/testing'
import type { HttpRequest, Transport } from '../../lib/core/transport.ts'
import type { LogFields, LogLevel } from '../../lib/observe/log.ts'
import { nextTurn } from '../../lib/async/clock.ts'
import { type Recorder, recorder } from '../client/transports.ts'

/** The options of a start, which are not all public. */
type StartOptions = NonNullable<Parameters<Operator['start']>[1]>

interface Entry {
  readonly level: LogLevel
  readonly message: string
  readonly fields: LogFields
}

export interface Started extends AsyncDisposable {
  readonly clock: FakeClock
  /** A client without the faults of the operator's transport. */
  readonly client: Client
  clientOf(cluster: OtherCluster): Client
  /** The operator's requests to its own cluster. */
  readonly network: Recorder
  networkOf(cluster: OtherCluster): Recorder
  readonly log: Entry[]
  /** Undefined if the start failed before the parts were made. */
  readonly parts: Parts | undefined
  /** The outcome of the start; undefined while it runs. */
  outcome(): 'resolved' | Error | undefined
  /** Resolves at the end of the start, for tests with sockets, which close in their own time. */
  readonly ended: Promise<unknown>
  /** Aborts the start; resolves when nothing moves any more, which may be before its end. */
  stop(): Promise<void>
}

/** Lets `answer` have the requests whose `METHOD path` matches, and forwards the others. */
export function only(like: RegExp, answer: Transport): NonNullable<Recorder['intercept']> {
  return (request, next) => like.test(`${request.method} ${request.path}`) ? answer(request) : next(request)
}

/** Counts requests, answers, log lines and timers. */
let moves = 0
/** After so many turns of the event loop without any of them, only time moves anything. */
const QUIET_TURNS = 12
/** Work that never rests does not hold the clock for longer. */
const MAX_TURNS = 1000

class RestingClock extends FakeClock {
  override after(ms: number, fire: () => void): () => void {
    moves++
    return super.after(ms, fire)
  }
}

export function restingClock(nowMs?: number): FakeClock {
  return new RestingClock({
    ...(nowMs !== undefined && { nowMs }),
    settle: async () => {
      for (let turn = 0, quiet = 0; quiet < QUIET_TURNS && turn < MAX_TURNS; turn++) {
        const before = moves
        await nextTurn()
        quiet = moves === before ? quiet + 1 : 0
      }
    },
  })
}

/** Counts what passes. */
function counted(inner: Transport): Transport {
  return async (request) => {
    moves++
    return await inner(request).finally(() => moves++)
  }
}

/** A clock, and what an operator reads of it when its process stood still for `skip` milliseconds: no timer has fired. */
export function skippingClock(): { readonly clock: FakeClock; readonly ahead: Clock; skip(ms: number): void } {
  const clock = restingClock()
  let skippedMs = 0
  const ahead: Clock = {
    now: () => clock.now() + skippedMs,
    monotonic: () => clock.monotonic() + skippedMs,
    after: clock.after.bind(clock),
  }
  return { clock, ahead, skip: (ms) => void (skippedMs = ms) }
}

export interface StartingOptions extends Omit<StartOptions, 'transport' | 'transports' | 'clock' | 'onAssembled'> {
  /** Default: a new one. The operator's clock may run ahead of it. */
  readonly clock?: FakeClock
  readonly ahead?: Clock
  /** The operator's own cluster, for several starts on one. Default: a new one. */
  readonly server?: ApiServer
  /** Prepares the operator's own cluster before the start. */
  readonly before?: (client: Client) => Promise<unknown>
  readonly intercept?: Recorder['intercept']
  /** The same for the other clusters, by their names. */
  readonly intercepts?: Readonly<Record<string, Recorder['intercept']>>
  /** Intercepts the requests to the operator's other clusters. */
  readonly interceptOthers?: Recorder['intercept']
}

/** Starts an operator, and resolves when nothing moves any more. */
export async function starting(app: Operator, options: StartingOptions = {}): Promise<Started> {
  const {
    clock = restingClock(),
    ahead = clock,
    server = new ApiServer({ clock }),
    before,
    intercept,
    intercepts,
    interceptOthers,
    ...over
  } = options
  const admin = (transport: Transport): Client => new Cluster({ name: 'test', transport, clock }).client
  const own = counted(server.handle)
  const network = recorder(own)
  const others = new Map(app.description.clusters.map(({ name }) => {
    const handle = counted(new ApiServer({ clock }).handle)
    return [name, {
      handle,
      network: Object.assign(recorder(handle), { intercept: intercepts?.[name] ?? interceptOthers }),
    }]
  }))
  const log: Entry[] = []
  const say = (level: LogLevel) => (message: string, fields: LogFields = {}): void => {
    moves++
    log.push({ level, message, fields })
  }
  await before?.(admin(own))
  network.intercept = intercept
  const stopping = new AbortController()
  let parts: Parts | undefined
  let outcome: 'resolved' | Error | undefined
  const ended = app.start(stopping.signal, {
    serves: false,
    ...over,
    transport: network.transport,
    transports: Object.fromEntries([...others].map(([name, each]) => [name, each.network.transport])),
    clock: ahead,
    log: over.log ?? { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') },
    onAssembled: (made) => void (parts = made),
  }).then(() => (outcome = 'resolved'), (error: Error) => (outcome = error))
  await clock.advance(0)
  const stop = async (): Promise<void> => {
    stopping.abort(new DOMException('The test has ended', 'AbortError'))
    await clock.advance(0)
  }
  return {
    clock,
    network,
    log,
    client: admin(own),
    clientOf: ({ name }) => admin(others.get(name)!.handle),
    networkOf: ({ name }) => others.get(name)!.network,
    get parts() {
      return parts
    },
    outcome: () => outcome,
    ended,
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

/** Starts replicas of an operator on one cluster, with one clock; the first one wins the election. */
export async function replicas(app: Operator, count: number, options: StartingOptions = {}): Promise<Started[]> {
  const { clock = restingClock() } = options
  const server = new ApiServer({ clock })
  const started: Started[] = []
  for (let at = 0; at < count; at++) {
    const replica = await starting(app, { ...options, clock, server, instance: `replica-${at}`, crds: 'install' })
    // The CRDs may take a moment.
    await clock.advance(1000)
    works(replica)
    started.push(replica)
  }
  return started
}

/** Whether a replica has written anything except its lease since the last call. */
export function works({ network }: Started): boolean {
  return network.take().some((line) => !line.startsWith('GET ') && !line.includes('/leases'))
}

/** The messages that a replica logged at a level. */
export function messages({ log }: Pick<Started, 'log'>, level: LogLevel): string[] {
  return log.filter((entry) => entry.level === level).map(({ message }) => message)
}

/** The failures that a replica logged. */
export function failures(started: Started): string[] {
  return messages(started, 'error')
}

/** The key of a config map in a namespace without the cluster's own ones. */
export function ref(name: string): { namespace: string; name: string } {
  return { namespace: 'default', name }
}

/** Selects the config maps of a test. */
export const ours = (
  { metadata }: { readonly metadata: { readonly namespace?: string; readonly name: string } },
): boolean => metadata.namespace === 'default' && !metadata.name.startsWith('kube-')

export async function create(client: Client, ...names: readonly string[]): Promise<void> {
  for (const name of names) await client.create(ConfigMap, { metadata: ref(name) })
}

/** Returns the writes of a kind among the requests, as `POST name` or `PUT name`, in order. */
export function writes({ requests }: Recorder, plural: string): string[] {
  return requests.filter(({ method, path }) => method !== 'GET' && path.includes(`/${plural}`)).map((request) =>
    `${request.method} ${nameIn(request)}`
  )
}

function nameIn({ path, body }: HttpRequest): string {
  const [, name] = /\/(?:configmaps|leases)\/([^/?]+)/.exec(path) ?? []
  return name ?? (JSON.parse(body as string) as { metadata: { name: string } }).metadata.name
}
