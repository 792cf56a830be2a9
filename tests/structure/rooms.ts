/** What each folder of lib is for. The map in docs/architecture.md is made of it: `node tests/tools/map.ts`. */

/** From the lowest row up. A file imports from its own folder and from lower rows. */
export const ROWS: readonly (readonly string[])[] = [
  ['core'],
  ['async', 'observe', 'kinds'],
  ['queue', 'client', 'runtime'],
  ['cache', 'config', 'events', 'schema'],
  ['controller', 'leader', 'webhook'],
  ['crds', 'manager', 'operator'],
  ['apiserver', 'rights'],
  ['cli', 'testing', 'simcluster', 'parts'],
]

/** The rows inside a folder, from the lowest up; its own files are above them. The rule is that of the rows outside. */
export const INSIDE: Readonly<Record<string, readonly (readonly string[])[]>> = {
  simcluster: [['workloads']],
  webhook: [['common'], ['admission', 'conversion', 'certificates'], ['configurations', 'server']],
  apiserver: [
    ['model'],
    ['storage', 'schema', 'cel', 'patch'],
    ['access', 'wire', 'apply'],
    ['webhooks'],
    ['crd', 'context'],
    ['kinds', 'admission', 'discovery'],
    ['verbs'],
    ['controllers'],
    ['server'],
  ],
}

