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
  { api, log, operator }: InstallDependencies,
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
      const webhooks = withStoredCas(wanted.webhooks, [], isInjectedByOthers(wanted))
      await api.create(target, { ...wanted, webhooks }, query, signal)
      return log.info(`Installed ${title}`)
    }
    if (!isOurs) {
      throw new Error(
        `it exists and lacks the label ${OPERATOR_LABEL}: ${operator}; delete it if it is of an earlier version of ` +
          'this operator, or give the operator another name',
      )
    }
    const next = changed(before, wanted)
    if (jsonEqual(next, before)) return
    const { object } = await api.update(target, next, query, signal)
    if (object.metadata.generation !== before.metadata.generation) log.info(`Updated ${title}`)
  })
}

function changed(before: Configuration, { metadata, webhooks }: WebhookConfiguration): Configuration {
  const labels = { ...before.metadata.labels, ...metadata.labels }
  const annotations = metadata.annotations && { ...before.metadata.annotations, ...metadata.annotations }
  const next = { ...before, metadata: { ...before.metadata, labels, ...(annotations && { annotations }) } }
  return { ...next, webhooks: withStoredCas(webhooks, before.webhooks ?? [], isInjectedByOthers(next)) }
}

/** Keeps the stored CAs if they are `injected` by others or none are given. */
function withStoredCas(
  webhooks: readonly WebhookEntry[],
  before: readonly WebhookEntry[],
  injected: boolean,
): WebhookEntry[] {
  return webhooks.map((entry) => {
    const { caBundle: given, ...clientConfig } = entry.clientConfig
    const stored = before.find(({ name }) => name === entry.name)?.clientConfig.caBundle
    const caBundle = injected ? stored : given ?? stored
    return { ...entry, clientConfig: { ...clientConfig, ...(caBundle !== undefined && { caBundle }) } }
  })
}

/**
 * Makes the operator's configurations and CRDs trust a bundle of CAs, given in PEM. Resolves with what was changed,
 * after all were read back. Objects that do not exist, or that cert-manager injects, are left alone.
 * Of the CRDs (by name), those whose conversion is called at `target` count.
 *
 * The configurations come first: one of them may match CRDs.
 */
export async function injectCa(
  bundle: string,
  { crds, target }: { readonly crds: readonly string[]; readonly target: WebhookTarget },
  dependencies: InstallDependencies,
  signal: AbortSignal,
): Promise<CaInjection> {
  const caBundle = encodeBase64(bundle)
  const names = configurationNames(dependencies.operator)
  let written = 0
  const found: KubeObject[] = []
  const inject = async (resource: AnyResource, name: string, change: Change): Promise<void> => {
    const { isWritten, object } = await injectOne(resource, name, change, dependencies, signal)
    if (isWritten) written++
    if (object) found.push(object)
  }
  const configuration: Change = (object) => withCa(object as Configuration, caBundle, dependencies.operator)
  const crd: Change = (object) => withConversionCa(object as Crd, target, () => caBundle)
  await inject(MUTATING, names.mutating, configuration)
  await inject(VALIDATING, names.validating, configuration)
  for (const name of crds) await inject(CRD, name, crd)
  return { written, found }
}

/**
 * Adds the CAs of a bundle, given in PEM, to those that the operator's CRDs trust for their conversion. Of the CRDs (by
 * name), those count that {@link injectCa} would change.
 *
 * Safety: every replica may do this without the lease, as what is trusted stays trusted. The leader cannot do it for
 * them: it is elected when its caches have synced, and their lists may need the conversion.
 */
export async function trustConversions(
  bundle: string,
  { crds, target }: { readonly crds: readonly string[]; readonly target: WebhookTarget },
  dependencies: InstallDependencies,
  signal: AbortSignal,
): Promise<void> {
  const change: Change = (crd) => withConversionCa(crd as Crd, target, (stored) => withMissingCas(stored, bundle))
  for (const name of crds) await injectOne(CRD, name, change, dependencies, signal)
}

/** Returns the stored CAs with those that they lack, or as they are. */
function withMissingCas(stored: string | undefined, bundle: string): string | undefined {
  const trusted = certificatesIn(stored === undefined ? '' : atob(stored))
  const known = new Set(trusted.map(withoutSpace))
  const missing = certificatesIn(bundle).filter((pem) => !known.has(withoutSpace(pem)))
  if (missing.length === 0) return stored
  return encodeBase64([...missing, ...trusted].map((pem) => `${pem}\n`).join(''))
}

function withoutSpace(pem: string): string {
  return pem.replace(/\s/g, '')
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

function withCa(before: Configuration, caBundle: string, operator: string): Configuration {
  if (before.metadata.labels?.[OPERATOR_LABEL] !== operator || !before.webhooks) return before
  return {
    ...before,
    webhooks: before.webhooks.map((entry) => ({ ...entry, clientConfig: { ...entry.clientConfig, caBundle } })),
  }
}

/** `trusted`: returns what to trust in place of the stored CAs. */
function withConversionCa(
  before: Crd,
  target: WebhookTarget,
  trusted: (stored: string | undefined) => string | undefined,
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
