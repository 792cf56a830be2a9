/** Decides which trusted CAs that are not in its own bundle a leader leaves in place. */
import { certificatesIn, readCertificate } from '../../runtime/net/certificate_facts.ts'

/** How long a leader keeps the CAs that it found: replicas of another release may serve certificates of them. */
const FOUND_MS = 60 * 60 * 1000

/**
 * The CAs of other replicas, as a release with another Secret or folder adds them. Those that the leader finds at first
 * stay for an hour, so that a CA whose Secret was deleted is not trusted forever. Those that are added later stay. Its
 * own earlier CAs and expired ones go at once.
 */
export class KeptCas {
  readonly #own = new Set<string>()
  readonly #found = new Map<string, number>()
  #isFirst = true

  /** Called before an injection of the leader's own CAs. */
  begin(bundle: string): void {
    for (const pem of certificatesIn(bundle)) this.#own.add(withoutSpace(pem))
  }

  /**
   * Called after an injection; `beganMs`: when it began, by the monotonic clock. CAs that appear from now on are new.
   * CAs that the injection has removed are forgotten, so they are new if they come back: the replica that adds its CA
   * again still serves a certificate of it.
   */
  end(beganMs: number): void {
    this.#isFirst = false
    for (const [text, untilMs] of this.#found) if (beganMs >= untilMs) this.#found.delete(text)
  }

  /** Tests whether a CA stays. `nowMs`: the wall clock; `monotonicMs`: the monotonic one. */
  keeps(pem: string, nowMs: number, monotonicMs: number): boolean {
    const text = withoutSpace(pem)
    const facts = readCertificate(pem)
    if (!facts || facts.notAfterMs <= nowMs || this.#own.has(text)) return false
    if (!this.#found.has(text)) this.#found.set(text, this.#isFirst ? monotonicMs + FOUND_MS : Infinity)
    return monotonicMs < this.#found.get(text)!
  }
}

/** Returns the text of a certificate for comparisons. */
export const withoutSpace = (pem: string): string => pem.replace(/\s/g, '')
