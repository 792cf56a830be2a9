/** The whole list of a kind, page by page, with an eye on a server that falls silent or forgets where it was. */
import { isExpired, NetworkError } from '../core/errors.ts'
import { formatKey, keyOf, type KubeObject } from '../core/objects.ts'
import { abortScope } from '../async/abort.ts'
import { type Clock, turnBudgetOf } from '../async/clock.ts'
import { deadline } from '../async/deadline.ts'
import type { Api } from '../client/api.ts'
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
  /** By key, in the order of the list. */
  readonly objects: Map<string, KubeObject>
  /** The version of the whole; a watch goes on from here. */
  readonly resourceVersion: string
}

/** As in client-go: the largest page. */
const MAX_PAGE_SIZE = 500
/** Of a kind whose objects may be large, see {@link pageSize}. */
const FIRST_PAGE_SIZE = 20
/** A page is parsed in one go, a megabyte in about 10 ms. */
const PAGE_CHARACTERS = 2 ** 20
/** The API server gives a request up after 60 s. A page that takes longer than this will not come any more. */
const SILENCE_MS = 150_000

export async function listPages(options: ListPagesOptions, signal: AbortSignal): Promise<WholeList> {
  const { api, target, labels, fields, clock } = options
  const what = api.describe(target)
  const scope = abortScope(signal)
  const budget = turnBudgetOf(clock)
  const objects = new Map<string, KubeObject>()
  let characters = 0
  const beforeParse = (count: number): Promise<void> | undefined => {
    characters = count
    return budget.isSpent ? budget.turn() : undefined
  }
  const page = async (limit: number | undefined, from: string | undefined): Promise<ListBody> => {
    // Each page has its time, and what we do with it is not counted.
    const anySilence = deadline(clock, SILENCE_MS, () => scope.abort(silence(what)))
    try {
      return await api.listPage(target, { labels, fields, continue: from, limit }, scope.signal, beforeParse)
    } finally {
      anySilence.cancel()
    }
  }
  const keep = async ({ items }: ListBody): Promise<void> => {
    for (const object of items) {
      options.prepare(object)
      objects.set(formatKey(keyOf(object)), object)
      if (!budget.isSpent) continue
      await budget.turn()
      scope.signal.throwIfAborted()
    }
  }
  try {
    let last: ListBody | undefined
    let limit = FIRST_PAGE_SIZE
    do {
      try {
        last = await page(limit, last?.metadata.continue)
        limit = pageSize(last.items.length, characters)
      } catch (error) {
        if (!last || !isExpired(error)) throw error
        // The pages took longer than the server remembers: all in one, or we would never get to the end.
        last = await page(undefined, undefined)
        objects.clear()
      }
      await keep(last)
    } while (last.metadata.continue)
    const { resourceVersion } = last.metadata
    if (!resourceVersion) throw new TypeError(`Cannot list ${what}: the server's list has no resourceVersion`)
    return { objects, resourceVersion }
  } finally {
    scope[Symbol.dispose]()
  }
}

/** How many objects to ask for next: so many that, if they are as large as the last ones, the page is parsed in a moment. */
function pageSize(items: number, characters: number): number {
  if (items === 0) return MAX_PAGE_SIZE
  return Math.max(1, Math.min(MAX_PAGE_SIZE, Math.floor(PAGE_CHARACTERS * items / characters)))
}

function silence(what: string): NetworkError {
  const message = `Cannot list ${what}: nothing was heard for ${
    SILENCE_MS / 1000
  } s, so the connection is taken for dead`
  return new NetworkError(message, { phase: 'response', code: 'ETIMEDOUT' })
}
