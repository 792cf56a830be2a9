/** Drives the watch state machine: keeps a store equal to what the server has, by lists and watches. */
import { isNotCapable, type NetworkError } from '../core/errors.ts'
import { formatKey, keyOf, type KubeObject, type ObjectMeta } from '../core/objects.ts'
import { abortScope } from '../async/abort.ts'
import { pause, type TurnBudget, turnBudgetOf } from '../async/clock.ts'
import type { Deadline } from '../async/deadline.ts'
import { SILENCE_MS, silenceDeadline } from '../client/silence.ts'
import { lineSplitter } from '../async/lines.ts'
import { parseWatchLine, type WatchEvent } from '../client/watch_events.ts'
import { listPages } from './list_pages.ts'
import { isRestored, type StoredObjects } from './restored.ts'
import type { Objects } from './store.ts'
import { doubtedVersion, initialWatchState, step, type WatchInput, type WatchState } from './watch_state.ts'

export interface ReflectorOptions extends StoredObjects {
  readonly random: () => number
  /** Set by the reflector, for its owner. */
  readonly control: WatchControl
  /**
   * Called with all objects, which it may keep: before the first event, and after every new list. Events wait for it.
   * `beganMs`: when they were requested, by the monotonic clock.
   */
  readonly replace: (objects: Objects<KubeObject>, resourceVersion: string, beganMs: number) => Promise<void> | void
  /** Called for each event, with its prepared object. `resourceVersion` is that of the event. */
  readonly apply: (event: WatchEvent, resourceVersion: string) => void
  /** Called when the server accepts a watch from a version. */
  readonly onOpen?: () => void
  /** Called on every failure, before the back-off. */
  readonly onFailure: (error: unknown, waitMs: number) => void
  /** Called with the reason when streaming the initial objects failed, before they are listed instead. */
  readonly onFallback?: (error: unknown) => void
}

/** Ends what a reflector does now. */
export interface WatchControl {
  deleted?: ObjectMeta
  /** Ends the back-off after at most this time; undefined while there is none. */
  retry?: ((withinMs: number) => void) | undefined
  /** Opens the watch again at its last version; undefined while there is none. */
  reopen?: (() => void) | undefined
}

/** How long after `timeoutSeconds` a server without bookmarks may end the watch. */
const LATE_END_MS = 30_000
/**
 * The max silence among the initial objects. They are sent without a pause, so a silent server does not support them.
 */
const INITIAL_SILENCE_MS = 30_000

/**
 * Streams or lists, then watches, until the signal is aborted; then it resolves. Rejects if Deno lacks a permission,
 * which a running process cannot get.
 */
export async function reflect(options: ReflectorOptions, signal: AbortSignal): Promise<void> {
  let state: WatchState = initialWatchState
  const advance = (input: WatchInput): void => {
    // A list may have what was deleted again, at versions that are lower.
    if (input.kind === 'listed') delete options.control.deleted
    state = step(state, input, options.random)
  }
  while (!signal.aborted) {
    let input: WatchInput
    switch (state.kind) {
      case 'streaming':
      case 'watching': {
        const from = state.kind === 'watching' ? state.resourceVersion : undefined
        input = await new WatchRun(options, from, advance, state.quiet).run(signal)
        break
      }
      case 'listing':
        input = await list(options, signal)
        break
      case 'waiting': {
        await wait(options, state.ms, signal)
        const from = doubtedVersion(state)
        const restored = from !== undefined && !signal.aborted && await isRestored(options, from, signal)
        input = { kind: 'waited', restored }
        break
      }
    }
    // A failure after an abort is caused by the abort.
    if (signal.aborted) return
    if (input.kind === 'failed' && isNotCapable(input.error)) throw input.error
    advance(input)
    report(options, input, state)
  }
}

function report({ api, onFailure, onFallback, target }: ReflectorOptions, input: WatchInput, next: WatchState): void {
  if (input.kind === 'failed') {
    if (next.kind === 'waiting') onFailure(input.error, next.ms)
    else onFallback?.(input.error)
  }
  if (input.kind === 'closed' && next.kind === 'waiting') onFailure(tooShort(api.describe(target)), next.ms)
}

