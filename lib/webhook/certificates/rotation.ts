/** Decides the next step of creating and rotating self-made certificates. Pure. */

/** A validity, in milliseconds since 1970. */
interface Validity {
  readonly notBeforeMs: number
  readonly notAfterMs: number
}

/** A certificate that the server can serve: it matches its key. */
interface LeafFacts extends Validity {
  /** The index of its issuer in {@link SecretFacts.cas}; -1 if none of them issued it. */
  readonly issuer: number
  /** Whether it has all names that the API server calls. */
  readonly hasNames: boolean
}

/** The content of a Secret that matters to the rotation. */
export interface SecretFacts {
  /** The trusted CAs, the newest first. Empty if the text has none or cannot be parsed. */
  readonly cas: readonly Validity[]
  /** Whether the key of the newest CA is there. It can issue certificates. */
  readonly hasCaKey: boolean
  /** Whether others make and renew the CA. */
  readonly isGiven?: boolean | undefined
  /** Undefined if there is none, or it cannot be parsed, or its key does not match. */
  readonly leaf: LeafFacts | undefined
}

/** The injection of the Secret's bundle into the webhook configurations and CRDs. */
interface InjectionFacts {
  /** Since when all of them have the bundle, in milliseconds ago. */
  readonly sinceMs: number
  /** When they were read last, in milliseconds ago. */
  readonly checkedMs: number
}

/** The input of {@link nextStep}. */
export interface RotationFacts {
  /** Undefined if there is no Secret. */
  readonly secret: SecretFacts | undefined
  /** The wall clock, in milliseconds since 1970. */
  readonly nowMs: number
  /** Undefined if some configuration may not have the bundle. */
  readonly injection: InjectionFacts | undefined
  /** How long this leader has known that the Secret has its leaf, in milliseconds. */
  readonly leafForMs: number
}

/** Durations in milliseconds. */
export interface RotationTimings {
  /** The validity of a new CA. */
  readonly caLifeMs: number
  /** The validity of a new leaf, at most that of the CA. */
  readonly leafLifeMs: number
  /** How long before its end a leaf is renewed. */
  readonly leafRenewMs: number
  /** The time until every API server uses a bundle that was read back from the configurations. */
  readonly inEffectMs: number
  /** The time until every replica serves a leaf that was stored. */
  readonly pickUpMs: number
  /** The time between two checks that the configurations still have the bundle. */
  readonly checkMs: number
}

/**
 * A step that writes the Secret. `why` is for the log.
 *
 * - `create`: stores a new CA and a leaf in a new Secret.
 * - `replace`: stores a new CA and a leaf in place of content that cannot be used.
 * - `addCa`: stores a new CA in front of the others. The leaf stays.
 * - `issueLeaf`: stores a leaf that the newest CA issues.
 * - `dropCas`: removes all CAs but the newest.
 */
export type WriteStep =
  | { readonly kind: 'create' | 'dropCas' }
  | { readonly kind: 'replace' | 'addCa' | 'issueLeaf'; readonly why: string }

/** Besides writes: put the bundle into the configurations or check that they have it, or do nothing for `ms`. */
export type RotationStep = WriteStep | { readonly kind: 'inject' } | { readonly kind: 'wait'; readonly ms: number }

/** What a leader remembers of the Secret and of the configurations. Times are monotonic. */
export class Rotation {
  bundle = ''
  #leaf: { readonly cert: string; readonly sinceMs: number } | undefined
  #injection: { readonly bundle: string; readonly sinceMs: number; readonly checkedMs: number } | undefined

