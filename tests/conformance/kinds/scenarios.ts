/** The scenarios of built-in kinds whose answers are recorded. */
import { type Body, type Case, MERGE } from '../api.ts'
import { collectionOf, type Sample, SAMPLES } from './objects.ts'
import { RULE_SAMPLES, type RuleSample } from './rules.ts'
import { casesOf, type Scenario, type Step } from './recorded.ts'

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io'

/** The groups that both servers serve, but for those of custom kinds. */
const GROUPS: readonly string[] = [
  'apiregistration.k8s.io/v1',
  'apps/v1',
  'events.k8s.io/v1',
  'authentication.k8s.io/v1',
  'authorization.k8s.io/v1',
  'autoscaling/v2',
  'autoscaling/v1',
  'batch/v1',
  'certificates.k8s.io/v1',
  'networking.k8s.io/v1',
  'policy/v1',
  'rbac.authorization.k8s.io/v1',
  'storage.k8s.io/v1',
  'admissionregistration.k8s.io/v1',
  'apiextensions.k8s.io/v1',
  'scheduling.k8s.io/v1',
  'coordination.k8s.io/v1',
  'node.k8s.io/v1',
  'discovery.k8s.io/v1',
  'resource.k8s.io/v1',
  'flowcontrol.apiserver.k8s.io/v1',
]

function discovery(): readonly Scenario[] {
  const get = (path: string, accept?: string): Step => ({ method: 'GET', path, ...(accept && { accept }) })
  return [
    ...GROUPS.map((version): Scenario => ({
      name: `discovery lists the kinds of ${version}`,
      steps: [get(`/apis/${version.split('/')[0]}`), get(`/apis/${version}`)],
    })),
  ]
}

/** The kinds that only components of a cluster write: their tables have no columns of their own. */
const PLAIN_TABLES =
  /podtemplates|controllerrevisions|servicecidrs|csi|volumeatt|resource\.k8s|flowcontrol|mutatingadmissionpolic/

/** Creates an object, writes its status, reads it as a table, and deletes it. */
function scenarioOf({ name, resource, object, status }: Sample): Scenario {
  const collection = collectionOf(resource)
  const own = resource.startsWith('/') ? '{ns}-o' : 'x'
  const path = `${collection}/${own}`
  return {
    name: `${name}: defaults, status and columns`,
    steps: [
      { method: 'POST', path: collection, body: { ...object, metadata: { ...object.metadata, name: own } } },
      ...(status ? [{ method: 'PATCH', path: `${path}/status`, type: MERGE, body: { status } } as const] : []),
      ...(PLAIN_TABLES.test(resource)
        ? []
        : [{ method: 'GET', path: `${path}?includeObject=None`, accept: TABLE } as const]),
      ...otherVersion(path),
      { method: 'DELETE', path, quiet: true },
    ],
    look: (body: Body) => (body.kind === 'Table' ? { columns: columnsOf(body), rows: body.rows } : withoutNotes(body)),
  }
}

/** Reads an autoscaler in its other version. */
function otherVersion(path: string): readonly Step[] {
  if (!path.includes('/autoscaling/')) return []
  const other = path.includes('/v1/') ? path.replace('/v1/', '/v2/') : path.replace('/v2/', '/v1/')
  return [{ method: 'GET', path: other }, { method: 'GET', path: `${other}?includeObject=None`, accept: TABLE }]
}

/** Leaves out the annotations of autoscaling/v1, whose form differs. */
function withoutNotes(body: Body): Body {
  for (const name of Object.keys(body.metadata?.annotations ?? {})) {
    if (name.startsWith('autoscaling.alpha.')) delete body.metadata.annotations[name]
  }
  return body
}

/** Returns the columns without their descriptions, and the age of an object without its value. */
function columnsOf({ columnDefinitions, rows }: Body): Body {
  for (const row of rows) {
    columnDefinitions.forEach(({ name }: Body, index: number) => {
      if (['Age', 'Created At', 'Duration', 'Last Seen', 'First Seen'].includes(name)) {
        row.cells[index] = String(row.cells[index]).replace(/^\d+[smhdy].*$/, 'AGE')
      }
    })
  }
  return columnDefinitions.map(({ name, type, format, priority }: Body) =>
    [name, type, format, priority].filter((each) => each !== '' && each !== 0).join(' ')
  )
}

/** Sends what a kind refuses. */
function rulesOf({ name, resource, object, creates = [], patches = [] }: RuleSample): Scenario {
  const collection = collectionOf(resource)
  const own = object?.metadata?.name ?? (resource.startsWith('/') ? '{ns}-o' : 'x')
  const named = (each: Body, metadata: Body = { name: own }): Body => ({
    ...each,
    metadata: { ...metadata, ...each.metadata },
  })
  const path = `${collection}/${own}`
  return {
    name: `rules of ${name}`,
    steps: [
      ...creates.map((each) => ({ method: 'POST', path: `${collection}?dryRun=All`, body: named(each) } as const)),
      ...(object
        ? [
          { method: 'POST', path: collection, body: named(object, { name: 'Bad_{ns}' }) } as const,
          { method: 'POST', path: collection, body: named(object) } as const,
          ...patches.map((body) => ({ method: 'PATCH', path, type: MERGE, body } as const)),
          { method: 'PUT', path, body: named(object) } as const,
          { method: 'PUT', path: `${path}0`, body: named(object, { name: `${own}0` }) } as const,
          { method: 'DELETE', path, quiet: true } as const,
        ]
        : []),
    ],
    look: ({ metadata }: Body) => ({ generation: metadata?.generation ?? 0 }),
  }
}

