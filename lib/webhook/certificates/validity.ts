/** The validity of the served certificate, and warnings of its end. */
import type { Clock } from '../../async/clock.ts'
import type { Log } from '../../observe/log.ts'
import type { CertificateMetrics } from '../common/metrics.ts'

/** The part of a certificate's life in which its end is near: most are renewed when a third is left. */
const SOON = 1 / 20
/** The time between two warnings of it. */
const WARN_MS = 24 * 60 * 60 * 1000

/** Checks and reports the validity of the certificate that is served. */
export class Validity {
  readonly #clock: Clock
  readonly #log: Log
  readonly #metrics: CertificateMetrics | undefined
  #times = { fromMs: 0, toMs: Infinity }
  /** When to warn of its end again, on the monotonic clock. */
  #warnAtMs = -Infinity

  constructor(clock: Clock, log: Log, metrics: CertificateMetrics | undefined) {
    this.#clock = clock
    this.#log = log
    this.#metrics = metrics
  }

  /** Warns of a certificate that clients refuse already. */
  set({ fromMs, toMs }: { readonly fromMs: number; readonly toMs: number }, isNew: boolean): void {
    if (isNew) this.#warnAtMs = -Infinity
    this.#times = { fromMs, toMs }
    this.#metrics?.notAfter.set(toMs / 1000)
    if (toMs <= this.#clock.now()) {
      this.#log.warn('The certificate of the webhooks has expired, so the API server refuses it; replace it', {
        notAfter: new Date(toMs).toISOString(),
      })
    } else if (fromMs > this.#clock.now()) {
      const notBefore = new Date(fromMs).toISOString()
      this.#log.warn("The certificate of the webhooks is not valid yet; check this machine's clock", { notBefore })
    }
  }

  /** Throws if the certificate has expired. Logs a warning once a day if it ends soon. */
  check(): void {
    const { fromMs, toMs } = this.#times
    const nowMs = this.#clock.now()
    const notAfter = new Date(toMs).toISOString()
    if (nowMs >= toMs) {
      throw new Error(`The certificate of the webhooks has expired at ${notAfter}, so the API server refuses it`)
    }
    if (toMs - nowMs > (toMs - fromMs) * SOON || this.#clock.monotonic() < this.#warnAtMs) return
    this.#warnAtMs = this.#clock.monotonic() + WARN_MS
    this.#log.warn('The certificate of the webhooks ends soon and was not renewed; replace it', { notAfter })
  }
}
