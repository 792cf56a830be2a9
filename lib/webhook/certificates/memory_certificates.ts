/** Self-made certificates without a Secret: for development, tests, and metrics. */
import { type Clock, pause } from '../../async/clock.ts'
import { type Authority, createAuthority } from '../../runtime/net/certificates.ts'
import type { ServerNames } from '../../runtime/net/certificate_fields.ts'
import { readCertificate } from '../../runtime/net/certificate_facts.ts'
import type { CertificateSource } from '../common/handler.ts'

export interface MemoryCertificates extends CertificateSource {
  /** Resolves with the CA to trust, in PEM. */
  bundle(): Promise<string>
}

/**
 * Returns certificates of a new CA that lives as long as the process. The leaf is renewed after two thirds of a year.
 */
export function inMemoryCertificates(
  { names, clock, commonName = 'kubeloop-webhook' }: {
    readonly names: ServerNames
    readonly clock: Clock
    /** Default: `kubeloop-webhook`. */
    readonly commonName?: string
  },
): MemoryCertificates {
  let made: Promise<Authority> | undefined
  const authority = (): Promise<Authority> =>
    made ??= createAuthority({ commonName: `${commonName}-ca`, now: clock.now() })
  return {
    bundle: async () => (await authority()).ca,
    async run(use, signal) {
      while (!signal.aborted) {
        const ca = await authority()
        const issued = await ca.issue({ commonName, ...names, usage: 'server', now: clock.now() })
        if (signal.aborted) return
        use(issued)
        const lifeMs = readCertificate(issued.cert)!.notAfterMs - clock.now()
        await pause(clock, lifeMs * 2 / 3, signal)
      }
    },
  }
}