async function wait({ clock, control }: ReflectorOptions, ms: number, signal: AbortSignal): Promise<void> {
  const scope = abortScope(signal)
  let stopTimer: (() => void) | undefined
  control.retry = (withinMs) => {
    stopTimer?.()
    stopTimer = clock.after(withinMs, () => scope.abort())
  }
  // The caller checks the signal.
  await pause(clock, ms, scope.signal)
  control.retry = undefined
  stopTimer?.()
  scope[Symbol.dispose]()
}

async function list(options: ReflectorOptions, signal: AbortSignal): Promise<WatchInput> {
  const began = options.clock.monotonic()
  try {
    const { objects, resourceVersion } = await listPages(options, signal)
    // The last page may have come together with the abort.
    signal.throwIfAborted()
    await options.replace(objects, resourceVersion, began)
    return { kind: 'listed', resourceVersion }
  } catch (error) {
    return { kind: 'failed', error, accepted: false, lastedMs: options.clock.monotonic() - began }
  }
}

function tooShort(what: string): Error {
  return new Error(`Cannot watch ${what}: the server closed the watch too early`)
}

/** One watch, until the server closes the connection, the connection fails, or the server is silent for too long. */
class WatchRun {
  readonly #options: ReflectorOptions
  readonly #from: string | undefined
  readonly #onInput: (input: WatchInput) => void
  readonly #what: string
  readonly #budget: TurnBudget
  readonly #beganMs: number
  readonly #timeoutSeconds: number
  #quiet: boolean | undefined
  /** The initial objects, until the bookmark that ends them. */
  #collected: Objects<KubeObject> | undefined
  #initialSilence: Deadline | undefined
  #anySilence!: Deadline
  #advanced = false

  /**
   * `from`: the version to continue from; `undefined` requests all initial objects first. `onInput` is called for each
   * event. `quiet`: the server sends no bookmarks, so a dead connection is found only when the server should have ended
   * the watch, after 10.5 minutes at the latest.
   */
  constructor(
    options: ReflectorOptions,
    from: string | undefined,
    onInput: (input: WatchInput) => void,
    quiet: boolean | undefined,
  ) {
    const { api, clock, random, target } = options
    this.#options = options
    this.#from = from
    this.#onInput = onInput
    this.#quiet = quiet
    this.#what = api.describe(target)
    this.#budget = turnBudgetOf(clock)
    this.#beganMs = clock.monotonic()
    // Watches end at different times, so that they do not all come back to a restarted server at once.
    this.#timeoutSeconds = Math.floor(300 + 300 * random())
    if (from === undefined) this.#collected = options.objects?.() ?? new Map<string, KubeObject>()
  }

