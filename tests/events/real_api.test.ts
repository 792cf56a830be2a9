/** The recorder on a real kube-apiserver: accepted events, and how clients see them. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../lib/async/clock.ts'
import { Api } from '../../lib/client/api.ts'
import type { ClusterConfig } from '../../lib/core/cluster_config.ts'
import type { AnyResource } from '../../lib/core/resource.ts'
import { EventRecorder } from '../../lib/events/event_recorder.ts'
import { ConfigMap as CONFIG_MAP } from '../../lib/kinds/mod.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { httpTransport } from '../../lib/runtime/net/transport.ts'
import { type Envtest, startEnvtest } from '../../lib/testing/envtest/envtest.ts'
import { type Recorder, recorder } from '../client/transports.ts'
import { mustRun } from '../tools/run_command.ts'
import { EVENT, foo, type StoredEvent } from './fixture.ts'
import { withFolder } from '../tools/folder.ts'

const skip = process.env['KUBEBUILDER_ASSETS'] ? false : 'KUBEBUILDER_ASSETS is not set: no real control plane to start'

const CORE_EVENT: AnyResource = { group: '', version: 'v1', kind: 'Event', plural: 'events', scope: 'Namespaced' }
const NAMESPACE: AnyResource = { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', scope: 'Cluster' }

interface Running {
  readonly events: EventRecorder
  readonly network: Recorder
  readonly lines: readonly string[]
  /** Resolves when this many requests were answered. */
  answered(count: number): Promise<void>
  /** Stops the recorder, which writes the remaining events. */
  end(): Promise<void>
}

function run(config: ClusterConfig): Running {
  const connection = httpTransport(config, { clock: systemClock, log: silentLog })
  const network = recorder(connection)
  let count = 0
  const waiting = new Map<number, () => void>()
  network.intercept = async (request, next) => {
    try {
      return await next(request)
    } finally {
      waiting.get(++count)?.()
    }
  }
  const lines: string[] = []
  const log = { ...silentLog, warn: (message: string) => void lines.push(message) }
  const api = new Api({ transport: network.transport })
  const events = new EventRecorder({
    api,
    clock: systemClock,
    log,
    controller: 'example.dev/foo',
    instance: `foo-${'host'.repeat(50)}`,
  })
  const stopping = new AbortController()
  const ended = events.start(stopping.signal)
  return {
    events,
    network,
    lines,
    answered: (
      wanted,
    ) => (count >= wanted ? Promise.resolve() : new Promise((resolve) => void waiting.set(wanted, resolve))),
    end: async () => {
      stopping.abort()
      await ended
      connection.close()
    },
  }
}

test('a real API server accepts what the recorder writes', { skip, timeout: 100_000 }, async () => {
  const envtest = await startEnvtest()
  const connection = httpTransport(envtest.config, { clock: systemClock, log: silentLog })
  try {
    const api = new Api({ transport: connection })
    await eventsAreSeen(envtest, api)
    await expiredIsCreatedAnew(envtest, api)
    await limitsAreTheServers(envtest, api)
    await namespacesGo(envtest, api)
    await rightsAreMissing(envtest)
  } finally {
    connection.close()
    await envtest.stop()
  }
})

async function stored(api: Api, namespace: string): Promise<readonly StoredEvent[]> {
  return (await api.list({ resource: EVENT, namespace })).items as unknown as StoredEvent[]
}

async function namespaceFor(api: Api, name: string): Promise<string> {
  await api.create({ resource: NAMESPACE }, { metadata: { name } }, {})
  return name
}

/** Checks an event in both API groups, in kubectl, and the count of its series. */
async function eventsAreSeen(envtest: Envtest, api: Api): Promise<void> {
  const namespace = await namespaceFor(api, 'seen')
  const { object: about } = await api.create({ resource: CONFIG_MAP, namespace }, { metadata: { name: 'config' } }, {})
  const { events, network, lines, answered, end } = run(envtest.config)
  events.normal(about, 'Checked', 'all is well', { action: 'Check', related: foo('b', { namespace }) })
  await answered(1)
  events.normal(about, 'Checked', 'all is well', { action: 'Check', related: foo('b', { namespace }) })
  events.warning(about, 'Failed', 'not that')
  await end()
  assert.deepEqual([network.requests.map(({ method }) => method).toSorted(), lines], [['PATCH', 'POST', 'POST'], []])
  const [event] = (await stored(api, namespace)).filter(({ reason }) => reason === 'Checked')
  assert.deepEqual(
    [event!.series?.count, event!.regarding.uid, event!.related?.name, event!.reportingController],
    [2, about.metadata.uid, 'b', 'example.dev/foo'],
  )
  const core = (await api.list({ resource: CORE_EVENT, namespace })).items as unknown as readonly { message: string }[]
  assert.deepEqual(core.map(({ message }) => message).toSorted(), ['all is well', 'not that'])
  assert.match(
    await kubectl(envtest, '-n', namespace, 'get', 'events'),
    /Normal +Checked +configmap\/config +all is well/,
  )
  const described = await kubectl(envtest, '-n', namespace, 'describe', 'configmap', 'config')
  assert.match(described, /Normal +Checked .*\(x2 over .*\) +example\.dev\/foo.* +all is well/)
  assert.match(described, /Warning +Failed .* +not that/)
}

