/** A list, page by page. */
import { isExpired } from '../core/errors.ts'
import type { KubeObject } from '../core/objects.ts'
import { type Api, PAGE_SIZE } from './api.ts'
import type { ListPage, PageOptions } from './client.ts'

/** The pages of a kind; see {@link Client.pages}. Each is asked for when the one before has been taken. */
export async function* pages(
  api: Api,
  target: Parameters<Api['listPage']>[0],
  { labels, fields, limit = PAGE_SIZE, continue: from, signal }: PageOptions,
): AsyncGenerator<ListPage<KubeObject>, void, undefined> {
  let token = from
  let isSecondTry = false
  do {
    try {
      const { items, metadata } = await api.listPage(target, { labels, fields, limit, continue: token }, signal)
      token = metadata.continue || undefined
      isSecondTry = false
      yield { items, resourceVersion: metadata.resourceVersion, continue: token }
    } catch (error) {
      const rest = tokenForTheRest(error)
      if (!token || !rest || isSecondTry) throw error
      isSecondTry = true
      token = rest
    }
  } while (token)
}

/**
 * Where the server can go on, though it has forgotten the moment that the list began with.
 *
 * @see https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
 */
function tokenForTheRest(error: unknown): string | undefined {
  return isExpired(error) ? error.status.metadata?.continue : undefined
}
