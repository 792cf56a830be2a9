/** Writes the webhook configurations of an operator, and the CAs that they and its CRDs trust. For the leader. */
import { encodeBase64 } from '../core/base64.ts'
import { jsonEqual } from '../core/equal.ts'
import { isReason, LeadershipLost, messageOf } from '../core/errors.ts'
import type { KubeObject } from '../core/objects.ts'
import { type AnyResource, CRD, type WebhookClientConfig } from '../core/resource.ts'
import type { Log } from '../observe/log.ts'
import type { Api } from '../client/api.ts'
import { isMissingObject, withVerbs } from '../client/codec.ts'
import { certificatesIn } from '../runtime/net/certificates.ts'
import {
  configurationNames,
  conversionOf,
  OPERATOR_LABEL,
  type WebhookConfiguration,
  type WebhookConfigurations,
  type WebhookEntry,
  type WebhookTarget,
} from './configurations.ts'
import { withoutSpace } from './kept_cas.ts'

const ADMISSION = { group: 'admissionregistration.k8s.io', version: 'v1', scope: 'Cluster' } as const

const MUTATING: AnyResource = {
  ...ADMISSION,
  kind: 'MutatingWebhookConfiguration',
  plural: 'mutatingwebhookconfigurations',
}

const VALIDATING: AnyResource = {
  ...ADMISSION,
  kind: 'ValidatingWebhookConfiguration',
  plural: 'validatingwebhookconfigurations',
}

/** With one of these annotations, cert-manager writes the CAs. */
const INJECTED_BY_OTHERS: readonly string[] = [
  'cert-manager.io/inject-ca-from',
  'cert-manager.io/inject-ca-from-secret',
  'cert-manager.io/inject-apiserver-ca',
]

/** The maximum number of tries to write an object after conflicts. */
const MAX_TRIES = 5

export interface InstallDependencies {
  /** Fenced for the leader. */
  readonly api: Api
  readonly log: Log
  /** The operator's name, which is also the field manager. */
  readonly operator: string
  /** Whether an installation keeps CAs that other replicas have added. Default: false. */
  readonly keepsCas?: boolean | undefined
}

/** What {@link injectCa} did. */
export interface CaInjection {
  /** How many objects were changed. */
  readonly written: number
  /** The objects that exist. */
  readonly found: readonly KubeObject[]
}

/** Objects with the fields that are read here. */
type Configuration = KubeObject & { readonly webhooks?: readonly WebhookEntry[] | null }
type Crd = KubeObject & {
  readonly spec: {
    readonly conversion?: {
      readonly strategy?: string
      readonly webhook?: { readonly clientConfig?: WebhookClientConfig }
    }
  }
}

/**
 * Creates, updates or deletes the two configurations of an operator; an unchanged one is not sent. Labels and
 * annotations of others stay, and so does the `caBundle` where cert-manager injects it or none is given.
 *
 * Call it after the server answers with a certificate of the bundle's CA, and after {@link injectCa}: requests that
 * match a configuration fail until then.
 *
 * @throws Error if a configuration with this name is not labelled as the operator's.
 */
export async function installConfigurations(
  { mutating, validating }: WebhookConfigurations,
  dependencies: InstallDependencies,
  signal: AbortSignal,
): Promise<void> {
  const names = configurationNames(dependencies.operator)
  await installOne(MUTATING, names.mutating, mutating, dependencies, signal)
  await installOne(VALIDATING, names.validating, validating, dependencies, signal)
}

