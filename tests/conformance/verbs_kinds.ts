/** Scripts of writes to kinds with rules of their own. The answers are recorded. */
import type { Body } from './api.ts'
import { cm, deploy, foo, type Script } from './transcript.ts'

const lease = (name: string, spec: unknown = {}, metadata: Record<string, unknown> = {}): Body => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name, ...metadata },
  spec,
})
const secret = (name: string, rest: Record<string, unknown> = {}): Body => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name },
  ...rest,
})
const SECRETS = '/api/v1/namespaces/{ns}/secrets'
const PODS = '/api/v1/namespaces/{ns}/pods'
const pod = (name: string, spec: Record<string, unknown> = {}): Body => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { containers: [{ name: 'main', image: 'nginx' }], ...spec },
})

export const KIND_SCRIPTS: readonly Script[] = [
  {
    name: 'verbs: a PUT creates a Lease',
    steps: [
      ['PUT leases/a ? metadata.name metadata.managedFields.length', lease('a', { holderIdentity: 'x' })],
      ['PUT leases/a', lease('a', { holderIdentity: 'y' })],
      ['PUT leases/b', lease('b', {}, { resourceVersion: '5' })],
      ['PUT leases/b', lease('b', {}, { uid: 'x' })],
      ['PUT leases/b', lease('c')],
      ['PUT leases/B', lease('B')],
      ['PUT leases/b?dryRun=All', lease('b')],
      'GET leases/b',
      ['MERGE leases/a ? spec', { spec: { leaseDurationSeconds: 15 } }],
      ['MERGE leases/a', { spec: { leaseDurationSeconds: 0 } }],
      ['MERGE leases/a', { spec: { renewTime: '2020-01-01T00:00:00Z' } }],
      ['MERGE leases/a', { spec: { leaseTransitions: -1 } }],
    ],
  },
  {
    name: 'verbs: data, types and immutability of Secrets',
    steps: [
      [`POST ${SECRETS} ? data type stringData`, secret('a', { data: { k: 'eA==' }, stringData: { l: 'y', k: 'z' } })],
      [`POST ${SECRETS}`, secret('b', { data: { k: 'x' } })],
      [`POST ${SECRETS}`, secret('b', { data: { 'a b': 'eA==' } })],
      [`MERGE ${SECRETS}/a`, { type: 'other' }],
      [`MERGE ${SECRETS}/a ? immutable`, { immutable: true }],
      [`MERGE ${SECRETS}/a`, { data: { k: 'eQ==' } }],
      [`MERGE ${SECRETS}/a`, { immutable: false }],
      [`MERGE ${SECRETS}/a ? metadata.labels`, { metadata: { labels: { a: 'b' } } }],
      `DELETE ${SECRETS}/a`,
    ],
  },
  {
    name: 'verbs: an immutable ConfigMap',
    steps: [
      ['POST cm', { ...cm('a'), immutable: true }],
      ['MERGE cm/a', { data: { k: 'w' }, binaryData: { b: 'eA==' } }],
      ['MERGE cm/a', { immutable: null }],
      ['MERGE cm/a ? metadata.annotations', { metadata: { annotations: { a: 'b' } } }],
      ['POST cm', { ...cm('b', { k: 'v' }), binaryData: { k: 'eA==' } }],
      ['POST cm', cm('b', { '': 'v' })],
      ['POST cm', cm('b', { '..': 'v' })],
      ['POST cm', cm('b', { ['k'.repeat(254)]: 'v' })],
    ],
  },
  {
    name: 'verbs: grace periods of Pods',
    steps: [
      [`POST ${PODS} ? metadata.generation spec.terminationGracePeriodSeconds`, pod('a')],
      `DELETE ${PODS}/a ? metadata.deletionGracePeriodSeconds kind status`,
      `GET ${PODS}/a`,
      [`POST ${PODS} ? metadata.name`, pod('b', { nodeName: 'n' })],
      `DELETE ${PODS}/b?dryRun=All ? metadata.deletionGracePeriodSeconds`,
      `DELETE ${PODS}/b ? metadata.deletionGracePeriodSeconds metadata.generation`,
      [`DELETE ${PODS}/b ? metadata.deletionGracePeriodSeconds metadata.generation`, { gracePeriodSeconds: 60 }],
      [`DELETE ${PODS}/b ? metadata.deletionGracePeriodSeconds metadata.generation`, { gracePeriodSeconds: 5 }],
      [`DELETE ${PODS}/b ? metadata.deletionGracePeriodSeconds metadata.name`, { gracePeriodSeconds: 0 }],
      `GET ${PODS}/b`,
      [`POST ${PODS} ? metadata.name`, pod('c', { nodeName: 'n' })],
      [`DELETE ${PODS}/c ? metadata.deletionGracePeriodSeconds metadata.finalizers`, {
        propagationPolicy: 'Foreground',
        gracePeriodSeconds: 1,
      }],
      [`DELETE ${PODS}/c ? metadata.deletionGracePeriodSeconds metadata.finalizers`, { gracePeriodSeconds: 0 }],
      `DELETE ${PODS} ? items.length`,
    ],
  },
  {
    name: 'verbs: a namespace in deletion refuses new objects',
    steps: [
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
    ],
  },
  {
    name: 'verbs: writes of another version of a custom kind',
    steps: [
      ['POST foos2 ? apiVersion spec', { ...foo('a', { size: 1, any: 'thing' }), apiVersion: '{group}/v2' }],
      'GET foos/a ? apiVersion spec',
      'GET foos2/a ? apiVersion spec',
      ['MERGE foos2/a ? apiVersion spec.size metadata.generation', { spec: { size: 2 } }],
      ['POST foos2', foo('b')],
      'GET foos2 ? kind apiVersion items.0.apiVersion',
    ],
  },
  {
    name: 'verbs: numbers at their limits',
    steps: [
      ['POST deploy ? spec.replicas', deploy('a', { replicas: 2147483647 })],
      ['POST deploy', deploy('b', { replicas: 2147483648 })],
      ['POST deploy', deploy('b', { replicas: -2147483648 })],
      ['POST foos', foo('a', { size: 11 })],
      ['POST foos', foo('a', { size: -1 })],
      ['MERGE deploy/a/scale ? spec', { spec: { replicas: 0 } }],
      ['MERGE deploy/a/scale', { spec: { replicas: 2147483648 } }],
      ['MERGE deploy/a', { metadata: { generation: -1 } }],
      ['MERGE deploy/a', { metadata: { generation: 1.5 } }],
    ],
  },
  {
    name: 'verbs: texts that are no ASCII',
    steps: [
      ['POST cm ? data metadata.annotations', cm('a', { k: 'é ☃ 😀 \u0000' }, { annotations: { a: 'ü\n\t' } })],
      ['POST cm', cm('é')],
      ['POST cm', cm('b', {}, { labels: { a: 'é' } })],
      ['POST foos', foo('a', { size: 1, name: 'é😀' })],
      ['POST foos ? spec.labels', foo('b', { size: 1, labels: { 'é ☃': '😀', '': 'x', 'a.b/c': 'd' } })],
      ['JSON foos/b ? spec.labels', [{ op: 'replace', path: '/spec/labels/é ☃', value: 'y' }]],
    ],
  },
  {
    name: 'verbs: names in paths that no object can have',
    steps: [
      'GET cm/A',
      'GET cm/a%20b',
      'GET foos/a_b',
      'DELETE cm/A',
      ['MERGE cm/A', {}],
      ['PUT cm/A', cm('A')],
      ['APPLY foos/A?fieldManager=m', foo('A')],
      'GET /api/v1/namespaces/A/configmaps',
    ],
  },
  {
    name: 'verbs: conflicts and repeated writes',
    steps: [
      ['POST foos', foo('a')],
      ['POST foos', foo('a')],
      ['POST foos?dryRun=All', foo('a')],
      ['PUT foos/a', (answers: readonly Body[]) => ({ ...answers[0], spec: { size: 2 } })],
      ['PUT foos/a', (answers: readonly Body[]) => ({ ...answers[0], spec: { size: 2 } })],
      ['PUT foos/a/status', (answers: readonly Body[]) => ({ ...answers[0], status: { ready: 2 } })],
      ['MERGE foos/a', (answers: readonly Body[]) => ({
        metadata: { resourceVersion: answers[0].metadata.resourceVersion },
      })],
      ['MERGE foos/a', (answers: readonly Body[]) => ({
        metadata: { resourceVersion: answers[3].metadata.resourceVersion, uid: answers[0].metadata.uid },
        spec: { size: 3 },
      })],
      ['DELETE foos/a', (answers: readonly Body[]) => ({
        preconditions: { resourceVersion: answers[0].metadata.resourceVersion },
      })],
      ['PUT foos/a/scale', { metadata: { name: 'a', resourceVersion: '1' }, spec: { replicas: 1 } }],
    ],
  },
]
