import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiServer } from '../../lib/apiserver/mod.ts'
import { loggingWarnings, warningTexts } from '../../lib/client/warnings.ts'
import { Cluster } from '../../lib/manager/cluster.ts'
import type { Log } from '../../lib/observe/log.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { FakeClock } from '../../lib/testing/fake_clock.ts'
import { CONFIG_MAP } from './case_bench.ts'
import { answer } from './transports.ts'

function listening(): { readonly log: Log; readonly told: string[] } {
  const told: string[] = []
  return {
    told,
    log: { ...silentLog, warn: (message, fields) => void told.push(`${message} ${JSON.stringify(fields)}`) },
  }
}

test('a header has texts with quotes, commas, dates and other codes', () => {
  const table: readonly (readonly [string, readonly string[]])[] = [
    ['299 - "one"', ['one']],
    ['299 - "one", 299 kube "two, with \\"quotes\\" and \\\\"', ['one', 'two, with "quotes" and \\']],
    ['299 - "dated" "Wed, 21 Oct 2026 07:28:00 GMT",299 - "next"', ['dated', 'next']],
    ['110 proxy "Response is stale", 299 - "mine"', ['mine']],
    ['299 - ""', []],
    ['nonsense', []],
    ['299 - "open', []],
  ]
  for (const [header, texts] of table) assert.deepEqual(warningTexts(header), texts, header)
})

test('a warning is told once, with the request that brought it first and without its query', async () => {
  const { log, told } = listening()
  const texts = ['299 - "old"', '299 - "old", 299 - "older"', '299 - "old"']
  const transport = loggingWarnings(
    () => Promise.resolve(answer(200, '', texts.length > 0 ? { warning: texts.shift()! } : {})),
    log,
  )
  for (const path of ['/a?x=1', '/b', '/c', '/d']) await transport({ method: 'GET', path })
  assert.deepEqual(told, [
    'The API server warns: old {"method":"GET","path":"/a"}',
    'The API server warns: older {"method":"GET","path":"/b"}',
  ])
})

test('a thousand texts are remembered, and no more', async () => {
  const { log, told } = listening()
  let text = ''
  const transport = loggingWarnings(() => Promise.resolve(answer(200, '', { warning: `299 - "${text}"` })), log)
  const warn = async (each: string): Promise<void> => {
    text = each
    await transport({ method: 'GET', path: '/' })
  }
  for (let i = 0; i < 1000; i++) await warn(`n${i}`)
  await warn('n0')
  assert.equal(told.length, 1000)
  await warn('one more')
  await warn('n999')
  assert.equal(told.length, 1001)
  await warn('n0')
  assert.equal(told.length, 1002)
})

test('what a server warns of a write with unknown fields is told by a cluster', async () => {
  const { log, told } = listening()
  const clock = new FakeClock()
  const { client } = new Cluster({
    name: 'test',
    transport: new ApiServer({ clock }).handle,
    clock,
    log,
    fieldValidation: 'Warn',
  })
  const object = { metadata: { name: 'a', namespace: 'default' }, dada: { x: '1' } }
  const made = await client.create(CONFIG_MAP, object as never)
  await client.update(CONFIG_MAP, { ...made, dada: {} } as never)
  assert.deepEqual(told, [
    'The API server warns: unknown field "dada" {"method":"POST","path":"/api/v1/namespaces/default/configmaps"}',
  ])
})