async function installOne(
  resource: AnyResource,
  name: string,
  wanted: WebhookConfiguration | undefined,
  { api, log, operator, keepsCas = false }: InstallDependencies,
  signal: AbortSignal,
): Promise<void> {
  const title = `${resource.kind} "${name}"`
  const target = { resource, name }
  const query = { fieldManager: operator }
  await withRetries(`install ${title}`, ['get', 'create', 'update', 'delete'], signal, async () => {
    const before = (await find(api, target, signal)) as Configuration | undefined
    const isOurs = before?.metadata.labels?.[OPERATOR_LABEL] === operator
    if (!wanted) {
      if (!before || !isOurs) return
      const { uid, resourceVersion } = before.metadata
      await api.delete(target, { uid, resourceVersion }, signal)
      return log.info(`Deleted ${title}: the operator has no such webhooks`)
    }
    if (!before) {
      const webhooks = withStoredCas(wanted.webhooks, [], isInjectedByOthers(wanted), false)
      await api.create(target, { ...wanted, webhooks }, query, signal)
      return log.info(`Installed ${title}`)
    }
    if (!isOurs) {
      throw new Error(
        `it exists and lacks the label ${OPERATOR_LABEL}: ${operator}; delete it if it is of an earlier version of ` +
          'this operator, or give the operator another name',
      )
    }
    const next = changed(before, wanted, keepsCas)
    if (jsonEqual(next, before)) return
    const { object } = await api.update(target, next, query, signal)
    if (object.metadata.generation !== before.metadata.generation) log.info(`Updated ${title}`)
  })
}

function changed(before: Configuration, wanted: WebhookConfiguration, keepsCas: boolean): Configuration {
  const { metadata, webhooks } = wanted
  const labels = { ...before.metadata.labels, ...metadata.labels }
  const annotations = metadata.annotations && { ...before.metadata.annotations, ...metadata.annotations }
  const next = { ...before, metadata: { ...before.metadata, labels, ...(annotations && { annotations }) } }
  return { ...next, webhooks: withStoredCas(webhooks, before.webhooks ?? [], isInjectedByOthers(next), keepsCas) }
}

/** Keeps the stored CAs if they are `injected` by others or none are given; with `keepsCas` beside those given. */
function withStoredCas(
  webhooks: readonly WebhookEntry[],
  before: readonly WebhookEntry[],
  injected: boolean,
  keepsCas: boolean,
): WebhookEntry[] {
  return webhooks.map((entry) => {
    const { caBundle: given, ...clientConfig } = entry.clientConfig
    const old = before.find(({ name }) => name === entry.name)?.clientConfig
    const stored = old?.caBundle
    const isShared = keepsCas && old && isSameServer(old, clientConfig)
    const caBundle = injected ? stored : given && isShared ? withMissingCas(stored, atob(given)) : given ?? stored
    return { ...entry, clientConfig: { ...clientConfig, ...(caBundle !== undefined && { caBundle }) } }
  })
}

/** The objects whose CAs are set. */
interface Trusting {
  /** The names of the CRDs. Of these, those count whose conversion is called at `target`. */
  readonly crds: readonly string[]
  readonly target: WebhookTarget
}

/**
 * Makes the operator's configurations and CRDs trust a bundle of CAs, given in PEM. Resolves with what was changed,
 * after all were read back. Objects that do not exist, or that cert-manager injects, are left alone. `keeps` tests
 * whether a stored CA stays that is not in the bundle; default: none does.
 *
 * The configurations come first: one of them may match CRDs.
 */
export async function injectCa(
  bundle: string,
  { crds, target, keeps = () => false }: Trusting & { readonly keeps?: (pem: string) => boolean },
  dependencies: InstallDependencies,
  signal: AbortSignal,
): Promise<CaInjection> {
  const own = encodeBase64(bundle)
  const trusted: Trusted = (stored) => {
    const kept = missingIn(bundle, certificatesOf(stored)).filter(keeps)
    return kept.length === 0 ? own : encodeBase64([bundle.trimEnd(), ...kept, ''].join('\n'))
  }
  let written = 0
  const found: KubeObject[] = []
  for (const [resource, name, change] of trustingObjects({ crds, target }, undefined, trusted, dependencies.operator)) {
    const { isWritten, object } = await injectOne(resource, name, change, dependencies, signal)
    if (isWritten) written++
    if (object) found.push(object)
  }
  return { written, found }
}

/**
 * Adds the CAs of a bundle, given in PEM, to those that the operator's configurations and CRDs trust for this server.
 * Resolves to whether there is one that nothing else injects.
 *
 * Safety: every replica may do this without the lease, as what is trusted stays trusted. The leader cannot: its bundle
 * may be of another release, and the lists of its caches, before it is elected, may need the conversion.
 *
 * @throws Error if an object cannot be written; all are tried. The leader reports a role without the configurations.
 */
