/** The scenarios of built-in kinds whose answers are recorded. */
import type { Body, Case } from '../api.ts'
import { casesOf, type Script, type Step } from '../transcript.ts'
import { comparable } from './comparable.ts'
import { collectionOf, type Sample, SAMPLES } from './objects.ts'
import { RULE_SAMPLES, type RuleSample } from './rules.ts'

const TABLE = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }

/** Returns a script whose answers are compared as a whole, but for the steps that show nothing (`? -`). */
const whole = (name: string, steps: readonly Step[], look: (body: Body) => Body = (body) => body): Script => ({
  name,
  steps: steps.map((step) => {
    const [line, body, options]: readonly [string, Step[1]?, object?] = typeof step === 'string' ? [step] : step
    return [line.includes(' ? ') ? line : `${line} ? .`, body, { look: (body) => comparable(look(body)), ...options }]
  }),
})

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

const DISCOVERY = GROUPS.map((version) =>
  whole(`discovery lists the kinds of ${version}`, [`GET /apis/${version.split('/')[0]}`, `GET /apis/${version}`])
)

/** The kinds that only components of a cluster write: their tables have no columns of their own. */
const PLAIN_TABLES =
  /podtemplates|controllerrevisions|servicecidrs|csi|volumeatt|resource\.k8s|flowcontrol|mutatingadmissionpolic/

