/** Reads from the server: single objects, whole lists, and lists page by page. */
import { isExpired } from '../core/errors.ts'
import { type Index, indexKeys } from '../core/object_indexer.ts'
import { keyOf, type KubeObject, type Ref } from '../core/objects.ts'
import type { Resource } from '../core/resource.ts'
import { type Api, PAGE_SIZE } from './api.ts'
import type { ListOptions, ListPage, PageOptions, Reader } from './client.ts'
import { isMissingObject } from './codec.ts'

// deno-lint-ignore no-explicit-any -- reading does not depend on D
type Of<T extends KubeObject> = Resource<T, any>

/** A {@link Reader} without a cache. */
export class LiveReader implements Reader {
  readonly #api: Api

  constructor(api: Api) {
    this.#api = api
  }

  async get<T extends KubeObject>(resource: Of<T>, ref: Ref<NoInfer<T>>): Promise<T | undefined> {
    try {
      return (await this.#api.get({ resource, ...keyOf(ref) })) as T
    } catch (error) {
      if (isMissingObject(error)) return undefined
      throw error
    }
  }

  async list<T extends KubeObject>(resource: Of<T>, options: ListOptions = {}): Promise<readonly T[]> {
    const { namespace, labels, fields } = options
    return (await this.#api.list({ resource, namespace }, { labels, fields })).items as T[]
  }

  async lookup<T extends KubeObject>(index: Index<T>, key: string): Promise<readonly T[]> {
    return (await this.list(index.resource)).filter((object) => indexKeys(index, object).includes(key))
  }
}

/** Yields the pages of a kind; see {@link Client.pages}. Each page is requested when the consumer asks for it. */
export async function* pages<T extends KubeObject>(
  api: Api,
  target: Parameters<Api['listPage']>[0],
  { labels, fields, limit = PAGE_SIZE, continue: from, signal }: PageOptions,
): AsyncGenerator<ListPage<T>, void, undefined> {
  let token = from
  let isSecondTry = false
  do {
    try {
      const { items, metadata } = await api.listPage(target, { labels, fields, limit, continue: token }, signal)
      token = metadata.continue || undefined
      isSecondTry = false
      yield { items: items as T[], resourceVersion: metadata.resourceVersion, continue: token }
    } catch (error) {
      const rest = tokenForTheRest(error)
      if (!token || !rest || isSecondTry) throw error
      isSecondTry = true
      token = rest
    }
  } while (token)
}

/**
 * Returns the token to continue at a later version, from the error for a list whose version is gone.
 *
 * @see https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
 */
function tokenForTheRest(error: unknown): string | undefined {
  return isExpired(error) ? error.status.metadata?.continue : undefined
}
