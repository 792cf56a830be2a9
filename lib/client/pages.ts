/** Fetches lists page by page, also when the continue token expires. */
import { isExpired } from '../core/errors.ts'
import type { KubeObject } from '../core/objects.ts'
import type { ListBody } from './codec.ts'
import type { PageQuery, Target } from './requests.ts'

/** The default page size, as in client-go. */
const PAGE_SIZE = 500

/** Fetches one page. Without a limit the server sends everything in one response. */
export type FetchPage = (limit: number | undefined, token: string | undefined) => Promise<ListBody>

export interface FetchedPage extends ListBody {
  /** Whether the list began again: the pages before this one are void. */
  readonly restarted: boolean
}

/**
 * Yields the pages of a list, each fetched when the consumer asks for it. If the continue token expires, the server no
 * longer has the version of the first page. `onExpired` decides what happens then:
 *
 * - `restart`: everything is fetched in one response, which cannot expire, so that all objects are of one version;
 * - `resume`: the list goes on at a newer version, if the server offers a token for that.
 *
 * Rejects with Expired if the first page is refused, or the fallback is.
 *
 * @see https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
 */
export async function* fetchPages(
  fetch: FetchPage,
  onExpired: 'restart' | 'resume',
  { limit = () => PAGE_SIZE, from }: { readonly limit?: () => number; readonly from?: string | undefined } = {},
): AsyncGenerator<FetchedPage, void, undefined> {
  let token = from || undefined
  do {
    let page: ListBody
    let restarted = false
    try {
      page = await fetch(limit(), token)
    } catch (error) {
      if (token === undefined || !isExpired(error)) throw error
      restarted = onExpired === 'restart'
      const rest = error.status.metadata?.continue
      if (!restarted && !rest) throw error
      page = await (restarted ? fetch(undefined, undefined) : fetch(limit(), rest))
    }
    token = page.metadata.continue || undefined
    yield { metadata: page.metadata, items: page.items, restarted }
  } while (token !== undefined)
}

/** The part of {@link Api} that {@link pages} uses. */
interface PageSource {
  listPage(target: Target, query: PageQuery, signal?: AbortSignal): Promise<ListBody>
}

/** Yields the pages of a kind; see {@link Client.pages}. */
export async function* pages(
  api: PageSource,
  target: Target,
  { limit = PAGE_SIZE, continue: from, signal, ...query }: PageQuery & { signal?: AbortSignal | undefined },
): AsyncGenerator<
  { readonly items: readonly KubeObject[]; readonly resourceVersion: string; readonly continue: string | undefined },
  void,
  undefined
> {
  const fetch: FetchPage = (limit, token) => api.listPage(target, { ...query, limit, continue: token }, signal)
  for await (const { items, metadata } of fetchPages(fetch, 'resume', { limit: () => limit, from })) {
    yield { items, resourceVersion: metadata.resourceVersion, continue: metadata.continue || undefined }
  }
}
