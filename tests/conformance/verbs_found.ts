/** Scripts of differences that random requests have found. The answers are those of kube-apiserver. */
import type { Body } from './api.ts'
import { cm, deploy, foo, type Script } from './transcript.ts'

const MANAGED = 'metadata.managedFields.length'

const NO_NAME = '400 BadRequest: the name of the object (a based on URL) was undeterminable: name must be provided'
const OTHER_NAME = '400 BadRequest: the name of the object (b) does not match the name on the URL (a)'
const NO_TEXT = '422 Invalid:  "" | FieldValueInvalid patch Invalid value:'

export const FOUND_SCRIPTS: readonly Script[] = [
  {
    name: 'verbs: a Scale and a Namespace to finalize need the name of the URL',
    steps: [
      ['POST foos', '201 Foo a', foo('a')],
      ['PUT foos/a/scale', NO_NAME, {}],
      ['PUT foos/a/scale', OTHER_NAME, { metadata: { name: 'b' } }],
      ['POST deploy', '201 Deployment a', deploy('a')],
      ['PUT deploy/a/scale', NO_NAME, {}],
      ['MERGE deploy/a/scale', NO_NAME, { metadata: { name: null } }],
      ['PUT ns/finalize', NO_NAME.replace('(a', '({ns}'), {}],
      ['PUT ns/finalize', OTHER_NAME.replace('(a)', '({ns})'), { metadata: { name: 'b' } }],
      [
        'PUT ns/finalize',
        '409 Conflict: Operation cannot be fulfilled on namespaces "{ns}": the object has been modified; please apply ' +
        'your changes to the latest version and try again | {ns} namespaces',
        { metadata: { name: '{ns}', resourceVersion: '1' } },
      ],
      ['PUT ns/finalize?dryRun=All ? spec.finalizers', '200 ["a.b/c"]', {
        metadata: { name: '{ns}' },
        spec: { finalizers: ['a.b/c'] },
      }],
      ['GET ns ? spec.finalizers', '200 ["kubernetes"]'],
      ['PUT ns/finalize ? spec.finalizers metadata.labels.x', '200 ["a.b/c","kubernetes"] "y"', {
        metadata: { name: '{ns}', labels: { x: 'y' } },
        spec: { finalizers: ['a.b/c', 'kubernetes'] },
      }],
      ['GET ns ? spec.finalizers', '200 ["a.b/c","kubernetes"]'],
    ],
  },
  {
    name: 'verbs: a custom kind ignores what follows a subresource',
    steps: [
      ['POST foos', '201 Foo a', foo('a')],
      ['GET foos/a/status/x', '200 Foo a'],
      ['GET foos/a/scale/x/y', '200 Scale a'],
      ['GET foos/a/nope/x', '404 NotFound: foos.{group} "a" not found | a {group} foos'],
      [
        'PUT foos/a/status/x',
        "400 BadRequest: the object provided is unrecognized (must be of type Foo): Object 'Kind' is missing in '{}' ({})",
        {},
      ],
      [
        'DELETE foos/a/status/x',
        '405 MethodNotAllowed: delete is not supported on resources of kind "foos.{group}" | {group} foos',
      ],
    ],
  },
  {
    name: 'verbs: a patch with an apiVersion or a kind that is not text',
    steps: [
      ['POST cm', '201 ConfigMap a', cm('a')],
      [
        'MERGE cm/a',
        `${NO_TEXT} {object}: couldn't get version/kind; json parse error: json: cannot unmarshal array into Go struct ` +
        'field .apiVersion of type string',
        { apiVersion: [] },
      ],
      ['STRATEGIC cm/a', `${NO_TEXT} "map[apiVersion:[]]": unrecognized type: string`, { apiVersion: [] }],
      ['STRATEGIC cm/a', `${NO_TEXT} "map[kind:5]": cannot convert int64 to string`, { kind: 5 }],
      ['APPLY cm/a?fieldManager=x', '400 BadRequest: invalid object type: /, Kind=', { kind: 5 }],
      ['POST foos', '201 Foo a', foo('a')],
      [
        'MERGE foos/a',
        `${NO_TEXT} {object}: couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct ` +
        'field .kind of type string',
        { kind: 5 },
      ],
    ],
  },
  {
    name: 'verbs: a read of the status keeps the rules of resourceVersion',
    steps: [
      ['POST foos', '201 Foo a', foo('a')],
      ['GET foos/a/status?resourceVersion={0.metadata.resourceVersion}', '200 Foo a'],
      [
        'GET foos/a/status?resourceVersion=abc',
        '500 : resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
      ],
      [
        'GET foos/a/status?resourceVersion=99999999',
        '504 Timeout: Timeout: Too large resource version: {rv}, current: {rv} | 1 | ResourceVersionTooLarge',
      ],
    ],
  },
  {
    name: 'verbs: a body of a deletion replaces the options of the query',
    steps: [
      ['POST cm', '201 ConfigMap a', cm('a')],
      ['DELETE cm/a?dryRun=All', '200 Success | a configmaps {uid}', {}],
      ['GET cm/a', '404 NotFound: configmaps "a" not found | a configmaps'],
      ['POST foos', '201 Foo a', foo('a')],
      ['DELETE foos/a?propagationPolicy=Foreground', '200 Success | a {group} foos {uid}', { gracePeriodSeconds: 0 }],
      ['POST foos', '201 Foo b', foo('b')],
      ['DELETE foos?dryRun=All', '200 FooList [b]', { propagationPolicy: 'Background' }],
      ['GET foos', '200 FooList []'],
    ],
  },
  {
    name: 'verbs: another propagation policy for an object in deletion is stored',
    steps: [
      ['POST deploy', '201 Deployment a', deploy('a')],
      ['DELETE deploy/a ? metadata.finalizers', '200 ["orphan"]', { propagationPolicy: 'Orphan' }],
      ['DELETE deploy/a ? metadata.finalizers', '200 ["foregroundDeletion"]', { propagationPolicy: 'Foreground' }],
      ['GET deploy/a ? metadata.finalizers', '200 ["foregroundDeletion"]'],
    ],
  },
  {
    name: 'verbs: a wrong type in a field that is not written costs the object its managedFields',
    steps: [
      ['POST foos', '201 Foo a', foo('a')],
      [`PUT foos/a ? status ${MANAGED}`, '200 - -', (answers: readonly Body[]) => ({ ...answers[0], status: 'x' })],
      ['POST foos', '201 Foo b', foo('b')],
      [`MERGE foos/b/status ? spec ${MANAGED}`, '200 {"mode":"fast","nested":{"deep":7},"size":1} -', {
        spec: 5,
        status: { ready: 1 },
      }],
      [`POST foos ? status ${MANAGED}`, '201 - -', { ...foo('c'), status: [] }],
    ],
  },
  {
    name: 'verbs: values of a custom object with several faults each',
    steps: [
      [
        'POST foos',
        '422 Invalid: Foo.{group} "a" | a {group} Foo | FieldValueTypeInvalid spec.mode Invalid value: ' +
        '"array": spec.mode in body must be of type string: "array" | FieldValueNotSupported spec.mode ' +
        'Unsupported value: ["a"]: supported values: "fast", "slow"',
        foo('a', { size: 1, mode: ['a'] }),
      ],
      [
        'POST foos',
        '422 Invalid: Foo.{group} "a" | a {group} Foo | FieldValueTypeInvalid spec.mode Invalid value: ' +
        '"integer": spec.mode in body must be of type string: "integer" | FieldValueNotSupported ' +
        'spec.mode Unsupported value: 5: supported values: "fast", "slow"',
        foo('a', { size: 1, mode: 5 }),
      ],
      [
        'POST foos',
        '422 Invalid: Foo.{group} "a" | a {group} Foo | FieldValueInvalid .spec.size Invalid value: 0: ' +
        '.spec.size accessor error: 1.5 is of the type float64, expected int64 | FieldValueInvalid <nil> ' +
        'Invalid value: "": Checked value must be of type integer (default format) in spec.size | ' +
        'FieldValueTypeInvalid spec.size Invalid value: "number": spec.size in body must be of type ' +
        'integer: "number"',
        foo('a', { size: 1.5 }),
      ],
      [
        'POST foos',
        '422 Invalid: Foo.{group} "a" | a {group} Foo | FieldValueInvalid <nil> Invalid value: "": ' +
        'Checked value must be of type integer (default format) in spec.nested.deep | ' +
        'FieldValueTypeInvalid spec.nested.deep Invalid value: "number": spec.nested.deep in body must be ' +
        'of type integer: "number"',
        foo('a', { size: 1, nested: { deep: 1.5 } }),
      ],
      [
        'POST foos',
        '422 Invalid: Foo.{group} "a" | a {group} Foo | FieldValueInvalid .spec.size Invalid value: 0: ' +
        '.spec.size accessor error: [a b] is of the type []interface {}, expected int64 | ' +
        'FieldValueTypeInvalid spec.size Invalid value: "array": spec.size in body must be of type ' +
        'integer: "array"',
        foo('a', { size: ['a', 'b'] }),
      ],
      [
        'POST foos',
        '422 Invalid: Foo.{group} "a" | a {group} Foo | FieldValueTypeInvalid spec.tags[0] Invalid value: ' +
        '"object": spec.tags[0] in body must be of type string: "object"',
        foo('a', { size: 1, tags: [{}] }),
      ],
      [
        'POST foos',
        '422 Invalid: Foo.{group} "a" | a {group} Foo | FieldValueInvalid spec.parts[0] Invalid value: ' +
        '"a": must be an object for an array of list-type map | FieldValueTypeInvalid spec.parts[0] ' +
        'Invalid value: "string": spec.parts[0] in body must be of type object: "string" | ' +
        'FieldValueTypeInvalid spec.parts[1] Invalid value: "string": spec.parts[1] in body must be of ' +
        'type object: "string"',
        foo('a', { size: 1, parts: ['a', 'a'] }),
      ],
      [
        'POST foos',
        '422 Invalid: Foo.{group} "a" | a {group} Foo | FieldValueDuplicate spec.parts[1] Duplicate ' +
        'value: {"name":"a","protocol":"TCP"}',
        foo('a', { size: 1, parts: [{ name: 'a', protocol: 'TCP' }, { name: 'a' }] }),
      ],
      ['POST foos', '201 Foo a', foo('a')],
      [
        'MERGE foos/a',
        '422 Invalid: Foo.{group} "a" | a {group} Foo | FieldValueTypeInvalid spec.tags[0] Invalid value: ' +
        '"object": spec.tags[0] in body must be of type string: "object"',
        { spec: { tags: [{}] } },
      ],
      [
        'MERGE foos/a/status',
        '422 Invalid: Foo.{group} "a" | a {group} Foo | FieldValueInvalid .status.ready Invalid value: 0: ' +
        '.status.ready accessor error: x is of the type string, expected map[string]interface{} | ' +
        'FieldValueInvalid .status.selector Invalid value: "": .status.selector accessor error: x is of ' +
        'the type string, expected map[string]interface{} | FieldValueTypeInvalid status Invalid value: ' +
        '"string":  in body must be of type object: "string"',
        { status: 'x' },
      ],
      [
        'MERGE foos/a/status',
        '422 Invalid: Foo.{group} "a" | a {group} Foo | FieldValueInvalid .status.ready Invalid value: 0: ' +
        '.status.ready accessor error: 1.5 is of the type float64, expected int64 | FieldValueTypeInvalid ' +
        'status.ready Invalid value: "number": ready in body must be of type integer: "number" | ' +
        'FieldValueInvalid status Invalid value: "": Checked value must be of type integer (default ' +
        'format) in ready',
        { status: { ready: 1.5 } },
      ],
      [
        'MERGE foos/a/status',
        '422 Invalid: Foo.{group} "a" | a {group} Foo | FieldValueTypeInvalid status.conditions[0].type ' +
        'Invalid value: "integer": conditions[0].type in body must be of type string: "integer"',
        { status: { conditions: [{ type: 5 }] } },
      ],
    ],
  },
  {
    name: 'verbs: objects of any content under apply must be objects',
    steps: [
      [
        'APPLY foos/a?fieldManager=m',
        '500 : failed to create typed patch object (/a; {group}/v1, Kind=Foo): .spec.free: expected map, ' +
        'got &{5}',
        foo('a', { size: 1, free: 5 }),
      ],
      [
        'APPLY foos/a?fieldManager=m ? spec.free',
        '201 {"a":[{"b":5}]}',
        foo('a', { size: 1, free: { a: [{ b: 5 }] } }),
      ],
      [
        'APPLY cm/a?fieldManager=m',
        '500 : failed to convert new object (/a; /v1, Kind=ConfigMap) to proper version: unable to ' +
        'convert unstructured object to /v1, Kind=ConfigMap: error decoding from json: illegal base64 ' +
        'data at input byte 0',
        { ...cm('a'), binaryData: { k: '%' } },
      ],
      [
        'APPLY deploy/a?fieldManager=m',
        '500 : failed to convert new object (/a; apps/v1, Kind=Deployment) to proper version: unable to ' +
        'convert unstructured object to apps/v1, Kind=Deployment: cannot convert float64 to int32',
        deploy('a', { replicas: 1.5 }),
      ],
      ['POST cm', '201 ConfigMap a', cm('a')],
      [
        'APPLY cm/a?fieldManager=m',
        '500 : failed to convert new object (/a; /v1, Kind=ConfigMap) to proper version: unable to ' +
        'convert unstructured object to /v1, Kind=ConfigMap: error decoding from json: illegal base64 ' +
        'data at input byte 0',
        { ...cm('a'), binaryData: { k: '%' } },
      ],
      ['APPLY foos/nope/status?fieldManager=m', '404 NotFound: foos.{group} "nope" not found | nope {group} foos', {
        ...foo('nope'),
        odd: 1,
      }],
    ],
  },
  {
    name: 'verbs: strategic merge patches with values of a wrong type',
    steps: [
      ['POST cm', '201 ConfigMap a', cm('a')],
      [
        'STRATEGIC cm/a',
        '422 Invalid:  "" | FieldValueInvalid patch Invalid value: "map[data:map[k:true]]": unrecognized ' +
        'type: string',
        { data: { k: true } },
      ],
      [
        'STRATEGIC cm/a',
        '422 Invalid:  "" | FieldValueInvalid patch Invalid value: "map[data:map[k:5]]": cannot convert ' +
        'int64 to string',
        { data: { k: 5 } },
      ],
      [
        'STRATEGIC cm/a',
        '422 Invalid:  "" | FieldValueInvalid patch Invalid value: "map[binaryData:map[k:%]]": error ' +
        'decoding from json: illegal base64 data at input byte 0',
        { binaryData: { k: '%' } },
      ],
      [
        'STRATEGIC cm/a',
        '422 Invalid:  "" | FieldValueInvalid patch Invalid value: "map[immutable:5]": unrecognized type: ' +
        'bool',
        { immutable: 5 },
      ],
      [
        'STRATEGIC cm/a',
        '422 Invalid:  "" | FieldValueInvalid patch Invalid value: "map[metadata:map[finalizers:map[]]]": ' +
        'cannot restore slice from map',
        { metadata: { finalizers: {} } },
      ],
      ['POST deploy', '201 Deployment a', deploy('a')],
      [
        'STRATEGIC deploy/a',
        '422 Invalid:  "" | FieldValueInvalid patch Invalid value: "map[spec:map[replicas:x]]": ' +
        'unrecognized type: int32',
        { spec: { replicas: 'x' } },
      ],
      [
        'STRATEGIC deploy/a',
        '422 Invalid:  "" | FieldValueInvalid patch Invalid value: "map[spec:map[replicas:1.5]]": cannot ' +
        'convert float64 to int32',
        { spec: { replicas: 1.5 } },
      ],
      [
        'STRATEGIC deploy/a',
        '422 Invalid:  "" | FieldValueInvalid patch Invalid value: "map[spec:map[paused:map[]]]": ' +
        'unrecognized type: bool',
        { spec: { paused: {} } },
      ],
      [
        'STRATEGIC deploy/a',
        '422 Invalid:  "" | FieldValueInvalid patch Invalid value: "map[spec:map[template:x]]": cannot ' +
        'restore struct from: string',
        { spec: { template: 'x' } },
      ],
      [
        'POST cm',
        '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot ' +
        'unmarshal string into Go struct field ConfigMap.binaryData of type map[string][]uint8',
        { ...cm('b'), binaryData: 'x' },
      ],
    ],
  },
]
