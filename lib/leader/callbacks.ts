/** Runs an election's callbacks in order and sets its metrics; a failure in them never ends the election. */
import { messageOf } from '../core/errors.ts'
import { untilAborted } from '../async/abort.ts'
import type { Log } from '../observe/log.ts'
import type { LeaseRecord } from './lease_state.ts'
import type { ElectionMeter, ElectionMetrics } from './metrics.ts'

/** Callbacks of an election. They run one after the other and do not block it; an error is logged and stops nothing. */
export interface ElectionCallbacks {
  /** Called when this process has acquired the lease. */
  readonly onStartedLeading?: (() => void | Promise<void>) | undefined
  /** Called after each term of this process. */
  readonly onStoppedLeading?: (() => void | Promise<void>) | undefined
  /** Called at every change of holder, including the first and this process. Empty: the lease has no holder. */
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

  /** The last holder that was observed. */
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

  /** Called for each record that differs from the previous one. */
  observed({ holderIdentity = '' }: LeaseRecord): void {
    if (holderIdentity === this.#holder) return
    this.#holder = holderIdentity
    const { onNewLeader } = this.#callbacks
    this.#call('onNewLeader', onNewLeader && (() => onNewLeader(holderIdentity)))
  }

  /** Called when a renewal had to read the lease first. */
  slowPath(): void {
    this.#metrics?.slowpath.inc()
  }

  /** Resolves when every callback has ended, or when the signal is aborted. */
  async ended(signal: AbortSignal): Promise<void> {
    await untilAborted(this.#last, signal).catch(() =>
      this.#log.warn('An election callback is still running; the election ends without waiting for it')
    )
  }

  #call(name: string, call: (() => void | Promise<void>) | undefined): void {
    if (!call) return
    this.#last = this.#last.then(call).catch((error: unknown) =>
      this.#log.error(`${name} failed: ${messageOf(error)}`, { error })
    )
  }
}
