/** Reads from the server: single objects and lists. */
import { type Index, indexKeys } from '../core/object_indexer.ts'
import { keyOf, type KubeObject, type Ref } from '../core/objects.ts'
import type { ResourceOf } from '../core/resource.ts'
import type { Api } from './api.ts'
import type { ListOptions, Reader } from './client.ts'
import { isMissingObject } from './codec.ts'

/** A {@link Reader} without a cache. */
export class LiveReader implements Reader {
  readonly #api: Api

  constructor(api: Api) {
    this.#api = api
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
    const { namespace, labels, fields } = options
    return (await this.#api.list({ resource, namespace }, { labels, fields })).items as T[]
  }

  async lookup<T extends KubeObject>(index: Index<T>, key: string): Promise<readonly T[]> {
    return (await this.list(index.resource)).filter((object) => indexKeys(index, object).includes(key))
  }
}
