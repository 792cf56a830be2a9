/**
 * Serves the webhooks of an operator, and installs their configurations. Loaded only for operators that have webhooks.
 */
import { toMs } from '../core/duration.ts'
import { type AnyResource, type CustomResourceConversion, groupResourceOf, resourceId } from '../core/resource.ts'
import { jsonEqual } from '../core/equal.ts'
import { ConfigError, isReason, LeadershipLost, messageOf } from '../core/errors.ts'
import { isDomainName } from '../core/names.ts'
import type { Runnable } from '../core/runnable.ts'
import { aborted } from '../async/abort.ts'
import { type Clock, pause, sleep, type TurnBudget, within } from '../async/clock.ts'
import { type Log, RateLimitedLog, safeLog } from '../observe/log.ts'
import type { Api } from '../client/api.ts'
import type { Client } from '../client/client.ts'
import type { LeaderElector } from '../leader/leader_elector.ts'
import { validityOf } from '../runtime/os/builtins.ts'
import { readTextIfExists, resolvePath, temporaryFolder } from '../runtime/os/files.ts'
import { isInPod } from '../runtime/os/env.ts'
import { admissionHandler } from '../webhook/admission_handler.ts'
import { admissionPath, type AdmissionPhase } from '../webhook/admission_path.ts'
import { type AdmissionDescription as ConfiguredAdmission, checkAdmission } from '../webhook/admission_options.ts'
import {
  configurationsOf,
  conversionOf,
  namesOf,
  type OwnObjects,
  type WebhookConfiguration,
  type WebhookConfigurations,
  type WebhookTarget,
} from '../webhook/configurations.ts'
import { hostOf, isLoopback } from '../runtime/net/address.ts'
import { conversionHandler, CONVERT_PATH } from '../webhook/conversion.ts'
import { CERTIFICATE_FOLDER, WEBHOOK_PORT } from '../webhook/defaults.ts'
import { FileCertificates } from '../webhook/file_certificates.ts'
import type { CertificatePair, CertificateSource, WebhookHandler } from '../webhook/handler.ts'
import {
  addCas,
  type AddedCas,
  injectCa,
  installConfigurations,
  refuseServices,
  type TrustingObject,
  warnOfDifferences,
  withMissingCas,
} from '../webhook/install.ts'
import { crdOf } from '../schema/crds.ts'
import { KeptCas } from '../webhook/kept_cas.ts'
import { keepDefinition, keepTrusted } from '../webhook/kept_objects.ts'
import { lossWarnings } from '../webhook/lost_fields.ts'
import { MUTATING, VALIDATING } from '../webhook/ownership.ts'
import { inMemoryCertificates } from '../webhook/memory_certificates.ts'
import { IN_EFFECT_MS, SelfMadeCertificates } from '../webhook/self_made_certificates.ts'
import type { RotationTimings } from '../webhook/rotation.ts'
import { WebhookServer } from '../webhook/webhook_server.ts'
import { at } from './places.ts'
import {
  type AdmissionDescription,
  crdModeOf,
  leaseOf,
  type OperatorDescription,
  type OperatorOptions,
  ownKinds,
  type SelfMadeOptions,
  type WebhookOptions,
} from './description.ts'
import { RESTORE_MS, underLease } from './webhook_lease.ts'
import type { WebhookParts } from './context.ts'
import type { OperatorMeter } from './endpoints.ts'

/** How often the CA beside a certificate in files is read. */
const CA_REREAD_MS = 10_000

const HOUR_MS = 3_600_000

/**
 * How long new webhooks may fail, from the first installation of this process: until replicas of an earlier release
 * have ended. Without progress for this time, Kubernetes calls a rollout failed.
 */
const EASED_MS = 600_000

/** The time limit for work that a start waits for. */
const INJECTION_MS = 10_000

/** The time limit for a new CA of a folder to be trusted: then its certificate is served, as the old one ends. */
const INTRODUCTION_MS = 60_000

