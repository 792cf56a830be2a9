/** The whole list of a kind, page by page, with an eye on a server that falls silent or forgets where it was. */
import { isReason, NetworkError } from '../core/errors.ts'
import type { KubeObject } from '../core/objects.ts'
import { abortScope } from '../async/abort.ts'
import type { Clock } from '../async/clock.ts'
import { deadline } from '../async/deadline.ts'
import { describe, type Api } from '../client/api.ts'
import type { ListBody } from '../client/codec.ts'
import type { SelectOptions, Target } from '../client/requests.ts'

export interface ListPagesOptions extends SelectOptions {
  readonly api: Api
  readonly target: Target
  readonly clock: Clock
  /** Takes every object once as it comes, to keep less of it before the next page is there. */
  readonly prepare: (object: KubeObject) => void
}

export interface WholeList {
  readonly items: KubeObject[]
  /** The version of the whole; a watch goes on from here. */
  readonly resourceVersion: string
}

/** As in client-go. */
const PAGE_SIZE = 500
/** The API server gives a request up after 60 s. A page that takes longer than this will not come any more. */
const SILENCE_MS = 150_000

export async function listPages(options: ListPagesOptions, signal: AbortSignal): Promise<WholeList> {
  const { api, target, labels, fields, clock } = options
  const what = describe(target)
  const scope = abortScope(signal)
  const anySilence = deadline(clock, SILENCE_MS, () => scope.abort(silence(what)))
  const page = async (limit: number, from: string | undefined): Promise<ListBody> => {
    const body = await api.listPage(target, { labels, fields, continue: from, ...(limit > 0 ? { limit } : {}) }, scope.signal)
    anySilence.set(SILENCE_MS)
    body.items.forEach(options.prepare)
    return body
  }
  try {
    const pages: KubeObject[][] = []
    let last: ListBody | undefined
    do {
      try {
        last = await page(PAGE_SIZE, last?.metadata.continue)
        pages.push(last.items)
      } catch (error) {
        if (pages.length === 0 || !isExpired(error)) throw error
        // The pages took longer than the server remembers: all in one, or we would never get to the end.
        last = await page(0, undefined)
        pages.splice(0, pages.length, last.items)
      }
    } while (last.metadata.continue)
    const { resourceVersion } = last.metadata
    if (!resourceVersion) throw new TypeError(`Cannot list ${what}: the server's list has no resourceVersion`)
    return { items: pages.flat(), resourceVersion }
  } finally {
    anySilence.cancel()
    scope[Symbol.dispose]()
  }
}

function isExpired(error: unknown): boolean {
  return isReason(error, 'Expired') || isReason(error, 'Gone')
}

function silence(what: string): NetworkError {
  const message = `Cannot list ${what}: nothing was heard for ${SILENCE_MS / 1000} s, so the connection is taken for dead`
  return new NetworkError(message, { phase: 'response', code: 'ETIMEDOUT' })
}
