/** Waits until stores have what the server had when a leader's term began. */
import { firstOf, messageOf } from '../core/errors.ts'
import { formatKey, isNewerVersion, keyOf } from '../core/objects.ts'
import { untilAborted } from '../async/abort.ts'
import { type AnyResource, metadataOf, wholeOf } from '../core/resource.ts'
import { type Clock, sleep, type TurnBudget, within } from '../async/clock.ts'
import type { PartEnvironment } from '../observe/environment.ts'
import type { Api } from '../client/api.ts'
import { isMissingKind } from '../client/codec.ts'
import { type FetchPage, fetchPages } from '../client/pages.ts'
import type { SelectOptions } from '../client/requests.ts'
import type { Store } from './store.ts'
import { isTemporary } from './watch_health.ts'

export interface CatchUpOptions extends SelectOptions {
  readonly api: Api
  /** The kind of the store's objects, of which only metadata is read. */
  readonly resource: AnyResource
  readonly namespace?: string | undefined
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

/** The max time that {@link catchUpAll} takes. */
const CATCH_UP_MS = 10_000
/** The max number of informers that catch up at the same time, so that hundreds do not flood the server. */
const CATCH_UPS = 16

/** What was logged last for a cache, by its first informer, and when: buckets that are taken together wait together. */
const logged = new WeakMap<CatchingUp, { readonly which: string; readonly ms: number }>()

/** The part of an informer that is used here. */
interface CatchingUp {
  readonly isSynced: boolean
  readonly resource: AnyResource
  readonly failure: unknown
  readonly title: string
  readonly ended: Promise<void>
  caughtUp(signal: AbortSignal): Promise<void>
}

/** See `Cache.beforeLeading`. `optional`: whether a start goes on without a kind. */
export async function catchUpAll(
  informers: readonly CatchingUp[],
  { clock, log, optional }: PartEnvironment & { readonly optional: ((resource: AnyResource) => boolean) | undefined },
  signal: AbortSignal,
): Promise<void> {
  const behind = new Map<CatchingUp, string>()
  const failing: string[] = []
  for (const informer of informers) {
    const { isSynced, resource, failure, title } = informer
    if (!isSynced) continue
    // One of a Namespace that has joined is optional, but its kind need not be.
    if (failure === undefined || !optional?.(resource)) behind.set(informer, title)
    else if (!isMissingKind(failure)) failing.push(title)
  }
  const queue = [...behind.keys()].values()
  const work = async (limited: AbortSignal): Promise<void> => {
    for (const informer of queue) {
      try {
        await Promise.race([informer.caughtUp(limited), informer.ended])
        behind.delete(informer)
      } catch (error) {
        if (limited.aborted) return
        behind.set(informer, messageOf(error))
      }
    }
  }
  const all = (limited: AbortSignal) => Promise.all(Array.from({ length: CATCH_UPS }, () => work(limited)))
  const tooLong = (): Error => new Error('The caches have not caught up in time')
  try {
    // Also if a transport ignores its signal.
    await within(clock, CATCH_UP_MS, tooLong, (limited) => untilAborted(all(limited), limited), signal)
  } catch {
    // The missing kinds are logged below.
    signal.throwIfAborted()
  }
  const late = [...behind.values(), ...failing]
  if (late.length === 0) return
  const which = firstOf(late, 5).join('; ')
  const [first] = informers as [CatchingUp]
  const ms = clock.monotonic()
  const last = logged.get(first)
  if (last?.which === which && ms - last.ms < CATCH_UP_MS) return
  logged.set(first, { which, ms })
  log.warn(`Leading with a cache that may lack the last leader's writes, as it has not caught up: ${which}`)
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
  const { api, resource, namespace, labels, fields, budget, store, lastSeen } = options
  const target = { resource: metadataOf(wholeOf(resource)), namespace }
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
