/** Lists a kind in pages that do not block the event loop, with a deadline for each page. */
import { formatKey, keyOf, type KubeObject } from '../core/objects.ts'
import { abortScope } from '../async/abort.ts'
import { type Clock, turnBudgetOf } from '../async/clock.ts'
import { SILENCE_MS, silenceDeadline } from '../client/silence.ts'
import type { Api } from '../client/api.ts'
import { type FetchPage, fetchPages } from '../client/pages.ts'
import type { Objects } from './store.ts'
import type { ListVersion, SelectOptions, Target } from '../client/requests.ts'

export interface ListPagesOptions extends SelectOptions {
  readonly api: Api
  readonly target: Target
  readonly clock: Clock
  /** Lists at this version, the first page alone: no version goes with a token. Default: all, at the newest one. */
  readonly at?: ListVersion
  /** Called once for each received object, to drop what is not kept. */
  readonly prepare: (object: KubeObject) => void
  /** Makes the map of the list. Default: a Map. */
  readonly objects?: (() => Objects<KubeObject>) | undefined
}

export interface FullList {
  /** By key, in the order of the list. */
  readonly objects: Objects<KubeObject>
  /** The version of the list; a watch continues from here. */
  readonly resourceVersion: string
}

/** The max page size of client-go. */
const MAX_PAGE_SIZE = 500
/** The size of the first page, as the objects may be large; see {@link pageSize}. */
const FIRST_PAGE_SIZE = 20
/** The target length of a page, which is kept whole until its objects are stored. */
const PAGE_CHARACTERS = 2 ** 20

/** Returns all objects of a kind, in pages of about the same length. */
export async function listPages(options: ListPagesOptions, signal: AbortSignal): Promise<FullList> {
  const { api, target, labels, fields, at, clock } = options
  const action = `list ${api.describe(target)}`
  const scope = abortScope(signal)
  const budget = turnBudgetOf(clock)
  const empty = (): Objects<KubeObject> => options.objects?.() ?? new Map<string, KubeObject>()
  let objects = empty()
  let resourceVersion = ''
  let limit = FIRST_PAGE_SIZE
  let characters = 0
  const fetch: FetchPage = async (limit, token) => {
    // One deadline per part of a page: the time for storing the objects does not count.
    const silence = silenceDeadline(clock, { action, phase: 'response' }, scope.abort)
    characters = 0
    const pace = (count: number): Promise<void> | undefined => {
      characters += count
      silence.set(SILENCE_MS)
      return budget.isSpent ? budget.turn() : undefined
    }
    try {
      return await api.listPage(target, { labels, fields, at, continue: token, limit }, scope.signal, pace)
    } finally {
      silence.cancel()
    }
  }
  try {
    for await (const { items, metadata, restarted } of fetchPages(fetch, 'restart', { limit: () => limit })) {
      if (restarted) objects = empty()
      else limit = pageSize(items.length, characters)
      // That of the first page: an aggregated API may give pages of several versions, and the watch must miss nothing.
      if (restarted || !resourceVersion) resourceVersion = metadata.resourceVersion
      for (const object of items) {
        options.prepare(object)
        objects.set(formatKey(keyOf(object)), object)
        if (!budget.isSpent) continue
        await budget.turn()
        scope.signal.throwIfAborted()
      }
      if (at) break
    }
    if (!resourceVersion) throw new TypeError(`Cannot ${action}: the server's list has no resourceVersion`)
    return { objects, resourceVersion }
  } finally {
    scope[Symbol.dispose]()
  }
}

/** Returns the size of a page with about {@link PAGE_CHARACTERS}, if its objects are as large as the last ones. */
function pageSize(items: number, characters: number): number {
  if (items === 0) return MAX_PAGE_SIZE
  return Math.max(1, Math.min(MAX_PAGE_SIZE, Math.floor(PAGE_CHARACTERS * items / characters)))
}
