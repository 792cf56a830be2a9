/** Keeps a store equal to what the server has: obeys {@link step}, one effect at a time. */
import { NetworkError } from '../core/errors.ts'
import type { KubeObject } from '../core/objects.ts'
import { abortScope } from '../async/abort.ts'
import { sleep, type Clock } from '../async/clock.ts'
import { lineBatches } from '../async/lines.ts'
import { watchdog } from '../async/watchdog.ts'
import { describe, type Api } from '../client/api.ts'
import type { SelectOptions, Target } from '../client/requests.ts'
import { listPages } from './list_pages.ts'
import { parseWatchLine, type WatchEvent } from './watch_line.ts'
import { initialWatchState, step, type WatchInput, type WatchState } from './watch_state.ts'

export interface ReflectorOptions extends SelectOptions {
  readonly api: Api
  readonly target: Target
  readonly clock: Clock
  readonly random?: () => number
  /** Takes the whole list. Called before the watch begins, and again after each new list. */
  readonly replace: (objects: KubeObject[]) => void
  /** Takes one event. */
  readonly apply: (event: WatchEvent) => void
  /** Hears that the server accepted a watch. */
  readonly onOpen?: () => void
  /** Hears of every failure, before the wait that follows it. */
  readonly onFailure: (error: unknown, waitMs: number) => void
}

/** Bookmarks come about every 60 s, 121 s was seen: a connection that is silent for longer is half-open. */
const SILENCE_MS = 150_000

/** Lists and watches until the signal is aborted; then it resolves. Nothing else ends it. */
export async function reflect(options: ReflectorOptions, signal: AbortSignal): Promise<void> {
  const random = options.random ?? Math.random
  let state: WatchState = initialWatchState
  const tell = (input: WatchInput): void => void (state = step(state, input, random))
  while (!signal.aborted) {
    let input: WatchInput
    switch (state.kind) {
      case 'listing':
        input = await list(options, signal)
        break
      case 'watching':
        input = await watch(options, state.resourceVersion, random, signal, tell)
        break
      case 'waiting':
        input = await wait(options.clock, state.ms, signal)
        break
    }
    // What an abort breaks off is no failure.
    if (signal.aborted) return
    tell(input)
    if (state.kind === 'waiting' && input.kind === 'failed') options.onFailure(input.error, state.ms)
    if (state.kind === 'waiting' && input.kind === 'closed') options.onFailure(tooShort(options.target), state.ms)
  }
}

async function wait(clock: Clock, ms: number, signal: AbortSignal): Promise<WatchInput> {
  // An abort ends it early, and the caller looks for that.
  await sleep(clock, ms, signal).catch(() => {})
  return { kind: 'waited' }
}

async function list(options: ReflectorOptions, signal: AbortSignal): Promise<WatchInput> {
  const began = options.clock.monotonic()
  try {
    const { items, resourceVersion } = await listPages(options, signal)
    // An answer that came with the abort is not wanted any more.
    signal.throwIfAborted()
    options.replace(items)
    return { kind: 'listed', resourceVersion }
  } catch (error) {
    return { kind: 'failed', error, accepted: false, lastedMs: options.clock.monotonic() - began }
  }
}

/** One watch, until the server closes it, it fails, or it is silent for too long. */
async function watch(
  options: ReflectorOptions,
  from: string,
  random: () => number,
  signal: AbortSignal,
  tell: (input: WatchInput) => void,
): Promise<WatchInput> {
  const { api, target, labels, fields, clock, apply } = options
  const what = describe(target)
  const began = clock.monotonic()
  const scope = abortScope(signal)
  const dog = watchdog(clock, SILENCE_MS, () => scope.abort(silence(what)))
  // Each watch ends at another time, so that a server that was restarted does not get them all back at once.
  const timeoutSeconds = Math.floor(300 + 300 * random())
  let accepted = false
  let advanced = false
  try {
    const { body } = await api.watch(target, { labels, fields, resourceVersion: from, timeoutSeconds }, scope.signal)
    accepted = true
    options.onOpen?.()
    for await (const lines of lineBatches(body)) {
      dog.heard()
      for (const line of lines) {
        // Bytes that came before an abort are not wanted after it.
        scope.signal.throwIfAborted()
        const event = parseWatchLine(line, what)
        // Read first: what applies an event may take things out of it.
        const resourceVersion = event.kind === 'bookmark' ? event.resourceVersion : event.object.metadata.resourceVersion
        apply(event)
        tell({ kind: 'seen', resourceVersion })
        if (resourceVersion !== from) advanced = true
      }
    }
    return { kind: 'closed', lastedMs: clock.monotonic() - began, advanced }
  } catch (error) {
    return { kind: 'failed', error, accepted, lastedMs: clock.monotonic() - began }
  } finally {
    dog[Symbol.dispose]()
    scope[Symbol.dispose]()
  }
}

function silence(what: string): NetworkError {
  const message = `Cannot watch ${what}: nothing was heard for ${SILENCE_MS / 1000} s, so the connection is taken for dead`
  return new NetworkError(message, { phase: 'body' })
}

function tooShort(target: Target): Error {
  return new Error(`Cannot watch ${describe(target)}: the server closed the watch as soon as it was open`)
}
