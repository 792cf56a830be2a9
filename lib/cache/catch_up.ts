/** Waits until a store has what the server had when a leader's term began. */
import { formatKey, isNewerVersion, keyOf } from '../core/objects.ts'
import { untilAborted } from '../async/abort.ts'
import { type Clock, sleep, type TurnBudget } from '../async/clock.ts'
import type { Api } from '../client/api.ts'
import { type FetchPage, fetchPages } from '../client/pages.ts'
import type { SelectOptions, Target } from '../client/requests.ts'
import type { Store } from './store.ts'
import { isTemporary } from './watch_health.ts'

export interface CatchUpOptions extends SelectOptions {
  readonly api: Api
  /** The objects of the store; only metadata is read. */
  readonly target: Target
  readonly clock: Clock
  /** That of the clock: this file is loaded beside mod.js, and a clock has one. */
  readonly budget: TurnBudget
  readonly store: Pick<Store, 'get' | 'heads'>
  /** Returns the version that the store has reached. */
  readonly lastSeen: () => string | undefined
  /** Resolves when the next list, event or bookmark is in the store. */
  readonly progress: () => Promise<void>
  /** Opens the watch again at its last version. */
  readonly reopen: () => void
}

/** The wait before a late watch is reopened, and before a failed list is repeated. */
const PATIENCE_MS = 1000

/**
 * Resolves when the store has all that the server had stored when this was called. The version of an idle kind shows
 * that only with the next bookmark, within a minute, so the metadata of its objects is listed and compared. Rejects if
 * the server refuses the list.
 */
export async function catchUp(options: CatchUpOptions, signal: AbortSignal): Promise<void> {
  const { clock, progress, reopen } = options
  let lag: Lag | undefined
  while (!lag) {
    try {
      lag = await compare(options, signal)
    } catch (error) {
      signal.throwIfAborted()
      if (!isTemporary(error)) throw error
      await sleep(clock, PATIENCE_MS, signal)
    }
  }
  if (hasCaughtUp(options, lag)) return
  const stopTimer = clock.after(PATIENCE_MS, reopen)
  try {
    do await untilAborted(progress(), signal)
    while (!hasCaughtUp(options, lag))
  } finally {
    stopTimer()
  }
}

interface Lag {
  /** The server's version. */
  readonly version: string
  /** The keys that differ, with the listed versions; undefined: not listed. */
  readonly behind: Map<string, string | undefined>
}

async function compare(options: CatchUpOptions, signal: AbortSignal): Promise<Lag> {
  const { api, target, labels, fields, budget, store, lastSeen } = options
  const fetch: FetchPage = (limit, token) => api.listPage(target, { labels, fields, limit, continue: token }, signal)
  const [listed, behind] = [new Set<string>(), new Map<string, string | undefined>()]
  let version = ''
  for await (const { items, metadata } of fetchPages(fetch, 'resume')) {
    version ||= metadata.resourceVersion
    if (isAt(lastSeen(), version)) return { version, behind }
    for (const object of items) {
      const key = formatKey(keyOf(object))
      const { resourceVersion } = object.metadata
      listed.add(key)
      if (!isAt(store.get(key)?.metadata.resourceVersion, resourceVersion)) behind.set(key, resourceVersion)
    }
  }
  for (const object of store.heads()) {
    const key = formatKey(keyOf(object))
    if (!listed.has(key)) behind.set(key, undefined)
    if (budget.isSpent) await budget.turn()
  }
  return { version, behind }
}

/** Forgets the keys that the store has meanwhile. */
function hasCaughtUp({ store, lastSeen }: CatchUpOptions, { version, behind }: Lag): boolean {
  if (isAt(lastSeen(), version)) return true
  for (const [key, listed] of behind) {
    const stored = store.get(key)?.metadata.resourceVersion
    // An object that is not listed was deleted.
    if (listed === undefined ? stored !== undefined : !isAt(stored, listed)) return false
    behind.delete(key)
  }
  return true
}

function isAt(version: string | undefined, wanted: string): boolean {
  return version === wanted || isNewerVersion(version, wanted)
}
