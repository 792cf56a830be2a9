import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Api } from '../../lib/client/api.ts'
import { KubeClient } from '../../lib/client/kube_client.ts'
import type { ListPage, PageOptions } from '../../lib/client/client.ts'
import type { HttpResponse } from '../../lib/core/transport.ts'
import { CONFIG_MAP, type ConfigMap } from './case_bench.ts'
import { answer, recorder, silence } from './transports.ts'

const page = (names: string[], version: string, token?: string): HttpResponse =>
  answer(200, {
    metadata: { resourceVersion: version, continue: token },
    items: names.map((name) => ({ metadata: { name } })),
  })
const expired = (token?: string): HttpResponse =>
  answer(410, {
    kind: 'Status',
    status: 'Failure',
    reason: 'Expired',
    code: 410,
    message: 'too old',
    metadata: token ? { continue: token } : {},
  })

async function read(answers: readonly HttpResponse[], options: PageOptions = {}) {
  const left = [...answers]
  const { transport, requests } = recorder(() => Promise.resolve(left.shift()!))
  const client = new KubeClient({ api: new Api({ transport }), fieldManager: 'me' })
  const pages: ListPage<ConfigMap>[] = []
  let failure: unknown
  try {
    for await (const each of client.pages(CONFIG_MAP, options)) pages.push(each)
  } catch (error) {
    failure = error
  }
  return {
    names: pages.map(({ items }) => items.map(({ metadata }) => metadata.name).join()),
    pages,
    failure,
    queries: requests.map(({ path }) => path.split('?')[1]),
  }
}

test('pages of an expired version go on at a newer one, without repetitions', async () => {
  const { names, pages, failure, queries } = await read([
    page(['a', 'b'], '7', 't1'),
    expired('t2'),
    page(['c'], '9', 't3'),
    page(['d'], '9'),
  ], { limit: 2 })
  assert.equal(failure, undefined)
  assert.deepEqual(names, ['a,b', 'c', 'd'])
  assert.deepEqual(pages.map(({ resourceVersion }) => resourceVersion), ['7', '9', '9'])
  assert.deepEqual(queries, ['limit=2', 'limit=2&continue=t1', 'limit=2&continue=t2', 'limit=2&continue=t3'])
})

test('pages go on after each expiry if a page came in between', async () => {
  const { names, failure, queries } = await read([
    page(['a'], '7', 't1'),
    expired('t2'),
    page(['b'], '9', 't3'),
    expired('t4'),
    page(['c'], '11', 't5'),
    expired('t6'),
    page(['d'], '13'),
  ])
  assert.deepEqual([names, failure], [['a', 'b', 'c', 'd'], undefined])
  assert.deepEqual(queries.slice(1).map((query) => query?.split('continue=')[1]), ['t1', 't2', 't3', 't4', 't5', 't6'])
})

test('where the server cannot go on, the iteration says so; so it does when nothing comes of going on', async () => {
  const cut = await read([page(['a'], '7', 't1'), expired()])
  assert.deepEqual([cut.names, (cut.failure as { reason: string }).reason], [['a'], 'Expired'])
  const again = await read([page(['a'], '7', 't1'), expired('t2'), expired('t3')])
  assert.deepEqual(
    [again.names, (again.failure as { reason: string }).reason, again.queries.length],
    [['a'], 'Expired', 3],
  )
  const atOnce = await read([expired('t1')])
  assert.deepEqual([atOnce.names, (atOnce.failure as { reason: string }).reason], [[], 'Expired'])
})

test('a page that was given up and a list that is empty end the iteration', async () => {
  const { names } = await read([page([], '7')])
  assert.deepEqual(names, [''])
  const stop = new AbortController()
  const client = new KubeClient({ api: new Api({ transport: silence }), fieldManager: 'me' })
  const first = client.pages(CONFIG_MAP, { signal: stop.signal })[Symbol.asyncIterator]().next()
  stop.abort(new Error('enough'))
  await assert.rejects(first, /^Error: enough$/)
})

test('a list that was restarted and still comes in pages has all of them, and none of the pages before', async () => {
  const answers = [
    page(['a'], '7', 't1'),
    expired(),
    page(['b'], '9', 't2'),
    expired(),
    page(['c'], '10', 't3'),
    page(['d'], '10'),
  ]
  const { transport, requests } = recorder(() => Promise.resolve(answers.shift()!))
  const { items, metadata } = await new Api({ transport }).list({ resource: CONFIG_MAP })
  assert.deepEqual([items.map(({ metadata }) => metadata.name), metadata.resourceVersion], [['c', 'd'], '10'])
  assert.deepEqual(
    requests.map(({ path }) => path.split('?')[1]),
    ['limit=500', 'limit=500&continue=t1', undefined, 'limit=500&continue=t2', undefined, 'limit=500&continue=t3'],
  )
})
