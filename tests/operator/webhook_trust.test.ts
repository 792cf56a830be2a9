/** The CAs of webhooks in what others have installed: written before the caches and the controllers need them. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Cluster, type Parts } from 'kubeloop'
import { ApiServer } from 'kubeloop/apiserver'
import { MutatingWebhookConfiguration, Secret } from 'kubeloop/kinds'
import { FakeClock } from 'kubeloop/testing'
import { nextTurn, turnBudgetOf } from '../../lib/async/clock.ts'
import { Latch } from '../../lib/async/latch.ts'
import { CRD } from '../../lib/core/resource.ts'
import type { Transport } from '../../lib/core/transport.ts'
import { silentLog } from '../../lib/observe/log.ts'
import type { StartOptions } from '../../lib/operator/run/start.ts'
import { installCrds } from '../../lib/crds/install.ts'
import { openWebhooks } from '../../lib/operator/webhooks/open.ts'
import { createAuthority } from '../../lib/runtime/net/certificates.ts'
import { freePort } from '../../lib/runtime/net/loopback.ts'
import { refusal, silence } from '../client/transports.ts'
import { running } from './running.ts'
import { restingClock } from './starting.ts'
import { NAME, sites, trusted, untilReconciled, upgrade, wanted } from '../crds/converted_sites.ts'

/** A server where the first object is stored as v1, and the second as v1alpha1. */
async function upgraded(port: number): Promise<{ readonly handle: Transport; readonly api: Cluster['api'] }> {
  const { handle } = new ApiServer()
  await upgrade(handle, port, ['a'])
  return { handle, api: new Cluster({ name: 'admin', transport: handle }).api }
}

/** Makes the API server trust these CAs for the conversion. */
async function trust(api: Cluster['api'], pem: string): Promise<void> {
  const conversion = { webhook: { clientConfig: { caBundle: btoa(pem) } } }
  await api.patch({ resource: CRD, name: NAME }, 'merge', { spec: { conversion } }, {})
}

for (const leaderElection of [true, false]) {
  const which = leaderElection ? 'with' : 'without'
  test(`a conversion that others installed is trusted before the caches list, ${which} leader election`, async () => {
    const port = await freePort()
    const { handle, api } = await upgraded(port)
    const events = await untilReconciled(['a', 'b'], (seen) => sites(port, seen, { leaderElection }), handle)
    const [secret] = await new Cluster({ name: 'admin', transport: handle }).client.list(Secret)
    assert.equal(await trusted(api), atob(secret!.data!['ca.crt']!))
    assert.deepEqual(events.filter((event) => event.startsWith('Cannot')), [])
    // The API server calls the webhooks for what the controllers write.
    const order = ['PUT converted-mutating-webhook-configuration', 'reconcile']
    assert.deepEqual(events.filter((event) => order.includes(event)).slice(0, 2), order)
  })
}

for (const crds of ['verify', 'install'] as const) {
  test(`after the Secret was lost, its successor is trusted before the caches list, with crds: '${crds}'`, async () => {
    const port = await freePort()
    const { handle, api } = await upgraded(port)
    const { ca } = await createAuthority()
    await trust(api, ca)
    const events = await untilReconciled(['a', 'b'], (seen) => sites(port, seen, { crds }), handle)
    const [secret] = await new Cluster({ name: 'admin', transport: handle }).client.list(Secret)
    const both = `${atob(secret!.data!['ca.crt']!)}${ca}`
    assert.equal((await trusted(api)).replace(/\s/g, ''), both.replace(/\s/g, ''), 'the other may still be in use')
    assert.deepEqual(events.filter((event) => event.startsWith('Cannot')), [])
  })
}

