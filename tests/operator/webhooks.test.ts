/** Webhooks of an operator: what is declared, served, installed, and by which replica. Over TLS on loopback. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { Cluster, defineResource, isReason, type Log, type Operator, operator, type Parts } from 'kubeloop'
import { ApiServer } from 'kubeloop/apiserver'
import {
  ConfigMap,
  CustomResourceDefinition as Definition,
  Lease,
  MutatingWebhookConfiguration,
  Namespace,
  Secret,
  ValidatingWebhookConfiguration,
} from 'kubeloop/kinds'
import { FakeClock } from 'kubeloop/testing'
import * as z from 'zod'
import { nextTurn, turnBudgetOf } from '../../lib/async/clock.ts'
import { Latch } from '../../lib/async/latch.ts'
import { NetworkError } from '../../lib/core/errors.ts'
import { CRD } from '../../lib/core/resource.ts'
import type { Transport } from '../../lib/core/transport.ts'
import { createAuthority } from '../../lib/runtime/net/certificates.ts'
import { readCertificate } from '../../lib/runtime/net/certificate_facts.ts'
import { freePort } from '../../lib/runtime/net/loopback.ts'
import type { StartOptions } from '../../lib/operator/run/start.ts'
import { describeWebhooks } from '../../lib/operator/webhooks/describe.ts'
import { openWebhooks } from '../../lib/operator/webhooks/open.ts'
import type { OperatorWebhooks } from '../../lib/operator/webhooks/setup.ts'
import { type ElectionSetup, electorOf } from '../../lib/operator/assemble.ts'
import { type MemoryMeter, memoryMeter } from '../observe/memory_meter.ts'
import { type Recorder, recorder, refusal, silence } from '../client/transports.ts'
import { recordingLog } from '../manager/parts.ts'
import { type Running, running, SITES } from './running.ts'
import { only, restingClock } from './starting.ts'
import { Seen, TimerClock } from '../webhook/secret_lab.ts'

const names = { group: 'web.example.dev', kind: 'Site' }
const Old = defineResource({ ...names, version: 'v1alpha1', spec: z.object({ host: z.string() }) })
const Site = defineResource({ ...names, version: 'v1', spec: z.object({ hosts: z.array(z.string()) }) })

function sites(options: Partial<Parameters<typeof operator>[0]> = {}): Operator {
  const app = operator({ name: 'sites', crds: 'install', ...options }).convert(Old, Site, {
    up: ({ spec }) => ({ spec: { hosts: spec.host.split(' ') } }),
    down: ({ spec }) => ({ spec: { host: spec.hosts.join(' ') } }),
  })
  app.admission(Site, { default: (site) => void site.spec.hosts.push('added') })
  app.admission(Site, {
    validate: ({ spec }) => spec.hosts.includes('bad') ? [{ field: 'spec.hosts', message: 'it is bad' }] : [],
  })
  return app
}

const at = (name: string) => ({ metadata: { namespace: 'default', name } })
const certs = { secret: 'tls', namespace: 'default' }
const PORT: StartOptions = { webhooks: 'stated' }

test('the API server calls the admissions and conversions of an operator that has no controller', () =>
  running(sites(), {}, async ({ client }) => {
    const made = await client.create(Site, { ...at('a'), spec: { hosts: ['a'] } })
    assert.deepEqual(made.spec, { hosts: ['a', 'added'] })
    await assert.rejects(client.create(Site, { ...at('b'), spec: { hosts: ['bad'] } }), (error: unknown) => {
      assert.ok(isReason(error, 'Invalid'))
      return error.causes[0]?.field === 'spec.hosts'
    })
    assert.deepEqual((await client.get(Old, at('a').metadata))?.spec, { host: 'a added' })
    const old = await client.create(Old, { ...at('old'), spec: { host: 'x' } })
    assert.deepEqual(old.spec, { host: 'x added' })
  }))

test('a replica that does not lead serves, and writes neither configurations nor the CA', async () => {
  const { handle } = new ApiServer()
  await running(sites({ leaderElection: true }), { handle }, async ({ client }) => {
    const standby = new AbortController()
    const writes: string[] = []
    const served = new Latch<Parts>()
    const ended = sites({ leaderElection: true }).start(standby.signal, {
      webhooks: { port: 0 },
      instance: 'standby',
      log: { debug() {}, info() {}, warn() {}, error() {} },
      transport: (request) => {
        if (request.method !== 'GET') writes.push(request.path)
        return handle(request)
      },
      onAssembled: (parts) => void parts.manager.ready(standby.signal).then(() => served.open(parts)),
    })
    const { webhooks } = await served.opened
    await webhooks!.check()
    assert.deepEqual(writes.filter((path) => !path.includes('/leases')), [])
    assert.equal((await client.list(MutatingWebhookConfiguration)).length, 1)
    standby.abort()
    await ended
  })
})

test('the configurations name the paths, the URL and the CA, and are deleted with the last admission', async () => {
  const { handle } = new ApiServer()
  await running(sites(), { handle }, async ({ client, parts, mutating, definition }) => {
    const address = `https://127.0.0.1:${parts.webhooks!.port}`
    const [validating] = await client.list(ValidatingWebhookConfiguration)
    assert.equal(validating?.webhooks?.[0]?.clientConfig.url, `${address}/validate-web-example-dev-v1-site`)
    const { caBundle, url } = (await mutating()).webhooks![0]!.clientConfig
    assert.equal(url, `${address}/mutate-web-example-dev-v1-site`)
    assert.match(atob(String(caBundle)), /^-----BEGIN CERTIFICATE-----/)
    const { conversion, versions } = (await definition()).spec
    assert.deepEqual(conversion?.webhook.clientConfig, { url: `${address}/convert`, caBundle })
    assert.deepEqual(versions.map(({ name, storage }) => [name, storage]), [['v1', true], ['v1alpha1', false]])
  })
  const without = operator({ name: 'sites', crds: 'install', webhooks: {} })
  await running(without, { handle }, async ({ client }) => {
    assert.deepEqual(await client.list(MutatingWebhookConfiguration), [])
    assert.deepEqual(await client.list(ValidatingWebhookConfiguration), [])
  })
})

test('a certificate in a folder is served, and the ca.crt beside it is in the configurations', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kubeloop-certs-'))
  const authority = await createAuthority()
  await writePair(folder, authority)
  try {
    await running(sites({ webhooks: { port: 0, certs: folder } }), PORT, async ({ client, mutating }) => {
      assert.equal(atob(String((await mutating()).webhooks![0]!.clientConfig.caBundle)), authority.ca)
      assert.equal((await client.create(Site, { ...at('a'), spec: { hosts: [] } })).spec.hosts.length, 1)
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('a start without a certificate says what was looked for, and the two ways to get one; nothing is installed', async () => {
  const { handle } = new ApiServer()
  const folder = join(tmpdir(), 'kubeloop-no-certs')
  await assert.rejects(
    running(sites({ webhooks: { port: 0, certs: folder } }), { ...PORT, handle }),
    (error: Error) =>
      error.message.includes(`"${folder}"`) && error.message.includes('tls.crt') &&
      error.message.includes("certs: { secret: 'NAME' }"),
  )
  const { api } = new Cluster({ name: 'admin', transport: handle })
  assert.deepEqual((await api.listPage({ resource: CRD }, { limit: 10 })).items, [])
})

test('in a pod the configurations name a Service, and outside the URL that is stated', async () => {
  const clientConfigs = async (webhooks: object): Promise<unknown> => {
    let found: unknown
    const app = sites({ webhooks: { port: 0, host: '127.0.0.1', certs, ...webhooks } })
    await running(app, PORT, async ({ mutating }) => {
      const { caBundle: _, ...clientConfig } = (await mutating()).webhooks![0]!.clientConfig
      found = clientConfig
    })
    return found
  }
  const path = '/mutate-web-example-dev-v1-site'
  assert.deepEqual(await clientConfigs({ url: 'https://dev.example.com:9443' }), {
    url: `https://dev.example.com:9443${path}`,
  })
  assert.deepEqual(await clientConfigs({ service: { name: 'hooks', namespace: 'sys', port: 8443 } }), {
    service: { namespace: 'sys', name: 'hooks', port: 8443, path },
  })
  process.env['KUBERNETES_SERVICE_HOST'] = '10.0.0.1'
  try {
    assert.deepEqual(await clientConfigs({ shutdownDelay: 0 }), {
      service: { namespace: 'default', name: 'sites', port: 443, path },
    })
  } finally {
    delete process.env['KUBERNETES_SERVICE_HOST']
  }
  await assert.rejects(clientConfigs({ url: 'https://a', service: 'b' }), /both webhooks\.url and webhooks\.service/)
})

test('an extension serves paths of its own, and readiness has a check of the server', () => {
  const app = sites({ health: 0 })
  let parts: Parts | undefined
  app.extend((given) => {
    parts = given
    given.webhooks!.handleFetch('/authenticate', () => new Response('it was called'))
  })
  return running(app, { serves: true }, async () => {
    assert.ok(parts!.webhooks!.paths.includes('/authenticate'))
    const answer = await parts!.health!.fetch(new Request('http://localhost/readyz/webhooks'))
    assert.deepEqual([answer.status, await answer.text()], [200, 'ok'])
  })
})

const shutdowns: readonly (readonly [string, boolean, object, { mode?: { port: number }; grace?: '6s' }, number])[] = [
  ['in a pod, by default', true, {}, {}, 5000],
  ['in a pod, with a short grace', true, {}, { grace: '6s' }, 3000],
  ['in a pod, for as long as is stated', true, { shutdownDelay: '10s' }, {}, 10_000],
  ['in a pod, without a delay', true, { shutdownDelay: 0 }, {}, 0],
  ['outside of a pod', false, {}, {}, 0],
  ['on a port of kubeloop dev', true, { shutdownDelay: '10s' }, { mode: { port: 0 } }, 0],
]
for (const [what, isInPod, webhooks, { mode = 'stated', ...options }, delayMs] of shutdowns) {
  test(`a stop ${what}: readiness fails and the lease is released at once, webhooks answer on`, async () => {
    const clock = new FakeClock({ nowMs: Date.now() })
    const api = new ApiServer({ clock })
    const app = sites({
      ...options,
      health: 0,
      leaderElection: true,
      webhooks: { port: 0, host: '127.0.0.1', certs, ...webhooks },
    })
    let parts: Parts | undefined
    app.extend((given) => void (parts = given))
    const stopping = new AbortController()
    const elected = new Latch()
    if (isInPod) process.env['KUBERNETES_SERVICE_HOST'] = '10.0.0.1'
    const running = app.start(stopping.signal, {
      ...{ clock, instance: 'test', transport: api.handle, webhooks: mode as 'stated' },
      onAssembled: ({ manager }) => void manager.elected.then(() => elected.open()),
    })
    let isEnded = false
    const ended = running.finally(() => (isEnded = true))
    try {
      await Promise.race([elected.opened, ended])
    } finally {
      delete process.env['KUBERNETES_SERVICE_HOST']
    }
    const isReady = async (): Promise<boolean> =>
      (await parts!.health!.fetch(new Request('http://localhost/readyz/webhooks'))).ok
    const server = parts!.webhooks as unknown as OperatorWebhooks['server'] & { check(): Promise<void> }
    assert.equal(await isReady(), true)
    stopping.abort()
    await clock.advance(0)
    assert.equal(await isReady(), false)
    if (delayMs > 0) {
      await clock.advance(delayMs - 1)
      const lease = await new Cluster({ name: 'admin', transport: api.handle }).client.get(Lease, at('sites').metadata)
      assert.deepEqual([lease?.spec?.holderIdentity ?? '', isEnded], ['', false])
      await server.check()
      await clock.advance(1)
    }
    await ended
    await assert.rejects(server.check())
  })
}

test('without webhooks there is no server', async () => {
  const app = operator({ name: 'plain' }).controllerFor(ConfigMap).reconcile(async () => {})
  await running(app, {}, async ({ parts, events }) => {
    assert.equal(parts.webhooks, undefined)
    assert.deepEqual(events.filter((event) => event.includes('webhook')), [])
  })
})

test('a refinement that no admission checks is refused at the start', async () => {
  const Limits = defineResource({
    group: 'web.example.dev',
    version: 'v1',
    kind: 'Limits',
    refinements: 'admission',
    spec: z.object({ min: z.int32(), max: z.int32() }).refine(({ min, max }) => min <= max, 'max is below min'),
  })
  const app = operator({ name: 'limits', crds: 'install' }).controllerFor(Limits).reconcile(async () => {})
  await assert.rejects(running(app, {}), /nothing checks the refinements in the schema of Limits; add app\.admission/)
  // That of another operator, which admits it.
  const reader = operator({ name: 'reader', crds: 'install' }).cache(Limits, { optional: true })
  await running(reader.add('nothing', async () => {}), {})
  app.admission(Limits, { validate: Limits.definition.validate })
  await running(app, {}, async ({ client }) => {
    await assert.rejects(client.create(Limits, { ...at('a'), spec: { min: 2, max: 1 } }), /max is below min/)
  })
  const transports = { west: new ApiServer().handle }
  const config = { server: 'https://127.0.0.1:1' }
  const elsewhere: readonly (readonly [(app: Operator) => unknown, boolean])[] = [
    [(app) => app.controllerFor(Limits, { cluster: app.cluster('west', config) }).reconcile(async () => {}), true],
    [(app) => app.cache(Limits, { cluster: app.cluster('west', config) }), true],
    [
      (app) =>
        app.controllerFor(Limits, { clusters: app.clusters('all', async function* () {}) }).reconcile(async () => {}),
      true,
    ],
    [(app) => app.cache(Limits, { cluster: app.cluster('west', config), optional: true }), false],
    [(app) => app.cache(Site, { cluster: app.cluster('west', config) }), false],
  ]
  for (const [describe, isRefused] of elsewhere) {
    // The admission of the operator's own cluster does not check the others.
    const app = operator({ name: 'limits', crds: 'install' }).admission(Limits, {
      validate: Limits.definition.validate,
    })
    describe(app)
    const start = running(app, { transports })
    if (isRefused) {
      await assert.rejects(start, /refinements in the schema of Limits in another cluster, .* optional: true/)
    } else await start
  }
})

const mistakes: readonly (readonly [string, () => unknown, RegExp])[] = [
  [
    'no function',
    () => operator({ name: 'a' }).admission(Site, {}),
    /Cannot admit Site: give default, validate, or both.*webhooks\.test\.ts:\d+/,
  ],
  [
    'a misspelt function',
    () => operator({ name: 'a' }).admission(Site, { validat: () => [] } as never),
    /no option "validat"; did you mean "validate"\?.*webhooks\.test\.ts:\d+/,
  ],
  [
    'what is no function',
    () => operator({ name: 'a' }).admission(Site, { default: 'x' } as never),
    /Cannot admit Site: default is not a function/,
  ],
  [
    'a conversion to itself',
    () => operator({ name: 'a' }).convert(Site, Site, {} as never),
    /they are the same version.*webhooks\.test\.ts:\d+/,
  ],
  [
    'a conversion declared twice',
    () => sites().convert(Old, Site, { up: () => ({ spec: { hosts: [] } }), down: () => ({ spec: { host: '' } }) }),
    /declared already/,
  ],
  [
    'an unknown option of the server',
    () => operator({ name: 'a', webhooks: { prot: 1 } as never }),
    /no option "webhooks\.prot"; did you mean "webhooks\.port"\?/,
  ],
]

for (const [what, describe, expected] of mistakes) {
  test(`${what} is refused at the declaration`, () => void assert.throws(describe, expected))
}

test('invalid options of an admission are refused at the start, with their place', async () => {
  const app = operator({ name: 'a', crds: 'install' }).admission(ConfigMap, { validate: () => [] }, { timeout: '31s' })
  await assert.rejects(running(app, {}), /timeout is "31s", and must be whole seconds.*webhooks\.test\.ts:\d+/)
})

test('a default for a version that is not the hub is refused, unless it is for writes in that version alone', () => {
  const Namesake = defineResource({
    ...names,
    group: 'other.example.dev',
    version: 'v1alpha1',
    spec: z.object({ host: z.string() }),
  })
  const refused =
    /for v1alpha1, writes in all versions .* the hub, v1, or set matchPolicy: 'Exact'.*webhooks\.test\.ts:\d+/
  for (
    const [resource, hooks, options, expected] of [
      [Old, { default() {} }, {}, refused],
      [Old, { default() {}, validate: () => [] }, { matchPolicy: 'Equivalent' }, refused],
      [Old, { default() {} }, { matchPolicy: 'Exact' }, undefined],
      [Old, { validate: () => [] }, {}, undefined],
      [Namesake, { default() {} }, {}, undefined],
    ] as const
  ) {
    const app = sites().admission(resource as typeof Old, hooks, options)
    const describe = () => describeWebhooks(app.description, 'default')
    if (expected) assert.throws(describe, expected)
    else describe()
  }
})

test('declarations of a kind with different options are webhooks of their own, each with its functions', () => {
  const app = operator({ name: 'guard', crds: 'install' })
  app.admission(ConfigMap, { validate: ({ data }) => data?.['bad'] ? [{ field: 'data.bad', message: 'no' }] : [] })
  app.admission(
    ConfigMap,
    { validate: ({ data }) => data?.['keep'] ? [{ field: 'data.keep', message: 'kept' }] : [] },
    { operations: ['DELETE'] },
  )
  return running(app, {}, async ({ client, parts }) => {
    assert.deepEqual(parts.webhooks!.paths, ['/validate--v1-configmap', '/validate--v1-configmap-2'])
    const [configuration] = await client.list(ValidatingWebhookConfiguration)
    assert.deepEqual(configuration?.webhooks?.map(({ name, rules }) => [name, rules?.[0]?.operations]), [
      ['validate--v1-configmap.guard.kubeloop', ['CREATE', 'UPDATE']],
      ['validate--v1-configmap-2.guard.kubeloop', ['DELETE']],
    ])
    await assert.rejects(client.create(ConfigMap, { ...at('a'), data: { bad: 'x' } }), /data\.bad/)
    await client.create(ConfigMap, { ...at('a'), data: { keep: 'x' } })
    await assert.rejects(client.delete(ConfigMap, at('a').metadata), /data\.keep/)
  })
})

interface Release {
  readonly lines: string[]
  readonly network: Recorder
  readonly meter: MemoryMeter
  isDecided(): boolean
  outcome(): unknown
  stop(): void
}

/** Installs the configurations of a release as an operator without leader election does. */
function releaseOn(server: ApiServer, clock: FakeClock, identity: string, phases: string[], keeps = false): Release {
  const app = operator({ name: 'guard', crds: 'install' })
  app.admission(ConfigMap, {
    ...(phases.includes('mutating') && { default() {} }),
    ...(phases.includes('validating') && { validate: () => [] }),
  })
  const network = recorder(server.handle)
  const lines: string[] = []
  const main = new Cluster({ name: 'own', transport: network.transport, clock })
  const setup = { clock, log: recordingLog(lines), meter: undefined, instance: identity, identity }
  const meter = memoryMeter()
  const election = { ...setup, meter, clusters: { main } } as unknown as ElectionSetup
  const webhooks = openWebhooks(app.description, {
    ...setup,
    elect: (onOther) => electorOf(app.description.options, election, { onOther }),
    api: main.api,
    client: () => assert.fail('nothing is admitted'),
    namespace: 'default',
    budget: turnBudgetOf(clock),
    mode: 'memory',
    stopping: new AbortController().signal,
  })
  const stopping = new AbortController()
  if (keeps) void webhooks.keepInstalled(main.api, undefined, stopping.signal)
  let [isDecided, outcome]: [boolean, unknown] = [false, undefined]
  webhooks.installUnderLease!(
    () => (isDecided = true),
    stopping.signal,
  ).then(() => (outcome = 'resolved'), (error: unknown) => (outcome = error))
  return { lines, network, meter, isDecided: () => isDecided, outcome: () => outcome, stop: () => stopping.abort() }
}

