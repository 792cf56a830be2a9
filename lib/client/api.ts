/** Sends the API's verbs over a Transport, one request each, without a cache or retries on conflict. */
import { deepFreeze } from '../core/clone.ts'
import { ApiError } from '../core/errors.ts'
import { parseExact } from '../core/exact_json.ts'
import type { Fence, WriteEnd } from '../core/fence.ts'
import type { KubeObject } from '../core/objects.ts'
import { apiVersionOf, clusterSuffix } from '../core/resource.ts'
import type { HttpRequest, HttpResponse, Transport } from '../core/transport.ts'
import { abortScope } from '../async/abort.ts'
import { type Clock, systemClock, turnBudgetOf } from '../async/clock.ts'
import { isMissingKind, type ListBody, readAs, readError, readJson } from './codec.ts'
import { type Pace, readList } from './list_body.ts'
import { type FetchPage, fetchPages } from './pages.ts'
import {
  createRequest,
  type DeleteQuery,
  deleteRequest,
  describe,
  getRequest,
  listRequest,
  type PageQuery,
  patchRequest,
  type PatchType,
  type SelectOptions,
  type Target,
  updateRequest,
  type WatchQuery,
  watchRequest,
  wireObject,
  type WriteQuery,
} from './requests.ts'

/** Options of {@link Api}. */
export interface ApiOptions {
  readonly transport: Transport
  /** Default: the real clock. */
  readonly clock?: Clock | undefined
  /** Aborts every call of this Api. */
  readonly signal?: AbortSignal | undefined
  /** Checked at every write of this Api; reads are not fenced. */
  readonly fence?: Fence | undefined
  /** Notified of every write except dry runs. */
  readonly observer?: WriteObserver | undefined
  /** Whether to freeze the objects that are returned. Default: false. */
  readonly freeze?: boolean | undefined
  /** The cluster's name in errors. Default: none. */
  readonly cluster?: string | undefined
  /** The credentials' owner and source, appended to the error of a 401. */
  readonly identity?: string | undefined
  /** Called with the path of a request that failed as the server does not serve its kind. Default: none. */
  readonly forget?: ((path: string) => void) | undefined
}

/** Notified of writes and reads, so that a cache knows a change before its watch delivers it. */
export interface WriteObserver {
  /**
   * Called before a write that is not a dry run, and before an object is read. Returns `undefined` if the result is not
   * needed.
   */
  begin(target: Target): WriteInFlight | undefined
}

/** One write or read, from before its request until its response is read. */
export interface WriteInFlight {
  /** Called with the server's response if the request succeeds. Must not throw. */
  answered(answer: unknown): void
  /** Called with the response to a delete: the object or objects (as they are or were) or a Status. Must not throw. */
  deleted(answer: unknown): void
  /** Called last, exactly once, whatever happened. */
  end(): void
}

/** A written object, and whether the write created it. */
export interface Written {
  readonly object: KubeObject
  readonly created: boolean
}

/**
 * Compares versions: the server keeps the version if a write changes nothing, and if it deletes the object with the
 * last finalizer.
 */
export function resultOf(written: Written, before: object | undefined): 'created' | 'changed' | 'unchanged' {
  if (written.created) return 'created'
  const metadata = written.object.metadata as KubeObject['metadata'] | undefined
  const old = (before as Partial<KubeObject> | undefined)?.metadata
  const isSame = metadata?.resourceVersion !== undefined && old?.resourceVersion === metadata.resourceVersion &&
    old.finalizers?.length === metadata.finalizers?.length
  return isSame ? 'unchanged' : 'changed'
}

/** Sends the requests of a client, and reads their answers. */
export class Api {
  readonly #options: ApiOptions
  /** The run whose signal replaces that of the options. */
  readonly #run: { readonly signal: AbortSignal } | undefined

  constructor(options: ApiOptions, run?: { readonly signal: AbortSignal }) {
    this.#options = options
    this.#run = run
  }

  /** The cluster's name in errors. */
  get cluster(): string | undefined {
    return this.#options.cluster
  }

  /** The clock of deadlines and of long work. */
  get clock(): Clock {
    return this.#options.clock ?? systemClock
  }

