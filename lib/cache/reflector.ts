/** Keeps a store equal to what the server has: obeys {@link step}, one effect at a time. */
import { isNotCapable } from '../core/errors.ts'
import { type Clock, sleep } from '../async/clock.ts'
import { listPages } from './list_pages.ts'
import { initialWatchState, step, type WatchInput, type WatchState } from './watch_state.ts'
import { watchOnce, type WatchStreamOptions } from './watch_stream.ts'

export interface ReflectorOptions extends WatchStreamOptions {
  /** Hears of every failure, before the wait that follows it. */
  readonly onFailure: (error: unknown, waitMs: number) => void
  /** Hears why the whole could not be streamed, before it is listed. */
  readonly onFallback?: (error: unknown) => void
}

/** Streams or lists, and watches, until the signal is aborted; then it resolves. Rejects with what this process will never be permitted, on Deno. */
export async function reflect(options: ReflectorOptions, signal: AbortSignal): Promise<void> {
  let state: WatchState = initialWatchState
  const tell = (input: WatchInput): void => void (state = step(state, input, options.random))
  while (!signal.aborted) {
    let input: WatchInput
    switch (state.kind) {
      case 'streaming':
        input = await watchOnce(options, undefined, signal, tell, state.quiet)
        break
      case 'listing':
        input = await list(options, signal)
        break
      case 'watching':
        input = await watchOnce(options, state.resourceVersion, signal, tell, state.quiet)
        break
      case 'waiting':
        input = await wait(options.clock, state.ms, signal)
        break
    }
    // What an abort breaks off is no failure.
    if (signal.aborted) return
    if (input.kind === 'failed' && isNotCapable(input.error)) throw input.error
    tell(input)
    report(options, input, state)
  }
}

function report({ api, onFailure, onFallback, target }: ReflectorOptions, input: WatchInput, next: WatchState): void {
  if (input.kind === 'failed' && next.kind !== 'waiting') onFallback?.(input.error)
  if (next.kind !== 'waiting') return
  if (input.kind === 'failed') onFailure(input.error, next.ms)
  if (input.kind === 'closed') onFailure(tooShort(api.describe(target)), next.ms)
}

async function wait(clock: Clock, ms: number, signal: AbortSignal): Promise<WatchInput> {
  // An abort ends it early, and the caller looks for that.
  await sleep(clock, ms, signal).catch(() => {})
  return { kind: 'waited' }
}

async function list(options: ReflectorOptions, signal: AbortSignal): Promise<WatchInput> {
  const began = options.clock.monotonic()
  try {
    const { objects, resourceVersion } = await listPages(options, signal)
    // An answer that came with the abort is not wanted any more.
    signal.throwIfAborted()
    await options.replace(objects, resourceVersion)
    return { kind: 'listed', resourceVersion }
  } catch (error) {
    return { kind: 'failed', error, accepted: false, lastedMs: options.clock.monotonic() - began }
  }
}

function tooShort(what: string): Error {
  return new Error(`Cannot watch ${what}: the server closed the watch before its time`)
}
