/** Scripts of watches. The answers are recorded. */
import { cm, deploy, foo, type Script, type Step } from './transcript.ts'

const TABLE = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }
const METADATA = { accept: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io' }
const FROM = 'resourceVersion={0.metadata.resourceVersion}'
const START: Step = 'GET cm'
const FOO_START: Step = 'GET foos'
const INITIAL = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'

export const WATCH_SCRIPTS: readonly Script[] = [
  {
    name: 'verbs: a watch from version 0, from a version and without one',
    steps: [
      START,
      ['POST cm', cm('a')],
      ['MERGE cm/a', { data: { k: 'w' } }],
      ['POST cm', cm('b')],
      'DELETE cm/a',
      `WATCH 4 cm?${FROM} ? metadata.name data metadata.deletionTimestamp`,
      'WATCH 1 cm?resourceVersion=0',
      'WATCH 1 cm',
      'WATCH 2 cm?resourceVersion={1.metadata.resourceVersion}',
      'WATCH 1 cm?resourceVersion={3.metadata.resourceVersion}',
    ],
  },
  {
    name: 'verbs: watches by selector turn updates into additions and deletions',
    steps: [
      FOO_START,
      ['POST foos', foo('a', { size: 1, mode: 'slow' }, { labels: { team: 'x' } })],
      ['MERGE foos/a', { metadata: { labels: { team: 'y' } } }],
      ['MERGE foos/a', { spec: { mode: 'fast' } }],
      ['MERGE foos/a', { metadata: { labels: { team: 'x' } }, spec: { size: 2 } }],
      'DELETE foos/a',
      ['POST foos', foo('end', { size: 1, mode: 'slow' }, { labels: { team: 'x' } })],
      `WATCH 5 foos?${FROM}&labelSelector=team%3Dx ? metadata.name metadata.labels spec.size`,
      `WATCH 3 foos?${FROM}&labelSelector=team!%3Dx ? metadata.name metadata.labels spec.size`,
      `WATCH 3 foos?${FROM}&fieldSelector=spec.mode%3Dslow ? metadata.name metadata.labels spec.mode`,
      `WATCH 3 foos?${FROM}&fieldSelector=spec.mode%3Dfast ? metadata.name metadata.labels spec.mode`,
      `WATCH 1 foos?${FROM}&fieldSelector=metadata.name%3Dend`,
      `GET foos/a?watch=true`,
      `GET foos/end?watch=true`,
      `WATCH 3 foos?${FROM}&labelSelector=team%3Dx,gone!%3D1&fieldSelector=spec.mode%3Dslow`,
    ],
  },
  {
    name: 'verbs: finalizers and deletion timestamps in events',
    steps: [
      FOO_START,
      ['POST foos', foo('a', { size: 1 }, { finalizers: ['x.io/a'] })],
      'DELETE foos/a ? metadata.finalizers',
      ['MERGE foos/a ? metadata.finalizers', { metadata: { finalizers: null } }],
      `WATCH 3 foos?${FROM} ? metadata.finalizers metadata.deletionTimestamp metadata.generation`,
      ['POST foos', foo('b')],
      ['DELETE foos/b ? metadata.finalizers', { propagationPolicy: 'Foreground' }],
      ['DELETE foos/b', { propagationPolicy: 'Background' }],
      'WATCH 2 foos?resourceVersion={5.metadata.resourceVersion} ? metadata.finalizers metadata.deletionTimestamp',
    ],
  },
  {
    name: 'verbs: initial events with and without bookmarks',
    steps: [
      ['POST cm', cm('a')],
      ['POST cm', cm('b', {}, { labels: { x: 'y' } })],
      `WATCH 3 cm?${INITIAL} ? metadata.name metadata.annotations kind apiVersion`,
      `WATCH 2 cm?${INITIAL}&labelSelector=x%3Dy ? metadata.name metadata.annotations`,
      `WATCH 1 cm?${INITIAL}&labelSelector=x%3Dnone ? metadata.name metadata.annotations`,
      `WATCH 3 cm?${INITIAL}&resourceVersion=0 ? metadata.name metadata.annotations`,
      `WATCH 3 cm?${INITIAL}&resourceVersion={0.metadata.resourceVersion} ? metadata.name metadata.annotations`,
      'WATCH 2 cm?sendInitialEvents=true&resourceVersionMatch=NotOlderThan',
      ['POST foos', foo('a')],
      `WATCH 2 foos?${INITIAL} ? metadata.name metadata.annotations kind apiVersion spec`,
      `GET foos/a?watch=true&${INITIAL}`,
    ],
  },
  {
    name: 'verbs: bookmarks after the first events of a watch without a version',
    steps: [
      ['POST cm', cm('a')],
      'WATCH 2 cm?allowWatchBookmarks=true ? metadata.name metadata.annotations',
      'WATCH 2 cm?allowWatchBookmarks=true&resourceVersion=0 ? metadata.name metadata.annotations',
      `WATCH 1 cm?${INITIAL}&resourceVersion=99999999`,
    ],
  },
  {
    name: 'verbs: options that a watch refuses',
    steps: [
      'GET cm?watch=true&sendInitialEvents=true',
      'GET cm?watch=true&sendInitialEvents=false',
      'GET cm?watch=true&sendInitialEvents=true&resourceVersionMatch=Exact',
      'GET cm?watch=true&resourceVersionMatch=NotOlderThan',
      'GET cm?watch=true&resourceVersionMatch=Exact',
      'GET cm?watch=true&resourceVersionMatch=Nearly&sendInitialEvents=true',
      'GET cm?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&continue=abc',
      'GET cm?watch=true&resourceVersion=abc',
      'GET foos?watch=true&resourceVersion=abc',
      'GET cm?watch=true&resourceVersion=-1',
      'GET cm?watch=true&timeoutSeconds=x',
      'GET cm?watch=true&limit=x',
      'GET cm?watch=true&fieldSelector=data.k%3Dv',
      'GET cm/a?watch=true&fieldSelector=metadata.name%3Db',
    ],
  },
  {
    name: 'verbs: tables and metadata in watches',
    steps: [
      FOO_START,
      ['POST foos', foo('a', { size: 3 })],
      ['MERGE foos/a', { spec: { size: 4 } }],
      'DELETE foos/a',
      [`WATCH 3 foos?${FROM} ? kind apiVersion metadata spec`, undefined, METADATA],
      [
        `WATCH 3 foos?${FROM} ? kind apiVersion columnDefinitions.length rows.0.cells.0 rows.0.cells.1 rows.0.object.kind`,
        undefined,
        TABLE,
      ],
      [`WATCH 1 foos?${FROM}&includeObject=None ? rows.0.object`, undefined, TABLE],
      [`WATCH 1 foos?${FROM}&includeObject=Object ? rows.0.object.kind rows.0.object.spec.size`, undefined, TABLE],
      [
        `WATCH 1 foos?${INITIAL} ? kind apiVersion metadata.annotations columnDefinitions.length rows`,
        undefined,
        TABLE,
      ],
      [`WATCH 1 foos?${INITIAL} ? kind apiVersion metadata.annotations`, undefined, METADATA],
      ['GET foos?includeObject=Nope', undefined, TABLE],
      ['POST foos', foo('b')],
      ['GET foos?includeObject=None ? rows.0.object', undefined, TABLE],
      ['GET foos/b?includeObject=Nope', undefined, TABLE],
      ['GET foos?watch=true&includeObject=Nope', undefined, TABLE],
    ],
  },
  {
    name: 'verbs: watches of all namespaces, of another version and of a Deployment’s status',
    steps: [
      FOO_START,
      ['POST foos', foo('a')],
      ['POST deploy', deploy('a')],
      ['MERGE deploy/a/status', { status: { replicas: 2 } }],
      `WATCH 1 /apis/{group}/v1/foos?${FROM}&fieldSelector=metadata.namespace%3D{ns} ? metadata.name apiVersion`,
      `WATCH 1 foos2?${FROM} ? metadata.name apiVersion kind`,
      `WATCH 2 deploy?${FROM} ? metadata.name metadata.generation status`,
      `WATCH 2 /apis/apps/v1/deployments?${FROM}&fieldSelector=metadata.namespace%3D{ns} ? metadata.name`,
      `WATCH 1 /api/v1/namespaces?fieldSelector=metadata.name%3D{ns} ? metadata.name status`,
      'GET /api/v1/namespaces/{ns}?watch=true',
    ],
  },
  {
    name: 'verbs: writes without a change, dry runs and refused writes send no events',
    steps: [
      START,
      ['POST cm', cm('a')],
      ['MERGE cm/a', { data: { k: 'v' } }],
      ['MERGE cm/a?dryRun=All', { data: { k: 'w' } }],
      'DELETE cm/a?dryRun=All',
      ['POST cm?dryRun=All', cm('b')],
      ['POST cm', cm('a')],
      'DELETE cm/a',
      `WATCH 2 cm?${FROM}`,
    ],
  },
]
