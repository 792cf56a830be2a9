/** The files on the way of an event and of a write, measured by V8's coverage, equal the lists in docs/architecture.md. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Cluster, operator } from 'kubeloop'
import { ApiServer, serve } from 'kubeloop/apiserver'
import { ConfigMap } from 'kubeloop/kinds'
import { nextTurn } from '../../lib/async/clock.ts'
import type { Transport } from '../../lib/core/transport.ts'
import { restingClock, starting } from '../operator/starting.ts'
import { pageText } from '../tools/docs.ts'

/** The maximum number of steps of each way. */
const MAX_STEPS = 20

/** Folders that a reader looks up but does not pass: types, data structures, logs, and the other side of the test. */
const BELOW =
  /^(?:core|async|observe|kinds|apiserver|testing|simcluster)\/|^runtime\/(?:os\/|net\/(?:server|http_server|https|listen|certif|der))/

const skip = 'Deno' in globalThis || 'Bun' in globalThis
  ? 'only Node has coverage by node:inspector within the process: https://github.com/oven-sh/bun/issues/2445'
  : false

/** Returns the files of lib whose functions were called since the last call. */
type TakeFiles = () => Promise<string[]>

async function measuring(body: (takeFiles: TakeFiles) => Promise<void>): Promise<void> {
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
      ).map(({ url }) => url.replace(/^.*\/lib\//, '').replace(/\.ts$/, '')).filter((file) => !BELOW.test(file))
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
