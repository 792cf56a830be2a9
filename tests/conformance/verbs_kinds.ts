/** Scripts of writes to kinds with rules of their own. The answers are those of kube-apiserver. */
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
      ['PUT leases/a ? metadata.name metadata.managedFields.length', '201 "a" 1', lease('a', { holderIdentity: 'x' })],
      [
        'PUT leases/a',
        '422 Invalid: leases.coordination.k8s.io "a" | a coordination.k8s.io leases | FieldValueInvalid ' +
        'metadata.resourceVersion Invalid value: 0: must be specified for an update',
        lease('a', { holderIdentity: 'y' }),
      ],
      ['PUT leases/b', '201 Lease b', lease('b', {}, { resourceVersion: '5' })],
      [
        'PUT leases/b',
        '409 Conflict: Operation cannot be fulfilled on leases.coordination.k8s.io "b": StorageError: ' +
        'invalid object, Code: 4, Key: /registry/leases/{ns}/b, ResourceVersion: {rv}, ' +
        'AdditionalErrorMsg: Precondition failed: UID in precondition: x, UID in object meta: {uid} | b ' +
        'coordination.k8s.io leases',
        lease('b', {}, { uid: 'x' }),
      ],
      ['PUT leases/b', '400 BadRequest: the name of the object (c) does not match the name on the URL (b)', lease('c')],
      [
        'PUT leases/B',
        '422 Invalid: Lease.coordination.k8s.io "B" | B coordination.k8s.io Lease | FieldValueInvalid ' +
        'metadata.name Invalid value: "B": a lowercase RFC 1123 subdomain must consist of lower case ' +
        "alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. " +
        "'example.com', regex used for validation is " +
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        lease('B'),
      ],
      [
        'PUT leases/b?dryRun=All',
        '422 Invalid: leases.coordination.k8s.io "b" | b coordination.k8s.io leases | FieldValueInvalid ' +
        'metadata.resourceVersion Invalid value: 0: must be specified for an update',
        lease('b'),
      ],
      ['GET leases/b', '200 Lease b'],
      ['MERGE leases/a ? spec', '200 {"holderIdentity":"x","leaseDurationSeconds":15}', {
        spec: { leaseDurationSeconds: 15 },
      }],
      [
        'MERGE leases/a',
        '422 Invalid: Lease.coordination.k8s.io "a" | a coordination.k8s.io Lease | FieldValueInvalid ' +
        'spec.leaseDurationSeconds Invalid value: 0: must be greater than 0',
        { spec: { leaseDurationSeconds: 0 } },
      ],
      [
        'MERGE leases/a',
        '422 Invalid:  "" | FieldValueInvalid patch Invalid value: {object}: parsing time "{time}" as ' +
        '"{time}07:00": cannot parse "Z" as ".000000"',
        { spec: { renewTime: '2020-01-01T00:00:00Z' } },
      ],
      [
        'MERGE leases/a',
        '422 Invalid: Lease.coordination.k8s.io "a" | a coordination.k8s.io Lease | FieldValueInvalid ' +
        'spec.leaseTransitions Invalid value: -1: must be greater than or equal to 0',
        { spec: { leaseTransitions: -1 } },
      ],
    ],
  },
  {
    name: 'verbs: data, types and immutability of Secrets',
    steps: [
      [
        `POST ${SECRETS} ? data type stringData`,
        '201 {"k":"eg==","l":"eQ=="} "Opaque" -',
        secret('a', { data: { k: 'eA==' }, stringData: { l: 'y', k: 'z' } }),
      ],
      [
        `POST ${SECRETS}`,
        '400 BadRequest: Secret in version "v1" cannot be handled as a Secret: illegal base64 data at ' +
        'input byte 0',
        secret('b', { data: { k: 'x' } }),
      ],
      [
        `POST ${SECRETS}`,
        '422 Invalid: Secret "b" | b Secret | FieldValueInvalid data[a b] Invalid value: "a b": a valid ' +
        "config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or " +
        "'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
        secret('b', { data: { 'a b': 'eA==' } }),
      ],
      [
        `MERGE ${SECRETS}/a`,
        '422 Invalid: Secret "a" | a Secret | FieldValueInvalid type Invalid value: "other": field is ' +
        'immutable',
        { type: 'other' },
      ],
      [`MERGE ${SECRETS}/a ? immutable`, '200 true', { immutable: true }],
      [
        `MERGE ${SECRETS}/a`,
        '422 Invalid: Secret "a" | a Secret | FieldValueForbidden data Forbidden: field is immutable when ' +
        '`immutable` is set',
        { data: { k: 'eQ==' } },
      ],
      [
        `MERGE ${SECRETS}/a`,
        '422 Invalid: Secret "a" | a Secret | FieldValueForbidden immutable Forbidden: field is immutable ' +
        'when `immutable` is set',
        { immutable: false },
      ],
      [`MERGE ${SECRETS}/a ? metadata.labels`, '200 {"a":"b"}', { metadata: { labels: { a: 'b' } } }],
      [`DELETE ${SECRETS}/a`, '200 Success | a secrets {uid}'],
    ],
  },
  {
    name: 'verbs: an immutable ConfigMap',
    steps: [
      ['POST cm', '201 ConfigMap a', { ...cm('a'), immutable: true }],
      [
        'MERGE cm/a',
        '422 Invalid: ConfigMap "a" | a ConfigMap | FieldValueForbidden binaryData Forbidden: field is ' +
        'immutable when `immutable` is set | FieldValueForbidden data Forbidden: field is immutable when ' +
        '`immutable` is set',
        { data: { k: 'w' }, binaryData: { b: 'eA==' } },
      ],
      [
        'MERGE cm/a',
        '422 Invalid: ConfigMap "a" | a ConfigMap | FieldValueForbidden immutable Forbidden: field is ' +
        'immutable when `immutable` is set',
        { immutable: null },
      ],
      ['MERGE cm/a ? metadata.annotations', '200 {"a":"b"}', { metadata: { annotations: { a: 'b' } } }],
      [
        'POST cm',
        '422 Invalid: ConfigMap "b" | b ConfigMap | FieldValueInvalid data[k] Invalid value: "k": ' +
        'duplicate of key present in binaryData',
        { ...cm('b', { k: 'v' }), binaryData: { k: 'eA==' } },
      ],
      [
        'POST cm',
        '422 Invalid: ConfigMap "b" | b ConfigMap | FieldValueInvalid data[] Invalid value: "": a valid ' +
        "config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or " +
        "'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
        cm('b', { '': 'v' }),
      ],
      [
        'POST cm',
        '422 Invalid: ConfigMap "b" | b ConfigMap | FieldValueInvalid data[..] Invalid value: "..": must ' +
        "not be '..'",
        cm('b', { '..': 'v' }),
      ],
      [
        'POST cm',
        '422 Invalid: ConfigMap "b" | b ConfigMap | FieldValueInvalid ' +
        'data[kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk' +
        'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk' +
        'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk] Invalid value: ' +
        '"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk' +
        'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk' +
        'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk": must be no more than 253 ' +
        'characters',
        cm('b', { ['k'.repeat(254)]: 'v' }),
      ],
    ],
  },
  {
    name: 'verbs: grace periods of Pods',
    steps: [
      [`POST ${PODS} ? metadata.generation spec.terminationGracePeriodSeconds`, '201 1 30', pod('a')],
      [
        `DELETE ${PODS}/a ? metadata.deletionGracePeriodSeconds kind status`,
        '200 0 "Pod" {"phase":"Pending","qosClass":"BestEffort"}',
      ],
      [`GET ${PODS}/a`, '404 NotFound: pods "a" not found | a pods'],
      [`POST ${PODS} ? metadata.name`, '201 "b"', pod('b', { nodeName: 'n' })],
      [`DELETE ${PODS}/b?dryRun=All ? metadata.deletionGracePeriodSeconds`, '200 30'],
      [`DELETE ${PODS}/b ? metadata.deletionGracePeriodSeconds metadata.generation`, '200 30 2'],
      [`DELETE ${PODS}/b ? metadata.deletionGracePeriodSeconds metadata.generation`, '200 30 2', {
        gracePeriodSeconds: 60,
      }],
      [`DELETE ${PODS}/b ? metadata.deletionGracePeriodSeconds metadata.generation`, '200 5 2', {
        gracePeriodSeconds: 5,
      }],
      [`DELETE ${PODS}/b ? metadata.deletionGracePeriodSeconds metadata.name`, '200 0 "b"', { gracePeriodSeconds: 0 }],
      [`GET ${PODS}/b`, '404 NotFound: pods "b" not found | b pods'],
      [`POST ${PODS} ? metadata.name`, '201 "c"', pod('c', { nodeName: 'n' })],
      [`DELETE ${PODS}/c ? metadata.deletionGracePeriodSeconds metadata.finalizers`, '200 1 ["foregroundDeletion"]', {
        propagationPolicy: 'Foreground',
        gracePeriodSeconds: 1,
      }],
      [`DELETE ${PODS}/c ? metadata.deletionGracePeriodSeconds metadata.finalizers`, '200 0 ["foregroundDeletion"]', {
        gracePeriodSeconds: 0,
      }],
      [`DELETE ${PODS} ? items.length`, '200 1'],
    ],
  },
  {
    name: 'verbs: a namespace in deletion refuses new objects',
    steps: [
      ['POST foos', '201 Foo held', foo('held', { size: 1 }, { finalizers: ['x.io/a'] })],
      [
        'DELETE ns ? status.phase metadata.deletionGracePeriodSeconds spec.finalizers',
        '200 "Terminating" - ["kubernetes"]',
      ],
      [
        'POST cm',
        '403 Forbidden: configmaps "a" is forbidden: unable to create new content in namespace {ns} ' +
        'because it is being terminated | a configmaps | NamespaceTerminating metadata.namespace ' +
        'namespace {ns} is being terminated',
        cm('a'),
      ],
      [
        'POST cm?dryRun=All',
        '403 Forbidden: configmaps "a" is forbidden: unable to create new content in namespace {ns} ' +
        'because it is being terminated | a configmaps | NamespaceTerminating metadata.namespace ' +
        'namespace {ns} is being terminated',
        cm('a'),
      ],
      [
        'POST cm',
        '403 Forbidden: configmaps "A" is forbidden: unable to create new content in namespace {ns} ' +
        'because it is being terminated | A configmaps | NamespaceTerminating metadata.namespace ' +
        'namespace {ns} is being terminated',
        cm('A'),
      ],
      [
        'POST foos',
        '403 Forbidden: foos.{group} "a" is forbidden: unable to create new content in namespace {ns} ' +
        'because it is being terminated | a {group} foos | NamespaceTerminating metadata.namespace ' +
        'namespace {ns} is being terminated',
        foo('a'),
      ],
      [
        'POST foos',
        '403 Forbidden: foos.{group} "gen-" is forbidden: unable to create new content in namespace {ns} ' +
        'because it is being terminated | gen- {group} foos | NamespaceTerminating metadata.namespace ' +
        'namespace {ns} is being terminated',
        { ...foo(''), metadata: { generateName: 'gen-' } },
      ],
      [
        'APPLY cm/a?fieldManager=m',
        '403 Forbidden: configmaps "a" is forbidden: unable to create new content in namespace {ns} ' +
        'because it is being terminated | a configmaps | NamespaceTerminating metadata.namespace ' +
        'namespace {ns} is being terminated',
        cm('a'),
      ],
      [
        'PUT leases/a',
        '403 Forbidden: leases.coordination.k8s.io "a" is forbidden: unable to create new content in ' +
        'namespace {ns} because it is being terminated | a coordination.k8s.io leases | ' +
        'NamespaceTerminating metadata.namespace namespace {ns} is being terminated',
        lease('a'),
      ],
      [
        'POST cm',
        '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot ' +
        'unmarshal number into Go struct field ConfigMap.data of type map[string]string',
        { ...cm('a'), data: 5 },
      ],
      ['MERGE foos/held ? spec.size', '200 5', { spec: { size: 5 } }],
      ['MERGE ns ? metadata.labels.x status.phase', '200 "y" "Terminating"', { metadata: { labels: { x: 'y' } } }],
      ['DELETE ns ? status.phase', '200 "Terminating"'],
    ],
  },
  {
    name: 'verbs: writes of another version of a custom kind',
    steps: [
      ['POST foos2 ? apiVersion spec', '201 "{group}/v2" {"mode":"fast","nested":{"deep":7},"size":1}', {
        ...foo('a', { size: 1, any: 'thing' }),
        apiVersion: '{group}/v2',
      }],
      ['GET foos/a ? apiVersion spec', '200 "{group}/v1" {"mode":"fast","nested":{"deep":7},"size":1}'],
      ['GET foos2/a ? apiVersion spec', '200 "{group}/v2" {"mode":"fast","nested":{"deep":7},"size":1}'],
      ['MERGE foos2/a ? apiVersion spec.size metadata.generation', '200 "{group}/v2" 2 2', { spec: { size: 2 } }],
      [
        'POST foos2',
        '400 BadRequest: the API version in the data ({group}/v1) does not match the expected API version ' +
        '({group}/v2)',
        foo('b'),
      ],
      ['GET foos2 ? kind apiVersion items.0.apiVersion', '200 "FooList" "{group}/v2" "{group}/v2"'],
    ],
  },
  {
    name: 'verbs: numbers at their limits',
    steps: [
      ['POST deploy ? spec.replicas', '201 2147483647', deploy('a', { replicas: 2147483647 })],
      [
        'POST deploy',
        '400 BadRequest: Deployment in version "v1" cannot be handled as a Deployment: json: cannot ' +
        'unmarshal number 2147483648 into Go struct field DeploymentSpec.spec.replicas of type int32',
        deploy('b', { replicas: 2147483648 }),
      ],
      [
        'POST deploy',
        '422 Invalid: Deployment.apps "b" | b apps Deployment | FieldValueInvalid spec.replicas Invalid ' +
        'value: -2147483648: must be greater than or equal to 0',
        deploy('b', { replicas: -2147483648 }),
      ],
      [
        'POST foos',
        '422 Invalid: Foo.{group} "a" | a {group} Foo | FieldValueInvalid spec.size Invalid value: 11: ' +
        'spec.size in body should be less than or equal to 10',
        foo('a', { size: 11 }),
      ],
      [
        'POST foos',
        '422 Invalid: Foo.{group} "a" | a {group} Foo | FieldValueInvalid .spec.size Invalid value: -1: ' +
        'should be a non-negative integer | FieldValueInvalid spec.size Invalid value: -1: spec.size in ' +
        'body should be greater than or equal to 0',
        foo('a', { size: -1 }),
      ],
      ['MERGE deploy/a/scale ? spec', '200 {}', { spec: { replicas: 0 } }],
      [
        'MERGE deploy/a/scale',
        '422 Invalid:  "" | FieldValueInvalid patch Invalid value: {object}: json: cannot unmarshal ' +
        'number 2147483648 into Go struct field ScaleSpec.spec.replicas of type int32',
        { spec: { replicas: 2147483648 } },
      ],
      ['MERGE deploy/a', '200 Deployment a', { metadata: { generation: -1 } }],
      [
        'MERGE deploy/a',
        '422 Invalid:  "" | FieldValueInvalid patch Invalid value: {object}: json: cannot unmarshal ' +
        'number 1.5 into Go struct field ObjectMeta.metadata.generation of type int64',
        { metadata: { generation: 1.5 } },
      ],
    ],
  },
  {
    name: 'verbs: texts that are no ASCII',
    steps: [
      [
        'POST cm ? data metadata.annotations',
        '201 {"k":"é ☃ 😀 \\u0000"} {"a":"ü\\n\\t"}',
        cm('a', { k: 'é ☃ 😀 \u0000' }, { annotations: { a: 'ü\n\t' } }),
      ],
      [
        'POST cm',
        '422 Invalid: ConfigMap "é" | é ConfigMap | FieldValueInvalid metadata.name Invalid value: "é": a ' +
        "lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and " +
        "must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation " +
        "is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        cm('é'),
      ],
      [
        'POST cm',
        '422 Invalid: ConfigMap "b" | b ConfigMap | FieldValueInvalid metadata.labels Invalid value: "é": ' +
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', " +
        "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or " +
        "'12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
        cm('b', {}, { labels: { a: 'é' } }),
      ],
      [
        'POST foos',
        '422 Invalid: Foo.{group} "a" | a {group} Foo | FieldValueInvalid spec.name Invalid value: "é😀": ' +
        "spec.name in body should match '^[a-z]+$'",
        foo('a', { size: 1, name: 'é😀' }),
      ],
      [
        'POST foos ? spec.labels',
        '201 {"":"x","a.b/c":"d","é ☃":"😀"}',
        foo('b', { size: 1, labels: { 'é ☃': '😀', '': 'x', 'a.b/c': 'd' } }),
      ],
      ['JSON foos/b ? spec.labels', '200 {"":"x","a.b/c":"d","é ☃":"y"}', [{
        op: 'replace',
        path: '/spec/labels/é ☃',
        value: 'y',
      }]],
    ],
  },
  {
    name: 'verbs: names in paths that no object can have',
    steps: [
      ['GET cm/A', '404 NotFound: configmaps "A" not found | A configmaps'],
      ['GET cm/a%20b', '404 NotFound: configmaps "a b" not found | a b configmaps'],
      ['GET foos/a_b', '404 NotFound: foos.{group} "a_b" not found | a_b {group} foos'],
      ['DELETE cm/A', '404 NotFound: configmaps "A" not found | A configmaps'],
      ['MERGE cm/A', '404 NotFound: configmaps "A" not found | A configmaps', {}],
      ['PUT cm/A', '404 NotFound: configmaps "A" not found | A configmaps', cm('A')],
      [
        'APPLY foos/A?fieldManager=m',
        '422 Invalid: Foo.{group} "A" | A {group} Foo | FieldValueInvalid metadata.name Invalid value: ' +
        `"A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or ` +
        "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for " +
        "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        foo('A'),
      ],
      ['GET /api/v1/namespaces/A/configmaps', '200 ConfigMapList []'],
    ],
  },
  {
    name: 'verbs: conflicts and repeated writes',
    steps: [
      ['POST foos', '201 Foo a', foo('a')],
      ['POST foos', '409 AlreadyExists: foos.{group} "a" already exists | a {group} foos', foo('a')],
      ['POST foos?dryRun=All', '409 AlreadyExists: foos.{group} "a" already exists | a {group} foos', foo('a')],
      ['PUT foos/a', '200 Foo a', (answers: readonly Body[]) => ({ ...answers[0], spec: { size: 2 } })],
      [
        'PUT foos/a',
        '409 Conflict: Operation cannot be fulfilled on foos.{group} "a": the object has been modified; ' +
        'please apply your changes to the latest version and try again | a {group} foos',
        (answers: readonly Body[]) => ({ ...answers[0], spec: { size: 2 } }),
      ],
      [
        'PUT foos/a/status',
        '409 Conflict: Operation cannot be fulfilled on foos.{group} "a": the object has been modified; ' +
        'please apply your changes to the latest version and try again | a {group} foos',
        (answers: readonly Body[]) => ({ ...answers[0], status: { ready: 2 } }),
      ],
      [
        'MERGE foos/a',
        '409 Conflict: Operation cannot be fulfilled on foos.{group} "a": the object has been modified; ' +
        'please apply your changes to the latest version and try again | a {group} foos',
        (answers: readonly Body[]) => ({
          metadata: { resourceVersion: answers[0].metadata.resourceVersion },
        }),
      ],
      ['MERGE foos/a', '200 Foo a', (answers: readonly Body[]) => ({
        metadata: { resourceVersion: answers[3].metadata.resourceVersion, uid: answers[0].metadata.uid },
        spec: { size: 3 },
      })],
      [
        'DELETE foos/a',
        '409 Conflict: Operation cannot be fulfilled on Foo.{group} "a": the ResourceVersion in the ' +
        'precondition ({rv}) does not match the ResourceVersion in record ({rv}). The object might have ' +
        'been modified | a {group} Foo',
        (answers: readonly Body[]) => ({
          preconditions: { resourceVersion: answers[0].metadata.resourceVersion },
        }),
      ],
      [
        'PUT foos/a/scale',
        '409 Conflict: Operation cannot be fulfilled on foos.{group} "a": the object has been modified; ' +
        'please apply your changes to the latest version and try again | a {group} foos',
        { metadata: { name: 'a', resourceVersion: '1' }, spec: { replicas: 1 } },
      ],
    ],
  },
]