test('a replica that does not lead adds the ca.crt of its folder before it is ready, and removes no other CA', async () => {
  const port = await freePort()
  const { handle, api } = await upgraded(port)
  const folder = mkdtempSync(join(tmpdir(), 'kubeloop-certs-'))
  const [authority, other] = [await createAuthority(), await createAuthority()]
  const { cert, key } = await authority.issue({ commonName: 'sites', ipAddresses: ['127.0.0.1'], usage: 'server' })
  for (const [name, text] of [['tls.crt', cert], ['tls.key', key], ['ca.crt', authority.ca]] as const) {
    writeFileSync(join(folder, name), text)
  }
  await trust(api, other.ca)
  const stopping = new AbortController()
  const ready = new Latch()
  const app = sites(port, () => {}, { health: 0, webhooks: { port, certs: folder } })
  let parts: Parts | undefined
  const readiness = async (): Promise<string> =>
    await (await parts!.health!.fetch(new Request('http://localhost/readyz/webhooks'))).text()
  const before: string[] = []
  const ended = app.start(stopping.signal, {
    instance: 'test',
    webhooks: 'stated',
    async transport(request) {
      if (request.path.includes('/leases')) return refusal(403, 'Forbidden')
      if (request.method === 'PUT') before.push(await readiness())
      return await handle(request)
    },
    onAssembled(assembled) {
      parts = assembled
      void parts.manager.ready(stopping.signal).then(() => ready.open())
    },
  })
  try {
    await Promise.race([ready.opened, ended])
    assert.equal(before.length, 2)
    for (const text of before) assert.match(text, /may not trust the certificate of the webhooks yet/)
    assert.equal(await readiness(), 'ok')
    assert.equal((await trusted(api)).replace(/\s/g, ''), `${authority.ca}${other.ca}`.replace(/\s/g, ''))
    const admin = new Cluster({ name: 'admin', transport: handle }).client
    const [mutating] = await admin.list(MutatingWebhookConfiguration)
    assert.equal(atob(mutating!.webhooks![0]!.clientConfig.caBundle!).trim(), authority.ca.trim())
  } finally {
    stopping.abort()
    await ended
    rmSync(folder, { recursive: true })
  }
})

