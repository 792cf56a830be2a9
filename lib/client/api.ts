/** The API's own verbs over a Transport: one request each (a list is one a page), no cache, no retry on conflict. */
import { deepFreeze } from '../core/clone.ts'
import { ApiError, isExpired } from '../core/errors.ts'
import { parseExact } from '../core/exact_json.ts'
import type { Fence, WriteEnd } from '../core/fence.ts'
import type { KubeObject } from '../core/objects.ts'
import { apiVersionOf, groupResourceOf } from '../core/resource.ts'
import type { HttpRequest, HttpResponse, Transport } from '../core/transport.ts'
import { abortScope } from '../async/abort.ts'
import { type BeforeParse, type ListBody, type Parse, readAs, readError, readJson } from './codec.ts'
import {
  createRequest,
  type DeleteQuery,
  deleteRequest,
  getRequest,
  listRequest,
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
import type { WriteObserver } from './write_observer.ts'

/** As client-go's default: small enough for the server, large enough to be few. */
export const PAGE_SIZE = 500

/** Options of {@link Api}. */
export interface ApiOptions {
  readonly transport: Transport
  /** Ends every call of this Api. */
  readonly signal?: AbortSignal | undefined
  /** Around every write of this Api; reads pass. */
  readonly fence?: Fence | undefined
  /** Hears of its writes, except dry runs. */
  readonly observer?: WriteObserver | undefined
  /** Freezes the objects that it returns. Default: false. */
  readonly freeze?: boolean | undefined
  /** What errors call the cluster. Default: nothing, as there is one. */
  readonly cluster?: string | undefined
  /** Whose credentials are sent, and where they are, for the error of a 401. */
  readonly identity?: string | undefined
}

/** ` in cluster "west"`, behind what is there; empty for a cluster that has no name in errors. */
export function clusterSuffix({ cluster }: Pick<ApiOptions, 'cluster'>): string {
  return cluster === undefined ? '' : ` in cluster "${cluster}"`
}

/** An object that was written, and whether the write made it. */
export interface Written {
  readonly object: KubeObject
  readonly created: boolean
}

/** Sends the requests of a client, and reads their answers. */
export class Api {
  readonly #options: ApiOptions
  /** Whose signal ends every call, in the place of that of the options. */
  readonly #run: { readonly signal: AbortSignal } | undefined

  constructor(options: ApiOptions, run?: { readonly signal: AbortSignal }) {
    this.#options = options
    this.#run = run
  }

  /** What errors call the cluster. */
  get cluster(): string | undefined {
    return this.#options.cluster
  }

  /** {@link describe}, with the cluster. */
  describe(target: Target): string {
    return describe(target) + clusterSuffix(this.#options)
  }

  /** Ends every call of this Api. */
  get signal(): AbortSignal | undefined {
    return (this.#run ?? this.#options).signal
  }

  /** The same, for one run: its calls end with the run's signal, which is not asked for before there is a call. */
  bound(run: { readonly signal: AbortSignal }): Api {
    return new Api(this.#options, run)
  }

  /** The same, for what works in the name of a lease: its writes begin only while the fence stands, and end when it falls. */
  fenced(fence: Fence): Api {
    return new Api({ ...this.#options, fence }, this.#run)
  }

  /** The same, whose writes are told to a cache, for what reads from that; with `freeze`, what it returns is frozen as there. */
  observed(observer: WriteObserver, freeze?: boolean): Api {
    return new Api({ ...this.#options, observer, freeze }, this.#run)
  }

  /** An object as the caller is given it: frozen, where objects from a cache are. */
  handOut(object: KubeObject): KubeObject {
    return this.#options.freeze ? deepFreeze(object) : object
  }

  async get(target: Target, signal?: AbortSignal): Promise<KubeObject> {
    return this.handOut(
      readAs(
        target.resource,
        (await this.#json(getRequest(target), `get ${this.describe(target)}`, signal, parseExact)) as KubeObject,
      ),
    )
  }

  /** One page. Items of built-in kinds come without apiVersion and kind; they are given theirs. `beforeParse`: see {@link readJson}. */
  async listPage(
    target: Target,
    options: SelectOptions & { limit?: number | undefined; continue?: string | undefined },
    signal?: AbortSignal,
    beforeParse?: BeforeParse,
  ): Promise<ListBody> {
    const action = `list ${this.describe(target)}`
    const read = (response: HttpResponse): Promise<unknown> => readJson(response, action, { beforeParse })
    const body = (await this.#exchange(listRequest(target, options), signal, read)) as Partial<ListBody> | null
    if (!body || !isList(body)) {
      throw new TypeError(`Cannot ${action}: the server answered with something that is no list`)
    }
    return { metadata: body.metadata, items: this.#itemsOf(body, target) }
  }

  /** Every page, one after the other, and the version of the whole: all pages are of one moment. */
  async list(target: Target, options: SelectOptions = {}, signal?: AbortSignal): Promise<ListBody> {
    const items: KubeObject[][] = []
    let page: ListBody | undefined
    do {
      try {
        page = await this.listPage(target, { ...options, limit: PAGE_SIZE, continue: page?.metadata.continue }, signal)
      } catch (error) {
        // That moment was compacted away while we read: everything at once cannot expire. Without a page before, it is final.
        if (!page || !isExpired(error)) throw error
        return await this.listPage(target, options, signal)
      }
      items.push(page.items)
    } while (page.metadata.continue)
    return { metadata: page.metadata, items: items.flat() }
  }

  /** Opens a watch: settles when the server accepts it, with the bytes to come. It ends with `signal`, and only with that. */
  async watch(
    target: Target,
    options: WatchQuery,
    signal: AbortSignal,
  ): Promise<HttpResponse> {
    const response = await this.#options.transport({ ...watchRequest(target, options), signal })
    if (response.status >= 400) throw this.#identified(await readError(response, `watch ${this.describe(target)}`))
    return response
  }

  create(target: Target, object: object, query: WriteQuery, signal?: AbortSignal): Promise<Written> {
    return this.#write(
      target,
      query,
      createRequest(target, bodyOf(target, object), query),
      `create ${this.describe(target)}`,
      signal,
    )
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
    return this.#write(
      target,
      query,
      patchRequest(target, type, patch, query),
      `${verb} ${this.describe(target)}`,
      signal,
    )
  }

  /** The answer is the object while finalizers keep it, else a Status. */
  async delete(target: Target, options: DeleteQuery, signal?: AbortSignal): Promise<unknown> {
    const inFlight = options.dryRun ? undefined : this.#options.observer?.begin(target)
    try {
      const answer = await this.#json(deleteRequest(target, options), `delete ${this.describe(target)}`, signal)
      inFlight?.deleted(answer)
      return answer
    } finally {
      inFlight?.end()
    }
  }

  /** Deletes what is selected of a kind. Answers with the objects as they are left, where the server says. */
  async deleteAll(
    target: Target,
    options: DeleteQuery,
    signal?: AbortSignal,
  ): Promise<KubeObject[]> {
    const all = { ...target, name: undefined }
    return this.#itemsOf(
      (await this.#json(deleteRequest(all, options), `delete all ${this.describe(all)}`, signal)) as
        | Partial<ListBody>
        | null,
      all,
    )
  }

  /** A request of the caller's own, answered with JSON. */
  async raw(request: HttpRequest, action: string, signal?: AbortSignal): Promise<unknown> {
    return await this.#json(request, action, signal)
  }

  /** The items of a list: those of built-in kinds come without apiVersion and kind. */
  #itemsOf(body: Partial<ListBody> | null, { resource }: Target): KubeObject[] {
    const apiVersion = apiVersionOf(resource)
    return (body?.items ?? []).map((item) =>
      this.handOut(readAs(resource, item.kind ? item : { ...item, apiVersion, kind: resource.kind }))
    )
  }

  async #write(
    target: Target,
    { dryRun }: WriteQuery,
    request: HttpRequest,
    action: string,
    signal: AbortSignal | undefined,
  ): Promise<Written> {
    const inFlight = dryRun ? undefined : this.#options.observer?.begin(target)
    try {
      const written = await this.#exchange(request, signal, async (response) => ({
        object: this.handOut((await readJson(response, action, { parse: parseExact })) as KubeObject),
        created: response.status === 201,
      }))
      inFlight?.answered(written.object)
      return written
    } finally {
      inFlight?.end()
    }
  }

  async #json(
    request: HttpRequest,
    action: string,
    signal: AbortSignal | undefined,
    parse: Parse = JSON.parse,
  ): Promise<unknown> {
    return await this.#exchange(request, signal, (response) => readJson(response, action, { parse }))
  }

  /** Sends, and reads the whole answer, while no signal that ends it is aborted. */
  async #exchange<T>(
    request: HttpRequest,
    signal: AbortSignal | undefined,
    read: (response: HttpResponse) => Promise<T>,
  ): Promise<T> {
    const { signal: own } = this
    const fence = request.method === 'GET' ? undefined : this.#options.fence
    // Not every transport looks at a signal that was aborted before; an abandoned run must not write on any.
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
      // A server that is in trouble, or a proxy that gave it up, may carry out even so what it does not answer for.
      if (response.status < 500) outcome = 'answered'
      return await read(response)
    } catch (error) {
      throw this.#identified(error)
    } finally {
      scope?.[Symbol.dispose]()
      end?.(outcome)
    }
  }

  /** Says of a 401 whose credentials were refused. */
  #identified(error: unknown): unknown {
    const { identity } = this.#options
    if (identity !== undefined && error instanceof ApiError && error.code === 401) error.message += ` (${identity})`
    return error
  }
}

/** A subresource may be of another kind than the object it is a part of: what it is, is said by the body. */
function bodyOf({ resource, subresource }: Target, object: object): object {
  return subresource ? object : wireObject(resource, object)
}

/** A Table, or an object of the kind, would pass for a list of nothing; a list of nothing may be without items, or have null. */
function isList(body: Partial<ListBody> & { readonly kind?: unknown }): body is ListBody {
  return typeof body.metadata === 'object' &&
    (body.items !== undefined || (typeof body.kind === 'string' && body.kind.endsWith('List')))
}

/** `Foo "default/example"`, `the scale of Foo "default/example"`, or `foos.example.dev in namespace "default"` for all of them. */
export function describe(target: Target): string {
  const { resource, namespace, name, subresource } = target
  if (subresource && subresource !== 'status') {
    return `the ${subresource} of ${describe({ ...target, subresource: undefined })}`
  }
  if (name === undefined) return `${groupResourceOf(resource)}${namespace ? ` in namespace "${namespace}"` : ''}`
  return `${resource.kind} "${namespace ? `${namespace}/` : ''}${name}"`
}