/** The wait between two tries to add a CA. */
const ADD_RETRY_MS = 1000

/**
 * `stated`: as the operator's options state. `memory`: the server does not listen, and its handlers are called in this
 * process. A port: on that port of 127.0.0.1 (0 is any free one), with a certificate that is kept in memory.
 */
export type WebhookMode = 'stated' | 'memory' | { readonly port: number }

export interface WebhookSetup {
  /** The operator's own cluster, without a fence. */
  readonly api: Api
  /** Returns the client of one call, whose signal ends the client's requests. */
  readonly client: (call: { readonly signal: AbortSignal }) => Client
  /** The namespace of the cluster's configuration, if it has one. */
  readonly namespace: string | undefined
  /** The URL of the API server. Undefined if something replaces the connection. */
  readonly apiServer?: string | undefined
  /** Overrides the operator's own. */
  readonly crds?: OperatorOptions['crds']
  readonly meter: OperatorMeter | undefined
  readonly clock: Clock
  /** The time that long work may take of each turn; shared with the operator's other work. */
  readonly budget: TurnBudget
  readonly log: Log
  /** Logs what is installed, instead of `log`. */
  readonly definitionLog?: Log | undefined
  /**
   * Returns an elector, which calls `onOther` when another process holds the Lease. Undefined if no other process
   * serves the webhooks, and with leader election, whose leader installs the configurations.
   */
  readonly elect?: ((onOther: () => void) => LeaderElector) | undefined
  readonly mode: WebhookMode
  /** Aborted when the stop begins. */
  readonly stopping: AbortSignal
}

/** The CAs that the API server trusts. */
interface Trust {
  readonly source: CertificateSource
  /** Resolves with the CAs in PEM. Undefined: others write them. */
  bundle(signal: AbortSignal): Promise<string | undefined>
  /** Keeps the configurations' CAs up to date until the signal is aborted; for the leader. */
  rotate(
    leader: { readonly api: Api; inject(bundle: string, signal: AbortSignal): Promise<number> },
    signal: AbortSignal,
  ): Promise<void>
}

/** The webhooks of one start of an operator. */
export interface OperatorWebhooks {
  readonly server: WebhookParts & Runnable & Required<Pick<Runnable, 'ready'>>
  /** Whether the server listens. */
  readonly isServed: boolean
  /** The namespace of the Service that the API server calls. Undefined with a URL. */
  readonly serviceNamespace: string | undefined
  /** The handlers by their paths, for calls without a network. */
  readonly handlers: ReadonlyMap<string, WebhookHandler>
  /**
   * Resolves with the `spec.conversion` of CRDs, when the server listens. Undefined without conversions.
   *
   * @throws ConfigError if the installation would replace a Service by a URL of loopback that is not stated.
   */
  conversion(signal: AbortSignal): Promise<CustomResourceConversion | undefined>
  /** Adds our CAs to those of a stored conversion, both in base64. Undefined: ours replace them. */
  readonly mergeCas: ((stored: string, ours: string) => string) | undefined
  /**
   * Makes the API server trust this replica's certificate, where it does not. For every replica, before it is ready and
   * its caches list. A failure is logged.
   */
  addCas(signal: AbortSignal): Promise<void>
  /** The readiness check. */
  check(signal: AbortSignal): Promise<void>
  /** Writes the configurations. `api` is fenced for the leader. */
  install(api: Api, signal: AbortSignal): Promise<void>
  /**
   * The leader's work: restores what others deleted or changed after {@link install}, or reports it without one.
   * `reinstall` writes the definitions; undefined: their versions are not restored.
   */
  keepInstalled(
    api: Api,
    reinstall: ((signal: AbortSignal) => Promise<void>) | undefined,
    signal: AbortSignal,
  ): Promise<void>
  /**
   * Without leader election, where other processes may serve the webhooks too: {@link install} and
   * {@link keepInstalled} while this replica holds the Lease, so that a release does not undo the configurations of
   * another one beside it. Calls `onDecided` when they are installed, or another replica holds the Lease. If it cannot
   * be had within 10 s, they are installed once without it.
   */
  readonly installUnderLease: ((onDecided: () => void, signal: AbortSignal) => Promise<void>) | undefined
  /** The leader's work: keeps the certificate valid, and the configurations' CAs up to date. */
  rotate(api: Api, signal: AbortSignal): Promise<void>
}