test('the last CA of a folder is trusted beside its successor, and earlier ones are not', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kubeloop-certs-'))
  const clock = new FakeClock()
  const { api, client } = new Cluster({ name: 'admin', transport: new ApiServer().handle })
  const { description } = sites(9443, () => {}, { webhooks: { url: 'https://127.0.0.1:9443', certs: folder } })
  const webhooks = openWebhooks(description, {
    ...{ api, clock, meter: undefined, namespace: undefined, mode: 'stated', log: silentLog },
    budget: turnBudgetOf(clock),
    stopping: new AbortController().signal,
    client: () => client,
  })
  try {
    for (const [ca, expected] of [['A', 'A'], ['B\n', 'B\nA'], ['B\n', 'B\nA'], ['C', 'C\nB\n']] as const) {
      writeFileSync(join(folder, 'ca.crt'), ca)
      const { webhook } = (await webhooks.conversion(new AbortController().signal))!
      assert.equal(atob(webhook.clientConfig.caBundle!), expected)
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('CAs of a release with another Secret stay while the old leader leads, and for an hour after it', async () => {
  const { handle } = new ApiServer()
  const { api, client } = new Cluster({ name: 'admin', transport: handle })
  const clock = restingClock(Date.now())
  const release = (secret: string, url = 'https://127.0.0.1:9443') => {
    const { description } = sites(9443, () => {}, { crds: 'install', webhooks: { url, certs: { secret } } })
    const webhooks = openWebhooks(description, {
      ...{ api, clock, meter: undefined, namespace: undefined, mode: 'stated', log: silentLog },
      stopping: new AbortController().signal,
      budget: turnBudgetOf(clock),
      client: () => client,
    })
    const stop = new AbortController()
    const conversions = description.conversions
    return {
      ...{ webhooks, stop },
      async lead(): Promise<{ readonly ended: Promise<void> }> {
        const conversion = await webhooks.conversion(stop.signal)
        const { mergeCas } = webhooks
        const dependencies = { api, clock, log: silentLog, fieldManager: 'sites', conversions, conversion, mergeCas }
        await installCrds(conversions.map(({ hub }) => hub), dependencies, stop.signal)
        await webhooks.install(api, stop.signal)
        return { ended: webhooks.rotate(api, stop.signal) }
      },
      ca: async () => atob((await client.get(Secret, { namespace: 'default', name: secret }))!.data!['ca.crt']!).trim(),
    }
  }
  const bundles = async (): Promise<string[]> => {
    const [mutating] = await client.list(MutatingWebhookConfiguration)
    return [await trusted(api), atob(mutating!.webhooks![0]!.clientConfig.caBundle!)].map((text) => text.trim())
  }
  const [a, b] = [release('a'), release('b')]
  const leads = await a.lead()
  await clock.advance(1000)
  assert.deepEqual(await bundles(), [await a.ca(), await a.ca()])
  await b.webhooks.addCas(b.stop.signal)
  const both = [await b.ca(), await a.ca()]
  assert.deepEqual(await bundles(), [both.join('\n'), both.join('\n')])
  await clock.advance(2 * 3_600_000)
  assert.deepEqual(await bundles(), [both.toReversed().join('\n'), both.toReversed().join('\n')])
  a.stop.abort()
  await leads.ended
  const takesOver = await b.lead()
  await clock.advance(3_500_000)
  assert.deepEqual(await bundles(), [both.join('\n'), both.join('\n')])
  await clock.advance(200_000)
  assert.deepEqual(await bundles(), [await b.ca(), await b.ca()])
  // As replicas do without a leader.
  await release('a').webhooks.addCas(b.stop.signal)
  await clock.advance(200_000)
  assert.deepEqual(await bundles(), [both.join('\n'), both.join('\n')], 'it is still served')
  b.stop.abort()
  await takesOver.ended
  const moved = release('c', 'https://127.0.0.1:9444')
  const { ended } = await moved.lead()
  assert.deepEqual(await bundles(), [await moved.ca(), await moved.ca()], 'another server has other CAs')
  moved.stop.abort()
  await ended
})

/** Starts an operator whose requests for the definition are answered by `answer`. Resolves with its log when it leads. */
async function leadingWith(answer: Transport, options: StartOptions = {}): Promise<string[]> {
  const port = await freePort()
  const { handle } = new ApiServer()
  const { api } = new Cluster({ name: 'admin', transport: handle })
  for (const each of wanted(port).crds) await api.create({ resource: CRD }, each, {})
  let lines: string[] = []
  await running(sites(port, () => {}, { crds: 'ignore', leaderElection: false }), {
    webhooks: 'stated',
    transport: (request) => request.path.endsWith(`/${NAME}`) ? answer(request) : handle(request),
    ...options,
  }, async ({ events }) => void (lines = events))
  return lines.filter((line) => line.endsWith('; starting anyway'))
}

test('an operator that may not read the definition starts, and says which right it lacks', async () => {
  const denied = 'User "u" cannot get resource "customresourcedefinitions" in API group "apiextensions.k8s.io"'
  const lines = await leadingWith(() => Promise.resolve(refusal(403, 'Forbidden', {}, denied)))
  const title = `CustomResourceDefinition "${NAME}"`
  assert.deepEqual(lines, [
    `The API server may not trust the webhooks: Cannot set the trusted CAs of ${title}: Cannot get ${title}: ` +
    `${denied}; its role lacks { apiGroups: ` +
    '["apiextensions.k8s.io"], resources: ["customresourcedefinitions"], verbs: ["get", "update"] }; starting anyway',
  ])
})

test('an API server that does not answer holds the start for 10 s, before the caches', async () => {
  const clock = new FakeClock()
  let requests = 0
  const lines = await leadingWith((request) => {
    // The others are of the rotation.
    if (++requests === 1) void nextTurn().then(() => clock.advance(10_000))
    return silence(request)
  }, { clock })
  const late = 'Cannot set the trusted CAs of the webhooks within 10 s'
  assert.deepEqual(lines, [`The API server may not trust the webhooks: ${late}; starting anyway`])
  assert.ok(requests >= 1)
})