async function kubectl(envtest: Envtest, ...args: readonly string[]): Promise<string> {
  return await withFolder(async (folder) => {
    writeFileSync(join(folder, 'config'), envtest.kubeconfig(), { mode: 0o600 })
    return await mustRun(envtest.kubectl, ['--kubeconfig', join(folder, 'config'), `--cache-dir=${folder}`, ...args])
  })
}

async function expiredIsCreatedAnew(envtest: Envtest, api: Api): Promise<void> {
  const namespace = await namespaceFor(api, 'expired')
  const { events, network, lines, answered, end } = run(envtest.config)
  events.normal(foo('a', { namespace }), 'Tick', 'tick')
  await answered(1)
  const [event] = await stored(api, namespace)
  await api.delete({ resource: EVENT, namespace, name: event!.metadata.name }, {})
  events.normal(foo('a', { namespace }), 'Tick', 'tick')
  await end()
  assert.deepEqual([network.requests.map(({ method }) => method), lines], [['POST', 'PATCH', 'POST'], []])
  assert.deepEqual((await stored(api, namespace)).map(({ series }) => series?.count), [2])
}

/** Checks that the server accepts the longest and oddest events that the recorder sends. */
async function limitsAreTheServers(envtest: Envtest, api: Api): Promise<void> {
  const { events, lines, end } = run(envtest.config)
  const note = '€'.repeat(1000)
  events.normal(foo('x'.repeat(253)), 'R'.repeat(128), note, { action: 'é'.repeat(64) })
  events.as('x'.repeat(63)).normal(foo(`${'x'.repeat(235)}.${'y'.repeat(17)}`), 'R_a:b,c', '')
  events.as(`${'a'.repeat(63)}.dev/X_.y`).warning(
    { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'system:node' } },
    'r',
    '\u0000\ud800',
  )
  for (let i = 0; i < 3; i++) events.normal(foo('burst'), 'Burst', 'at once')
  await end()
  assert.deepEqual(lines, [])
  // A controller of kube-apiserver may report the Service "kubernetes", whose address it repairs after the start.
  const all = (await stored(api, 'default')).filter(({ reason }) => reason !== 'ClusterIPNotAllocated')
  assert.deepEqual(all.map(({ reason }) => reason).toSorted(), ['Burst', 'R'.repeat(128), 'R_a:b,c', 'r'])
  assert.equal(all.find(({ reason }) => reason.startsWith('RR'))!.note, `${'€'.repeat(340)}…`)
  assert.deepEqual(all.find(({ reason }) => reason === 'Burst')!.series?.count, 3)
}

/** Checks a terminating namespace; it stays, because no controller-manager finishes the deletion. */
async function namespacesGo(envtest: Envtest, api: Api): Promise<void> {
  const namespace = await namespaceFor(api, 'going')
  await api.delete({ resource: NAMESPACE, name: namespace }, {})
  const { events, network, lines, end } = run(envtest.config)
  for (const each of [namespace, 'never-there', await namespaceFor(api, 'staying')]) {
    events.normal(foo('a', { namespace: each }), 'Tick', 'tick')
  }
  await end()
  assert.deepEqual([network.requests.length, (await stored(api, 'staying')).length], [3, 1])
  assert.deepEqual(lines, ['Events were dropped'])
}

async function rightsAreMissing(envtest: Envtest): Promise<void> {
  const { events, network, lines, answered, end } = run(await envtest.addUser('nobody-special'))
  events.normal(foo('a'), 'Tick', 'tick 0')
  await answered(1)
  for (let i = 1; i < 10; i++) events.normal(foo('a'), 'Tick', `tick ${i}`)
  await end()
  assert.deepEqual([network.requests.length <= 9, lines.length, lines[1]], [true, 2, 'Events were dropped'])
  assert.match(
    lines[0]!,
    /User "nobody-special" cannot create resource "events" in API group "events\.k8s\.io" in the namespace "default"/,
  )
}