export async function addCas(
  bundle: string,
  { crds, target }: Trusting,
  dependencies: InstallDependencies,
  signal: AbortSignal,
): Promise<boolean> {
  const trusted: Trusted = (stored) => withMissingCas(stored, bundle)
  let isOurs = false
  const failures: unknown[] = []
  for (const [resource, name, change] of trustingObjects({ crds, target }, target, trusted, dependencies.operator)) {
    try {
      const { object } = await injectOne(resource, name, change, dependencies, signal)
      if (object && !isInjectedByOthers(object)) isOurs = true
    } catch (error) {
      if (signal.aborted) throw error
      if (resource !== CRD && isReason(error, 'Forbidden')) dependencies.log.debug(messageOf(error))
      else failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
  return isOurs
}

/** `only`: the entries of configurations that call it; undefined: all. */
function trustingObjects(
  { crds, target }: Trusting,
  only: WebhookTarget | undefined,
  trusted: Trusted,
  operator: string,
): (readonly [AnyResource, string, Change])[] {
  const { mutating, validating } = configurationNames(operator)
  const configuration: Change = (object) => withCa(object as Configuration, only, trusted, operator)
  const crd: Change = (object) => withConversionCa(object as Crd, target, trusted)
  return [
    [MUTATING, mutating, configuration],
    [VALIDATING, validating, configuration],
    ...crds.map((name) => [CRD, name, crd] as const),
  ]
}

/** Returns the CAs to trust in place of the stored ones, in base64. */
type Trusted = (stored: string | undefined) => string | undefined

/** Returns the stored CAs, in base64, with those of a bundle that they lack; or as they are. */
export function withMissingCas(stored: string | undefined, bundle: string): string | undefined {
  const trusted = certificatesOf(stored)
  const missing = missingIn(trusted.join(''), certificatesIn(bundle))
  return missing.length === 0 ? stored : encodeBase64([...missing, ...trusted, ''].join('\n'))
}

function certificatesOf(stored: string | undefined): string[] {
  return certificatesIn(stored === undefined ? '' : atob(stored))
}

function missingIn(bundle: string, pems: readonly string[]): string[] {
  const known = new Set(certificatesIn(bundle).map(withoutSpace))
  return pems.filter((pem) => !known.has(withoutSpace(pem)))
}

/**
 * Logs a warning for each configuration that is missing, and for each webhook that is called elsewhere. Each is named
 * once, and again when it was in order in between. `named`: those that were named.
 */
export function warnOfDifferences(
  found: readonly KubeObject[],
  { mutating, validating }: WebhookConfigurations,
  named: Set<string>,
  log: Log,
): void {
  const warnings = [mutating, validating].flatMap((wanted) => wanted ? differences(found, wanted) : [])
  for (const warning of warnings) if (!named.has(warning)) log.warn(warning)
  named.clear()
  for (const warning of warnings) named.add(warning)
}

function differences(found: readonly KubeObject[], { kind, metadata, webhooks }: WebhookConfiguration): string[] {
  const title = `${kind} "${metadata.name}"`
  const remedy = "apply what kubeloop manifests FILE prints, or set crds: 'install'"
  const stored = found.find((each) => each.kind === kind && each.metadata.name === metadata.name)
  if (!stored) return [`There is no ${title}, so the API server does not call these webhooks: ${remedy}`]
  const entries = (stored as Configuration).webhooks ?? []
  return webhooks.flatMap(({ name, clientConfig }) => {
    const { clientConfig: other } = entries.find((entry) => entry.name === name) ?? {}
    if (other && isSameServer(other, clientConfig)) return []
    const what = other ? `calls ${serverOf(other)}, not ${serverOf(clientConfig)}` : 'is missing'
    return [`The webhook "${name}" of ${title} ${what}: ${remedy}`]
  })
}

function serverOf({ service, url }: WebhookClientConfig): string {
  return service ? `the Service "${service.namespace}/${service.name}"` : url ?? 'nothing'
}

/** Returns the object with the CAs, or itself. */
type Change = (before: KubeObject) => KubeObject

/** Resolves when a read shows that nothing is left to change. */
async function injectOne(
  resource: AnyResource,
  name: string,
  change: Change,
  { api, log, operator }: InstallDependencies,
  signal: AbortSignal,
): Promise<{ readonly isWritten: boolean; readonly object: KubeObject | undefined }> {
  const target = { resource, name }
  const title = `${resource.kind} "${name}"`
  const action = `set the trusted CAs of ${title}`
  let isWritten = false
  for (let tries = 1;; tries++) {
    const { object, isDone } = await withRetries(action, ['get', 'update'], signal, async () => {
      const before = await find(api, target, signal)
      const wanted = before && !isInjectedByOthers(before) ? change(before) : before
      if (!before || !wanted || jsonEqual(wanted, before)) return { object: before, isDone: true }
      return { object: (await api.update(target, wanted, { fieldManager: operator }, signal)).object, isDone: false }
    })
    if (isDone) {
      if (isWritten) log.info(`Set the trusted CAs of ${title}`)
      return { isWritten, object }
    }
    isWritten = true
    if (tries === MAX_TRIES) {
      throw new Error(`Cannot ${action}: after ${tries} writes it has others; stop what changes them, or annotate it`)
    }
  }
}

/** `target`: only entries that call it. Undefined: all. */
function withCa(
  before: Configuration,
  target: WebhookTarget | undefined,
  trusted: Trusted,
  operator: string,
): Configuration {
  if (before.metadata.labels?.[OPERATOR_LABEL] !== operator || !before.webhooks) return before
  const ours = target && conversionOf(target).webhook.clientConfig
  return {
    ...before,
    webhooks: before.webhooks.map((entry) => {
      const caBundle = ours && !isSameServer(entry.clientConfig, ours)
        ? undefined
        : trusted(entry.clientConfig.caBundle)
      return caBundle === undefined ? entry : { ...entry, clientConfig: { ...entry.clientConfig, caBundle } }
    }),
  }
}

function withConversionCa(
  before: Crd,
  target: WebhookTarget,
  trusted: Trusted,
): Crd {
  const { conversion } = before.spec
  const clientConfig = conversion?.webhook?.clientConfig
  const ours = conversionOf(target).webhook.clientConfig
  if (conversion?.strategy !== 'Webhook' || !clientConfig || !isSameServer(clientConfig, ours)) return before
  const caBundle = trusted(clientConfig.caBundle)
  if (caBundle === undefined) return before
  const webhook = { ...conversion.webhook, clientConfig: { ...clientConfig, caBundle } }
  return { ...before, spec: { ...before.spec, conversion: { ...conversion, webhook } } }
}

function isSameServer(a: WebhookClientConfig, b: WebhookClientConfig): boolean {
  if (a.service && b.service) return a.service.name === b.service.name && a.service.namespace === b.service.namespace
  return a.url !== undefined && b.url !== undefined && URL.parse(a.url)?.host === URL.parse(b.url)?.host
}

function isInjectedByOthers({ metadata: { annotations } }: KubeObject | WebhookConfiguration): boolean {
  return INJECTED_BY_OTHERS.some((name) => annotations?.[name] !== undefined)
}

async function find(
  api: Api,
  target: { resource: AnyResource; name: string },
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  try {
    return await api.get(target, signal)
  } catch (error) {
    if (isMissingObject(error)) return undefined
    throw error
  }
}

/** Calls `act` again after a conflict with another writer. Completes the rule in a refusal. */
async function withRetries<T>(
  action: string,
  verbs: readonly string[],
  signal: AbortSignal,
  act: () => Promise<T>,
): Promise<T> {
  for (let tries = 1;; tries++) {
    try {
      return await act()
    } catch (error) {
      const isRace = isReason(error, 'Conflict') || isReason(error, 'AlreadyExists') || isMissingObject(error)
      if (isRace && tries < MAX_TRIES) continue
      if (signal.aborted || error instanceof LeadershipLost) throw error
      throw new Error(`Cannot ${action}: ${withVerbs(messageOf(error), ...verbs)}`, { cause: error })
    }
  }
}
