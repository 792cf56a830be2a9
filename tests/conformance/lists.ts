/** Cases of lists: selectors, pages, versions, tables. */
import assert from 'node:assert/strict'
import type { Api, Body, Case } from './api.ts'

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io'
const names = (list: Body): string[] => list.items.map((each: Body) => each.metadata.name)

async function make(api: Api, labels: Record<string, Record<string, string>>): Promise<void> {
  for (const [name, each] of Object.entries(labels)) {
    await api.expect(
      201,
      'POST',
      api.configMaps,
      api.configMap(name, {}, { labels: each }),
    )
  }
}

const SELECTORS: readonly (readonly [string, readonly string[]])[] = [
  ['tier=front', ['a']],
  ['tier==front', ['a']],
  ['tier!=front', ['b', 'c', 'd']],
  ['tier in (front,back)', ['a', 'b']],
  [
    'tier notin (front,back)',
    ['c', 'd'],
  ],
  ['tier', ['a', 'b']],
  ['!tier', ['c', 'd']],
  ['n>2', ['c']],
  ['n<3', ['b']],
  ['tier,n', ['b']],
  [
    'tier=back,n=2',
    ['b'],
  ],
  ['empty=', ['d']],
  [' tier = back ', ['b']],
  ['tier in (front, )', ['a']],
  ['', ['a', 'b', 'c', 'd']],
]

export const LIST_CASES: readonly Case[] = [
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
    async run(api) {
      for (const selector of ['a=b=c', 'a in', '!!a', 'a in (b', 'a>x', '=b', 'a=-']) {
        await api.refused(400, 'BadRequest', 'GET', `${api.configMaps}?labelSelector=${encodeURIComponent(selector)}`)
      }
    },
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
  {
    name: 'an invalid continue token is refused',
    async run(api) {
      await api.refused(400, 'BadRequest', 'GET', `${api.configMaps}?limit=2&continue=abc`)
    },
  },
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
    async run(api) {
      await api.refused(400, 'BadRequest', 'GET', `${api.configMaps}?resourceVersion=abc`)
      await api.refused(422, 'Invalid', 'GET', `${api.configMaps}?resourceVersionMatch=Exact`)
      await api.refused(422, 'Invalid', 'GET', `${api.configMaps}?resourceVersion=0&resourceVersionMatch=Exact`)
      await api.refused(422, 'Invalid', 'GET', `${api.configMaps}?resourceVersion=1&resourceVersionMatch=Nearly`)
    },
  },
  {
    name: 'a future version is a Timeout with the cause ResourceVersionTooLarge',
    async run(api) {
      const status = await api.refused(
        504,
        'Timeout',
        'GET',
        `${api.configMaps}?resourceVersion=99999999&resourceVersionMatch=NotOlderThan`,
      )
      assert.equal(status.details.causes[0].reason, 'ResourceVersionTooLarge')
    },
  },
  {
    name: 'a table of custom objects has their printer columns',
    async run(api) {
      await api.expect(201, 'POST', api.foos, api.foo('a', { size: 3 }))
      await api.expect(
        200,
        'PATCH',
        `${api.foos}/a/status`,
        { status: { conditions: [{ type: 'Other', status: 'False' }, { type: 'Ready', status: 'True' }] } },
        { type: 'application/merge-patch+json' },
      )
      const table = await api.expect(200, 'GET', api.foos, undefined, { accept: `${TABLE},application/json` })
      assert.equal(table.kind, 'Table')
      assert.deepEqual(table.columnDefinitions.map((each: Body) => each.name), ['Name', 'Size', 'Ready', 'Age'])
      assert.deepEqual(table.rows[0].cells.slice(0, 3), ['a', 3, 'True'])
      assert.equal(table.rows[0].object.kind, 'PartialObjectMetadata')
    },
  },
  {
    name: 'a table of Deployments has kubectl’s columns',
    async run(api) {
      await api.expect(201, 'POST', api.deployments, api.deployment('a', { replicas: 2 }))
      const table = await api.expect(200, 'GET', api.deployments, undefined, { accept: TABLE })
      assert.deepEqual(
        table.columnDefinitions.map((each: Body) => each.name),
        ['Name', 'Ready', 'Up-to-date', 'Available', 'Age', 'Containers', 'Images', 'Selector'],
      )
      assert.deepEqual(table.rows[0].cells.slice(0, 4), ['a', '0/2', 0, 0])
      assert.deepEqual(table.rows[0].cells.slice(5), ['main', 'nginx', 'app=a'])
    },
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
]
