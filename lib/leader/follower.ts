/** Waits for the moment at which a try for the lease may succeed: obeys {@link step}, with one watch and one timer. */
import { formatMs } from '../core/duration.ts'
import { messageOf, NetworkError } from '../core/errors.ts'
import { abortScope, rejectOnAbort, untilAborted } from '../async/abort.ts'
import type { Clock } from '../async/clock.ts'
import { deadline } from '../async/deadline.ts'
import { lineBatches } from '../async/lines.ts'
import { type Api, describe } from '../client/api.ts'
import { parseWatchLine } from '../cache/watch_line.ts'
import type { Log } from '../observe/log.ts'
import {
  type FollowerInput,
  type FollowerState,
  INITIAL_FOLLOWER_STATE,
  isRefused,
  needsNewVersion,
  nextTryMs,
  step,
} from './follower_state.ts'
import type { Lease, LeaseLock } from './lease_lock.ts'
import { ACQUIRE_JITTER, type LeaseTimings } from './lease_state.ts'

export interface FollowerOptions {
  readonly api: Api
  readonly lock: LeaseLock
  /** The name under which the lock writes. */
  readonly identity: string
  readonly timings: LeaseTimings
  readonly clock: Clock
  readonly log: Log
  readonly random: () => number
}

/** Bookmarks come about every minute: a connection that is silent for longer is half-open. */
const SILENCE_MS = 150_000

export class Follower {
  readonly #options: FollowerOptions
  readonly #scope: ReturnType<typeof abortScope>
  #state: FollowerState = INITIAL_FOLLOWER_STATE
  /** Settles when the last watch has ended; never rejects. */
  #watched: Promise<void> = Promise.resolve()
  #breakOff: ((reason: Error) => void) | undefined
  /** Where the next watch begins. */
  #version: string | undefined
  #wake: (() => void) | undefined

  /** What it begins ends with the signal, or at {@link end}. */
  constructor(options: FollowerOptions, signal: AbortSignal) {
    this.#options = options
    this.#scope = abortScope(signal)
  }

  /** Waits after a try without success until it is time for another. `isRead`: it has read the Lease; `lostRace`: another wrote first. */
  async wait({ isRead, lostRace }: { readonly isRead: boolean; readonly lostRace: boolean }): Promise<void> {
    const { lock, clock } = this.#options
    if (isRead) {
      // The record had expired as far as the watch knew, and had not.
      const { watch, freeMs } = this.#state
      if (watch.kind === 'open' && freeMs === undefined && this.#version !== lock.resourceVersion) {
        this.#breakOff?.(deaf())
      }
      this.#version = lock.resourceVersion
    }
    this.#tell({ kind: 'tried', nowMs: clock.monotonic(), lostRace })
    for (;;) {
      const nowMs = clock.monotonic()
      if (this.#version !== undefined && this.#reopenMs() <= nowMs) this.#open(this.#version)
      const tryMs = nextTryMs(this.#state, lock.observed, this.#options.identity)
      if (tryMs <= nowMs) return
      // What a rounding left over is no reason to spin.
      await this.#sleep(Math.max(1, Math.min(tryMs, this.#reopenMs()) - nowMs))
    }
  }

  /** Settles when the watch has ended. */
  async end(): Promise<void> {
    this.#scope.abort(new DOMException('The election has ended', 'AbortError'))
    this.#scope[Symbol.dispose]()
    await this.#watched
  }

  /** Until the time is over, or something was heard. */
  async #sleep(ms: number): Promise<void> {
    await rejectOnAbort(this.#scope.signal, (resolve) => {
      const cancel = ms === Infinity ? () => {} : this.#options.clock.after(ms, resolve)
      this.#wake = () => {
        cancel()
        resolve()
      }
      return cancel
    })
  }

  /** When another watch may be opened. */
  #reopenMs(): number {
    const { watch } = this.#state
    return watch.kind === 'closed' && this.#version !== undefined ? watch.againMs : Infinity
  }

  #open(version: string): void {
    this.#tell({ kind: 'opening' })
    this.#watched = this.#run(version)
  }

  /** One watch, from its request to its end. */
  async #run(version: string): Promise<void> {
    const { clock, lock, log, timings } = this.#options
    const beganMs = clock.monotonic()
    const scope = abortScope(this.#scope.signal)
    this.#breakOff = scope.abort
    const anySilence = deadline(clock, SILENCE_MS, () => scope.abort(deaf()))
    let error: unknown
    try {
      // Who has won must not wait for a transport that is deaf to its signal.
      await untilAborted(this.#listen(version, scope.signal, () => anySilence.set(SILENCE_MS)), scope.signal)
    } catch (thrown) {
      error = thrown
    } finally {
      anySilence.cancel()
      scope[Symbol.dispose]()
      this.#breakOff = undefined
    }
    if (this.#scope.signal.aborted) return
    if (needsNewVersion(error)) this.#version = undefined
    if (isRefused(error)) {
      const every = `every ${formatMs(timings.retryPeriodMs)} to ${
        formatMs(timings.retryPeriodMs * (1 + ACQUIRE_JITTER))
      }`
      log.info(`${messageOf(error)} (with the verb watch on leases, handover is prompt); asking ${every} instead`)
    } else if (error !== undefined) log.debug(`${messageOf(error)}; opening another watch of ${describe(lock.target)}`)
    const nowMs = clock.monotonic()
    this.#tell({ kind: 'ended', nowMs, lastedMs: nowMs - beganMs, error })
  }

  async #listen(version: string, signal: AbortSignal, heard: () => void): Promise<void> {
    const { api, lock, clock, random } = this.#options
    const { resource, namespace, name } = lock.target
    const what = describe(lock.target)
    const options = {
      fields: `metadata.name=${name}`,
      resourceVersion: version,
      timeoutSeconds: Math.floor(300 + 300 * random()),
    }
    const { body } = await api.watch({ resource, namespace }, options, signal)
    signal.throwIfAborted()
    this.#tell({ kind: 'opened' })
    for await (const lines of lineBatches(body)) {
      heard()
      for (const line of lines) {
        // Bytes that came before an abort are not wanted after it.
        signal.throwIfAborted()
        const event = parseWatchLine(line, what)
        this.#version = event.kind === 'bookmark' ? event.resourceVersion : event.object.metadata.resourceVersion
        if (event.kind === 'bookmark' || event.object.metadata.name !== name) continue
        const lease = event.object as Lease
        if (event.kind === 'applied') lock.saw(lease)
        this.#tell({
          kind: 'told',
          nowMs: clock.monotonic(),
          free: event.kind === 'deleted' || !lease.spec?.holderIdentity,
        })
      }
    }
  }

  #tell(input: FollowerInput): void {
    this.#state = step(this.#state, input, this.#options.timings, this.#options.random)
    this.#wake?.()
  }
}

function deaf(): NetworkError {
  return new NetworkError('Cannot watch the lease: its watch did not tell of what happened', {
    phase: 'body',
    code: 'ETIMEDOUT',
  })
}
