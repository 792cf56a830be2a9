/** Cases of lists: selectors, pages, versions, tables. */
import type { Case } from './api.ts'
import { casesOf, cm, deploy, foo, script, type Step } from './transcript.ts'

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io'
/** ConfigMaps with labels. */
const make = (labels: Record<string, Record<string, string>>): Step[] =>
  Object.entries(labels).map(([name, each]) => ['POST cm', cm(name, {}, { labels: each })])

const SELECTORS: readonly string[] = [
  'tier=front',
  'tier==front',
  'tier!=front',
  'tier in (front,back)',
  'tier notin (front,back)',
  'tier',
  '!tier',
  'n>2',
  'n<3',
  'tier,n',
  'tier=back,n=2',
  'empty=',
  ' tier = back ',
  'tier in (front, )',
  '',
]

export const LIST_CASES: readonly Case[] = casesOf('lists', [
  script('label selectors filter lists', [
    ...make({ a: { tier: 'front' }, b: { tier: 'back', n: '2' }, c: { n: '3' }, d: { empty: '' } }),
    ...SELECTORS.map((selector): Step => `GET cm?labelSelector=${encodeURIComponent(selector)}`),
  ]),
  script('field selectors support name, namespace and the fields of the kind', [
    ...make({ a: {}, b: {} }),
    'GET cm?fieldSelector=metadata.name%3Da',
    'GET cm?fieldSelector=metadata.name!%3Da',
    'GET /api/v1/configmaps?fieldSelector=metadata.namespace%3D{ns}',
    ['POST foos', foo('f', { size: 1, mode: 'slow' })],
    ['POST foos', foo('g')],
    'GET foos?fieldSelector=spec.mode%3Dslow',
    'GET foos?fieldSelector=spec.size%3D1',
    'GET deploy?fieldSelector=spec.replicas%3D1',
  ]),
  script('list items of custom kinds have a kind, those of built-in kinds do not', [
    ...make({ a: {} }),
    ['POST foos', foo('a')],
    'GET cm ? kind items.0.kind',
    'GET foos ? kind items.0.kind',
  ]),
  script('all pages have the version of the first', [
    ...make({ a: {}, b: {}, c: {} }),
    'GET cm?limit=2 ? items.0.metadata.name items.1.metadata.name metadata.remainingItemCount metadata.resourceVersion',
    ...make({ d: {} }),
    'DELETE cm/c',
    'GET cm?limit=2&continue={3.metadata.continue} ? items.0.metadata.name items.length metadata.continue metadata.resourceVersion',
  ]),
  script('a table of custom objects has their printer columns', [
    ['POST foos', foo('a', { size: 3 })],
    ['MERGE foos/a/status', {
      status: { conditions: [{ type: 'Other', status: 'False' }, { type: 'Ready', status: 'True' }] },
    }],
    ['GET foos ? kind columnDefinitions rows.0.cells.0 rows.0.cells.1 rows.0.cells.2 rows.0.object.kind', undefined, {
      accept: `${TABLE},application/json`,
    }],
  ]),
  script('a table of Deployments has kubectl’s columns', [
    ['POST deploy', deploy('a', { replicas: 2 })],
    [
      'GET deploy ? columnDefinitions.0.name columnDefinitions.1.name columnDefinitions.length rows.0.cells',
      undefined,
      { accept: TABLE },
    ],
  ]),
])
