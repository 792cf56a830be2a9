/** Scripts of writes to kinds with rules of their own. The answers are recorded. */
import type { Body } from './api.ts'
import { cm, deploy, foo, type Script, script, type Step } from './transcript.ts'

const lease = (name: string, spec: unknown = {}, metadata: Record<string, unknown> = {}): Body => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name, ...metadata },
  spec,
})
const PODS = '/api/v1/namespaces/{ns}/pods'
const pod = (name: string, spec: Record<string, unknown> = {}): Body => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { containers: [{ name: 'main', image: 'nginx' }], ...spec },
})
const JOBS = '/apis/batch/v1/namespaces/{ns}/jobs'
const job = (name: string, spec: Record<string, unknown> = {}): Body => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name },
  spec: { template: { spec: { ...pod('').spec, restartPolicy: 'Never' } }, ...spec },
})
const jobPod = (spec: Record<string, unknown>): Body => ({ spec: { template: { spec } } })
const TERMS = [{ matchExpressions: [{ key: 'a', operator: 'Exists' }] }]
const NODE_AFFINITY = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: TERMS } }
const LABELS = { app: 'a' }
const TEMPLATED = { selector: { matchLabels: LABELS }, template: { metadata: { labels: LABELS }, spec: pod('').spec } }
const WORKLOADS = [
  ['deployments', 'Deployment', TEMPLATED],
  ['replicasets', 'ReplicaSet', TEMPLATED],
  ['statefulsets', 'StatefulSet', { ...TEMPLATED, serviceName: 'a' }],
  ['daemonsets', 'DaemonSet', TEMPLATED],
] as const
/** Changes of a status, each on top of those before that were accepted. */
const COUNTS: readonly Record<string, number>[] = [
  { availableReplicas: 2, readyReplicas: 2, updatedReplicas: 2, currentReplicas: 2, fullyLabeledReplicas: 2 },
  { replicas: 2, availableReplicas: 2 },
  { replicas: 2, availableReplicas: 1, readyReplicas: 2 },
  { replicas: -1 },
  { unavailableReplicas: 5, observedGeneration: -1, collisionCount: 1 },
  { unavailableReplicas: 5, numberReady: 3, desiredNumberScheduled: -2 },
  { numberReady: 3, numberAvailable: 4 },
]

