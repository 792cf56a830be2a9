/** Tests of the elector on a real kube-apiserver, in real time. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { systemClock } from '../../lib/async/clock.ts'
import { Latch } from '../../lib/async/latch.ts'
import { Api } from '../../lib/client/api.ts'
import { LeadershipLost, NetworkError } from '../../lib/core/errors.ts'
import type { ClusterConfig } from '../../lib/core/cluster_config.ts'
import type { AnyResource } from '../../lib/core/resource.ts'
import { LeaderElector, type LeaderElectorOptions } from '../../lib/leader/leader_elector.ts'
import type { LeaseTimings } from '../../lib/leader/lease_state.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { type ClosableTransport, httpTransport } from '../../lib/runtime/net/transport.ts'
import { type Envtest, startEnvtest } from '../../lib/testing/envtest/envtest.ts'
import { type Recorder, recorder, silence } from '../client/transports.ts'
import { LEASE, type LeaseObject } from './candidates.ts'
import { isWatch } from './weather.ts'

const skip = process.env['KUBEBUILDER_ASSETS']
  ? false
  : 'KUBEBUILDER_ASSETS is not set: there is no real control plane to run on'
const TIMINGS: LeaseTimings = { durationMs: 3000, renewDeadlineMs: 2000, retryPeriodMs: 500 }
const RBAC = { group: 'rbac.authorization.k8s.io', version: 'v1' } as const
const ROLE: AnyResource = { ...RBAC, kind: 'Role', plural: 'roles', scope: 'Namespaced' }
const BINDING: AnyResource = { ...RBAC, kind: 'RoleBinding', plural: 'rolebindings', scope: 'Namespaced' }

let envtest: Envtest
let admin: Api
const connections: ClosableTransport[] = []

before(async () => {
  if (skip) return
  envtest = await startEnvtest()
  admin = new Api({ transport: connect(envtest.config) })
})
after(async () => {
  for (const connection of connections) connection.close()
  await envtest?.stop()
})

function connect(config: ClusterConfig): ClosableTransport {
  const connection = httpTransport(config)
  connections.push(connection)
  return connection
}

interface Campaign {
  readonly network: Recorder
  readonly elector: LeaderElector
  readonly lines: string[]
  /** Resolves at the start of its term, with that time. */
  readonly led: Promise<number>
  /** Resolves when another leader is observed. */
  readonly follows: Promise<void>
  readonly ended: Promise<void>
  stop(): void
}

function campaign(
  lease: string,
  identity: string,
  over: Partial<LeaderElectorOptions> & { config?: ClusterConfig } = {},
): Campaign {
  const { config = envtest.config, ...options } = over
  const network = recorder(connect(config))
  const lines: string[] = []
  const [led, follows] = [new Latch<number>(), new Latch()]
  const info = (message: string): void => {
    lines.push(message)
    if (message.startsWith('Waiting')) follows.open()
  }
  const elector = new LeaderElector({
    api: new Api({ transport: network.transport }),
    lease,
    namespace: 'default',
    identity,
    timings: TIMINGS,
    clock: systemClock,
    log: { ...silentLog, info, warn: (message) => void lines.push(message) },
    ...options,
  })
  const stopping = new AbortController()
  const ended = elector.start(stopping.signal, () => led.open(systemClock.monotonic()))
  ended.catch(() => {}) // awaited where it matters
  return { network, elector, lines, led: led.opened, follows: follows.opened, ended, stop: () => stopping.abort() }
}

async function leaseOf(name: string): Promise<LeaseObject> {
  return (await admin.get({ resource: LEASE, namespace: 'default', name })) as LeaseObject
}

test(
  'a term on a real API server writes, renews and releases the lease as client-go does',
  { skip },
  async () => {
    const renewed = new Latch()
    const a = campaign('life', 'a', { labels: { app: 'x' } })
    await a.led
    a.elector.fence.check()
    let puts = 0
    a.network.intercept = async (request, next) => {
      const answer = await next(request)
      if (request.method === 'PUT' && ++puts === 2) renewed.open()
      return answer
    }
    const first = await leaseOf('life')
    await renewed.opened
    const later = await leaseOf('life')
    for (const time of [later.spec.acquireTime, later.spec.renewTime]) {
      assert.match(
        time!,
        /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/,
      )
    }
    const { renewTime, ...rest } = later.spec
    const { renewTime: before, ...same } = first.spec
    assert.ok(renewTime! > before!)
    assert.deepEqual(rest, same)
    assert.deepEqual(
      [rest.holderIdentity, rest.leaseDurationSeconds, rest.leaseTransitions, later.metadata.labels],
      ['a', 3, 0, { app: 'x' }],
    )
    a.stop()
    await a.ended
    const { spec } = await leaseOf('life')
    assert.deepEqual([spec.holderIdentity ?? '', spec.leaseDurationSeconds, spec.leaseTransitions], ['', 1, 0])
    assert.throws(() => a.elector.fence.check(), LeadershipLost)
  },
)

