import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NetworkError } from '../../lib/core/errors.ts'
import { countingRequests } from '../../lib/client/request_metrics.ts'
import { retrying } from '../../lib/client/retry.ts'
import { FakeClock } from '../../lib/testing/fake_clock.ts'
import { memoryMeter } from '../observe/memory_meter.ts'
import { answer } from './transports.ts'

test('each request is counted by its code and method, one without an answer as <error>', async () => {
  const meter = memoryMeter()
  const answers = [answer(200, {}), answer(404, {}), answer(200, {}), new NetworkError('refused', { phase: 'connect' })]
  const transport = countingRequests(meter, async () => {
    const next = answers.shift()!
    if (next instanceof Error) throw next
    return next
  }, 'example:6443')
  await transport({ method: 'GET', path: '/' })
  await transport({ method: 'GET', path: '/' })
  await transport({ method: 'GET', path: '/a' })
  await assert.rejects(transport({ method: 'POST', path: '/' }), /^NetworkError: refused$/)
  assert.deepEqual(meter.series().map((series) => [series, meter.value(...parse(series))]), [
    ['rest_client_requests_total{code="200",host="example:6443",method="GET"}', 2],
    ['rest_client_requests_total{code="404",host="example:6443",method="GET"}', 1],
    ['rest_client_requests_total{code="<error>",host="example:6443",method="POST"}', 1],
  ])
})

test('a request that is sent again is counted again', async () => {
  const meter = memoryMeter(), clock = new FakeClock()
  const answers = [answer(429, {}, { 'retry-after': '1' }), answer(201, {})]
  const transport = retrying(countingRequests(meter, async () => answers.shift()!, 'a'), { clock, random: () => 0 })
  const sent = transport({ method: 'POST', path: '/' })
  await clock.advance(1000)
  await sent
  const of = (code: string): number | undefined =>
    meter.value('rest_client_requests_total', { code, method: 'POST', host: 'a' })
  assert.deepEqual([of('429'), of('201')], [1, 1])
})

function parse(series: string): [string, Record<string, string>] {
  const [, name = '', labels = ''] = /^(\w+)\{(.*)\}$/.exec(series) ?? []
  return [
    name,
    Object.fromEntries([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label = '', value = '']) => [label, value])),
  ]
}
