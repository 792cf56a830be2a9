/** Certificates and a certificate source for the tests of the webhook server. */
import { aborted } from '../../lib/async/abort.ts'
import { nextTurn } from '../../lib/async/clock.ts'
import { type Authority, createAuthority, type IssuedCertificate } from '../../lib/runtime/net/certificates.ts'
import type { CertificatePair, CertificateSource } from '../../lib/webhook/common/handler.ts'

/** Two generations of a server's certificate, and a client's of another authority. */
export interface Certificates {
  readonly authority: Authority
  readonly clients: Authority
  readonly first: IssuedCertificate
  readonly second: IssuedCertificate
  readonly client: IssuedCertificate
}

let shared: Promise<Certificates> | undefined

/** Returns one set for all tests of a file, because creating keys is slow. */
export function certificates(): Promise<Certificates> {
  return (shared ??= create())
}

async function create(): Promise<Certificates> {
  const authority = await createAuthority({ commonName: 'test' })
  const clients = await createAuthority({ commonName: 'clients' })
  const names = { dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'], usage: 'server' } as const
  return {
    authority,
    clients,
    first: await authority.issue({ ...names, commonName: 'first' }),
    second: await authority.issue({ ...names, commonName: 'second' }),
    client: await clients.issue({ commonName: 'api', usage: 'client' }),
  }
}

/** A source whose pairs a test sets. */
export class TestSource implements CertificateSource {
  #use: ((pair: CertificatePair) => void) | undefined
  #next: CertificatePair | undefined
  isRunning = false

  constructor(first?: CertificatePair) {
    this.#next = first
  }

  set(pair: CertificatePair): void {
    this.#next = pair
    this.#use?.(pair)
  }

  async run(use: (pair: CertificatePair) => void, signal: AbortSignal): Promise<void> {
    this.isRunning = true
    this.#use = use
    if (this.#next) use(this.#next)
    await aborted(signal)
    // Its end takes some time, as that of a watch does.
    for (let turn = 0; turn < 20; turn++) await nextTurn()
    this.isRunning = false
  }
}