export const KIND_SCRIPTS: readonly Script[] = [
  script('verbs: a PUT creates a Lease', [
    ['PUT leases/a ? metadata.name metadata.managedFields.length', lease('a', { holderIdentity: 'x' })],
    ['PUT leases/a', lease('a', { holderIdentity: 'y' })],
    ['PUT leases/b', lease('b', {}, { resourceVersion: '5' })],
    ['PUT leases/b', lease('b', {}, { uid: 'x' })],
    ['PUT leases/b', lease('c')],
    ['PUT leases/gone', lease('gone', {}, { uid: 'x' })],
    ['PUT leases/gone', lease('gone', {}, { uid: 'x', resourceVersion: '5' })],
    ['PUT cm/gone', cm('gone', {}, { uid: 'x' })],
    ['PUT foos/gone', foo('gone', { size: 1 }, { uid: 'x', resourceVersion: '5' })],
    ['PUT foos/gone/status', foo('gone', { size: 1 }, { uid: 'x' })],
    ['PUT leases/B', lease('B')],
    ['PUT leases/b?dryRun=All', lease('b')],
    'GET leases/b',
    ['MERGE leases/a ? spec', { spec: { leaseDurationSeconds: 15 } }],
    ['MERGE leases/a', { spec: { leaseDurationSeconds: 0 } }],
    ['MERGE leases/a', { spec: { renewTime: '2020-01-01T00:00:00Z' } }],
    ['MERGE leases/a', { spec: { leaseTransitions: -1 } }],
  ]),
  script('verbs: what may change of a pod and of a suspended Job', [
    [`POST ${PODS}`, pod('a', { nodeSelector: { a: 'b' } })],
    [`MERGE ${PODS}/a`, { spec: { nodeSelector: { a: 'c' } } }],
    [`MERGE ${PODS}/a`, { spec: { affinity: { nodeAffinity: NODE_AFFINITY } } }],
    [`MERGE ${PODS}/a`, { spec: { containers: [{ name: 'main', image: 'nginx' }, { name: 'more', image: 'nginx' }] } }],
    [`MERGE ${PODS}/a`, { spec: { initContainers: [{ name: 'more', image: 'nginx' }] } }],
    [`POST ${PODS}`, pod('gated', { schedulingGates: [{ name: 'x.io/gate' }] })],
    [`MERGE ${PODS}/gated ? spec.nodeSelector`, { spec: { nodeSelector: { a: 'c' } } }],
    [`MERGE ${PODS}/gated ? spec.affinity`, { spec: { affinity: { nodeAffinity: NODE_AFFINITY } } }],
    [`MERGE ${PODS}/gated`, { spec: { hostname: 'x' } }],
    [`POST ${JOBS}`, job('a', { suspend: true })],
    [`MERGE ${JOBS}/a ? spec.template.spec.nodeSelector`, jobPod({ nodeSelector: { a: 'b' } })],
    [`MERGE ${JOBS}/a ? spec.template.spec.tolerations`, jobPod({ tolerations: [{ key: 'k', operator: 'Exists' }] })],
    [`MERGE ${JOBS}/a ? spec.template.spec.affinity`, jobPod({ affinity: { nodeAffinity: NODE_AFFINITY } })],
    [`MERGE ${JOBS}/a ? spec.template.spec.affinity`, jobPod({ affinity: null })],
    [`MERGE ${JOBS}/a ? spec.template.metadata.labels`, {
      spec: { template: { metadata: { labels: { more: 'x' } } } },
    }],
    [
      `MERGE ${JOBS}/a`,
      jobPod({ containers: [{ name: 'main', image: 'nginx', resources: { limits: { cpu: '1' } } }] }),
    ],
    `DELETE ${JOBS}/a ? metadata.finalizers`,
    [`POST ${JOBS}`, job('b')],
    [`MERGE ${JOBS}/b`, jobPod({ nodeSelector: { a: 'b' } })],
    [`DELETE ${JOBS}/b ? metadata.finalizers`, { gracePeriodSeconds: 0 }],
  ]),
  ...WORKLOADS.map(([plural, kind, spec]) =>
    script(`verbs: the counts of the status of ${plural}`, [
      [`POST /apis/apps/v1/namespaces/{ns}/${plural}`, { apiVersion: 'apps/v1', kind, metadata: { name: 'a' }, spec }],
      ...COUNTS.map((status): Step => [`MERGE /apis/apps/v1/namespaces/{ns}/${plural}/a/status`, { status }]),
    ])
  ),
  script('verbs: a namespace in deletion refuses new objects', [
    ['POST foos', foo('held', { size: 1 }, { finalizers: ['x.io/a'] })],
    'DELETE ns ? status.phase metadata.deletionGracePeriodSeconds spec.finalizers',
    ['POST cm', cm('a')],
    ['POST cm?dryRun=All', cm('a')],
    ['POST cm', cm('A')],
    ['POST foos', foo('a')],
    ['POST foos', { ...foo(''), metadata: { generateName: 'gen-' } }],
    ['APPLY cm/a?fieldManager=m', cm('a')],
    ['PUT leases/a', lease('a')],
    ['POST cm', { ...cm('a'), data: 5 }],
    ['MERGE foos/held ? spec.size', { spec: { size: 5 } }],
    ['MERGE ns ? metadata.labels.x status.phase', { metadata: { labels: { x: 'y' } } }],
    'DELETE ns ? status.phase',
  ]),
  script('verbs: numbers at their limits', [
    ['POST deploy ? spec.replicas', deploy('a', { replicas: 2147483647 })],
    ['POST deploy', deploy('b', { replicas: 2147483648 })],
    ['POST deploy', deploy('b', { replicas: -2147483648 })],
    ['POST foos', foo('a', { size: 11 })],
    ['POST foos', foo('a', { size: -1 })],
    ['MERGE deploy/a/scale ? spec', { spec: { replicas: 0 } }],
    ['MERGE deploy/a/scale', { spec: { replicas: 2147483648 } }],
    ['MERGE deploy/a', { metadata: { generation: -1 } }],
    ['MERGE deploy/a', { metadata: { generation: 1.5 } }],
  ]),
  script('verbs: grace periods of Pods', [
    [`POST ${PODS} ? metadata.generation spec.terminationGracePeriodSeconds`, pod('a')],
    `DELETE ${PODS}/a ? metadata.deletionGracePeriodSeconds kind status`,
    `GET ${PODS}/a`,
    [`POST ${PODS} ? metadata.name`, pod('b', { nodeName: 'n' })],
    `DELETE ${PODS}/b?dryRun=All ? metadata.deletionGracePeriodSeconds`,
    `DELETE ${PODS}/b ? metadata.deletionGracePeriodSeconds metadata.generation`,
    [`DELETE ${PODS}/b ? metadata.deletionGracePeriodSeconds metadata.generation`, { gracePeriodSeconds: 60 }],
    [`DELETE ${PODS}/b ? metadata.deletionGracePeriodSeconds metadata.generation`, { gracePeriodSeconds: 5 }],
    [`MERGE ${PODS}/b ? metadata.labels`, { metadata: { labels: { x: 'y' } } }],
    [`DELETE ${PODS}/b ? metadata.deletionGracePeriodSeconds metadata.name`, { gracePeriodSeconds: 0 }],
    `GET ${PODS}/b`,
    [`POST ${PODS} ? metadata.name`, pod('c', { nodeName: 'n' })],
    [`DELETE ${PODS}/c ? metadata.deletionGracePeriodSeconds metadata.finalizers`, {
      propagationPolicy: 'Foreground',
      gracePeriodSeconds: 1,
    }],
    [`DELETE ${PODS}/c ? metadata.deletionGracePeriodSeconds metadata.finalizers`, { gracePeriodSeconds: 0 }],
    `DELETE ${PODS} ? items.length`,
  ]),
]