  /** Returns {@link describe} with the cluster's name. */
  describe(target: Target): string {
    return describe(target) + clusterSuffix(this.#options)
  }

  /** Aborts every call of this Api. */
  get signal(): AbortSignal | undefined {
    return (this.#run ?? this.#options).signal
  }

  /** Returns a copy whose calls are aborted by the run's signal; the signal is read at the first call. */
  bound(run: { readonly signal: AbortSignal }): Api {
    return new Api(this.#options, run)
  }

  /** Returns a copy whose writes begin only while the fence holds, and are aborted when it falls. */
  fenced(fence: Fence): Api {
    return new Api({ ...this.#options, fence }, this.#run)
  }

  /** Returns the object, frozen if the options say so. */
  handOut(object: KubeObject): KubeObject {
    return this.#options.freeze ? deepFreeze(object) : object
  }

  /** The observer gets the answer as that to a write: cached reads are never older than what was read before. */
  async get(target: Target, signal?: AbortSignal): Promise<KubeObject> {
    return await this.#noted(target, target.subresource, async (note) => {
      const answer = await this.raw(getRequest(target), `get ${this.describe(target)}`, signal, parseExact)
      const object = this.handOut(readAs(target.resource, answer as KubeObject))
      note?.answered(object)
      return object
    })
  }

  /** Calls `act` with a note for the cache, which then ends. `isUnnoted`: the cache needs none. */
  async #noted<T>(
    target: Target,
    isUnnoted: unknown,
    act: (note: WriteInFlight | undefined) => Promise<T>,
  ): Promise<T> {
    const note = isUnnoted ? undefined : this.#options.observer?.begin(target)
    try {
      return await act(note)
    } finally {
      note?.end()
    }
  }

  /** Reads one page. Items without apiVersion and kind (built-in kinds) get them. */
  async listPage(target: Target, options: PageQuery, signal?: AbortSignal, pace?: Pace): Promise<ListBody> {
    const action = `list ${this.describe(target)}`
    const body = await this.#list(listRequest(target, options), target, action, signal, pace)
    if (!body || !isList(body)) throw new TypeError(`Cannot ${action}: the response is not a list`)
    return { metadata: body.metadata, items: body.items ?? [] }
  }

  /** Resolves with all objects, fetched page by page. All pages show the same version. */
  async list(target: Target, options: SelectOptions = {}, signal?: AbortSignal): Promise<ListBody> {
    const fetch: FetchPage = (limit, token) => this.listPage(target, { ...options, limit, continue: token }, signal)
    let items: KubeObject[][] = []
    let metadata: ListBody['metadata'] = { resourceVersion: '' }
    for await (const page of fetchPages(fetch, 'restart')) {
      if (page.restarted) items = []
      items.push(page.items)
      metadata = page.metadata
    }
    return { metadata, items: items.flat() }
  }

  /** Resolves with the open response when the server accepts the watch. Only `signal` aborts it. */
  async watch(target: Target, options: WatchQuery, signal: AbortSignal): Promise<HttpResponse> {
    const request = watchRequest(target, options)
    const response = await this.#options.transport({ ...request, signal })
    // A redirect, such as to a login, is no watch.
    if (response.status >= 300) {
      throw this.#explained(await readError(response, `watch ${this.describe(target)}`), request)
    }
    return response
  }

  create(target: Target, object: object, query: WriteQuery, signal?: AbortSignal): Promise<Written> {
    const request = createRequest(target, bodyOf(target, object), query)
    return this.#write(target, query, request, `create ${this.describe(target)}`, signal)
  }

  update(target: Target, object: object, query: WriteQuery, signal?: AbortSignal): Promise<Written> {
    const action = `update ${this.describe(target)}`
    return this.#write(target, query, updateRequest(target, bodyOf(target, object), query, action), action, signal)
  }

  patch(
    target: Target,
    type: PatchType,
    patch: unknown,
    query: WriteQuery & { force?: boolean | undefined },
    signal?: AbortSignal,
  ): Promise<Written> {
    const verb = type === 'apply' ? 'apply' : target.subresource === 'status' ? 'set the status of' : 'patch'
    const request = patchRequest(target, type, patch, query)
    return this.#write(target, query, request, `${verb} ${this.describe(target)}`, signal)
  }

  /** Resolves with the object while finalizers keep it, else with a Status. */
  delete(target: Target, options: DeleteQuery, signal?: AbortSignal): Promise<unknown> {
    const action = `delete ${this.describe(target)}`
    return this.#deleting(target, options, () => this.raw(deleteRequest(target, options), action, signal))
  }

  #deleting<T>(target: Target, { dryRun }: DeleteQuery, send: () => Promise<T>): Promise<T> {
    return this.#noted(target, dryRun, async (note) => {
      const answer = await send()
      note?.deleted(answer)
      return answer
    })
  }

  /** Deletes all selected objects. Resolves with the objects that the server lists in its response. */
  async deleteAll(target: Omit<Target, 'name'>, options: DeleteQuery, signal?: AbortSignal): Promise<KubeObject[]> {
    const action = `delete all ${this.describe(target)}`
    const send = () => this.#list(deleteRequest(target, options), target, action, signal)
    const body = await this.#deleting(target, options, send)
    return body?.items ?? []
  }

  /** Sends any request and resolves with its JSON response. */
  async raw(
    request: HttpRequest,
    action: string,
    signal?: AbortSignal,
    parse: (text: string) => unknown = JSON.parse,
  ): Promise<unknown> {
    return await this.#exchange(request, signal, (response) => readJson(response, action, parse))
  }

  /** Reads a list, in steps. Its items have apiVersion and kind. */
  async #list(
    request: HttpRequest,
    { resource }: Target,
    action: string,
    signal: AbortSignal | undefined,
    pace: Pace = () => turnOf(this.clock),
  ): Promise<Partial<ListBody> | null> {
    const apiVersion = apiVersionOf(resource)
    const item = (item: KubeObject): KubeObject =>
      this.handOut(readAs(resource, item.kind ? item : { ...item, apiVersion, kind: resource.kind }))
    return await this.#exchange(request, signal, (response) => readList(response, action, { item, pace }))
  }

  async #write(
    target: Target,
    { dryRun }: WriteQuery,
    request: HttpRequest,
    action: string,
    signal: AbortSignal | undefined,
  ): Promise<Written> {
    return await this.#noted(target, dryRun, async (note) => {
      const written = await this.#exchange(request, signal, async (response) => ({
        object: this.handOut((await readJson(response, action, parseExact)) as KubeObject),
        created: response.status === 201,
      }))
      note?.answered(written.object)
      return written
    })
  }

  /** Sends a request and reads its whole response, until one of its signals is aborted. */
  async #exchange<T>(
    request: HttpRequest,
    signal: AbortSignal | undefined,
    read: (response: HttpResponse) => Promise<T>,
  ): Promise<T> {
    const { signal: own } = this
    const fence = request.method === 'GET' ? undefined : this.#options.fence
    // A transport may ignore a signal that is aborted already, but an abandoned run must not write.
    own?.throwIfAborted()
    signal?.throwIfAborted()
    fence?.check()
    const end = fence?.opened?.()
    let outcome: WriteEnd = 'unsent'
    const beforeSend = fence && (() => {
      fence.check()
      outcome = 'unknown'
    })
    const ends = new Set([own, signal, fence?.signal])
    ends.delete(undefined)
    const [first] = ends
    const scope = ends.size > 1 ? abortScope(...ends) : undefined
    try {
      const response = await this.#options.transport({ ...request, signal: scope?.signal ?? first, beforeSend })
      // After a 5xx of a failing server or a proxy, the write may still take effect.
      if (response.status < 500) outcome = 'answered'
      return await read(response)
    } catch (error) {
      throw this.#explained(error, request)
    } finally {
      scope?.[Symbol.dispose]()
      end?.(outcome)
    }
  }

  /** Appends to a 401 which credentials were refused. Reports a kind that is not served. */
  #explained(error: unknown, { path }: HttpRequest): unknown {
    const { identity, forget } = this.#options
    if (isMissingKind(error)) forget?.(path)
    if (identity !== undefined && error instanceof ApiError && error.code === 401) {
      error.message += ` (the server does not accept the credentials, which may have expired: ${identity})`
    }
    return error
  }
}

/** Returns a later turn of the event loop, if the time of this one is spent. */
function turnOf(clock: Clock): Promise<void> | undefined {
  const budget = turnBudgetOf(clock)
  return budget.isSpent ? budget.turn() : undefined
}

/** Returns the body to send. A subresource's body has its own kind, which may differ from the object's. */
function bodyOf({ resource, subresource }: Target, object: object): object {
  return subresource ? object : wireObject(resource, object)
}

/**
 * Rejects a Table or a single object, which would look like an empty list. An empty list may have no `items`, or null.
 */
function isList(body: Partial<ListBody> & { readonly kind?: unknown }): body is ListBody {
  const { metadata, items, kind } = body
  if (typeof metadata !== 'object') return false
  return Array.isArray(items) || items === null || (items === undefined && String(kind).endsWith('List'))
}
