/** Waits until a try for the lease may succeed, with one watch and one timer; {@link step} decides. */
import { formatMs } from '../core/duration.ts'
import { messageOf, NetworkError } from '../core/errors.ts'
import { abortScope, rejectOnAbort, untilAborted } from '../async/abort.ts'
import { SILENCE_MS, silenceDeadline } from '../client/silence.ts'
import { lineBatches } from '../async/lines.ts'
import type { Api } from '../client/api.ts'
import { describe } from '../client/requests.ts'
import { parseWatchLine } from '../client/watch_events.ts'
import type { RandomPartEnvironment } from '../observe/environment.ts'
import {
  type FollowerInput,
  type FollowerState,
  INITIAL_FOLLOWER_STATE,
  isRefused,
  needsNewVersion,
  nextTryMs,
  step,
} from './follower_state.ts'
import { LeaseLock } from './lease_lock.ts'
import { ACQUIRE_JITTER, type Lease, type LeaseTimings } from './lease_state.ts'

// In the same file beside mod.js: an election needs both.
export { LeaseLock }

export interface FollowerOptions extends RandomPartEnvironment {
  readonly api: Api
  readonly lock: LeaseLock
  /** The identity that the lock writes. */
  readonly identity: string
  readonly timings: LeaseTimings
}

export class Follower {
  readonly #options: FollowerOptions
  readonly #scope: ReturnType<typeof abortScope>
  #state: FollowerState = INITIAL_FOLLOWER_STATE
  #abortWatch: ((reason: Error) => void) | undefined
  /** The version at which the next watch begins. */
  #version: string | undefined
  #wake: (() => void) | undefined

  /** The signal, or {@link end}, stops the watch and the timer. */
  constructor(options: FollowerOptions, signal: AbortSignal) {
    this.#options = options
    this.#scope = abortScope(signal)
  }

  /** Resolves when a try is due. `isRead`: the last one has read the Lease. `lostRace`: another wrote first. */
  async wait({ isRead, lostRace }: { readonly isRead: boolean; readonly lostRace: boolean }): Promise<void> {
    const { lock, clock } = this.#options
    if (isRead) {
      // By the watch the record had expired, but the server has a newer one.
      const { watch, freeMs } = this.#state
      if (watch.kind === 'open' && freeMs === undefined && this.#version !== lock.resourceVersion) {
        this.#abortWatch?.(missedChange())
      }
      this.#version = lock.resourceVersion
    }
    this.#apply({ kind: 'tried', nowMs: clock.monotonic(), lostRace })
    for (;;) {
      const nowMs = clock.monotonic()
      if (this.#version !== undefined && this.#reopenMs() <= nowMs) this.#open(this.#version)
      const tryMs = nextTryMs(this.#state, lock.observed, this.#options.identity)
      if (tryMs <= nowMs) return
      // At least 1 ms, so that a rounding error causes no busy loop.
      await this.#sleep(Math.max(1, Math.min(tryMs, this.#reopenMs()) - nowMs))
    }
  }

  /** Stops everything. */
  end(): void {
    this.#scope.abort(new DOMException('The election has ended', 'AbortError'))
    this.#scope[Symbol.dispose]()
  }

  /** Resolves after `ms`, or at the next input. */
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

  /** Returns when another watch may be opened. */
  #reopenMs(): number {
    const { watch } = this.#state
    return watch.kind === 'closed' && this.#version !== undefined ? watch.againMs : Infinity
  }

  #open(version: string): void {
    this.#apply({ kind: 'opening' })
    void this.#run(version)
  }

  /** Runs one watch, from its request to its end. Never rejects. */
  async #run(version: string): Promise<void> {
    const { clock, lock, log, timings } = this.#options
    const beganMs = clock.monotonic()
    const scope = abortScope(this.#scope.signal)
    this.#abortWatch = scope.abort
    const action = `watch ${describe(lock.target)}`
    const silence = silenceDeadline(clock, { action, phase: 'body' }, scope.abort)
    let error: unknown
    try {
      // A winner must not wait for a transport that ignores its signal.
      await untilAborted(this.#readWatch(version, scope.signal, () => silence.set(SILENCE_MS)), scope.signal)
    } catch (thrown) {
      error = thrown
    } finally {
      silence.cancel()
      scope[Symbol.dispose]()
    }
    if (this.#scope.signal.aborted) return
    if (needsNewVersion(error)) this.#version = undefined
    if (isRefused(error)) {
      const every = `every ${formatMs(timings.retryPeriodMs)} to ${
        formatMs(timings.retryPeriodMs * (1 + ACQUIRE_JITTER))
      }`
      log.info(`${messageOf(error)} (the verb watch on leases makes the handover prompt); polling ${every} instead`)
    } else if (error !== undefined) log.debug(`${messageOf(error)}; opening another watch of ${describe(lock.target)}`)
    const nowMs = clock.monotonic()
    this.#apply({ kind: 'ended', nowMs, lastedMs: nowMs - beganMs, error })
  }

  async #readWatch(version: string, signal: AbortSignal, onData: () => void): Promise<void> {
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
    this.#apply({ kind: 'opened' })
    for await (const lines of lineBatches(body)) {
      onData()
      for (const line of lines) {
        // Ignore what was received before an abort.
        signal.throwIfAborted()
        const event = parseWatchLine(line, what)
        this.#version = event.kind === 'bookmark' ? event.resourceVersion : event.object.metadata.resourceVersion
        if (event.kind === 'bookmark') continue
        const lease = event.object as Lease
        if (event.kind === 'applied') lock.observeWatched(lease)
        this.#apply({
          kind: 'observed',
          nowMs: clock.monotonic(),
          free: event.kind === 'deleted' || !lease.spec?.holderIdentity,
        })
      }
    }
  }

  #apply(input: FollowerInput): void {
    this.#state = step(this.#state, input, this.#options.timings, this.#options.random)
    this.#wake?.()
  }
}

function missedChange(): NetworkError {
  return new NetworkError('Cannot watch the lease: its watch missed a change, or was silent for too long', {
    phase: 'body',
    code: 'ETIMEDOUT',
  })
}
