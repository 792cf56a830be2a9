/** Failures on demand: a transport that refuses, delays or cuts what a test asks for. */
import type { AnyResource, Transport } from 'kubeloop'
import type { Duration } from '../core/duration.ts'
import { NetworkError } from 'kubeloop'
import { sleep, type Clock } from '../async/clock.ts'
import { toMs } from '../core/duration.ts'
import type { HttpRequest, HttpResponse } from '../core/transport.ts'

export interface Fault {
  /** Which requests: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`. Default: all. */
  verb?: string
  /** Default: every kind. */
  resource?: AnyResource
  /** How many requests it meets. Default: 1. */
  times?: number
  /** Answer with this status code instead of asking the server. */
  status?: number
  /** Wait so long first. */
  delay?: Duration
  /** Break the connection: before the answer, or for a watch that is accepted, after its head. */
  cut?: boolean
}

export interface Faults {
  readonly transport: Transport
  add(fault: Fault): void
}

export function faultyTransport(inner: Transport, clock: Clock): Faults {
  const active: (Fault & { left: number })[] = []
  return {
    add: (fault) => void active.push({ ...fault, left: fault.times ?? 1 }),
    transport: async (request) => {
      const fault = active.find((fault) => fault.left > 0 && meets(fault, request))
      if (!fault) return await inner(request)
      fault.left--
      if (fault.delay !== undefined) await sleep(clock, toMs(fault.delay), request.signal)
      if (fault.status !== undefined) return refusal(fault.status)
      if (fault.cut) throw new NetworkError(`Cannot reach the server: the connection was cut, as the test asked`, { phase: 'response', code: 'ECONNRESET' })
      return await inner(request)
    },
  }
}

function meets({ verb, resource }: Fault, request: HttpRequest): boolean {
  const url = new URL(request.path, 'http://localhost')
  const parts = url.pathname.split('/').filter(Boolean)
  const rest = parts[0] === 'api' ? parts.slice(2) : parts.slice(3)
  const inNamespace = rest[0] === 'namespaces' && rest.length > 2 && !['status', 'finalize'].includes(rest[2]!)
  const [plural, name] = inNamespace ? rest.slice(2) : rest
  if (resource) {
    const group = parts[0] === 'api' ? '' : parts[1]
    if (group !== resource.group || plural !== resource.plural) return false
  }
  return verb === undefined || verb === verbOf(request, url, name !== undefined)
}

function verbOf({ method }: HttpRequest, url: URL, named: boolean): string {
  switch (method) {
    case 'GET':
      return named ? 'get' : url.searchParams.has('watch') ? 'watch' : 'list'
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

function refusal(code: number): HttpResponse {
  const text = JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', message: `the test asked for status ${code}`, code })
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
