/** Creates the certificates of a webhook server, shares them between replicas in a Secret, and rotates them. */
import { ConfigError, isNotCapable, isReason, LeadershipLost, messageOf } from '../../core/errors.ts'
import type { KubeObject } from '../../core/objects.ts'
import type { AnyResource } from '../../core/resource.ts'
import { abortScope } from '../../async/abort.ts'
import { backoffMs } from '../../async/backoff.ts'
import { pause, within } from '../../async/clock.ts'
import { TokenBucket } from '../../async/token_bucket.ts'
import type { PartEnvironment } from '../../observe/environment.ts'
import { RateLimitedLog } from '../../observe/log.ts'
import type { Api } from '../../client/api.ts'
import { isMissingObject, withVerbs } from '../../client/codec.ts'
import { isChanged } from '../../client/retries.ts'
import type { KeyAlgorithm } from '../../runtime/net/certificates.ts'
import type { ServerNames } from '../../runtime/net/certificate_fields.ts'
import {
  bundleOf,
  type CertificateTexts,
  dataOf,
  factsOf,
  type GivenCa,
  givenCaOf,
  pairOf,
  takeStep,
  textsOf,
} from './certificate_secret.ts'
import type { CertificatePair, CertificateSource } from '../common/handler.ts'
import { OPERATOR_LABEL } from '../common/ownership.ts'
import { firstStep, nextStep, Rotation, type RotationTimings, type SecretFacts, type WriteStep } from './rotation.ts'
import { untilChanged } from '../common/until_changed.ts'

const SECRET: AnyResource = { group: '', version: 'v1', kind: 'Secret', plural: 'secrets', scope: 'Namespaced' }

interface SecretTarget {
  readonly resource: AnyResource
  readonly namespace: string
  readonly name: string
}

const DAY_MS = 24 * 60 * 60 * 1000

/** A new configuration was in effect 34 ms after its write on one API server; several follow etcd with a delay. */
export const IN_EFFECT_MS = 10_000

/** The CA lives as cert-controller's, the leaf a tenth of it. A replica reads the Secret at least every `REREAD_MS`. */
const TIMINGS: RotationTimings = {
  caLifeMs: 3650 * DAY_MS,
  leafLifeMs: 365 * DAY_MS,
  leafRenewMs: 365 * DAY_MS / 3,
  inEffectMs: IN_EFFECT_MS,
  pickUpMs: 180_000,
  checkMs: 60_000,
}

/** How often the Secret is read, whatever its watch reports: a watch may be dead. */
const REREAD_MS = 60_000

/** As the default of an operator's `syncTimeout`. */
const START_TIMEOUT_MS = 120_000

/** How often the Secret is read while it cannot be watched. */
const POLL_MS = 10_000

/** The time limit for a read of the Secret. */
const READ_MS = 30_000

/** The waits between retries. They are shorter than the time for a new leaf to be picked up. */
const RETRY = { baseMs: 1000, maxMs: 10_000 } as const

/** Limits writes of the Secret. A rotation has at most five; without a leader, two releases may undo each other's. */
const WRITES = { burst: 10, refillMs: 60_000 } as const

/** The maximum number of writers that a replica lets pass before it gives up to create the Secret. */
const MAX_RACES = 20

export interface SelfMadeOptions extends PartEnvironment {
  /**
   * Reads and watches the Secret, and creates it. Not fenced, as each replica needs a certificate before it can lead.
   */
  readonly api: Api
  readonly namespace: string
  readonly secret: string
  /** The Secret with the CA that issues, which others make and renew. Undefined: CAs are made. */
  readonly ca?: { readonly namespace: string; readonly secret: string } | undefined
  /** Of new keys. Default: ECDSA-256. */
  readonly algorithm?: KeyAlgorithm | undefined
  /** The operator's name. A Secret without it in its label is refused. */
  readonly operator: string
  /** The names that the API server calls, see {@link namesOf}. */
  readonly names: ServerNames
  /** How long the first pair may take while the server cannot be reached. Default: 2 minutes. */
  readonly startTimeoutMs?: number | undefined
  /** The defaults: CA 10 years, leaf 1 year, each renewed after two thirds of that. */
  readonly timings?: Partial<RotationTimings> | undefined
}

