/** The files that an event, a write and a request to the embedded API pass, by V8's coverage, are those of the docs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Cluster, operator } from 'kubeloop'
import { ApiServer, serve } from 'kubeloop/apiserver'
import { ConfigMap } from 'kubeloop/kinds'
import { type Clock, nextTurn, systemClock } from '../../lib/async/clock.ts'
import type { HttpRequest, Transport } from '../../lib/core/transport.ts'
import { CRDS, definitionOf } from '../tools/definitions.ts'
import { restingClock, starting } from '../operator/starting.ts'
import { pageText } from '../tools/docs.ts'

/** The maximum number of steps of each way. */
const MAX_STEPS = 20

/** Folders that a reader looks up but does not pass: types, data structures, logs, and the other side of the test. */
const BELOW =
  /^(?:core|async|observe|kinds|apiserver|testing|simcluster)\/|^runtime\/(?:os\/|net\/(?:server|http_server|https|tls_server|listen|certif|der|body_limits))/

const skip = 'Deno' in globalThis || 'Bun' in globalThis
  ? 'only Node has coverage by node:inspector within the process: https://github.com/oven-sh/bun/issues/2445'
  : false

/** Returns the files of lib whose functions were called since the last call. */
type TakeFiles = () => Promise<string[]>

async function measuring(body: (takeFiles: TakeFiles) => Promise<void>, isLeftOut = BELOW): Promise<void> {
  const { Session } = await import('node:inspector/promises')
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  try {
    await body(async () => {
      const { result } = await session.post('Profiler.takePreciseCoverage')
      return result.filter(({ url, functions }) =>
        url.includes('/lib/') && functions.some(({ ranges: [range] }) => range!.startOffset > 0 && range!.count > 0)
      ).map(({ url }) => url.replace(/^.*\/lib\//, '').replace(/\.ts$/, '')).filter((file) => !isLeftOut.test(file))
        .toSorted()
    })
  } finally {
    session.disconnect()
  }
}

/** The files below a heading of docs/architecture.md: the steps of its numbered list, and all. */
function listed(heading: string): { readonly steps: string[]; readonly all: string[] } {
  const section = pageText('docs/architecture.md').split(`### ${heading}\n`)[1]?.split(/^#/m)[0] ?? ''
  const names = (text: string): string[] => [...text.matchAll(/`([a-z_]+(?:\/[a-z_]+)+)`/g)].map(([, file]) => file!)
  const list = section.split('\n\n').find((paragraph) => paragraph.trim().startsWith('1. ')) ?? ''
  return { steps: names(list), all: names(section).toSorted() }
}

const key = { namespace: 'default', name: 'a' }

test('an event passes the files that the docs list', { skip: skip }, async () => {
  const server = new ApiServer({ clock: restingClock() })
  const patch = (value: string): Promise<unknown> =>
    server.handle({
      method: 'PATCH',
      path: '/api/v1/namespaces/default/configmaps/a',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: JSON.stringify({ data: { value } }),
    })
  let takeFiles: TakeFiles | undefined
  let passed: string[] | undefined
  const app = operator({ name: 'x' })
  app.controllerFor(ConfigMap).reconcile(async () => {
    if (takeFiles) passed ??= await takeFiles()
  })
  const started = await starting(app, { server, before: (client) => client.create(ConfigMap, { metadata: key }) })
  await measuring(async (take) => {
    await patch('warm')
    await started.clock.advance(0)
    await take()
    takeFiles = take
    await patch('measured')
    for (let turn = 0; turn < 1000 && !passed; turn++) await nextTurn()
  })
  await started.stop()
  const { steps, all } = listed('The files that an event passes')
  assert.deepEqual(passed, all)
  assert.ok(steps.length <= MAX_STEPS, `${steps.length} steps`)
})

test('a write passes the files that the docs list', { skip: skip }, async () => {
  let takeFiles: TakeFiles | undefined
  let passed: string[] | undefined
  const server = new ApiServer()
  const handle: Transport = async (request) => {
    if (takeFiles && request.method === 'PATCH') passed ??= await takeFiles()
    return await server.handle(request)
  }
  const served = await serve({ handle })
  const config = { server: served.url, ca: served.ca, token: served.token }
  const cluster = new Cluster({ name: 'x', config })
  const apply = (value: string): Promise<unknown> => cluster.client.apply(ConfigMap, { metadata: key, data: { value } })
  try {
    await measuring(async (take) => {
      await apply('warm')
      await take()
      takeFiles = take
      await apply('measured')
    })
  } finally {
    await cluster.close()
    await served.close()
  }
  const { steps, all } = listed('The files that a write passes')
  assert.deepEqual(passed, all)
  assert.ok(steps.length <= MAX_STEPS, `${steps.length} steps`)
})

/** The maximum number of files that a request passes. An apply of a custom object also merges, prunes and checks. */
const MAX_FILES = { get: 12, create: 20, apply: 26 } as const

const CLOCK: Clock = { ...systemClock, now: () => 0, monotonic: () => 0 }

const SIZE = { spec: { type: 'object', properties: { size: { type: 'integer', minimum: 0 } } } }

const ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts'

test('requests to the embedded API pass the files that the docs list', { skip: skip }, async (t) => {
  const server = new ApiServer({ clock: CLOCK })
  const send = async (method: HttpRequest['method'], path: string, body?: unknown, type = 'application/json') => {
    const headers = { accept: 'application/json', ...(body !== undefined && { 'content-type': type }) }
    const text = body === undefined ? undefined : JSON.stringify(body)
    const answer = await server.handle({ method, path, headers, body: text })
    assert.ok(answer.status < 300, await answer.body.text())
  }
  await send('POST', CRDS, definitionOf({ scope: 'Namespaced', properties: SIZE }))
  const account = (name: string) => ({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } })
  const foo = (name: string) => ({ apiVersion: 'example.com/v1', kind: 'Foo', metadata: { name }, spec: { size: 1 } })
  const applied = (name: string) => `/apis/example.com/v1/namespaces/default/foos/${name}?fieldManager=x`
  const requests = [
    ['create', 'a create', (name: string) => send('POST', ACCOUNTS, account(name))],
    ['get', 'a get', () => send('GET', `${ACCOUNTS}/a`)],
    [
      'apply',
      'an apply of a custom object',
      (name: string) => send('PATCH', applied(name), foo(name), 'application/apply-patch+yaml'),
    ],
  ] as const
  await measuring(async (take) => {
    for (const [request, title, run] of requests) {
      await run('a')
      await take()
      await run('b')
      const passed = (await take()).map((file) => file.replace(/^apiserver\//, ''))
      await t.test(title, () => {
        assert.deepEqual(passed.toSorted(), [...new Set(listed(`The files that ${title} passes`).all)])
        assert.ok(passed.length <= MAX_FILES[request], `${passed.length} files`)
      })
    }
  }, /^$/)
})