/**
 * Makes the server and the handlers of an operator's webhooks. Nothing listens yet.
 *
 * @throws TypeError for invalid options, with the place in the user's file.
 */
export function openWebhooks(description: OperatorDescription, setup: WebhookSetup): OperatorWebhooks {
  const { options, conversions } = description
  const { meter, clock, elect, mode } = setup
  const log = safeLog(setup.log)
  const own = ownObjects(description, setup.namespace)
  const given: WebhookOptions = mode === 'stated' ? options.webhooks ?? {} : { port: 0, ...(mode !== 'memory' && mode) }
  const { port = WEBHOOK_PORT, host, clientCa } = given
  const namespace = setup.namespace || 'default'
  const reached = reachedBy(given, options.name, namespace, mode)
  const crdMode = crdModeOf({ crds: setup.crds ?? options.crds }).mode
  const installs = crdMode === 'install'
  if (installs && reached === 'loopback') refuseRemote(setup.apiServer, loopback(port).url)
  const names = namesOf(reached === 'loopback' ? loopback(port) : reached)
  const trust = trustOf(description, setup, namespace, names, (signal) => addOwnCas(signal))
  const server = new WebhookServer({
    host: host ?? (isOnLoopback(reached) ? '127.0.0.1' : undefined),
    port,
    certificates: trust.source,
    clientCa: clientCa === undefined ? undefined : { file: clientCa },
    shutdownDelayMs: shutdownDelayOf(options, mode),
    stopping: setup.stopping,
    meter,
    clock,
    log,
  })
  const handlers = new Map<string, WebhookHandler>()
  const admissions = groupsOf(description)
  for (const { path, phase, resource, members } of admissions) {
    const handler = admissionHandler(phase, resource, members.map(({ hooks }) => hooks), {
      client: setup.client,
      clock,
      log,
    })
    handlers.set(path, handler)
    server.handle(path, handler, { name: `${phase === 'mutate' ? 'default' : 'validate'} of ${resource.kind}` })
  }
  if (conversions.length > 0) {
    const failures = new RateLimitedLog(clock)
    const onThrow = (error: unknown, what: string): void =>
      failures.line((more) => log.error(`${what}${more}`, { error }))
    const handler = conversionHandler({ conversions, budget: setup.budget, onThrow })
    handlers.set(CONVERT_PATH, handler)
    // A hint, which must not delay the start.
    void lossWarnings(conversions, setup.budget).then((warnings) => warnings.forEach((warning) => log.warn(warning)))
    server.handle(CONVERT_PATH, handler, { name: 'conversion', protocol: 'conversion' })
  }
  /** The port is known when the server listens. */
  const target = (): WebhookTarget => reached === 'loopback' ? loopback(server.port ?? port) : reached
  const configurations = (caBundle: string | undefined): WebhookConfigurations =>
    configurationsOf({
      operator: options.name,
      admissions: admissions.flatMap(configured),
      target: target(),
      caBundle,
      own,
    })
  // Invalid options must fail the start before anything is written.
  configurations(undefined)
  // In development and in tests there is one replica, whose CAs would pile up.
  const keepsCas = mode === 'stated'
  const dependencies = (api: Api) => ({
    ...{ api, keepsCas },
    log: safeLog(setup.definitionLog ?? log),
    operator: options.name,
    namespace: serviceNamespaceOf(reached) ?? (isInPod() ? namespace : undefined),
  })
  /** The differences of which a warning was logged. */
  const named = new Set<string>()
  const crds = [...new Set(conversions.map(({ hub }) => groupResourceOf(hub)))]
  /** A run outside of the cluster must not take the calls away from the operator in it. */
  const refuse = async (signal: AbortSignal): Promise<void> => {
    if (!installs || reached !== 'loopback' || mode === 'memory') return
    await refuseServices(loopback(server.port ?? port).url, crds, dependencies(setup.api), signal)
  }
  let installingSinceMs: number | undefined
  const install = async (api: Api, signal: AbortSignal): Promise<void> => {
    await refuse(signal)
    const nowMs = clock.monotonic()
    installingSinceMs ??= nowMs
    // By loopback, no other replica is called.
    const easesNew = reached !== 'loopback' && nowMs - installingSinceMs < EASED_MS
    await installConfigurations(
      configurations(await trust.bundle(signal)),
      { ...dependencies(api), easesNew },
      signal,
    )
  }
  const restore = (api: Api, signal: AbortSignal): Promise<void> =>
    repeatedly('restore the webhook configurations', () => install(api, signal), RESTORE_MS, { clock, log }, signal)
  const wanted = async (signal: AbortSignal): Promise<CustomResourceConversion> => {
    await refuse(signal)
    return conversionOf(target(), await trust.bundle(signal))
  }
  const addOwnCas = async (signal: AbortSignal, only?: TrustingObject): Promise<AddedCas> => {
    const bundle = admissions.length + crds.length === 0 ? undefined : await trust.bundle(signal)
    if (bundle === undefined) return { isOurs: false, isWritten: false }
    return await addCas(bundle, { crds, target: target(), only }, dependencies(setup.api), signal)
  }
  let isTrustTried = mode === 'memory'
  return {
    server,
    isServed: mode !== 'memory',
    serviceNamespace: serviceNamespaceOf(reached),
    handlers,
    async conversion(signal) {
      if (conversions.length > 0) return await wanted(signal)
      await refuse(signal)
      return undefined
    },
    mergeCas: keepsCas ? (stored, ours) => withMissingCas(stored, atob(ours))! : undefined,
    async addCas(signal) {
      const late = (): Error => new Error(`Cannot set the trusted CAs of the webhooks within ${INJECTION_MS / 1000} s`)
      try {
        await within(clock, INJECTION_MS, late, addOwnCas, signal)
      } catch (error) {
        if (signal.aborted) throw error
        log.warn(`The API server may not trust the webhooks: ${messageOf(error)}; starting anyway`)
      }
      isTrustTried = true
    },
    async check(signal) {
      if (!isTrustTried) throw new Error('The API server may not trust the certificate of the webhooks yet')
      await server.check(signal)
    },
    install,
    async keepInstalled(api, reinstall, signal) {
      const { log, operator } = dependencies(api)
      const addMissing = async (object: TrustingObject, signal: AbortSignal): Promise<boolean> =>
        (await addOwnCas(signal, object)).isWritten
      const kept = { api, clock, log, addCas: addMissing }
      const definitions = crdOf(ownKinds(description), { conversions, conversion: conversionOf(target()) })
      const keep = async (name: string): Promise<void> => {
        const { versions } = definitions.find(({ metadata }) => metadata.name === name)!.spec
        await keepDefinition({ ...kept, name, wanted, versions, restores: installs, reinstall, operator }, signal)
      }
      const configured = Object.values(configurations(undefined)).filter((each) => each !== undefined)
      const trust = async ({ kind, metadata: { name } }: WebhookConfiguration): Promise<void> =>
        await keepTrusted(kind === MUTATING.kind ? MUTATING : VALIDATING, name, kept, signal)
      const restored = async (): Promise<void> => {
        await pause(clock, RESTORE_MS, signal)
        await restore(api, signal)
      }
      // Without leader election, the holder of the Lease restores the configurations.
      await Promise.all([
        ...(crdMode === 'ignore' ? [] : [...crds.map(keep), ...configured.map(trust)]),
        ...(installs && !elect ? [restored()] : []),
      ])
    },
    installUnderLease: elect
      ? (onDecided, signal) => underLease({ elect, onDecided, api: setup.api, install, restore, clock, log }, signal)
      : undefined,
    rotate(api, signal) {
      const kept = new KeptCas()
      const keeps = (pem: string): boolean => kept.keeps(pem, clock.now(), clock.monotonic())
      return trust.rotate({
        api,
        async inject(bundle, signal) {
          kept.begin(bundle)
          const trusting = { crds, target: target(), keeps }
          const { written, found } = await injectCa(bundle, trusting, dependencies(api), signal)
          kept.end()
          // Otherwise the operator creates them itself.
          if (!installs) warnOfDifferences(found, configurations(bundle), named, { ...dependencies(api), log })
          return written
        },
      }, signal)
    },
  }
}

