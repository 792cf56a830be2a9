/** Refuses an operator that no objects can run, and makes hints for its user. */
import { isLabel } from '../../core/names.ts'
import { parseAddress } from '../../manager/servers/address.ts'
import { hasWebhooks, type OperatorDescription } from '../../operator/description/description.ts'
import { usedResources } from '../../operator/description/used_kinds.ts'
import { isLoopback } from '../../runtime/net/address.ts'
import { certificateFolder, certificateName } from './cert_manager.ts'
import { metricsFolder, metricsNotes } from './metrics.ts'
import { type DeployOptions, replicasOf } from './options.ts'
import { addressOf, portOf } from './ports.ts'
import { namespaceOf } from '../../rights/account.ts'

/** The namespaces that every cluster has. Their pods belong to others. */
const OF_CLUSTERS: readonly string[] = ['default', 'kube-node-lease', 'kube-public', 'kube-system']

/** @throws Error if no objects can run this operator, or they would harm others. */
export function checkDeployment(description: OperatorDescription, deploy: DeployOptions): void {
  const { options } = description
  const [namespace, replicas] = [namespaceOf(description, deploy), replicasOf(description, deploy)]
  const refuse = (why: string): never => {
    throw new Error(`Cannot write manifests of operator "${options.name}": ${why}`)
  }
  const label = (max: number): string => `at most ${max} lower-case letters, digits and dashes, beginning with a letter`
  // The Service has the strictest rule; its name is the operator's, or longer by "-metrics".
  if (!isLabel(options.name) || options.name.length > 55) {
    refuse(`its name also names a Service and a label: ${label(55)}`)
  }
  if (deploy.createNamespace && OF_CLUSTERS.includes(namespace)) {
    const why = 'is in every cluster, and --create-namespace would restrict its other pods'
    refuse(`the namespace "${namespace}" ${why}; leave --create-namespace out`)
  }
  const unscoped = usedResources(description).find(({ scope }) => scope !== 'Namespaced' && scope !== 'Cluster')
  if (unscoped) refuse(`the kind ${unscoped.kind} has no scope, which is "Namespaced" or "Cluster"`)
  const { service } = options.webhooks ?? {}
  const called = typeof service === 'object' ? service.name : service
  if (called !== undefined && !isLabel(called)) {
    refuse(`the Service of its webhooks is called "${called}"; a name has ${label(63)}`)
  }
  if (hasWebhooks(description)) {
    const problem = webhookProblem(description, called)
    if (problem !== undefined) refuse(problem)
  }
  if (replicas > 1 && !options.leaderElection && !options.sharding) {
    const remedy = 'set leaderElection: true in operator()'
    refuse(`it has no leader election, so ${replicas} replicas would write at the same time; ${remedy}`)
  }
}

/** Returns why the API server could not call the webhooks, so that it would refuse writes; undefined if it can. */
function webhookProblem({ options }: OperatorDescription, service: string | undefined): string | undefined {
  const { name, metrics, webhooks = {} } = options
  const { port, host, url } = webhooks
  if (port === 0) return 'its webhooks listen on any free port, which no Service can name; state webhooks.port'
  if (host !== undefined && url === undefined && isLoopback(host)) {
    return `its webhooks listen on ${host}, which the API server cannot reach; leave webhooks.host out`
  }
  if (service === `${name}-metrics` && portOf(addressOf(metrics)) !== undefined) {
    return `the Services of its webhooks and of its metrics are both called "${service}"; give webhooks.service another name`
  }
  const [folder, other] = [certificateFolder(options), metricsFolder(options)].map((each) => each?.replace(/\/+$/, ''))
  if (folder === '/tmp' || other === '/tmp') {
    return 'a folder of certificates is /tmp, which is an empty folder of its pod; give it another one'
  }
  if (folder !== undefined && folder === other) {
    return `the certificates of its webhooks and of its metrics are both in ${folder}; give each a folder of its own`
  }
  return undefined
}

