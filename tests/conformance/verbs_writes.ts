/** Scripts of creates and updates. The answers are recorded. */
import type { Body } from './api.ts'
import { cm, deploy, foo, type Script, type StepBody } from './transcript.ts'

const edited = (change: (object: Body) => unknown, index = -1): StepBody => (answers: readonly Body[]) => {
  const object = structuredClone(answers.at(index))
  change(object)
  return object
}

export const WRITE_SCRIPTS: readonly Script[] = [
  {
    name: 'verbs: names that a create refuses',
    steps: [
      ['POST cm', cm('UPPER')],
      ['POST cm', cm('a/b')],
      ['POST cm', cm('-a')],
      ['POST cm', cm('x'.repeat(65) + '.'.repeat(190))],
      ['POST cm', cm('')],
      ['POST cm', { apiVersion: 'v1', kind: 'ConfigMap' }],
      ['POST foos', foo('a_b')],
      ['POST foos', foo('')],
      ['POST foos', { apiVersion: '{group}/v1', kind: 'Foo', spec: { size: 1 } }],
      ['POST /api/v1/namespaces', { metadata: { name: 'a.b' } }],
      ['POST /api/v1/namespaces', { metadata: { name: 'x'.repeat(64) } }],
      ['POST /api/v1/namespaces/{ns}/services', { metadata: { name: '1a' }, spec: { ports: [{ port: 1 }] } }],
      ['POST /apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles ? metadata.name', { metadata: { name: 'a:B' } }],
      ['POST /apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles', { metadata: { name: 'a/b' } }],
      ['POST /apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles', { metadata: { name: '..' } }],
      ['POST deploy', deploy('A')],
    ],
  },
  {
    name: 'verbs: generateName',
    steps: [
      ['POST cm ? metadata.generateName data', { metadata: { generateName: 'gen-' }, data: { a: 'b' } }],
      ['POST cm ? metadata.name metadata.generateName', { metadata: { name: 'n', generateName: 'gen-' } }],
      ['POST cm', { metadata: { name: 'n', generateName: 'gen-' } }],
      ['POST cm', { metadata: { generateName: 'Gen-' } }],
      ['POST cm', { metadata: { generateName: 'gen_' } }],
      ['POST foos', { ...foo(''), metadata: { generateName: 'GEN' } }],
      ['POST foos ? spec.size', { ...foo(''), metadata: { generateName: 'gen.' } }],
      ['POST cm?dryRun=All ? metadata.generateName', { metadata: { generateName: 'gen-' } }],
    ],
  },
  {
    name: 'verbs: fields that only the server sets, in a create',
    steps: [
      [
        'POST cm ? metadata.uid metadata.generation metadata.selfLink metadata.deletionTimestamp metadata.managedFields.length',
        cm('a', {}, {
          uid: 'mine',
          generation: 7,
          selfLink: '/x',
          creationTimestamp: '2001-01-01T00:00:00Z',
          deletionTimestamp: '2001-01-01T00:00:00Z',
          deletionGracePeriodSeconds: 5,
        }),
      ],
      ['POST foos ? metadata.generation metadata.deletionTimestamp status', {
        ...foo('a', { size: 1 }, { generation: 7, deletionTimestamp: '2001-01-01T00:00:00Z' }),
        status: { ready: 1 },
      }],
      ['POST deploy ? metadata.generation status', { ...deploy('a'), status: { replicas: 3 } }],
      ['POST cm', cm('b', {}, { resourceVersion: '5' })],
      ['POST foos', foo('b', { size: 1 }, { resourceVersion: '5' })],
      ['POST cm', cm('b', {}, { resourceVersion: 'abc' })],
      ['POST cm ? metadata.name', cm('b', {}, { resourceVersion: '0' })],
      ['POST foos', foo('c', { size: 1 }, { resourceVersion: 'abc' })],
    ],
  },
  {
    name: 'verbs: namespaces of creates',
    steps: [
      ['POST cm', cm('a', {}, { namespace: 'other' })],
      ['POST foos', foo('a', { size: 1 }, { namespace: 'other' })],
      ['POST /api/v1/namespaces/nope/configmaps', cm('a')],
      ['POST /apis/{group}/v1/namespaces/nope/foos', foo('a')],
      ['POST /api/v1/namespaces/nope/configmaps?dryRun=All', cm('a')],
      ['POST /api/v1/namespaces/nope/configmaps', cm('A')],
      ['POST /api/v1/namespaces', { metadata: { name: 'x-{ns}', namespace: 'other' } }],
      'GET /api/v1/namespaces/nope/configmaps',
      'DELETE /api/v1/namespaces/nope/configmaps/a',
    ],
  },
  {
    name: 'verbs: kinds of bodies',
    steps: [
      ['POST cm', { ...cm('a'), kind: 'Secret' }],
      ['POST cm', { ...cm('a'), kind: 'Nope' }],
      ['POST cm', { ...cm('a'), apiVersion: 'v2' }],
      ['POST cm', { ...cm('a'), apiVersion: 'apps/v1' }],
      ['POST cm', { ...cm('a', {}), kind: 'Secret' }],
      ['POST deploy', { ...cm('a', {}), kind: 'Secret' }],
      ['POST deploy', { ...deploy('a'), apiVersion: 'extensions/v1beta1' }],
      ['POST foos', { ...foo('a'), kind: 'Bar' }],
      ['POST foos', { ...foo('a'), apiVersion: 'apps/v1' }],
      ['POST foos', { ...foo('a'), apiVersion: '{group}/v2' }],
      ['POST cm ? kind', { metadata: { name: 'a' } }],
    ],
  },
  {
    name: 'verbs: updates with a version, a uid or none of them',
    steps: [
      ['POST cm', cm('a')],
      ['PUT cm/a ? data', cm('a', { k: 'w' })],
      ['PUT cm/a', edited((object) => (object.metadata.resourceVersion = '1'), 0)],
      ['PUT cm/a', cm('a', {}, { resourceVersion: 'abc' })],
      ['PUT cm/a', cm('a', {}, { uid: 'other' })],
      ['PUT cm/a ? metadata.creationTimestamp', cm('a', {}, { resourceVersion: '0' })],
      ['PUT cm/nope', cm('nope')],
      ['PUT cm/nope', cm('nope', {}, { resourceVersion: '5' })],
      ['PUT cm/nope', cm('nope', {}, { uid: '5' })],
      ['POST foos', foo('a')],
      ['PUT foos/a', foo('a')],
      ['PUT foos/a', foo('a', { size: 1 }, { resourceVersion: '0' })],
      ['PUT foos/a', foo('a', { size: 1 }, { resourceVersion: '1' })],
      ['PUT foos/a', foo('a', { size: 1 }, { resourceVersion: 'abc' })],
      ['PUT foos/nope', foo('nope')],
      ['PUT foos/nope', foo('nope', { size: 1 }, { resourceVersion: '1' })],
      'GET foos/a',
      ['PUT foos/a', edited((object) => (object.metadata.uid = 'other'))],
      ['POST deploy', deploy('a')],
      ['PUT deploy/a', deploy('a', { replicas: 2 }, { resourceVersion: '1' })],
      ['PUT deploy/a', deploy('a', { replicas: 2 }, { uid: 'other' })],
    ],
  },
  {
    name: 'verbs: immutable metadata in updates',
    steps: [
      ['POST foos', foo('a', { size: 1 }, { generateName: 'g' })],
      ['PUT foos/a', edited((object) => (object.metadata.name = 'b'), 0)],
      ['PUT foos/a', edited((object) => (object.metadata.name = ''), 0)],
      ['PUT foos/a', edited((object) => (object.metadata.namespace = 'other'), 0)],
      ['PUT foos/a', edited((object) => delete object.metadata, 0)],
      ['PUT foos/a ? metadata.generation', edited((object) => (object.metadata.generation = 9), 0)],
      ['PUT foos/a', edited((object) => (object.metadata.creationTimestamp = '2001-01-01T00:00:00Z'), 0)],
      ['PUT foos/a ? metadata.generateName', edited((object) => delete object.metadata.generateName, 0)],
      ['PUT foos/a ? metadata.deletionTimestamp', (answers: readonly Body[]) => ({
        ...answers[0],
        metadata: {
          ...answers[0].metadata,
          deletionTimestamp: '2001-01-01T00:00:00Z',
          resourceVersion: answers.at(-1).metadata?.resourceVersion,
        },
      })],
      ['POST cm', cm('a')],
      ['PUT cm/a', edited((object) => (object.metadata.name = 'b'))],
      ['PUT cm/a', cm('')],
      ['PUT cm/a', edited((object) => (object.metadata.creationTimestamp = '2001-01-01T00:00:00Z'), -3)],
      ['PUT cm/a', cm('a', {}, { namespace: 'other' })],
    ],
  },
  {
    name: 'verbs: updates without a change keep the version',
    steps: [
      ['POST foos', foo('a')],
      ['PUT foos/a', edited(() => {})],
      'GET foos?resourceVersion={0.metadata.resourceVersion}&resourceVersionMatch=Exact',
      ['PUT foos/a ? metadata.generation', edited((object) => (object.spec.size = 2), 0)],
      ['PUT foos/a', edited((object) => (object.spec.size = 3), 0)],
      [
        'PUT foos/a/status ? metadata.generation status spec.size',
        edited((object) => {
          object.status = { ready: 1 }
          object.spec.size = 9
        }, 3),
      ],
      [
        'PUT foos/a ? metadata.generation status spec.size',
        edited((object) => {
          delete object.status
          object.metadata.labels = { a: 'b' }
        }),
      ],
      [
        'PUT foos/a/status ? status metadata.labels',
        edited((object) => {
          object.status = { ready: 'x' }
        }),
      ],
      [
        'PUT foos/a/status ? status metadata.labels',
        edited((object) => {
          object.status = { ready: 4 }
          object.metadata.labels = { x: 'y' }
        }, 6),
      ],
    ],
  },
  {
    name: 'verbs: several causes at once',
    steps: [
      ['POST cm', cm('A', { 'a b': '1', 'c d': '2' }, { labels: { 'a b': 'c', d: 'e f' }, finalizers: ['x'] })],
      ['POST foos', foo('A', { size: 99, mode: 'none', name: 'X', parts: [{}] })],
      ['POST foos', { ...foo('a', 5), extra: 1 }],
      ['POST foos', foo('a', { size: '1', name: 5, tags: 'x', plain: [1, 'a', true] })],
      ['POST deploy', deploy('A', { replicas: -1, template: {}, selector: {} })],
      ['POST deploy', { metadata: { name: 'a' } }],
      ['POST deploy', { metadata: { name: 'a' }, spec: {} }],
      ['POST foos', { ...foo('a'), spec: undefined }],
      ['POST foos', foo('a', {})],
      ['POST foos', foo('a', null)],
    ],
  },
  {
    name: 'verbs: invalid labels, annotations, owners and finalizers',
    steps: [
      ['POST cm', cm('a', {}, { labels: { '': 'a' } })],
      ['POST cm', cm('a', {}, { labels: { 'a/b/c': 'a' } })],
      ['POST cm', cm('a', {}, { labels: { a: 'x'.repeat(64) } })],
      ['POST cm', cm('a', {}, { annotations: { 'a b': 'a' } })],
      ['POST cm ? metadata.annotations', cm('z', {}, { annotations: { 'A.b/c': 'anything: \n goes' } })],
      ['POST cm', cm('a', {}, { ownerReferences: [{}] })],
      ['POST cm', cm('a', {}, { ownerReferences: [{ apiVersion: 'v1', kind: 'Event', name: 'x', uid: 'u' }] })],
      [
        'POST cm',
        cm('a', {}, {
          ownerReferences: [1, 2].map((n) => ({
            apiVersion: 'v1',
            kind: 'Pod',
            name: `p${n}`,
            uid: `${n}`,
            controller: true,
          })),
        }),
      ],
      ['POST cm', cm('a', {}, { finalizers: ['x', 'a b/c', 'orphan', 'foregroundDeletion'] })],
      ['POST foos', foo('a', { size: 1 }, { finalizers: ['x'], labels: { 'a b': 'c' } })],
      ['POST foos', foo('a', { size: 1 }, { labels: { a: 5 } })],
      ['POST cm', cm('a', {}, { labels: { a: 5 } })],
      ['POST cm', cm('a', {}, { labels: 'x' })],
      ['POST foos', foo('a', { size: 1 }, { labels: 'x' })],
      ['POST foos ? metadata.labels metadata.annotations', foo('a', { size: 1 }, { labels: null, annotations: {} })],
    ],
  },
  {
    name: 'verbs: finalizers and generation of an object in deletion',
    steps: [
      ['POST foos', foo('a', { size: 1 }, { finalizers: ['x.io/a', 'x.io/b'] })],
      'DELETE foos/a ? metadata.generation metadata.deletionGracePeriodSeconds metadata.finalizers',
      ['PUT foos/a', edited((object) => object.metadata.finalizers.push('x.io/c'))],
      [
        'PUT foos/a ? metadata.finalizers spec.size metadata.generation',
        edited((object) => {
          object.metadata.finalizers = ['x.io/b']
          object.spec.size = 2
        }, 1),
      ],
      ['MERGE foos/a', { metadata: { finalizers: ['x.io/a', 'x.io/b'] } }],
      ['MERGE foos/a ? metadata.deletionTimestamp', { metadata: { deletionTimestamp: null } }],
      ['POST foos', foo('a')],
      'DELETE foos/a ? metadata.generation',
      ['MERGE foos/a/status', { metadata: { finalizers: null }, status: { ready: 1 } }],
      ['MERGE foos/a ? metadata.finalizers spec.size', { metadata: { finalizers: [] }, spec: { size: 5 } }],
      'GET foos/a',
    ],
  },
  {
    name: 'verbs: dry runs of every verb store nothing',
    steps: [
      ['POST foos?dryRun=All ? metadata.name spec.mode metadata.resourceVersion', foo('a')],
      'GET foos/a',
      ['POST foos?dryRun=all', foo('a')],
      ['POST foos?dryRun=', foo('d0')],
      ['POST foos?dryRun=All&dryRun=All', foo('a')],
      ['POST foos?dryRun=All&dryRun=None', foo('a')],
      ['POST foos', foo('b')],
      ['PUT foos/b?dryRun=All ? spec.size', edited((object) => (object.spec.size = 4))],
      ['PUT foos/b?dryRun=x', edited((object) => (object.spec.size = 4), -2)],
      ['MERGE foos/b?dryRun=All ? spec.size metadata.generation', { spec: { size: 4 } }],
      ['MERGE foos/b?dryRun=x', { spec: { size: 4 } }],
      ['APPLY foos/b?dryRun=All&fieldManager=m&force=true ? spec.size', foo('b', { size: 5 })],
      ['APPLY foos/c?dryRun=All&fieldManager=m ? spec.size metadata.uid', foo('c', { size: 5 })],
      ['MERGE foos/b/scale?dryRun=All ? spec', { spec: { replicas: 7 } }],
      ['MERGE foos/b/status?dryRun=All ? status', { status: { ready: 7 } }],
      'DELETE foos/b?dryRun=All',
      ['DELETE foos/b', { dryRun: ['x'] }],
      'DELETE foos/b?dryRun=x',
      ['DELETE foos/b', { dryRun: ['All'] }],
      'DELETE foos?dryRun=All',
      'GET foos ? items.0.metadata.name items.1.spec.size items.1.status',
      ['PUT foos/nope?dryRun=All', foo('nope')],
      ['POST foos?dryRun=All', foo('b')],
      ['POST foos?dryRun=All', foo('b', { size: 99 })],
    ],
  },
  {
    name: 'verbs: options of writes that are invalid',
    steps: [
      ['POST cm?fieldValidation=strict', cm('a')],
      ['PUT cm/a?fieldValidation=strict', cm('a')],
      ['MERGE cm/a?fieldValidation=strict', {}],
      ['POST cm?fieldManager=%00', cm('a')],
      [`POST cm?fieldManager=${'x'.repeat(129)}`, cm('a')],
      [`PUT cm/a?fieldManager=${'x'.repeat(129)}`, cm('a')],
      [`MERGE cm/a?fieldManager=${'x'.repeat(129)}`, {}],
      ['MERGE cm/a?force=true', {}],
      ['MERGE cm/a?force=false', {}],
      ['APPLY cm/a', cm('a')],
      ['APPLY cm/a?fieldManager=m&force=x ? data', cm('a')],
      [`POST cm?fieldManager=${'x'.repeat(129)}&dryRun=x&fieldValidation=x`, cm('a')],
      ['POST foos?fieldValidation=x', foo('a')],
    ],
  },
  {
    name: 'verbs: a Deployment keeps its selector, its status and its generation',
    steps: [
      ['POST deploy ? metadata.generation', deploy('a')],
      ['PUT deploy/a', deploy('a', { selector: { matchLabels: { app: 'b' } } })],
      ['PUT deploy/a ? metadata.generation spec.replicas', deploy('a', { replicas: 3 })],
      ['PUT deploy/a/status ? metadata.generation spec.replicas status', {
        ...deploy('a', { replicas: 9 }, { labels: { x: 'y' }, annotations: { x: 'y' } }),
        status: { replicas: 3, observedGeneration: 2 },
      }],
      ['PUT deploy/a ? status metadata.annotations', deploy('a', { replicas: 3 })],
      ['PUT deploy/a/scale ? spec status', { metadata: { name: 'a' }, spec: { replicas: 6 } }],
      ['PUT deploy/a/scale', { metadata: { name: 'b' }, spec: { replicas: 6 } }],
      ['PUT deploy/a/scale', { metadata: { name: 'a' }, spec: { replicas: -6 } }],
      ['PUT deploy/a/scale', { metadata: { name: 'a', resourceVersion: '1' }, spec: { replicas: 6 } }],
      ['PUT deploy/a/scale', { metadata: { name: 'a' }, spec: { replicas: 'x' } }],
      ['MERGE deploy/a/scale', { spec: { replicas: null } }],
      'GET deploy/a ? spec.replicas metadata.generation',
      'GET deploy/nope/scale',
      'GET foos/nope/status',
      ['PUT foos/nope/status', foo('nope')],
    ],
  },
]