/** Throws if an API server elsewhere would be given an address of this machine. */
function refuseRemote(apiServer: string | undefined, url: string): void {
  const server = apiServer === undefined ? null : URL.parse(apiServer)
  if (!server || isLoopback(hostOf(server))) return
  throw new ConfigError(
    `Cannot install webhooks at ${url}: the API server at ${server.host} cannot call this machine so; state webhooks.url ` +
      "with an address that it can call, or set crds: 'verify'",
  )
}

function serviceNamespaceOf(reached: WebhookTarget | 'loopback'): string | undefined {
  return reached !== 'loopback' && 'service' in reached ? reached.service.namespace : undefined
}

/** Whether only this machine can call the webhooks. */
function isOnLoopback(reached: WebhookTarget | 'loopback'): boolean {
  if (reached === 'loopback') return true
  const url = 'url' in reached ? URL.parse(reached.url) : null
  return url !== null && isLoopback(hostOf(url))
}

function loopback(port: number): { readonly url: string } {
  return { url: `https://127.0.0.1:${port}` }
}

/** What a cluster must have for an operator's webhooks. */
export interface WebhookDefinitions {
  /** Undefined without conversions. */
  readonly conversion: CustomResourceConversion | undefined
  /** The MutatingWebhookConfiguration and the ValidatingWebhookConfiguration, as far as they are needed. */
  readonly configurations: readonly WebhookConfiguration[]
  /** How the API server calls the operator. */
  readonly target: WebhookTarget
}