/** The job of each folder, in the order of the map. */
export const JOBS: Readonly<Record<string, string>> = {
  cli: 'the `kubeloop` command',
  'cli/commands': 'a file for each command: its options with their help and checks, and what it does',
  'cli/api': 'what `dev` and `apiserver` share: port, kubeconfig, state, manifests, signals, lines',
  'cli/dev': 'the process of `kubeloop dev`, which starts the operator again after each save',
  'cli/dev/child': "what it loads into the operator's process: causes, writes, the live view",
  'cli/dev/page': 'the page of `--ui`, as a browser loads it',
  'cli/build': 'the bundle of `kubeloop build`',
  'cli/deploy':
    '`kubeloop manifests`: the objects and rights of an operator in a cluster, and a kustomize base of them',
  'cli/rights': '`kubeloop rights`: the least roles by a record, and the check of written ones',
  'cli/plan': '`kubeloop plan`: runs an operator against mirrors of its clusters, and tells what it wrote',
  'cli/crd': 'definitions, compared with committed files and stored objects, and what an API server would refuse',
  testing: 'tests of operators: worlds, clocks, faults, checks of conversions, real control planes',
  'testing/envtest': 'control planes of real programs, and the same test on any cluster',
  'testing/world': 'a cluster in memory with replicas, a clock, faults, rights, a trace',
  'testing/mirror': 'mirrors of clusters that plan reads, their differences and their records',
  simcluster: 'control loops of a cluster, for `dev` and worlds: the garbage collector',
  'simcluster/workloads': 'Deployments, Jobs and other workloads, and a node that simulates their pods',
  parts: 'the entry `kubeloop/parts`: types and sources that few operators name',
  rights: 'the rights that follow from a description, as rules and roles, and the account that has them',
  apiserver: 'the embedded Kubernetes API, behind `mod.ts`; it uses core, async, observe and runtime only',
  'apiserver/server': 'its front: connections, users, the way to a verb',
  'apiserver/controllers': 'what reacts to writes: definitions, namespaces, quotas, the first objects',
  'apiserver/verbs': 'a file for each verb, and the steps that all writes share',
  'apiserver/kinds': 'the built-in kinds',
  'apiserver/kinds/groups': 'their list, by API group',
  'apiserver/kinds/common': 'checks and defaults that families share',
  'apiserver/kinds/autoscalers': 'HorizontalPodAutoscalers',
  'apiserver/kinds/jobs': 'Jobs, CronJobs',
  'apiserver/kinds/networking': 'Ingresses, NetworkPolicies',
  'apiserver/kinds/pods': 'Pods and their templates',
  'apiserver/kinds/quotas': 'ResourceQuotas, LimitRanges',
  'apiserver/kinds/rules':
    'a file for each smaller kind or group: RBAC, nodes, namespaces, events, disruption budgets, …',
  'apiserver/kinds/services': 'Services, Endpoints, EndpointSlices',
  'apiserver/kinds/storage': 'volumes, claims, classes',
  'apiserver/kinds/workloads': 'Deployments, StatefulSets, DaemonSets, ReplicaSets',
  'apiserver/admission': 'which webhooks and policies a write passes, and what they change',
  'apiserver/discovery': 'discovery, versions, health',
  'apiserver/discovery/openapi': 'OpenAPI documents',
  'apiserver/crd': 'CustomResourceDefinitions and their kinds',
  'apiserver/context': 'what each request works on, and how a body becomes an object',
  'apiserver/webhooks': 'calls of admission and conversion webhooks',
  'apiserver/access': 'users, tokens, roles, impersonation',
  'apiserver/wire': 'bytes in and out: media types, bodies, YAML, tables',
  'apiserver/wire/protobuf': 'protobuf bodies, by the numbers in the schemas',
  'apiserver/apply': 'server-side apply, managed fields',
  'apiserver/storage': 'objects with their versions and history',
  'apiserver/schema': 'decoding and pruning by a schema',
  'apiserver/cel': 'rules in CEL: types, cost, evaluation',
  'apiserver/cel/functions': 'the functions of CEL and of Kubernetes',
  'apiserver/patch': 'JSON, merge and strategic patches',
  'apiserver/model': 'objects, kinds, schemas, routes, users, selectors, errors',
  operator: 'the description of an operator, and what it assembles',
  'operator/run': 'the process of an operator: arguments, permissions, start, stop, lines for a terminal',
  'operator/description': 'what the user has stated: options, kinds, controllers, with their checks',
  'operator/sharding': 'the shares of a replica: buckets, and rings of a sharder',
  'operator/webhooks': 'its webhooks: address, certificate and CAs, handlers, configurations',
  'operator/bundled': 'entries that bring a part into a bundle: `kubeloop/webhooks`, `kubeloop/schedules`, …',
  manager: 'start and stop order, clusters, health, metrics',
  'manager/servers': "probes, metrics, profiles, and the user's own servers",
  crds: 'the definitions of kinds in a cluster: installed, verified',
  controller: 'sources, predicates, handlers, workers, results, finalizers',
  leader: 'the Lease, its elector and its fence',
  webhook: 'admission and conversion, as an API server calls them',
  'webhook/server': 'the HTTPS server: routes, reviews in and out, limits, log lines',
  'webhook/configurations': 'what tells the API server to call: made, compared, installed, with the CAs it trusts',
  'webhook/admission': 'handlers of admissions: options, decoding, verdicts, patches',
  'webhook/conversion': 'handlers of conversions, and what a conversion would lose',
  'webhook/certificates': 'certificates: self-made in a Secret, followed in files, in memory; their renewal',
  'webhook/common': 'what its folders share: handlers, metrics, who owns an object',
  cache: 'watch machine, store, informers, own writes',
  'cache/compact': 'objects as bytes outside of the heap, for the option `compact`',
  config: 'in-cluster configuration and kubeconfig',
  events: 'the event recorder',
  schema: 'kinds from zod schemas',
  queue: 'keys that wait: order, delays, limits',
  client: 'requests and typed verbs',
  runtime: 'all that is not plain JavaScript',
  'runtime/net': 'HTTP, TLS, certificates',
  'runtime/os': 'files, processes, signals, terminals',
  async: 'clock, abort scopes, heap, channels',
  observe: 'logs, metrics, traces',
  kinds: 'the built-in kinds and their types, generated',
  core: 'objects, resources, selectors, errors, contracts',
}

/** Returns the map as a table of Markdown: each folder with its row, from the top down. */
export function mapOf(jobs: Readonly<Record<string, string>> = JOBS): string {
  const lines = Object.entries(jobs).map(([path, job]) => `| ${rowOf(path)} | \`${path}\` | ${job} |`)
  return ['| row | folder | job |', '|---|---|---|', ...lines].join('\n')
}

function rowOf(path: string): number | '' {
  return path.includes('/') ? '' : ROWS.findIndex((row) => row.includes(path))
}
