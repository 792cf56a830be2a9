/** Scripts of deletions. The answers are those of kube-apiserver. */
import type { Body } from './api.ts'
import { cm, deploy, foo, type Script, type Step } from './transcript.ts'

const make = (...names: readonly string[]): readonly Step[] =>
  names.map((name) => ['POST foos', `201 Foo ${name}`, foo(name, { size: 1 }, { labels: { n: name, all: 'yes' } })])
const DELETING = 'metadata.finalizers metadata.deletionGracePeriodSeconds metadata.generation'

export const DELETE_SCRIPTS: readonly Script[] = [
  {
    name: 'verbs: answers of deletions',
    steps: [
      ...make('a'),
      ['DELETE foos/a', '200 Success | a {group} foos {uid}'],
      ['DELETE foos/a', '404 NotFound: foos.{group} "a" not found | a {group} foos'],
      ['POST cm', '201 ConfigMap a', cm('a')],
      ['DELETE cm/a', '200 Success | a configmaps {uid}'],
      ['DELETE cm/a', '404 NotFound: configmaps "a" not found | a configmaps'],
      ['POST deploy', '201 Deployment a', deploy('a')],
      ['DELETE deploy/a', '200 Success | a apps deployments {uid}'],
      ['DELETE deploy/nope', '404 NotFound: deployments.apps "nope" not found | nope apps deployments', {
        propagationPolicy: 'Foreground',
      }],
    ],
  },
  {
    name: 'verbs: propagation policies of a custom object',
    steps: [
      ...make('a', 'b', 'c', 'd', 'e'),
      [`DELETE foos/a ? ${DELETING}`, '200 ["foregroundDeletion"] 0 2', { propagationPolicy: 'Foreground' }],
      [`DELETE foos/a ? ${DELETING}`, '200 ["orphan"] 0 2', { propagationPolicy: 'Orphan' }],
      ['DELETE foos/a', '200 Success | a {group} foos {uid}', { propagationPolicy: 'Background' }],
      [`DELETE foos/b ? ${DELETING}`, '200 ["orphan"] 0 2', { propagationPolicy: 'Orphan' }],
      [`DELETE foos/b ? ${DELETING}`, '200 ["orphan"] 0 2'],
      ['MERGE foos/b ? metadata.finalizers', '200 -', { metadata: { finalizers: null } }],
      ['DELETE foos/c', '200 Success | c {group} foos {uid}', { propagationPolicy: 'Background' }],
      [`DELETE foos/d ? ${DELETING}`, '200 ["orphan"] 0 2', { orphanDependents: true }],
      ['DELETE foos/e', '200 Success | e {group} foos {uid}', { orphanDependents: false }],
      ['GET foos', '200 FooList [d]'],
    ],
  },
  {
    name: 'verbs: propagation policies in the query',
    steps: [
      ...make('a', 'b', 'c'),
      [`DELETE foos/a?propagationPolicy=Foreground ? ${DELETING}`, '200 ["foregroundDeletion"] 0 2'],
      [`DELETE foos/b?orphanDependents=true ? ${DELETING}`, '200 ["orphan"] 0 2'],
      ['DELETE foos/c?propagationPolicy=Foreground', '200 Success | c {group} foos {uid}', {
        propagationPolicy: 'Background',
      }],
      [
        'DELETE foos/a?propagationPolicy=Sideways',
        '422 Invalid: DeleteOptions.meta.k8s.io "" | meta.k8s.io DeleteOptions | FieldValueNotSupported ' +
        'propagationPolicy Unsupported value: "Sideways": supported values: "Foreground", "Background", ' +
        '"Orphan", "nil"',
      ],
      ['DELETE foos/a?gracePeriodSeconds=x', '400 BadRequest: strconv.ParseInt: parsing "x": invalid syntax'],
      [
        'DELETE foos/a?orphanDependents=true&propagationPolicy=Orphan',
        '422 Invalid: DeleteOptions.meta.k8s.io "" | meta.k8s.io DeleteOptions | FieldValueInvalid ' +
        'propagationPolicy Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be ' +
        'both set',
      ],
      ['DELETE foos/a?gracePeriodSeconds=-1', '200 Foo a'],
    ],
  },
  {
    name: 'verbs: propagation policies with finalizers',
    steps: [
      ['POST foos', '201 Foo a', foo('a', { size: 1 }, { finalizers: ['x.io/a'] })],
      [`DELETE foos/a?dryRun=All ? ${DELETING}`, '200 ["x.io/a"] 0 2'],
      [`DELETE foos/a ? ${DELETING}`, '200 ["x.io/a","foregroundDeletion"] 0 2', { propagationPolicy: 'Foreground' }],
      [`DELETE foos/a ? ${DELETING}`, '200 ["x.io/a"] 0 2', { propagationPolicy: 'Background' }],
      [`DELETE foos/a ? ${DELETING}`, '200 ["x.io/a","orphan"] 0 2', { propagationPolicy: 'Orphan' }],
      [`DELETE foos/a ? ${DELETING}`, '200 ["x.io/a","orphan"] 0 2', { gracePeriodSeconds: 0 }],
      ['MERGE foos/a ? metadata.finalizers', '200 ["orphan"]', { metadata: { finalizers: ['orphan'] } }],
      ['MERGE foos/a ? metadata.finalizers', '200 -', { metadata: { finalizers: [] } }],
      ['GET foos/a', '404 NotFound: foos.{group} "a" not found | a {group} foos'],
      ['POST foos', '201 Foo b', foo('b', { size: 1 }, { finalizers: ['orphan'] })],
      [`DELETE foos/b ? ${DELETING}`, '200 ["orphan"] 0 2'],
      ['POST foos', '201 Foo c', foo('c', { size: 1 }, { finalizers: ['foregroundDeletion'] })],
      [`DELETE foos/c ? ${DELETING}`, '200 ["foregroundDeletion"] 0 2'],
      [`DELETE foos/c ? ${DELETING}`, '200 - - -', { propagationPolicy: 'Background' }],
    ],
  },
  {
    name: 'verbs: propagation policies of a ConfigMap, a Deployment and a Job',
    steps: [
      ['POST cm', '201 ConfigMap a', cm('a')],
      [`DELETE cm/a ? ${DELETING}`, '200 ["foregroundDeletion"] 0 -', { propagationPolicy: 'Foreground' }],
      ['POST cm', '201 ConfigMap b', cm('b', {}, { finalizers: ['x.io/a'] })],
      [`DELETE cm/b ? ${DELETING}`, '200 ["x.io/a"] 0 -', { gracePeriodSeconds: 30 }],
      [`DELETE cm/b ? ${DELETING}`, '200 ["x.io/a"] 0 -'],
      ['POST deploy', '201 Deployment a', deploy('a')],
      [`DELETE deploy/a ? ${DELETING}`, '200 ["orphan"] 0 2', { propagationPolicy: 'Orphan' }],
      [
        'PUT deploy/a',
        '200 Deployment a',
        (answers: readonly Body[]) => ({ ...answers.at(-1), spec: { ...answers.at(-1).spec, replicas: 5 } }),
      ],
      ['GET deploy/a ? metadata.generation spec.replicas', '200 3 5'],
    ],
  },
  {
    name: 'verbs: preconditions of deletions',
    steps: [
      ...make('a', 'b'),
      [
        'DELETE foos/a',
        '409 Conflict: Operation cannot be fulfilled on Foo.{group} "a": the UID in the precondition (x) ' +
        'does not match the UID in record ({uid}). The object might have been deleted and then recreated ' +
        '| a {group} Foo',
        { preconditions: { uid: 'x' } },
      ],
      [
        'DELETE foos/a',
        '409 Conflict: Operation cannot be fulfilled on Foo.{group} "a": the ResourceVersion in the ' +
        'precondition ({rv}) does not match the ResourceVersion in record ({rv}). The object might have ' +
        'been modified | a {group} Foo',
        { preconditions: { resourceVersion: '1' } },
      ],
      [
        'DELETE foos/a',
        '409 Conflict: Operation cannot be fulfilled on Foo.{group} "a": the UID in the precondition (x) ' +
        'does not match the UID in record ({uid}). The object might have been deleted and then recreated ' +
        '| a {group} Foo',
        { preconditions: { uid: 'x', resourceVersion: '1' } },
      ],
      ['DELETE foos/nope', '404 NotFound: foos.{group} "nope" not found | nope {group} foos', {
        preconditions: { uid: 'x' },
      }],
      [
        'DELETE foos/a?dryRun=All',
        '409 Conflict: Operation cannot be fulfilled on Foo.{group} "a": the UID in the precondition (x) ' +
        'does not match the UID in record ({uid}). The object might have been deleted and then recreated ' +
        '| a {group} Foo',
        { preconditions: { uid: 'x' } },
      ],
      [
        'DELETE foos/a',
        '200 Success | a {group} foos {uid}',
        (answers: readonly Body[]) => ({ preconditions: { uid: answers[0].metadata.uid } }),
      ],
      [
        'DELETE foos/b',
        '200 Success | b {group} foos {uid}',
        (answers: readonly Body[]) => ({ preconditions: { resourceVersion: answers[1].metadata.resourceVersion } }),
      ],
      ['POST cm', '201 ConfigMap a', cm('a')],
      [
        'DELETE cm/a',
        '409 Conflict: Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (x) ' +
        'does not match the UID in record ({uid}). The object might have been deleted and then recreated ' +
        '| a ConfigMap',
        { preconditions: { uid: 'x' } },
      ],
      [
        'DELETE cm/a',
        '409 Conflict: Operation cannot be fulfilled on ConfigMap "a": the ResourceVersion in the ' +
        'precondition ({rv}) does not match the ResourceVersion in record ({rv}). The object might have ' +
        'been modified | a ConfigMap',
        { preconditions: { resourceVersion: '1' } },
      ],
    ],
  },
  {
    name: 'verbs: bodies of deletions',
    steps: [
      ...make('a', 'b', 'c', 'd', 'e', 'f'),
      ['DELETE foos/a', '200 Success | a {group} foos {uid}', { kind: 'DeleteOptions', apiVersion: 'v1' }],
      ['DELETE foos/b', '200 Success | b {group} foos {uid}', {
        kind: 'DeleteOptions',
        apiVersion: '{group}/v1',
        gracePeriodSeconds: 5,
      }],
      ['DELETE foos/c', '200 Success | c {group} foos {uid}', { kind: 'DeleteOptions', apiVersion: 'meta.k8s.io/v1' }],
      ['DELETE foos/d', '200 Success | d {group} foos {uid}', {}],
      ['DELETE foos/e', '200 Success | e {group} foos {uid}', { odd: 1 }],
      [
        'DELETE foos/f',
        '400 BadRequest: json: cannot unmarshal number into Go struct field ' +
        'DeleteOptions.propagationPolicy of type v1.DeletionPropagation',
        { propagationPolicy: 5 },
      ],
      [
        'DELETE foos/f',
        '400 BadRequest: json: cannot unmarshal string into Go struct field ' +
        'DeleteOptions.gracePeriodSeconds of type int64',
        { gracePeriodSeconds: 'x' },
      ],
      [
        'DELETE foos/f',
        '400 BadRequest: json: cannot unmarshal string into Go struct field DeleteOptions.preconditions ' +
        'of type v1.Preconditions',
        { preconditions: 'x' },
      ],
      [
        'DELETE foos/f',
        '400 BadRequest: json: cannot unmarshal string into Go struct field DeleteOptions.dryRun of type ' +
        '[]string',
        { dryRun: 'All' },
      ],
      [
        'DELETE foos/f',
        '400 BadRequest: no kind "Foo" is registered for version "{group}/v1" in scheme ' +
        '"pkg/runtime/scheme.go:111"',
        { kind: 'Foo', apiVersion: '{group}/v1' },
      ],
      ['DELETE foos/f', '200 Success | f {group} foos {uid}', { kind: 'DeleteOptions', apiVersion: 'apps/v1' }],
    ],
  },
  {
    name: 'verbs: deletions of collections',
    steps: [
      ...make('a', 'b', 'c', 'd'),
      ['DELETE foos?labelSelector=n%3Da ? items.length items.0.metadata.name kind', '200 1 "a" "FooList"'],
      ['DELETE foos?fieldSelector=metadata.name%3Db', '200 FooList [b]'],
      ['DELETE foos?labelSelector=n%3Dnone', '200 FooList []'],
      ['DELETE foos?limit=1', '200 FooList [c] continue remaining 1'],
      ['GET foos', '200 FooList [d]'],
      ['DELETE foos', '200 FooList [d]'],
      ['GET foos', '200 FooList []'],
      ['DELETE foos', '200 FooList []'],
      ['POST cm', '201 ConfigMap a', cm('a')],
      ['POST cm', '201 ConfigMap b', cm('b')],
      ['DELETE cm ? items.length items.0.kind', '200 2 -'],
      ['GET cm', '200 ConfigMapList []'],
    ],
  },
  {
    name: 'verbs: policies, preconditions and finalizers of collections',
    steps: [
      ...make('a', 'b'),
      ['POST foos', '201 Foo c', foo('c', { size: 1 }, { finalizers: ['x.io/a'] })],
      ['DELETE foos ? items.0.metadata.finalizers items.2.metadata.finalizers', '200 - ["x.io/a"]', {
        propagationPolicy: 'Foreground',
      }],
      [
        'GET foos ? items.0.metadata.finalizers items.2.metadata.finalizers',
        '200 ["foregroundDeletion"] ["x.io/a","foregroundDeletion"]',
      ],
      [
        'DELETE foos?propagationPolicy=Sideways',
        '422 Invalid: DeleteOptions.meta.k8s.io "" | meta.k8s.io DeleteOptions | FieldValueNotSupported ' +
        'propagationPolicy Unsupported value: "Sideways": supported values: "Foreground", "Background", ' +
        '"Orphan", "nil"',
      ],
      [
        'DELETE foos',
        '409 Conflict: Operation cannot be fulfilled on Foo.{group} "a": the UID in the precondition (x) ' +
        'does not match the UID in record ({uid}). The object might have been deleted and then recreated ' +
        '| a {group} Foo',
        { preconditions: { uid: 'x' } },
      ],
      ['DELETE foos?dryRun=All ? items.length', '200 3'],
      ['DELETE foos', '200 FooList [a,b,c]', { propagationPolicy: 'Background' }],
      ['GET foos ? items.0.metadata.finalizers', '200 ["x.io/a"]'],
    ],
  },
  {
    name: 'verbs: a deletion and writes that follow',
    steps: [
      ['POST foos', '201 Foo a', foo('a', { size: 1 }, { finalizers: ['x.io/a'] })],
      [`DELETE foos/a ? ${DELETING}`, '200 ["x.io/a"] 0 2'],
      ['MERGE foos/a ? spec.size metadata.generation', '200 3 3', { spec: { size: 3 } }],
      ['APPLY foos/a?fieldManager=m&force=true ? spec.size metadata.generation', '200 4 4', foo('a', { size: 4 })],
      ['MERGE foos/a/status ? status', '200 {"ready":1}', { status: { ready: 1 } }],
      ['MERGE foos/a/scale ? spec', '200 {"replicas":6}', { spec: { replicas: 6 } }],
      [
        'MERGE foos/a',
        '422 Invalid: Foo.{group} "a" | a {group} Foo | FieldValueInvalid ' +
        'metadata.deletionGracePeriodSeconds Invalid value: 9: field is immutable',
        { metadata: { deletionGracePeriodSeconds: 9 } },
      ],
      [
        'MERGE foos/a',
        '422 Invalid: Foo.{group} "a" | a {group} Foo | FieldValueInvalid spec.size Invalid value: 99: ' +
        'spec.size in body should be less than or equal to 10',
        { metadata: { finalizers: null }, spec: { size: 99 } },
      ],
      ['MERGE foos/a?dryRun=All ? metadata.finalizers', '200 -', { metadata: { finalizers: null } }],
      ['GET foos/a ? metadata.finalizers', '200 ["x.io/a"]'],
      ['MERGE foos/a ? metadata.finalizers spec.size', '200 - 8', {
        metadata: { finalizers: null },
        spec: { size: 8 },
      }],
      ['GET foos/a', '404 NotFound: foos.{group} "a" not found | a {group} foos'],
      ['MERGE foos/a', '404 NotFound: foos.{group} "a" not found | a {group} foos', {}],
    ],
  },
]
