/** Implements a replica in a world: its connections, clock, log, servers and reconciles, and its sudden end. */
import type { Clock, Controller, Log, Parts, Runnable, Transport } from 'kubeloop'
import type { Fetch } from 'kubeloop/parts'
import type { WebhookClientConfig } from '../../core/resource.ts'
import { messageOf } from '../../core/errors.ts'
import { keyOf, type ObjectKey, parseKey } from '../../core/objects.ts'
import type { HttpBody } from '../../core/transport.ts'
import { type LogLevel, withFields } from '../../observe/log.ts'
import { placeOfError } from '../../observe/error_place.ts'
import { userFrames } from '../../observe/stack.ts'
import type { ReconcileReport } from '../../controller/controller.ts'
import { foldFailures, logFailure } from '../../controller/failures.ts'
import { type WriteLoops, writeLoops } from '../../controller/write_loops.ts'
import { type ActiveFault, endsWatch } from './faults.ts'
import { type ScopedFetch, withFetch } from '../../runtime/os/scoped_fetch.ts'
import type { WebhookHandler, WebhookResponse } from '../../webhook/common/handler.ts'

/**
 * A replica. A killed one has the same effect on the world as a process after SIGKILL: its requests reach no API
 * server, its timers do not fire, and it logs nothing. Its code does not end, but waits forever at its next request or
 * timer.
 */
export class Replica {
  readonly number: number
  readonly runs: ReplicaRuns
  /** Set when it is assembled. */
  parts: Parts | undefined
  /** The servers of its extensions, which a world does not start. */
  readonly servers: Runnable[] = []
  /** The handlers of the operator's webhooks by their paths. */
  webhooks: ReadonlyMap<string, WebhookHandler> = new Map()
  readonly clock: Clock
  /** The clock of reconciles, which counts their timers. */
  readonly userClock: Clock
  readonly log: Log
  readonly #fetch: ScopedFetch
  #isKilled = false
  /** The pending timers of {@link userClock}. */
  readonly #timers = new Set<object>()
  /** Open responses, such as those of watches, each with whether a new fault ends it. */
  readonly #open = new Map<HttpBody, (fault: ActiveFault) => boolean>()

