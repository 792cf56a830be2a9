/** Reads and writes one Lease for one candidate: takes, renews and releases it. */
import { isReason } from '../core/errors.ts'
import type { Clock } from '../async/clock.ts'
import type { Api } from '../client/api.ts'
import { isMissingObject } from '../client/codec.ts'
import type { Callbacks } from './callbacks.ts'
import {
  claim,
  LEASE,
  type Lease,
  type LeaseRecord,
  type LeaseTimings,
  mayAcquire,
  type Moment,
  momentOf,
  type Observation,
  observe,
  released,
} from './lease_state.ts'

/** Conflicts here are rare (metadata edits, late writes of our own), so a few tries are enough. */
const RELEASE_TRIES = 5

/** A candidate for a lease. */
export interface LeaseCandidate {
  /** Not fenced, as it renews the lease itself. */
  readonly api: Api
  readonly lease: string
  readonly namespace: string
  /** The name of this candidate. Must be unique. */
  readonly identity: string
  readonly timings: LeaseTimings
  readonly clock: Clock
  /** Labels to set on the Lease at each write; its other labels stay. Default: none. */
  readonly labels?: Readonly<Record<string, string>> | undefined
  /** The same for annotations; they are read at each write. Default: none. */
  readonly annotations?: Readonly<Record<string, string>> | undefined
  /**
   * Resolves with whether a holder has certainly ended: its lease is taken without waiting until it expires. Default:
   * no holder has.
   */
  readonly hasEnded?: ((holder: string, signal: AbortSignal) => Promise<boolean>) | undefined
}

export class LeaseLock {
  readonly #options: LeaseCandidate
  readonly #callbacks: Pick<Callbacks, 'observed' | 'slowPath'>
  /** The Lease as last written or read. */
  #lease: Lease | undefined
  #observed: Observation | undefined
  /** The last `acquireTime` sent; undefined after another holder was read. It tells processes of one name apart. */
  #acquired: string | undefined

  constructor(options: LeaseCandidate, callbacks: Pick<Callbacks, 'observed' | 'slowPath'>) {
    this.#options = options
    this.#callbacks = callbacks
  }

  get target(): { readonly resource: typeof LEASE; readonly namespace: string; readonly name: string } {
    return { resource: LEASE, namespace: this.#options.namespace, name: this.#options.lease }
  }

  /** The last record, and when it was first observed. */
  get observed(): Observation | undefined {
    return this.#observed
  }

  /** The version of the Lease as last written or read. */
  get resourceVersion(): string | undefined {
    return this.#lease?.metadata?.resourceVersion
  }

  /** The annotations of the Lease as last written or read. */
  get annotations(): Readonly<Record<string, string>> {
    return this.#lease?.metadata?.annotations ?? {}
  }

  /** Whether a write with our name was sent, and no other holder was read since. */
  get claimed(): boolean {
    return this.#acquired !== undefined
  }

  /** Begins a new election: forgets the writes of earlier ones. */
  begin(): void {
    this.#acquired = undefined
  }

  /** Observes the Lease of a watch event. It decides when to try, never what to write. */
  observeWatched(lease: Lease): void {
    this.#observe(lease.spec ?? {})
  }

  /** Tries once. Resolves with when the successful write was sent, or undefined if another process holds the lease. */
  async take(leading: boolean, signal: AbortSignal): Promise<Moment | undefined> {
    // A leader's last write is most likely still current: one request instead of two.
    if (leading && this.#lease) {
      try {
        return await this.#write(this.#lease, leading, signal)
      } catch (error) {
        if (!isReason(error, 'Conflict') && !isMissingObject(error)) throw error
      }
      this.#callbacks.slowPath()
    }
    const { api, identity, clock, timings, hasEnded } = this.#options
    let current: Lease
    try {
      current = (await api.get(this.target, signal)) as Lease
    } catch (error) {
      if (!isMissingObject(error)) throw error
      const { namespace, name } = this.target
      const spec = claim(undefined, identity, clock.now(), timings)
      const metadata = { namespace, name, ...this.#marks({}) }
      return await this.#send(
        spec,
        async () => (await api.create(this.target, { metadata, spec }, {}, signal)).object as Lease,
      )
    }
    this.#remember(current)
    const { holderIdentity = '' } = current.spec ?? {}
    if (
      (leading && holderIdentity && !this.#isOurs(current)) ||
      (!mayAcquire(this.#observed!, identity, clock.monotonic()) && !(await hasEnded?.(holderIdentity, signal)))
    ) {
      this.#acquired = undefined
      return undefined
    }
    return await this.#write(current, leading, signal)
  }

  /** Writes a record without a holder. Resolves with false if the fetched record has another holder. */
  async release(signal: AbortSignal): Promise<boolean> {
    const { api, clock } = this.#options
    for (let attempt = 1;; attempt++) {
      try {
        const current = (await api.get(this.target, signal)) as Lease
        if (!this.#isOurs(current)) return false
        this.#remember(await this.#update(current, released(current.spec!, clock.now()), signal))
        return true
      } catch (error) {
        if (isMissingObject(error)) return false
        if (!isReason(error, 'Conflict') || attempt >= RELEASE_TRIES) throw error
      }
    }
  }

  #isOurs({ spec }: Lease): boolean {
    return spec?.holderIdentity === this.#options.identity && spec.acquireTime === this.#acquired
  }

  async #write(lease: Lease, renews: boolean, signal: AbortSignal): Promise<Moment> {
    const { identity, clock, timings } = this.#options
    const spec = claim(lease.spec ?? {}, identity, clock.now(), timings, renews)
    return await this.#send(spec, () => this.#update(lease, spec, signal))
  }

  async #update(lease: Lease, spec: LeaseRecord, signal: AbortSignal): Promise<Lease> {
    const metadata = { ...lease.metadata, ...this.#marks(lease.metadata) }
    return (await this.#options.api.update(this.target, { ...lease, metadata, spec }, {}, signal)).object as Lease
  }

  /** Returns the labels and annotations to write: those of the Lease and those of the options. */
  #marks(
    { labels, annotations }: Partial<Pick<Lease['metadata'], 'labels' | 'annotations'>>,
  ): Partial<Lease['metadata']> {
    const { labels: ours, annotations: notes } = this.#options
    return {
      ...(ours && { labels: { ...labels, ...ours } }),
      ...(notes && { annotations: { ...annotations, ...notes } }),
    }
  }

  async #send(spec: LeaseRecord, write: () => Promise<Lease>): Promise<Moment> {
    const sent = momentOf(this.#options.clock)
    this.#acquired = spec.acquireTime
    this.#remember(await write())
    return sent
  }

  #remember(lease: Lease): void {
    this.#lease = lease
    this.#observe(lease.spec ?? {})
  }

  #observe(record: LeaseRecord): void {
    const before = this.#observed
    this.#observed = observe(before, record, this.#options.clock.monotonic())
    if (this.#observed !== before) this.#callbacks.observed(record)
  }
}