  /** Resolves with how the watch ended. */
  async run(signal: AbortSignal): Promise<WatchInput> {
    const { api, clock, control, fields, labels, target } = this.#options
    const scope = abortScope(signal)
    let silent = false
    const onSilence = (error: NetworkError): void => {
      silent = true
      scope.abort(error)
    }
    const isInitial = this.#collected !== undefined
    const silence = { action: `watch ${this.#what}`, phase: 'body' } as const
    if (isInitial) this.#initialSilence = silenceDeadline(clock, { ...silence, ms: INITIAL_SILENCE_MS }, onSilence)
    this.#anySilence = silenceDeadline(clock, silence, onSilence)
    let accepted = false
    let isReopened = false
    control.reopen = () => {
      // The initial objects that were received so far would be lost.
      if (this.#collected) return
      isReopened = true
      scope.abort()
    }
    const lastedMs = (): number => clock.monotonic() - this.#beganMs
    try {
      const { body } = await api.watch(target, {
        labels,
        fields,
        resourceVersion: this.#from ?? '',
        timeoutSeconds: this.#timeoutSeconds,
        initial: isInitial,
      }, scope.signal)
      accepted = true
      this.#anySilence.set(this.#silenceMs)
      this.#initialSilence?.set(INITIAL_SILENCE_MS)
      if (body.endless) this.#anySilence.cancel()
      if (!isInitial) this.#options.onOpen?.()
      const splitter = lineSplitter()
      for await (const chunk of body) {
        this.#anySilence.set(this.#silenceMs)
        await this.#read(splitter.push(chunk), scope.signal)
      }
      await this.#read(splitter.end(), scope.signal)
      return { kind: 'closed', lastedMs: lastedMs(), advanced: this.#advanced }
    } catch (error) {
      if (isReopened) return { kind: 'closed', lastedMs: lastedMs(), advanced: true }
      return { kind: 'failed', error, accepted, lastedMs: lastedMs(), silent }
    } finally {
      control.reopen = undefined
      this.#initialSilence?.cancel()
      this.#anySilence.cancel()
      scope[Symbol.dispose]()
    }
  }

  get #silenceMs(): number {
    if (!this.#quiet) return SILENCE_MS
    const endMs = this.#beganMs + this.#timeoutSeconds * 1000 + LATE_END_MS
    return Math.max(SILENCE_MS, endMs - this.#options.clock.monotonic())
  }

  /** Handles the lines that a chunk completed. */
  async #read(lines: readonly string[], signal: AbortSignal): Promise<void> {
    // Part of a long line counts as initial. Bookmarks and changes do not: a server without initial events sends them
    // too.
    let isInitial = lines.length === 0
    for (const line of lines) {
      // No event is applied after an abort.
      signal.throwIfAborted()
      const event = parseWatchLine(line, this.#what)
      const collected = this.#collected
      if (!collected) {
        this.#apply(event)
      } else if (event.kind === 'bookmark') {
        if (event.ends) await this.#replace(collected, event.resourceVersion)
      } else if (this.#collect(collected, event)) isInitial = true
      if (this.#budget.isSpent) await this.#pauseDeadline(this.#budget.turn())
    }
    if (isInitial) this.#initialSilence?.set(INITIAL_SILENCE_MS)
  }

  /** Waits for local work. Nothing is read meanwhile, so the server's silence does not count. */
  async #pauseDeadline(work: Promise<void> | void): Promise<void> {
    this.#anySilence.set(Infinity)
    await work
    this.#anySilence.set(this.#silenceMs)
  }

  #apply(event: WatchEvent): void {
    // Read before `prepare`, which may remove fields.
    const resourceVersion = event.kind === 'bookmark' ? event.resourceVersion : event.object.metadata.resourceVersion
    if (event.kind !== 'bookmark') this.#options.prepare(event.object)
    if (event.kind === 'deleted') this.#options.control.deleted = event.object.metadata
    this.#options.apply(event, resourceVersion)
    const bookmark = event.kind === 'bookmark'
    this.#onInput({ kind: 'seen', resourceVersion, bookmark })
    if (bookmark && this.#quiet) {
      this.#quiet = false
      this.#anySilence.set(SILENCE_MS)
    }
    if (resourceVersion !== this.#from) this.#advanced = true
  }

  /** Stores an initial event. Returns whether its object is new. */
  #collect(objects: Objects<KubeObject>, { kind, object }: Exclude<WatchEvent, { kind: 'bookmark' }>): boolean {
    const key = formatKey(keyOf(object))
    const isNew = kind === 'applied' && !objects.has(key)
    if (kind === 'deleted') {
      objects.delete(key)
    } else {
      this.#options.prepare(object)
      objects.set(key, object)
    }
    return isNew
  }

  async #replace(objects: Objects<KubeObject>, resourceVersion: string): Promise<void> {
    this.#initialSilence?.cancel()
    this.#collected = undefined
    this.#advanced = true
    await this.#pauseDeadline(this.#options.replace(objects, resourceVersion, this.#beganMs))
    this.#onInput({ kind: 'listed', resourceVersion })
  }
}
