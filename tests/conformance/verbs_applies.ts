/** Scripts of server-side apply and managedFields. The answers are recorded. */
import type { Body } from './api.ts'
import { cm, deploy, foo, type Script, script, type Step } from './transcript.ts'

const MANAGED = 'metadata.managedFields'
const named = (
  kind: 'foo' | 'cm',
  rest: Record<string, unknown> = {},
  metadata: Record<string, unknown> = {},
): Body => ({
  apiVersion: kind === 'foo' ? '{group}/v1' : 'v1',
  kind: kind === 'foo' ? 'Foo' : 'ConfigMap',
  metadata: { name: 'a', ...metadata },
  ...rest,
})
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

/** A body as kubectl's client-side apply sends it. */
const lastApplied = (object: Body): Body => ({
  ...object,
  metadata: {
    ...object.metadata,
    annotations: { [LAST_APPLIED]: `${JSON.stringify(object)}\n` },
  },
})
const AS_KUBECTL = { userAgent: 'kubectl/v1.36.3' }
const CLIENT = '?fieldManager=kubectl-client-side-apply'
const SERVER = '?fieldManager=kubectl'
const forced = (manager: string): string => `?fieldManager=${manager}&force=true`
const make = (name: string): Step => ['POST foos', foo(name)]

export const APPLY_SCRIPTS: readonly Script[] = [
  script('verbs: applies of a ConfigMap by two managers', [
    [`APPLY cm/a?fieldManager=one ? data ${MANAGED}`, cm('a', { a: '1', b: '1' })],
    [`APPLY cm/a?fieldManager=two ? data ${MANAGED}`, cm('a', { c: '2' })],
    ['APPLY cm/a?fieldManager=two', cm('a', { a: '2', b: '2' })],
    [`APPLY cm/a${forced('two')} ? data ${MANAGED}`, cm('a', { a: '2' })],
    [`APPLY cm/a?fieldManager=one ? data ${MANAGED}`, cm('a', { b: '1' })],
    ['APPLY cm/a?fieldManager=one', cm('a', { a: '1' })],
    [`APPLY cm/a?fieldManager=one ? data ${MANAGED}`, cm('a', { a: '2' })],
    [`APPLY cm/a?fieldManager=two ? data ${MANAGED}`, named('cm')],
    [`APPLY cm/a?fieldManager=one ? data ${MANAGED}`, named('cm')],
  ]),
  script('verbs: conflicts of an apply with several managers', [
    ['APPLY foos/a?fieldManager=one', foo('a', { size: 1, tags: ['x'], plain: ['p'] })],
    ['MERGE foos/a?fieldManager=two', { spec: { name: 'abc', labels: { a: '1' } } }],
    ['MERGE foos/a/status?fieldManager=three', { status: { ready: 1 } }],
    ['APPLY foos/a?fieldManager=four', foo('a', { size: 2, name: 'abd', plain: ['q'], labels: { a: '2' } })],
    ['APPLY foos/a/status?fieldManager=four', named('foo', { status: { ready: 2 } })],
    ['APPLY foos/a?fieldManager=four ? spec.tags', foo('a', { tags: ['y'] })],
    ['APPLY foos/a?fieldManager=four', foo('a', { name: 'abd' })],
    [`APPLY foos/a?fieldManager=two ? ${MANAGED}`, foo('a', { name: 'abc' })],
    ['APPLY foos/a?fieldManager=two', foo('a', { name: 'abe' })],
  ]),
  script('verbs: applies that are refused', [
    ['APPLY foos/a?fieldManager=m', { apiVersion: '{group}/v1', kind: 'Bar', metadata: { name: 'a' } }],
    ['APPLY foos/a?fieldManager=m', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }],
    ['APPLY foos/a?fieldManager=m', { apiVersion: '{group}/v9', kind: 'Foo', metadata: { name: 'a' } }],
    ['APPLY foos/a?fieldManager=m', { metadata: { name: 'a' } }],
    ['APPLY foos/a?fieldManager=m', { kind: 'Foo', metadata: { name: 'a' } }],
    ['APPLY foos/a?fieldManager=m', foo('b')],
    ['APPLY foos/a?fieldManager=m', foo('a', { size: 1 }, { namespace: 'other' })],
    ['APPLY foos/a?fieldManager=m', foo('a', { size: 1 }, { managedFields: [] })],
    ['APPLY foos/a?fieldManager=m', foo('a', { size: 1 }, { uid: 'x' })],
    ['APPLY foos/a?fieldManager=m', foo('a', { size: 1 }, { resourceVersion: '1' })],
    ['APPLY foos/a?fieldManager=m', foo('a', { size: 'x' })],
    ['APPLY foos/a?fieldManager=m', foo('a', { size: 99 })],
    ['APPLY foos/a?fieldManager=m', foo('a', { parts: 'x' })],
    ['APPLY foos/a?fieldManager=m', foo('a', { parts: ['x'] })],
    ['APPLY foos/a?fieldManager=m', foo('a', { parts: [{ value: 1 }] })],
    ['APPLY foos/a?fieldManager=m', foo('a', { tags: ['a', 'a'] })],
    ['APPLY foos/a?fieldManager=m', foo('a', { tags: [{}] })],
    ['APPLY foos/a?fieldManager=m', '[]'],
    ['APPLY foos/a?fieldManager=m', '5'],
    ['APPLY cm/a?fieldManager=m', { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a' } }],
    ['APPLY cm/a?fieldManager=m', { apiVersion: 'apps/v1', kind: 'ConfigMap', metadata: { name: 'a' } }],
    ['APPLY cm/a?fieldManager=m', cm('a', { k: 5 })],
    ['APPLY cm/a?fieldManager=m', cm('a', 'x')],
    ['APPLY cm/a?fieldManager=m', cm('b')],
    ['APPLY cm/A?fieldManager=m', cm('A')],
    ['APPLY deploy/a?fieldManager=m', deploy('a', { replicas: 'x' })],
    ['APPLY foos/nope/status?fieldManager=m', foo('nope')],
    ['APPLY /api/v1/namespaces/nope/configmaps/a?fieldManager=m', cm('a')],
    'GET foos',
    'GET cm',
  ]),
  script('verbs: an apply with a version or a uid', [
    make('a'),
    ['APPLY foos/a?fieldManager=m', foo('a', { name: 'abc' }, { resourceVersion: '1' })],
    ['APPLY foos/a?fieldManager=m', foo('a', { name: 'abc' }, { uid: 'x' })],
    [
      'APPLY foos/a?fieldManager=m',
      (answers: readonly Body[]) => foo('a', { name: 'abc' }, { resourceVersion: answers[0].metadata.resourceVersion }),
    ],
    [
      'APPLY foos/a?fieldManager=m',
      (answers: readonly Body[]) => foo('a', { name: 'abd' }, { uid: answers[0].metadata.uid }),
    ],
  ]),
  script('verbs: lists and maps of a custom object under apply', [
    [
      `APPLY foos/a?fieldManager=one ? spec ${MANAGED}`,
      foo('a', {
        size: 1,
        parts: [{ name: 'x', value: 1 }, { name: 'y' }],
        tags: ['a', 'b'],
        plain: ['p'],
        labels: { a: '1' },
        free: { any: [1, { b: 2 }] },
      }),
    ],
    [
      `APPLY foos/a?fieldManager=two ? spec ${MANAGED}`,
      foo('a', {
        parts: [{ name: 'x', protocol: 'UDP' }, { name: 'z', value: 2 }],
        tags: ['c', 'a'],
        labels: { b: '2' },
        free: { other: 1 },
      }),
    ],
    [
      `APPLY foos/a?fieldManager=one ? spec ${MANAGED}`,
      foo('a', { size: 1, parts: [{ name: 'y', value: 5 }], tags: ['b'], free: {} }),
    ],
    [`APPLY foos/a?fieldManager=two ? spec ${MANAGED}`, foo('a', {})],
    [
      `APPLY foos/a?fieldManager=one ? spec ${MANAGED}`,
      foo('a', { size: 1, parts: [], tags: [], labels: {}, plain: null }),
    ],
    [`APPLY foos/a?fieldManager=one ? spec ${MANAGED}`, foo('a', { size: 1 })],
    ['APPLY foos/a?fieldManager=one', foo('a', {})],
  ]),
  script('verbs: a Deployment under apply and updates', [
    ['APPLY deploy/a?fieldManager=one', deploy('a', { replicas: 2 })],
    [`APPLY deploy/a?fieldManager=one ? spec.replicas ${MANAGED}`, deploy('a')],
    ['MERGE deploy/a/scale?fieldManager=two ? spec', { spec: { replicas: 5 } }],
    ['APPLY deploy/a?fieldManager=one', deploy('a', { replicas: 2 })],
    [`APPLY deploy/a${forced('one')} ? spec.replicas ${MANAGED}`, deploy('a', { replicas: 2 })],
    ['STRATEGIC deploy/a?fieldManager=two ? metadata.generation', {
      spec: { template: { spec: { containers: [{ name: 'main', image: 'other' }] } } },
    }],
    ['APPLY deploy/a?fieldManager=one', deploy('a')],
    [`APPLY deploy/a${forced('one')} ? spec.template.spec.containers.0.image ${MANAGED}`, deploy('a')],
    ['MERGE deploy/a/status?fieldManager=controller ? status', { status: { replicas: 2 } }],
    `GET deploy/a ? ${MANAGED}`,
  ]),
  script('verbs: a custom object under client-side apply, then under server-side apply', [
    [`POST foos${CLIENT} ? ${MANAGED}`, lastApplied(foo('a', { size: 1, name: 'abc' })), AS_KUBECTL],
    [`MERGE foos/a${CLIENT} ? ${MANAGED}`, { metadata: { annotations: { x: 'y' } }, spec: { size: 2 } }, AS_KUBECTL],
    [`APPLY foos/a${SERVER}`, foo('a', { size: 3 }), AS_KUBECTL],
    [`APPLY foos/a${SERVER} ? spec ${MANAGED}`, foo('a', { size: 2 }), AS_KUBECTL],
    [`APPLY foos/a${SERVER}&force=true ? spec metadata.annotations ${MANAGED}`, foo('a', { size: 3 }), AS_KUBECTL],
    [`APPLY foos/a${SERVER} ? spec ${MANAGED}`, named('foo', { spec: { size: 4 } }), AS_KUBECTL],
  ]),
  script('verbs: a ConfigMap under client-side apply, then under server-side apply', [
    [`POST cm${CLIENT} ? ${MANAGED}`, lastApplied(cm('a', { k: 'v', l: 'w' })), AS_KUBECTL],
    [`APPLY cm/a${SERVER}`, cm('a', { k: 'x' }), AS_KUBECTL],
    [`APPLY cm/a${SERVER} ? data ${MANAGED}`, cm('a', { k: 'v' }), AS_KUBECTL],
    [`APPLY cm/a${SERVER}&force=true ? data metadata.annotations ${MANAGED}`, cm('a', { k: 'y' }), AS_KUBECTL],
    [`STRATEGIC cm/a${CLIENT} ? data ${MANAGED}`, { data: { l: 'z' } }, AS_KUBECTL],
  ]),
  script('verbs: client-side apply of another version counts for nothing', [
    [`POST cm${CLIENT}`, lastApplied(cm('a', { k: 'v' }))],
    ['MERGE cm/a?fieldManager=other', {
      metadata: {
        annotations: { [LAST_APPLIED]: JSON.stringify({ ...cm('a', { k: 'w' }), apiVersion: 'v2' }) },
      },
      data: { k: 'w' },
    }],
    [`APPLY cm/a${SERVER}`, cm('a', { k: 'x' }), AS_KUBECTL],
  ]),
  script('verbs: server-side apply by kubectl updates the annotation of client-side apply', [
    [`APPLY cm/a${SERVER} ? metadata.annotations`, cm('a', { k: 'v' }), AS_KUBECTL],
    [`APPLY cm/a${SERVER} ? metadata.annotations`, lastApplied(cm('a', { k: 'v' })), AS_KUBECTL],
    [`APPLY cm/a${SERVER} ? metadata.annotations`, cm('a', { k: 'w' }), AS_KUBECTL],
    ['APPLY cm/a?fieldManager=other ? metadata.annotations', cm('a', { z: 'w' })],
  ]),
  script('verbs: managedFields that a client writes', [
    make('a'),
    [`MERGE foos/a ? ${MANAGED}`, { metadata: { managedFields: null } }],
    ['MERGE foos/a', {
      metadata: { managedFields: [{ manager: 'x', operation: 'Nope', apiVersion: '{group}/v1' }] },
    }],
    ['MERGE foos/a', {
      metadata: {
        managedFields: [{ manager: 'x', operation: 'Update', apiVersion: '{group}/v1', fieldsType: 'Nope' }],
      },
    }],
    ['MERGE foos/a', { metadata: { managedFields: [{ operation: 'Update', fieldsV1: { x: 5 } }] } }],
    [`MERGE foos/a?fieldManager=two ? ${MANAGED}`, {
      metadata: {
        managedFields: [{
          manager: 'x',
          operation: 'Update',
          apiVersion: '{group}/v1',
          fieldsType: 'FieldsV1',
          fieldsV1: { 'f:spec': { 'f:name': {} } },
        }],
      },
    }],
    [`JSON foos/a ? ${MANAGED}`, [{ op: 'remove', path: '/metadata/managedFields' }]],
    [`JSON foos/a ? ${MANAGED}`, [{ op: 'replace', path: '/metadata/managedFields', value: [{}] }]],
    [`MERGE foos/a ? ${MANAGED}`, { spec: { size: 3 } }],
    [`APPLY foos/a?fieldManager=m ? ${MANAGED}`, foo('a', { size: 3 })],
  ]),
  script('verbs: managers of updates', [
    [
      `POST foos?fieldManager=one ? ${MANAGED}`,
      foo('a', { size: 1, labels: { a: '1' } }, {
        labels: { x: 'y' },
        annotations: { p: 'q' },
        finalizers: ['x.io/a'],
      }),
    ],
    [`MERGE foos/a?fieldManager=two ? ${MANAGED}`, {
      spec: { size: 2, labels: { b: '2' } },
      metadata: { labels: { z: 'w' } },
    }],
    [`MERGE foos/a?fieldManager=one ? ${MANAGED}`, { spec: { labels: null }, metadata: { labels: { x: null } } }],
    [`MERGE foos/a?fieldManager=three ? ${MANAGED}`, {
      spec: { parts: [{ name: 'x', value: 1 }], tags: ['a', 'b'], plain: ['c'] },
    }],
    [`MERGE foos/a?fieldManager=four ? ${MANAGED}`, {
      spec: { parts: [{ name: 'x', value: 2 }, { name: 'y' }], tags: ['b'], plain: ['c', 'd'] },
    }],
    [`MERGE foos/a/status?fieldManager=one ? ${MANAGED}`, {
      status: { ready: 1, conditions: [{ type: 'A', status: 'True' }] },
    }],
    ...[5, 0].flatMap((replicas): Step[] => [
      [`MERGE foos/a/scale?fieldManager=one ? spec`, { spec: { replicas } }],
      `GET foos/a ? ${MANAGED}`,
    ]),
  ]),
]
