/** Refuses, delays, cuts, drops or ages requests, as a test asks. */
import type { AnyResource, OtherCluster, Transport } from 'kubeloop'
import type { Duration } from '../../core/duration.ts'
import { type Clock, sleep } from '../../async/clock.ts'
import { toMs } from '../../core/duration.ts'
import { messageOf } from '../../core/errors.ts'
import { refuseUnknown, type ShapeOf } from '../../core/option_names.ts'
import { type RequestedAction, requestedAction, splitTarget } from '../../core/requested_action.ts'
import type { HttpRequest, HttpResponse } from '../../core/transport.ts'
import {
  brokenBody,
  brokenOff,
  lateBody,
  noAnswer,
  refusal,
  repeatedBody,
  showsAll,
  staleResponse,
  tornBody,
} from './fault_responses.ts'
import { originOf } from './origins.ts'
import { nameIn } from '../rights_recorder.ts'

/**
 * Changes what becomes of some requests of an operator. Needs one of `status`, `delay`, `cut`, `drop`, `stale`, `lag`
 * and `repeat`. Of the faults that a request meets, the one that was added first is used.
 *
 * @example
 * ```ts
 * import { world } from 'kubeloop/testing'
 * import { Deployment } from 'kubeloop/kinds'
 * import app from './operator.ts'
 * const w = await world(app)
 * w.fault({ verb: 'patch', resource: Deployment, status: 429, retryAfter: '5s' }) // the next apply waits 5 s
 * w.fault({ verb: 'patch', resource: Deployment, name: 'b', cut: 'answer' }) // stored, but the operator sees a failure
 * w.fault({ verb: 'watch', resource: Deployment, cut: 'line', skip: 1 }) // the watch after the next one
 * await w.stop()
 * ```
 */
export interface Fault {
  /**
   * Only these requests: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete` or `deletecollection`. Default:
   * all.
   */
  verb?: string
  /** Only requests for this kind. Default: all kinds. */
  resource?: AnyResource
  /** Only requests for an object in this namespace, or for the objects of it. Default: all. */
  namespace?: string
  /** Only requests for the object of this name; of a create, the name in the body. Default: all. */
  name?: string
  /**
   * Only requests to this service of {@link World.service}, such as `https://cdn.example.com`. It has the effects
   * `status`, `retryAfter`, `delay`, `drop` and `cut`. Default: only requests to API servers.
   */
  service?: string
  /**
   * Only requests to this cluster: the result of `app.cluster(…)` or its name; `null` is the operator's own. Default:
   * all clusters.
   */
  cluster?: OtherCluster | string | null
  /** The number of such requests that it lets pass first, in all clusters together. Default: 0. */
  skip?: number
  /** The number of requests that it affects, in all clusters together; Infinity for all from now on. Default: 1. */
  times?: number
  /** Ends the fault when aborted; requests that are already delayed still wait. Default: only `times` ends it. */
  until?: AbortSignal
  /** Responds with this status code, from 400 to 599, instead of the server. */
  status?: number
  /** The reason in the Status of `status`, such as `AlreadyExists`. Default: that of a real server for the code. */
  reason?: string
  /** Sends a Retry-After with `status`, in whole seconds, rounded up. Default: none. */
  retryAfter?: Duration
  /** Waits this long on the world's clock first. */
  delay?: Duration
  /**
   * Breaks the connection.
   * - `true`: a watch that the server accepts breaks right after the head of its response; other requests are cut
   *   before they reach the server.
   * - `'answer'`: the server handles the request, also a write; the connection breaks before the response.
   * - `'line'`: the response breaks in the middle: a watch in that of its first event, others in that of their JSON.
   */
  cut?: boolean | 'answer' | 'line'
  /**
   * Gives no answer: the request fails after 75 s on the world's clock, as over a network.
   * - `'request'`: the server does not get the request.
   * - `'answer'`: the server handles it, also a write, and its response is lost.
   */
  drop?: 'request' | 'answer'
  /**
   * Answers a list, or a watch that begins with a list, with the objects as they were at this resourceVersion, as a
   * server that lags behind does. A watch then goes on from there, `lag` later if that is given. Other requests do not
   * meet the fault. Has no effect if the server has dropped that version.
   */
  stale?: string
  /**
   * Delivers what a watch receives this much later on the world's clock, in order: changes of other kinds, and the
   * operator's own writes, are then seen first. At the end of the fault by `until`, the rest is delivered at once.
   * Other requests do not meet the fault.
   */
  lag?: Duration
  /**
   * Delivers each event of a watch twice. A real server does so only across connections. Other requests do not meet the
   * fault.
   */
  repeat?: boolean
}

