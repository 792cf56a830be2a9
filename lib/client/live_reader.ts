/** Reads from the server: single objects and lists. */
import { type Index, type IndexErrorHandler, indexKeys } from '../core/object_indexer.ts'
import { keyOf, type KubeObject, type Ref } from '../core/objects.ts'
import type { AnyResource, ResourceOf } from '../core/resource.ts'
import type { Api } from './api.ts'
import type { ListOptions, LookupOptions, Reader } from './client.ts'
import { isMissingObject, type ListBody } from './codec.ts'

/** A {@link Reader} without a cache. */
export class LiveReader implements Reader {
  readonly #api: Api
  /** Called for an object that a lookup leaves out, as the index's function threw. */
  readonly onIndexError: IndexErrorHandler | undefined

  constructor(api: Api, onIndexError?: IndexErrorHandler) {
    this.#api = api
    this.onIndexError = onIndexError
  }

  async get<T extends KubeObject>(resource: ResourceOf<T>, ref: Ref<NoInfer<T>>): Promise<T | undefined> {
    try {
      return (await this.#api.get({ resource, ...keyOf(ref) })) as T
    } catch (error) {
      if (isMissingObject(error)) return undefined
      throw error
    }
  }

  async list<T extends KubeObject>(resource: ResourceOf<T>, options: ListOptions = {}): Promise<readonly T[]> {
    return (await this.listAt(resource, options)).items as T[]
  }

  async listAt(resource: AnyResource, { namespace, labels, fields }: ListOptions): Promise<ListBody> {
    return await this.#api.list({ resource, namespace }, { labels, fields })
  }

  async lookup<T extends KubeObject>(index: Index<T>, key: string, options?: LookupOptions): Promise<readonly T[]> {
    const all = await this.list(index.resource, options)
    return all.filter((object) => indexKeys(index, object, this.onIndexError).includes(key))
  }
}
