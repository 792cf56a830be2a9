/** Cases of values that are rare, and of rules that only some writes meet. */
import type { Body, Case } from './api.ts'
import { casesOf, foo, type Script, script, type Step } from './transcript.ts'

const CONTAINER = { name: 'main', image: 'nginx:1' }
const metadata = { name: 'x' }

const pod = (spec: object, name = 'x'): Body => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { containers: [CONTAINER], ...spec },
})
const creates = (kind: string, bodies: readonly unknown[], picks = ''): Step[] =>
  bodies.map((body): Step => [`POST ${kind}?dryRun=All${picks}`, body])

const PODS = '/api/v1/namespaces/{ns}/pods'
const SERVICES = '/api/v1/namespaces/{ns}/services'
const EVENTS = '/apis/events.k8s.io/v1/namespaces/{ns}/events'
const PORT = [{ port: 80 }]

const event: Body = {
  apiVersion: 'events.k8s.io/v1',
  kind: 'Event',
  metadata,
  eventTime: '2026-01-01T00:00:00.000000Z',
  type: 'Normal',
  reason: 'Seen',
  action: 'See',
  note: 'a note',
  reportingController: 'example.com/seer',
  reportingInstance: 'seer-0',
  regarding: { apiVersion: 'v1', kind: 'Pod', namespace: '{ns}', name: 'p' },
}

const owner = (uid: string, more: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name: 'o',
  uid,
  ...more,
})
const owned = (owners: readonly object[]): Body => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'owned', ownerReferences: owners },
})

/** Creates the ReplicaSet x, as the manager c. */
const CREATE_SET: Step = ['POST /apis/apps/v1/namespaces/{ns}/replicasets?fieldManager=c ? metadata.name', {
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  metadata,
  spec: {
    replicas: 1,
    selector: { matchLabels: { a: 'b' } },
    template: { metadata: { labels: { a: 'b' } }, spec: { containers: [CONTAINER] } },
  },
}]

const REPLICAS = 'GET /apis/apps/v1/namespaces/{ns}/replicasets/x ? spec.replicas metadata.managedFields'

function applyScale(manager: string, spec: object, more: string): Step {
  return [`APPLY /apis/apps/v1/namespaces/{ns}/replicasets/x/scale?fieldManager=${manager}${more}`, {
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    metadata,
    spec,
  }]
}