/** Returns the kinds of the configurations that are installed. */
async function installedOn({ handle }: ApiServer): Promise<string[]> {
  const { client } = new Cluster({ name: 'admin', transport: handle })
  const [mutating, validating] = [
    await client.list(MutatingWebhookConfiguration),
    await client.list(ValidatingWebhookConfiguration),
  ]
  return [...mutating.map(() => 'mutating'), ...validating.map(() => 'validating')]
}

test('without leader election one of two releases installs and restores its configurations, until it ends', async () => {
  const clock = restingClock()
  const server = new ApiServer({ clock })
  const both = ['mutating', 'validating']
  const old = releaseOn(server, clock, 'old', both)
  await clock.advance(0)
  assert.deepEqual([old.isDecided(), await installedOn(server), old.meter.series()], [true, both, []])
  assert.equal(old.network.take().filter((line) => /^GET .*webhookconfigurations/.test(line)).length, 2)
  const next = releaseOn(server, clock, 'next', ['validating'], true)
  await clock.advance(1000)
  assert.ok(next.isDecided(), 'its controllers do not wait for the other release')
  await clock.advance(180_000)
  const { client } = new Cluster({ name: 'admin', transport: server.handle })
  await client.delete(MutatingWebhookConfiguration, { name: 'guard-mutating-webhook-configuration' })
  await clock.advance(60_000)
  assert.deepEqual(await installedOn(server), both)
  assert.deepEqual(next.network.take().filter((line) => !line.startsWith('GET')), [])
  next.network.intercept = (request, forward) =>
    clock.monotonic() < 300_000 && request.path.includes('webhookconfigurations')
      ? Promise.resolve(refusal(500, ''))
      : forward(request)
  old.stop()
  await clock.advance(3000)
  assert.deepEqual([old.outcome(), next.outcome(), await installedOn(server)], ['resolved', undefined, both])
  assert.ok(next.lines.some((line) => line.startsWith('warn Cannot restore the webhook configurations; trying again')))
  await clock.advance(60_000)
  assert.deepEqual(await installedOn(server), ['validating'])
  await client.delete(ValidatingWebhookConfiguration, { name: 'guard-validating-webhook-configuration' })
  await clock.advance(60_000)
  assert.deepEqual(await installedOn(server), ['validating'])
  next.stop()
  await clock.advance(0)
})

