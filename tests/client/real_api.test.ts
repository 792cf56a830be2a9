/** Runs the cases of the client and the elector against a real kube-apiserver. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiServer } from '../../lib/apiserver/mod.ts'
import { systemClock } from '../../lib/async/clock.ts'
import { Informer } from '../../lib/cache/informer.ts'
import { Api } from '../../lib/client/api.ts'
import { discoverKinds } from '../../lib/client/rest_mapper.ts'
import { isReason, LeadershipLost, messageOf } from '../../lib/core/errors.ts'
import type { KubeObject } from '../../lib/core/objects.ts'
import type { AnyResource } from '../../lib/core/resource.ts'
import { parseLabelSelector } from '../../lib/core/selectors.ts'
import type { Transport } from '../../lib/core/transport.ts'
import { LeaderElector } from '../../lib/leader/leader_elector.ts'
import type { LeaseRecord, LeaseTimings } from '../../lib/leader/lease_state.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { httpTransport } from '../../lib/runtime/net/transport.ts'
import { startEnvtest } from '../../lib/testing/envtest.ts'
import { FOO, FOO_CRD, NAMESPACE } from './case_bench.ts'
import { CRD } from '../../lib/core/resource.ts'
import { CASES } from './cases.ts'
import { recorder, silence } from './transports.ts'

const skip = process.env['KUBEBUILDER_ASSETS'] ? false : 'KUBEBUILDER_ASSETS is not set: no real control plane to start'

const LEASE: AnyResource = {
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  scope: 'Namespaced',
}
const LEASES = { resource: LEASE, namespace: 'default' }
const TIMINGS: LeaseTimings = { durationMs: 3000, renewDeadlineMs: 2000, retryPeriodMs: 300 }

test(
  'client and elector behave on a real API server as on the embedded one',
  { skip, timeout: 100_000 },
  async () => {
    const envtest = await startEnvtest()
    const connection = httpTransport(envtest.config, {
      clock: systemClock,
      log: silentLog,
      userAgent: 'kubeloop-cases',
    })
    try {
      const api = new Api({ transport: connection })
      await serveFoo(api)
      const failures: string[] = []
      const attempt = async (name: string, run: () => Promise<void>): Promise<void> => {
        await run().catch((error: unknown) => void failures.push(`${name}: ${messageOf(error)}`))
      }
      for (const [index, { name, run }] of CASES.entries()) {
        const namespace = `case-${index}`
        await api.create({ resource: NAMESPACE }, { metadata: { name: namespace } }, {})
        await attempt(name, () => run({ transport: connection, namespace }))
      }
      await attempt('selectors', () => selectorsAgree(api))
      await attempt('paths', () => namesThatAreNone(connection))
      await attempt('discovery', () => discovers(api))
      await attempt('release', () => releaseIsFollowedAtOnce(connection, api))
      await attempt('death', () => deathIsFollowedAfterExpiry(connection, api))
      assert.deepEqual(failures, [])
    } finally {
      for (const stop of campaigns.splice(0)) stop()
      connection.close()
      await envtest.stop()
    }
  },
)

/** Installs Foo and waits until the server serves it, by an informer that retries its list until it works. */
async function serveFoo(api: Api): Promise<void> {
  await api.create({ resource: CRD }, FOO_CRD, {})
  const stop = new AbortController()
  const informer = new Informer({ api, resource: FOO, clock: systemClock, log: silentLog })
  const running = informer.start(stop.signal)
  await informer.synced(stop.signal)
  stop.abort()
  await running
}

/** Watches from a version until an object matches. */
async function until(
  transport: Transport,
  target: { resource: AnyResource; namespace?: string },
  resourceVersion: string,
  is: (object: KubeObject & { status?: unknown; spec?: unknown }) => boolean,
): Promise<void> {
  const stop = new AbortController()
  const { body } = await new Api({ transport }).watch(target, { resourceVersion, timeoutSeconds: 60 }, stop.signal)
  let rest = ''
  for await (const chunk of body) {
    const lines = (rest + new TextDecoder().decode(chunk)).split('\n')
    rest = lines.pop()!
    for (const line of lines) if (is((JSON.parse(line) as { object: KubeObject }).object)) return stop.abort()
  }
  throw new Error('the watch has ended')
}

/** Checks that the server accepts and refuses the same selectors as we do. */
async function selectorsAgree(api: Api): Promise<void> {
  const embedded = new Api({ transport: new ApiServer().handle })
  for (
    const text of [
      'a',
      '!a',
      'a=b',
      'a==b',
      'a!=b',
      'a=',
      'a in (b,c)',
      'a notin (b)',
      'a in ()',
      'a in (,b)',
      'in in (in)',
      'a>5',
      'a<5',
      'a=b,c',
      'x.io/y=z',
      'a = b , c',
      '!a,b',
      'a=b,',
      ',a',
      'a b',
      'a=b=c',
      '!a=b',
      'a in b',
      'a in (b',
      'a in ((b))',
      'a>b',
      'a>',
      '-a',
      'A.io/x=y',
      'a=-b',
      'a=b!',
      '!!a',
      'a=>b',
      'a in (b))',
      '()',
      'a/b/c',
      `a=${'x'.repeat(64)}`,
    ]
  ) {
    const refused = async (who: Api): Promise<boolean> => {
      try {
        await who.listPage({ resource: NAMESPACE }, { labels: text, limit: 1 })
        return false
      } catch (error) {
        if (isReason(error, 'BadRequest')) return true
        throw error
      }
    }
    let ours = false
    try {
      parseLabelSelector(text)
    } catch {
      ours = true
    }
    assert.deepEqual({ text, ours, embedded: await refused(embedded) }, {
      text,
      ours: await refused(api),
      embedded: ours,
    })
  }
}