const CASES: readonly Script[] = [
  script('an object beyond the limit of etcd is refused', [
    ['POST foos', foo('big', { size: 1, free: { a: 'a'.repeat(1_600_000) } })],
    ['POST foos ? metadata.name', foo('small', { size: 1 })],
    ['MERGE foos/small ? metadata.name', { metadata: { annotations: { a: 'a'.repeat(200_000) } } }],
    ['MERGE foos/small', { spec: { free: { a: 'a'.repeat(1_600_000) } } }],
  ]),
  script('an Event of events.k8s.io is selected by its fields', [
    [`POST ${EVENTS} ? reason`, event],
    ...[
      'reason=Seen',
      'type=Normal',
      'type=Warning',
      'regarding.name=p',
      'regarding.kind=Pod',
      'reportingController=example.com/seer',
      'involvedObject.name=p',
      'source=x',
      'note=a',
    ]
      .map((each): Step => `GET ${EVENTS}?fieldSelector=${each} ? items.0.metadata.name`),
    ...[
      { series: { count: 2, lastObservedTime: '2026-01-01T00:00:01.000000Z' } },
      { metadata: { labels: { a: 'b' } } },
    ]
      .map((change): Step => [`MERGE ${EVENTS}/x`, change]),
    ['MERGE /api/v1/namespaces/{ns}/events/x ? message', { message: 'other' }],
  ]),
  script('a Service that is no load balancer any more loses its addresses', [
    [`POST ${SERVICES} ? spec.type`, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: { type: 'LoadBalancer', ports: PORT },
    }],
    [`MERGE ${SERVICES}/x/status ? status`, { status: { loadBalancer: { ingress: [{ ip: '1.2.3.4' }] } } }],
    [`MERGE ${SERVICES}/x ? status`, { spec: { type: 'ClusterIP' } }],
    [`MERGE ${SERVICES}/x ? spec.sessionAffinityConfig`, { spec: { sessionAffinity: 'ClientIP' } }],
    [`MERGE ${SERVICES}/x ? spec.sessionAffinityConfig`, { spec: { sessionAffinity: 'None' } }],
  ]),
  {
    name: 'owner references of one uid are one, with a warning',
    steps: creates('cm', [
      owned([owner('a'), owner('a')]),
      owned([owner('a'), owner('b'), owner('a', { controller: true })]),
      owned([owner('a'), owner('a', { name: 'other' })]),
      owned([owner('a', { controller: true }), owner('b', { controller: true })]),
      owned([owner('')]),
      ...['a/b/c', 'a/', '/', '/v1'].map((apiVersion) => owned([owner('a', { apiVersion })])),
    ], ' ? metadata.ownerReferences').concat([
      ['POST cm ? metadata.ownerReferences', owned([owner('a')])],
      ['MERGE cm/owned ? metadata.ownerReferences', {
        metadata: { ownerReferences: [owner('a'), owner('b'), owner('b')] },
      }],
    ]),
  },
  {
    name: 'integers of a custom object may end with .0, and are in the range of int64',
    steps: ['2.0', '2.5', '1e2', '1e400', '9223372036854775807', '1e19']
      .map((size): Step => [
        'POST foos?dryRun=All',
        `{"apiVersion":"{group}/v1","kind":"Foo","metadata":{"name":"x"},"spec":{"size":1,"parts":[{"name":"a","value":${size}}]}}`,
      ]),
  },
  {
    name: 'quantities have no blanks, and a null one is left out',
    steps: [' 1', '1 ', '1 Gi', '', null, 1, 1.5, '1e3', '0.5m', '1E'].map((cpu): Step => [
      `POST ${PODS}?dryRun=All ? spec.containers.0.resources`,
      pod({ containers: [{ ...CONTAINER, resources: { requests: { cpu } } }] }),
    ]),
  },
  script('the phase of a Namespace follows its deletion', [
    ['POST /api/v1/namespaces?dryRun=All ? status', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: '{ns}-phase' },
      status: { phase: 'Terminating' },
    }],
    ['PUT /api/v1/namespaces/{ns}/finalize?dryRun=All&fieldManager=m ? spec', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: '{ns}' },
      spec: { finalizers: ['kubernetes', 'example.com/own'] },
    }],
  ]),
  script('the finalize subresource has a manager of its own', [
    ['POST /api/v1/namespaces?fieldManager=m ? spec', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: '{ns}-managed' },
    }],
    ['PUT /api/v1/namespaces/{ns}-managed/finalize?fieldManager=f ? metadata.managedFields metadata.annotations', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: '{ns}-managed', annotations: { a: 'b' } },
      spec: { finalizers: ['kubernetes', 'example.com/own'] },
    }],
    ['PUT /api/v1/namespaces/{ns}-managed/finalize?fieldManager=f ? metadata.managedFields', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: '{ns}-managed' },
      spec: { finalizers: [] },
    }],
    ['PUT /api/v1/namespaces/{ns}-managed/finalize', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: '{ns}-managed', resourceVersion: '1' },
    }],
  ]),
  script('a negative grace period is one second, and it can only change to that', [
    [`POST ${PODS} ? spec.terminationGracePeriodSeconds`, pod({ terminationGracePeriodSeconds: -1 })],
    [`POST ${PODS} ? spec.terminationGracePeriodSeconds`, pod({ terminationGracePeriodSeconds: 5 }, 'y')],
    [`MERGE ${PODS}/y ? spec`, { spec: { terminationGracePeriodSeconds: 6 } }],
  ]),
  script('a written status of a pod keeps its class, and its conditions have qualified types', [
    [`POST ${PODS} ? status`, pod({})],
    [`PUT ${PODS}/x/status ? status`, { ...pod({}), status: { phase: 'Running' } }],
    [`MERGE ${PODS}/x/status ? status`, { status: { conditions: [{ type: 'example.com/a', status: 'True' }] } }],
  ]),
  script('an applied scale has managers as the replicas of its object', [
    CREATE_SET,
    applyScale('s', { replicas: 2 }, ''),
    applyScale('s', { replicas: 2 }, '&force=true ? spec'),
    REPLICAS,
    applyScale('other', { replicas: 2 }, ' ? spec'),
    REPLICAS,
    applyScale('s', {}, ' ? spec'),
    REPLICAS,
    applyScale('other', { replicas: 3 }, '&dryRun=All ? spec'),
    ['APPLY /apis/apps/v1/namespaces/{ns}/replicasets/x?fieldManager=u ? spec.replicas', {
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      metadata,
      spec: { replicas: 2 },
    }],
    applyScale('u', { replicas: 2 }, ' ? spec'),
    REPLICAS,
    ['MERGE /apis/apps/v1/namespaces/{ns}/replicasets/x/scale?fieldManager=t ? spec', { spec: { replicas: 4 } }],
    applyScale('t', { replicas: 4 }, ' ? spec'),
    REPLICAS,
    ['APPLY /apis/apps/v1/namespaces/{ns}/replicasets/x/scale', { apiVersion: 'autoscaling/v1', kind: 'Scale' }],
    ['APPLY /apis/apps/v1/namespaces/{ns}/replicasets/x/scale?fieldManager=s', {
      apiVersion: 'apps/v1',
      kind: 'Scale',
      metadata,
    }],
  ]),
  script('a scale is read as metadata, and checked as any other object', [
    CREATE_SET,
    ['GET /apis/apps/v1/namespaces/{ns}/replicasets/x/scale ? kind', undefined, {
      accept: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
    }],
    ['PUT /apis/apps/v1/namespaces/{ns}/replicasets/x/scale', {
      apiVersion: 'autoscaling/v1',
      kind: 'Scale',
      metadata: { name: 'x', uid: 'other' },
      spec: { replicas: 2 },
    }],
    ['PUT /apis/apps/v1/namespaces/{ns}/replicasets/x/scale', {
      apiVersion: 'autoscaling/v2',
      kind: 'Scale',
      metadata,
      spec: { replicas: 2 },
    }],
    ['PUT /apis/apps/v1/namespaces/{ns}/replicasets/x/scale?fieldValidation=Strict', {
      apiVersion: 'autoscaling/v1',
      kind: 'Scale',
      metadata,
      spec: { replicas: 2, unknown: 1 },
    }],
  ]),
]

export const ODD_CASES: readonly Case[] = casesOf('odd_values', CASES)