/**
 * Returns what a cluster must have, without CAs, for an operator that runs there. `namespace`: where it runs.
 *
 * @throws TypeError for invalid options, with the place in the user's file.
 */
export function describeWebhooks(description: OperatorDescription, namespace: string): WebhookDefinitions {
  const { options, conversions } = description
  const { url, service } = options.webhooks ?? {}
  const target = url === undefined ? serviceOf(service, options.name, namespace) : { url }
  const { mutating, validating } = configurationsOf({
    operator: options.name,
    admissions: groupsOf(description).flatMap(configured),
    target,
    own: ownObjects(description, namespace),
  })
  return {
    conversion: conversions.length > 0 ? conversionOf(target) : undefined,
    configurations: [mutating, validating].filter((each) => each !== undefined),
    target,
  }
}

function serviceOf(service: WebhookOptions['service'], operator: string, namespace: string): WebhookTarget {
  const { name = operator, ...rest } = typeof service === 'string' ? { name: service } : service ?? {}
  return { service: { namespace, ...rest, name } }
}

/** Returns how the API server calls this process. `loopback`: by a URL of 127.0.0.1, with the port that is bound. */
function reachedBy(
  { service, url }: Pick<WebhookOptions, 'service' | 'url'>,
  operator: string,
  namespace: string,
  mode: WebhookMode,
): WebhookTarget | 'loopback' {
  if (url !== undefined && service !== undefined) {
    throw new TypeError('Cannot serve webhooks: both webhooks.url and webhooks.service are given; give one of them')
  }
  if (url !== undefined) return { url }
  if (service === undefined && !runsInPod(mode)) return 'loopback'
  return serviceOf(service, operator, namespace)
}

function runsInPod(mode: WebhookMode): boolean {
  return mode === 'stated' && isInPod()
}