  /** `fetch` takes the place of the global one in the replica's code; `onTimer` is called for timers of contexts. */
  constructor(
    number: number,
    runs: ReplicaRuns,
    clock: Clock,
    log: Log,
    { fetch, onTimer }: { fetch: ScopedFetch; onTimer: () => void },
  ) {
    this.number = number
    this.#fetch = async (...call) => this.#isKilled ? await never() : await this.#unlessKilled(fetch(...call))
    this.runs = runs
    this.clock = {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      // Whole milliseconds, as on a real clock: back-offs and jitter have fractions.
      after: (ms, fire) => clock.after(Math.ceil(ms), () => void (this.#isKilled || this.call(fire))),
    }
    this.userClock = {
      ...this.clock,
      after: (ms, fire) => {
        const timer = {}
        this.#timers.add(timer)
        const cancel = this.clock.after(ms, () => {
          this.#timers.delete(timer)
          onTimer()
          fire()
        })
        return () => {
          this.#timers.delete(timer)
          cancel()
        }
      },
    }
    const line = (level: LogLevel): Log['info'] => (message, fields) => {
      if (!this.#isKilled) log[level](message, fields)
    }
    this.log = { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
  }

  /** Whether a reconcile may be waiting for a timer of its clock. */
  get hasTimers(): boolean {
    return this.#timers.size > 0 && !this.#isKilled
  }

  get isKilled(): boolean {
    return this.#isKilled
  }

  kill(): void {
    this.#isKilled = true
    for (const body of this.#open.keys()) body.cancel()
    this.#open.clear()
  }

  /** Ends the open watches that a new fault affects, so that it meets them when they are opened again. */
  endWatches(fault: ActiveFault): void {
    for (const [body, isEnded] of [...this.#open]) if (isEnded(fault)) body.cancel()
  }

  /** Calls code of the replica: its global `fetch` is the world's. */
  call<T>(fn: () => T): T {
    return withFetch(this.#fetch, fn)
  }

  /** Wraps an API server's transport: after a kill no request reaches it, not even one that a fault has delayed. */
  sending(inner: Transport): Transport {
    return (request) => this.#isKilled ? never() : inner(request)
  }

  /** Wraps all other transports: after a kill nothing arrives. `cluster`: its name; `null` for the operator's own. */
  receiving(inner: Transport, cluster: string | null): Transport {
    return async (request) => {
      if (this.#isKilled) return await never()
      const response = await this.#unlessKilled(inner(request), ({ body }) => body.cancel())
      return { ...response, body: this.#reading(response.body, (fault) => endsWatch(fault, request, cluster)) }
    }
  }

  #reading(body: HttpBody, isEnded: (fault: ActiveFault) => boolean): HttpBody {
    this.#open.set(body, isEnded)
    const end = (): void => void this.#open.delete(body)
    return {
      endless: body.endless,
      text: () => this.#unlessKilled(body.text().finally(end)),
      cancel() {
        end()
        body.cancel()
      },
      [Symbol.asyncIterator]: () => {
        const chunks = body[Symbol.asyncIterator]()
        return {
          next: async () => {
            const chunk = await this.#unlessKilled(chunks.next())
            if (chunk.done) end()
            return chunk
          },
          return: async () => {
            end()
            return await chunks.return?.() ?? { done: true, value: undefined }
          },
        }
      },
    }
  }

  async #unlessKilled<T>(work: Promise<T>, drop?: (late: T) => void): Promise<T> {
    try {
      const result = await work
      if (!this.#isKilled) return result
      drop?.(result)
    } catch (error) {
      if (!this.#isKilled) throw error
    }
    return await never()
  }
}

function never(): Promise<never> {
  return new Promise(() => {})
}

/** Returns the path at which a webhook is called. */
export function pathOfCall({ url, service }: WebhookClientConfig): string {
  return service?.path ?? (url === undefined ? '/' : new URL(url).pathname)
}

/** Calls a webhook in the first replica. Rejects if none runs, as a connection to a Service without endpoints does. */
export async function callIn(
  replicas: readonly Replica[],
  address: WebhookClientConfig,
  body: string,
  signal: AbortSignal,
): Promise<WebhookResponse> {
  const path = pathOfCall(address)
  const replica = replicas.find(({ isKilled, webhooks }) => !isKilled && webhooks.has(path))
  const handler = replica?.webhooks.get(path)
  if (!replica || !handler) throw new Error(`no running replica of the operator serves ${path}`)
  const request = { contentType: 'application/json', body: new TextEncoder().encode(body), signal }
  return await replica.call(() => handler(request))
}

const OWN_SERVERS: readonly string[] = ['health', 'metrics', 'profiling']

/**
 * Calls the server of that name in the first replica on which it would listen.
 *
 * @throws TypeError if no running replica has a server of that name. Error if the server listens only on the leader,
 * and no replica leads.
 */
export async function fetchFrom(
  replicas: readonly Replica[],
  server: string,
  given: Request | string = server,
  init?: RequestInit,
): Promise<Response> {
  // A caller that gives only a path means a server of the operator itself.
  const name = given !== server ? server : server === '/metrics' ? 'metrics' : 'health'
  const request = new Request(given instanceof Request ? given : new URL(given, 'http://localhost'), init)
  const cannot = `Cannot fetch ${new URL(request.url).pathname} from the server "${name}"`
  const servers = replicas.flatMap((replica) => replica.servers.map((server) => ({ replica, server })))
  const namesakes = servers.filter(({ server }) => server.name === name && fetchOf(server))
  if (namesakes.length === 0) {
    const names = [...new Set(servers.flatMap(({ server }) => (fetchOf(server) ? [`"${server.name}"`] : [])))]
    const known = OWN_SERVERS.includes(name)
      ? `the operator states no ${name}`
      : names.length > 0
      ? `the operator has the servers ${names.join(', ')}`
      : 'no extension adds a server'
    throw new TypeError(`${cannot}: ${replicas.length > 0 ? known : 'no replica runs'}`)
  }
  const found = namesakes.find(({ replica, server }) =>
    server.everyReplica !== false || replica.parts?.manager.isElected
  )
  if (!found) throw new Error(`${cannot}: it listens only on the leader, and no replica leads`)
  try {
    return await found.replica.call(() => fetchOf(found.server)!(request))
  } catch (error) {
    found.replica.log.error(`The server "${name}" could not answer a request: ${messageOf(error)}`, { error })
    return new Response(null, { status: 500 })
  }
}

/** Returns the `fetch` of a server, or of a user's runnable that has one. */
function fetchOf(server: Runnable): Fetch | undefined {
  const { fetch } = server as { readonly fetch?: unknown }
  return typeof fetch === 'function' ? (request) => (fetch as Fetch).call(server, request) : undefined
}

/**
 * What fails and is tried again later: a key whose last reconcile failed, an object whose map function failed or
 * another failure of a source, or a task.
 */
export interface Failing {
  /** The controller; undefined for a task. */
  readonly controller?: string
  /** The source of the controller; undefined for a reconcile and a task. */
  readonly source?: string
  /** The task or the schedule; undefined for a controller. */
  readonly task?: string
  /** The kind of the key. */
  readonly kind?: string
  /** The key of the reconcile, or of the object whose map function failed. */
  readonly key?: ObjectKey
  readonly error: unknown
  /** Where the error was thrown, as `file:line:column`: the innermost frame in a user's file. */
  readonly place: string | undefined
}

/** What ran at a time: a reconcile, a task or schedule, or what has waited for a timer of a context. */
export interface Ran {
  readonly what: 'reconcile' | 'task' | 'timer'
  /** The controller of a reconcile. */
  readonly controller?: string
  /** The kind of the key of a reconcile. */
  readonly kind?: string
  readonly key?: ObjectKey
  /** The task or the schedule. */
  readonly task?: string
}

/** An error names a key with more reconciles than this since the last rest. */
const MAX_QUIET_RUNS = 50

/** Logs the failures of one replica as an operator does, and finds keys in an endless loop. */
export class ReplicaRuns {
  readonly #keys = new Map<string, Failing>()
  readonly #tasks = new Map<string, Failing>()
  readonly #clock: Clock
  readonly #log: Log
  readonly #failures = foldFailures()
  #loops: WriteLoops
  /** The number of reconciles of each key since the last rest. */
  readonly #counts = new Map<string, number>()
  /** The error message for a key that became hot since the last rest. */
  problem: string | undefined

  constructor(clock: Clock, log: Log) {
    this.#clock = clock
    this.#log = log
    this.#loops = writeLoops(clock)
  }

  ended(report: ReconcileReport): void {
    const { controller, kind, key, disposition } = report
    const id = `${controller} ${key}`
    const counted = `${kind} "${key}" by the controller "${controller}"`
    this.#counts.set(counted, (this.#counts.get(counted) ?? 0) + 1)
    logFailure(withFields(this.#log, { controller, kind, ...parseKey(key) }), this.#failures(id, report), report)
    this.#keys.delete(id)
    if ('error' in disposition) {
      const { error } = disposition
      this.#keys.set(id, { controller, kind, key: parseKey(key), error, place: placeOfError(error, userFrames) })
    }
    this.problem ??= this.#loops.ended(id, report)
  }

  /** Notes the failure of a task; without one, its next call. */
  task(task: string, failure?: { readonly error: unknown }): void {
    if (failure) this.#tasks.set(task, { task, ...failure, place: placeOfError(failure.error, userFrames) })
    else this.#tasks.delete(task)
  }

  /** Returns what fails now; `controllers` are those of the replica. */
  failing(controllers: Iterable<Controller>): readonly Failing[] {
    const ofSources = [...controllers].flatMap(({ name, failing }) =>
      failing.map(({ source, object, error }) => ({
        controller: name,
        source,
        ...(object && { kind: object.kind, key: keyOf(object) }),
        error,
        place: placeOfError(error, userFrames),
      }))
    )
    return [...this.#keys.values(), ...ofSources, ...this.#tasks.values()]
  }

  /** The key with the maximum number of reconciles since the last rest, if there are many. */
  get busiest(): string | undefined {
    const [busiest] = [...this.#counts].sort(([, a], [, b]) => b - a)
    return busiest && busiest[1] > MAX_QUIET_RUNS ? `${busiest[0]} was reconciled ${busiest[1]} times` : undefined
  }

  /** Called when the world is at rest: resets the counts. */
  rest(): void {
    this.problem = undefined
    this.#counts.clear()
    this.#loops = writeLoops(this.#clock)
  }
}

/** Returns a running replica by its number, or else the leader. */
export function replicaOf(all: readonly Replica[], number: number | undefined): Replica {
  const replica = all.find((each) => number === undefined ? each.parts?.manager.isElected : each.number === number)
  if (replica) return replica
  if (number === undefined) {
    throw new Error('Cannot kill the leader: no replica leads; give the number of a replica')
  }
  const running = all.length > 0
    ? `the running replicas are ${all.map((each) => each.number).join(', ')}`
    : 'no replica runs'
  throw new RangeError(`Cannot kill replica ${number}: ${running}`)
}