test('a new webhook that other replicas may be called for may fail for 10 minutes', async () => {
  for (
    const [options, expected] of [[{ url: 'https://hooks.example.dev' }, 'Ignore'], [{ service: 'hooks' }, 'Ignore'], [
      {},
      'Fail',
    ]] as const
  ) {
    const clock = new FakeClock()
    const app = operator({ name: 'guard', crds: 'install', webhooks: { ...options, certs: '/missing' } })
    app.admission(ConfigMap, { validate: () => [] })
    const { api, client } = new Cluster({ name: 'own', transport: new ApiServer({ clock }).handle, clock })
    const webhooks = openWebhooks(app.description, {
      ...{ api, clock, client: () => client, namespace: 'system', meter: undefined, log: recordingLog([]) },
      budget: turnBudgetOf(clock),
      mode: 'stated',
      stopping: new AbortController().signal,
    })
    const policy = async (): Promise<unknown> => {
      await webhooks.install(api, new AbortController().signal)
      return (await client.list(ValidatingWebhookConfiguration))[0]!.webhooks![0]!.failurePolicy
    }
    const policies = [await policy()]
    for (const ms of [599_000, 1000]) {
      await clock.advance(ms)
      policies.push(await policy())
    }
    assert.deepEqual(policies, [expected, expected, 'Fail'])
  }
})