export interface Faults {
  /** The number of requests that wait: for a `delay`, for an answer that was dropped, or for a `retryAfter`. */
  readonly delayed: number
  /** Returns the faults that have had no effect, as no request met them; each one once. */
  unmet(): string[]
  /**
   * Adds a fault.
   *
   * @throws TypeError if the fault has no effect, names a verb or a cluster that does not exist, or has a value of the
   * wrong type. RangeError for an invalid `times`, `skip`, `status` or duration.
   */
  add(fault: Fault): ActiveFault
  /** Wraps the transport of a cluster. `cluster`: its name; `null` for the operator's own. */
  around(inner: Transport, cluster: string | null): Transport
  /** Answers a request to a service. Rejects with a NetworkError, or with the reason of the signal. */
  serve(service: string, signal: AbortSignal, act: () => Promise<Response>): Promise<Response>
}

export type ActiveFault = Omit<Fault, 'cluster' | 'delay' | 'lag' | 'retryAfter' | 'service'> & {
  readonly service: string | undefined
  readonly cluster: string | null | undefined
  readonly delayMs: number | undefined
  readonly lagMs: number | undefined
  readonly retryAfterMs: number | undefined
  toSkip: number
  left: number
  isMet: boolean
  /** The fault as it was given, for a log line. */
  readonly text: string
}

/** `clusters`: the names of the operator's other clusters. Undefined: providers may add any. */
export function makeFaults(clock: Clock, clusters: readonly string[] | undefined): Faults {
  const active: ActiveFault[] = []
  let delayed = 0
  /** Ends a watch after its `timeoutSeconds`, as a server does, where a fault meets this watch or may meet the next. */
  const renewed = (
    response: HttpResponse,
    request: HttpRequest,
    cluster: string | null,
    fault?: ActiveFault,
  ): HttpResponse => {
    if (isWatch(request) && (fault || active.some((each) => meets(each, request, cluster)))) {
      const seconds = Number(splitTarget(request.path).query.get('timeoutSeconds') ?? 0)
      if (seconds > 0) clock.after(seconds * 1000, () => response.body.cancel())
    }
    return response
  }
  /** Waits for the delay of a fault. Rejects if it gives no answer; `act` lets the server handle the request. */
  const delaying = async (
    { delayMs, drop }: ActiveFault,
    signal: AbortSignal | undefined,
    act: () => Promise<unknown>,
  ): Promise<void> => {
    delayed++
    try {
      if (delayMs !== undefined) await sleep(clock, delayMs, signal)
      if (drop === 'answer') await act()
      if (drop) await noAnswer(clock, signal)
    } finally {
      delayed--
    }
  }
  return {
    get delayed() {
      return delayed
    },
    unmet() {
      const unmet = active.filter(({ isMet }) => !isMet)
      for (const fault of unmet) fault.isMet = true
      return unmet.map(({ text }) => text)
    },
    add(given) {
      const fault = checked(given, clusters)
      active.push(fault)
      return fault
    },
    around: (inner, cluster) => async (request) => {
      const fault = take(active, (each) => meets(each, request, cluster))
      if (!fault) return renewed(await inner(request), request, cluster)
      await delaying(fault, request.signal, async () => (await inner(request)).body.cancel())
      if (fault.retryAfterMs !== undefined) {
        delayed++
        clock.after(fault.retryAfterMs * MAX_JITTER + MIN_JITTER_MS, () => void delayed--)
      }
      return renewed(await answer(fault, inner, request, clock), request, cluster, fault)
    },
    async serve(service, signal, act) {
      const fault = take(active, (each) => each.service === service && !each.until?.aborted)
      if (!fault) return await act()
      await delaying(fault, signal, act)
      const { status, retryAfterMs, cut } = fault
      if (status !== undefined) {
        const { headers, body } = refusal(status, undefined, retryAfterMs)
        return new Response(await body.text(), { status, headers })
      }
      if (cut !== true) {
        const response = await act()
        if (!cut) return response
      }
      throw brokenOff('response')
    },
  }
}

/** Returns the first fault that is met, and counts it. Removes it if it has been met often enough. */
function take(active: ActiveFault[], isMet: (fault: ActiveFault) => boolean): ActiveFault | undefined {
  for (const [at, fault] of active.entries()) {
    if (!isMet(fault)) continue
    if (fault.toSkip > 0) fault.toSkip--
    else {
      fault.isMet = true
      if (--fault.left < 1) active.splice(at, 1)
      return fault
    }
  }
  return undefined
}

