/** Scripts of patches other than apply. The answers are those of kube-apiserver. */
import { cm, deploy, foo, type Script, type Step } from './transcript.ts'

const CM: Step = ['POST cm', '201 ConfigMap a', cm('a', { k: 'v', l: 'w' }, { labels: { x: '1' } })]
const FOO: Step = [
  'POST foos',
  '201 Foo a',
  foo('a', { size: 1, plain: ['a', 'b', 'c'], tags: ['t'], labels: { a: '1' } }),
]
const DEPLOY: Step = [
  'POST deploy',
  '201 Deployment a',
  deploy('a', {
    template: {
      metadata: { labels: { app: 'a' } },
      spec: {
        containers: [
          {
            name: 'main',
            image: 'nginx',
            env: [{ name: 'A', value: '1' }, { name: 'B', value: '2' }],
            ports: [{ containerPort: 80 }],
            args: ['x', 'y'],
          },
          { name: 'side', image: 'busy' },
        ],
        tolerations: [{ key: 'a', operator: 'Exists' }],
        volumes: [{ name: 'v', emptyDir: {} }, { name: 'w', configMap: { name: 'c' } }],
      },
    },
  }),
]
const pod = (spec: unknown): unknown => ({ spec: { template: { spec } } })
const json = (...operations: readonly unknown[]): unknown => operations

