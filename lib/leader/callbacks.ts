/** What others hear of an election: callbacks, one after the other and in order, and metrics. None of it can end the election. */
import { messageOf } from '../core/errors.ts'
import { untilAborted } from '../async/abort.ts'
import type { Log } from '../observe/log.ts'
import type { LeaseRecord } from './lease_state.ts'
import type { ElectionMeter, ElectionMetrics } from './metrics.ts'

/** Called one after the other, beside the election; what one of them throws is logged, and ends nothing. */
export interface ElectionCallbacks {
  readonly onStartedLeading?: (() => void | Promise<void>) | undefined
  /** After each term; not when none was won. */
  readonly onStoppedLeading?: (() => void | Promise<void>) | undefined
  /** At every change of holder that is seen, the first and ourselves included. Empty: nobody holds the lease. */
  readonly onNewLeader?: ((identity: string) => void | Promise<void>) | undefined
}

export interface CallbacksOptions {
  readonly lease: string
  readonly log: Log
  readonly callbacks?: ElectionCallbacks | undefined
  readonly meter?: ElectionMeter | undefined
}

export class Callbacks {
  readonly #log: Log
  readonly #callbacks: ElectionCallbacks
  readonly #metrics: ElectionMetrics | undefined
  #holder: string | undefined
  #last: Promise<void> = Promise.resolve()

  constructor({ lease, log, callbacks = {}, meter }: CallbacksOptions) {
    this.#log = log
    this.#callbacks = callbacks
    this.#metrics = meter?.election(lease)
    this.#metrics?.status.set(0)
  }

  /** Who was seen last to hold the lease. */
  get holder(): string | undefined {
    return this.#holder
  }

  startedLeading(): void {
    this.#metrics?.status.set(1)
    this.#call('onStartedLeading', this.#callbacks.onStartedLeading)
  }

  stoppedLeading(): void {
    this.#metrics?.status.set(0)
    this.#call('onStoppedLeading', this.#callbacks.onStoppedLeading)
  }

  /** A record that differs from the one before. */
  observed({ holderIdentity = '' }: LeaseRecord): void {
    if (holderIdentity === this.#holder) return
    this.#holder = holderIdentity
    const { onNewLeader } = this.#callbacks
    this.#call('onNewLeader', onNewLeader && (() => onNewLeader(holderIdentity)))
  }

  /** The holder had to read its lease before it could renew it. */
  slowPath(): void {
    this.#metrics?.slowpath.inc()
  }

  /** Settles when every callback has ended; an abort ends the wait. */
  async ended(signal: AbortSignal): Promise<void> {
    await untilAborted(this.#last, signal).catch(() =>
      this.#log.warn('A callback of the election is still running; not waiting for it')
    )
  }

  #call(name: string, call: (() => void | Promise<void>) | undefined): void {
    if (!call) return
    this.#last = this.#last.then(call).catch((error: unknown) =>
      this.#log.error(`${name} failed: ${messageOf(error)}`, { error })
    )
  }
}