export interface RotationLeader {
  /** Fenced for the leader. */
  readonly api: Api
  /**
   * Makes all webhook configurations and CRDs trust this bundle, given in PEM, and reads it back. Resolves with the
   * number of objects that were changed. Called once at first, then every minute and at each change.
   */
  inject(bundle: string, signal: AbortSignal): Promise<number>
}

interface Found {
  readonly object: KubeObject
  readonly texts: CertificateTexts
  readonly facts: SecretFacts
  /** Undefined: CAs are made. */
  readonly given: GivenCa | undefined
}

/** Certificates in a Secret that all replicas share and serve. The first one creates it; only the leader rotates. */
export class SelfMadeCertificates implements CertificateSource {
  readonly #options: SelfMadeOptions
  readonly #timings: RotationTimings
  readonly #lines: RateLimitedLog
  readonly #title: string
  /** The last complete content, from which a deleted or damaged Secret is restored. */
  #last: CertificateTexts | undefined
  readonly #writes = new TokenBucket(WRITES)
  /** Wakes the rotation when the Secret has changed. */
  #wake = (): void => {}

  constructor(options: SelfMadeOptions) {
    this.#options = options
    this.#timings = { ...TIMINGS, ...options.timings }
    this.#lines = new RateLimitedLog(options.clock, options.log)
    this.#title = `Secret "${options.namespace}/${options.secret}"`
  }

