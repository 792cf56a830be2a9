/** The certificate of the webhooks, and the CAs that the API server trusts. */
import { toMs } from '../../core/duration.ts'
import { isReason, messageOf } from '../../core/errors.ts'
import { aborted } from '../../async/abort.ts'
import { sleep, within } from '../../async/clock.ts'
import type { Api } from '../../client/api.ts'
import { validityOf } from '../../runtime/os/builtins.ts'
import { readTextIfExists, resolvePath, temporaryFolder } from '../../runtime/os/files.ts'
import { namesOf } from '../../webhook/configurations/configurations.ts'
import { CERTIFICATE_FOLDER } from '../../webhook/server/defaults.ts'
import { FileCertificates } from '../../webhook/certificates/file_certificates.ts'
import type { CertificatePair, CertificateSource } from '../../webhook/common/handler.ts'
import type { AddedCas } from '../../webhook/configurations/trusted_cas.ts'
import { inMemoryCertificates } from '../../webhook/certificates/memory_certificates.ts'
import { IN_EFFECT_MS, SelfMadeCertificates } from '../../webhook/certificates/self_made_certificates.ts'
import type { OperatorDescription } from '../description/description.ts'
import { livesOf } from './checks.ts'
import { RESTORE_MS } from './lease.ts'
import { repeatedly } from './repeatedly.ts'
import type { WebhookSetup } from './setup.ts'

/** The certificate, and the CAs that the API server trusts. */
export interface Trust extends CertificateSource {
  /** Resolves with the CAs in PEM. Undefined: others write them. */
  bundle(signal: AbortSignal): Promise<string | undefined>
  /** Keeps the configurations' CAs up to date until the signal is aborted; for the leader. */
  rotate(
    leader: { readonly api: Api; inject(bundle: string, signal: AbortSignal): Promise<number> },
    signal: AbortSignal,
  ): Promise<void>
}

/** How often the CA beside a certificate in files is read. */
const CA_REREAD_MS = 10_000

/** The time limit for a new CA of a folder to be trusted: then its certificate is served, as the old one ends. */
const INTRODUCTION_MS = 60_000

/** The wait between two tries to add a CA. */
const ADD_RETRY_MS = 1000

export function trustOf(
  { options }: OperatorDescription,
  setup: WebhookSetup,
  namespace: string,
  names: ReturnType<typeof namesOf>,
  addOwnCas: (signal: AbortSignal) => Promise<AddedCas>,
): Trust {
  const { mode, clock } = setup
  if (mode === 'memory') {
    return {
      run: (_use, signal) => aborted(signal),
      bundle: () => Promise.resolve(undefined),
      rotate: (_leader, signal) => aborted(signal),
    }
  }
  if (mode !== 'stated') {
    // The configurations are installed with its CA, which lives as long as the process.
    return { ...inMemoryCertificates({ names, clock }), rotate: (_leader, signal) => aborted(signal) }
  }
  const { certs = resolvePath(temporaryFolder(), CERTIFICATE_FOLDER) } = options.webhooks ?? {}
  if (typeof certs === 'string') return trustInFolder(certs, setup, addOwnCas)
  const place = certs.namespace ?? namespace
  return new SelfMadeCertificates({
    ...{ api: setup.api, clock, log: setup.log, names },
    namespace: place,
    secret: certs.secret,
    ca: certs.ca && { namespace: place, ...certs.ca },
    algorithm: certs.algorithm,
    operator: options.name,
    startTimeoutMs: options.syncTimeout === undefined ? undefined : toMs(options.syncTimeout),
    timings: livesOf(certs),
  })
}

/** A certificate that others write into a folder, with its CA. */
function trustInFolder(
  folder: string,
  { clock, log, meter }: WebhookSetup,
  addOwnCas: (signal: AbortSignal) => Promise<AddedCas>,
): Trust {
  const file = resolvePath(folder, 'ca.crt')
  let last: { readonly ca: string; readonly trusted: string } | undefined
  const trusted = async (): Promise<string | undefined> => {
    const ca = await readTextIfExists(file)
    if (ca === undefined) return undefined
    // Other replicas may serve a certificate of the earlier CA for a moment.
    if (ca !== last?.ca) last = { ca, trusted: last ? `${ca.trimEnd()}\n${last.ca}` : ca }
    return last.trusted
  }
  let isWarned = false
  const introduce = introduction(file, addOwnCas, { clock, log })
  const files = new FileCertificates({ folder, clock, log, meter: meter?.certificates('webhooks'), introduce })
  return {
    run: (use, signal) => files.run(use, signal),
    async bundle() {
      const bundle = await trusted()
      if (bundle === undefined && !isWarned) {
        isWarned = true
        log.warn(
          `There is no ca.crt in "${folder}", so kubeloop cannot tell the API server which CA to trust: add it, or annotate ` +
            'the webhook configurations and definitions with cert-manager.io/inject-ca-from',
        )
      }
      return bundle
    },
    async rotate({ inject }, signal) {
      let injected: { readonly bundle: string; readonly atMs: number } | undefined
      const follow = async (): Promise<void> => {
        const bundle = await trusted()
        if (bundle === undefined) return
        if (bundle === injected?.bundle && clock.monotonic() - injected.atMs < RESTORE_MS) return
        try {
          // Also without a change: what applies the configurations may be late, or remove the CA.
          await inject(bundle, signal)
          injected = { bundle, atMs: clock.monotonic() }
        } catch (error) {
          if (signal.aborted || !isReason(error, 'Forbidden')) throw error
          // What installed the configurations without the operator cares for their CA, too.
          log.warn(`${messageOf(error)}; the CA of the webhooks is left to what installed their configurations`)
          await aborted(signal)
        }
      }
      await repeatedly('update the CA of the webhooks', follow, CA_REREAD_MS, { clock, log }, signal)
    },
  }
}

/**
 * Returns what holds a new pair of a folder until its CA is trusted, so that no call fails when the CA changes, too. A
 * pair of the same CA is not held, nor one that replaces a pair that the API server does not accept.
 */
function introduction(
  file: string,
  addOwnCas: (signal: AbortSignal) => Promise<AddedCas>,
  { clock, log }: Pick<WebhookSetup, 'clock' | 'log'>,
): (served: CertificatePair | undefined, signal: AbortSignal) => Promise<void> {
  /** Of the served pair. */
  let ca: string | undefined
  return async (served, signal) => {
    // The injection reports a file that cannot be read.
    const next = await readTextIfExists(file).catch(() => undefined)
    if (served && next !== undefined && next !== ca && validityOf(served.cert).toMs > clock.now()) {
      let reason: unknown
      const late = (): Error => new Error(`the API server did not answer within ${INTRODUCTION_MS / 1000} s`)
      try {
        const { isOurs } = await within(clock, INTRODUCTION_MS, late, async (signal) => {
          for (;; await sleep(clock, ADD_RETRY_MS, signal)) {
            try {
              return await addOwnCas(signal)
            } catch (error) {
              if (signal.aborted) throw error
              reason = error
            }
          }
        }, signal)
        if (isOurs) await sleep(clock, IN_EFFECT_MS, signal)
      } catch (error) {
        if (signal.aborted) throw error
        log.error(`Serving a certificate whose CA the API server may not trust yet: ${messageOf(reason ?? error)}`)
      }
    }
    ca = next
  }
}