/** Returns what the user should know of the objects. */
export function* notesOf(description: OperatorDescription, deploy: DeployOptions): Iterable<string> {
  const { options, clusters, groups, extensions } = description
  const { image, serviceMonitor, certManager } = deploy
  const { name, health, metrics, webhooks = {} } = options
  if (image === undefined) yield `The image is "${name}": give the one that runs your file with --image`
  else if (!/[:@][^/]+$/.test(image)) {
    yield `The image "${image}" has no tag, so its content can change: add one, or a digest`
  }
  const [probed, scraped] = [addressOf(health), addressOf(metrics)]
  if (probed === undefined) {
    yield `The pod has no probes: set health: ':8081' in operator()`
  } else if (portOf(probed) === undefined) {
    const { port } = parseAddress(probed)
    yield `The pod has no probes, as the kubelet cannot reach ${shown(probed)}: set health: ':${
      port || 8081
    }' in operator()`
  }
  if (scraped !== undefined && portOf(scraped) === undefined) {
    const { port } = parseAddress(scraped)
    yield `Prometheus cannot reach the metrics on ${shown(scraped)}: set metrics: ':${port || 8080}' in operator()`
  }
  if (serviceMonitor && portOf(scraped) === undefined) {
    yield 'There is no ServiceMonitor, as no metrics can be reached'
  }
  yield* metricsNotes(options, certManager)
  if (portOf(options.profiling) !== undefined) {
    yield "Pods of its namespace can read this process's memory by its profiles: with profiling: 6060, only kubectl " +
      'port-forward can'
  }
  if (extensions.length > 0 && !deploy.ports?.length) {
    yield 'The NetworkPolicy has no port of servers that app.extend adds: open it with --port N'
  }
  if (options.grace === 'forever') yield 'With grace: "forever" the kubelet still ends the pod: after one hour here'
  for (const other of clusters) {
    yield `The rights in the cluster "${other.name}" are not printed: its configuration names the user`
  }
  for (const group of groups) {
    yield `The rights in the clusters of "${group.name}" are not printed: their configurations name the users`
  }
  if (typeof webhooks.certs === 'string' && !certManager) {
    const secret = certificateName(name)
    yield `The certificate is mounted from the Secret "${secret}" at ${webhooks.certs}: --cert-manager prints what keeps it`
  }
  if (options.sharding?.ring) {
    yield `The ControllerRing "${options.sharding.ring}" needs kubernetes-controller-sharding in the cluster, whose ` +
      'sharder runs as sharding-system/sharder'
  }
  yield* webhookNotes(description, deploy)
}

function* webhookNotes(description: OperatorDescription, deploy: DeployOptions): Iterable<string> {
  const { options, admissions, conversions } = description
  if (!hasWebhooks(description)) return
  const { service, url } = options.webhooks ?? {}
  const place = url === undefined && typeof service === 'object' ? service.namespace : undefined
  if (place !== undefined && place !== namespaceOf(description, deploy)) {
    yield `The Service of the webhooks is not printed: in ${place}, its selector would find no pods`
  }
  if (!deploy.webhooksFrom?.length) {
    yield 'Every pod may call the webhooks: give the addresses of the API server with --webhooks-from CIDR'
  }
  if (replicasOf(description, deploy) > 1) return
  const failing = admissions.filter(({ options: stated }) => stated?.failurePolicy !== 'Ignore')
  const [written, read] = [failing.map(({ resource }) => resource), conversions.map(({ hub }) => hub)]
    .map((some) => [...new Set(some.map(({ kind }) => kind))].join(', '))
  const effects = [
    ...(written ? [`writes of ${written} are refused (failurePolicy: 'Fail')`] : []),
    ...(read ? [`${read} cannot be read in other versions than the stored one`] : []),
  ]
  if (effects.length === 0) return
  const remedy = options.leaderElection ? 'leave --replicas 1 out' : 'set leaderElection: true in operator()'
  yield `While its only pod is replaced or down, ${effects.join(', and ')}: for two, ${remedy}`
}

function shown(address: number | string): string {
  return typeof address === 'number' ? `127.0.0.1:${address}` : address
}