test(
  'a Lease that client-go has released is acquired at once, and one that it holds is not',
  { skip },
  async () => {
    const times = { acquireTime: '2026-01-01T00:00:00.123456Z', renewTime: '2026-01-01T00:00:00.654321Z' }
    const target = { resource: LEASE, namespace: 'default' }
    await admin.create(target, {
      metadata: { name: 'released' },
      spec: { leaseDurationSeconds: 1, leaseTransitions: 4, ...times },
    }, {})
    await admin.create(target, {
      metadata: { name: 'held' },
      spec: { holderIdentity: 'go', leaseDurationSeconds: 3600, leaseTransitions: 4, ...times },
    }, {})
    const [a, b] = [campaign('released', 'a'), campaign('held', 'b')]
    await Promise.all([a.led, b.follows])
    assert.equal((await leaseOf('released')).spec.leaseTransitions, 5)
    for (const each of [a, b]) {
      each.stop()
      await each.ended
    }
    assert.equal((await leaseOf('held')).spec.holderIdentity, 'go')
  },
)

test('a released lease is acquired within a second by a watch, and by one follower only', { skip }, async () => {
  const a = campaign('release', 'a')
  await a.led
  const followers = ['b', 'c', 'd'].map((identity) => campaign('release', identity))
  await Promise.all(followers.map(({ follows }) => follows))
  a.stop()
  await a.ended
  const releasedMs = systemClock.monotonic()
  const ledMs = await Promise.race(followers.map(({ led }) => led))
  assert.ok(ledMs - releasedMs <= 1000, `it took ${ledMs - releasedMs} ms`)
  assert.equal(followers.filter(({ elector }) => elector.isLeader).length, 1)
  for (const { network } of followers) assert.ok(network.requests.some(isWatch))
  for (const each of followers) {
    each.stop()
    await each.ended
  }
  assert.equal((await leaseOf('release')).spec.leaseTransitions! >= 1, true)
})

test(
  'a winner whose response is lost leads soon, and no other follower does',
  { skip },
  async () => {
    const timings = { ...TIMINGS, durationMs: 60_000 }
    const a = campaign('lost-answer', 'a', { timings })
    await a.led
    const [b, c] = ['b', 'c'].map((identity) => campaign('lost-answer', identity, { timings }))
    let lost = 0
    for (const { network } of [b!, c!]) {
      network.intercept = async (request, next) => {
        const answer = await next(request)
        if (request.method !== 'PUT' || answer.status !== 200 || lost++ > 0) return answer
        await answer.body.text()
        throw new NetworkError('the answer was lost', { phase: 'response' })
      }
    }
    await Promise.all([b!.follows, c!.follows])
    a.stop()
    await a.ended
    const releasedMs = systemClock.monotonic()
    const tookMs = (await Promise.race([b!.led, c!.led])) - releasedMs
    assert.ok(tookMs <= 1000 + 2.2 * TIMINGS.retryPeriodMs + 1000, `it took ${tookMs} ms`)
    assert.ok(lost >= 2)
    assert.equal([b!, c!].filter(({ elector }) => elector.isLeader).length, 1)
    assert.equal((await leaseOf('lost-answer')).spec.leaseTransitions, 1)
    for (const each of [b!, c!]) each.stop()
    await Promise.all([b!.ended, c!.ended])
  },
)

test(
  'a leader that is cut off is replaced within the lease duration and 1 s, and ends before that',
  { skip },
  async () => {
    const a = campaign('crash', 'a')
    await a.led
    const b = campaign('crash', 'b')
    await b.follows
    a.network.intercept = silence
    const cutMs = systemClock.monotonic()
    await assert.rejects(a.ended, LeadershipLost)
    const lostMs = systemClock.monotonic()
    assert.throws(() => a.elector.fence.check(), LeadershipLost)
    const ledMs = await b.led
    assert.ok(lostMs < ledMs, 'it still led when the other began')
    assert.ok(ledMs - cutMs <= TIMINGS.durationMs + 1000, `it took ${ledMs - cutMs} ms`)
    b.stop()
    await b.ended
  },
)

test('a candidate that may not watch logs it and polls', { skip }, async () => {
  const config = await envtest.addUser('blind')
  const namespaced = { namespace: 'default', name: 'blind' }
  const rules = [{ apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update'] }]
  await admin.create({ resource: ROLE, namespace: 'default' }, { metadata: namespaced, rules }, {})
  const roleRef = { apiGroup: RBAC.group, kind: 'Role', name: 'blind' }
  const subjects = [{ kind: 'User', apiGroup: RBAC.group, name: 'blind' }]
  await admin.create({ resource: BINDING, namespace: 'default' }, { metadata: namespaced, roleRef, subjects }, {})
  const a = campaign('blind', 'a')
  await a.led
  const asked = new Latch()
  const b = campaign('blind', 'b', { config })
  await b.follows
  let questions = 0
  b.network.intercept = (request, next) => {
    if (!isWatch(request) && ++questions === 2) asked.open()
    return next(request)
  }
  await asked.opened
  a.stop()
  await a.ended
  const releasedMs = systemClock.monotonic()
  const ledMs = await b.led
  assert.ok(ledMs - releasedMs <= TIMINGS.retryPeriodMs * 2.2 + 1000, `it took ${ledMs - releasedMs} ms`)
  assert.ok(
    b.lines.some((line) =>
      /cannot watch resource "leases".*the verb watch on leases makes the handover prompt/.test(line)
    ),
    b.lines.join('\n'),
  )
  assert.equal(b.network.requests.filter(isWatch).length, 1)
  b.stop()
  await b.ended
})
