/** The built-in kinds: discovery names and rules. */
import { CRD_RULES } from '../crd/rules.ts'
import { apiVersionOf, type Kind, type Rules, type ScalePaths } from '../kinds.ts'
import { definition, fieldSchema } from '../schema/schema.ts'
import { BUILTIN_COLUMNS } from './columns.ts'
import { APPS_RULES } from './apps.ts'
import { BATCH_RULES } from './batch.ts'
import { CORE_RULES } from './core.ts'
import { OTHER_RULES } from './others.ts'
import { WEBHOOK_RULES } from '../webhooks/rules.ts'

interface Row {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly definition: string
  readonly namespaced: boolean
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
}

/** Entries: group/version, prefix of definition names, and kinds as `Kind plural scope shortNames categories`. */
const TABLE: readonly (readonly [string, string, readonly string[]])[] = [
  ['v1', 'core.v1', [
    'ConfigMap configmaps N cm',
    'Endpoints endpoints N ep',
    'Event events N ev',
    'LimitRange limitranges N limits',
    'Namespace namespaces C ns',
    'Node nodes C no',
    'PersistentVolume persistentvolumes C pv',
    'PersistentVolumeClaim persistentvolumeclaims N pvc',
    'Pod pods N po all',
    'ResourceQuota resourcequotas N quota',
    'Secret secrets N',
    'ServiceAccount serviceaccounts N sa',
    'Service services N svc all',
  ]],
  ['apps/v1', 'apps.v1', [
    'ControllerRevision controllerrevisions N',
    'DaemonSet daemonsets N ds all',
    'Deployment deployments N deploy all',
    'ReplicaSet replicasets N rs all',
    'StatefulSet statefulsets N sts all',
  ]],
  ['batch/v1', 'batch.v1', ['CronJob cronjobs N cj all', 'Job jobs N - all']],
  ['coordination.k8s.io/v1', 'coordination.v1', ['Lease leases N']],
  ['discovery.k8s.io/v1', 'discovery.v1', ['EndpointSlice endpointslices N']],
  ['events.k8s.io/v1', 'events.v1', ['Event events N ev']],
  [
    'networking.k8s.io/v1',
    'networking.v1',
    ['Ingress ingresses N ing', 'IngressClass ingressclasses C', 'NetworkPolicy networkpolicies N netpol'],
  ],
  ['policy/v1', 'policy.v1', ['PodDisruptionBudget poddisruptionbudgets N pdb']],
  ['rbac.authorization.k8s.io/v1', 'rbac.v1', [
    'ClusterRoleBinding clusterrolebindings C',
    'ClusterRole clusterroles C',
    'RoleBinding rolebindings N',
    'Role roles N',
  ]],
  ['scheduling.k8s.io/v1', 'scheduling.v1', ['PriorityClass priorityclasses C pc']],
  ['storage.k8s.io/v1', 'storage.v1', ['StorageClass storageclasses C sc']],
  ['admissionregistration.k8s.io/v1', 'admissionregistration.v1', [
    'MutatingWebhookConfiguration mutatingwebhookconfigurations C - api-extensions',
    'ValidatingWebhookConfiguration validatingwebhookconfigurations C - api-extensions',
  ]],
  ['apiextensions.k8s.io/v1', 'apiextensions.v1', [
    'CustomResourceDefinition customresourcedefinitions C crd,crds api-extensions',
  ]],
]

const SCALABLE: readonly string[] = ['deployments', 'replicasets', 'statefulsets']

const SCALE: ScalePaths = {
  specReplicas: ['spec', 'replicas'],
  statusReplicas: ['status', 'replicas'],
  selector: ['spec', 'selector'],
}

const DEFAULT_RULES: Rules = {
  nameRule: 'subdomain',
  generation: false,
  createOnUpdate: false,
  unconditionalUpdate: true,
}

/** The rules of kinds that differ from {@link DEFAULT_RULES}, by `plural.group`. */
const RULES: Readonly<Record<string, Partial<Rules>>> = {
  ...CORE_RULES,
  ...APPS_RULES,
  ...BATCH_RULES,
  ...OTHER_RULES,
  ...CRD_RULES,
  ...WEBHOOK_RULES,
}

/** Returns all built-in kinds. */
export function builtinKinds(): readonly Kind[] {
  return TABLE.flatMap(([groupVersion, prefix, rows]) => rows.map((row) => kindOf(parseRow(groupVersion, prefix, row))))
}

function parseRow(groupVersion: string, prefix: string, text: string): Row {
  const [kind, plural, scope, shortNames = '', categories = ''] = text.split(' ')
  const [group, version] = groupVersion.includes('/') ? groupVersion.split('/') as [string, string] : ['', groupVersion]
  return {
    group,
    version,
    kind: kind!,
    plural: plural!,
    definition: `${prefix}.${kind}`,
    namespaced: scope === 'N',
    shortNames: shortNames && shortNames !== '-' ? shortNames.split(',') : [],
    categories: categories ? categories.split(',') : [],
  }
}

function kindOf(row: Row): Kind {
  const schema = definition(row.definition)
  const id = row.group ? `${row.plural}.${row.group}` : row.plural
  // Both groups serve the same stored events.
  const storage = row.plural === 'events' ? { id: 'events', apiVersion: 'v1', kind: 'Event' } : {
    id,
    apiVersion: apiVersionOf(row),
    kind: row.kind,
  }
  return {
    ...row,
    schema,
    storage,
    singular: row.kind.toLowerCase(),
    listKind: `${row.kind}List`,
    status: fieldSchema(schema, 'status') !== undefined,
    scale: SCALABLE.includes(row.plural) ? SCALE : undefined,
    custom: false,
    rules: { ...DEFAULT_RULES, ...RULES[id] },
    columns: BUILTIN_COLUMNS[row.kind],
  }
}
