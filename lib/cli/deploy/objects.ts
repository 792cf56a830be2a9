/** Builds the objects that run an operator in a cluster. */
import { checkDescription } from '../../operator/description/checks.ts'
import { crdModeOf, hasWebhooks, type OperatorDescription } from '../../operator/description/description.ts'
import { checkSharding } from '../../operator/sharding/ring.ts'
import { ownKinds, refuseUnadmitted } from '../../operator/description/used_kinds.ts'
import { crdOf } from '../../schema/crds.ts'
import { certManagerObjects, withInjectedCa } from './cert_manager.ts'
import { checkDeployment, notesOf } from './checks.ts'
import { metricsEndpoint, metricsReader } from './metrics.ts'
import { type DeployOptions, replicasOf } from './options.ts'
import { addressOf, portOf, reachable } from './ports.ts'
import { accountObjects, namespaceOf } from '../../rights/account.ts'
import { rightsOf } from '../../rights/likely.ts'
import { rulesOf } from '../../rights/rules.ts'
import { ringObjects } from './ring.ts'
import { workload } from './workload.ts'

/** The objects, in the order in which they can be applied, and hints for the user. */
interface Deployment {
  readonly objects: readonly object[]
  readonly notes: readonly string[]
}

/**
 * Returns all objects of an operator, and hints. `url`: of its file, which the places in a record are relative to.
 *
 * @throws Error if the operator could not start, an option does not fit it, a name in it is invalid, or an API server
 * would refuse a definition.
 */
export async function describeDeployment(
  description: OperatorDescription,
  options: DeployOptions,
  url: string,
): Promise<Deployment> {
  checkDescription(description)
  checkSharding(description)
  refuseUnadmitted(description)
  const { name } = description.options
  const { certManager = false, record = [] } = options
  const namespace = namespaceOf(description, options)
  const webhooks = hasWebhooks(description)
    ? (await import('../../operator/webhooks/describe.ts')).describeWebhooks(description, namespace)
    : undefined
  const { conversion, configurations = [], target } = webhooks ?? {}
  const crds = crdOf(ownKinds(description), { conversions: description.conversions, conversion })
  if (crds.length > 0) await (await import('../crd/refused.ts')).throwIfRefused(crds)
  const { recordedRights, unrecordedNotes } = await import('../rights/answer.ts')
  const observed = record.length === 0 ? undefined : await recordedRights(description, record, { namespace }, url)
  const replicas = replicasOf(description, options)
  checkDeployment(description, options)
  const installs = crdModeOf(description.options).mode === 'install'
  const notes = [...notesOf(description, options)]
  if (installs) notes.push('Its definitions are not printed: the operator installs them itself (crds: "install")')
  if (installs && description.admissions.length > 0) {
    notes.push(
      'With crds: "install" it may create webhook configurations, for all kinds: its token is close to cluster-admin. ' +
        'With crds: "verify" it may not, and the configurations are printed here',
    )
  }
  const allowed = observed ? rulesOf(observed.rights) : rightsOf(description, namespace)
  const others = [...allowed.inNamespaces.keys()].filter((place) => place !== namespace).toSorted()
  if (others.length > 0) notes.push(`Roles are in other namespaces, which must exist: ${others.join(', ')}`)
  const labels = { 'app.kubernetes.io/name': name }
  const meta = { name, namespace, labels }
  const injects = certManager && typeof description.options.webhooks?.certs !== 'object'
  const injected = (all: readonly object[]): readonly object[] =>
    installs ? [] : injects ? withInjectedCa(all, namespace, name) : all
  const metrics = portOf(addressOf(description.options.metrics))
  // The Service that the API server calls. With the selector it finds pods of its own namespace only.
  const { port = 443, ...called } = target && 'service' in target && target.service.namespace === namespace
    ? target.service
    : { name: undefined }
  const objects: (object | undefined)[] = [
    options.createNamespace ? namespaceObject(namespace) : undefined,
    ...injected(crds),
    ...accountObjects(name, namespace, allowed),
    metrics === undefined ? undefined : metricsReader(description.options, labels),
    called.name === undefined ? undefined : serviceOf({ ...called, labels }, 'webhooks', port),
    metrics === undefined ? undefined : serviceOf({ ...meta, name: `${name}-metrics` }, 'metrics', metrics),
    ...(certManager ? certManagerObjects(description, target, meta) : []),
    ...ringObjects(description, labels),
    workload(description, { ...options, namespace, replicas }, labels),
    replicas > 1
      ? {
        apiVersion: 'policy/v1',
        kind: 'PodDisruptionBudget',
        metadata: meta,
        spec: { maxUnavailable: 1, selector: { matchLabels: labels } },
      }
      : undefined,
    networkPolicy(meta, description, options),
    options.serviceMonitor && metrics !== undefined ? serviceMonitor(meta, description) : undefined,
    // Last: from then on, requests wait for the webhooks.
    ...injected(configurations),
  ]
  notes.push(...observed?.notes ?? unrecordedNotes(description))
  return { objects: objects.filter((each) => each !== undefined), notes }
}

function namespaceObject(name: string): object {
  // https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' }
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } }
}

interface Metadata {
  readonly name: string
  readonly namespace?: string | undefined
  /** Those of the pods, too. */
  readonly labels: Readonly<Record<string, string>>
}

/** `name`: of the port, of the Service and of the pods. */
function serviceOf(metadata: Metadata, name: string, port: number): object {
  const spec = { selector: metadata.labels, ports: [{ name, port, protocol: 'TCP', targetPort: name }] }
  return { apiVersion: 'v1', kind: 'Service', metadata, spec }
}

/**
 * Allows connections from anywhere by default: the API server and the kubelet are not pods, which a selector would
 * find. Profiles are for pods of the same namespace.
 */
function networkPolicy(metadata: Metadata, description: OperatorDescription, options: DeployOptions): object {
  const all = reachable(description, options)
  const { webhooksFrom = [] } = options
  const from: Readonly<Record<string, readonly object[]>> = {
    webhooks: webhooksFrom.map((cidr) => ({ ipBlock: { cidr } })),
    profiling: [{ podSelector: {} }],
  }
  const ingress = [...Map.groupBy(all, ({ name }) => from[name]?.length ? from[name] : undefined)].map(
    ([peers, some]) => ({
      ...(peers && { from: peers }),
      ports: some.map(({ containerPort: port }) => ({ port, protocol: 'TCP' })),
    }),
  )
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata,
    spec: {
      podSelector: { matchLabels: metadata.labels },
      policyTypes: ['Ingress'],
      ...(ingress.length > 0 && { ingress }),
    },
  }
}

function serviceMonitor(metadata: Metadata & { readonly namespace: string }, { options }: OperatorDescription): object {
  const endpoints = [metricsEndpoint(options, metadata.namespace)]
  const spec = { selector: { matchLabels: metadata.labels }, endpoints }
  return { apiVersion: 'monitoring.coreos.com/v1', kind: 'ServiceMonitor', metadata, spec }
}
