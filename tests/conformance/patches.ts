/** Cases of patches other than apply, and of subresources. verbs_patches.ts has more. */
import assert from 'node:assert/strict'
import type { Body, Case } from './api.ts'
import { casesOf, deploy, foo } from './transcript.ts'

export const PATCH_CASES: readonly Case[] = casesOf('patches', [
  {
    name: 'a JSON patch applies its operations in order, or none of them',
    steps: [
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
    ],
  },
  {
    name: 'a patch with fieldValidation=Strict refuses unknown fields',
    steps: [['POST foos', foo('a')], ['MERGE foos/a?fieldValidation=Strict', { spec: { bogus: 1 } }]],
  },
  {
    name: 'the main resource does not write status',
    steps: [
      ['POST foos ? status metadata.resourceVersion', { ...foo('a'), status: { ready: 1 } }],
      ['MERGE foos/a ? status metadata.resourceVersion', { status: { ready: 1 } }],
    ],
  },
  {
    name: '/status writes only status and keeps the generation',
    steps: [
      ['POST foos ? spec metadata.resourceVersion', foo('a')],
      [
        'MERGE foos/a/status ? status spec metadata.labels metadata.annotations metadata.generation metadata.resourceVersion',
        { metadata: { labels: { a: 'b' }, annotations: { a: 'b' } }, spec: { size: 5 }, status: { ready: 2 } },
      ],
    ],
  },
  {
    name: '/status of a Deployment writes annotations, but not labels or spec',
    steps: [
      ['POST deploy', deploy('a')],
      ['MERGE deploy/a/status ? metadata.labels metadata.annotations spec.replicas status', {
        metadata: { labels: { a: 'b' }, annotations: { a: 'b' } },
        spec: { replicas: 5 },
        status: { replicas: 2, conditions: [{ type: 'Available', status: 'True' }] },
      }],
    ],
  },
  {
    name: 'the generation counts only changes of the spec',
    steps: [
      ['POST foos ? metadata.generation', foo('a')],
      ['MERGE foos/a ? metadata.generation', { metadata: { labels: { a: 'b' } } }],
      ['MERGE foos/a ? metadata.generation', { spec: { size: 2 } }],
    ],
  },
  {
    name: '/scale reads and writes the replicas of a Deployment',
    steps: [
      ['POST deploy', deploy('a')],
      ['MERGE deploy/a/scale ? kind apiVersion spec.replicas status.selector', { spec: { replicas: 4 } }],
      'GET deploy/a ? spec.replicas',
    ],
  },
  {
    name: '/scale as a Table has columns of its own',
    async run(api) {
      await api.expect(201, 'POST', api.deployments, api.deployment('a', { replicas: 3 }))
      await api.expect(201, 'POST', api.foos, api.foo('a', { size: 2 }))
      const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io'
      const builtin = ['Name string', 'Desired integer', 'Available integer', 'Age string']
      const custom = ['Name string name', 'Desired integer', 'Available integer', 'Age date']
      for (const [path, replicas, columns] of [[api.deployments, 3, builtin], [api.foos, 2, custom]] as const) {
        const table = await api.expect(200, 'GET', `${path}/a/scale`, undefined, { accept })
        assert.equal(table.kind, 'Table')
        const shown = table.columnDefinitions.map((each: Body) => `${each.name} ${each.type} ${each.format}`.trim())
        assert.deepEqual(shown, columns)
        assert.deepEqual(table.rows[0].cells.slice(0, 3), ['a', replicas, 0])
        assert.match(table.rows[0].cells[3], /^\d+s$/)
        assert.equal(table.rows[0].object.metadata.name, 'a')
      }
    },
  },
  {
    name: '/scale of a custom kind uses the paths of its definition',
    steps: [
      ['POST foos', foo('a', { size: 3 })],
      ['MERGE foos/a/status', { status: { ready: 2, selector: 'a=b' } }],
      'GET foos/a/scale ? spec.replicas status',
      ['PUT foos/a/scale', (answers: readonly Body[]) => ({ ...answers[2], spec: { replicas: 5 } })],
      'GET foos/a ? spec.size',
    ],
  },
])