for (const [during, ms] of [['as it restores them', 55_000], ['between two times', 61_000]] as const) {
  test(`a replica that lost the Lease of the configurations waits for it again, and does not end (${during})`, async () => {
    const clock = restingClock()
    const server = new ApiServer({ clock })
    const old = releaseOn(server, clock, 'old', ['mutating'])
    await clock.advance(ms)
    old.network.intercept = only(/^(?!GET)/, silence)
    const { client } = new Cluster({ name: 'admin', transport: server.handle })
    await client.delete(MutatingWebhookConfiguration, { name: 'guard-mutating-webhook-configuration' })
    const next = releaseOn(server, clock, 'next', ['validating'])
    await clock.advance(20_000)
    assert.deepEqual(await installedOn(server), ['validating'])
    assert.equal(old.outcome(), undefined)
    const warnings = old.lines.filter((line) => line.startsWith('warn'))
    // That a restoration ends with the term is no failure of its own.
    assert.match(warnings[1]!, /^warn Cannot renew lease "default\/guard" for 10 s/, old.lines.join('\n'))
    old.network.intercept = undefined
    next.stop()
    await clock.advance(20_000)
    assert.deepEqual(await installedOn(server), ['mutating'])
    old.stop()
    await clock.advance(0)
  })
}

test('without the right to the Lease configurations are installed once, after 10 s; a failure ends the start', async () => {
  for (const [isForeign, mayLead] of [[false, false], [true, false], [true, true]] as const) {
    const clock = restingClock()
    const server = new ApiServer({ clock })
    const { client } = new Cluster({ name: 'admin', transport: server.handle })
    const metadata = { name: 'guard-validating-webhook-configuration' }
    if (isForeign) await client.create(ValidatingWebhookConfiguration, { metadata, webhooks: [] })
    const only = releaseOn(server, clock, 'only', ['validating'])
    only.network.intercept = (request, next) =>
      !mayLead && request.path.includes('/leases') ? Promise.resolve(refusal(403, 'Forbidden')) : next(request)
    await clock.advance(mayLead ? 0 : 9_900)
    assert.deepEqual([only.isDecided(), only.outcome() !== undefined], [false, mayLead])
    await clock.advance(200)
    if (isForeign) {
      assert.match(String(only.outcome()), /lacks the label kubeloop.dev\/operator: guard/)
      continue
    }
    assert.deepEqual([only.isDecided(), await installedOn(server)], [true, ['validating']])
    await client.delete(ValidatingWebhookConfiguration, metadata)
    await clock.advance(120_000)
    assert.deepEqual(await installedOn(server), [], 'another release may be there')
    only.stop()
    await clock.advance(0)
    assert.equal(only.outcome(), 'resolved')
  }
})

test('the first installation fails when its Lease is released', async () => {
  const clock = restingClock()
  const server = new ApiServer({ clock })
  const only = releaseOn(server, clock, 'only', ['validating'])
  const [release, isHeld] = [new Latch(), () => clock.monotonic() >= 10_000]
  only.network.intercept = async (request, next) => {
    if (request.path.includes('webhookconfigurations')) {
      return isHeld() ? refusal(403, 'Forbidden') : await silence(request)
    }
    if (request.method !== 'GET' && isHeld()) await release.opened
    return await next(request)
  }
  await clock.advance(11_000)
  assert.equal(only.outcome(), undefined)
  release.open()
  await clock.advance(0)
  assert.match(String(only.outcome()), /Forbidden/)
})

test('a version becomes narrower although the address of the last run does not answer any more', async () => {
  const { handle } = new ApiServer()
  await running(sites(), { handle }, async ({ client }) => {
    await client.create(Site, { ...at('a'), spec: { hosts: ['b.dev'] } })
  })
  const Narrow = defineResource({ ...names, version: 'v1alpha1', spec: z.object({ host: z.string().max(100) }) })
  const app = operator({ name: 'sites', crds: 'install' }).convert(Narrow, Site, {
    up: ({ spec }) => ({ spec: { hosts: spec.host.split(' ') } }),
    down: ({ spec }) => ({ spec: { host: spec.hosts.join(' ') } }),
  })
  await running(app, { handle }, async ({ client }) => {
    assert.deepEqual((await client.get(Narrow, at('a').metadata))?.spec, { host: 'b.dev added' })
  })
})

test('a start causes no warning of a deprecated version', () => {
  const Deprecated = defineResource({
    ...names,
    version: 'v1alpha1',
    deprecated: true,
    spec: z.object({ host: z.string() }),
  })
  const app = operator({ name: 'sites', crds: 'install' }).convert(Deprecated, Site, {
    up: ({ spec }) => ({ spec: { hosts: [spec.host] } }),
    down: ({ spec }) => ({ spec: { host: spec.hosts[0] ?? '' } }),
  })
  const listed: string[] = []
  const { handle } = new ApiServer()
  return running(app, {
    transport: (request) => {
      listed.push(request.path)
      return handle(request)
    },
  }, async () => assert.deepEqual(listed.filter((path) => path.includes('v1alpha1')), []))
})

test('a self-made certificate lives as long as is stated, and lives that cannot be kept are refused at the start', async () => {
  const started = (certs: object, work: (running: Running) => Promise<void> = async () => {}): Promise<void> =>
    running(sites({ webhooks: { port: 0, certs: { secret: 'tls', ...certs } } }), PORT, work)
  await started({ duration: '2h', renewBefore: '30m' }, async ({ client }) => {
    const secret = await client.get(Secret, { namespace: 'default', name: 'tls' })
    const { notBeforeMs, notAfterMs } = readCertificate(atob(secret!.data!['tls.crt']!))!
    assert.equal(notAfterMs - notBeforeMs, 3 * 3_600_000)
  })
  for (
    const [certs, problem] of [
      [{ duration: '59m' }, /certs\.duration must be 1 hour to 24,000 hours/],
      [{ duration: '24001h' }, /certs\.duration must be/],
      [{ duration: '1h', renewBefore: '4m' }, /certs\.renewBefore must be at least 5 minutes/],
      [{ duration: '10h', renewBefore: '59m' }, /certs\.renewBefore must be/],
      [{ duration: '1h', renewBefore: '55m' }, /certs\.renewBefore must be/],
      [{ renewBefore: '8760h' }, /certs\.renewBefore must be/],
    ] as const
  ) await assert.rejects(started(certs), problem)
})