const LABELS = { app: 'web' }
const TEMPLATE = { metadata: { labels: LABELS }, spec: { containers: [{ name: 'a', image: 'a' }] } }

/** Reads and writes the scale of each kind of workload. */
const SCALES: readonly Scenario[] = [
  'v1/replicationcontrollers',
  'apps/v1/deployments',
  'apps/v1/replicasets',
  'apps/v1/statefulsets',
].map((resource): Scenario => {
  const path = `${collectionOf(resource)}/x`
  const selector = resource.startsWith('v1/') ? LABELS : { matchLabels: LABELS }
  return {
    name: `scale of ${resource}`,
    steps: [
      {
        method: 'POST',
        path: collectionOf(resource),
        body: { metadata: { name: 'x' }, spec: { replicas: 2, selector, template: TEMPLATE } },
        quiet: true,
      },
      { method: 'GET', path: `${path}/scale` },
      { method: 'PATCH', path: `${path}/scale`, type: MERGE, body: { spec: { replicas: 5 } } },
      { method: 'PATCH', path: `${path}/scale`, type: MERGE, body: { spec: { replicas: -1 } } },
      { method: 'GET', path },
    ],
  }
})

/** What is read back after a write through the other version, or after a change of type. */
const CHANGES: readonly Scenario[] = [
  {
    name: 'a service changes its type and back',
    steps: [
      {
        method: 'POST',
        path: '/api/v1/namespaces/{ns}/services',
        body: { metadata: { name: 'x' }, spec: { ports: [{ port: 80 }] } },
        quiet: true,
      },
      ...['NodePort', 'LoadBalancer', 'ClusterIP'].map((type): Step => ({
        method: 'PATCH',
        path: '/api/v1/namespaces/{ns}/services/x',
        type: MERGE,
        body: { spec: { type } },
      })),
      {
        method: 'PATCH',
        path: '/api/v1/namespaces/{ns}/services/x',
        type: MERGE,
        body: { spec: { type: 'ExternalName', externalName: 'example.com' } },
      },
      {
        method: 'PATCH',
        path: '/api/v1/namespaces/{ns}/services/x',
        type: MERGE,
        body: { spec: { type: 'ClusterIP', externalName: null } },
      },
    ],
  },
  {
    name: 'a pod has the priority of its class',
    steps: [
      {
        method: 'POST',
        path: '/api/v1/namespaces/{ns}/pods',
        body: {
          metadata: { name: 'x' },
          spec: { priorityClassName: 'system-node-critical', containers: [{ name: 'a', image: 'a' }] },
        },
      },
    ],
  },
]

/** What a kind does not do, and bodies that are no objects of it. */
const REFUSALS: Scenario = {
  name: 'verbs that a kind does not have, and broken objects',
  steps: [
    { method: 'DELETE', path: '/api/v1/namespaces' },
    { method: 'GET', path: '/api/v1/namespaces/{ns}/bindings' },
    { method: 'GET', path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews' },
    { method: 'PATCH', path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews/x', type: MERGE, body: {} },
    { method: 'POST', path: '/api/v1/componentstatuses', body: {} },
    { method: 'PUT', path: '/api/v1/namespaces/{ns}/pods/x/log', body: {} },
    { method: 'GET', path: '/api/v1/namespaces/{ns}/pods/x/nothing' },
    { method: 'GET', path: '/apis/apps/v1/namespaces/{ns}/deployments/x/eviction' },
    {
      method: 'POST',
      path: '/api/v1/namespaces/{ns}/pods',
      body: { metadata: { name: 'x' }, spec: { containers: 'x' } },
    },
    { method: 'POST', path: '/api/v1/namespaces/{ns}/pods', body: { metadata: { name: 'x' }, spec: null } },
    {
      method: 'POST',
      path: '/apis/certificates.k8s.io/v1/certificatesigningrequests',
      body: { metadata: { name: '{ns}' }, spec: { request: '!!', signerName: 'a.b/c', usages: ['any'] } },
    },
    {
      method: 'POST',
      path: '/apis/autoscaling/v1/namespaces/{ns}/horizontalpodautoscalers',
      body: {
        metadata: {
          name: 'x',
          annotations: {
            'autoscaling.alpha.kubernetes.io/metrics': '[{"type":"Resource"}, 5]',
            'autoscaling.alpha.kubernetes.io/behavior': '5',
            'autoscaling.alpha.kubernetes.io/conditions': '{',
          },
        },
        spec: { maxReplicas: 1, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' } },
      },
    },
  ],
}

export const KIND_CASES: readonly Case[] = casesOf([
  REFUSALS,
  ...SCALES,
  ...CHANGES,
  ...discovery(),
  ...SAMPLES.map(scenarioOf),
  ...RULE_SAMPLES.map(rulesOf),
])