/** Checks that the names we refuse in paths are refused or misread by the server. */
async function namesThatAreNone(transport: Transport): Promise<void> {
  for (const [name, status] of [['..', 400], ['.', 400], ['', 200], ['a%2Fb', 404]] as const) {
    const response = await transport({
      method: 'GET',
      path: `/api/v1/namespaces/default/configmaps/${name}`,
      headers: { accept: 'application/json' },
    })
    await response.body.text()
    assert.equal(response.status, status, `"${name}"`)
  }
}

async function discovers(api: Api): Promise<void> {
  const kinds = await discoverKinds(api, ['list', 'watch', 'delete'], new AbortController().signal)
  const names = kinds.map(({ group, version, plural, scope }) => `${group}/${version}/${plural}/${scope}`)
  for (
    const expected of [
      '/v1/pods/Namespaced',
      'apps/v1/deployments/Namespaced',
      'cases.dev/v1/foos/Namespaced',
      '/v1/namespaces/Cluster',
    ]
  ) assert.ok(names.includes(expected), expected)
  for (const absent of ['/v1/bindings/', 'tokenreviews', '/status/']) {
    assert.ok(!names.some((name) => name.startsWith(absent) || name.includes(`/${absent}`)), absent)
  }
}

interface Term {
  readonly led: Promise<void>
  readonly ended: Promise<void>
  stop(): void
}

/** Stops what a failed test may have left running. */
const campaigns: (() => void)[] = []

function campaign(transport: Transport, lease: string, identity: string): Term {
  const stopping = new AbortController()
  const stop = (): void => stopping.abort()
  campaigns.push(stop)
  let onLead = (): void => {}
  const led = new Promise<void>((resolve) => (onLead = resolve))
  const elector = new LeaderElector({
    api: new Api({ transport }),
    lease,
    namespace: 'default',
    identity,
    timings: TIMINGS,
    clock: systemClock,
    log: silentLog,
  })
  const ended = elector.start(stopping.signal, onLead)
  ended.catch(() => {}) // each test awaits it where it may
  return { led, ended, stop }
}

const spec = (object: unknown): LeaseRecord => (object as { spec: LeaseRecord }).spec

async function releaseIsFollowedAtOnce(transport: Transport, api: Api): Promise<void> {
  const target = { ...LEASES, name: 'release' }
  const a = campaign(transport, 'release', 'a')
  await a.led
  const first = await api.get(target)
  assert.equal(spec(first).holderIdentity, 'a')
  for (const time of [spec(first).acquireTime, spec(first).renewTime]) assert.match(String(time), /\.\d{6}Z$/)
  await api.patch(target, 'merge', { metadata: { labels: { kept: 'yes' } } }, {})
  const b = campaign(transport, 'release', 'b')
  // A renewal keeps the fields of others.
  await until(
    transport,
    LEASES,
    first.metadata.resourceVersion,
    ({ metadata, spec }) =>
      metadata.name === 'release' && metadata.labels?.['kept'] === 'yes' &&
      (spec as LeaseRecord).renewTime !== (first as { spec?: LeaseRecord }).spec?.renewTime,
  )
  // Requested before it happens, and awaited below.
  const released = until(transport, LEASES, first.metadata.resourceVersion, ({ metadata, spec }) => {
    const { holderIdentity, leaseDurationSeconds, acquireTime } = spec as LeaseRecord
    return metadata.name === 'release' && holderIdentity === '' && leaseDurationSeconds === 1 &&
      acquireTime === (spec as LeaseRecord).renewTime
  })
  const began = systemClock.monotonic()
  a.stop()
  await a.ended
  await released
  await b.led
  const tookMs = systemClock.monotonic() - began
  assert.ok(tookMs < TIMINGS.durationMs, `${tookMs} ms: it waited for the lease to expire`)
  const after = await api.get(target)
  assert.deepEqual([
    spec(after).holderIdentity,
    spec(after).leaseTransitions,
    spec(after).leaseDurationSeconds,
    after.metadata.labels,
  ], ['b', 1, 3, { kept: 'yes' }])
  b.stop()
  await b.ended
  assert.equal(spec(await api.get(target)).holderIdentity, '')
}

async function deathIsFollowedAfterExpiry(transport: Transport, api: Api): Promise<void> {
  const target = { ...LEASES, name: 'death' }
  const network = recorder(transport)
  const a = campaign(network.transport, 'death', 'a')
  await a.led
  const b = campaign(transport, 'death', 'b')
  network.intercept = silence
  const died = systemClock.monotonic()
  await assert.rejects(a.ended, LeadershipLost)
  const lostMs = systemClock.monotonic() - died
  assert.equal(spec(await api.get(target)).holderIdentity, 'a')
  await b.led
  const tookMs = systemClock.monotonic() - died
  assert.ok(lostMs <= TIMINGS.renewDeadlineMs + 500, `${lostMs} ms until it knew`)
  assert.ok(tookMs >= TIMINGS.durationMs - TIMINGS.retryPeriodMs - 50, `${tookMs} ms: before the lease had expired`)
  assert.deepEqual([spec(await api.get(target)).holderIdentity, spec(await api.get(target)).leaseTransitions], ['b', 1])
  b.stop()
  await b.ended
}