/** The other half of the grace period is left for open requests. */
function shutdownDelayOf({ webhooks = {}, grace = '30s' }: OperatorOptions, mode: WebhookMode): number {
  const delayMs = toMs(webhooks.shutdownDelay ?? (runsInPod(mode) ? '5s' : 0))
  return mode === 'stated' ? Math.min(delayMs, grace === 'forever' ? Infinity : toMs(grace) / 2) : 0
}

/** What the operator itself writes: its Lease, its Secret, and its definitions. */
function ownObjects(description: OperatorDescription, configured: string | undefined): OwnObjects {
  const { options } = description
  const { certs } = options.webhooks ?? {}
  const { lease, namespace: leases = 'default' } = leaseOf(options, configured)
  const namespace = configured || 'default'
  return {
    namespace,
    lease: { namespace: leases, name: lease },
    secret: typeof certs === 'object' ? { namespace: certs.namespace ?? namespace, name: certs.secret } : undefined,
    crds: [...new Set(ownKinds(description).map(groupResourceOf))],
  }
}

function trustOf(
  { options }: OperatorDescription,
  { api, meter, clock, log, mode }: WebhookSetup,
  namespace: string,
  names: ReturnType<typeof namesOf>,
  addOwnCas: (signal: AbortSignal) => Promise<AddedCas>,
): Trust {
  if (mode === 'memory') {
    return {
      source: { run: (_use, signal) => aborted(signal) },
      bundle: () => Promise.resolve(undefined),
      rotate: (_leader, signal) => aborted(signal),
    }
  }
  if (mode !== 'stated') {
    const source = inMemoryCertificates({ names, clock })
    // The configurations are installed with its CA, which lives as long as the process.
    return { source, bundle: () => source.bundle(), rotate: (_leader, signal) => aborted(signal) }
  }
  const { certs = resolvePath(temporaryFolder(), CERTIFICATE_FOLDER) } = options.webhooks ?? {}
  if (typeof certs === 'object') {
    for (const { secret } of [certs, ...(certs.ca ? [certs.ca] : [])]) {
      if (isDomainName(secret)) continue
      const rule = 'the name of a Secret has lower-case letters, digits, dashes and dots'
      throw new TypeError(`Cannot keep certificates in a Secret "${secret}": ${rule}`)
    }
    const place = certs.namespace ?? namespace
    const made = new SelfMadeCertificates({
      api,
      namespace: place,
      secret: certs.secret,
      ca: certs.ca && { namespace: place, ...certs.ca },
      algorithm: certs.algorithm,
      operator: options.name,
      names,
      clock,
      log,
      startTimeoutMs: options.syncTimeout === undefined ? undefined : toMs(options.syncTimeout),
      timings: livesOf(certs),
    })
    return {
      source: made,
      bundle: (signal) => made.bundle(signal),
      rotate: (leader, signal) => made.rotate(leader, signal),
    }
  }
  let last: { readonly ca: string; readonly trusted: string } | undefined
  const trusted = async (): Promise<string | undefined> => {
    const ca = await readTextIfExists(resolvePath(certs, 'ca.crt'))
    if (ca === undefined) return undefined
    // Other replicas may serve a certificate of the earlier CA for a moment.
    if (ca !== last?.ca) last = { ca, trusted: last ? `${ca.trimEnd()}\n${last.ca}` : ca }
    return last.trusted
  }
  let isWarned = false
  const introduce = introduction(resolvePath(certs, 'ca.crt'), addOwnCas, { clock, log })
  return {
    source: new FileCertificates({ folder: certs, clock, log, meter: meter?.certificates('webhooks'), introduce }),
    async bundle() {
      const bundle = await trusted()
      if (bundle === undefined && !isWarned) {
        isWarned = true
        log.warn(
          `There is no ca.crt in "${certs}", so kubeloop cannot tell the API server which CA to trust: add it, or annotate ` +
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

/** @throws TypeError if the certificate would be renewed before replicas serve it, or never in time. */
function livesOf({ duration = '8760h', renewBefore }: SelfMadeOptions): Partial<RotationTimings> {
  const leafLifeMs = toMs(duration)
  const leafRenewMs = renewBefore === undefined ? leafLifeMs / 3 : toMs(renewBefore)
  const problem = leafLifeMs < HOUR_MS || leafLifeMs > 24_000 * HOUR_MS
    ? 'webhooks.certs.duration must be 1 hour to 24,000 hours'
    : leafRenewMs < Math.max(300_000, leafLifeMs / 10) || leafRenewMs > leafLifeMs * 0.9
    ? 'webhooks.certs.renewBefore must be at least 5 minutes, and one to nine tenths of the duration'
    : undefined
  if (problem !== undefined) throw new TypeError(`Cannot make certificates of webhooks: ${problem}`)
  return { leafLifeMs, leafRenewMs }
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

/**
 * Calls `work` every `ms` until the signal is aborted. A failure is logged, and the next time is a new try.
 *
 * @throws LeadershipLost if `work` does.
 */
async function repeatedly(
  what: string,
  work: () => Promise<void>,
  ms: number,
  { clock, log }: Pick<WebhookSetup, 'clock' | 'log'>,
  signal: AbortSignal,
): Promise<void> {
  for (; !signal.aborted; await pause(clock, ms, signal)) {
    try {
      await work()
    } catch (error) {
      if (signal.aborted || error instanceof LeadershipLost) throw error
      log.warn(`Cannot ${what}; trying again in ${ms / 1000} s: ${messageOf(error)}`)
    }
  }
}

interface AdmissionGroup {
  readonly path: string
  readonly phase: AdmissionPhase
  readonly resource: AnyResource
  readonly members: AdmissionDescription[]
}

/** Returns the admissions by their paths, in the order of declaration. */
function groupsOf({ admissions, conversions }: OperatorDescription): readonly AdmissionGroup[] {
  const groups = new Map<string, AdmissionGroup>()
  for (const admission of admissions) {
    const { resource, hooks, options, declaredAt } = admission
    for (const phase of ['mutate', 'validate'] as const) {
      if (!(phase === 'mutate' ? hooks.default : hooks.validate)) continue
      const base = admissionPath(phase, resource)
      at(declaredAt, () => {
        checkAdmission({ resource, path: base, mutating: phase === 'mutate', options })
        if (phase === 'mutate' && options.matchPolicy !== 'Exact') refuseDefaultOfSpoke(resource, conversions)
      })
      // A webhook has one set of options, and two groups that differ by a dot and a dash have one path.
      const isOther = (group: AdmissionGroup | undefined): boolean =>
        !!group &&
        !(resourceId(group.resource) === resourceId(resource) && jsonEqual(group.members[0]!.options, options))
      let path = base
      for (let number = 2; isOther(groups.get(path)); number++) path = `${base}-${number}`
      const group = groups.get(path) ?? { path, phase, resource, members: [] }
      groups.set(path, group)
      group.members.push(admission)
    }
  }
  return [...groups.values()]
}

/** Throws if the API server would convert every write of the kind to a version that is not the hub, and back. */
function refuseDefaultOfSpoke(resource: AnyResource, conversions: OperatorDescription['conversions']): void {
  const { version, kind } = resource
  const id = groupResourceOf(resource)
  const spoke = conversions.find(({ from }) => from.version === version && groupResourceOf(from) === id)
  if (!spoke) return
  throw new TypeError(
    `Cannot configure the admission of ${kind}: with a default for ${version}, writes in all versions are converted to ` +
      `it and back, and lose what it cannot hold; declare it for the hub, ${spoke.hub.version}, or set ` +
      `matchPolicy: 'Exact', for writes in ${version} alone`,
  )
}

function configured({ path, phase, resource, members }: AdmissionGroup): readonly ConfiguredAdmission[] {
  return members.map(({ options }) => ({ resource, path, mutating: phase === 'mutate', options }))
}