  /** Called with each content that is read: the trusted CAs, and the served certificate. */
  see(content: { readonly bundle: string; readonly cert: string } | undefined, nowMs: number): void {
    if (!content) return
    const { bundle, cert } = content
    this.bundle = bundle
    if (this.#leaf?.cert !== cert) this.#leaf = { cert, sinceMs: nowMs }
    if (this.#injection?.bundle !== bundle) this.#injection = undefined
  }

  /** Called when the configurations have the bundle. `written`: how many of them lacked it. */
  injected(written: number, nowMs: number): void {
    const sinceMs = written > 0 ? nowMs : this.#injection?.sinceMs ?? nowMs
    this.#injection = { bundle: this.bundle, sinceMs, checkedMs: nowMs }
  }

  facts(nowMs: number): Pick<RotationFacts, 'injection' | 'leafForMs'> {
    const injection = this.#injection
    return {
      leafForMs: nowMs - (this.#leaf?.sinceMs ?? nowMs),
      injection: injection && { sinceMs: nowMs - injection.sinceMs, checkedMs: nowMs - injection.checkedMs },
    }
  }
}

/**
 * Returns the leader's next step. The whole state is in the Secret, so that another leader continues after any step.
 *
 * Safety: the configurations always trust the CA of the served leaf. A CA rotation stores both CAs, and only when both
 * have been in effect for `inEffectMs` a leaf of the new one; the old CA is dropped only when every replica has had
 * `pickUpMs` to serve that leaf. The waits begin anew with each leader. The exception is a leaf that cannot be parsed,
 * or that no CA of the bundle has issued: it is replaced at once, as calls fail anyway.
 *
 * A wrong wall clock can cause a rotation too early or too late. It cannot change the order.
 */
export function nextStep(facts: RotationFacts, timings: RotationTimings): RotationStep {
  const { secret, nowMs, injection, leafForMs } = facts
  if (!secret) return { kind: 'create' }
  const { cas: [newest, ...older], hasCaKey, isGiven, leaf } = secret
  if (!newest) return { kind: 'replace', why: 'it has no CA certificate that can be parsed' }
  if (!hasCaKey) {
    return {
      kind: 'addCa',
      why: isGiven ? 'the CA has changed' : 'the key of the CA is missing or belongs to another CA',
    }
  }
  if (!isGiven) {
    // A leaf never outlives its CA, so one of a CA that ends soon would be due at once, again and again.
    if (newest.notAfterMs - nowMs < timings.leafRenewMs) return { kind: 'addCa', why: 'the CA expires soon' }
    if (nowMs < newest.notBeforeMs) return { kind: 'addCa', why: 'the CA is not valid yet' }
  }

  if (!leaf) {
    return { kind: 'issueLeaf', why: 'the certificate or its key is missing or cannot be parsed, or they do not match' }
  }
  if (leaf.issuer < 0) return { kind: 'issueLeaf', why: 'no trusted CA has issued the certificate' }
  // A leaf that ends with its CA cannot be renewed before that. Our own CA has been replaced earlier.
  const endsWithCa = leaf.notAfterMs >= newest.notAfterMs
  const leafDueMs = endsWithCa ? Infinity : leaf.notAfterMs - timings.leafRenewMs
  if (leaf.issuer === 0) {
    if (!leaf.hasNames) return { kind: 'issueLeaf', why: "the server's names have changed" }
    if (nowMs >= leafDueMs) return { kind: 'issueLeaf', why: 'it ends soon' }
    if (nowMs < leaf.notBeforeMs) return { kind: 'issueLeaf', why: 'it is not valid yet' }
  }
  // Measured from its end, as its begin is antedated.
  const caDueMs = isGiven ? Infinity : newest.notAfterMs - timings.caLifeMs / 3
  if (older.length === 0 && nowMs >= caDueMs) return { kind: 'addCa', why: 'two thirds of its life are over' }

  if (!injection || injection.checkedMs >= timings.checkMs) return { kind: 'inject' }
  const wait = (ms: number): RotationStep => ({ kind: 'wait', ms: Math.min(ms, timings.checkMs - injection.checkedMs) })
  if (leaf.issuer > 0) {
    const leftMs = timings.inEffectMs - injection.sinceMs
    return leftMs > 0 ? wait(leftMs) : { kind: 'issueLeaf', why: 'the new CA is trusted now' }
  }
  if (older.length > 0) {
    const leftMs = timings.pickUpMs - leafForMs
    return leftMs > 0 ? wait(leftMs) : { kind: 'dropCas' }
  }
  return wait(Math.min(leafDueMs, caDueMs) - nowMs)
}

/**
 * Returns what must be stored before a replica can serve anything that the API server accepts, or undefined if the leaf
 * can be served. Any replica may do this: without a conversion no cache syncs, so that no leader is ever elected. All
 * else is left to the leader.
 */
export function firstStep(
  secret: SecretFacts | undefined,
  nowMs: number,
  timings: RotationTimings,
): WriteStep | undefined {
  const leaf = secret?.leaf
  const issuer = leaf && secret.cas[leaf.issuer]
  if (issuer && leaf.hasNames && isValid(leaf, nowMs) && isValid(issuer, nowMs)) return undefined
  const step = nextStep({ secret, nowMs, injection: undefined, leafForMs: 0 }, timings)
  switch (step.kind) {
    case 'addCa':
      // With a new CA alone, a second write would be needed.
      return { ...step, kind: 'replace' }
    case 'inject':
    case 'wait':
      return { kind: 'issueLeaf', why: 'it has expired, is not valid yet or lacks names of the server' }
    default:
      return step
  }
}

function isValid({ notBeforeMs, notAfterMs }: Validity, nowMs: number): boolean {
  return notBeforeMs <= nowMs && nowMs < notAfterMs
}
