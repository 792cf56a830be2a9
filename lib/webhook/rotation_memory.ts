/** What a leader remembers of the rotation of certificates. */
import { bundleOf, type CertificateTexts } from './certificate_secret.ts'
import type { RotationFacts } from './rotation.ts'

/** What the past of the Secret and of the configurations this leader knows. Times are monotonic. */
export class Rotation {
  bundle = ''
  #leaf: { readonly cert: string; readonly sinceMs: number } | undefined
  #injection: { readonly bundle: string; readonly sinceMs: number; readonly checkedMs: number } | undefined

  /** Called with each content that is read. */
  see(texts: CertificateTexts | undefined, nowMs: number): void {
    if (!texts) return
    this.bundle = bundleOf(texts)
    if (this.#leaf?.cert !== texts.cert) this.#leaf = { cert: texts.cert, sinceMs: nowMs }
    if (this.#injection?.bundle !== this.bundle) this.#injection = undefined
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