test('a name that no Secret can have is refused at the start', async () => {
  for (
    const [certs, path] of [
      [{ secret: 'Bad_Name' }, /webhooks\.certs\.secret is "Bad_Name": the name of a Secret/],
      [
        { secret: 'tls', ca: { secret: 'Bad_Name' } },
        /webhooks\.certs\.ca\.secret is "Bad_Name": the name of a Secret/,
      ],
    ] as const
  ) await assert.rejects(running(sites({ webhooks: { port: 0, certs } }), PORT), path)
})

test('a CA of others in another namespace issues, with the stated algorithm', async () => {
  const { handle } = new ApiServer()
  const { client } = new Cluster({ name: 'admin', transport: handle })
  await client.create(Namespace, { metadata: { name: 'pki' } })
  const { ca, key } = (await createAuthority()).save()
  const stringData = { 'tls.crt': ca, 'tls.key': key }
  const app = (namespace?: string): Operator => {
    const from = { secret: 'authority', ...(namespace !== undefined && { namespace }) }
    return sites({ webhooks: { port: 0, certs: { secret: 'tls', ca: from, algorithm: 'ECDSA-384' } } })
  }
  await client.create(Secret, { metadata: { namespace: 'pki', name: 'authority' }, stringData })
  await assert.rejects(running(app(), { ...PORT, handle }), /by the CA in Secret "default\/authority"/)
  await running(app('pki'), { ...PORT, handle }, async () => {
    const secret = await client.get(Secret, { namespace: 'default', name: 'tls' })
    const leaf = atob(secret!.data!['tls.crt']!)
    assert.ok(readCertificate(leaf)!.isIssuedBy(ca))
    assert.equal(new X509Certificate(leaf).publicKey.asymmetricKeyDetails?.namedCurve, 'secp384r1')
  })
})

test('the Service is in the namespace of the operator, whatever that of its Lease and of its Secret is', async () => {
  const app = sites({
    leaderElection: { namespace: 'leases' },
    webhooks: { port: 0, host: '127.0.0.1', service: 'hooks', certs: { secret: 'tls', namespace: 'certs' } },
  })
  const { handle } = new ApiServer()
  const { client } = new Cluster({ name: 'admin', transport: handle })
  for (const name of ['certs', 'leases']) await client.create(Namespace, { metadata: { name } })
  await running(app, { ...PORT, handle }, async () => {
    const [mutating] = await client.list(MutatingWebhookConfiguration)
    assert.deepEqual(mutating?.webhooks?.[0]?.clientConfig.service, {
      namespace: 'default',
      name: 'hooks',
      port: 443,
      path: '/mutate-web-example-dev-v1-site',
    })
    assert.ok(await client.get(Secret, { namespace: 'certs', name: 'tls' }))
  })
})

test('an error about a missing definition names the command with the namespace of the Service', async () => {
  const service = { name: 'hooks', namespace: 'there' }
  const app = sites({ crds: 'verify', webhooks: { port: 0, host: '127.0.0.1', certs, service } })
  await assert.rejects(
    running(app, PORT),
    /is not installed in this cluster; install it: `kubeloop crd FILE --namespace there \| kubectl apply -f -`/,
  )
})

test('a start without an API server for the certificate ends after syncTimeout', async () => {
  const clock = new FakeClock()
  const app = sites({ crds: 'ignore', syncTimeout: '20s', webhooks: { port: 0, host: '127.0.0.1', certs } })
  const nowhere: Transport = () => Promise.reject(new NetworkError('no route', { phase: 'connect' }))
  const ended = assert.rejects(
    running(app, { ...PORT, clock, handle: nowhere }),
    /^ConfigError: Cannot keep certificates in Secret "default\/tls": no route$/,
  )
  await nextTurn()
  await clock.advance(40_000)
  await ended
})

test('with a URL of loopback the webhooks listen on loopback, unless the host is stated', async () => {
  for (
    const [url, host, isLoopback] of [
      ['https://localhost:9443', undefined, true],
      ['https://dev.example.com', undefined, false],
      ['https://dev.example.com', '127.0.0.1', true],
      ['https://localhost:9443', '0.0.0.0', false],
    ] as const
  ) {
    await running(sites({ webhooks: { port: 0, certs, url, ...(host && { host }) } }), PORT, ({ events }) => {
      const line = events.find((each) => each.startsWith('Serving webhooks on '))
      assert.equal(line === 'Serving webhooks on 127.0.0.1', isLoopback, String(line))
      return Promise.resolve()
    })
  }
})

const LOOPBACK = { ipAddresses: ['127.0.0.1'] }

/** Writes the files as cert-manager does. */
async function writePair(
  folder: string,
  authority: Awaited<ReturnType<typeof createAuthority>>,
  now = Date.now(),
): Promise<void> {
  const { cert, key } = await authority.issue({
    commonName: 'a',
    dnsNames: ['localhost'],
    ...LOOPBACK,
    usage: 'server',
    now,
  })
  for (const [name, text] of Object.entries({ 'tls.crt': cert, 'tls.key': key, 'ca.crt': authority.ca })) {
    writeFileSync(join(folder, name), text)
  }
}