  /**
   * Serves the Secret's leaf, and each that replaces it, until the signal is aborted. Without a Secret, creates it.
   * While the Secret is missing or cannot be used, the last pair stays.
   *
   * @throws ConfigError if there is no first pair: the role lacks a rule, the server does not accept the credentials or
   * cannot be reached within `startTimeoutMs`, or the Secret is not this operator's.
   */
  async run(use: (pair: CertificatePair) => void, signal: AbortSignal): Promise<void> {
    const { api, clock, log, startTimeoutMs = START_TIMEOUT_MS } = this.#options
    let served: CertificatePair | undefined
    let version: string | undefined
    const startedMs = clock.monotonic()
    for (let failures = 0; !signal.aborted;) {
      try {
        const found = served ? await this.#read(api, signal) : await this.#ensure(signal)
        if (found?.object.metadata.resourceVersion !== version) this.#wake()
        version = found?.object.metadata.resourceVersion
        const pair = found && pairOf(found.texts)
        if (!pair) {
          this.#lines.warn(`${this.#title} ${found ? 'has no valid certificate' : 'is missing'}; serving the last one`)
        } else if (pair.cert !== served?.cert) {
          use(pair)
          served = pair
        }
        failures = 0
        const watched = { target: this.#target, title: this.#title, rereadMs: REREAD_MS, pollMs: POLL_MS }
        await untilChanged({ api, clock, log, ...watched }, version, signal)
      } catch (error) {
        if (signal.aborted) return
        const isLate = clock.monotonic() - startedMs >= startTimeoutMs
        if (!served && (isLate || isFinal(error))) throw this.#failure(error)
        this.#lines.warn(`${this.#failure(error).message}; ${served ? 'serving the last certificate' : 'trying again'}`)
        await this.#pause(failures++, signal)
      }
    }
  }

  /** Returns the CAs to trust, in PEM. Creates the Secret if it is missing. Rejects as {@link run} does. */
  async bundle(signal: AbortSignal): Promise<string> {
    try {
      return bundleOf((await this.#ensure(signal)).texts)
    } catch (error) {
      throw signal.aborted ? error : this.#failure(error)
    }
  }

  /**
   * Renews CA and leaf after two thirds of their lives, in an order in which no call fails ({@link nextStep}), until
   * the signal is aborted. For the leader. All that was begun and not finished, also by another leader, is finished
   * first.
   *
   * Before the first call of `inject` the leaf has the server's names, so `inject` can install the configurations. Call
   * {@link run} of the same instance, too: it notices changes of the Secret.
   *
   * @throws LeadershipLost if the fence of `api` falls. Other failures are logged and retried.
   */
  async rotate(leader: RotationLeader, signal: AbortSignal): Promise<void> {
    const rotation = new Rotation()
    for (let failures = 0; !signal.aborted;) {
      try {
        await this.#rotateOnce(leader, rotation, signal)
        failures = 0
      } catch (error) {
        if (signal.aborted) return
        if (error instanceof LeadershipLost) throw error
        if (!isChanged(error)) this.#lines.warn(`Cannot rotate the certificates of the webhooks: ${messageOf(error)}`)
        await this.#pause(failures++, signal)
      }
    }
  }

  async #rotateOnce({ api, inject }: RotationLeader, rotation: Rotation, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    const changed = new Promise<void>((resolve) => (this.#wake = resolve))
    const found = await this.#read(api, signal)
    const nowMs = clock.monotonic()
    rotation.see(found && { bundle: bundleOf(found.texts), cert: found.texts.cert }, nowMs)
    const facts = { secret: found?.facts, nowMs: clock.now(), ...rotation.facts(nowMs) }
    const step = nextStep(facts, this.#timings)
    switch (step.kind) {
      case 'wait':
        return await this.#untilWoken(step.ms, changed, signal)
      case 'inject': {
        const written = await inject(rotation.bundle, signal)
        return rotation.injected(written, clock.monotonic())
      }
      default:
        if (this.#writes.take(nowMs)) await this.#store(api, step, found, signal)
        else await pause(clock, this.#timings.checkMs, signal)
    }
  }

  /** Returns the Secret with a pair that can be served. Replicas that start at the same time end with the same one. */
  async #ensure(signal: AbortSignal): Promise<Found> {
    const { api, clock } = this.#options
    for (let races = 0;; races++) {
      const found = await this.#read(api, signal)
      const step = firstStep(found?.facts, clock.now(), this.#timings)
      if (!step) return found!
      try {
        return await this.#store(api, step, found, signal)
      } catch (error) {
        if (!isChanged(error) || races === MAX_RACES) throw error
      }
    }
  }

  /** Returns undefined if there is no Secret. Throws a ConfigError if it is not this operator's. */
  async #read(api: Api, signal: AbortSignal): Promise<Found | undefined> {
    const given = await this.#given(signal)
    try {
      return this.#found(await this.#get(api, this.#target, signal), given)
    } catch (error) {
      if (isMissingObject(error)) return undefined
      throw this.#withRule(error)
    }
  }

  #get(api: Api, target: SecretTarget, signal: AbortSignal): Promise<KubeObject> {
    const late = (): Error => new Error(`the server did not answer within ${READ_MS / 1000} s`)
    return within(this.#options.clock, READ_MS, late, (limited) => api.get(target, limited), signal)
  }

  /** Returns the CA of others. Throws a ConfigError if it cannot issue. */
  async #given(signal: AbortSignal): Promise<GivenCa | undefined> {
    const { api, ca } = this.#options
    if (!ca) return undefined
    try {
      return await givenCaOf(
        await this.#get(api, { resource: SECRET, namespace: ca.namespace, name: ca.secret }, signal),
      )
    } catch (error) {
      if (!(error instanceof TypeError || isMissingObject(error) || isReason(error, 'Forbidden'))) throw error
      const why = `${withVerbs(messageOf(error), 'get')}; it must have tls.crt and tls.key of a CA`
      throw this.#cannotIssue(why, { cause: error })
    }
  }

  #cannotIssue(why: string, options?: ErrorOptions): ConfigError {
    const { namespace, secret } = this.#options.ca!
    const title = `Secret "${namespace}/${secret}"`
    return new ConfigError(`Cannot issue certificates of webhooks by the CA in ${title}: ${why}`, options)
  }

  #found(object: KubeObject, given: GivenCa | undefined): Found {
    const { operator, names } = this.#options
    if (object.metadata.labels?.[OPERATOR_LABEL] !== operator) {
      throw new ConfigError(
        `Cannot keep certificates in ${this.#title}: it exists and lacks the label ${OPERATOR_LABEL}: ${operator}, so ` +
          'its content is of another origin; use another name, or delete it if it is not needed',
      )
    }
    const texts = textsOf(object)
    const facts = factsOf(texts, names, given)
    if (facts.cas.length > 0 && facts.hasCaKey && facts.leaf) this.#last = texts
    return { object, texts, facts, given }
  }

  /** Stores the content after a step. Rejects with Conflict or AlreadyExists if the Secret has changed meanwhile. */
  async #store(api: Api, step: WriteStep, found: Found | undefined, signal: AbortSignal): Promise<Found> {
    const { operator, names, clock, log, algorithm } = this.#options
    const given = found ? found.given : await this.#given(signal)
    // New content keeps what clients trust and replicas serve, also if the Secret was deleted or damaged.
    const base = found?.facts.cas.length ? found.texts : this.#last ?? found?.texts
    const kind = base && base !== found?.texts ? 'addCa' : step.kind
    const nowMs = clock.now()
    // Nothing that it issues would be accepted, and what is served may be.
    if (given && nowMs >= given.notAfterMs) throw this.#cannotIssue('it has expired')
    const texts = await takeStep(kind, base, { names, algorithm, given, nowMs, timings: this.#timings })
    const { namespace, name } = this.#target
    const metadata = { namespace, name, labels: { [OPERATOR_LABEL]: operator } }
    const data = dataOf(texts)
    const query = { fieldManager: operator }
    const written = found
      ? api.update(this.#target, { ...found.object, data: { ...otherData(found.object), ...data } }, query, signal)
      : api.create(this.#target, { metadata, type: 'kubernetes.io/tls', data }, query, signal)
    const { object } = await written.catch((error: unknown) => {
      throw this.#withRule(error)
    })
    const why = 'why' in step ? ` (${step.why})` : ''
    log.info(`${DONE[kind]} the certificates of the webhooks in ${this.#title}${why}`)
    return this.#found(object, given)
  }

  async #untilWoken(ms: number, changed: Promise<void>, signal: AbortSignal): Promise<void> {
    const scope = abortScope(signal)
    void changed.then(() => scope.abort())
    await pause(this.#options.clock, ms, scope.signal)
    scope[Symbol.dispose]()
  }

  async #pause(failures: number, signal: AbortSignal): Promise<void> {
    await pause(this.#options.clock, backoffMs(failures, RETRY, Math.random), signal)
  }

  get #target(): SecretTarget {
    const { namespace, secret } = this.#options
    return { resource: SECRET, namespace, name: secret }
  }

  /** Completes the rule in a refusal: the server names only the first verb that the role lacks. */
  #withRule(error: unknown): unknown {
    return isReason(error, 'Forbidden') ? this.#failure(error) : error
  }

  #failure(error: unknown): Error {
    if (error instanceof ConfigError) return error
    const message = withVerbs(messageOf(error), 'get', 'watch', 'create', 'update')
    return new ConfigError(`Cannot keep certificates in ${this.#title}: ${message}`, { cause: error })
  }
}

const DONE = {
  create: 'Created',
  replace: 'Replaced',
  addCa: 'Added a CA to',
  issueLeaf: 'Renewed the leaf of',
  dropCas: 'Removed the old CA from',
} as const

/** Tests whether a retry is useless before the role or the options are changed. */
function isFinal(error: unknown): boolean {
  return error instanceof ConfigError || error instanceof TypeError || isNotCapable(error) ||
    isReason(error, 'Unauthorized')
}

function otherData(secret: KubeObject): object {
  return (secret as KubeObject & { readonly data?: object }).data ?? {}
}
