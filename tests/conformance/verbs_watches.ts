/** Scripts of watches. The answers are those of kube-apiserver. */
import { cm, deploy, foo, type Script, type Step } from './transcript.ts'

const TABLE = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }
const METADATA = { accept: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io' }
const FROM = 'resourceVersion={0.metadata.resourceVersion}'
const START: Step = ['GET cm', '200 ConfigMapList []']
const FOO_START: Step = ['GET foos', '200 FooList []']
const INITIAL = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'

export const WATCH_SCRIPTS: readonly Script[] = [
  {
    name: 'verbs: a watch from version 0, from a version and without one',
    steps: [
      START,
      ['POST cm', '201 ConfigMap a', cm('a')],
      ['MERGE cm/a', '200 ConfigMap a', { data: { k: 'w' } }],
      ['POST cm', '201 ConfigMap b', cm('b')],
      ['DELETE cm/a', '200 Success | a configmaps {uid}'],
      [
        `WATCH 4 cm?${FROM} ? metadata.name data metadata.deletionTimestamp`,
        'ADDED "a" {"k":"v"} -; MODIFIED "a" {"k":"w"} -; ADDED "b" {"k":"v"} -; DELETED "a" {"k":"w"} -',
      ],
      ['WATCH 1 cm?resourceVersion=0', 'ADDED ConfigMap b'],
      ['WATCH 1 cm', 'ADDED ConfigMap b'],
      ['WATCH 2 cm?resourceVersion={1.metadata.resourceVersion}', 'MODIFIED ConfigMap a; ADDED ConfigMap b'],
      ['WATCH 1 cm?resourceVersion={3.metadata.resourceVersion}', 'DELETED ConfigMap a'],
    ],
  },
  {
    name: 'verbs: watches by selector turn updates into additions and deletions',
    steps: [
      FOO_START,
      ['POST foos', '201 Foo a', foo('a', { size: 1, mode: 'slow' }, { labels: { team: 'x' } })],
      ['MERGE foos/a', '200 Foo a', { metadata: { labels: { team: 'y' } } }],
      ['MERGE foos/a', '200 Foo a', { spec: { mode: 'fast' } }],
      ['MERGE foos/a', '200 Foo a', { metadata: { labels: { team: 'x' } }, spec: { size: 2 } }],
      ['DELETE foos/a', '200 Success | a {group} foos {uid}'],
      ['POST foos', '201 Foo end', foo('end', { size: 1, mode: 'slow' }, { labels: { team: 'x' } })],
      [
        `WATCH 5 foos?${FROM}&labelSelector=team%3Dx ? metadata.name metadata.labels spec.size`,
        'ADDED "a" {"team":"x"} 1; DELETED "a" {"team":"x"} 1; ADDED "a" {"team":"x"} 2; DELETED "a" ' +
        '{"team":"x"} 2; ADDED "end" {"team":"x"} 1',
      ],
      [
        `WATCH 3 foos?${FROM}&labelSelector=team!%3Dx ? metadata.name metadata.labels spec.size`,
        'ADDED "a" {"team":"y"} 1; MODIFIED "a" {"team":"y"} 1; DELETED "a" {"team":"y"} 1',
      ],
      [
        `WATCH 3 foos?${FROM}&fieldSelector=spec.mode%3Dslow ? metadata.name metadata.labels spec.mode`,
        'ADDED "a" {"team":"x"} "slow"; MODIFIED "a" {"team":"y"} "slow"; DELETED "a" {"team":"y"} "slow"',
      ],
      [
        `WATCH 3 foos?${FROM}&fieldSelector=spec.mode%3Dfast ? metadata.name metadata.labels spec.mode`,
        'ADDED "a" {"team":"y"} "fast"; MODIFIED "a" {"team":"x"} "fast"; DELETED "a" {"team":"x"} "fast"',
      ],
      [`WATCH 1 foos?${FROM}&fieldSelector=metadata.name%3Dend`, 'ADDED Foo end'],
      [`GET foos/a?watch=true`, '404 NotFound: foos.{group} "a" not found | a {group} foos'],
      [`GET foos/end?watch=true`, '200 Foo end'],
      [
        `WATCH 3 foos?${FROM}&labelSelector=team%3Dx,gone!%3D1&fieldSelector=spec.mode%3Dslow`,
        'ADDED Foo a; DELETED Foo a; ADDED Foo end',
      ],
    ],
  },
  {
    name: 'verbs: finalizers and deletion timestamps in events',
    steps: [
      FOO_START,
      ['POST foos', '201 Foo a', foo('a', { size: 1 }, { finalizers: ['x.io/a'] })],
      ['DELETE foos/a ? metadata.finalizers', '200 ["x.io/a"]'],
      ['MERGE foos/a ? metadata.finalizers', '200 -', { metadata: { finalizers: null } }],
      [
        `WATCH 3 foos?${FROM} ? metadata.finalizers metadata.deletionTimestamp metadata.generation`,
        'ADDED ["x.io/a"] - 1; MODIFIED ["x.io/a"] "{time}" 2; DELETED ["x.io/a"] "{time}" 2',
      ],
      ['POST foos', '201 Foo b', foo('b')],
      ['DELETE foos/b ? metadata.finalizers', '200 ["foregroundDeletion"]', { propagationPolicy: 'Foreground' }],
      ['DELETE foos/b', '200 Success | b {group} foos {uid}', { propagationPolicy: 'Background' }],
      [
        'WATCH 2 foos?resourceVersion={5.metadata.resourceVersion} ? metadata.finalizers metadata.deletionTimestamp',
        'MODIFIED ["foregroundDeletion"] "{time}"; DELETED ["foregroundDeletion"] "{time}"',
      ],
    ],
  },
  {
    name: 'verbs: initial events with and without bookmarks',
    steps: [
      ['POST cm', '201 ConfigMap a', cm('a')],
      ['POST cm', '201 ConfigMap b', cm('b', {}, { labels: { x: 'y' } })],
      [
        `WATCH 3 cm?${INITIAL} ? metadata.name metadata.annotations kind apiVersion`,
        'ADDED "a" - "ConfigMap" "v1"; ADDED "b" - "ConfigMap" "v1"; BOOKMARK - ' +
        '{"k8s.io/initial-events-end":"true"} "ConfigMap" "v1"',
      ],
      [
        `WATCH 2 cm?${INITIAL}&labelSelector=x%3Dy ? metadata.name metadata.annotations`,
        'ADDED "b" -; BOOKMARK - {"k8s.io/initial-events-end":"true"}',
      ],
      [
        `WATCH 1 cm?${INITIAL}&labelSelector=x%3Dnone ? metadata.name metadata.annotations`,
        'BOOKMARK - {"k8s.io/initial-events-end":"true"}',
      ],
      [
        `WATCH 3 cm?${INITIAL}&resourceVersion=0 ? metadata.name metadata.annotations`,
        'ADDED "a" -; ADDED "b" -; BOOKMARK - {"k8s.io/initial-events-end":"true"}',
      ],
      [
        `WATCH 3 cm?${INITIAL}&resourceVersion={0.metadata.resourceVersion} ? metadata.name metadata.annotations`,
        'ADDED "a" -; ADDED "b" -; BOOKMARK - {"k8s.io/initial-events-end":"true"}',
      ],
      ['WATCH 2 cm?sendInitialEvents=true&resourceVersionMatch=NotOlderThan', 'ADDED ConfigMap a; ADDED ConfigMap b'],
      ['POST foos', '201 Foo a', foo('a')],
      [
        `WATCH 2 foos?${INITIAL} ? metadata.name metadata.annotations kind apiVersion spec`,
        'ADDED "a" - "Foo" "{group}/v1" {"mode":"fast","nested":{"deep":7},"size":1}; BOOKMARK - ' +
        '{"k8s.io/initial-events-end":"true"} "Foo" "{group}/v1" -',
      ],
      [`GET foos/a?watch=true&${INITIAL}`, '200 Foo a'],
    ],
  },
  {
    name: 'verbs: bookmarks after the first events of a watch without a version',
    steps: [
      ['POST cm', '201 ConfigMap a', cm('a')],
      [
        'WATCH 2 cm?allowWatchBookmarks=true ? metadata.name metadata.annotations',
        'ADDED "a" -; BOOKMARK - {"k8s.io/initial-events-end":"true"}',
      ],
      [
        'WATCH 2 cm?allowWatchBookmarks=true&resourceVersion=0 ? metadata.name metadata.annotations',
        'ADDED "a" -; BOOKMARK - {"k8s.io/initial-events-end":"true"}',
      ],
      [
        `WATCH 1 cm?${INITIAL}&resourceVersion=99999999`,
        'ERROR Timeout: Timeout: Too large resource version: {rv}, current: {rv} | 1 | ' +
        'ResourceVersionTooLarge',
      ],
    ],
  },
  {
    name: 'verbs: options that a watch refuses',
    steps: [
      [
        'GET cm?watch=true&sendInitialEvents=true',
        '422 Invalid: ListOptions.meta.k8s.io "" | meta.k8s.io ListOptions | FieldValueForbidden ' +
        'resourceVersionMatch Forbidden: sendInitialEvents requires setting resourceVersionMatch to ' +
        'NotOlderThan',
      ],
      [
        'GET cm?watch=true&sendInitialEvents=false',
        '422 Invalid: ListOptions.meta.k8s.io "" | meta.k8s.io ListOptions | FieldValueForbidden ' +
        'resourceVersionMatch Forbidden: sendInitialEvents requires setting resourceVersionMatch to ' +
        'NotOlderThan',
      ],
      [
        'GET cm?watch=true&sendInitialEvents=true&resourceVersionMatch=Exact',
        '422 Invalid: ListOptions.meta.k8s.io "" | meta.k8s.io ListOptions | FieldValueForbidden ' +
        'resourceVersionMatch Forbidden: sendInitialEvents requires setting resourceVersionMatch to ' +
        'NotOlderThan | FieldValueNotSupported resourceVersionMatch Unsupported value: "Exact": supported ' +
        'values: "NotOlderThan"',
      ],
      [
        'GET cm?watch=true&resourceVersionMatch=NotOlderThan',
        '422 Invalid: ListOptions.meta.k8s.io "" | meta.k8s.io ListOptions | FieldValueForbidden ' +
        'resourceVersionMatch Forbidden: resourceVersionMatch is forbidden for watch unless ' +
        'sendInitialEvents is provided',
      ],
      [
        'GET cm?watch=true&resourceVersionMatch=Exact',
        '422 Invalid: ListOptions.meta.k8s.io "" | meta.k8s.io ListOptions | FieldValueForbidden ' +
        'resourceVersionMatch Forbidden: resourceVersionMatch is forbidden for watch unless ' +
        'sendInitialEvents is provided | FieldValueNotSupported resourceVersionMatch Unsupported value: ' +
        '"Exact": supported values: "NotOlderThan"',
      ],
      [
        'GET cm?watch=true&resourceVersionMatch=Nearly&sendInitialEvents=true',
        '422 Invalid: ListOptions.meta.k8s.io "" | meta.k8s.io ListOptions | FieldValueForbidden ' +
        'resourceVersionMatch Forbidden: sendInitialEvents requires setting resourceVersionMatch to ' +
        'NotOlderThan | FieldValueNotSupported resourceVersionMatch Unsupported value: "Nearly": ' +
        'supported values: "NotOlderThan"',
      ],
      [
        'GET cm?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&continue=abc',
        '422 Invalid: ListOptions.meta.k8s.io "" | meta.k8s.io ListOptions | FieldValueForbidden ' +
        'resourceVersionMatch Forbidden: resourceVersionMatch is forbidden when continue is provided',
      ],
      [
        'GET cm?watch=true&resourceVersion=abc',
        '500 : resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
      ],
      [
        'GET foos?watch=true&resourceVersion=abc',
        '500 : resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
      ],
      [
        'GET cm?watch=true&resourceVersion=-1',
        '500 : resourceVersion: Invalid value: "-1": strconv.ParseUint: parsing "-1": invalid syntax',
      ],
      ['GET cm?watch=true&timeoutSeconds=x', '400 BadRequest: strconv.ParseInt: parsing "x": invalid syntax'],
      ['GET cm?watch=true&limit=x', '400 BadRequest: strconv.ParseInt: parsing "x": invalid syntax'],
      [
        'GET cm?watch=true&fieldSelector=data.k%3Dv',
        '400 BadRequest: "data.k" is not a known field selector: only "metadata.name", ' +
        '"metadata.namespace"',
      ],
      ['GET cm/a?watch=true&fieldSelector=metadata.name%3Db', '404 NotFound: configmaps "a" not found | a configmaps'],
    ],
  },
  {
    name: 'verbs: tables and metadata in watches',
    steps: [
      FOO_START,
      ['POST foos', '201 Foo a', foo('a', { size: 3 })],
      ['MERGE foos/a', '200 Foo a', { spec: { size: 4 } }],
      ['DELETE foos/a', '200 Success | a {group} foos {uid}'],
      [
        `WATCH 3 foos?${FROM} ? kind apiVersion metadata spec`,
        'ADDED "PartialObjectMetadata" "meta.k8s.io/v1" ' +
        '{"creationTimestamp":"{time}","generation":1,"managedFields":["{\\"apiVersion\\":\\"{group}/v1\\",\\"' +
        'fieldsType\\":\\"FieldsV1\\",\\"fieldsV1\\":{\\"f:spec\\":{\\".\\":{},\\"f:mode\\":{},\\"f:nested\\":{\\".\\":{' +
        '},\\"f:deep\\":{}},\\"f:size\\":{}}},\\"manager\\":\\"tester\\",\\"operation\\":\\"Update\\",\\"time\\":\\"{tim' +
        'e}\\"}"],"name":"a","namespace":"{ns}","resourceVersion":"*","uid":"*"} -; MODIFIED ' +
        '"PartialObjectMetadata" "meta.k8s.io/v1" ' +
        '{"creationTimestamp":"{time}","generation":2,"managedFields":["{\\"apiVersion\\":\\"{group}/v1\\",\\"' +
        'fieldsType\\":\\"FieldsV1\\",\\"fieldsV1\\":{\\"f:spec\\":{\\".\\":{},\\"f:mode\\":{},\\"f:nested\\":{\\".\\":{' +
        '},\\"f:deep\\":{}},\\"f:size\\":{}}},\\"manager\\":\\"tester\\",\\"operation\\":\\"Update\\",\\"time\\":\\"{tim' +
        'e}\\"}"],"name":"a","namespace":"{ns}","resourceVersion":"*","uid":"*"} -; DELETED ' +
        '"PartialObjectMetadata" "meta.k8s.io/v1" ' +
        '{"creationTimestamp":"{time}","generation":2,"managedFields":["{\\"apiVersion\\":\\"{group}/v1\\",\\"' +
        'fieldsType\\":\\"FieldsV1\\",\\"fieldsV1\\":{\\"f:spec\\":{\\".\\":{},\\"f:mode\\":{},\\"f:nested\\":{\\".\\":{' +
        '},\\"f:deep\\":{}},\\"f:size\\":{}}},\\"manager\\":\\"tester\\",\\"operation\\":\\"Update\\",\\"time\\":\\"{tim' +
        'e}\\"}"],"name":"a","namespace":"{ns}","resourceVersion":"*","uid":"*"} -',
        undefined,
        METADATA,
      ],
      [
        `WATCH 3 foos?${FROM} ? kind apiVersion columnDefinitions.length rows.0.cells.0 rows.0.cells.1 rows.0.object.kind`,
        'ADDED "Table" "meta.k8s.io/v1" 4 "a" 3 "PartialObjectMetadata"; MODIFIED "Table" ' +
        '"meta.k8s.io/v1" - "a" 4 "PartialObjectMetadata"; DELETED "Table" "meta.k8s.io/v1" - "a" 4 ' +
        '"PartialObjectMetadata"',
        undefined,
        TABLE,
      ],
      [`WATCH 1 foos?${FROM}&includeObject=None ? rows.0.object`, 'ADDED null', undefined, TABLE],
      [
        `WATCH 1 foos?${FROM}&includeObject=Object ? rows.0.object.kind rows.0.object.spec.size`,
        'ADDED "Foo" 3',
        undefined,
        TABLE,
      ],
      [
        `WATCH 1 foos?${INITIAL} ? kind apiVersion metadata.annotations columnDefinitions.length rows`,
        'BOOKMARK "Table" "meta.k8s.io/v1" - 4 ' +
        '[{"cells":["",null,null,null],"object":{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetad' +
        'ata","metadata":{"annotations":{"k8s.io/initial-events-end":"true"},"resourceVersion":"*"}}}]',
        undefined,
        TABLE,
      ],
      [
        `WATCH 1 foos?${INITIAL} ? kind apiVersion metadata.annotations`,
        'BOOKMARK "PartialObjectMetadata" "meta.k8s.io/v1" {"k8s.io/initial-events-end":"true"}',
        undefined,
        METADATA,
      ],
      [
        'GET foos?includeObject=Nope',
        '400 BadRequest: Unable to convert to Table as requested: includeObject: Invalid value: "Nope": ' +
        "must be 'Metadata', 'Object', 'None', or empty",
        undefined,
        TABLE,
      ],
      ['POST foos', '201 Foo b', foo('b')],
      ['GET foos?includeObject=None ? rows.0.object', '200 null', undefined, TABLE],
      [
        'GET foos/b?includeObject=Nope',
        '400 BadRequest: Unable to convert to Table as requested: includeObject: Invalid value: "Nope": ' +
        "must be 'Metadata', 'Object', 'None', or empty",
        undefined,
        TABLE,
      ],
      [
        'GET foos?watch=true&includeObject=Nope',
        '400 BadRequest: Unable to convert to Table as requested: includeObject: Invalid value: "Nope": ' +
        "must be 'Metadata', 'Object', 'None', or empty",
        undefined,
        TABLE,
      ],
    ],
  },
  {
    name: 'verbs: watches of all namespaces, of another version and of a Deployment’s status',
    steps: [
      FOO_START,
      ['POST foos', '201 Foo a', foo('a')],
      ['POST deploy', '201 Deployment a', deploy('a')],
      ['MERGE deploy/a/status', '200 Deployment a', { status: { replicas: 2 } }],
      [
        `WATCH 1 /apis/{group}/v1/foos?${FROM}&fieldSelector=metadata.namespace%3D{ns} ? metadata.name apiVersion`,
        'ADDED "a" "{group}/v1"',
      ],
      [`WATCH 1 foos2?${FROM} ? metadata.name apiVersion kind`, 'ADDED "a" "{group}/v2" "Foo"'],
      [
        `WATCH 2 deploy?${FROM} ? metadata.name metadata.generation status`,
        'ADDED "a" 1 {}; MODIFIED "a" 1 {"replicas":2}',
      ],
      [
        `WATCH 2 /apis/apps/v1/deployments?${FROM}&fieldSelector=metadata.namespace%3D{ns} ? metadata.name`,
        'ADDED "a"; MODIFIED "a"',
      ],
      [
        `WATCH 1 /api/v1/namespaces?fieldSelector=metadata.name%3D{ns} ? metadata.name status`,
        'ADDED "{ns}" {"phase":"Active"}',
      ],
      ['GET /api/v1/namespaces/{ns}?watch=true', '200 Namespace {ns}'],
    ],
  },
  {
    name: 'verbs: writes without a change, dry runs and refused writes send no events',
    steps: [
      START,
      ['POST cm', '201 ConfigMap a', cm('a')],
      ['MERGE cm/a', '200 ConfigMap a', { data: { k: 'v' } }],
      ['MERGE cm/a?dryRun=All', '200 ConfigMap a', { data: { k: 'w' } }],
      ['DELETE cm/a?dryRun=All', '200 Success | a configmaps {uid}'],
      ['POST cm?dryRun=All', '201 ConfigMap b', cm('b')],
      ['POST cm', '409 AlreadyExists: configmaps "a" already exists | a configmaps', cm('a')],
      ['DELETE cm/a', '200 Success | a configmaps {uid}'],
      [`WATCH 2 cm?${FROM}`, 'ADDED ConfigMap a; DELETED ConfigMap a'],
    ],
  },
]