/** Runs an operator that has its certificate from files, and does not install its webhooks by default. */
async function runningWithFiles(
  handle: Transport,
  work: (lines: Seen<string>, clock: TimerClock, running: Running, folder: string) => Promise<void>,
  crds: 'ignore' | 'install' = 'ignore',
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'kubeloop-certs-'))
  await writePair(folder, await createAuthority())
  const clock = new TimerClock({ nowMs: Date.now() })
  const app = operator({ name: 'guard', crds, webhooks: { port: 0, host: '127.0.0.1', certs: folder } })
  app.admission(ConfigMap, { validate: () => [] })
  const { lines, log } = seenLog()
  try {
    await running(app, { ...PORT, clock, log, handle }, (one) => work(lines, clock, one, folder))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test('an operator that may not read the configurations leaves their CA alone, and says so once', async () => {
  const { handle } = new ApiServer()
  const forbidden: Transport = async (request) =>
    request.path.includes('webhookconfigurations') ? refusal(403, 'Forbidden') : await handle(request)
  await runningWithFiles(forbidden, async (lines, clock) => {
    await lines.is((line) => line.includes('is left to what installed'))
    await clock.advance(60_000)
    const warnings = lines.all.filter((line) => !line.startsWith('info'))
    assert.equal(warnings.length, 1, warnings.join('\n'))
    assert.match(warnings[0]!, /MutatingWebhookConfiguration/)
  })
})

/** Replaces the files, and advances the clock until `done`: the folder's events come late and more than once. */
async function replaced<T>(clock: TimerClock, done: Promise<T>, ...of: Parameters<typeof writePair>): Promise<T> {
  await writePair(...of)
  return await until(clock, done, 50)
}

/** Advances the clock by steps until `done`. Files are read in their own time, after which a timer is set. */
async function until<T>(clock: TimerClock, done: Promise<T>, stepMs: number): Promise<T> {
  let isDone = false
  const ended = done.finally(() => (isDone = true))
  while (!isDone) {
    const from = clock.timers.all.length
    await clock.advance(stepMs)
    await Promise.race([ended, clock.timers.is(() => true, from)])
  }
  return await ended
}

const SERVED = 'info Serving webhooks with a new certificate'
const isServed = (line: string): boolean => line === SERVED

test('a pair of a new CA in the folder is served when the API server trusts that, and one of the same CA at once', async () => {
  const { handle } = new ApiServer()
  await runningWithFiles(handle, async (lines, clock, { client }, folder) => {
    const bundle = async (): Promise<string[]> => {
      const [validating] = await client.list(ValidatingWebhookConfiguration)
      return atob(validating!.webhooks![0]!.clientConfig.caBundle!).match(/[^-]+(?=-----END)/g)!
    }
    const [old] = await bundle()
    const next = await createAuthority()
    const isTrusted = (line: string): boolean => line.startsWith('info Set the trusted CAs')
    await replaced(clock, lines.is(isTrusted, lines.all.length), folder, next)
    const both = await bundle()
    assert.deepEqual([both.length, both[1]], [2, old])
    assert.ok(!lines.all.some(isServed))
    await until(clock, lines.is(isServed), 10_000)
    // The second has expired, so the third of another CA replaces it at once.
    const twoYearsAgo = Date.now() - 2 * 365 * 24 * 3_600_000
    for (const [authority, now] of [[next], [next, twoYearsAgo], [await createAuthority()]] as const) {
      const from = lines.all.length
      await replaced(clock, lines.is(isServed, from), folder, authority, now)
    }
    assert.deepEqual(lines.all.filter((line) => !line.startsWith('info')).map((line) => line.slice(0, 50)), [
      'warn The certificate of the webhooks has expired, ',
    ])
  }, 'install')
})

test('a pair of a new CA is served after a minute, also if the API server does not trust that yet', async () => {
  const { handle } = new ApiServer()
  let isBroken = false
  const asked = new Latch()
  const refuse = (): ReturnType<typeof refusal> => {
    asked.open()
    return refusal(500, 'InternalError', {}, 'it is broken')
  }
  const broken: Transport = async (request) =>
    isBroken && request.path.includes('webhookconfigurations') ? refuse() : await handle(request)
  await runningWithFiles(broken, async (lines, clock, { parts }, folder) => {
    isBroken = true
    await replaced(clock, asked.opened, folder, await createAuthority())
    await clock.advance(58_000)
    assert.ok(!lines.all.some((line) => line === SERVED || line.startsWith('error')))
    await until(clock, lines.is(isServed), 3000)
    const errors = lines.all.filter((line) => line.startsWith('error'))
    assert.equal(errors.length, 1)
    assert.match(errors[0]!, /^error Serving a certificate whose CA the API server may not trust yet: .* it is broken/)
    await parts.webhooks!.check()
  }, 'install')
})

test('a configuration that is missing, lacks a webhook or calls another server is warned of once; it gets the CA', async () => {
  const title = 'ValidatingWebhookConfiguration "guard-validating-webhook-configuration"'
  const isWarning = (line: string): boolean => line.startsWith('warn')
  const { handle } = new ApiServer()
  let reads = 0
  const counted: Transport = (request) => {
    if (request.path.includes('validatingwebhookconfigurations')) reads++
    return handle(request)
  }
  await runningWithFiles(counted, async (lines, clock, { client, parts }) => {
    const first = await lines.is(isWarning)
    const before = reads
    for (let atMs = 0; atMs < 40_000; atMs += 10_000) {
      const next = clock.waits(10_000)
      await clock.advance(10_000)
      await next
    }
    assert.equal(reads, before, 'the file is read more often than the configurations')
    assert.ok(first.startsWith(`warn There is no ${title}, so the API server does not call these webhooks`), first)
    await clock.advance(120_000)
    assert.equal(lines.all.filter(isWarning).length, 1)

    await client.create(ValidatingWebhookConfiguration, {
      metadata: { name: 'guard-validating-webhook-configuration', labels: { 'kubeloop.dev/operator': 'guard' } },
      webhooks: [{
        name: 'a.guard.kubeloop',
        clientConfig: { url: `https://127.0.0.1:${parts.webhooks!.port}/a` },
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        rules: [{ apiGroups: ['none.example.com'], apiVersions: ['v1'], resources: ['none'], operations: ['CREATE'] }],
      }],
    })
    const injected = lines.is((line) => line === `info Set the trusted CAs of ${title}`)
    const other = lines.is(isWarning, lines.all.length)
    await clock.advance(60_000)
    await injected
    assert.equal(
      await other,
      `warn The webhook "validate--v1-configmap.guard.kubeloop" of ${title} is missing: apply what kubeloop manifests ` +
        "FILE prints, or set crds: 'install'",
    )
    const now = await client.get(ValidatingWebhookConfiguration, { name: 'guard-validating-webhook-configuration' })
    const clientConfig = { url: 'https://127.0.0.1:1/a' }
    const name = 'validate--v1-configmap.guard.kubeloop'
    const webhooks = now!.webhooks!.map((each) => ({ ...each, name, clientConfig }))
    await client.update(ValidatingWebhookConfiguration, { ...now!, webhooks })
    const elsewhere = lines.is(isWarning, lines.all.length)
    await clock.advance(60_000)
    assert.match(
      await elsewhere,
      /^warn The webhook "validate--v1-configmap\.guard\.kubeloop" of .* calls https:\/\/127\.0\.0\.1:1\/a, not https:\/\/127\.0\.0\.1:\d+\/validate--v1-configmap: /,
    )
    const { webhooks: left, ...there } = (await client.get(ValidatingWebhookConfiguration, now!.metadata))!
    assert.deepEqual(left!.map((each) => each.clientConfig), [clientConfig], 'the other server keeps its CA')

    const unlabelled = lines.is(isWarning, lines.all.length)
    const url = `https://127.0.0.1:${parts.webhooks!.port}/validate--v1-configmap`
    await client.update(ValidatingWebhookConfiguration, {
      ...there,
      metadata: { ...there.metadata, labels: {} },
      webhooks: left!.map((each) => ({ ...each, clientConfig: { url } })),
    })
    await clock.advance(60_000)
    assert.match(
      await unlabelled,
      /guard-validating-.* keeps its CA, as there is no label kubeloop\.dev\/operator: guard: /,
    )
    // As of an earlier release, which did not look at updates.
    const fewer = lines.is(isWarning, lines.all.length)
    const labelled = (await client.get(ValidatingWebhookConfiguration, now!.metadata))!
    const rules = [{ apiGroups: ['*'], apiVersions: ['v1'], resources: ['*'], operations: ['CREATE'] }]
    await client.update(ValidatingWebhookConfiguration, {
      ...labelled,
      metadata: { ...labelled.metadata, labels: { 'kubeloop.dev/operator': 'guard' } },
      webhooks: labelled.webhooks!.map((each) => ({ ...each, rules })),
    })
    await clock.advance(60_000)
    assert.match(
      await fewer,
      /"validate--v1-configmap\.guard\.kubeloop" of .* is not called for UPDATE of configmaps: /,
    )

    const again = lines.is(isWarning, lines.all.length)
    await client.delete(ValidatingWebhookConfiguration, {
      metadata: { name: 'guard-validating-webhook-configuration' },
    })
    await clock.advance(60_000)
    assert.equal(await again, first)
  })
})

test('an operator that checks definitions installs its own, also if its certificate was lost', async () => {
  const { handle } = new ApiServer()
  const checked: string[] = []
  const start = (spec: object, work: (running: Running) => Promise<void>): Promise<void> => {
    const Kind = defineResource({ ...names, version: 'v1', spec: z.object(spec) })
    const app = operator({ name: 'sites', crds: 'install', webhooks: { port: 0, certs } })
    app.controllerFor(Kind).reconcile(async () => {})
    app.admission(Definition, { validate: ({ metadata }) => void checked.push(metadata.name) })
    return running(app, { ...PORT, handle }, work)
  }
  await start({ hosts: z.array(z.string()) }, async ({ client }) => {
    await client.delete(Secret, { namespace: 'default', name: 'tls' })
  })
  await start({ hosts: z.array(z.string()), issuer: z.string().optional() }, async ({ client }) => {
    const { crd } = defineResource({ ...names, kind: 'Other', version: 'v1', spec: z.object({}) }).definition
    await client.create(Definition, crd as never, { dryRun: true })
  })
  assert.deepEqual(checked, ['others.web.example.dev'])
})

test('the Lease and the Secrets of the operator are not admitted, each in its namespace', () => {
  const app = operator({
    name: 'guard',
    leaderElection: { namespace: 'leases' },
    webhooks: { certs: { secret: 'tls', namespace: 'certs', ca: { secret: 'pki', namespace: 'issuers' } } },
  })
  app.admission(Lease, { validate: () => [] }, { failurePolicy: 'Ignore' })
  app.admission(Secret, { validate: () => [] })
  const excluded = (): unknown =>
    describeWebhooks(app.description, 'here').configurations[0]?.webhooks.map((webhook) => {
      const [{ expression } = {}] = webhook['matchConditions'] as { expression?: string }[]
      return expression
    })
  assert.deepEqual(excluded(), [
    '!(request.namespace == "leases" && request.name == "guard")',
    '!(request.namespace == "certs" && request.name == "tls") && ' +
    '!(request.namespace == "issuers" && request.name == "pki")',
  ])
})

test('a replica is ready for the Service through which its own caches need its conversion', async () => {
  let parts: Parts | undefined
  let webhooks: OperatorWebhooks | undefined
  const [elected, refused] = [new Latch<string>(), new Latch<string>()]
  const { handle } = new ApiServer({
    async callWebhook({ service }, text, { signal }) {
      const { status } = await parts!.health!.fetch(new Request('http://localhost/readyz'))
      if (status !== 200) refused.open('no endpoints available for service')
      const body = new TextEncoder().encode(text)
      return await webhooks!.handlers.get(service!.path!)!({ contentType: 'application/json', body, signal })
    },
  })
  const old = operator({ name: 'sites', crds: 'install' }).controllerFor(Old).reconcile(async () => {})
  await running(old, { handle }, async ({ client }) => {
    await client.create(Old, { ...at('a'), spec: { host: 'a' } })
  })
  const app = operator({
    name: 'sites',
    crds: 'install',
    health: 0,
    leaderElection: true,
    webhooks: { port: 0, host: '127.0.0.1', service: 'sites', certs },
  })
  app.convert(Old, Site, {
    up: ({ spec }) => ({ spec: { hosts: [spec.host] } }),
    down: ({ spec }) => ({ spec: { host: spec.hosts.join() } }),
  })
  app.controllerFor(Site).reconcile(async () => {})
  const stopping = new AbortController()
  const ended = app.start(stopping.signal, {
    instance: 'test',
    transport: handle,
    onWebhooks: (opened) => void (webhooks = opened),
    onAssembled: (assembled) => {
      parts = assembled
      void assembled.manager.elected.then(() => elected.open('elected'))
    },
  })
  assert.equal(await Promise.race([elected.opened, refused.opened, ended]), 'elected')
  stopping.abort()
  await ended
})

test('a replica whose server has another name than that of the last run converts before it leads', async () => {
  const { handle } = new ApiServer()
  const start = async (webhooks: object, work: (running: Running) => Promise<void>): Promise<void> => {
    const all = { port: 0, host: '127.0.0.1', certs, ...webhooks }
    const app = operator({ name: 'sites', crds: 'install', leaderElection: true, webhooks: all }).convert(Old, Site, {
      up: ({ spec }) => ({ spec: { hosts: [spec.host] } }),
      down: ({ spec }) => ({ spec: { host: spec.hosts.join() } }),
    })
    app.controllerFor(Old).reconcile(async () => {})
    const refused = new Latch<string>()
    const transport: Transport = async (request) => {
      const answer = await handle(request)
      // The list of a cache, and not the one that tests whether the webhook of the last run converts.
      if (answer.status === 500 && !/limit=1(&|$)/.test(request.path)) refused.open(await answer.body.text())
      return answer
    }
    const ended = running(app, { ...PORT, transport, handle }, work)
    await Promise.race([ended, refused.opened.then((text) => assert.fail(text))])
  }
  await start({ service: 'hooks' }, async ({ client }) => {
    await client.create(Site, { ...at('a'), spec: { hosts: ['a'] } })
  })
  const port = await freePort()
  await start({ port, url: `https://127.0.0.1:${port}` }, async ({ client }) => {
    assert.deepEqual((await client.get(Old, at('a').metadata))?.spec, { host: 'a' })
  })
})

test('the certificate is rotated under the fence of the leader', async () => {
  const rotating = new Latch<Cluster['api']>()
  await running(sites({ leaderElection: true }), {
    onWebhooks: (opened) =>
      void Object.assign(opened, {
        rotate(api: Cluster['api']) {
          rotating.open(api)
          return Promise.resolve()
        },
      }),
  })
  const api = await rotating.opened
  const target = { resource: Secret, namespace: 'default', name: 'tls' }
  await assert.rejects(api.delete(target, {}), /the grace period|stop|lead/i)
})

/** The options of starts at one stated URL, with a clock that stands still: nothing but a watch can report a change. */
async function still() {
  const port = await freePort()
  const { handle } = new ApiServer()
  return {
    handle,
    webhooks: { port, certs, url: `https://127.0.0.1:${port}` },
    start() {
      const { log, lines } = seenLog()
      return { lines, options: { ...PORT, log, handle, clock: new TimerClock({ nowMs: Date.now() }) } }
    },
  }
}

/** Logs lines with their level. */
function seenLog(): { readonly lines: Seen<string>; readonly log: Log } {
  const lines = new Seen<string>()
  const line = (level: string) => (message: string) => lines.add(`${level} ${message}`)
  return { lines, log: { debug() {}, info: line('info'), warn: line('warn'), error: line('error') } }
}

test('kinds of groups that differ by a dot and a dash are checked by their own functions', () => {
  const app = operator({ name: 'guard', crds: 'install' })
  const kinds = ['web.example.dev', 'web-example.dev'].map((group) =>
    defineResource({ group, version: 'v1', kind: 'Site', spec: z.object({}) })
  )
  for (const [at, kind] of kinds.entries()) {
    app.admission(kind, { validate: () => at === 1 ? [{ field: 'spec', message: 'it is of the second' }] : [] })
  }
  return running(app, {}, async ({ client, parts }) => {
    const path = '/validate-web-example-dev-v1-site'
    assert.deepEqual(parts.webhooks!.paths, [path, `${path}-2`])
    await client.create(kinds[0]!, { ...at('a'), spec: {} })
    await assert.rejects(client.create(kinds[1]!, { ...at('a'), spec: {} }), /it is of the second/)
  })
})

test('an API server elsewhere is given no URL of loopback, unless it is stated', async () => {
  const cluster = { server: 'https://10.1.2.3:6443', namespace: 'default' }
  for (
    const [options, expected] of [
      [
        {},
        /^ConfigError: Cannot install webhooks at https:\/\/127\.0\.0\.1:9443: the API server at 10\.1\.2\.3:6443 cannot call/,
      ],
      [{ crds: 'verify' }, /is not installed in this cluster/],
      [{ webhooks: { port: 0, certs, url: 'https://127.0.0.1:9443' } }, undefined],
    ] as const
  ) {
    const webhooks = { certs, ...(expected && 'crds' in options && { port: 0 }) }
    const ended = running(sites({ webhooks, ...options }), { ...PORT, cluster })
    await (expected ? assert.rejects(ended, expected) : ended)
  }
})

test('a run outside of the cluster replaces no Service, and changes nothing, unless its URL is stated', async () => {
  const { handle } = new ApiServer()
  const { client, api } = new Cluster({ name: 'admin', transport: handle })
  const start = (over: object, options: object = {}): Promise<void> =>
    running(sites({ webhooks: { port: 0, host: '127.0.0.1', certs, ...over }, ...options }), { ...PORT, handle })
  const state = async (): Promise<unknown> => [
    await client.list(MutatingWebhookConfiguration),
    await api.get(SITES),
  ]
  await start({ service: 'hooks' })
  const before = await state()
  const refused = /Cannot install webhooks at https:\/\/127\.0\.0\.1:\d+: .* calls the Service "default\/hooks"/
  for (const leaderElection of [true, false]) {
    await assert.rejects(start({}, { leaderElection }), refused)
    assert.deepEqual(await state(), before)
  }
  await start({ url: 'https://127.0.0.1:9443' })
  assert.notDeepEqual(await state(), before)
})

test('the conversion that another writer took away is restored at once, or reported where others install it', async () => {
  const { webhooks, start } = await still()
  const of = 'the conversion of CustomResourceDefinition "sites.web.example.dev", which had'
  for (
    const [crds, expected, strategy] of [
      ['install', `error Restored ${of}`, 'Webhook'],
      ['verify', `error Another writer changed ${of}`, 'None'],
    ] as const
  ) {
    const { lines, options } = start()
    await running(
      sites({ crds, webhooks, leaderElection: crds === 'verify' }),
      options,
      async ({ api, definition }) => {
        const conversion = { strategy: 'None', webhook: null }
        await api.patch(SITES, 'merge', { spec: { conversion } }, { fieldManager: 'kubectl' })
        await lines.is((line) => line.startsWith(expected))
        assert.equal((await definition()).spec.conversion?.strategy, strategy)
      },
    )
  }
})

test('versions that another writer took away are restored at once, by an elected leader alone', async () => {
  for (const leaderElection of [true, false]) {
    const { webhooks, start } = await still()
    const { lines, options } = start()
    await running(sites({ webhooks, leaderElection }), options, async ({ api, definition }) => {
      const versions = (await definition()).spec.versions.map((each) => ({ ...each, storage: !each.storage }))
      await api.patch(SITES, 'merge', { spec: { versions } }, { fieldManager: 'kubectl' })
      if (leaderElection) await lines.is((line) => line.startsWith('info Updated sites.web.example.dev'))
      assert.equal(lines.all.some((line) => line.startsWith('error Restoring the versions')), leaderElection)
      const hub = (await definition()).spec.versions.find(({ storage }) => storage)?.name
      assert.equal(hub, leaderElection ? 'v1' : 'v1alpha1')
    })
  }
})

test("with 'verify', a release that cannot convert what is stored does not start beside one that can", async () => {
  const { handle } = new ApiServer()
  const { api } = new Cluster({ name: 'admin', transport: handle })
  await running(sites({ leaderElection: true }), { handle })
  const earlier = operator({ name: 'sites' }).controllerFor(Old).reconcile(async () => {})
  const start = (): Promise<void> => running(earlier, { handle })
  await assert.rejects(start(), /stores v1, which this operator does not define.*: run a release that converts/)
  // Without a conversion, the server serves both versions.
  const conversion = { strategy: 'None', webhook: null }
  await api.patch(SITES, 'merge', { spec: { conversion } }, { fieldManager: 'kubectl' })
  await start()
})

for (const [crds, elects] of [['install', true], ['install', false], ['verify', true]] as const) {
  const election = elects ? 'with' : 'without'
  test(`what a release without webhooks finds of an earlier one, with crds: '${crds}', ${election} election`, async () => {
    const { handle } = new ApiServer()
    await running(sites(), { handle })
    const next = operator({ name: 'sites', crds, leaderElection: elects }).controllerFor(Site).reconcile(async () => {})
    const { log, lines } = seenLog()
    await running(next, { log, handle }, async ({ client, definition }) => {
      const errors = lines.all.filter((line) => line.startsWith('error'))
      const left = (await client.list(MutatingWebhookConfiguration)).length
      const { spec } = await definition()
      assert.deepEqual([left, spec.conversion?.strategy], crds === 'install' ? [0, 'None'] : [1, 'Webhook'])
      assert.deepEqual(
        errors.map((line) => /kubectl (?:patch|delete) \S+ \S+/.exec(line)?.[0]),
        crds === 'install' ? [] : [
          'kubectl patch crd sites.web.example.dev',
          'kubectl delete mutatingwebhookconfigurations sites-mutating-webhook-configuration`',
          'kubectl delete validatingwebhookconfigurations sites-validating-webhook-configuration`',
        ],
      )
      if (crds === 'install') await client.create(Site, { ...at('b'), spec: { hosts: ['bad'] } })
    })
  })
}

test('an operator that has no kinds and lost its last admission deletes its configuration, and none of an instance elsewhere', async () => {
  const guard = (has: boolean): Operator => {
    const app = operator({ name: 'guard', crds: 'install' })
    if (has) app.admission(ConfigMap, { default: () => {}, validate: () => [] })
    else app.controllerFor(ConfigMap).reconcile(async () => {})
    return app
  }
  const { handle } = new ApiServer()
  await running(guard(true), { handle }, async ({ client }) => {
    const [mutating] = await client.list(MutatingWebhookConfiguration)
    const clientConfig = { service: { namespace: 'production', name: 'guard' } }
    const webhooks = mutating!.webhooks!.map((each) => ({ ...each, clientConfig }))
    await client.update(MutatingWebhookConfiguration, { ...mutating!, webhooks })
  })
  const forbidden: Transport = async (request) =>
    request.path.includes('webhookconfigurations') ? refusal(403, 'Forbidden') : await handle(request)
  const { log, lines } = seenLog()
  await running(guard(false), { log, transport: forbidden, handle })
  assert.equal(lines.all.filter((line) => line.startsWith('warn Cannot find webhook configurations')).length, 2)
  for (let start = 0; start < 2; start++) {
    await running(guard(false), { handle }, async ({ client }) => {
      assert.deepEqual((await client.list(ValidatingWebhookConfiguration)).length, 0)
      assert.deepEqual((await client.list(MutatingWebhookConfiguration)).length, 1)
    })
  }
  process.env['KUBERNETES_SERVICE_HOST'] = '10.0.0.1'
  try {
    const cluster = { server: 'https://api', namespace: 'production' }
    await running(guard(false), { handle, cluster }, async ({ client }) => {
      assert.deepEqual(await client.list(MutatingWebhookConfiguration), [], 'a pod of that instance')
    })
  } finally {
    delete process.env['KUBERNETES_SERVICE_HOST']
  }
})

test("with 'verify', a configuration of an earlier release is an error with the command", async () => {
  const { handle } = new ApiServer()
  await running(sites({ webhooks: { certs, port: 0 } }), { ...PORT, handle })
  const next = operator({ name: 'sites', webhooks: { certs, port: 0 } }).admission(Site, { default: () => {} })
  const { log, lines } = seenLog()
  await running(next, { ...PORT, log, handle }, async () => {
    const left = await lines.is((line) => line.startsWith('error ValidatingWebhookConfiguration '))
    assert.match(left, /delete it by `kubectl delete validatingwebhookconfigurations sites-validating-/)
  })
})