/**
 * Returns whether the fault ends an open watch, to meet it when it is opened again. One that meets any verb, and not
 * all requests from now on, is for another request.
 */
export function endsWatch(fault: ActiveFault, request: HttpRequest, cluster: string | null): boolean {
  const { verb, lagMs, repeat, times } = fault
  return (verb === 'watch' || times === Infinity || lagMs !== undefined || repeat === true) && isWatch(request) &&
    meets(fault, request, cluster)
}

/** The client waits up to a tenth longer than it was told, at least up to 0.1 s. */
const MAX_JITTER = 1.1
const MIN_JITTER_MS = 101

async function answer(
  { status, reason, retryAfterMs, cut, stale, lagMs, repeat, until }: ActiveFault,
  inner: Transport,
  request: HttpRequest,
  clock: Clock,
): Promise<HttpResponse> {
  if (status !== undefined) return refusal(status, reason, retryAfterMs)
  if (cut === true && !isWatch(request)) throw brokenOff('response')
  const late: Transport = async (watch) => {
    const response = await inner(watch)
    if (lagMs === undefined || !isWatch(watch) || response.status >= 300) return response
    return { ...response, body: lateBody(response.body, clock, lagMs, { signal: watch.signal, until }) }
  }
  let response = stale === undefined ? await late(request) : await staleResponse(late, request, stale)
  if (cut === 'answer' || (cut && response.status >= 300)) {
    response.body.cancel()
    throw brokenOff('response')
  }
  if (repeat && isWatch(request) && response.status < 300) {
    response = { ...response, body: repeatedBody(response.body) }
  }
  if (!cut) return response
  return { ...response, body: cut === 'line' ? tornBody(response.body) : brokenBody(response.body) }
}

function actionOf({ method, path }: HttpRequest): RequestedAction {
  const target = splitTarget(path)
  return requestedAction(method, target.path, target.query)
}

function isWatch(request: HttpRequest): boolean {
  return actionOf(request).verb === 'watch'
}

/** Whether the effect is one that this request can have: another one must not use it up. */
function affects({ stale, lagMs, repeat }: ActiveFault, verb: string, request: HttpRequest): boolean {
  if (stale !== undefined) return (verb === 'list' || verb === 'watch') && showsAll(request)
  return (lagMs === undefined && !repeat) || verb === 'watch'
}

function meets(fault: ActiveFault, request: HttpRequest, cluster: string | null): boolean {
  const { resource } = fault
  if (fault.service !== undefined || fault.until?.aborted) return false
  if (fault.cluster !== undefined && fault.cluster !== cluster) return false
  const action = actionOf(request)
  if (!affects(fault, action.verb, request)) return false
  if (resource && (action.group !== resource.group || action.resource !== resource.plural)) return false
  // A Namespace is in no namespace, and discovery is a list of what is served.
  const isNamespace = action.resource === 'namespaces' && action.group === ''
  if (fault.namespace !== undefined && (isNamespace || action.namespace !== fault.namespace)) return false
  const verb = action.isResource || action.verb !== 'get' ? action.verb : 'list'
  if (fault.verb !== undefined && fault.verb !== verb) return false
  if (fault.name === undefined) return true
  // A selector may name the object of a list or a watch.
  const name = verb === 'create' ? action.name || nameIn(request) : OF_ALL.includes(verb) ? '' : action.name
  return name === fault.name
}

const VERBS: readonly string[] = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection']
const OF_ALL: readonly string[] = ['list', 'watch', 'deletecollection']

const SHAPE: ShapeOf<Fault> = {
  ...{ cluster: 0, verb: VERBS, resource: 0, namespace: 0, name: 0, times: 0, skip: 0, status: 0, reason: 0 },
  ...{ retryAfter: 0, delay: 0, stale: 0, lag: 0, repeat: 0, until: 0, service: 0 },
  ...{ cut: [true, false, 'answer', 'line'], drop: ['request', 'answer'] },
}
const CANNOT = 'Cannot add a fault'
const EFFECTS = 'a status, a delay, cut, drop, stale, lag or repeat'

