/** Cases of patches other than apply, and of subresources. verbs_patches.ts has more. */
import type { Body, Case } from './api.ts'
import { casesOf, deploy, foo, script, type Step } from './transcript.ts'

export const PATCH_CASES: readonly Case[] = casesOf('patches', [
  script('a JSON patch applies its operations in order, or none of them', [
    ['POST foos', foo('a', { size: 1, plain: ['x', 'z'] })],
    ['JSON foos/a ? spec.plain metadata.annotations', [
      { op: 'test', path: '/spec/size', value: 1 },
      { op: 'add', path: '/spec/plain/1', value: 'y' },
      { op: 'replace', path: '/spec/size', value: 2 },
      { op: 'add', path: '/metadata/annotations', value: { 'a/b': 'c' } },
      { op: 'replace', path: '/metadata/annotations/a~1b', value: 'd' },
    ]],
    ['JSON foos/a', [{ op: 'replace', path: '/spec/size', value: 3 }, {
      op: 'test',
      path: '/spec/mode',
      value: 'x',
    }]],
    'GET foos/a ? spec.size',
  ]),
  script('a patch with fieldValidation=Strict refuses unknown fields', [['POST foos', foo('a')], [
    'MERGE foos/a?fieldValidation=Strict',
    { spec: { bogus: 1 } },
  ]]),
  script('the main resource does not write status', [
    ['POST foos ? status metadata.resourceVersion', { ...foo('a'), status: { ready: 1 } }],
    ['MERGE foos/a ? status metadata.resourceVersion', { status: { ready: 1 } }],
  ]),
  script('/status writes only status and keeps the generation', [
    ['POST foos ? spec metadata.resourceVersion', foo('a')],
    [
      'MERGE foos/a/status ? status spec metadata.labels metadata.annotations metadata.generation metadata.resourceVersion',
      { metadata: { labels: { a: 'b' }, annotations: { a: 'b' } }, spec: { size: 5 }, status: { ready: 2 } },
    ],
  ]),
  script('/status of a Deployment writes annotations, but not labels or spec', [
    ['POST deploy', deploy('a')],
    ['MERGE deploy/a/status ? metadata.labels metadata.annotations spec.replicas status', {
      metadata: { labels: { a: 'b' }, annotations: { a: 'b' } },
      spec: { replicas: 5 },
      status: { replicas: 2, conditions: [{ type: 'Available', status: 'True' }] },
    }],
  ]),
  script('the generation counts only changes of the spec', [
    ['POST foos ? metadata.generation', foo('a')],
    ['MERGE foos/a ? metadata.generation', { metadata: { labels: { a: 'b' } } }],
    ['MERGE foos/a ? metadata.generation', { spec: { size: 2 } }],
  ]),
  script('/scale reads and writes the replicas of a Deployment', [
    ['POST deploy', deploy('a')],
    ['MERGE deploy/a/scale ? kind apiVersion spec.replicas status.selector', { spec: { replicas: 4 } }],
    'GET deploy/a ? spec.replicas',
  ]),
  script('/scale as a Table has columns of its own', [
    ['POST deploy', deploy('a', { replicas: 3 })],
    ['POST foos', foo('a', { size: 2 })],
    ...['deploy', 'foos'].map((path): Step => [
      `GET ${path}/a/scale ? kind rows.0.cells.0 rows.0.cells.1 rows.0.cells.2 rows.0.object.metadata.name ` +
      [0, 1, 2, 3].flatMap((at) => ['name', 'type', 'format'].map((key) => `columnDefinitions.${at}.${key}`)).join(
        ' ',
      ),
      undefined,
      { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
    ]),
  ]),
  script('/scale of a custom kind uses the paths of its definition', [
    ['POST foos', foo('a', { size: 3 })],
    ['MERGE foos/a/status', { status: { ready: 2, selector: 'a=b' } }],
    'GET foos/a/scale ? spec.replicas status',
    ['PUT foos/a/scale', (answers: readonly Body[]) => ({ ...answers[2], spec: { replicas: 5 } })],
    'GET foos/a ? spec.size',
  ]),
])
