/** Sets and adds the CAs that the configurations and CRDs of an operator trust. */
import { encodeBase64 } from '../../core/base64.ts'
import { jsonEqual } from '../../core/equal.ts'
import { isReason, LeadershipLost, messageOf } from '../../core/errors.ts'
import type { KubeObject } from '../../core/objects.ts'
import { type AnyResource, CRD, type WebhookClientConfig } from '../../core/resource.ts'
import type { Log } from '../../observe/log.ts'
import type { Api } from '../../client/api.ts'
import { withVerbs } from '../../client/codec.ts'
import { isRace, MAX_TRIES, retried } from '../../client/retries.ts'
import { certificatesIn } from '../../runtime/net/certificate_facts.ts'
import { conversionOf, type WebhookConfiguration, type WebhookEntry, type WebhookTarget } from './configurations.ts'
import { withoutSpace } from '../certificates/kept_cas.ts'
import { findObject } from './leftovers.ts'
import { isSameServer, OPERATOR_LABEL, ownConfigurations } from '../common/ownership.ts'

/** What {@link injectCa} did. */
export interface CaInjection {
  /** How many objects were changed. */
  readonly written: number
  readonly found: readonly KubeObject[]
}

/** What {@link addCas} did. */
export interface AddedCas {
  /** Whether there is an object whose CAs nothing else injects. */
  readonly isOurs: boolean
  readonly isWritten: boolean
}

/** The objects whose CAs are set. */
interface Trusting {
  /** The names of the CRDs. Of these, those count whose conversion is called at `target`. */
  readonly crds: readonly string[]
  readonly target: WebhookTarget
  /** The name of the only object that counts, and its kind. Undefined: all count. */
  readonly only?: TrustingObject | undefined
}

/** A configuration or definition. */
export interface TrustingObject {
  readonly resource: AnyResource
  readonly name: string
}

/**
 * Makes the operator's configurations and CRDs trust a bundle of CAs, given in PEM. Resolves with what was changed,
 * after all were read back. Objects that do not exist, or that cert-manager injects, are left alone. Of the webhooks,
 * and of the conversions of CRDs (by name), those that are called at `target` count. `keeps` tests whether a stored CA
 * stays that is not in the bundle; default: none does.
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
  for (const [resource, name, change] of trustingObjects({ crds, target }, trusted, dependencies.operator)) {
    const { isWritten, object } = await injectOne(resource, name, change, dependencies, signal)
    if (isWritten) written++
    if (object) found.push(object)
  }
  return { written, found }
}

/**
 * Adds the CAs of a bundle, given in PEM, to those that the operator's configurations and CRDs trust for this server.
 *
 * Safety: every replica may do this without the lease, as what is trusted stays trusted. The leader cannot: its bundle
 * may be of another release, and the lists of its caches, before it is elected, may need the conversion.
 *
 * @throws Error if an object cannot be written; all are tried. The leader reports a role without the configurations.
 */
