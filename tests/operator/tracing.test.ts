/** Tests the spans of reconciles and requests, with the SDK of OpenTelemetry. */
import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { beforeEach, test } from 'node:test'
import { type Context, context, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { operator, TerminalError } from 'kubeloop'
import { ConfigMap, Secret } from 'kubeloop/kinds'
import { nextTurn } from '../../lib/async/clock.ts'
import { pathTemplate } from '../../lib/observe/tracing.ts'
import { create, only, ours, starting } from './starting.ts'

const exporter = new InMemorySpanExporter()
trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }))
// What the SDK for Node does by its packages.
const storage = new AsyncLocalStorage<Context>()
context.setGlobalContextManager({
  active: () => storage.getStore() ?? ROOT_CONTEXT,
  with: (own, work, self, ...args) => storage.run(own, () => work.call(self as never, ...args)),
  bind: (_own, target) => target,
  enable() {
    return this
  },
  disable() {
    return this
  },
})
propagation.setGlobalPropagator({
  inject(own, carrier, setter) {
    const { traceId, spanId } = trace.getSpanContext(own)!
    setter.set(carrier, 'traceparent', `00-${traceId}-${spanId}-01`)
  },
  extract: (own) => own,
  fields: () => ['traceparent'],
})

beforeEach(() => exporter.reset())

const reconciles = (): ReadableSpan[] => exporter.getFinishedSpans().filter(({ name }) => name.startsWith('reconcile '))
const requests = (): ReadableSpan[] => exporter.getFinishedSpans().filter(({ kind }) => kind === SpanKind.CLIENT)

test('a reconcile is a trace of its own, and its requests are its children, across turns of the event loop', async () => {
  const app = operator({ name: 'x', tracing: true, leaderElection: true })
  app.controllerFor(ConfigMap, { when: ours }).reconcile(async ({ metadata }, { client }) => {
    await nextTurn()
    await Promise.all([
      client.get(Secret, { namespace: 'default', name: 'none' }),
      nextTurn().then(() => client.list(Secret, { namespace: 'default' })),
    ])
    await client.create(Secret, { metadata: { namespace: 'default', name: metadata.name } })
    return { requeueAfter: '1h' }
  })
  await using started = await starting(app)
  await create(started.client, 'a')
  await started.clock.advance(60_000)
  const [span, ...others] = reconciles()
  assert.deepEqual(others, [])
  assert.deepEqual(
    [span!.name, span!.parentSpanContext, span!.status.code],
    ['reconcile configmap', undefined, SpanStatusCode.UNSET],
  )
  assert.deepEqual(span!.attributes, {
    'kubeloop.controller': 'configmap',
    'kubeloop.kind': 'ConfigMap',
    'kubeloop.namespace': 'default',
    'kubeloop.name': 'a',
    'kubeloop.attempt': 1,
    'kubeloop.result': 'requeue_after',
  })
  const { traceId, spanId } = span!.spanContext()
  // Neither lists, watches, Events nor renewals of the lease.
  assert.deepEqual(requests().map(({ name }) => name).sort(), [
    'GET /api/v1/namespaces/{namespace}/secrets',
    'GET /api/v1/namespaces/{namespace}/secrets/{name}',
    'POST /api/v1/namespaces/{namespace}/secrets',
  ])
  for (const request of requests()) {
    assert.deepEqual([request.spanContext().traceId, request.parentSpanContext?.spanId], [traceId, spanId])
  }
  const post = requests().find(({ name }) => name.startsWith('POST'))!
  assert.deepEqual(post.attributes, {
    'http.request.method': 'POST',
    'url.path': '/api/v1/namespaces/default/secrets',
    'url.template': '/api/v1/namespaces/{namespace}/secrets',
    'server.address': 'in-memory',
    'http.response.status_code': 201,
  })
  const missing = requests().find(({ name }) => name.endsWith('{name}'))!
  assert.deepEqual([missing.attributes['http.response.status_code'], missing.attributes['error.type']], [404, '404'])
  const sent = started.network.requests.filter(({ headers }) => headers?.['traceparent'])
  assert.deepEqual(sent.map(({ method }) => method).sort(), ['GET', 'GET', 'POST'])
  assert.ok(sent.every(({ headers }) => headers!['traceparent']!.startsWith(`00-${traceId}-`)))
})