export const PATCH_SCRIPTS: readonly Script[] = [
  {
    name: 'verbs: operations of a JSON patch on a ConfigMap',
    steps: [
      CM,
      ['JSON cm/a ? data', '200 {"k":"v","l":"w","new":"1"}', json({ op: 'add', path: '/data/new', value: '1' })],
      ['JSON cm/a ? data', '200 {"k":"v","l":"w","new":"2"}', json({ op: 'replace', path: '/data/new', value: '2' })],
      [
        'JSON cm/a ? data',
        '200 {"k":"v","l":"w","moved":"2"}',
        json({ op: 'move', from: '/data/new', path: '/data/moved' }),
      ],
      [
        'JSON cm/a ? data',
        '200 {"copied":"2","k":"v","l":"w","moved":"2"}',
        json({ op: 'copy', from: '/data/moved', path: '/data/copied' }),
      ],
      [
        'JSON cm/a ? data',
        '200 {"copied":"2","k":"v","l":"w"}',
        json({ op: 'remove', path: '/data/moved' }, { op: 'test', path: '/data/k', value: 'v' }),
      ],
      [
        'JSON cm/a ? data',
        '200 {"copied":"2","k":"v","l":"w","nope":"2"}',
        json({ op: 'replace', path: '/data/nope', value: '2' }),
      ],
      ['JSON cm/a ? data', '422 -', json({ op: 'test', path: '/data/nope', value: null })],
      ['JSON cm/a ? data', '200 {"only":"1"}', json({ op: 'add', path: '/data', value: { only: '1' } })],
      ['JSON cm/a ? data', '200 -', json({ op: 'remove', path: '/data' })],
      ['JSON cm/a ? data', '422 -', json({ op: 'add', path: '/data/x', value: '1' })],
      ['JSON cm/a ? data', '200 -', json()],
    ],
  },
  {
    name: 'verbs: JSON patches that fail',
    steps: [
      CM,
      [
        'JSON cm/a',
        '422 Invalid: the server rejected our request due to an error in our request',
        json({ op: 'test', path: '/data/k', value: 'x' }),
      ],
      [
        'JSON cm/a',
        '422 Invalid: the server rejected our request due to an error in our request',
        json({ op: 'test', path: '/data/k' }),
      ],
      [
        'JSON cm/a',
        '422 Invalid: the server rejected our request due to an error in our request',
        json({ op: 'remove', path: '/data/nope' }),
      ],
      [
        'JSON cm/a',
        '422 Invalid: the server rejected our request due to an error in our request',
        json({ op: 'remove', path: '/nope/nope' }),
      ],
      [
        'JSON cm/a',
        '422 Invalid: the server rejected our request due to an error in our request',
        json({ op: 'add', path: '/nope/nope', value: '1' }),
      ],
      [
        'JSON cm/a',
        '422 Invalid: the server rejected our request due to an error in our request',
        json({ op: 'replace', path: '/nope/nope', value: '1' }),
      ],
      [
        'JSON cm/a',
        '422 Invalid: the server rejected our request due to an error in our request',
        json({ op: 'move', from: '/data/nope', path: '/data/x' }),
      ],
      ['JSON cm/a', '200 ConfigMap a', json({ op: 'copy', from: '/data/nope', path: '/data/x' })],
      [
        'JSON cm/a',
        '422 Invalid: the server rejected our request due to an error in our request',
        json({ op: 'move', path: '/data/x' }),
      ],
      [
        'JSON cm/a',
        '422 Invalid: the server rejected our request due to an error in our request',
        json({ op: 'nope', path: '/data/k' }),
      ],
      [
        'JSON cm/a',
        '422 Invalid: the server rejected our request due to an error in our request',
        json({ path: '/data/k' }),
      ],
      [
        'JSON cm/a',
        '422 Invalid: the server rejected our request due to an error in our request',
        json({ op: 'add', value: '1' }),
      ],
      ['JSON cm/a', `200 ConfigMap a warnings: "unknown field 'x'"`, json({ op: 'add', path: 'data/x', value: '1' })],
      [
        'JSON cm/a',
        '422 Invalid: the server rejected our request due to an error in our request',
        json({ op: 'add', path: '', value: {} }),
      ],
      ['JSON cm/a', '200 ConfigMap a', json({ op: 'add', path: '/data/x' })],
      [
        'JSON cm/a',
        '422 Invalid:  "" | FieldValueInvalid patch Invalid value: {object}: json: cannot unmarshal ' +
        'number into Go struct field ConfigMap.data of type string',
        json({ op: 'add', path: '/data/x', value: 5 }),
      ],
      [
        'JSON cm/a',
        '422 Invalid: ConfigMap "a" | a ConfigMap | FieldValueInvalid data[x y] Invalid value: "x y": a ' +
        "valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or " +
        "'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
        json({ op: 'add', path: '/data/x y', value: '5' }),
      ],
      [
        'JSON cm/a',
        '400 BadRequest: error decoding patch: json: cannot unmarshal string into Go value of type ' +
        'handlers.jsonPatchOp',
        json('x'),
      ],
      [
        'JSON cm/a',
        '400 BadRequest: error decoding patch: json: cannot unmarshal number into Go value of type ' +
        'handlers.jsonPatchOp',
        json(5),
      ],
      ['JSON cm/a', '422 Invalid: the server rejected our request due to an error in our request', json(null)],
      [
        'JSON cm/a',
        '400 BadRequest: error decoding patch: json: cannot unmarshal object into Go value of type ' +
        '[]handlers.jsonPatchOp',
        {},
      ],
      [
        'JSON cm/a',
        '400 BadRequest: error decoding patch: json: cannot unmarshal string into Go value of type ' +
        '[]handlers.jsonPatchOp',
        '"x"',
      ],
      ['JSON cm/a', '200 ConfigMap a', 'null'],
      ['JSON cm/a', '400 BadRequest: error decoding patch: unexpected end of JSON input', '{'],
      ['JSON cm/a', '400 BadRequest: error decoding patch: unexpected end of JSON input', ''],
      [
        'JSON cm/a',
        '400 BadRequest: error decoding patch: json: cannot unmarshal number into Go struct field ' +
        'jsonPatchOp.op of type string',
        json({ op: 5, path: '/data/k' }),
      ],
      [
        'JSON cm/a',
        '400 BadRequest: error decoding patch: json: cannot unmarshal number into Go struct field ' +
        'jsonPatchOp.path of type string',
        json({ op: 'add', path: 5 }),
      ],
      [
        'JSON cm/a',
        '400 BadRequest: the name of the object (b) does not match the name on the URL (a)',
        json({ op: 'replace', path: '/metadata/name', value: 'b' }),
      ],
      [
        'JSON cm/a',
        '400 BadRequest: the namespace of the provided object does not match the namespace sent on the ' +
        'request',
        json({ op: 'replace', path: '/metadata/namespace', value: 'b' }),
      ],
      [
        'JSON cm/a',
        '400 BadRequest: the name of the object (a based on URL) was undeterminable: name must be ' +
        'provided',
        json({ op: 'remove', path: '/metadata/name' }),
      ],
      [
        'JSON cm/a',
        '400 BadRequest: the name of the object (a based on URL) was undeterminable: name must be ' +
        'provided',
        json({ op: 'remove', path: '/metadata' }),
      ],
      [
        'JSON cm/a',
        '409 Conflict: Operation cannot be fulfilled on configmaps "a": the object has been modified; ' +
        'please apply your changes to the latest version and try again | a configmaps',
        json({ op: 'replace', path: '/metadata/resourceVersion', value: '1' }),
      ],
      [
        'JSON cm/a',
        '422 Invalid: ConfigMap "a" | a ConfigMap | FieldValueInvalid metadata.uid Invalid value: "x": ' +
        'field is immutable',
        json({ op: 'replace', path: '/metadata/uid', value: 'x' }),
      ],
      [
        'JSON cm/a',
        '422 Invalid:  "" | FieldValueInvalid patch Invalid value: {object}: illegal base64 data at input ' +
        'byte 0',
        json({ op: 'replace', path: '/kind', value: 'Secret' }),
      ],
      [
        'JSON cm/a',
        '422 Invalid:  "" | FieldValueInvalid patch Invalid value: {object}: no kind "ConfigMap" is ' +
        'registered for version "v2" in scheme "pkg/runtime/scheme.go:111"',
        json({ op: 'replace', path: '/apiVersion', value: 'v2' }),
      ],
      ['JSON cm/a', '200 ConfigMap a', json({ op: 'remove', path: '/kind' })],
      ['GET cm/a ? data', '200 {"k":"v","l":"w","x":""}'],
    ],
  },
  {
    name: 'verbs: JSON patches of lists',
    steps: [
      FOO,
      ['JSON foos/a ? spec.plain', '200 ["a","b","c","d"]', json({ op: 'add', path: '/spec/plain/-', value: 'd' })],
      ['JSON foos/a ? spec.plain', '200 ["z","a","b","c","d"]', json({ op: 'add', path: '/spec/plain/0', value: 'z' })],
      [
        'JSON foos/a ? spec.plain',
        '200 ["z","a","b","c","d","e"]',
        json({ op: 'add', path: '/spec/plain/5', value: 'e' }),
      ],
      [
        'JSON foos/a',
        '422 Invalid: the server rejected our request due to an error in our request',
        json({ op: 'add', path: '/spec/plain/9', value: 'e' }),
      ],
      [
        'JSON foos/a',
        '422 Invalid: the server rejected our request due to an error in our request',
        json({ op: 'add', path: '/spec/plain/x', value: 'e' }),
      ],
      [
        'JSON foos/a',
        '422 Invalid: the server rejected our request due to an error in our request',
        json({ op: 'remove', path: '/spec/plain/9' }),
      ],
      [
        'JSON foos/a',
        '422 Invalid: the server rejected our request due to an error in our request',
        json({ op: 'remove', path: '/spec/plain/-' }),
      ],
      ['JSON foos/a ? spec.plain', '200 ["z","a","b","c","d"]', json({ op: 'remove', path: '/spec/plain/-1' })],
      [
        'JSON foos/a ? spec.plain',
        '200 ["z","r","b","c","d"]',
        json({ op: 'replace', path: '/spec/plain/1', value: 'r' }),
      ],
      ['JSON foos/a ? spec.plain', '422 -', json({ op: 'replace', path: '/spec/plain/-', value: 'r' })],
      [
        'JSON foos/a ? spec.plain',
        '200 ["r","b","z","c","d"]',
        json({ op: 'move', from: '/spec/plain/0', path: '/spec/plain/2' }),
      ],
      [
        'JSON foos/a ? spec.plain',
        '200 ["r","b","z","c","d","r"]',
        json({ op: 'copy', from: '/spec/plain/0', path: '/spec/plain/-' }),
      ],
      ['JSON foos/a ? spec.plain', '422 -', json({ op: 'test', path: '/spec/plain/0', value: 'a' })],
      ['JSON foos/a ? spec.plain', '422 -', json({ op: 'test', path: '/spec/plain/50', value: 'a' })],
      [
        'JSON foos/a ? spec.labels',
        '200 {"a":"1","a/b~c":"a"}',
        json({ op: 'add', path: '/spec/labels/a~1b~0c', value: 'a' }),
      ],
      [
        'JSON foos/a',
        '422 Invalid: Foo.{group} "a" | a {group} Foo | FieldValueNotSupported spec.mode Unsupported ' +
        'value: "x": supported values: "fast", "slow" | FieldValueInvalid spec.size Invalid value: 99: ' +
        'spec.size in body should be less than or equal to 10',
        json({ op: 'replace', path: '/spec/size', value: 99 }, { op: 'replace', path: '/spec/mode', value: 'x' }),
      ],
      ['JSON foos/a', '200 Foo a', json({ op: 'replace', path: '/spec', value: null })],
      [
        'JSON foos/a',
        '422 Invalid: foos.{group} "a" | a {group} foos | FieldValueInvalid metadata.resourceVersion ' +
        'Invalid value: 0: must be specified for an update',
        json({ op: 'remove', path: '/metadata/resourceVersion' }),
      ],
      [
        'JSON foos/a',
        `422 Invalid:  "" | FieldValueInvalid patch Invalid value: {object}: Object 'Kind' is missing in ` +
        `'{"apiVersion":"{group}/v1","metadata":{"creationTimestamp":"{time}","generation":10,"name":"a",` +
        `"namespace":"{ns}","resourceVersion":"{rv}","uid":"{uid}"}}'`,
        json({ op: 'remove', path: '/kind' }),
      ],
      [
        'JSON foos/a',
        '422 Invalid: Bar.{group} "a" | a {group} Bar | FieldValueInvalid kind Invalid value: "Bar": must ' +
        'be Foo',
        json({ op: 'replace', path: '/kind', value: 'Bar' }),
      ],
      [
        'JSON foos/a',
        '422 Invalid: Foo.{group} "a" | a {group} Foo | FieldValueInvalid apiVersion Invalid value: ' +
        '"{group}/v2": must be {group}/v1',
        json({ op: 'replace', path: '/apiVersion', value: '{group}/v2' }),
      ],
      [
        'JSON foos/a',
        '422 Invalid: Foo "a" | a Foo | FieldValueInvalid apiVersion Invalid value: "v1": must be ' +
        '{group}/v1',
        json({ op: 'replace', path: '/apiVersion', value: 'v1' }),
      ],
      [
        'JSON foos/a',
        '400 BadRequest: the name of the object (a based on URL) was undeterminable: name must be ' +
        'provided',
        json({ op: 'remove', path: '/metadata' }),
      ],
      [
        'JSON foos/a',
        '422 Invalid: the server rejected our request due to an error in our request',
        json({ op: 'add', path: '', value: 5 }),
      ],
      [
        'JSON foos/a',
        '413 RequestEntityTooLarge: Request entity too large: The allowed maximum operations in a JSON ' +
        'patch is 10000, got 10001',
        json(...Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/kind', value: 'Foo' }))),
      ],
    ],
  },
  {
    name: 'verbs: merge patches',
    steps: [
      CM,
      FOO,
      ['MERGE cm/a ? data metadata.labels', '200 {"l":"w","m":"x"} -', {
        data: { k: null, m: 'x' },
        metadata: { labels: null },
      }],
      ['MERGE cm/a ? data', '200 -', { data: null }],
      ['MERGE cm/a ? data', '200 {"o":"1"}', { data: { n: null, o: '1' } }],
      [
        'MERGE cm/a',
        '422 Invalid:  "" | FieldValueInvalid patch Invalid value: {object}: json: cannot unmarshal ' +
        'number into Go struct field ConfigMap.data of type string',
        { data: { o: 5 } },
      ],
      [
        'MERGE cm/a',
        '422 Invalid:  "" | FieldValueInvalid patch Invalid value: {object}: json: cannot unmarshal ' +
        'string into Go struct field ConfigMap.data of type map[string]string',
        { data: 'x' },
      ],
      [
        'MERGE cm/a',
        '400 BadRequest: error decoding patch: json: cannot unmarshal array into Go value of type ' +
        'map[string]interface {}',
        [],
      ],
      [
        'MERGE cm/a',
        '400 BadRequest: error decoding patch: json: cannot unmarshal number into Go value of type ' +
        'map[string]interface {}',
        '5',
      ],
      ['MERGE cm/a', '400 BadRequest: Invalid JSON Patch', 'null'],
      ['MERGE cm/a', '400 BadRequest: error decoding patch: unexpected end of JSON input', '{'],
      ['MERGE cm/a', '400 BadRequest: error decoding patch: unexpected end of JSON input', ''],
      ['MERGE cm/a', '200 ConfigMap a', {}],
      [
        'MERGE cm/a',
        '400 BadRequest: the name of the object (a based on URL) was undeterminable: name must be ' +
        'provided',
        { metadata: null },
      ],
      ['MERGE cm/a', '400 BadRequest: the name of the object (b) does not match the name on the URL (a)', {
        metadata: { name: 'b' },
      }],
      [
        'MERGE cm/a',
        '400 BadRequest: the name of the object (a based on URL) was undeterminable: name must be ' +
        'provided',
        { metadata: { name: null } },
      ],
      [
        'MERGE cm/a',
        '400 BadRequest: the namespace of the provided object does not match the namespace sent on the ' +
        'request',
        { metadata: { namespace: 'b' } },
      ],
      [
        'MERGE cm/a',
        '422 Invalid: ConfigMap "a" | a ConfigMap | FieldValueInvalid metadata.uid Invalid value: "b": ' +
        'field is immutable',
        { metadata: { uid: 'b' } },
      ],
      ['MERGE cm/a', '200 ConfigMap a', { metadata: { uid: null } }],
      [
        'MERGE cm/a',
        '409 Conflict: Operation cannot be fulfilled on configmaps "a": the object has been modified; ' +
        'please apply your changes to the latest version and try again | a configmaps',
        { metadata: { resourceVersion: '1' } },
      ],
      ['MERGE cm/a', '200 ConfigMap a', { metadata: { resourceVersion: null } }],
      ['MERGE cm/a', '500 : strconv.ParseUint: parsing "abc": invalid syntax', {
        metadata: { resourceVersion: 'abc' },
      }],
      [
        'MERGE cm/a',
        '422 Invalid:  "" | FieldValueInvalid patch Invalid value: {object}: illegal base64 data at input ' +
        'byte 0',
        { kind: 'Secret' },
      ],
      [
        'MERGE cm/a',
        '422 Invalid:  "" | FieldValueInvalid patch Invalid value: {object}: no kind "ConfigMap" is ' +
        'registered for version "v2" in scheme "pkg/runtime/scheme.go:111"',
        { apiVersion: 'v2' },
      ],
      [
        'MERGE foos/a ? spec',
        '200 {"labels":{"a":"1","b":"2"},"mode":"fast","nested":{"deep":7},"size":1,"tags":["u","v"]}',
        { spec: { plain: null, tags: ['u', 'v'], labels: { b: '2' }, mode: null } },
      ],
      ['MERGE foos/a', '200 Foo a', { spec: null }],
      [
        'MERGE foos/a',
        '422 Invalid: Foo.{group} "a" | a {group} Foo | FieldValueInvalid .spec.size Invalid value: 0: ' +
        '.spec.size accessor error: 5 is of the type int64, expected map[string]interface{} | ' +
        'FieldValueTypeInvalid spec Invalid value: "integer": spec in body must be of type object: ' +
        '"integer"',
        { spec: 5 },
      ],
      [
        'MERGE foos/a',
        '422 Invalid: Foo.{group} "a" | a {group} Foo | FieldValueInvalid metadata.labels Invalid value: ' +
        `"a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and ` +
        "end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for " +
        "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        { metadata: { labels: { 'a b': 'c' } } },
      ],
      [
        'MERGE foos/a',
        '422 Invalid:  "" | FieldValueInvalid patch Invalid value: {object}: json: cannot unmarshal ' +
        'number into Go struct field ObjectMeta.labels of type string',
        { metadata: { labels: { a: 5 } } },
      ],
      [
        'MERGE foos/a',
        '422 Invalid:  "" | FieldValueInvalid patch Invalid value: {object}: json: cannot unmarshal ' +
        'number into Go value of type v1.ObjectMeta',
        { metadata: 5 },
      ],
      [
        'MERGE foos/a',
        '422 Invalid: Bar.{group} "a" | a {group} Bar | FieldValueInvalid kind Invalid value: "Bar": must ' +
        'be Foo',
        { kind: 'Bar' },
      ],
      [
        'MERGE foos/a',
        `422 Invalid:  "" | FieldValueInvalid patch Invalid value: {object}: Object 'Kind' is missing in ` +
        `'{"apiVersion":"{group}/v1","metadata":{"creationTimestamp":"{time}","generation":3,"name":"a","` +
        `namespace":"{ns}","resourceVersion":"{rv}","uid":"{uid}"}}'`,
        { kind: null },
      ],
      [
        'MERGE foos/a',
        '422 Invalid: foos.{group} "a" | a {group} foos | FieldValueInvalid metadata.resourceVersion ' +
        'Invalid value: 0: must be specified for an update',
        { metadata: { resourceVersion: null } },
      ],
      ['MERGE foos/a', '400 BadRequest: the name of the object (b) does not match the name on the URL (a)', {
        metadata: { name: 'b' },
      }],
      ['MERGE foos/nope', '404 NotFound: foos.{group} "nope" not found | nope {group} foos', {}],
      ['MERGE cm/nope', '404 NotFound: configmaps "nope" not found | nope configmaps', '{'],
      ['MERGE foos/a ? spec', '422 -', { spec: { tags: ['u', 'u'] } }],
      ['MERGE foos/a/scale ? spec', '200 {"replicas":5}', { spec: { replicas: 5 } }],
      [
        'MERGE foos/a/scale',
        '422 Invalid: Foo.{group} "a" | a {group} Foo | FieldValueInvalid spec.size Invalid value: 50: ' +
        'spec.size in body should be less than or equal to 10',
        { spec: { replicas: 50 } },
      ],
      [
        'MERGE foos/a/scale',
        '422 Invalid: Foo.{group} "a" | a {group} Foo | FieldValueInvalid .spec.size Invalid value: -1: ' +
        'should be a non-negative integer | FieldValueInvalid spec.size Invalid value: -1: spec.size in ' +
        'body should be greater than or equal to 0',
        { spec: { replicas: -1 } },
      ],
    ],
  },
  {
    name: 'verbs: strategic merge patches of lists',
    steps: [
      DEPLOY,
      [
        'STRATEGIC deploy/a ? spec.template.spec.containers.0.env',
        '200 [{"name":"A","value":"1"},{"name":"B","value":"3"},{"name":"C","value":"4"}]',
        pod({ containers: [{ name: 'main', env: [{ name: 'B', value: '3' }, { name: 'C', value: '4' }] }] }),
      ],
      [
        'STRATEGIC deploy/a ? spec.template.spec.containers.0.env',
        '200 [{"name":"B","value":"3"},{"name":"C","value":"4"}]',
        pod({ containers: [{ name: 'main', env: [{ name: 'A', $patch: 'delete' }] }] }),
      ],
      [
        'STRATEGIC deploy/a ? spec.template.spec.containers.0.env',
        '200 [{"name":"C","value":"4"},{"name":"B","value":"3"}]',
        pod({ containers: [{ name: 'main', '$setElementOrder/env': [{ name: 'C' }, { name: 'B' }] }] }),
      ],
      [
        'STRATEGIC deploy/a ? spec.template.spec.containers.0.env',
        '200 [{"name":"Z","value":"1"}]',
        pod({ containers: [{ name: 'main', env: [{ $patch: 'replace' }, { name: 'Z', value: '1' }] }] }),
      ],
      [
        'STRATEGIC deploy/a ? spec.template.spec.containers.0.args',
        '200 ["z"]',
        pod({ containers: [{ name: 'main', args: ['z'] }] }),
      ],
      [
        'STRATEGIC deploy/a ? spec.template.spec.containers.0.ports',
        '200 [{"containerPort":81,"protocol":"TCP"},{"containerPort":80,"protocol":"TCP"}]',
        pod({ containers: [{ name: 'main', ports: [{ containerPort: 81 }] }] }),
      ],
      [
        'STRATEGIC deploy/a ? spec.template.spec.tolerations',
        '200 [{"key":"b","operator":"Exists"}]',
        pod({ tolerations: [{ key: 'b', operator: 'Exists' }] }),
      ],
      [
        'STRATEGIC deploy/a ? spec.template.spec.containers.1.name',
        '200 "main"',
        pod({ '$setElementOrder/containers': [{ name: 'side' }, { name: 'main' }] }),
      ],
      [
        'STRATEGIC deploy/a ? spec.template.spec.containers.length',
        '200 1',
        pod({ containers: [{ name: 'side', $patch: 'delete' }] }),
      ],
      [
        'STRATEGIC deploy/a ? spec.template.spec.containers.length',
        '200 1',
        pod({ containers: [{ name: 'gone', $patch: 'delete' }] }),
      ],
      [
        'STRATEGIC deploy/a ? spec.template.spec.volumes',
        '200 ' +
        '[{"hostPath":{"path":"/x","type":""},"name":"v"},{"configMap":{"defaultMode":420,"name":"c"},"na' +
        'me":"w"}]',
        pod({ volumes: [{ name: 'v', $retainKeys: ['name', 'hostPath'], hostPath: { path: '/x' } }] }),
      ],
      [
        'STRATEGIC deploy/a',
        '400 BadRequest: invalid patch format of retainKeys',
        pod({ volumes: [{ name: 'v', $retainKeys: ['name'], emptyDir: {} }] }),
      ],
      [
        'STRATEGIC deploy/a',
        '500 : map: map[image:x] does not contain declared merge key: name',
        pod({ containers: [{ image: 'x' }] }),
      ],
      [
        'STRATEGIC deploy/a',
        '500 : list element types are not identical: [[map[args:[z] env:[map[name:Z value:1]] image:nginx ' +
        'imagePullPolicy:Always name:main ports:[map[containerPort:81 protocol:TCP] map[containerPort:80 ' +
        'protocol:TCP]] resources:map[] terminationMessagePath:/dev/termination-log ' +
        'terminationMessagePolicy:File]] [x]]',
        pod({ containers: ['x'] }),
      ],
      [
        'STRATEGIC deploy/a',
        '422 Invalid:  "" | FieldValueInvalid patch Invalid value: ' +
        '"map[spec:map[template:map[spec:map[containers:x]]]]": cannot restore slice from string',
        pod({ containers: 'x' }),
      ],
      [
        'STRATEGIC deploy/a',
        '500 : unknown patch type: nope in map: map[$patch:nope name:main]',
        pod({ containers: [{ name: 'main', $patch: 'nope' }] }),
      ],
      ['STRATEGIC deploy/a', '500 : unknown patch type: nope in map: map[$patch:nope]', { $patch: 'nope' }],
      [
        'STRATEGIC deploy/a',
        '422 Invalid: Deployment.apps "a" | a apps Deployment | FieldValueInvalid spec.selector Invalid ' +
        'value: null: field is immutable | FieldValueRequired spec.selector Required value | ' +
        'FieldValueInvalid spec.template.metadata.labels Invalid value: null: `selector` does not match ' +
        'template `labels` | FieldValueRequired spec.template.spec.containers Required value',
        { spec: { $patch: 'delete' } },
      ],
      ['STRATEGIC deploy/a ? spec.strategy', '200 {"type":"Recreate"}', {
        spec: { strategy: { $retainKeys: ['type'], type: 'Recreate' } },
      }],
      [
        'STRATEGIC deploy/a ? spec.strategy',
        '200 {"rollingUpdate":{"maxSurge":"25%","maxUnavailable":"25%"},"type":"RollingUpdate"}',
        { spec: { strategy: { $patch: 'replace', type: 'RollingUpdate' } } },
      ],
      ['STRATEGIC deploy/a ? metadata.labels', '200 {"a":"b","c":"d"}', { metadata: { labels: { a: 'b', c: 'd' } } }],
      ['STRATEGIC deploy/a ? metadata.labels', '200 {"x":"y"}', {
        metadata: { labels: { $patch: 'replace', x: 'y' } },
      }],
      ['STRATEGIC deploy/a ? metadata.labels', '200 -', { metadata: { labels: { $patch: 'delete' } } }],
      ['STRATEGIC deploy/a ? spec.template.spec.volumes', '200 -', pod({ volumes: null })],
    ],
  },
  {
    name: 'verbs: strategic merge patches of primitives and directives out of place',
    steps: [
      ['POST cm', '201 ConfigMap a', cm('a', { k: 'v' }, { finalizers: ['x.io/a', 'x.io/b', 'x.io/c'] })],
      ['STRATEGIC cm/a ? metadata.finalizers', '200 ["x.io/d","x.io/a","x.io/c"]', {
        metadata: { '$deleteFromPrimitiveList/finalizers': ['x.io/b'], finalizers: ['x.io/d'] },
      }],
      ['STRATEGIC cm/a ? metadata.finalizers', '200 ["x.io/d","x.io/c","x.io/a"]', {
        metadata: { '$setElementOrder/finalizers': ['x.io/d', 'x.io/c', 'x.io/a'] },
      }],
      ['STRATEGIC cm/a ? metadata.finalizers', '200 ["x.io/d","x.io/c","x.io/a","x.io/e"]', {
        metadata: { '$setElementOrder/finalizers': ['x.io/a', 'x.io/e'], finalizers: ['x.io/e'] },
      }],
      [
        'STRATEGIC cm/a',
        "500 : The order in patch list:\n[x.io/q]\n doesn't match $setElementOrder list:\n[x.io/a]\n",
        { metadata: { '$setElementOrder/finalizers': ['x.io/a'], finalizers: ['x.io/q'] } },
      ],
      ['STRATEGIC cm/a ? metadata.finalizers', '200 -', { metadata: { finalizers: null } }],
      ['STRATEGIC cm/a ? data', '200 {"z":"1"}', { data: { k: null, z: '1' } }],
      ['STRATEGIC cm/a ? data', '200 {"y":"1"}', { data: { $patch: 'replace', y: '1' } }],
      [
        'STRATEGIC cm/a',
        '400 BadRequest: json: cannot unmarshal array into Go value of type map[string]interface {}',
        [],
      ],
      [
        'STRATEGIC cm/a',
        '400 BadRequest: json: cannot unmarshal number into Go value of type map[string]interface {}',
        '5',
      ],
      ['STRATEGIC cm/a', '200 ConfigMap a', 'null'],
      ['STRATEGIC cm/a', '400 BadRequest: unexpected end of JSON input', '{'],
      [
        'STRATEGIC cm/a',
        '422 Invalid:  "" | FieldValueInvalid patch Invalid value: "map[data:5]": cannot restore map from ' +
        'int64',
        { data: 5 },
      ],
      [
        'STRATEGIC cm/a',
        '422 Invalid:  "" | FieldValueInvalid patch Invalid value: "map[metadata:5]": cannot restore ' +
        'struct from: int64',
        { metadata: 5 },
      ],
      [
        'STRATEGIC cm/a',
        '422 Invalid:  "" | FieldValueInvalid patch Invalid value: "map[metadata:map[finalizers:5]]": ' +
        'cannot restore slice from int64',
        { metadata: { finalizers: 5 } },
      ],
      [
        'STRATEGIC cm/a',
        '422 Invalid: ConfigMap "a" | a ConfigMap | FieldValueInvalid metadata.ownerReferences.apiVersion ' +
        'Invalid value: "": version must not be empty | FieldValueInvalid metadata.ownerReferences.kind ' +
        'Invalid value: "": must not be empty | FieldValueInvalid metadata.ownerReferences.uid Invalid ' +
        'value: "": must not be empty',
        { metadata: { ownerReferences: [{ name: 'x' }] } },
      ],
      [
        'STRATEGIC foos/a',
        '415 UnsupportedMediaType: the body of the request was in an unknown format - accepted media ' +
        'types include: application/json-patch+json, application/merge-patch+json, ' +
        'application/apply-patch+yaml',
        {},
      ],
      ['STRATEGIC cm/a ? metadata.ownerReferences', '200 [{"apiVersion":"v1","kind":"Pod","name":"p","uid":"*"}]', {
        metadata: { ownerReferences: [{ uid: 'u', apiVersion: 'v1', kind: 'Pod', name: 'p' }] },
      }],
      ['STRATEGIC cm/a ? metadata.ownerReferences', '200 -', {
        metadata: { ownerReferences: [{ uid: 'u', $patch: 'delete' }] },
      }],
    ],
  },
  {
    name: 'verbs: patches without a change keep the version',
    steps: [
      CM,
      ['MERGE cm/a ? metadata.managedFields.length', '200 1', {}],
      ['MERGE cm/a ? metadata.managedFields.length', '200 1', { data: { k: 'v' } }, { userAgent: 'other/1' }],
      ['JSON cm/a ? metadata.managedFields.length', '200 1', json({ op: 'replace', path: '/data/k', value: 'v' }), {
        userAgent: 'other/1',
      }],
      ['STRATEGIC cm/a ? metadata.managedFields.length', '200 1', { data: { k: 'v' } }, { userAgent: 'other/1' }],
      ['MERGE cm/a ? metadata.managedFields.length', '200 2', { data: { k: 'w' } }, { userAgent: 'other/1' }],
      [
        'GET cm?resourceVersion={0.metadata.resourceVersion}&resourceVersionMatch=Exact ? items.0.data',
        '200 {"k":"v","l":"w"}',
      ],
    ],
  },
  {
    name: 'verbs: media types of patches',
    steps: [
      CM,
      FOO,
      ['PATCH cm/a', '415 UnsupportedMediaType: 415: Unsupported Media Type', {}, { type: 'application/json' }],
      ['PATCH cm/a', '415 UnsupportedMediaType: 415: Unsupported Media Type', {}, { type: 'text/plain' }],
      [
        'PATCH foos/a',
        '415 UnsupportedMediaType: the body of the request was in an unknown format - accepted media ' +
        'types include: application/json-patch+json, application/merge-patch+json, ' +
        'application/apply-patch+yaml',
        {},
        { type: 'text/plain' },
      ],
      [
        'PATCH foos/a',
        '415 UnsupportedMediaType: the body of the request was in an unknown format - accepted media ' +
        'types include: application/json-patch+json, application/merge-patch+json, ' +
        'application/apply-patch+yaml',
        {},
        { type: 'application/json' },
      ],
      ['PATCH cm/a', '200 ConfigMap a', {}, { type: 'application/merge-patch+json; charset=utf-8' }],
      ['PATCH cm/a/status', '404 NotFound: the server could not find the requested resource', {}, {
        type: 'application/merge-patch+json',
      }],
    ],
  },
]
