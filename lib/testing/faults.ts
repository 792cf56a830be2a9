/** Refuses, delays or cuts requests, as a test asks. */
import type { AnyResource, OtherCluster, Transport } from 'kubeloop'
import type { Duration } from '../core/duration.ts'
import { NetworkError } from 'kubeloop'
import { type Clock, sleep } from '../async/clock.ts'
import { toMs } from '../core/duration.ts'
import { messageOf } from '../core/errors.ts'
import type { HttpBody, HttpRequest, HttpResponse } from '../core/transport.ts'

/** Refuses, delays or cuts some requests of an operator. Needs one of `status`, `delay` and `cut`. */
export interface Fault {
  /**
   * Only these requests: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete` or `deletecollection`. Default:
   * all.
   */
  verb?: string
  /** Only requests for this kind. Default: all kinds. */
  resource?: AnyResource
  /**
   * Only requests to this cluster: the result of `app.cluster(…)` or its name; `null` is the operator's own. Default:
   * all clusters.
   */
  cluster?: OtherCluster | string | null
  /** The number of requests that it affects, in all clusters together; Infinity for all from now on. Default: 1. */
  times?: number
  /** Ends the fault when aborted; requests that are already delayed still wait. Default: only `times` ends it. */
  until?: AbortSignal
  /** Responds with this status code, from 400 to 599, instead of the server. */
  status?: number
  /** Waits this long on the world's clock first. */
  delay?: Duration
  /**
   * Breaks the connection. A watch that the server accepts breaks right after the head of its response; other requests
   * are cut before they reach the server.
   */
  cut?: boolean
}

/** The active faults of a world. */
export interface Faults {
  /** The number of requests that wait for a `delay`. */
  readonly delayed: number
  /**
   * Adds a fault.
   *
   * @throws TypeError if the fault has no effect, names a verb or a cluster that does not exist, or has a `resource`
   * that is not a kind. RangeError for an invalid `times`, `status` or `delay`.
   */
  add(fault: Fault): void
  /** Wraps the transport of a cluster. `cluster`: its name; `null` for the operator's own. */
  around(inner: Transport, cluster: string | null): Transport
}

const VERBS = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection']

/** `clusters`: the names of the operator's other clusters. */
export function makeFaults(clock: Clock, clusters: readonly string[]): Faults {
  const active: (Omit<Fault, 'cluster' | 'delay'> & {
    readonly cluster: string | null | undefined
    readonly delayMs: number | undefined
    left: number
  })[] = []
  let delayed = 0
  return {
    get delayed() {
      return delayed
    },
    add(given) {
      const cannot = 'Cannot add a fault'
      if (typeof given !== 'object' || (given as unknown) === null) {
        throw new TypeError(`${cannot}: it must be an object, such as { verb: 'patch', status: 500 }`)
      }
      const { cluster: where, delay, ...fault } = given
      const { verb, resource, times = 1, status, cut } = fault
      const cluster = typeof where === 'object' ? (where?.name ?? null) : where
      const delayMs = delay === undefined ? undefined : msOf(delay, cannot)
      if (status === undefined && delayMs === undefined && !cut) {
        throw new TypeError(`${cannot}: it has no effect; give it a status, a delay or cut`)
      }
      if (verb !== undefined && !VERBS.includes(verb)) {
        throw new TypeError(`${cannot} to the verb "${verb}": the verbs are ${VERBS.join(', ')}`)
      }
      if (resource !== undefined && typeof (resource as { plural?: unknown } | null)?.plural !== 'string') {
        throw new TypeError(
          `${cannot}: resource is ${textOf(resource)}, and must be a kind, such as Deployment of kubeloop/kinds`,
        )
      }
      if (typeof cluster === 'string' && !clusters.includes(cluster)) {
        throw new TypeError(`${cannot} to the cluster "${cluster}": the operator has no cluster of that name`)
      }
      if (status !== undefined && !(Number.isInteger(status) && status >= 400 && status <= 599)) {
        const why = 'and must be a whole number from 400 to 599: a fault has no object to answer with'
        throw new RangeError(`${cannot}: status is ${textOf(status)}, ${why}`)
      }
      if (!(Number.isInteger(times) || times === Infinity) || times < 1) {
        throw new RangeError(`${cannot}: times is ${textOf(times)}, and must be a whole number from 1, or Infinity`)
      }
      active.push({ ...fault, cluster, delayMs, left: times })
    },
    around: (inner, cluster) => async (request) => {
      const at = active.findIndex((fault) =>
        !fault.until?.aborted && (fault.cluster === undefined || fault.cluster === cluster) && meets(fault, request)
      )
      const fault = active[at]
      if (!fault) return await inner(request)
      if (--fault.left < 1) active.splice(at, 1)
      if (fault.delayMs !== undefined) {
        delayed++
        try {
          await sleep(clock, fault.delayMs, request.signal)
        } finally {
          delayed--
        }
      }
      if (fault.status !== undefined) return refusal(fault.status)
      return fault.cut ? await cutOff(inner, request) : await inner(request)
    },
  }
}

