/** The API's own verbs over a Transport: one request each (a list is one a page), no cache, no retry on conflict. */
import { isReason } from '../core/errors.ts'
import type { Fence, WriteEnd } from '../core/fence.ts'
import type { KubeObject } from '../core/objects.ts'
import { groupResourceOf, apiVersionOf } from '../core/resource.ts'
import type { HttpRequest, HttpResponse, Transport } from '../core/transport.ts'
import { abortScope } from '../async/abort.ts'
import { readError, readJson, type ListBody } from './codec.ts'
import {
  createRequest, deleteRequest, getRequest, listRequest, patchRequest, updateRequest, watchRequest, wireObject,
  type PatchType, type SelectOptions, type Target, type WriteQuery,
} from './requests.ts'

/** As client-go's default: small enough for the server, large enough to be few. */
const PAGE_SIZE = 500

export interface ApiOptions {
  readonly transport: Transport
  /** Ends every call of this Api. */
  readonly signal?: AbortSignal | undefined
  /** Around every write of this Api; reads pass. */
  readonly fence?: Fence | undefined
}

/** An object that was written, and whether the write made it. */
export interface Written {
  readonly object: KubeObject
  readonly created: boolean
}

export class Api {
  readonly #options: ApiOptions

  constructor(options: ApiOptions) {
    this.#options = options
  }

  /** The same, for one run: its calls end with the signal. */
  bound(signal: AbortSignal): Api {
    return new Api({ ...this.#options, signal })
  }

  /** The same, for what works in the name of a lease: its writes begin only while the fence stands, and end when it falls. */
  fenced(fence: Fence): Api {
    return new Api({ ...this.#options, fence })
  }

  async get(target: Target, signal?: AbortSignal): Promise<KubeObject> {
    return (await this.#json(getRequest(target), `get ${describe(target)}`, signal)) as KubeObject
  }

  /** One page. Items of built-in kinds come without apiVersion and kind; they are given theirs. */
  async listPage(
    target: Target,
    options: SelectOptions & { limit?: number; continue?: string | undefined },
    signal?: AbortSignal,
  ): Promise<ListBody> {
    const action = `list ${describe(target)}`
    const body = (await this.#json(listRequest(target, options), action, signal)) as Partial<ListBody> | null
    if (typeof body?.metadata !== 'object') throw new TypeError(`Cannot ${action}: the server answered with something that is no list`)
    const apiVersion = apiVersionOf(target.resource)
    const items = (body.items ?? []).map((item) => (item.kind ? item : { ...item, apiVersion, kind: target.resource.kind }))
    return { metadata: body.metadata, items }
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
        if (!page || !(isReason(error, 'Expired') || isReason(error, 'Gone'))) throw error
        return await this.listPage(target, options, signal)
      }
      items.push(page.items)
    } while (page.metadata.continue)
    return { metadata: page.metadata, items: items.flat() }
  }

  /** Opens a watch: settles when the server accepts it, with the bytes to come. It ends with `signal`, and only with that. */
  async watch(
    target: Target,
    options: SelectOptions & { resourceVersion: string; timeoutSeconds: number },
    signal: AbortSignal,
  ): Promise<HttpResponse> {
    const response = await this.#options.transport({ ...watchRequest(target, options), signal })
    if (response.status >= 400) throw await readError(response, `watch ${describe(target)}`)
    return response
  }

  create(target: Target, object: object, query: WriteQuery, signal?: AbortSignal): Promise<Written> {
    return this.#write(createRequest(target, wireObject(target.resource, object), query), `create ${describe(target)}`, signal)
  }

  update(target: Target, object: object, query: WriteQuery, signal?: AbortSignal): Promise<Written> {
    return this.#write(updateRequest(target, wireObject(target.resource, object), query), `update ${describe(target)}`, signal)
  }

  patch(
    target: Target,
    type: PatchType,
    patch: unknown,
    query: WriteQuery & { force?: boolean | undefined },
    signal?: AbortSignal,
  ): Promise<Written> {
    const verb = type === 'apply' ? 'apply' : target.subresource === 'status' ? 'set the status of' : 'patch'
    return this.#write(patchRequest(target, type, patch, query), `${verb} ${describe(target)}`, signal)
  }

  /** The answer is the object while finalizers keep it, else a Status. */
  async delete(target: Target, options: Parameters<typeof deleteRequest>[1], signal?: AbortSignal): Promise<unknown> {
    return await this.#json(deleteRequest(target, options), `delete ${describe(target)}`, signal)
  }

  /** A request of the caller's own, answered with JSON. */
  async raw(request: HttpRequest, action: string, signal?: AbortSignal): Promise<unknown> {
    return await this.#json(request, action, signal)
  }

  async #write(request: HttpRequest, action: string, signal: AbortSignal | undefined): Promise<Written> {
    return await this.#exchange(request, signal, async (response) => ({
      object: (await readJson(response, action)) as KubeObject,
      created: response.status === 201,
    }))
  }

  async #json(request: HttpRequest, action: string, signal: AbortSignal | undefined): Promise<unknown> {
    return await this.#exchange(request, signal, (response) => readJson(response, action))
  }

  /** Sends, and reads the whole answer, while no signal that ends it is aborted. */
  async #exchange<T>(request: HttpRequest, signal: AbortSignal | undefined, read: (response: HttpResponse) => Promise<T>): Promise<T> {
    const { transport, signal: own } = this.#options
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
    const ends = [...new Set([own, signal, fence?.signal].filter((each) => each !== undefined))]
    const scope = ends.length < 2 ? undefined : abortScope(...ends)
    try {
      const response = await transport({ ...request, signal: scope?.signal ?? ends[0], beforeSend })
      // A server that is in trouble, or a proxy that gave it up, may carry out even so what it does not answer for.
      if (response.status < 500) outcome = 'answered'
      return await read(response)
    } finally {
      scope?.[Symbol.dispose]()
      end?.(outcome)
    }
  }
}

/** `Foo "default/example"`, or `foos.example.dev in namespace "default"` for all of them. */
export function describe(target: Target): string {
  const { resource, namespace, name } = target
  if (name === undefined) return `${groupResourceOf(resource)}${namespace ? ` in namespace "${namespace}"` : ''}`
  return `${resource.kind} "${namespace ? `${namespace}/` : ''}${name}"`
}
