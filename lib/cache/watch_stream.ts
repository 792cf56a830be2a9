/** One connection of a watch: from a version on, or with everything that there is before it. */
import { NetworkError } from '../core/errors.ts'
import { formatKey, keyOf, type KubeObject } from '../core/objects.ts'
import { abortScope } from '../async/abort.ts'
import { type Clock, turnBudgetOf } from '../async/clock.ts'
import { deadline } from '../async/deadline.ts'
import { lineSplitter } from '../async/lines.ts'
import type { Api } from '../client/api.ts'
import type { SelectOptions, Target } from '../client/requests.ts'
import { parseWatchLine, type WatchEvent } from '../client/watch_events.ts'
import type { WatchInput } from './watch_state.ts'

export interface WatchStreamOptions extends SelectOptions {
  readonly api: Api
  readonly target: Target
  readonly clock: Clock
  readonly random: () => number
  /** Takes every object once as it comes, to keep less of it, before it is collected or handed on in a list. */
  readonly prepare: (object: KubeObject) => void
  /** Takes the whole, which is its own from then on. Called before the first event, which waits for it, and again whenever the whole was asked for anew. */
  readonly replace: (objects: Map<string, KubeObject>, resourceVersion: string) => Promise<void> | void
  /** Takes one event; its object is prepared. `resourceVersion` is the event's, as it came. */
  readonly apply: (event: WatchEvent, resourceVersion: string) => void
  /** Hears that the server accepted a watch from a version. */
  readonly onOpen?: () => void
}

/** Bookmarks come about every 60 s, 121 s was seen: a connection that is silent for longer is half-open. */
const SILENCE_MS = 150_000
/** What a server that sends no bookmarks may take beyond the time after which it was asked to end the watch. */
const LATE_END_MS = 30_000
/** What there is comes as fast as it can be read: a server that is silent within it does not know what was asked. */
const INITIAL_SILENCE_MS = 30_000

/**
 * Watches until the server closes the connection, it fails, or it is silent for too long; says how it ended.
 * `from`: the version to go on from; `undefined` asks for the whole first. What it brings on the way is told to `tell`.
 * `quiet`: the server sends no bookmarks. A dead connection is then found when the server should have ended the watch, after
 * 10.5 minutes at the latest.
 */
export async function watchOnce(
  options: WatchStreamOptions,
  from: string | undefined,
  signal: AbortSignal,
  tell: (input: WatchInput) => void,
  quiet = false,
): Promise<WatchInput> {
  const { api, target, labels, fields, clock, random } = options
  const what = api.describe(target)
  const budget = turnBudgetOf(clock)
  const began = clock.monotonic()
  const scope = abortScope(signal)
  /** What there is, until the mark that ends it. */
  let collected = from === undefined ? new Map<string, KubeObject>() : undefined
  let silent = false
  const giveUp = (ms: number): void => {
    silent = true
    scope.abort(silence(what, ms))
  }
  const initialSilence = collected && deadline(clock, INITIAL_SILENCE_MS, giveUp)
  const anySilence = deadline(clock, SILENCE_MS, giveUp)
  // Each watch ends at another time, so that a server that was restarted does not get them all back at once.
  const timeoutSeconds = Math.floor(300 + 300 * random())
  const endMs = began + timeoutSeconds * 1000 + LATE_END_MS
  const silenceMs = (): number => (quiet ? Math.max(SILENCE_MS, endMs - clock.monotonic()) : SILENCE_MS)
  let accepted = false
  let advanced = false
  try {
    const query = { labels, fields, resourceVersion: from ?? '', timeoutSeconds, initial: collected !== undefined }
    const { body } = await api.watch(target, query, scope.signal)
    accepted = true
    anySilence.set(silenceMs())
    initialSilence?.set(INITIAL_SILENCE_MS)
    if (!collected) options.onOpen?.()
    const splitter = lineSplitter()
    for await (const chunk of body) {
      anySilence.set(silenceMs())
      await takeAll(splitter.push(chunk))
    }
    await takeAll(splitter.end())
    return { kind: 'closed', lastedMs: clock.monotonic() - began, advanced }
  } catch (error) {
    return { kind: 'failed', error, accepted, lastedMs: clock.monotonic() - began, silent }
  } finally {
    initialSilence?.cancel()
    anySilence.cancel()
    scope[Symbol.dispose]()
  }

  /** The lines that a chunk completed. */
  async function takeAll(lines: readonly string[]): Promise<void> {
    // Part of a line counts: some are long. Bookmarks and changes do not: a server that does not know what was asked sends them.
    let isInitial = lines.length === 0
    for (const line of lines) {
      // Bytes that came before an abort are not wanted after it.
      scope.signal.throwIfAborted()
      const event = parseWatchLine(line, what)
      if (!collected) {
        take(event)
      } else if (event.kind === 'bookmark') {
        if (event.ends) await whole(collected, event.resourceVersion)
      } else {
        if (collect(collected, event)) isInitial = true
      }
      if (budget.isSpent) await meanwhile(budget.turn())
    }
    if (isInitial) initialSilence?.set(INITIAL_SILENCE_MS)
  }

  /** Waits for our own work: what the server sends meanwhile is not read, and its silence does not count. */
  async function meanwhile(work: Promise<void> | void): Promise<void> {
    anySilence.set(Infinity)
    await work
    anySilence.set(silenceMs())
  }

  function take(event: WatchEvent): void {
    // Read first: what prepares an object may take things out of it.
    const resourceVersion = event.kind === 'bookmark' ? event.resourceVersion : event.object.metadata.resourceVersion
    if (event.kind !== 'bookmark') options.prepare(event.object)
    options.apply(event, resourceVersion)
    const bookmark = event.kind === 'bookmark'
    tell({ kind: 'seen', resourceVersion, bookmark })
    if (bookmark && quiet) {
      quiet = false
      anySilence.set(SILENCE_MS)
    }
    if (resourceVersion !== from) advanced = true
  }

  /** Whether it is an object that was not there before. */
  function collect(
    objects: Map<string, KubeObject>,
    { kind, object }: Exclude<WatchEvent, { kind: 'bookmark' }>,
  ): boolean {
    const key = formatKey(keyOf(object))
    const isNew = kind === 'applied' && !objects.has(key)
    if (kind === 'deleted') {
      objects.delete(key)
    } else {
      options.prepare(object)
      objects.set(key, object)
    }
    return isNew
  }

  async function whole(objects: Map<string, KubeObject>, resourceVersion: string): Promise<void> {
    initialSilence?.cancel()
    collected = undefined
    advanced = true
    await meanwhile(options.replace(objects, resourceVersion))
    tell({ kind: 'listed', resourceVersion })
  }
}

function silence(what: string, ms: number): NetworkError {
  const message = `Cannot watch ${what}: nothing was heard for ${ms / 1000} s, so the connection is taken for dead`
  return new NetworkError(message, { phase: 'body', code: 'ETIMEDOUT' })
}