export async function addCas(
  bundle: string,
  trusting: Trusting,
  dependencies: InstallDependencies,
  signal: AbortSignal,
): Promise<AddedCas> {
  const trusted: Trusted = (stored) => withMissingCas(stored, bundle)
  const added = { isOurs: false, isWritten: false }
  const failures: unknown[] = []
  for (const [resource, name, change] of trustingObjects(trusting, trusted, dependencies.operator)) {
    try {
      const { object, isWritten } = await injectOne(resource, name, change, dependencies, signal)
      if (object && !isInjectedByOthers(object)) added.isOurs = true
      if (isWritten) added.isWritten = true
    } catch (error) {
      if (signal.aborted) throw error
      if (resource !== CRD && isReason(error, 'Forbidden')) dependencies.log.debug(messageOf(error))
      else failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
  return added
}

function trustingObjects(
  { crds, target, only }: Trusting,
  trusted: Trusted,
  operator: string,
): (readonly [AnyResource, string, Change])[] {
  const configuration: Change = (object) => withCa(object as Configuration, target, trusted, operator)
  const crd: Change = (object) => withConversionCa(object as Crd, target, trusted)
  return [
    ...ownConfigurations(operator).map(([resource, name]) => [resource, name, configuration] as const),
    ...crds.map((name) => [CRD, name, crd] as const),
  ].filter(([resource, name]) => !only || (resource.plural === only.resource.plural && name === only.name))
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
      const before = await findObject(api, target, signal)
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

/** Sets the CAs of the entries that call `target`: others are of another instance of the operator. */
function withCa(before: Configuration, target: WebhookTarget, trusted: Trusted, operator: string): Configuration {
  if (before.metadata.labels?.[OPERATOR_LABEL] !== operator || !before.webhooks) return before
  const ours = conversionOf(target).webhook.clientConfig
  return {
    ...before,
    webhooks: before.webhooks.map((entry) => {
      const caBundle = isSameServer(entry.clientConfig, ours) ? trusted(entry.clientConfig.caBundle) : undefined
      return caBundle === undefined ? entry : { ...entry, clientConfig: { ...entry.clientConfig, caBundle } }
    }),
  }
}

function withConversionCa(before: Crd, target: WebhookTarget, trusted: Trusted): Crd {
  const { conversion } = before.spec
  const clientConfig = conversion?.webhook?.clientConfig
  const ours = conversionOf(target).webhook.clientConfig
  if (conversion?.strategy !== 'Webhook' || !clientConfig || !isSameServer(clientConfig, ours)) return before
  const caBundle = trusted(clientConfig.caBundle)
  if (caBundle === undefined) return before
  const webhook = { ...conversion.webhook, clientConfig: { ...clientConfig, caBundle } }
  return { ...before, spec: { ...before.spec, conversion: { ...conversion, webhook } } }
}

/** With one of these annotations, cert-manager writes the CAs. */
const INJECTED_BY_OTHERS: readonly string[] = [
  'cert-manager.io/inject-ca-from',
  'cert-manager.io/inject-ca-from-secret',
  'cert-manager.io/inject-apiserver-ca',
]

export function isInjectedByOthers({ metadata: { annotations } }: KubeObject | WebhookConfiguration): boolean {
  return INJECTED_BY_OTHERS.some((name) => annotations?.[name] !== undefined)
}

/** Objects with the fields that are read here. */
export type Configuration = KubeObject & { readonly webhooks?: readonly WebhookEntry[] | null }

export type Crd = KubeObject & {
  readonly spec: {
    readonly conversion?: {
      readonly strategy?: string
      readonly webhook?: { readonly clientConfig?: WebhookClientConfig }
    }
  }
}

/** Calls `act` again after a conflict with another writer. Completes the rule in a refusal. */
export async function withRetries<T>(
  action: string,
  verbs: readonly string[],
  signal: AbortSignal,
  act: () => Promise<T>,
): Promise<T> {
  try {
    return await retried(act, isRace)
  } catch (error) {
    if (signal.aborted || error instanceof LeadershipLost) throw error
    throw new Error(`Cannot ${action}: ${withVerbs(messageOf(error), ...verbs)}`, { cause: error })
  }
}

export interface InstallDependencies {
  /** Fenced for the leader. */
  readonly api: Api
  readonly log: Log
  /** The operator's name, which is also the field manager. */
  readonly operator: string
  /** Whether an installation keeps CAs that other replicas have added. Default: false. */
  readonly keepsCas?: boolean | undefined
  /** The namespace of the operator's Services. Undefined where it has none. */
  readonly namespace?: string | undefined
  /**
   * Whether new webhooks may fail, as replicas of an earlier release, which do not serve them, may be called: until a
   * later call without it, those that are not stored with `Fail` have `Ignore`. Default: false.
   */
  readonly easesNew?: boolean | undefined
}
