/** Scripts of creates and updates. The answers are those of kube-apiserver. */
import type { Body } from './api.ts'
import { cm, deploy, foo, type Script, type Step } from './transcript.ts'

const edited = (change: (object: Body) => unknown, index = -1): Step[2] => (answers: readonly Body[]) => {
  const object = structuredClone(answers.at(index))
  change(object)
  return object
}

export const WRITE_SCRIPTS: readonly Script[] = [
  {
    name: 'verbs: names that a create refuses',
    steps: [
      [
        'POST cm',
        '422 Invalid: ConfigMap "UPPER" | UPPER ConfigMap | FieldValueInvalid metadata.name Invalid ' +
        'value: "UPPER": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric ' +
        "characters, '-' or '.', and must start and end with an alphanumeric character (e.g. " +
        "'example.com', regex used for validation is " +
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        cm('UPPER'),
      ],
      [
        'POST cm',
        '422 Invalid: ConfigMap "a/b" | a/b ConfigMap | FieldValueInvalid metadata.name Invalid value: ' +
        `"a/b": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or ` +
        "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for " +
        "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        cm('a/b'),
      ],
      [
        'POST cm',
        '422 Invalid: ConfigMap "-a" | -a ConfigMap | FieldValueInvalid metadata.name Invalid value: ' +
        `"-a": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or ` +
        "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for " +
        "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        cm('-a'),
      ],
      [
        'POST cm',
        '422 Invalid: ConfigMap ' +
        '"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx..............................' +
        '................................................................................................' +
        '................................................................" | ' +
        'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...............................' +
        '................................................................................................' +
        '............................................................... ConfigMap | FieldValueInvalid ' +
        'metadata.name Invalid value: ' +
        '"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx..............................' +
        '................................................................................................' +
        '................................................................": a lowercase RFC 1123 ' +
        "subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end " +
        "with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*') | FieldValueInvalid " +
        'metadata.name Invalid value: ' +
        '"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx..............................' +
        '................................................................................................' +
        '................................................................": must be no more than 253 ' +
        'characters',
        cm('x'.repeat(65) + '.'.repeat(190)),
      ],
      [
        'POST cm',
        '422 Invalid: ConfigMap "" | ConfigMap | FieldValueRequired metadata.name Required value: name or ' +
        'generateName is required',
        cm(''),
      ],
      [
        'POST cm',
        '422 Invalid: ConfigMap "" | ConfigMap | FieldValueRequired metadata.name Required value: name or ' +
        'generateName is required',
        { apiVersion: 'v1', kind: 'ConfigMap' },
      ],
      [
        'POST foos',
        '422 Invalid: Foo.{group} "a_b" | a_b {group} Foo | FieldValueInvalid metadata.name Invalid ' +
        'value: "a_b": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, ' +
        "'-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex " +
        "used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        foo('a_b'),
      ],
      [
        'POST foos',
        '422 Invalid: Foo.{group} "" | {group} Foo | FieldValueRequired metadata.name Required value: ' +
        'name or generateName is required',
        foo(''),
      ],
      [
        'POST foos',
        '422 Invalid: Foo.{group} "" | {group} Foo | FieldValueRequired metadata.name Required value: ' +
        'name or generateName is required',
        { apiVersion: '{group}/v1', kind: 'Foo', spec: { size: 1 } },
      ],
      [
        'POST /api/v1/namespaces',
        '422 Invalid: Namespace "a.b" | a.b Namespace | FieldValueInvalid metadata.name Invalid value: ' +
        '"a.b": must not contain dots',
        { metadata: { name: 'a.b' } },
      ],
      [
        'POST /api/v1/namespaces',
        '422 Invalid: Namespace "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" | ' +
        'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx Namespace | FieldValueInvalid ' +
        'metadata.labels Invalid value: ' +
        '"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx": must be no more than 63 ' +
        'bytes | FieldValueInvalid metadata.name Invalid value: ' +
        '"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx": must be no more than 63 ' +
        'characters',
        { metadata: { name: 'x'.repeat(64) } },
      ],
      ['POST /api/v1/namespaces/{ns}/services', '201 Service 1a', {
        metadata: { name: '1a' },
        spec: { ports: [{ port: 1 }] },
      }],
      ['POST /apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles ? metadata.name', '201 "a:B"', {
        metadata: { name: 'a:B' },
      }],
      [
        'POST /apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles',
        '422 Invalid: Role.rbac.authorization.k8s.io "a/b" | a/b rbac.authorization.k8s.io Role | ' +
        `FieldValueInvalid metadata.name Invalid value: "a/b": may not contain '/'`,
        { metadata: { name: 'a/b' } },
      ],
      [
        'POST /apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles',
        '422 Invalid: Role.rbac.authorization.k8s.io ".." | .. rbac.authorization.k8s.io Role | ' +
        `FieldValueInvalid metadata.name Invalid value: "..": may not be '..'`,
        { metadata: { name: '..' } },
      ],
      [
        'POST deploy',
        '422 Invalid: Deployment.apps "A" | A apps Deployment | FieldValueInvalid metadata.name Invalid ' +
        'value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, ' +
        "'-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex " +
        "used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        deploy('A'),
      ],
    ],
  },
  {
    name: 'verbs: generateName',
    steps: [
      ['POST cm ? metadata.generateName data', '201 "gen-" {"a":"b"}', {
        metadata: { generateName: 'gen-' },
        data: { a: 'b' },
      }],
      ['POST cm ? metadata.name metadata.generateName', '201 "n" "gen-"', {
        metadata: { name: 'n', generateName: 'gen-' },
      }],
      [
        'POST cm',
        '409 AlreadyExists: configmaps "n" already exists, the server was not able to generate a unique ' +
        'name for the object | n configmaps 1',
        { metadata: { name: 'n', generateName: 'gen-' } },
      ],
      [
        'POST cm',
        '422 Invalid: ConfigMap "Gen-{random}" | Gen-{random} ConfigMap | FieldValueInvalid ' +
        'metadata.generateName Invalid value: "Gen-": a lowercase RFC 1123 subdomain must consist of ' +
        "lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
        "character (e.g. 'example.com', regex used for validation is " +
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*') | FieldValueInvalid " +
        'metadata.name Invalid value: "Gen-{random}": a lowercase RFC 1123 subdomain must consist of ' +
        "lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
        "character (e.g. 'example.com', regex used for validation is " +
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        { metadata: { generateName: 'Gen-' } },
      ],
      [
        'POST cm',
        '422 Invalid: ConfigMap "gen_{random}" | gen_{random} ConfigMap | FieldValueInvalid ' +
        'metadata.generateName Invalid value: "gen_": a lowercase RFC 1123 subdomain must consist of ' +
        "lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
        "character (e.g. 'example.com', regex used for validation is " +
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*') | FieldValueInvalid " +
        'metadata.name Invalid value: "gen_{random}": a lowercase RFC 1123 subdomain must consist of ' +
        "lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
        "character (e.g. 'example.com', regex used for validation is " +
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        { metadata: { generateName: 'gen_' } },
      ],
      [
        'POST foos',
        '422 Invalid: Foo.{group} "GEN{random}" | GEN{random} {group} Foo | FieldValueInvalid ' +
        'metadata.generateName Invalid value: "GEN": a lowercase RFC 1123 subdomain must consist of lower ' +
        "case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character " +
        "(e.g. 'example.com', regex used for validation is " +
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*') | FieldValueInvalid " +
        'metadata.name Invalid value: "GEN{random}": a lowercase RFC 1123 subdomain must consist of lower ' +
        "case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character " +
        "(e.g. 'example.com', regex used for validation is " +
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        { ...foo(''), metadata: { generateName: 'GEN' } },
      ],
      ['POST foos ? spec.size', '422 -', { ...foo(''), metadata: { generateName: 'gen.' } }],
      ['POST cm?dryRun=All ? metadata.generateName', '201 "gen-"', { metadata: { generateName: 'gen-' } }],
    ],
  },
  {
    name: 'verbs: fields that only the server sets, in a create',
    steps: [
      [
        'POST cm ? metadata.uid metadata.generation metadata.selfLink metadata.deletionTimestamp metadata.managedFields.length',
        '201 "{uid}" 7 - - -',
        cm('a', {}, {
          uid: 'mine',
          generation: 7,
          selfLink: '/x',
          creationTimestamp: '2001-01-01T00:00:00Z',
          deletionTimestamp: '2001-01-01T00:00:00Z',
          deletionGracePeriodSeconds: 5,
        }),
      ],
      ['POST foos ? metadata.generation metadata.deletionTimestamp status', '201 1 - -', {
        ...foo('a', { size: 1 }, { generation: 7, deletionTimestamp: '2001-01-01T00:00:00Z' }),
        status: { ready: 1 },
      }],
      ['POST deploy ? metadata.generation status', '201 1 {}', { ...deploy('a'), status: { replicas: 3 } }],
      [
        'POST cm',
        '500 : resourceVersion should not be set on objects to be created',
        cm('b', {}, { resourceVersion: '5' }),
      ],
      [
        'POST foos',
        '500 : resourceVersion should not be set on objects to be created',
        foo('b', { size: 1 }, { resourceVersion: '5' }),
      ],
      ['POST cm', '201 ConfigMap b', cm('b', {}, { resourceVersion: 'abc' })],
      ['POST cm ? metadata.name', '409 -', cm('b', {}, { resourceVersion: '0' })],
      ['POST foos', '201 Foo c', foo('c', { size: 1 }, { resourceVersion: 'abc' })],
    ],
  },
  {
    name: 'verbs: namespaces of creates',
    steps: [
      [
        'POST cm',
        '400 BadRequest: the namespace of the provided object does not match the namespace sent on the ' +
        'request',
        cm('a', {}, { namespace: 'other' }),
      ],
      [
        'POST foos',
        '400 BadRequest: the namespace of the provided object does not match the namespace sent on the ' +
        'request',
        foo('a', { size: 1 }, { namespace: 'other' }),
      ],
      [
        'POST /api/v1/namespaces/nope/configmaps',
        '404 NotFound: namespaces "nope" not found | nope namespaces',
        cm('a'),
      ],
      [
        'POST /apis/{group}/v1/namespaces/nope/foos',
        '404 NotFound: namespaces "nope" not found | nope namespaces',
        foo('a'),
      ],
      [
        'POST /api/v1/namespaces/nope/configmaps?dryRun=All',
        '404 NotFound: namespaces "nope" not found | nope namespaces',
        cm('a'),
      ],
      [
        'POST /api/v1/namespaces/nope/configmaps',
        '404 NotFound: namespaces "nope" not found | nope namespaces',
        cm('A'),
      ],
      ['POST /api/v1/namespaces', '201 Namespace x-{ns}', { metadata: { name: 'x-{ns}', namespace: 'other' } }],
      ['GET /api/v1/namespaces/nope/configmaps', '200 ConfigMapList []'],
      ['DELETE /api/v1/namespaces/nope/configmaps/a', '404 NotFound: configmaps "a" not found | a configmaps'],
    ],
  },
  {
    name: 'verbs: kinds of bodies',
    steps: [
      [
        'POST cm',
        '400 BadRequest: Secret in version "v1" cannot be handled as a ConfigMap: illegal base64 data at ' +
        'input byte 0',
        { ...cm('a'), kind: 'Secret' },
      ],
      [
        'POST cm',
        '400 BadRequest: Nope in version "v1" cannot be handled as a ConfigMap: no kind "Nope" is ' +
        'registered for version "v1" in scheme "pkg/runtime/scheme.go:111"',
        { ...cm('a'), kind: 'Nope' },
      ],
      [
        'POST cm',
        '400 BadRequest: ConfigMap in version "v2" cannot be handled as a ConfigMap: no kind "ConfigMap" ' +
        'is registered for version "v2" in scheme "pkg/runtime/scheme.go:111"',
        { ...cm('a'), apiVersion: 'v2' },
      ],
      [
        'POST cm',
        '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: no kind "ConfigMap" ' +
        'is registered for version "apps/v1" in scheme "pkg/runtime/scheme.go:111"',
        { ...cm('a'), apiVersion: 'apps/v1' },
      ],
      [
        'POST cm',
        '400 BadRequest: Secret in version "v1" cannot be handled as a ConfigMap: converting (v1.Secret) ' +
        'to (core.ConfigMap): unknown conversion',
        { ...cm('a', {}), kind: 'Secret' },
      ],
      [
        'POST deploy',
        '400 BadRequest: Secret in version "v1" cannot be handled as a Deployment: converting (v1.Secret) ' +
        'to (apps.Deployment): unknown conversion',
        { ...cm('a', {}), kind: 'Secret' },
      ],
      [
        'POST deploy',
        '400 BadRequest: the API version in the data (extensions/v1beta1) does not match the expected API ' +
        'version (apps/v1)',
        { ...deploy('a'), apiVersion: 'extensions/v1beta1' },
      ],
      [
        'POST foos',
        '422 Invalid: Bar.{group} "a" | a {group} Bar | FieldValueInvalid kind Invalid value: "Bar": must ' +
        'be Foo',
        { ...foo('a'), kind: 'Bar' },
      ],
      [
        'POST foos',
        '400 BadRequest: the API version in the data (apps/v1) does not match the expected API version ' +
        '({group}/v1)',
        { ...foo('a'), apiVersion: 'apps/v1' },
      ],
      [
        'POST foos',
        '400 BadRequest: the API version in the data ({group}/v2) does not match the expected API version ' +
        '({group}/v1)',
        { ...foo('a'), apiVersion: '{group}/v2' },
      ],
      ['POST cm ? kind', '201 "ConfigMap"', { metadata: { name: 'a' } }],
    ],
  },
  {
    name: 'verbs: updates with a version, a uid or none of them',
    steps: [
      ['POST cm', '201 ConfigMap a', cm('a')],
      ['PUT cm/a ? data', '200 {"k":"w"}', cm('a', { k: 'w' })],
      [
        'PUT cm/a',
        '409 Conflict: Operation cannot be fulfilled on configmaps "a": the object has been modified; ' +
        'please apply your changes to the latest version and try again | a configmaps',
        edited((object) => (object.metadata.resourceVersion = '1'), 0),
      ],
      ['PUT cm/a', '500 : strconv.ParseUint: parsing "abc": invalid syntax', cm('a', {}, { resourceVersion: 'abc' })],
      [
        'PUT cm/a',
        '409 Conflict: Operation cannot be fulfilled on configmaps "a": StorageError: invalid object, ' +
        'Code: 4, Key: /registry/configmaps/{ns}/a, ResourceVersion: {rv}, AdditionalErrorMsg: ' +
        'Precondition failed: UID in precondition: other, UID in object meta: {uid} | a configmaps',
        cm('a', {}, { uid: 'other' }),
      ],
      ['PUT cm/a ? metadata.creationTimestamp', '200 "{time}"', cm('a', {}, { resourceVersion: '0' })],
      ['PUT cm/nope', '404 NotFound: configmaps "nope" not found | nope configmaps', cm('nope')],
      [
        'PUT cm/nope',
        '404 NotFound: configmaps "nope" not found | nope configmaps',
        cm('nope', {}, { resourceVersion: '5' }),
      ],
      ['PUT cm/nope', '404 NotFound: configmaps "nope" not found | nope configmaps', cm('nope', {}, { uid: '5' })],
      ['POST foos', '201 Foo a', foo('a')],
      [
        'PUT foos/a',
        '422 Invalid: foos.{group} "a" | a {group} foos | FieldValueInvalid metadata.resourceVersion ' +
        'Invalid value: 0: must be specified for an update',
        foo('a'),
      ],
      [
        'PUT foos/a',
        '422 Invalid: foos.{group} "a" | a {group} foos | FieldValueInvalid metadata.resourceVersion ' +
        'Invalid value: 0: must be specified for an update',
        foo('a', { size: 1 }, { resourceVersion: '0' }),
      ],
      [
        'PUT foos/a',
        '409 Conflict: Operation cannot be fulfilled on foos.{group} "a": the object has been modified; ' +
        'please apply your changes to the latest version and try again | a {group} foos',
        foo('a', { size: 1 }, { resourceVersion: '1' }),
      ],
      [
        'PUT foos/a',
        '500 : strconv.ParseUint: parsing "abc": invalid syntax',
        foo('a', { size: 1 }, { resourceVersion: 'abc' }),
      ],
      ['PUT foos/nope', '404 NotFound: foos.{group} "nope" not found | nope {group} foos', foo('nope')],
      [
        'PUT foos/nope',
        '404 NotFound: foos.{group} "nope" not found | nope {group} foos',
        foo('nope', { size: 1 }, { resourceVersion: '1' }),
      ],
      ['GET foos/a', '200 Foo a'],
      [
        'PUT foos/a',
        '409 Conflict: Operation cannot be fulfilled on foos.{group} "a": StorageError: invalid object, ' +
        'Code: 4, Key: /registry/{group}/foos/{ns}/a, ResourceVersion: {rv}, AdditionalErrorMsg: ' +
        'Precondition failed: UID in precondition: other, UID in object meta: {uid} | a {group} foos',
        edited((object) => (object.metadata.uid = 'other')),
      ],
      ['POST deploy', '201 Deployment a', deploy('a')],
      [
        'PUT deploy/a',
        '409 Conflict: Operation cannot be fulfilled on deployments.apps "a": the object has been ' +
        'modified; please apply your changes to the latest version and try again | a apps deployments',
        deploy('a', { replicas: 2 }, { resourceVersion: '1' }),
      ],
      [
        'PUT deploy/a',
        '409 Conflict: Operation cannot be fulfilled on deployments.apps "a": StorageError: invalid ' +
        'object, Code: 4, Key: /registry/deployments/{ns}/a, ResourceVersion: {rv}, AdditionalErrorMsg: ' +
        'Precondition failed: UID in precondition: other, UID in object meta: {uid} | a apps deployments',
        deploy('a', { replicas: 2 }, { uid: 'other' }),
      ],
    ],
  },
  {
    name: 'verbs: immutable metadata in updates',
    steps: [
      ['POST foos', '201 Foo a', foo('a', { size: 1 }, { generateName: 'g' })],
      [
        'PUT foos/a',
        '400 BadRequest: the name of the object (b) does not match the name on the URL (a)',
        edited((object) => (object.metadata.name = 'b'), 0),
      ],
      [
        'PUT foos/a',
        '400 BadRequest: the name of the object (a based on URL) was undeterminable: name must be ' +
        'provided',
        edited((object) => (object.metadata.name = ''), 0),
      ],
      [
        'PUT foos/a',
        '400 BadRequest: the namespace of the provided object does not match the namespace sent on the ' +
        'request',
        edited((object) => (object.metadata.namespace = 'other'), 0),
      ],
      [
        'PUT foos/a',
        '400 BadRequest: the name of the object (a based on URL) was undeterminable: name must be ' +
        'provided',
        edited((object) => delete object.metadata, 0),
      ],
      ['PUT foos/a ? metadata.generation', '200 1', edited((object) => (object.metadata.generation = 9), 0)],
      ['PUT foos/a', '200 Foo a', edited((object) => (object.metadata.creationTimestamp = '2001-01-01T00:00:00Z'), 0)],
      ['PUT foos/a ? metadata.generateName', '200 -', edited((object) => delete object.metadata.generateName, 0)],
      ['PUT foos/a ? metadata.deletionTimestamp', '422 -', (answers: readonly Body[]) => ({
        ...answers[0],
        metadata: {
          ...answers[0].metadata,
          deletionTimestamp: '2001-01-01T00:00:00Z',
          resourceVersion: answers.at(-1).metadata?.resourceVersion,
        },
      })],
      ['POST cm', '201 ConfigMap a', cm('a')],
      [
        'PUT cm/a',
        '400 BadRequest: the name of the object (b) does not match the name on the URL (a)',
        edited((object) => (object.metadata.name = 'b')),
      ],
      [
        'PUT cm/a',
        '400 BadRequest: the name of the object (a based on URL) was undeterminable: name must be ' +
        'provided',
        cm(''),
      ],
      [
        'PUT cm/a',
        '200 ConfigMap a',
        edited((object) => (object.metadata.creationTimestamp = '2001-01-01T00:00:00Z'), -3),
      ],
      [
        'PUT cm/a',
        '400 BadRequest: the namespace of the provided object does not match the namespace sent on the ' +
        'request',
        cm('a', {}, { namespace: 'other' }),
      ],
    ],
  },
  {
    name: 'verbs: updates without a change keep the version',
    steps: [
      ['POST foos', '201 Foo a', foo('a')],
      ['PUT foos/a', '200 Foo a', edited(() => {})],
      ['GET foos?resourceVersion={0.metadata.resourceVersion}&resourceVersionMatch=Exact', '200 FooList [a]'],
      ['PUT foos/a ? metadata.generation', '200 2', edited((object) => (object.spec.size = 2), 0)],
      [
        'PUT foos/a',
        '409 Conflict: Operation cannot be fulfilled on foos.{group} "a": the object has been modified; ' +
        'please apply your changes to the latest version and try again | a {group} foos',
        edited((object) => (object.spec.size = 3), 0),
      ],
      [
        'PUT foos/a/status ? metadata.generation status spec.size',
        '200 2 {"ready":1} 2',
        edited((object) => {
          object.status = { ready: 1 }
          object.spec.size = 9
        }, 3),
      ],
      [
        'PUT foos/a ? metadata.generation status spec.size',
        '200 2 {"ready":1} 2',
        edited((object) => {
          delete object.status
          object.metadata.labels = { a: 'b' }
        }),
      ],
      [
        'PUT foos/a/status ? status metadata.labels',
        '422 "Failure" -',
        edited((object) => {
          object.status = { ready: 'x' }
        }),
      ],
      [
        'PUT foos/a/status ? status metadata.labels',
        '200 {"ready":4} {"a":"b"}',
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
      [
        'POST cm',
        '422 Invalid: ConfigMap "A" | A ConfigMap | FieldValueInvalid data[a b] Invalid value: "a b": a ' +
        "valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or " +
        "'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+') | FieldValueInvalid " +
        `data[c d] Invalid value: "c d": a valid config key must consist of alphanumeric characters, '-', ` +
        "'_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is " +
        `'[-._a-zA-Z0-9]+') | FieldValueInvalid metadata.finalizers[0] Invalid value: "x": name is ` +
        'neither a standard finalizer name nor is it fully qualified | FieldValueInvalid metadata.labels ' +
        `Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and ` +
        "must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', " +
        "regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') | FieldValueInvalid " +
        'metadata.labels Invalid value: "e f": a valid label must be an empty string or consist of ' +
        "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
        "(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is " +
        "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?') | FieldValueInvalid metadata.name Invalid value: " +
        `"A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or ` +
        "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for " +
        "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        cm('A', { 'a b': '1', 'c d': '2' }, { labels: { 'a b': 'c', d: 'e f' }, finalizers: ['x'] }),
      ],
      [
        'POST foos',
        '422 Invalid: Foo.{group} "A" | A {group} Foo | FieldValueInvalid metadata.name Invalid value: ' +
        `"A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or ` +
        "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for " +
        "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*') | " +
        'FieldValueNotSupported spec.mode Unsupported value: "none": supported values: "fast", "slow" | ' +
        'FieldValueInvalid spec.name Invalid value: "X": spec.name in body should be at least 2 chars ' +
        'long | FieldValueRequired spec.parts[0].name Required value | FieldValueInvalid spec.size ' +
        'Invalid value: 99: spec.size in body should be less than or equal to 10',
        foo('A', { size: 99, mode: 'none', name: 'X', parts: [{}] }),
      ],
      [
        'POST foos',
        '422 Invalid: Foo.{group} "a" | a {group} Foo | FieldValueInvalid .spec.size Invalid value: 0: ' +
        '.spec.size accessor error: 5 is of the type int64, expected map[string]interface{} | ' +
        'FieldValueTypeInvalid spec Invalid value: "integer": spec in body must be of type object: ' +
        `"integer" warnings: "unknown field 'extra'"`,
        { ...foo('a', 5), extra: 1 },
      ],
      [
        'POST foos',
        '422 Invalid: Foo.{group} "a" | a {group} Foo | FieldValueInvalid .spec.size Invalid value: 0: ' +
        '.spec.size accessor error: 1 is of the type string, expected int64 | FieldValueTypeInvalid ' +
        'spec.name Invalid value: "integer": spec.name in body must be of type string: "integer" | ' +
        'FieldValueTypeInvalid spec.plain[0] Invalid value: "integer": spec.plain[0] in body must be of ' +
        'type string: "integer" | FieldValueTypeInvalid spec.plain[2] Invalid value: "boolean": ' +
        'spec.plain[2] in body must be of type string: "boolean" | FieldValueTypeInvalid spec.size ' +
        'Invalid value: "string": spec.size in body must be of type integer: "string" | ' +
        'FieldValueTypeInvalid spec.tags Invalid value: "string": spec.tags in body must be of type ' +
        'array: "string"',
        foo('a', { size: '1', name: 5, tags: 'x', plain: [1, 'a', true] }),
      ],
      [
        'POST deploy',
        '422 Invalid: Deployment.apps "A" | A apps Deployment | FieldValueInvalid metadata.name Invalid ' +
        'value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, ' +
        "'-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex " +
        "used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*') | " +
        'FieldValueInvalid spec.replicas Invalid value: -1: must be greater than or equal to 0 | ' +
        'FieldValueInvalid spec.selector Invalid value: {}: empty selector is invalid for deployment | ' +
        'FieldValueRequired spec.template.spec.containers Required value',
        deploy('A', { replicas: -1, template: {}, selector: {} }),
      ],
      [
        'POST deploy',
        '422 Invalid: Deployment.apps "a" | a apps Deployment | FieldValueRequired spec.selector Required ' +
        'value | FieldValueInvalid spec.template.metadata.labels Invalid value: null: `selector` does not ' +
        'match template `labels` | FieldValueRequired spec.template.spec.containers Required value',
        { metadata: { name: 'a' } },
      ],
      [
        'POST deploy',
        '422 Invalid: Deployment.apps "a" | a apps Deployment | FieldValueRequired spec.selector Required ' +
        'value | FieldValueInvalid spec.template.metadata.labels Invalid value: null: `selector` does not ' +
        'match template `labels` | FieldValueRequired spec.template.spec.containers Required value',
        { metadata: { name: 'a' }, spec: {} },
      ],
      ['POST foos', '201 Foo a', { ...foo('a'), spec: undefined }],
      [
        'POST foos',
        '422 Invalid: Foo.{group} "a" | a {group} Foo | FieldValueRequired spec.size Required value',
        foo('a', {}),
      ],
      ['POST foos', '409 AlreadyExists: foos.{group} "a" already exists | a {group} foos', foo('a', null)],
    ],
  },
  {
    name: 'verbs: invalid labels, annotations, owners and finalizers',
    steps: [
      [
        'POST cm',
        '422 Invalid: ConfigMap "a" | a ConfigMap | FieldValueInvalid metadata.labels Invalid value: "": ' +
        'name part must be non-empty | FieldValueInvalid metadata.labels Invalid value: "": name part ' +
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
        "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation " +
        "is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        cm('a', {}, { labels: { '': 'a' } }),
      ],
      [
        'POST cm',
        '422 Invalid: ConfigMap "a" | a ConfigMap | FieldValueInvalid metadata.labels Invalid value: ' +
        `"a/b/c": a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must ` +
        "start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex " +
        "used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS " +
        "subdomain prefix and '/' (e.g. 'example.com/MyName')",
        cm('a', {}, { labels: { 'a/b/c': 'a' } }),
      ],
      [
        'POST cm',
        '422 Invalid: ConfigMap "a" | a ConfigMap | FieldValueInvalid metadata.labels Invalid value: ' +
        '"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx": must be no more than 63 ' +
        'bytes',
        cm('a', {}, { labels: { a: 'x'.repeat(64) } }),
      ],
      [
        'POST cm',
        '422 Invalid: ConfigMap "a" | a ConfigMap | FieldValueInvalid metadata.annotations Invalid value: ' +
        `"a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and ` +
        "end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for " +
        "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        cm('a', {}, { annotations: { 'a b': 'a' } }),
      ],
      [
        'POST cm ? metadata.annotations',
        '201 {"A.b/c":"anything: \\n goes"}',
        cm('z', {}, { annotations: { 'A.b/c': 'anything: \n goes' } }),
      ],
      [
        'POST cm',
        '422 Invalid: ConfigMap "a" | a ConfigMap | FieldValueInvalid metadata.ownerReferences.apiVersion ' +
        'Invalid value: "": version must not be empty | FieldValueInvalid metadata.ownerReferences.kind ' +
        'Invalid value: "": must not be empty | FieldValueInvalid metadata.ownerReferences.name Invalid ' +
        'value: "": must not be empty | FieldValueInvalid metadata.ownerReferences.uid Invalid value: "": ' +
        'must not be empty',
        cm('a', {}, { ownerReferences: [{}] }),
      ],
      [
        'POST cm',
        '422 Invalid: ConfigMap "a" | a ConfigMap | FieldValueInvalid metadata.ownerReferences Invalid ' +
        'value: {"apiVersion":"v1","kind":"Event","name":"x","uid":"u"}: /v1, Kind=Event is disallowed ' +
        'from being an owner',
        cm('a', {}, { ownerReferences: [{ apiVersion: 'v1', kind: 'Event', name: 'x', uid: 'u' }] }),
      ],
      [
        'POST cm',
        '422 Invalid: ConfigMap "a" | a ConfigMap | FieldValueInvalid metadata.ownerReferences Invalid ' +
        'value: ' +
        '[{"apiVersion":"v1","kind":"Pod","name":"p1","uid":"1","controller":true},{"apiVersion":"v1","ki' +
        'nd":"Pod","name":"p2","uid":"2","controller":true}]: Only one reference can have Controller set ' +
        'to true. Found "true" in references for Pod/p1 and Pod/p2',
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
      [
        'POST cm',
        '422 Invalid: ConfigMap "a" | a ConfigMap | FieldValueInvalid metadata.finalizers Invalid value: ' +
        '"a b/c": prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric ' +
        "characters, '-' or '.', and must start and end with an alphanumeric character (e.g. " +
        "'example.com', regex used for validation is " +
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*') | FieldValueInvalid " +
        'metadata.finalizers Invalid value: ["x","a b/c","orphan","foregroundDeletion"]: finalizer orphan ' +
        'and foregroundDeletion cannot be both set | FieldValueInvalid metadata.finalizers[0] Invalid ' +
        'value: "x": name is neither a standard finalizer name nor is it fully qualified',
        cm('a', {}, { finalizers: ['x', 'a b/c', 'orphan', 'foregroundDeletion'] }),
      ],
      [
        'POST foos',
        '422 Invalid: Foo.{group} "a" | a {group} Foo | FieldValueInvalid metadata.labels Invalid value: ' +
        `"a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and ` +
        "end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for " +
        "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        foo('a', { size: 1 }, { finalizers: ['x'], labels: { 'a b': 'c' } }),
      ],
      [
        'POST foos',
        '400 BadRequest: Foo in version "v1" cannot be handled as a Foo: json: cannot unmarshal number ' +
        'into Go struct field ObjectMeta.labels of type string',
        foo('a', { size: 1 }, { labels: { a: 5 } }),
      ],
      [
        'POST cm',
        '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot ' +
        'unmarshal number into Go struct field ObjectMeta.metadata.labels of type string',
        cm('a', {}, { labels: { a: 5 } }),
      ],
      [
        'POST cm',
        '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot ' +
        'unmarshal string into Go struct field ObjectMeta.metadata.labels of type map[string]string',
        cm('a', {}, { labels: 'x' }),
      ],
      [
        'POST foos',
        '400 BadRequest: Foo in version "v1" cannot be handled as a Foo: json: cannot unmarshal string ' +
        'into Go struct field ObjectMeta.labels of type map[string]string',
        foo('a', { size: 1 }, { labels: 'x' }),
      ],
      [
        'POST foos ? metadata.labels metadata.annotations',
        '201 - -',
        foo('a', { size: 1 }, { labels: null, annotations: {} }),
      ],
    ],
  },
  {
    name: 'verbs: finalizers and generation of an object in deletion',
    steps: [
      ['POST foos', '201 Foo a', foo('a', { size: 1 }, { finalizers: ['x.io/a', 'x.io/b'] })],
      [
        'DELETE foos/a ? metadata.generation metadata.deletionGracePeriodSeconds metadata.finalizers',
        '200 2 0 ["x.io/a","x.io/b"]',
      ],
      [
        'PUT foos/a',
        '422 Invalid: Foo.{group} "a" | a {group} Foo | FieldValueForbidden metadata.finalizers ' +
        'Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers ' +
        '[]string{"x.io/c"}',
        edited((object) => object.metadata.finalizers.push('x.io/c')),
      ],
      [
        'PUT foos/a ? metadata.finalizers spec.size metadata.generation',
        '200 ["x.io/b"] 2 3',
        edited((object) => {
          object.metadata.finalizers = ['x.io/b']
          object.spec.size = 2
        }, 1),
      ],
      [
        'MERGE foos/a',
        '422 Invalid: Foo.{group} "a" | a {group} Foo | FieldValueForbidden metadata.finalizers ' +
        'Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers ' +
        '[]string{"x.io/a"}',
        { metadata: { finalizers: ['x.io/a', 'x.io/b'] } },
      ],
      ['MERGE foos/a ? metadata.deletionTimestamp', '200 "{time}"', { metadata: { deletionTimestamp: null } }],
      [
        'POST foos',
        '409 AlreadyExists: object is being deleted: foos.{group} "a" already exists | a {group} foos',
        foo('a'),
      ],
      ['DELETE foos/a ? metadata.generation', '200 3'],
      ['MERGE foos/a/status', '200 Foo a', { metadata: { finalizers: null }, status: { ready: 1 } }],
      ['MERGE foos/a ? metadata.finalizers spec.size', '200 - 5', { metadata: { finalizers: [] }, spec: { size: 5 } }],
      ['GET foos/a', '404 NotFound: foos.{group} "a" not found | a {group} foos'],
    ],
  },
  {
    name: 'verbs: dry runs of every verb store nothing',
    steps: [
      ['POST foos?dryRun=All ? metadata.name spec.mode metadata.resourceVersion', '201 "a" "fast" -', foo('a')],
      ['GET foos/a', '404 NotFound: foos.{group} "a" not found | a {group} foos'],
      [
        'POST foos?dryRun=all',
        '422 Invalid: CreateOptions.meta.k8s.io "" | meta.k8s.io CreateOptions | FieldValueNotSupported ' +
        'dryRun Unsupported value: ["all"]: supported values: "All"',
        foo('a'),
      ],
      [
        'POST foos?dryRun=',
        '422 Invalid: CreateOptions.meta.k8s.io "" | meta.k8s.io CreateOptions | FieldValueNotSupported ' +
        'dryRun Unsupported value: [""]: supported values: "All"',
        foo('d0'),
      ],
      ['POST foos?dryRun=All&dryRun=All', '201 Foo a', foo('a')],
      [
        'POST foos?dryRun=All&dryRun=None',
        '422 Invalid: CreateOptions.meta.k8s.io "" | meta.k8s.io CreateOptions | FieldValueNotSupported ' +
        'dryRun Unsupported value: ["All","None"]: supported values: "All"',
        foo('a'),
      ],
      ['POST foos', '201 Foo b', foo('b')],
      ['PUT foos/b?dryRun=All ? spec.size', '200 4', edited((object) => (object.spec.size = 4))],
      [
        'PUT foos/b?dryRun=x',
        '422 Invalid: UpdateOptions.meta.k8s.io "" | meta.k8s.io UpdateOptions | FieldValueNotSupported ' +
        'dryRun Unsupported value: ["x"]: supported values: "All"',
        edited((object) => (object.spec.size = 4), -2),
      ],
      ['MERGE foos/b?dryRun=All ? spec.size metadata.generation', '200 4 2', { spec: { size: 4 } }],
      [
        'MERGE foos/b?dryRun=x',
        '422 Invalid: PatchOptions.meta.k8s.io "" | meta.k8s.io PatchOptions | FieldValueNotSupported ' +
        'dryRun Unsupported value: ["x"]: supported values: "All"',
        { spec: { size: 4 } },
      ],
      ['APPLY foos/b?dryRun=All&fieldManager=m&force=true ? spec.size', '200 5', foo('b', { size: 5 })],
      ['APPLY foos/c?dryRun=All&fieldManager=m ? spec.size metadata.uid', '201 5 "{uid}"', foo('c', { size: 5 })],
      ['MERGE foos/b/scale?dryRun=All ? spec', '200 {"replicas":7}', { spec: { replicas: 7 } }],
      ['MERGE foos/b/status?dryRun=All ? status', '200 {"ready":7}', { status: { ready: 7 } }],
      ['DELETE foos/b?dryRun=All', '200 Success | b {group} foos {uid}'],
      [
        'DELETE foos/b',
        '422 Invalid: DeleteOptions.meta.k8s.io "" | meta.k8s.io DeleteOptions | FieldValueNotSupported ' +
        'dryRun Unsupported value: ["x"]: supported values: "All"',
        { dryRun: ['x'] },
      ],
      [
        'DELETE foos/b?dryRun=x',
        '422 Invalid: DeleteOptions.meta.k8s.io "" | meta.k8s.io DeleteOptions | FieldValueNotSupported ' +
        'dryRun Unsupported value: ["x"]: supported values: "All"',
      ],
      ['DELETE foos/b', '200 Success | b {group} foos {uid}', { dryRun: ['All'] }],
      ['DELETE foos?dryRun=All', '200 FooList [b]'],
      ['GET foos ? items.0.metadata.name items.1.spec.size items.1.status', '200 "b" - -'],
      ['PUT foos/nope?dryRun=All', '404 NotFound: foos.{group} "nope" not found | nope {group} foos', foo('nope')],
      ['POST foos?dryRun=All', '409 AlreadyExists: foos.{group} "b" already exists | b {group} foos', foo('b')],
      [
        'POST foos?dryRun=All',
        '422 Invalid: Foo.{group} "b" | b {group} Foo | FieldValueInvalid spec.size Invalid value: 99: ' +
        'spec.size in body should be less than or equal to 10',
        foo('b', { size: 99 }),
      ],
    ],
  },
  {
    name: 'verbs: options of writes that are invalid',
    steps: [
      [
        'POST cm?fieldValidation=strict',
        '422 Invalid: CreateOptions.meta.k8s.io "" | meta.k8s.io CreateOptions | FieldValueNotSupported ' +
        'fieldValidation Unsupported value: "strict": supported values: "", "Ignore", "Strict", "Warn"',
        cm('a'),
      ],
      [
        'PUT cm/a?fieldValidation=strict',
        '422 Invalid: UpdateOptions.meta.k8s.io "" | meta.k8s.io UpdateOptions | FieldValueNotSupported ' +
        'fieldValidation Unsupported value: "strict": supported values: "", "Ignore", "Strict", "Warn"',
        cm('a'),
      ],
      [
        'MERGE cm/a?fieldValidation=strict',
        '422 Invalid: PatchOptions.meta.k8s.io "" | meta.k8s.io PatchOptions | FieldValueNotSupported ' +
        'fieldValidation Unsupported value: "strict": supported values: "", "Ignore", "Strict", "Warn"',
        {},
      ],
      [
        'POST cm?fieldManager=%00',
        '422 Invalid: CreateOptions.meta.k8s.io "" | meta.k8s.io CreateOptions | FieldValueInvalid ' +
        'fieldManager Invalid value: "\\x00": invalid character U+0000 (at position 0)',
        cm('a'),
      ],
      [
        `POST cm?fieldManager=${'x'.repeat(129)}`,
        '422 Invalid: CreateOptions.meta.k8s.io "" | meta.k8s.io CreateOptions | FieldValueTooLong ' +
        'fieldManager Too long: may not be more than 128 bytes',
        cm('a'),
      ],
      [
        `PUT cm/a?fieldManager=${'x'.repeat(129)}`,
        '422 Invalid: UpdateOptions.meta.k8s.io "" | meta.k8s.io UpdateOptions | FieldValueTooLong ' +
        'fieldManager Too long: may not be more than 128 bytes',
        cm('a'),
      ],
      [
        `MERGE cm/a?fieldManager=${'x'.repeat(129)}`,
        '422 Invalid: PatchOptions.meta.k8s.io "" | meta.k8s.io PatchOptions | FieldValueTooLong ' +
        'fieldManager Too long: may not be more than 128 bytes',
        {},
      ],
      [
        'MERGE cm/a?force=true',
        '422 Invalid: PatchOptions.meta.k8s.io "" | meta.k8s.io PatchOptions | FieldValueForbidden force ' +
        'Forbidden: may not be specified for non-apply patch',
        {},
      ],
      [
        'MERGE cm/a?force=false',
        '422 Invalid: PatchOptions.meta.k8s.io "" | meta.k8s.io PatchOptions | FieldValueForbidden force ' +
        'Forbidden: may not be specified for non-apply patch',
        {},
      ],
      [
        'APPLY cm/a',
        '422 Invalid: PatchOptions.meta.k8s.io "" | meta.k8s.io PatchOptions | FieldValueRequired ' +
        'fieldManager Required value: is required for apply patch',
        cm('a'),
      ],
      ['APPLY cm/a?fieldManager=m&force=x ? data', '201 {"k":"v"}', cm('a')],
      [
        `POST cm?fieldManager=${'x'.repeat(129)}&dryRun=x&fieldValidation=x`,
        '422 Invalid: CreateOptions.meta.k8s.io "" | meta.k8s.io CreateOptions | FieldValueNotSupported ' +
        'dryRun Unsupported value: ["x"]: supported values: "All" | FieldValueTooLong fieldManager Too ' +
        'long: may not be more than 128 bytes | FieldValueNotSupported fieldValidation Unsupported value: ' +
        '"x": supported values: "", "Ignore", "Strict", "Warn"',
        cm('a'),
      ],
      [
        'POST foos?fieldValidation=x',
        '422 Invalid: CreateOptions.meta.k8s.io "" | meta.k8s.io CreateOptions | FieldValueNotSupported ' +
        'fieldValidation Unsupported value: "x": supported values: "", "Ignore", "Strict", "Warn"',
        foo('a'),
      ],
    ],
  },
  {
    name: 'verbs: a Deployment keeps its selector, its status and its generation',
    steps: [
      ['POST deploy ? metadata.generation', '201 1', deploy('a')],
      [
        'PUT deploy/a',
        '422 Invalid: Deployment.apps "a" | a apps Deployment | FieldValueInvalid spec.selector Invalid ' +
        'value: {"matchLabels":{"app":"b"}}: field is immutable | FieldValueInvalid ' +
        'spec.template.metadata.labels Invalid value: {"app":"a"}: `selector` does not match template ' +
        '`labels`',
        deploy('a', { selector: { matchLabels: { app: 'b' } } }),
      ],
      ['PUT deploy/a ? metadata.generation spec.replicas', '200 2 3', deploy('a', { replicas: 3 })],
      [
        'PUT deploy/a/status ? metadata.generation spec.replicas status',
        '200 2 3 {"observedGeneration":2,"replicas":3}',
        {
          ...deploy('a', { replicas: 9 }, { labels: { x: 'y' }, annotations: { x: 'y' } }),
          status: { replicas: 3, observedGeneration: 2 },
        },
      ],
      [
        'PUT deploy/a ? status metadata.annotations',
        '200 {"observedGeneration":2,"replicas":3} -',
        deploy('a', { replicas: 3 }),
      ],
      ['PUT deploy/a/scale ? spec status', '200 {"replicas":6} {"replicas":3,"selector":"app=a"}', {
        metadata: { name: 'a' },
        spec: { replicas: 6 },
      }],
      ['PUT deploy/a/scale', '400 BadRequest: the name of the object (b) does not match the name on the URL (a)', {
        metadata: { name: 'b' },
        spec: { replicas: 6 },
      }],
      [
        'PUT deploy/a/scale',
        '422 Invalid: Scale.autoscaling "a" | a autoscaling Scale | FieldValueInvalid spec.replicas ' +
        'Invalid value: -6: must be greater than or equal to 0',
        { metadata: { name: 'a' }, spec: { replicas: -6 } },
      ],
      [
        'PUT deploy/a/scale',
        '409 Conflict: Operation cannot be fulfilled on deployments.apps "a": the object has been ' +
        'modified; please apply your changes to the latest version and try again | a apps deployments',
        { metadata: { name: 'a', resourceVersion: '1' }, spec: { replicas: 6 } },
      ],
      [
        'PUT deploy/a/scale',
        '400 BadRequest: Scale in version "v1" cannot be handled as a Scale: json: cannot unmarshal ' +
        'string into Go struct field ScaleSpec.spec.replicas of type int32',
        { metadata: { name: 'a' }, spec: { replicas: 'x' } },
      ],
      ['MERGE deploy/a/scale', '200 Scale a', { spec: { replicas: null } }],
      ['GET deploy/a ? spec.replicas metadata.generation', '200 0 5'],
      ['GET deploy/nope/scale', '404 NotFound: deployments.apps "nope" not found | nope apps deployments'],
      ['GET foos/nope/status', '404 NotFound: foos.{group} "nope" not found | nope {group} foos'],
      ['PUT foos/nope/status', '404 NotFound: foos.{group} "nope" not found | nope {group} foos', foo('nope')],
    ],
  },
]
