/** One Lease on the server, and what one candidate does with it: a try to take or keep it, and giving it back. */
import { isReason } from '../core/errors.ts'
import type { KubeObject } from '../core/objects.ts'
import type { Resource } from '../core/resource.ts'
import type { Clock } from '../async/clock.ts'
import type { Api } from '../client/api.ts'
import { isMissingObject } from '../client/codec.ts'
import {
  claim,
  type LeaseRecord,
  type LeaseTimings,
  mayTake,
  type Moment,
  momentOf,
  type Observation,
  observe,
  released,
} from './lease_state.ts'

export interface Lease extends KubeObject {
  readonly spec?: LeaseRecord
}

const LEASE: Resource<Lease> = {
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  scope: 'Namespaced',
}

/** Whoever else writes the Lease meanwhile writes its metadata, or it is a late write of our own: a few tries are plenty. */
const RELEASE_TRIES = 5

/** A candidate for a lease. */
export interface LeaseCandidate {
  /** Not fenced: it is what holds the lease. */
  readonly api: Api
  /** The Lease's name and namespace. */
  readonly lease: string
  readonly namespace: string
  /** Who we are among the candidates. Must be unique. */
  readonly identity: string
  readonly timings: LeaseTimings
  readonly clock: Clock
  /** Laid over those that the Lease has, at each write. Default: none. */
  readonly labels?: Readonly<Record<string, string>> | undefined
}

export interface LeaseLockOptions extends LeaseCandidate {
  /** Hears of each record that differs from the one before. */
  readonly onObserved: (record: LeaseRecord) => void
  /** Hears that the holder had to read its lease before it could renew it. */
  readonly onSlowPath: () => void
}

export class LeaseLock {
  readonly #options: LeaseLockOptions
  /** The Lease as we last wrote or read it. */
  #lease: Lease | undefined
  #observed: Observation | undefined
  #claimed = false

  constructor(options: LeaseLockOptions) {
    this.#options = options
  }

  get target(): { readonly resource: typeof LEASE; readonly namespace: string; readonly name: string } {
    return { resource: LEASE, namespace: this.#options.namespace, name: this.#options.lease }
  }

  /** The record as it was last seen to change. */
  get observed(): Observation | undefined {
    return this.#observed
  }

  /** The version of the Lease that was last written or read. */
  get resourceVersion(): string | undefined {
    return this.#lease?.metadata.resourceVersion
  }

  /** Whether a write with our name was sent, and nobody else was read to hold the lease since. */
  get claimed(): boolean {
    return this.#claimed
  }

  /** A new campaign: what earlier ones wrote is forgotten. */
  begin(): void {
    this.#claimed = false
  }

  /** Takes note of the Lease as a watch tells of it. That decides when to try, never what to write. */
  saw(lease: Lease): void {
    this.#observe(lease.spec ?? {})
  }

  /** One try: when the write was sent that the server took, or undefined when another holds the lease. */
  async take(leading: boolean, signal: AbortSignal): Promise<Moment | undefined> {
    // While we lead, what we wrote last is most likely still there: one request instead of two.
    if (leading && this.#lease) {
      try {
        return await this.#write(this.#lease, signal)
      } catch (error) {
        if (!isReason(error, 'Conflict') && !isMissingObject(error)) throw error
      }
      this.#options.onSlowPath()
    }
    const { api, identity, clock, timings, labels } = this.#options
    let current: Lease
    try {
      current = (await api.get(this.target, signal)) as Lease
    } catch (error) {
      if (!isMissingObject(error)) throw error
      const { namespace, name } = this.target
      const spec = claim(undefined, identity, clock.now(), timings)
      return await this.#send(() =>
        api.create(this.target, { metadata: { namespace, name, ...(labels && { labels }) }, spec }, {}, signal)
      )
    }
    this.#remember(current)
    if (!mayTake(this.#observed!, identity, clock.monotonic())) {
      this.#claimed = false
      return undefined
    }
    return await this.#write(current, signal)
  }

  /** Writes that nobody holds it. False when it is not ours any more: the record that is fetched decides. */
  async giveBack(signal: AbortSignal): Promise<boolean> {
    const { api, identity, clock } = this.#options
    for (let attempt = 1;; attempt++) {
      try {
        const current = (await api.get(this.target, signal)) as Lease
        if (current.spec?.holderIdentity !== identity) return false
        const written = await api.update(
          this.target,
          { ...current, spec: released(current.spec, clock.now()) },
          {},
          signal,
        )
        this.#remember(written.object as Lease)
        return true
      } catch (error) {
        if (isMissingObject(error)) return false
        if (!isReason(error, 'Conflict') || attempt >= RELEASE_TRIES) throw error
      }
    }
  }

  async #write(lease: Lease, signal: AbortSignal): Promise<Moment> {
    const { api, identity, clock, timings, labels } = this.#options
    const metadata = labels ? { ...lease.metadata, labels: { ...lease.metadata.labels, ...labels } } : lease.metadata
    const spec = claim(lease.spec ?? {}, identity, clock.now(), timings)
    return await this.#send(() => api.update(this.target, { ...lease, metadata, spec }, {}, signal))
  }

  async #send(write: () => Promise<{ readonly object: KubeObject }>): Promise<Moment> {
    const sent = momentOf(this.#options.clock)
    this.#claimed = true
    this.#remember((await write()).object as Lease)
    return sent
  }

  #remember(lease: Lease): void {
    this.#lease = lease
    this.#observe(lease.spec ?? {})
  }

  #observe(record: LeaseRecord): void {
    const before = this.#observed
    this.#observed = observe(before, record, this.#options.clock.monotonic())
    if (this.#observed !== before) this.#options.onObserved(record)
  }
}