test('a throw is recorded, with the attempt; a terminal one is not followed by another', async () => {
  const app = operator({ name: 'x', tracing: true })
  const cluster = app.cluster('west', { server: 'http://127.0.0.1:1' })
  let runs = 0
  app.controllerFor(ConfigMap, { when: ours, cluster }).reconcile(() => {
    runs++
    return Promise.reject(runs === 1 ? new Error('not now') : new TerminalError('never'))
  })
  await using started = await starting(app)
  await create(started.clientOf(cluster), 'a')
  await started.clock.advance(10_000)
  const seen = reconciles().map(({ attributes, status, events }) => [
    attributes['kubeloop.cluster'],
    attributes['kubeloop.attempt'],
    attributes['kubeloop.result'],
    status.code === SpanStatusCode.ERROR && status.message,
    events.map(({ name, attributes }) => [name, attributes?.['exception.message']]),
  ])
  assert.deepEqual(seen, [
    ['west', 1, 'error', 'not now', [['exception', 'not now']]],
    ['west', 2, 'error', 'never', [['exception', 'never']]],
  ])
})

test('a request without an answer has the error', async () => {
  const app = operator({ name: 'x', tracing: true })
  app.controllerFor(ConfigMap, { when: ours }).reconcile(async (_, { client }) => {
    await client.list(Secret).catch(() => {})
    return { requeueAfter: '1h' }
  })
  await using started = await starting(app, {
    intercept: only(/\/secrets/, () => Promise.reject(new TypeError('cut off'))),
  })
  await create(started.client, 'a')
  await started.clock.advance(10_000)
  const [request] = requests()
  assert.deepEqual([request?.attributes['error.type'], request?.status], [
    'TypeError',
    { code: SpanStatusCode.ERROR, message: 'cut off' },
  ])
})

test('an operator that is started in a span has traces of its own, and its background has none', async () => {
  const app = operator({ name: 'x', tracing: true })
  app.controllerFor(ConfigMap, { when: ours }).reconcile(async (_, { client }) => {
    await client.list(Secret)
  })
  const outer = trace.getTracer('test').startSpan('outer')
  const started = await context.with(trace.setSpan(context.active(), outer), async () => {
    const starts = starting(app)
    outer.end()
    return await starts
  })
  await create(started.client, 'a')
  await started.clock.advance(10_000)
  const [span] = reconciles()
  assert.notEqual(span?.spanContext().traceId, outer.spanContext().traceId)
  assert.equal(span?.parentSpanContext, undefined)
  assert.deepEqual(requests().map(({ parentSpanContext }) => parentSpanContext?.spanId), [span?.spanContext().spanId])
  await started.stop()
})

test('a task with a span of its own has the requests as children', async () => {
  const app = operator({ name: 'x', tracing: true }).add('t', async ({ client }) => {
    await client.list(Secret)
    const own = trace.getTracer('test').startSpan('own')
    await context.with(trace.setSpan(context.active(), own), () => client.list(Secret))
    own.end()
  })
  await using started = await starting(app)
  await started.clock.advance(0)
  assert.deepEqual(requests().map(({ name }) => name), ['GET /api/v1/secrets'])
})

test('without the option there are no spans', async () => {
  const app = operator({ name: 'x' })
  app.controllerFor(ConfigMap, { when: ours }).reconcile(async (_, { client }) => void (await client.list(Secret)))
  await using started = await starting(app)
  await create(started.client, 'a')
  await started.clock.advance(10_000)
  assert.deepEqual([
    exporter.getFinishedSpans(),
    started.network.requests.some(({ headers }) => headers?.['traceparent']),
  ], [[], false])
})

test('the template of a path has neither names nor the query', () => {
  const cases = {
    '/api/v1/pods?limit=500': '/api/v1/pods',
    '/api/v1/nodes/a': '/api/v1/nodes/{name}',
    '/api/v1/namespaces': '/api/v1/namespaces',
    '/api/v1/namespaces/a': '/api/v1/namespaces/{name}',
    '/api/v1/namespaces/a/finalize': '/api/v1/namespaces/{name}/finalize',
    '/api/v1/namespaces/a/status': '/api/v1/namespaces/{name}/status',
    '/api/v1/namespaces/a/pods/b/log?follow=true': '/api/v1/namespaces/{namespace}/pods/{name}/log',
    '/api/v1/namespaces/a/services/b/proxy/secret/path': '/api/v1/namespaces/{namespace}/services/{name}/proxy/{path}',
    '/apis/apps/v1/namespaces/a/deployments/b/scale': '/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale',
    '/apis/apps/v1': '/apis/apps/v1',
    '/version': '/version',
  }
  for (const [path, template] of Object.entries(cases)) assert.equal(pathTemplate(path), template)
})