function msOf(delay: Duration, cannot: string): number {
  try {
    return toMs(delay)
  } catch (cause) {
    throw new RangeError(`${cannot}: ${messageOf(cause)}`, { cause })
  }
}

/** Returns a value as it is written in code. */
function textOf(value: unknown): string {
  return typeof value === 'string' || (typeof value === 'object' && value !== null)
    ? JSON.stringify(value)
    : String(value)
}

async function cutOff(inner: Transport, request: HttpRequest): Promise<HttpResponse> {
  if (!isWatch(request)) throw brokenOff('response')
  const response = await inner(request)
  const { body } = response
  if (response.status < 300) return { ...response, body: brokenBody(body) }
  body.cancel()
  throw brokenOff('response')
}

/** Returns a body that fails before its first byte. */
function brokenBody(inner: HttpBody): HttpBody {
  const fail = (): Promise<never> => {
    inner.cancel()
    return Promise.reject(brokenOff('body'))
  }
  return { text: fail, cancel: () => inner.cancel(), [Symbol.asyncIterator]: () => ({ next: fail }) }
}

function brokenOff(phase: 'response' | 'body'): NetworkError {
  const what = phase === 'body' ? 'Cannot read on' : 'Cannot reach the server'
  return new NetworkError(`${what}: the connection was cut, as the test asked`, { phase, code: 'ECONNRESET' })
}

function meets({ verb, resource }: Pick<Fault, 'verb' | 'resource'>, request: HttpRequest): boolean {
  const { pathname } = new URL(request.path, 'http://localhost')
  const parts = pathname.split('/').filter(Boolean)
  const rest = parts[0] === 'api' ? parts.slice(2) : parts.slice(3)
  const inNamespace = rest[0] === 'namespaces' && rest.length > 2 && !['status', 'finalize'].includes(rest[2]!)
  const [plural, name] = inNamespace ? rest.slice(2) : rest
  if (resource) {
    const group = parts[0] === 'api' ? '' : parts[1]
    if (group !== resource.group || plural !== resource.plural) return false
  }
  return verb === undefined || verb === verbOf(request, name !== undefined)
}

function verbOf(request: HttpRequest, named: boolean): string {
  switch (request.method) {
    case 'GET':
      return named ? 'get' : isWatch(request) ? 'watch' : 'list'
    case 'POST':
      return 'create'
    case 'PUT':
      return 'update'
    case 'PATCH':
      return 'patch'
    case 'DELETE':
      return named ? 'delete' : 'deletecollection'
  }
}

function isWatch({ method, path }: HttpRequest): boolean {
  return method === 'GET' && new URL(path, 'http://localhost').searchParams.has('watch')
}

function refusal(code: number): HttpResponse {
  const text = JSON.stringify({
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    message: `the test asked for status ${code}`,
    code,
  })
  const bytes = new TextEncoder().encode(text)
  return {
    status: code,
    headers: { 'content-type': 'application/json' },
    body: {
      text: () => Promise.resolve(text),
      cancel() {},
      async *[Symbol.asyncIterator]() {
        yield bytes
      },
    },
  }
}
