/** Records what happens in a world, in order and in bounded memory. */
import type { Clock, Transport } from 'kubeloop'
import type { ReconcileReport } from '../../controller/controller.ts'
import { messageOf } from '../../core/errors.ts'
import { requestedAction, splitTarget } from '../../core/requested_action.ts'

/** The most entries of a trace; older ones are dropped. */
const MAX_ENTRIES = 5000

/** A step of a replica in a world. As a text it is one line. */
export interface TraceEntry {
  /** The time since the world began, in milliseconds. */
  readonly ms: number
  /** The number of the replica, from 0. */
  readonly replica: number
  /** The verb of a request (`get`, `list`, `watch`, `create`, `patch`, …), `reconcile`, `task`, `killed` or `ended`. */
  readonly what: string
  /** `deployments default/web`, with the cluster if it is another one; the controller and key; or the task. */
  readonly object: string
  /** The status of a response; `ok` of a reconcile, `begins` of a task; or the message of an error. */
  readonly result: string
  /** Why the key was reconciled. */
  readonly causes: readonly string[]
  /** What the reconcile wrote: `apply Deployment default/web created`. */
  readonly writes: readonly string[]
  /** More than 1 for requests to a Lease that differ in their time only. */
  readonly times: number
  toString(): string
}

type Entry = { -readonly [field in keyof TraceEntry]: TraceEntry[field] }

const PROTOTYPE = {
  toString(this: TraceEntry): string {
    const { ms, replica, what, object, result, causes, writes, times } = this
    const why = causes.length > 0 ? ` because: ${causes.join(', ')}` : ''
    const wrote = writes.length > 0 ? `; ${writes.join(', ')}` : ''
    const often = times > 1 ? ` (${times} times)` : ''
    const step = [what, object, result].filter(Boolean).join(' ')
    return `+${(ms / 1000).toFixed(3)} s replica ${replica}: ${step}${wrote}${why}${often}`
  },
}

type Step = Partial<Pick<TraceEntry, 'object' | 'result' | 'causes' | 'writes'>>

export class Trace {
  readonly #clock: Clock
  readonly #beganMs: number
  #entries: Entry[] = []
  /** The last entry of each replica for a Lease. */
  readonly #leases = new Map<number, Entry>()

  constructor(clock: Clock) {
    this.#clock = clock
    this.#beganMs = clock.monotonic()
  }

  entries(): readonly TraceEntry[] {
    return this.#entries.slice(-MAX_ENTRIES)
  }

  add(replica: number, what: string, step: Step = {}): Entry {
    const ms = this.#clock.monotonic() - this.#beganMs
    const fields = { ms, replica, what, object: '', result: '', causes: [], writes: [], ...step, times: 1 }
    const entry: Entry = Object.assign(Object.create(PROTOTYPE) as object, fields)
    this.#entries.push(entry)
    if (this.#entries.length > 2 * MAX_ENTRIES) this.#entries = this.#entries.slice(-MAX_ENTRIES)
    return entry
  }

  reconciled(replica: number, { controller, key, disposition, causes, writes, cluster }: ReconcileReport): void {
    this.add(replica, 'reconcile', {
      object: `${controller} ${key}`,
      result: 'error' in disposition ? messageOf(disposition.error) : 'ok',
      causes: [...causes, ...(cluster === undefined ? [] : [`in ${cluster}`])],
      writes: writes.map(({ verb, kind, key, result }) => `${verb} ${kind} ${key} ${result}`),
    })
  }

  /** Wraps the transport of a replica, outside of its faults. */
  around(inner: Transport, replica: number, cluster: string | null): Transport {
    return async (request) => {
      const end = (result: string): void => this.#requested(replica, request, cluster, result)
      try {
        const response = await inner(request)
        end(String(response.status))
        return response
      } catch (error) {
        end(messageOf(error))
        throw error
      }
    }
  }

  #requested(
    replica: number,
    { method, path }: Parameters<Transport>[0],
    cluster: string | null,
    result: string,
  ): void {
    const { path: sent, query } = splitTarget(path)
    const { verb, resource, subresource, namespace, name } = requestedAction(method, sent, query)
    if (!resource) return
    const what = subresource ? `${resource}/${subresource}` : resource
    const ref = [namespace, name].filter(Boolean).join('/')
    const object = `${what}${ref && ` ${ref}`}${cluster === null ? '' : ` in ${cluster}`}`
    const isLease = resource === 'leases'
    const last = isLease ? this.#leases.get(replica) : undefined
    if (last?.what === verb && last.object === object && last.result === result) last.times++
    else {
      const entry = this.add(replica, verb, { object, result })
      if (isLease) this.#leases.set(replica, entry)
    }
  }
}