/** Creates an object, writes its status, reads it as a table, and deletes it. */
function scenarioOf({ name, resource, object, status }: Sample): Script {
  const collection = collectionOf(resource)
  const own = resource.startsWith('/') ? '{ns}-o' : 'x'
  const path = `${collection}/${own}`
  const table = (of: string): Step => [`GET ${of}?includeObject=None`, undefined, TABLE]
  const steps: Step[] = [[`POST ${collection}`, { ...object, metadata: { ...object.metadata, name: own } }]]
  if (status) steps.push([`MERGE ${path}/status`, { status }])
  if (!PLAIN_TABLES.test(resource)) steps.push(table(path))
  if (path.includes('/autoscaling/')) {
    const other = path.includes('/v1/') ? path.replace('/v1/', '/v2/') : path.replace('/v2/', '/v1/')
    steps.push(`GET ${other}`, table(other))
  }
  return whole(
    `${name}: defaults, status and columns`,
    [...steps, `DELETE ${path} ? -`],
    (body) => body.kind === 'Table' ? { columns: columnsOf(body), rows: body.rows } : withoutNotes(body),
  )
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
function rulesOf({ name, resource, object, creates = [], patches = [] }: RuleSample): Script {
  const collection = collectionOf(resource)
  const own = object?.metadata?.name ?? (resource.startsWith('/') ? '{ns}-o' : 'x')
  const named = (each: Body, name = own): Body => ({ ...each, metadata: { name, ...each.metadata } })
  const path = `${collection}/${own}`
  return whole(`rules of ${name}`, [
    ...creates.map((each): Step => [`POST ${collection}?dryRun=All`, named(each)]),
    ...(object
      ? [
        [`POST ${collection}`, named(object, 'Bad_{ns}')],
        [`POST ${collection}`, named(object)],
        ...patches.map((body): Step => [`MERGE ${path}`, body]),
        [`PUT ${path}`, named(object)],
        [`PUT ${path}0`, named(object, `${own}0`)],
        `DELETE ${path} ? -`,
      ] satisfies Step[]
      : []),
  ], ({ metadata }) => ({ generation: metadata?.generation ?? 0 }))
}

const LABELS = { app: 'web' }
const TEMPLATE = { metadata: { labels: LABELS }, spec: { containers: [{ name: 'a', image: 'a' }] } }

/** Reads and writes the scale of each kind of workload. */
const SCALES = [
  'v1/replicationcontrollers',
  'apps/v1/deployments',
  'apps/v1/replicasets',
  'apps/v1/statefulsets',
].map((resource) => {
  const path = `${collectionOf(resource)}/x`
  const selector = resource.startsWith('v1/') ? LABELS : { matchLabels: LABELS }
  return whole(`scale of ${resource}`, [
    [`POST ${collectionOf(resource)} ? -`, {
      metadata: { name: 'x' },
      spec: { replicas: 2, selector, template: TEMPLATE },
    }],
    `GET ${path}/scale`,
    [`MERGE ${path}/scale`, { spec: { replicas: 5 } }],
    [`MERGE ${path}/scale`, { spec: { replicas: -1 } }],
    `GET ${path}`,
  ])
})

/** What is read back after a write through the other version, or after a change of type. */
const CHANGES = [
  whole('a service changes its type and back', [
    ['POST ns/services ? -', { metadata: { name: 'x' }, spec: { ports: [{ port: 80 }] } }],
    ...[
      { type: 'NodePort' },
      { type: 'LoadBalancer' },
      { type: 'ClusterIP' },
      { type: 'ExternalName', externalName: 'example.com' },
      { type: 'ClusterIP', externalName: null },
    ].map((spec): Step => ['MERGE ns/services/x', { spec }]),
  ]),
  whole('a service has a port for each protocol', [
    ...['UDP', 'TCP'].map((protocol): Step => [`POST ns/services ? spec.ports`, {
      metadata: { name: protocol.toLowerCase() },
      spec: { ports: [{ name: 'a', port: 53 }, { name: 'b', port: 53, protocol }] },
    }]),
    ['POST ns/services ? -', {
      metadata: { name: 'x' },
      spec: {
        type: 'NodePort',
        ports: [{ name: 'a', port: 53, nodePort: 31853 }, { name: 'b', port: 53, protocol: 'UDP', nodePort: 31854 }],
      },
    }],
    ['PUT ns/services/x ? spec.ports', {
      metadata: { name: 'x' },
      spec: { type: 'NodePort', ports: [{ name: 'b', port: 53, protocol: 'UDP' }, { name: 'a', port: 53 }] },
    }],
  ]),
  whole('a pod has the priority of its class', [
    ['POST ns/pods', {
      metadata: { name: 'x' },
      spec: { priorityClassName: 'system-node-critical', containers: [{ name: 'a', image: 'a' }] },
    }],
  ]),
]

/** What a kind does not do, and bodies that are no objects of it. */
const REFUSALS = whole('verbs that a kind does not have, and broken objects', [
  'DELETE /api/v1/namespaces',
  'GET ns/bindings',
  'GET /apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
  ['MERGE /apis/authorization.k8s.io/v1/selfsubjectaccessreviews/x', {}],
  ['POST /api/v1/componentstatuses', {}],
  ['PUT ns/pods/x/log', {}],
  'GET ns/pods/x/nothing',
  'GET deploy/x/eviction',
  ['POST ns/pods', { metadata: { name: 'x' }, spec: { containers: 'x' } }],
  ['POST ns/pods', { metadata: { name: 'x' }, spec: null }],
  ['POST /apis/certificates.k8s.io/v1/certificatesigningrequests', {
    metadata: { name: '{ns}' },
    spec: { request: '!!', signerName: 'a.b/c', usages: ['any'] },
  }],
  ['POST /apis/autoscaling/v1/namespaces/{ns}/horizontalpodautoscalers', {
    metadata: {
      name: 'x',
      annotations: {
        'autoscaling.alpha.kubernetes.io/metrics': '[{"type":"Resource"}, 5]',
        'autoscaling.alpha.kubernetes.io/behavior': '5',
        'autoscaling.alpha.kubernetes.io/conditions': '{',
      },
    },
    spec: { maxReplicas: 1, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' } },
  }],
])

export const KIND_CASES: readonly Case[] = casesOf('kinds', [
  REFUSALS,
  ...SCALES,
  ...CHANGES,
  ...DISCOVERY,
  ...SAMPLES.map(scenarioOf),
  ...RULE_SAMPLES.map(rulesOf),
])
