/** Cases of lists: selectors, pages, versions, tables. */
import assert from 'node:assert/strict'
import type { Api, Body, Case } from './api.ts'
import { casesOf, deploy, foo, type Step } from './transcript.ts'

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io'
const names = (list: Body): string[] => list.items.map((each: Body) => each.metadata.name)

async function make(api: Api, labels: Record<string, Record<string, string>>): Promise<void> {
  for (const [name, each] of Object.entries(labels)) {
    await api.expect(201, 'POST', api.configMaps, api.configMap(name, {}, { labels: each }))
  }
}

const SELECTORS: readonly (readonly [string, readonly string[]])[] = [
  ['tier=front', ['a']],
  ['tier==front', ['a']],
  ['tier!=front', ['b', 'c', 'd']],
  ['tier in (front,back)', ['a', 'b']],
  ['tier notin (front,back)', ['c', 'd']],
  ['tier', ['a', 'b']],
  ['!tier', ['c', 'd']],
  ['n>2', ['c']],
  ['n<3', ['b']],
  ['tier,n', ['b']],
  ['tier=back,n=2', ['b']],
  ['empty=', ['d']],
  [' tier = back ', ['b']],
  ['tier in (front, )', ['a']],
  ['', ['a', 'b', 'c', 'd']],
]

export const LIST_CASES: readonly Case[] = casesOf('lists', [
  {
    name: 'label selectors filter lists',
    async run(api) {
      await make(api, { a: { tier: 'front' }, b: { tier: 'back', n: '2' }, c: { n: '3' }, d: { empty: '' } })
      for (const [selector, expected] of SELECTORS) {
        const list = await api.expect(200, 'GET', `${api.configMaps}?labelSelector=${encodeURIComponent(selector)}`)
        assert.deepEqual(names(list), expected, selector)
      }
    },
  },
  {
    name: 'an invalid label selector is refused',
    steps: [
      ...['a=b=c', 'a in', '!!a', 'a in (b', 'a>x', '=b', 'a=-'].map((selector): Step =>
        `GET cm?labelSelector=${encodeURIComponent(selector)}`
      ),
    ],
  },
  {
    name: 'field selectors support name, namespace and the fields of the kind',
    async run(api) {
      await make(api, { a: {}, b: {} })
      assert.deepEqual(names(await api.expect(200, 'GET', `${api.configMaps}?fieldSelector=metadata.name%3Da`)), ['a'])
      assert.deepEqual(names(await api.expect(200, 'GET', `${api.configMaps}?fieldSelector=metadata.name!%3Da`)), ['b'])
      assert.deepEqual(
        names(await api.expect(200, 'GET', `/api/v1/configmaps?fieldSelector=metadata.namespace%3D${api.namespace}`)),
        ['a', 'b'],
      )
      await api.expect(201, 'POST', api.foos, api.foo('f', { size: 1, mode: 'slow' }))
      await api.expect(201, 'POST', api.foos, api.foo('g', { size: 1 }))
      assert.deepEqual(names(await api.expect(200, 'GET', `${api.foos}?fieldSelector=spec.mode%3Dslow`)), ['f'])
      await api.refused(400, 'BadRequest', 'GET', `${api.foos}?fieldSelector=spec.size%3D1`)
      await api.refused(400, 'BadRequest', 'GET', `${api.deployments}?fieldSelector=spec.replicas%3D1`)
    },
  },
  {
    name: 'list items of custom kinds have a kind, those of built-in kinds do not',
    async run(api) {
      await make(api, { a: {} })
      await api.expect(201, 'POST', api.foos, api.foo('a'))
      const maps = await api.expect(200, 'GET', api.configMaps)
      assert.equal(maps.kind, 'ConfigMapList')
      assert.equal(maps.items[0].kind, undefined)
      const foos = await api.expect(200, 'GET', api.foos)
      assert.equal(foos.kind, 'FooList')
      assert.equal(foos.items[0].kind, 'Foo')
    },
  },
  {
    name: 'all pages have the version of the first',
    async run(api) {
      await make(api, { a: {}, b: {}, c: {} })
      const first = await api.expect(200, 'GET', `${api.configMaps}?limit=2`)
      assert.deepEqual(names(first), ['a', 'b'])
      assert.equal(first.metadata.remainingItemCount, 1)
      await api.expect(201, 'POST', api.configMaps, api.configMap('d'))
      await api.expect(200, 'DELETE', `${api.configMaps}/c`)
      const second = await api.expect(200, 'GET', `${api.configMaps}?limit=2&continue=${first.metadata.continue}`)
      assert.deepEqual(names(second), ['c'])
      assert.equal(second.metadata.resourceVersion, first.metadata.resourceVersion)
      assert.ok(!second.metadata.continue)
    },
  },
  { name: 'an invalid continue token is refused', steps: ['GET cm?limit=2&continue=abc'] },
  {
    name: 'a list with an exact version returns the past state',
    async run(api) {
      await make(api, { a: {} })
      const { metadata } = await api.expect(200, 'GET', api.configMaps)
      await make(api, { b: {} })
      const query = `resourceVersion=${metadata.resourceVersion}`
      assert.deepEqual(names(await api.expect(200, 'GET', `${api.configMaps}?${query}&resourceVersionMatch=Exact`)), [
        'a',
      ])
      assert.deepEqual(
        names(await api.expect(200, 'GET', `${api.configMaps}?${query}&resourceVersionMatch=NotOlderThan`)),
        ['a', 'b'],
      )
    },
  },
  {
    name: 'invalid versions are refused',
    steps: [
      'GET cm?resourceVersion=abc',
      'GET cm?resourceVersionMatch=Exact',
      'GET cm?resourceVersion=0&resourceVersionMatch=Exact',
      'GET cm?resourceVersion=1&resourceVersionMatch=Nearly',
    ],
  },
  {
    name: 'a future version is a Timeout with the cause ResourceVersionTooLarge',
    steps: ['GET cm?resourceVersion=99999999&resourceVersionMatch=NotOlderThan'],
  },
  {
    name: 'a table of custom objects has their printer columns',
    steps: [
      ['POST foos', foo('a', { size: 3 })],
      ['MERGE foos/a/status', {
        status: { conditions: [{ type: 'Other', status: 'False' }, { type: 'Ready', status: 'True' }] },
      }],
      ['GET foos ? kind columnDefinitions rows.0.cells rows.0.object.kind', undefined, {
        accept: `${TABLE},application/json`,
      }],
    ],
  },
  {
    name: 'a table of Deployments has kubectl’s columns',
    steps: [
      ['POST deploy', deploy('a', { replicas: 2 })],
      [
        'GET deploy ? columnDefinitions.0.name columnDefinitions.1.name columnDefinitions.length rows.0.cells',
        undefined,
        { accept: TABLE },
      ],
    ],
  },
  {
    name: 'a list can return only metadata',
    async run(api) {
      await make(api, { a: { x: 'y' } })
      const list = await api.expect(
        200,
        'GET',
        api.configMaps,
        undefined,
        { accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io' },
      )
      assert.equal(list.kind, 'PartialObjectMetadataList')
      assert.equal(list.items[0].metadata.labels.x, 'y')
      assert.equal(list.items[0].data, undefined)
    },
  },
])
