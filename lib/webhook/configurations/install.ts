/** Writes the webhook configurations of an operator, and the CAs that they and its CRDs trust. For the leader. */
import { jsonEqual } from '../../core/equal.ts'
import { ConfigError } from '../../core/errors.ts'
import { type AnyResource, CRD, type WebhookClientConfig } from '../../core/resource.ts'
import type { WebhookConfiguration, WebhookConfigurations, WebhookEntry } from './configurations.ts'
import { hostOf, isLoopback } from '../../runtime/net/address.ts'
import { deleteLeftover, findObject } from './leftovers.ts'
import {
  isOwnConfiguration,
  isSameServer,
  MUTATING,
  OPERATOR_LABEL,
  ownConfigurations,
  serverOf,
} from '../common/ownership.ts'
import {
  type Configuration,
  type Crd,
  type InstallDependencies,
  isInjectedByOthers,
  withMissingCas,
  withRetries,
} from './trusted_cas.ts'

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
  for (const [resource, name] of ownConfigurations(dependencies.operator)) {
    await installOne(resource, name, resource === MUTATING ? mutating : validating, dependencies, signal)
  }
}

function isLocal({ url }: WebhookClientConfig): boolean {
  const parsed = URL.parse(url ?? '')
  return parsed !== null && isLoopback(hostOf(parsed))
}

async function installOne(
  resource: AnyResource,
  name: string,
  wanted: WebhookConfiguration | undefined,
  dependencies: InstallDependencies,
  signal: AbortSignal,
): Promise<void> {
  const { api, log, operator, namespace, keepsCas = false, easesNew = false } = dependencies
  const title = `${resource.kind} "${name}"`
  const target = { resource, name }
  const query = { fieldManager: operator }
  await withRetries(`install ${title}`, ['get', 'create', 'update', 'delete'], signal, async () => {
    const before = (await findObject(api, target, signal)) as Configuration | undefined
    const isOurs = before?.metadata.labels?.[OPERATOR_LABEL] === operator
    if (!wanted) {
      if (before && isOwnConfiguration(before, operator, namespace)) {
        await deleteLeftover(resource, before, dependencies, signal)
      }
      return
    }
    const eased = easesNew ? withNewEased(wanted, before?.webhooks ?? []) : wanted
    const logEased = (): void => {
      if (jsonEqual(eased, wanted)) return
      log.info(
        `New webhooks of ${title} have failurePolicy: Ignore for 10 min, as an earlier release does not serve them`,
      )
    }
    if (!before) {
      const webhooks = withStoredCas(eased.webhooks, [], isInjectedByOthers(wanted), false)
      await api.create(target, { ...eased, webhooks }, query, signal)
      log.info(`Installed ${title}`)
      return logEased()
    }
    if (!isOurs) {
      throw new Error(
        `it exists and lacks the label ${OPERATOR_LABEL}: ${operator}; delete it if it is of an earlier version of ` +
          'this operator, or give the operator another name',
      )
    }
    const next = changed(before, eased, keepsCas)
    if (jsonEqual(next, before)) return
    const { object } = await api.update(target, next, query, signal)
    const ours = wanted.webhooks[0]!.clientConfig
    const other = before.webhooks?.find(({ clientConfig }: WebhookEntry) => !isSameServer(clientConfig, ours))
      ?.clientConfig
    // A process on the developer's machine has another port each time.
    if (other && !(isLocal(other) && isLocal(ours))) {
      log.warn(
        `${title} called ${
          serverOf(other)
        }, and calls this operator now: if another operator with this name runs there, ` +
          'stop it or rename one of them',
      )
    }
    if (object.metadata.generation === before.metadata.generation) return
    log.info(`Updated ${title}`)
    logEased()
  })
}

/** Gives webhooks `Ignore` unless they are stored with `Fail`. */
function withNewEased(wanted: WebhookConfiguration, before: readonly WebhookEntry[]): WebhookConfiguration {
  const failing = new Set(before.filter((entry) => entry['failurePolicy'] === 'Fail').map(({ name }) => name))
  const webhooks = wanted.webhooks.map((entry) =>
    failing.has(entry.name) ? entry : { ...entry, failurePolicy: 'Ignore' }
  )
  return { ...wanted, webhooks }
}

/** Throws if an object to change calls a Service, as the operator in a cluster does. `url`: the default of loopback. */
export async function refuseServices(
  url: string,
  crds: readonly string[],
  { api, operator }: InstallDependencies,
  signal: AbortSignal,
): Promise<void> {
  for (const [resource, name] of [...ownConfigurations(operator), ...crds.map((crd) => [CRD, crd] as const)]) {
    const found = (await findObject(api, { resource, name }, signal)) as Configuration & Partial<Crd> | undefined
    const called = [found?.spec?.conversion?.webhook, ...(found?.webhooks ?? [])].map((each) => each?.clientConfig)
    const other = called.find((each) => each?.service)
    if (!other) continue
    throw new ConfigError(
      `Cannot install webhooks at ${url}: ${resource.kind} "${name}" calls ${
        serverOf(other)
      }, where the operator seems ` +
        "to run; state webhooks.url to replace it, or set crds: 'verify'",
    )
  }
}

function changed(
  before: Configuration,
  { metadata, webhooks }: WebhookConfiguration,
  keepsCas: boolean,
): Configuration {
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