function checked(given: Fault, clusters: readonly string[] | undefined): ActiveFault {
  refuseUnknown(`${CANNOT}: `, given, SHAPE)
  const { cluster: where, delay, lag, retryAfter, service: url, ...fault } = given
  const service = url === undefined ? undefined : serviceOf(url, given)
  const { resource, times = 1, skip = 0, status, cut, drop, stale, repeat } = fault
  const cluster = typeof where === 'object' ? (where?.name ?? null) : where
  const [delayMs, lagMs, retryAfterMs] = [delay, lag, retryAfter].map(msOf)
  if (
    status === undefined && delayMs === undefined && lagMs === undefined && !cut && !drop && stale === undefined &&
    !repeat
  ) {
    throw new TypeError(`${CANNOT}: it has no effect; give it ${EFFECTS}`)
  }
  const check = (field: keyof typeof fault, isRight: boolean, must: string, Wrong = RangeError): void => {
    const value = fault[field]
    if (value !== undefined && !isRight) throw new Wrong(`${CANNOT}: ${field} is ${textOf(value)}, and must be ${must}`)
  }
  const isKind = typeof (resource as { plural?: unknown } | null | undefined)?.plural === 'string'
  check('resource', isKind, 'a kind, such as Deployment of kubeloop/kinds', TypeError)
  if (typeof cluster === 'string' && clusters?.includes(cluster) === false) {
    throw new TypeError(`${CANNOT} to the cluster "${cluster}": the operator has no cluster of that name`)
  }
  const isCode = Number.isInteger(status) && status! >= 400 && status! <= 599
  check('status', isCode, 'a whole number from 400 to 599: a fault has no object to answer with')
  check('times', times === Infinity || (Number.isInteger(times) && times > 0), 'a whole number from 1, or Infinity')
  check('skip', Number.isInteger(skip) && skip >= 0, 'a whole number from 0')
  const isVersion = typeof stale === 'string' && /^[1-9]\d*$/.test(stale)
  check('stale', isVersion, 'the resourceVersion of an earlier answer', TypeError)
  if (status === undefined && (retryAfterMs !== undefined || fault.reason !== undefined)) {
    throw new TypeError(`${CANNOT}: reason and retryAfter need a status`)
  }
  const { verb } = fault
  const verbs = stale !== undefined ? ['list', 'watch'] : lagMs !== undefined || repeat ? ['watch'] : VERBS
  if (verb !== undefined && !verbs.includes(verb)) {
    throw new TypeError(`${CANNOT}: only ${verbs.join(' and ')} can have its effect, and its verb is ${verb}`)
  }
  if (fault.name !== undefined && OF_ALL.includes(verb ?? '')) {
    throw new TypeError(`${CANNOT}: a ${verb} is of no object, so none has the name ${textOf(fault.name)}`)
  }
  const alone = [status !== undefined, Boolean(drop), Boolean(cut)].filter(Boolean).length
  if (alone > 1) throw new TypeError(`${CANNOT}: status, drop and cut exclude each other; add a fault for each`)
  return {
    ...fault,
    service,
    cluster,
    delayMs,
    lagMs,
    retryAfterMs,
    toSkip: skip,
    left: times,
    isMet: false,
    text: faultText(given),
  }
}

const OF_API_SERVERS = ['verb', 'resource', 'namespace', 'name', 'cluster', 'reason', 'stale', 'lag', 'repeat'] as const

/** Returns the origin of a service. Throws if the fault has what only requests to an API server have. */
function serviceOf(url: string, fault: Fault): string {
  const origin = originOf(url, `${CANNOT} to the service`)
  const others: string[] = OF_API_SERVERS.filter((field) => fault[field] !== undefined)
  if (fault.cut === 'line') others.push("cut: 'line'")
  if (others.length === 0) return origin
  throw new TypeError(`${CANNOT} to the service "${origin}": it has no ${others.join(' and no ')}`)
}

/** Returns a fault as it is written in code. */
function faultText({ until: _, resource, cluster, ...rest }: Fault): string {
  const names = {
    ...(resource && { resource: resource.kind }),
    ...(cluster && { cluster: typeof cluster === 'string' ? cluster : cluster.name }),
  }
  const fields = Object.entries({ ...names, ...rest }).map(([name, value]) => `${name}: ${textOf(value)}`)
  return `{ ${fields.join(', ')} }`
}

function msOf(duration: Duration | undefined): number | undefined {
  if (duration === undefined) return undefined
  try {
    return toMs(duration)
  } catch (cause) {
    throw new RangeError(`${CANNOT}: ${messageOf(cause)}`, { cause })
  }
}

/** Returns a value as it is written in code. */
function textOf(value: unknown): string {
  return typeof value === 'string' || (typeof value === 'object' && value !== null)
    ? JSON.stringify(value)
    : String(value)
}
