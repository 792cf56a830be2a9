/** Scripts of server-side apply and managedFields. The answers are those of kube-apiserver. */
import type { Body } from './api.ts'
import { cm, deploy, foo, type Script, type Step } from './transcript.ts'

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
/** A body as kubectl's client-side apply sends it. */
const lastApplied = (object: Body): Body => ({
  ...object,
  metadata: {
    ...object.metadata,
    annotations: { 'kubectl.kubernetes.io/last-applied-configuration': `${JSON.stringify(object)}\n` },
  },
})
const AS_KUBECTL = { userAgent: 'kubectl/v1.36.3' }
const CLIENT = '?fieldManager=kubectl-client-side-apply'
const SERVER = '?fieldManager=kubectl'
const forced = (manager: string): string => `?fieldManager=${manager}&force=true`
const make = (name: string): Step => ['POST foos', `201 Foo ${name}`, foo(name)]

export const APPLY_SCRIPTS: readonly Script[] = [
  {
    name: 'verbs: applies of a ConfigMap by two managers',
    steps: [
      [
        `APPLY cm/a?fieldManager=one ? data ${MANAGED}`,
        '201 {"a":"1","b":"1"} ' +
        '[{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:a":{},"f:b":{}}},"manager":' +
        '"one","operation":"Apply","time":"{time}"}]',
        cm('a', { a: '1', b: '1' }),
      ],
      [
        `APPLY cm/a?fieldManager=two ? data ${MANAGED}`,
        '200 {"a":"1","b":"1","c":"2"} ' +
        '[{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:a":{},"f:b":{}}},"manager":' +
        '"one","operation":"Apply","time":"{time}"},{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1"' +
        ':{"f:data":{"f:c":{}}},"manager":"two","operation":"Apply","time":"{time}"}]',
        cm('a', { c: '2' }),
      ],
      [
        'APPLY cm/a?fieldManager=two',
        '409 Conflict: Apply failed with 2 conflicts: conflicts with "one":\n- .data.a\n- .data.b | ' +
        'FieldManagerConflict .data.a conflict with "one" | FieldManagerConflict .data.b conflict with ' +
        '"one"',
        cm('a', { a: '2', b: '2' }),
      ],
      [
        `APPLY cm/a${forced('two')} ? data ${MANAGED}`,
        '200 {"a":"2","b":"1"} ' +
        '[{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:b":{}}},"manager":"one","op' +
        'eration":"Apply","time":"{time}"},{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data' +
        '":{"f:a":{}}},"manager":"two","operation":"Apply","time":"{time}"}]',
        cm('a', { a: '2' }),
      ],
      [
        `APPLY cm/a?fieldManager=one ? data ${MANAGED}`,
        '200 {"a":"2","b":"1"} ' +
        '[{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:b":{}}},"manager":"one","op' +
        'eration":"Apply","time":"{time}"},{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data' +
        '":{"f:a":{}}},"manager":"two","operation":"Apply","time":"{time}"}]',
        cm('a', { b: '1' }),
      ],
      [
        'APPLY cm/a?fieldManager=one',
        '409 Conflict: Apply failed with 1 conflict: conflict with "two": .data.a | FieldManagerConflict ' +
        '.data.a',
        cm('a', { a: '1' }),
      ],
      [
        `APPLY cm/a?fieldManager=one ? data ${MANAGED}`,
        '200 {"a":"2"} ' +
        '[{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:a":{}}},"manager":"one","op' +
        'eration":"Apply","time":"{time}"},{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data' +
        '":{"f:a":{}}},"manager":"two","operation":"Apply","time":"{time}"}]',
        cm('a', { a: '2' }),
      ],
      [
        `APPLY cm/a?fieldManager=two ? data ${MANAGED}`,
        '200 {"a":"2"} ' +
        '[{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:a":{}}},"manager":"one","op' +
        'eration":"Apply","time":"{time}"}]',
        named('cm'),
      ],
      [`APPLY cm/a?fieldManager=one ? data ${MANAGED}`, '200 - -', named('cm')],
    ],
  },
  {
    name: 'verbs: conflicts of an apply with several managers',
    steps: [
      ['APPLY foos/a?fieldManager=one', '201 Foo a', foo('a', { size: 1, tags: ['x'], plain: ['p'] })],
      ['MERGE foos/a?fieldManager=two', '200 Foo a', { spec: { name: 'abc', labels: { a: '1' } } }],
      ['MERGE foos/a/status?fieldManager=three', '200 Foo a', { status: { ready: 1 } }],
      [
        'APPLY foos/a?fieldManager=four',
        '409 Conflict: Apply failed with 4 conflicts: conflicts with "one":\n- .spec.plain\n- ' +
        '.spec.size\nconflicts with "two" using {group}/v1:\n- .spec.name\n- .spec.labels.a | ' +
        'FieldManagerConflict .spec.labels.a conflict with "two" using {group}/v1 | FieldManagerConflict ' +
        '.spec.name conflict with "two" using {group}/v1 | FieldManagerConflict .spec.plain conflict with ' +
        '"one" | FieldManagerConflict .spec.size conflict with "one"',
        foo('a', { size: 2, name: 'abd', plain: ['q'], labels: { a: '2' } }),
      ],
      [
        'APPLY foos/a/status?fieldManager=four',
        '409 Conflict: Apply failed with 1 conflict: conflict with "three" with subresource "status" ' +
        'using {group}/v1: .status.ready | FieldManagerConflict .status.ready',
        named('foo', { status: { ready: 2 } }),
      ],
      ['APPLY foos/a?fieldManager=four ? spec.tags', '200 ["x","y"]', foo('a', { tags: ['y'] })],
      [
        'APPLY foos/a?fieldManager=four',
        '409 Conflict: Apply failed with 1 conflict: conflict with "two" using {group}/v1: .spec.name | ' +
        'FieldManagerConflict .spec.name',
        foo('a', { name: 'abd' }),
      ],
      [
        `APPLY foos/a?fieldManager=two ? ${MANAGED}`,
        '200 ' +
        '[{"apiVersion":"{group}/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:name":{}}},"manager' +
        '":"two","operation":"Apply"},{"apiVersion":"{group}/v1","fieldsType":"FieldsV1","fieldsV1":{"f:s' +
        'pec":{"f:tags":{"v:\\"y\\"":{}}}},"manager":"four","operation":"Apply","time":"{time}"},{"apiVersi' +
        'on":"{group}/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:plain":{},"f:size":{},"f:tags"' +
        ':{"v:\\"x\\"":{}}}},"manager":"one","operation":"Apply","time":"{time}"},{"apiVersion":"{group}/v1' +
        '","fieldsType":"FieldsV1","fieldsV1":{"f:status":{".":{},"f:ready":{}}},"manager":"three","opera' +
        'tion":"Update","subresource":"status","time":"{time}"},{"apiVersion":"{group}/v1","fieldsType":"' +
        'FieldsV1","fieldsV1":{"f:spec":{"f:labels":{".":{},"f:a":{}},"f:name":{}}},"manager":"two","oper' +
        'ation":"Update","time":"{time}"}]',
        foo('a', { name: 'abc' }),
      ],
      [
        'APPLY foos/a?fieldManager=two',
        '409 Conflict: Apply failed with 1 conflict: conflict with "two" using {group}/v1: .spec.name | ' +
        'FieldManagerConflict .spec.name',
        foo('a', { name: 'abe' }),
      ],
    ],
  },
  {
    name: 'verbs: applies that are refused',
    steps: [
      ['APPLY foos/a?fieldManager=m', '400 BadRequest: invalid object type: {group}/v1, Kind=Bar', {
        apiVersion: '{group}/v1',
        kind: 'Bar',
        metadata: { name: 'a' },
      }],
      ['APPLY foos/a?fieldManager=m', '400 BadRequest: invalid object type: /v1, Kind=ConfigMap', {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'a' },
      }],
      ['APPLY foos/a?fieldManager=m', '400 BadRequest: invalid object type: {group}/v9, Kind=Foo', {
        apiVersion: '{group}/v9',
        kind: 'Foo',
        metadata: { name: 'a' },
      }],
      ['APPLY foos/a?fieldManager=m', '400 BadRequest: invalid object type: /, Kind=', { metadata: { name: 'a' } }],
      ['APPLY foos/a?fieldManager=m', '400 BadRequest: invalid object type: /, Kind=Foo', {
        kind: 'Foo',
        metadata: { name: 'a' },
      }],
      [
        'APPLY foos/a?fieldManager=m',
        '400 BadRequest: the name of the object (b) does not match the name on the URL (a)',
        foo('b'),
      ],
      [
        'APPLY foos/a?fieldManager=m',
        '400 BadRequest: the namespace of the provided object does not match the namespace sent on the ' +
        'request',
        foo('a', { size: 1 }, { namespace: 'other' }),
      ],
      [
        'APPLY foos/a?fieldManager=m',
        '400 BadRequest: metadata.managedFields must be nil',
        foo('a', { size: 1 }, { managedFields: [] }),
      ],
      [
        'APPLY foos/a?fieldManager=m',
        '409 Conflict: Operation cannot be fulfilled on foos.{group} "a": uid mismatch: the provided ' +
        'object specified uid x, and no existing object was found | a {group} foos',
        foo('a', { size: 1 }, { uid: 'x' }),
      ],
      ['APPLY foos/a?fieldManager=m', '201 Foo a', foo('a', { size: 1 }, { resourceVersion: '1' })],
      [
        'APPLY foos/a?fieldManager=m',
        '500 : failed to create typed patch object (/a; {group}/v1, Kind=Foo): .spec.size: expected ' +
        'numeric (int or float), got string',
        foo('a', { size: 'x' }),
      ],
      [
        'APPLY foos/a?fieldManager=m',
        '422 Invalid: Foo.{group} "a" | a {group} Foo | FieldValueInvalid spec.size Invalid value: 99: ' +
        'spec.size in body should be less than or equal to 10',
        foo('a', { size: 99 }),
      ],
      [
        'APPLY foos/a?fieldManager=m',
        '500 : failed to create typed patch object (/a; {group}/v1, Kind=Foo): .spec.parts: expected ' +
        'list, got &{x}',
        foo('a', { parts: 'x' }),
      ],
      [
        'APPLY foos/a?fieldManager=m',
        '500 : failed to create typed patch object (/a; {group}/v1, Kind=Foo): .spec.parts: element 0: ' +
        'associative list with keys may not have non-map elements',
        foo('a', { parts: ['x'] }),
      ],
      [
        'APPLY foos/a?fieldManager=m',
        '422 Invalid: Foo.{group} "a" | a {group} Foo | FieldValueRequired spec.parts[0].name Required ' +
        'value | FieldValueRequired spec.size Required value',
        foo('a', { parts: [{ value: 1 }] }),
      ],
      [
        'APPLY foos/a?fieldManager=m',
        '500 : failed to create typed patch object (/a; {group}/v1, Kind=Foo): .spec.tags: duplicate ' +
        'entries for key [="a"]',
        foo('a', { tags: ['a', 'a'] }),
      ],
      [
        'APPLY foos/a?fieldManager=m',
        '500 : failed to create typed patch object (/a; {group}/v1, Kind=Foo): .spec.tags: element 0: ' +
        "associative list without keys has an element that's a map type",
        foo('a', { tags: [{}] }),
      ],
      [
        'APPLY foos/a?fieldManager=m',
        '400 BadRequest: error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot ' +
        'unmarshal array into Go value of type map[string]interface {}',
        '[]',
      ],
      [
        'APPLY foos/a?fieldManager=m',
        '400 BadRequest: error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot ' +
        'unmarshal number into Go value of type map[string]interface {}',
        '5',
      ],
      ['APPLY cm/a?fieldManager=m', '400 BadRequest: invalid object type: /v1, Kind=Secret', {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'a' },
      }],
      ['APPLY cm/a?fieldManager=m', '400 BadRequest: invalid object type: apps/v1, Kind=ConfigMap', {
        apiVersion: 'apps/v1',
        kind: 'ConfigMap',
        metadata: { name: 'a' },
      }],
      [
        'APPLY cm/a?fieldManager=m',
        '500 : failed to create typed patch object (/a; /v1, Kind=ConfigMap): .data.k: expected string, ' +
        'got &value.valueUnstructured{Value:5}',
        cm('a', { k: 5 }),
      ],
      [
        'APPLY cm/a?fieldManager=m',
        '500 : failed to create typed patch object (/a; /v1, Kind=ConfigMap): .data: expected map, got ' +
        '&{x}',
        cm('a', 'x'),
      ],
      [
        'APPLY cm/a?fieldManager=m',
        '400 BadRequest: the name of the object (b) does not match the name on the URL (a)',
        cm('b'),
      ],
      [
        'APPLY cm/A?fieldManager=m',
        '422 Invalid: ConfigMap "A" | A ConfigMap | FieldValueInvalid metadata.name Invalid value: "A": a ' +
        "lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and " +
        "must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation " +
        "is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        cm('A'),
      ],
      [
        'APPLY deploy/a?fieldManager=m',
        '500 : failed to create typed patch object (/a; apps/v1, Kind=Deployment): .spec.replicas: ' +
        'expected numeric (int or float), got string',
        deploy('a', { replicas: 'x' }),
      ],
      [
        'APPLY foos/nope/status?fieldManager=m',
        '404 NotFound: foos.{group} "nope" not found | nope {group} foos',
        foo('nope'),
      ],
      [
        'APPLY /api/v1/namespaces/nope/configmaps/a?fieldManager=m',
        '404 NotFound: namespaces "nope" not found | nope namespaces',
        cm('a'),
      ],
      ['GET foos', '200 FooList [a]'],
      ['GET cm', '200 ConfigMapList []'],
    ],
  },
  {
    name: 'verbs: an apply with a version or a uid',
    steps: [
      make('a'),
      [
        'APPLY foos/a?fieldManager=m',
        '409 Conflict: Operation cannot be fulfilled on foos.{group} "a": the object has been modified; ' +
        'please apply your changes to the latest version and try again | a {group} foos',
        foo('a', { name: 'abc' }, { resourceVersion: '1' }),
      ],
      [
        'APPLY foos/a?fieldManager=m',
        '422 Invalid: Foo.{group} "a" | a {group} Foo | FieldValueInvalid metadata.uid Invalid value: ' +
        '"x": field is immutable',
        foo('a', { name: 'abc' }, { uid: 'x' }),
      ],
      [
        'APPLY foos/a?fieldManager=m',
        '200 Foo a',
        (answers: readonly Body[]) =>
          foo('a', { name: 'abc' }, { resourceVersion: answers[0].metadata.resourceVersion }),
      ],
      [
        'APPLY foos/a?fieldManager=m',
        '200 Foo a',
        (answers: readonly Body[]) => foo('a', { name: 'abd' }, { uid: answers[0].metadata.uid }),
      ],
    ],
  },
  {
    name: 'verbs: lists and maps of a custom object under apply',
    steps: [
      [
        `APPLY foos/a?fieldManager=one ? spec ${MANAGED}`,
        '201 ' +
        '{"free":{"any":[1,{"b":2}]},"labels":{"a":"1"},"mode":"fast","nested":{"deep":7},"parts":[{"name' +
        '":"x","protocol":"TCP","value":1},{"name":"y","protocol":"TCP"}],"plain":["p"],"size":1,"tags":[' +
        '"a","b"]} ' +
        '[{"apiVersion":"{group}/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:free":{"f:any":{}},' +
        '"f:labels":{"f:a":{}},"f:parts":{"k:{\\"name\\":\\"x\\",\\"protocol\\":\\"TCP\\"}":{".":{},"f:name":{},"' +
        'f:value":{}},"k:{\\"name\\":\\"y\\",\\"protocol\\":\\"TCP\\"}":{".":{},"f:name":{}}},"f:plain":{},"f:siz' +
        'e":{},"f:tags":{"v:\\"a\\"":{},"v:\\"b\\"":{}}}},"manager":"one","operation":"Apply","time":"{time}"' +
        '}]',
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
        '200 ' +
        '{"free":{"any":[1,{"b":2}],"other":1},"labels":{"a":"1","b":"2"},"mode":"fast","nested":{"deep":' +
        '7},"parts":[{"name":"x","protocol":"TCP","value":1},{"name":"y","protocol":"TCP"},{"name":"x","p' +
        'rotocol":"UDP"},{"name":"z","protocol":"TCP","value":2}],"plain":["p"],"size":1,"tags":["c","a",' +
        '"b"]} ' +
        '[{"apiVersion":"{group}/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:free":{"f:any":{}},' +
        '"f:labels":{"f:a":{}},"f:parts":{"k:{\\"name\\":\\"x\\",\\"protocol\\":\\"TCP\\"}":{".":{},"f:name":{},"' +
        'f:value":{}},"k:{\\"name\\":\\"y\\",\\"protocol\\":\\"TCP\\"}":{".":{},"f:name":{}}},"f:plain":{},"f:siz' +
        'e":{},"f:tags":{"v:\\"a\\"":{},"v:\\"b\\"":{}}}},"manager":"one","operation":"Apply","time":"{time}"' +
        '},{"apiVersion":"{group}/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:free":{"f:other":{' +
        '}},"f:labels":{"f:b":{}},"f:parts":{"k:{\\"name\\":\\"x\\",\\"protocol\\":\\"UDP\\"}":{".":{},"f:name":{' +
        '},"f:protocol":{}},"k:{\\"name\\":\\"z\\",\\"protocol\\":\\"TCP\\"}":{".":{},"f:name":{},"f:value":{}}},' +
        '"f:tags":{"v:\\"a\\"":{},"v:\\"c\\"":{}}}},"manager":"two","operation":"Apply","time":"{time}"}]',
        foo('a', {
          parts: [{ name: 'x', protocol: 'UDP' }, { name: 'z', value: 2 }],
          tags: ['c', 'a'],
          labels: { b: '2' },
          free: { other: 1 },
        }),
      ],
      [
        `APPLY foos/a?fieldManager=one ? spec ${MANAGED}`,
        '200 ' +
        '{"free":{"other":1},"labels":{"b":"2"},"mode":"fast","nested":{"deep":7},"parts":[{"name":"y","p' +
        'rotocol":"TCP","value":5},{"name":"x","protocol":"UDP"},{"name":"z","protocol":"TCP","value":2}]' +
        ',"size":1,"tags":["c","a","b"]} ' +
        '[{"apiVersion":"{group}/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:free":{},"f:parts":' +
        '{"k:{\\"name\\":\\"y\\",\\"protocol\\":\\"TCP\\"}":{".":{},"f:name":{},"f:value":{}}},"f:size":{},"f:tag' +
        's":{"v:\\"b\\"":{}}}},"manager":"one","operation":"Apply","time":"{time}"},{"apiVersion":"{group}/' +
        'v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:free":{"f:other":{}},"f:labels":{"f:b":{}},' +
        '"f:parts":{"k:{\\"name\\":\\"x\\",\\"protocol\\":\\"UDP\\"}":{".":{},"f:name":{},"f:protocol":{}},"k:{\\"' +
        'name\\":\\"z\\",\\"protocol\\":\\"TCP\\"}":{".":{},"f:name":{},"f:value":{}}},"f:tags":{"v:\\"a\\"":{},"v' +
        ':\\"c\\"":{}}}},"manager":"two","operation":"Apply","time":"{time}"}]',
        foo('a', { size: 1, parts: [{ name: 'y', value: 5 }], tags: ['b'], free: {} }),
      ],
      [`APPLY foos/a?fieldManager=two ? spec ${MANAGED}`, '422 - -', foo('a', {})],
      [
        `APPLY foos/a?fieldManager=one ? spec ${MANAGED}`,
        '422 - -',
        foo('a', { size: 1, parts: [], tags: [], labels: {}, plain: null }),
      ],
      [
        `APPLY foos/a?fieldManager=one ? spec ${MANAGED}`,
        '200 ' +
        '{"free":{"other":1},"labels":{"b":"2"},"mode":"fast","nested":{"deep":7},"parts":[{"name":"x","p' +
        'rotocol":"UDP"},{"name":"z","protocol":"TCP","value":2}],"size":1,"tags":["c","a"]} ' +
        '[{"apiVersion":"{group}/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:size":{}}},"manager' +
        '":"one","operation":"Apply","time":"{time}"},{"apiVersion":"{group}/v1","fieldsType":"FieldsV1",' +
        '"fieldsV1":{"f:spec":{"f:free":{"f:other":{}},"f:labels":{"f:b":{}},"f:parts":{"k:{\\"name\\":\\"x\\' +
        '",\\"protocol\\":\\"UDP\\"}":{".":{},"f:name":{},"f:protocol":{}},"k:{\\"name\\":\\"z\\",\\"protocol\\":\\"' +
        'TCP\\"}":{".":{},"f:name":{},"f:value":{}}},"f:tags":{"v:\\"a\\"":{},"v:\\"c\\"":{}}}},"manager":"two' +
        '","operation":"Apply","time":"{time}"}]',
        foo('a', { size: 1 }),
      ],
      [
        'APPLY foos/a?fieldManager=one',
        '422 Invalid: Foo.{group} "a" | a {group} Foo | FieldValueRequired spec.size Required value',
        foo('a', {}),
      ],
    ],
  },
  {
    name: 'verbs: a Deployment under apply and updates',
    steps: [
      ['APPLY deploy/a?fieldManager=one', '201 Deployment a', deploy('a', { replicas: 2 })],
      [
        `APPLY deploy/a?fieldManager=one ? spec.replicas ${MANAGED}`,
        '200 1 ' +
        '[{"apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:selector":{},"f:templa' +
        'te":{"f:metadata":{"f:labels":{"f:app":{}}},"f:spec":{"f:containers":{"k:{\\"name\\":\\"main\\"}":{"' +
        '.":{},"f:image":{},"f:name":{}}}}}}},"manager":"one","operation":"Apply","time":"{time}"}]',
        deploy('a'),
      ],
      ['MERGE deploy/a/scale?fieldManager=two ? spec', '200 {"replicas":5}', { spec: { replicas: 5 } }],
      ['APPLY deploy/a?fieldManager=one', '200 Deployment a', deploy('a', { replicas: 2 })],
      [
        `APPLY deploy/a${forced('one')} ? spec.replicas ${MANAGED}`,
        '200 2 ' +
        '[{"apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{},"f:select' +
        'or":{},"f:template":{"f:metadata":{"f:labels":{"f:app":{}}},"f:spec":{"f:containers":{"k:{\\"name' +
        '\\":\\"main\\"}":{".":{},"f:image":{},"f:name":{}}}}}}},"manager":"one","operation":"Apply","time":' +
        '"{time}"}]',
        deploy('a', { replicas: 2 }),
      ],
      ['STRATEGIC deploy/a?fieldManager=two ? metadata.generation', '200 5', {
        spec: { template: { spec: { containers: [{ name: 'main', image: 'other' }] } } },
      }],
      [
        'APPLY deploy/a?fieldManager=one',
        '409 Conflict: Apply failed with 1 conflict: conflict with "two" using apps/v1: ' +
        '.spec.template.spec.containers[name="main"].image | FieldManagerConflict ' +
        '.spec.template.spec.containers[name="main"].image',
        deploy('a'),
      ],
      [
        `APPLY deploy/a${forced('one')} ? spec.template.spec.containers.0.image ${MANAGED}`,
        '200 "nginx" ' +
        '[{"apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:selector":{},"f:templa' +
        'te":{"f:metadata":{"f:labels":{"f:app":{}}},"f:spec":{"f:containers":{"k:{\\"name\\":\\"main\\"}":{"' +
        '.":{},"f:image":{},"f:name":{}}}}}}},"manager":"one","operation":"Apply","time":"{time}"}]',
        deploy('a'),
      ],
      ['MERGE deploy/a/status?fieldManager=controller ? status', '200 {"replicas":2}', { status: { replicas: 2 } }],
      [
        `GET deploy/a ? ${MANAGED}`,
        '200 ' +
        '[{"apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:selector":{},"f:templa' +
        'te":{"f:metadata":{"f:labels":{"f:app":{}}},"f:spec":{"f:containers":{"k:{\\"name\\":\\"main\\"}":{"' +
        '.":{},"f:image":{},"f:name":{}}}}}}},"manager":"one","operation":"Apply","time":"{time}"},{"apiV' +
        'ersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{"f:status":{"f:replicas":{}}},"manager":"c' +
        'ontroller","operation":"Update","subresource":"status","time":"{time}"}]',
      ],
    ],
  },
  {
    name: 'verbs: a custom object under client-side apply, then under server-side apply',
    steps: [
      [
        `POST foos${CLIENT} ? ${MANAGED}`,
        '201 ' +
        '[{"apiVersion":"{group}/v1","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{"' +
        '.":{},"f:kubectl.kubernetes.io/last-applied-configuration":{}}},"f:spec":{".":{},"f:mode":{},"f:' +
        'name":{},"f:nested":{".":{},"f:deep":{}},"f:size":{}}},"manager":"kubectl-client-side-apply","op' +
        'eration":"Update","time":"{time}"}]',
        lastApplied(foo('a', { size: 1, name: 'abc' })),
        AS_KUBECTL,
      ],
      [
        `MERGE foos/a${CLIENT} ? ${MANAGED}`,
        '200 ' +
        '[{"apiVersion":"{group}/v1","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{"' +
        '.":{},"f:kubectl.kubernetes.io/last-applied-configuration":{},"f:x":{}}},"f:spec":{".":{},"f:mod' +
        'e":{},"f:name":{},"f:nested":{".":{},"f:deep":{}},"f:size":{}}},"manager":"kubectl-client-side-a' +
        'pply","operation":"Update","time":"{time}"}]',
        { metadata: { annotations: { x: 'y' } }, spec: { size: 2 } },
        AS_KUBECTL,
      ],
      [
        `APPLY foos/a${SERVER}`,
        '409 Conflict: Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using ' +
        '{group}/v1: .spec.size | FieldManagerConflict .spec.size',
        foo('a', { size: 3 }),
        AS_KUBECTL,
      ],
      [
        `APPLY foos/a${SERVER} ? spec ${MANAGED}`,
        '200 {"mode":"fast","name":"abc","nested":{"deep":7},"size":2} ' +
        '[{"apiVersion":"{group}/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:size":{}}},"manager' +
        '":"kubectl","operation":"Apply"},{"apiVersion":"{group}/v1","fieldsType":"FieldsV1","fieldsV1":{' +
        '"f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/last-applied-configuration":{},"f' +
        ':x":{}}},"f:spec":{".":{},"f:mode":{},"f:name":{},"f:nested":{".":{},"f:deep":{}},"f:size":{}}},' +
        '"manager":"kubectl-client-side-apply","operation":"Update","time":"{time}"}]',
        foo('a', { size: 2 }),
        AS_KUBECTL,
      ],
      [
        `APPLY foos/a${SERVER}&force=true ? spec metadata.annotations ${MANAGED}`,
        '200 {"mode":"fast","name":"abc","nested":{"deep":7},"size":3} ' +
        '{"kubectl.kubernetes.io/last-applied-configuration":"{\\"apiVersion\\":\\"{group}/v1\\",\\"kind\\":\\"F' +
        'oo\\",\\"metadata\\":{\\"name\\":\\"a\\"},\\"spec\\":{\\"size\\":3}}\\n","x":"y"} ' +
        '[{"apiVersion":"{group}/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:size":{}}},"manager' +
        '":"kubectl","operation":"Apply","time":"{time}"},{"apiVersion":"{group}/v1","fieldsType":"Fields' +
        'V1","fieldsV1":{"f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/last-applied-conf' +
        'iguration":{},"f:x":{}}},"f:spec":{".":{},"f:mode":{},"f:name":{},"f:nested":{".":{},"f:deep":{}' +
        '}}},"manager":"kubectl-client-side-apply","operation":"Update","time":"{time}"}]',
        foo('a', { size: 3 }),
        AS_KUBECTL,
      ],
      [
        `APPLY foos/a${SERVER} ? spec ${MANAGED}`,
        '200 {"mode":"fast","name":"abc","nested":{"deep":7},"size":4} ' +
        '[{"apiVersion":"{group}/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:size":{}}},"manager' +
        '":"kubectl","operation":"Apply","time":"{time}"},{"apiVersion":"{group}/v1","fieldsType":"Fields' +
        'V1","fieldsV1":{"f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/last-applied-conf' +
        'iguration":{},"f:x":{}}},"f:spec":{".":{},"f:mode":{},"f:name":{},"f:nested":{".":{},"f:deep":{}' +
        '}}},"manager":"kubectl-client-side-apply","operation":"Update","time":"{time}"}]',
        named('foo', { spec: { size: 4 } }),
        AS_KUBECTL,
      ],
    ],
  },
  {
    name: 'verbs: a ConfigMap under client-side apply, then under server-side apply',
    steps: [
      [
        `POST cm${CLIENT} ? ${MANAGED}`,
        '201 ' +
        '[{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{".":{},"f:k":{},"f:l":{}},"f:m' +
        'etadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/last-applied-configuration":{}}}},"ma' +
        'nager":"kubectl-client-side-apply","operation":"Update","time":"{time}"}]',
        lastApplied(cm('a', { k: 'v', l: 'w' })),
        AS_KUBECTL,
      ],
      [`APPLY cm/a${SERVER}`, '200 ConfigMap a', cm('a', { k: 'x' }), AS_KUBECTL],
      [
        `APPLY cm/a${SERVER} ? data ${MANAGED}`,
        '200 {"k":"v","l":"w"} ' +
        '[{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:k":{}}},"manager":"kubectl"' +
        ',"operation":"Apply","time":"{time}"},{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:' +
        'data":{".":{},"f:l":{}},"f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/last-appl' +
        'ied-configuration":{}}}},"manager":"kubectl-client-side-apply","operation":"Update","time":"{tim' +
        'e}"}]',
        cm('a', { k: 'v' }),
        AS_KUBECTL,
      ],
      [
        `APPLY cm/a${SERVER}&force=true ? data metadata.annotations ${MANAGED}`,
        '200 {"k":"y","l":"w"} ' +
        '{"kubectl.kubernetes.io/last-applied-configuration":"{\\"apiVersion\\":\\"v1\\",\\"data\\":{\\"k\\":\\"y\\' +
        '"},\\"kind\\":\\"ConfigMap\\",\\"metadata\\":{\\"name\\":\\"a\\"}}\\n"} ' +
        '[{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:k":{}}},"manager":"kubectl"' +
        ',"operation":"Apply","time":"{time}"},{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:' +
        'data":{".":{},"f:l":{}},"f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/last-appl' +
        'ied-configuration":{}}}},"manager":"kubectl-client-side-apply","operation":"Update","time":"{tim' +
        'e}"}]',
        cm('a', { k: 'y' }),
        AS_KUBECTL,
      ],
      [
        `STRATEGIC cm/a${CLIENT} ? data ${MANAGED}`,
        '200 {"k":"y","l":"z"} ' +
        '[{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:k":{}}},"manager":"kubectl"' +
        ',"operation":"Apply","time":"{time}"},{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:' +
        'data":{".":{},"f:l":{}},"f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/last-appl' +
        'ied-configuration":{}}}},"manager":"kubectl-client-side-apply","operation":"Update","time":"{tim' +
        'e}"}]',
        { data: { l: 'z' } },
        AS_KUBECTL,
      ],
    ],
  },
  {
    name: 'verbs: server-side apply by kubectl updates the annotation of client-side apply',
    steps: [
      [`APPLY cm/a${SERVER} ? metadata.annotations`, '201 -', cm('a', { k: 'v' }), AS_KUBECTL],
      [
        `APPLY cm/a${SERVER} ? metadata.annotations`,
        '200 ' +
        '{"kubectl.kubernetes.io/last-applied-configuration":"{\\"apiVersion\\":\\"v1\\",\\"data\\":{\\"k\\":\\"v\\' +
        '"},\\"kind\\":\\"ConfigMap\\",\\"metadata\\":{\\"annotations\\":{},\\"name\\":\\"a\\"}}\\n"}',
        lastApplied(cm('a', { k: 'v' })),
        AS_KUBECTL,
      ],
      [`APPLY cm/a${SERVER} ? metadata.annotations`, '200 -', cm('a', { k: 'w' }), AS_KUBECTL],
      ['APPLY cm/a?fieldManager=other ? metadata.annotations', '200 -', cm('a', { z: 'w' })],
    ],
  },
  {
    name: 'verbs: managedFields that a client writes',
    steps: [
      make('a'),
      [
        `MERGE foos/a ? ${MANAGED}`,
        '200 ' +
        '[{"apiVersion":"{group}/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{".":{},"f:mode":{},"f:' +
        'nested":{".":{},"f:deep":{}},"f:size":{}}},"manager":"tester","operation":"Update","time":"{time' +
        '}"}]',
        { metadata: { managedFields: null } },
      ],
      ['MERGE foos/a', '200 Foo a', {
        metadata: { managedFields: [{ manager: 'x', operation: 'Nope', apiVersion: '{group}/v1' }] },
      }],
      ['MERGE foos/a', '200 Foo a', {
        metadata: {
          managedFields: [{ manager: 'x', operation: 'Update', apiVersion: '{group}/v1', fieldsType: 'Nope' }],
        },
      }],
      ['MERGE foos/a', '200 Foo a', { metadata: { managedFields: [{ operation: 'Update', fieldsV1: { x: 5 } }] } }],
      [
        `MERGE foos/a?fieldManager=two ? ${MANAGED}`,
        '200 ' +
        '[{"apiVersion":"{group}/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:name":{}}},"manager' +
        '":"x","operation":"Update"}]',
        {
          metadata: {
            managedFields: [{
              manager: 'x',
              operation: 'Update',
              apiVersion: '{group}/v1',
              fieldsType: 'FieldsV1',
              fieldsV1: { 'f:spec': { 'f:name': {} } },
            }],
          },
        },
      ],
      [
        `JSON foos/a ? ${MANAGED}`,
        '200 ' +
        '[{"apiVersion":"{group}/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:name":{}}},"manager' +
        '":"x","operation":"Update"}]',
        [{ op: 'remove', path: '/metadata/managedFields' }],
      ],
      [`JSON foos/a ? ${MANAGED}`, '200 -', [{ op: 'replace', path: '/metadata/managedFields', value: [{}] }]],
      [`MERGE foos/a ? ${MANAGED}`, '200 -', { spec: { size: 3 } }],
      [
        `APPLY foos/a?fieldManager=m ? ${MANAGED}`,
        '200 ' +
        '[{"apiVersion":"{group}/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:size":{}}},"manager' +
        '":"m","operation":"Apply"},{"apiVersion":"{group}/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spe' +
        'c":{".":{},"f:mode":{},"f:nested":{".":{},"f:deep":{}},"f:size":{}}},"manager":"before-first-app' +
        'ly","operation":"Update","time":"{time}"}]',
        foo('a', { size: 3 }),
      ],
    ],
  },
  {
    name: 'verbs: managers of updates',
    steps: [
      [
        `POST foos?fieldManager=one ? ${MANAGED}`,
        '201 ' +
        '[{"apiVersion":"{group}/v1","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{"' +
        '.":{},"f:p":{}},"f:finalizers":{".":{},"v:\\"x.io/a\\"":{}},"f:labels":{".":{},"f:x":{}}},"f:spec"' +
        ':{".":{},"f:labels":{".":{},"f:a":{}},"f:mode":{},"f:nested":{".":{},"f:deep":{}},"f:size":{}}},' +
        '"manager":"one","operation":"Update","time":"{time}"}]',
        foo('a', { size: 1, labels: { a: '1' } }, {
          labels: { x: 'y' },
          annotations: { p: 'q' },
          finalizers: ['x.io/a'],
        }),
      ],
      [
        `MERGE foos/a?fieldManager=two ? ${MANAGED}`,
        '200 ' +
        '[{"apiVersion":"{group}/v1","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{"' +
        '.":{},"f:p":{}},"f:finalizers":{".":{},"v:\\"x.io/a\\"":{}},"f:labels":{".":{},"f:x":{}}},"f:spec"' +
        ':{".":{},"f:labels":{".":{},"f:a":{}},"f:mode":{},"f:nested":{".":{},"f:deep":{}}}},"manager":"o' +
        'ne","operation":"Update","time":"{time}"},{"apiVersion":"{group}/v1","fieldsType":"FieldsV1","fi' +
        'eldsV1":{"f:metadata":{"f:labels":{"f:z":{}}},"f:spec":{"f:labels":{"f:b":{}},"f:size":{}}},"man' +
        'ager":"two","operation":"Update","time":"{time}"}]',
        { spec: { size: 2, labels: { b: '2' } }, metadata: { labels: { z: 'w' } } },
      ],
      [
        `MERGE foos/a?fieldManager=one ? ${MANAGED}`,
        '200 ' +
        '[{"apiVersion":"{group}/v1","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{"' +
        '.":{},"f:p":{}},"f:finalizers":{".":{},"v:\\"x.io/a\\"":{}},"f:labels":{}},"f:spec":{".":{},"f:mod' +
        'e":{},"f:nested":{".":{},"f:deep":{}}}},"manager":"one","operation":"Update","time":"{time}"},{"' +
        'apiVersion":"{group}/v1","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:labels":{"f:z":{}}' +
        '},"f:spec":{"f:size":{}}},"manager":"two","operation":"Update","time":"{time}"}]',
        { spec: { labels: null }, metadata: { labels: { x: null } } },
      ],
      [
        `MERGE foos/a?fieldManager=three ? ${MANAGED}`,
        '200 ' +
        '[{"apiVersion":"{group}/v1","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{"' +
        '.":{},"f:p":{}},"f:finalizers":{".":{},"v:\\"x.io/a\\"":{}},"f:labels":{}},"f:spec":{".":{},"f:mod' +
        'e":{},"f:nested":{".":{},"f:deep":{}}}},"manager":"one","operation":"Update","time":"{time}"},{"' +
        'apiVersion":"{group}/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:parts":{".":{},"k:{\\"n' +
        'ame\\":\\"x\\",\\"protocol\\":\\"TCP\\"}":{".":{},"f:name":{},"f:protocol":{},"f:value":{}}},"f:plain":' +
        '{},"f:tags":{".":{},"v:\\"a\\"":{},"v:\\"b\\"":{}}}},"manager":"three","operation":"Update","time":"' +
        '{time}"},{"apiVersion":"{group}/v1","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:labels"' +
        ':{"f:z":{}}},"f:spec":{"f:size":{}}},"manager":"two","operation":"Update","time":"{time}"}]',
        { spec: { parts: [{ name: 'x', value: 1 }], tags: ['a', 'b'], plain: ['c'] } },
      ],
      [
        `MERGE foos/a?fieldManager=four ? ${MANAGED}`,
        '200 ' +
        '[{"apiVersion":"{group}/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:parts":{"k:{\\"name\\' +
        '":\\"x\\",\\"protocol\\":\\"TCP\\"}":{"f:value":{}},"k:{\\"name\\":\\"y\\",\\"protocol\\":\\"TCP\\"}":{".":{},' +
        '"f:name":{},"f:protocol":{}}},"f:plain":{}}},"manager":"four","operation":"Update","time":"{time' +
        '}"},{"apiVersion":"{group}/v1","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations"' +
        ':{".":{},"f:p":{}},"f:finalizers":{".":{},"v:\\"x.io/a\\"":{}},"f:labels":{}},"f:spec":{".":{},"f:' +
        'mode":{},"f:nested":{".":{},"f:deep":{}}}},"manager":"one","operation":"Update","time":"{time}"}' +
        ',{"apiVersion":"{group}/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:parts":{".":{},"k:{' +
        '\\"name\\":\\"x\\",\\"protocol\\":\\"TCP\\"}":{".":{},"f:name":{},"f:protocol":{}}},"f:tags":{".":{},"v:' +
        '\\"b\\"":{}}}},"manager":"three","operation":"Update","time":"{time}"},{"apiVersion":"{group}/v1",' +
        '"fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:labels":{"f:z":{}}},"f:spec":{"f:size":{}}}' +
        ',"manager":"two","operation":"Update","time":"{time}"}]',
        { spec: { parts: [{ name: 'x', value: 2 }, { name: 'y' }], tags: ['b'], plain: ['c', 'd'] } },
      ],
      [
        `MERGE foos/a/status?fieldManager=one ? ${MANAGED}`,
        '200 ' +
        '[{"apiVersion":"{group}/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:parts":{"k:{\\"name\\' +
        '":\\"x\\",\\"protocol\\":\\"TCP\\"}":{"f:value":{}},"k:{\\"name\\":\\"y\\",\\"protocol\\":\\"TCP\\"}":{".":{},' +
        '"f:name":{},"f:protocol":{}}},"f:plain":{}}},"manager":"four","operation":"Update","time":"{time' +
        '}"},{"apiVersion":"{group}/v1","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations"' +
        ':{".":{},"f:p":{}},"f:finalizers":{".":{},"v:\\"x.io/a\\"":{}},"f:labels":{}},"f:spec":{".":{},"f:' +
        'mode":{},"f:nested":{".":{},"f:deep":{}}}},"manager":"one","operation":"Update","time":"{time}"}' +
        ',{"apiVersion":"{group}/v1","fieldsType":"FieldsV1","fieldsV1":{"f:status":{".":{},"f:conditions' +
        '":{},"f:ready":{}}},"manager":"one","operation":"Update","subresource":"status","time":"{time}"}' +
        ',{"apiVersion":"{group}/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:parts":{".":{},"k:{' +
        '\\"name\\":\\"x\\",\\"protocol\\":\\"TCP\\"}":{".":{},"f:name":{},"f:protocol":{}}},"f:tags":{".":{},"v:' +
        '\\"b\\"":{}}}},"manager":"three","operation":"Update","time":"{time}"},{"apiVersion":"{group}/v1",' +
        '"fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:labels":{"f:z":{}}},"f:spec":{"f:size":{}}}' +
        ',"manager":"two","operation":"Update","time":"{time}"}]',
        { status: { ready: 1, conditions: [{ type: 'A', status: 'True' }] } },
      ],
      [`MERGE foos/a/scale?fieldManager=one ? spec`, '200 {"replicas":5}', { spec: { replicas: 5 } }],
      [
        `GET foos/a ? ${MANAGED}`,
        '200 ' +
        '[{"apiVersion":"{group}/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:size":{}}},"manager' +
        '":"one","operation":"Update","subresource":"scale"},{"apiVersion":"{group}/v1","fieldsType":"Fie' +
        'ldsV1","fieldsV1":{"f:spec":{"f:parts":{"k:{\\"name\\":\\"x\\",\\"protocol\\":\\"TCP\\"}":{"f:value":{}}' +
        ',"k:{\\"name\\":\\"y\\",\\"protocol\\":\\"TCP\\"}":{".":{},"f:name":{},"f:protocol":{}}},"f:plain":{}}},' +
        '"manager":"four","operation":"Update","time":"{time}"},{"apiVersion":"{group}/v1","fieldsType":"' +
        'FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{".":{},"f:p":{}},"f:finalizers":{".":{},"v:' +
        '\\"x.io/a\\"":{}},"f:labels":{}},"f:spec":{".":{},"f:mode":{},"f:nested":{".":{},"f:deep":{}}}},"m' +
        'anager":"one","operation":"Update","time":"{time}"},{"apiVersion":"{group}/v1","fieldsType":"Fie' +
        'ldsV1","fieldsV1":{"f:status":{".":{},"f:conditions":{},"f:ready":{}}},"manager":"one","operatio' +
        'n":"Update","subresource":"status","time":"{time}"},{"apiVersion":"{group}/v1","fieldsType":"Fie' +
        'ldsV1","fieldsV1":{"f:spec":{"f:parts":{".":{},"k:{\\"name\\":\\"x\\",\\"protocol\\":\\"TCP\\"}":{".":{}' +
        ',"f:name":{},"f:protocol":{}}},"f:tags":{".":{},"v:\\"b\\"":{}}}},"manager":"three","operation":"U' +
        'pdate","time":"{time}"},{"apiVersion":"{group}/v1","fieldsType":"FieldsV1","fieldsV1":{"f:metada' +
        'ta":{"f:labels":{"f:z":{}}}},"manager":"two","operation":"Update","time":"{time}"}]',
      ],
    ],
  },
]
