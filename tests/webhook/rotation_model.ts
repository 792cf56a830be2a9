/** A model of the Secret, the configurations, an API server and replicas with delays, for the rotation's steps. */
import {
  nextStep,
  Rotation,
  type RotationStep,
  type RotationTimings,
  type SecretFacts,
  type WriteStep,
} from '../../lib/webhook/certificates/rotation.ts'

export const TIMINGS: RotationTimings = {
  caLifeMs: 1_200_000,
  leafLifeMs: 300_000,
  leafRenewMs: 100_000,
  inEffectMs: 10_000,
  pickUpMs: 60_000,
  checkMs: 50_000,
}

interface Ca {
  readonly id: number
  readonly notBeforeMs: number
  readonly notAfterMs: number
}

interface Leaf {
  readonly issuer: number
  readonly notBeforeMs: number
  readonly notAfterMs: number
}

export interface Content {
  readonly cas: readonly Ca[]
  /** The CA that the stored key belongs to. */
  readonly key: number
  readonly leaf: Leaf | undefined
}

/** A value that takes effect a while after it was set. */
class Delayed<T> {
  readonly #changes: { readonly atMs: number; readonly value: T }[] = []

  set(value: T, atMs: number): void {
    this.#changes.push({ atMs, value })
  }

  /** Returns the values that were in effect at some time in the past, until now. */
  at(nowMs: number): T | undefined {
    return this.#changes.findLast(({ atMs }) => atMs <= nowMs)?.value
  }
}

export interface Delays {
  /** Until the API server uses a new bundle. */
  readonly trustMs: number
  /** Until each replica serves a new leaf. */
  readonly replicasMs: readonly number[]
}

export class World {
  /** The monotonic time, which is also the API server's clock. */
  nowMs = 10_000_000
  /** How far the wall clock of the leaders is ahead. */
  aheadMs = 0
  secret: Content | undefined
  configured: string | undefined
  readonly steps: string[] = []
  /** What went wrong: calls that failed. */
  readonly failures: string[] = []
  readonly #trusted = new Delayed<readonly number[]>()
  readonly #served: Delayed<Leaf>[]
  readonly #delays: Delays
  #ids = 0
  #isInstalled = false
  #leader = new Leader()

  constructor(delays: Delays) {
    this.#delays = delays
    this.#served = delays.replicasMs.map(() => new Delayed())
  }

  /** Starts another leader, which knows nothing. */
  crash(): void {
    this.#leader = new Leader()
  }

  /** Lets time pass, and checks the calls on the way. */
  pass(ms: number): void {
    const endMs = this.nowMs + ms
    while (this.nowMs < endMs) {
      this.nowMs = Math.min(endMs, this.nowMs + 500)
      this.#call()
    }
  }

  /** Takes one step; `crash` ends the leader before or after its write. Returns the step. */
  step(crash?: 'before' | 'after'): RotationStep {
    const step = this.#leader.next(this)
    if (step.kind !== 'wait') this.steps.push(step.kind)
    if (crash !== 'before') this.#carryOut(step)
    if (crash) this.crash()
    this.#call()
    return step
  }

  #carryOut(step: RotationStep): void {
    if (step.kind === 'wait') this.pass(Math.max(1, step.ms))
    else if (step.kind === 'inject') this.#leader.injected(this.#inject(), this.nowMs)
    else this.write(step)
  }

  #inject(): number {
    const bundle = this.secret!.cas.map(({ id }) => id)
    const text = bundle.join()
    if (this.configured === text) return 0
    this.configured = text
    // The first installation has no calls before it.
    this.#trusted.set(bundle, this.nowMs + (this.#isInstalled ? this.#delays.trustMs : 0))
    this.#isInstalled = true
    return 1
  }

  write({ kind }: WriteStep): void {
    const nowMs = this.nowMs + this.aheadMs
    const before = this.secret ?? { cas: [], key: -1, leaf: undefined }
    const last = this.#leader.last
    const base = before.cas.length > 0 ? before : last ?? before
    const added = (to: Content): Content => {
      const id = ++this.#ids
      const issuer = to.leaf ? to.cas.findIndex(({ id }) => id === to.leaf?.issuer) : 0
      const ca = { id, notBeforeMs: nowMs, notAfterMs: nowMs + TIMINGS.caLifeMs }
      return { ...to, cas: [ca, ...to.cas.slice(Math.max(0, issuer))], key: id }
    }
    const issued = (to: Content): Content => {
      const ca = to.cas[0]!
      const notAfterMs = Math.min(ca.notAfterMs, nowMs + TIMINGS.leafLifeMs)
      return { ...to, leaf: { issuer: ca.id, notBeforeMs: nowMs, notAfterMs } }
    }
    const next = base !== before || kind === 'addCa'
      ? added(base)
      : kind === 'issueLeaf'
      ? issued(base)
      : kind === 'dropCas'
      ? { ...base, cas: base.cas.slice(0, 1) }
      : issued(added(base))
    this.store(next)
  }

  /** Stores content, as the leader or a meddler does. */
  store(content: Content | undefined): void {
    const isFirst = this.#served[0]?.at(Infinity) === undefined
    if (content?.leaf && content.leaf !== this.secret?.leaf) {
      for (const [at, served] of this.#served.entries()) {
        served.set(content.leaf, this.nowMs + (isFirst ? 0 : this.#delays.replicasMs[at]!))
      }
    }
    this.secret = content
  }

  /** Calls each replica, as the API server does once the configurations are installed. */
  #call(): void {
    const trusted = this.#trusted.at(this.nowMs)
    if (!trusted) return
    for (const [at, served] of this.#served.entries()) {
      const leaf = served.at(this.nowMs)
      const failed = !leaf
        ? 'has no leaf'
        : !trusted.includes(leaf.issuer)
        ? `serves a leaf of CA ${leaf.issuer}, trusted are ${trusted.join()}`
        : this.aheadMs === 0 && leaf.notAfterMs <= this.nowMs
        ? 'serves an expired leaf'
        : undefined
      if (failed) this.failures.push(`${this.nowMs}: replica ${at} ${failed} (${this.steps.slice(-6).join()})`)
    }
  }
}

/** What a leader remembers. */
class Leader {
  last: Content | undefined
  readonly #rotation = new Rotation()

  next({ secret, nowMs, aheadMs }: World): RotationStep {
    const facts: SecretFacts | undefined = secret && {
      cas: secret.cas,
      hasCaKey: secret.cas[0]?.id === secret.key,
      leaf: secret.leaf && {
        ...secret.leaf,
        issuer: secret.cas.findIndex(({ id }) => id === secret.leaf?.issuer),
        hasNames: true,
      },
    }
    if (facts?.hasCaKey && facts.leaf) this.last = secret
    const bundle = secret?.cas.map(({ id }) => id).join() ?? ''
    this.#rotation.see(secret && { bundle, cert: JSON.stringify(secret.leaf) }, nowMs)
    return nextStep({ secret: facts, nowMs: nowMs + aheadMs, ...this.#rotation.facts(nowMs) }, TIMINGS)
  }

  injected(written: number, nowMs: number): void {
    this.#rotation.injected(written, nowMs)
  }
}
