/** The CAs of webhooks in what others have installed: written before the caches and the controllers need them. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Cluster } from 'kubeloop'
import { ApiServer } from 'kubeloop/apiserver'
import { Secret } from 'kubeloop/kinds'
import { FakeClock } from 'kubeloop/testing'
import { nextTurn, turnBudgetOf } from '../../lib/async/clock.ts'
import { Latch } from '../../lib/async/latch.ts'
import { CRD } from '../../lib/core/resource.ts'
import type { Transport } from '../../lib/core/transport.ts'
import { silentLog } from '../../lib/observe/log.ts'
import type { StartOptions } from '../../lib/operator/start.ts'
import { openWebhooks } from '../../lib/operator/webhooks.ts'
import { createAuthority } from '../../lib/runtime/net/certificates.ts'
import { freePort } from '../../lib/runtime/net/loopback.ts'
import { refusal, silence } from '../client/transports.ts'
import { NAME, sites, trusted, untilReconciled, upgrade, wanted } from './converted_sites.ts'

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
    assert.ok(!(await trusted(api)).includes(ca), 'the leader removes a CA that is not in the Secret')
    assert.deepEqual(events.filter((event) => event.startsWith('Cannot')), [])
  })
}

test('the ca.crt of a folder is trusted, too, and a replica that does not lead removes no other CA', async () => {
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
  const app = sites(port, () => {}, { webhooks: { port, certs: folder } })
  const ended = app.start(stopping.signal, {
    instance: 'test',
    webhooks: 'stated',
    transport: (request) =>
      request.path.includes('/leases') ? Promise.resolve(refusal(403, 'Forbidden')) : handle(request),
    onAssembled: ({ manager }) => void manager.ready(stopping.signal).then(() => ready.open()),
  })
  try {
    await Promise.race([ready.opened, ended])
    assert.equal((await trusted(api)).replace(/\s/g, ''), `${authority.ca}${other.ca}`.replace(/\s/g, ''))
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

/** Starts an operator whose requests for the definition are answered by `answer`. Resolves with its log when it leads. */
async function leadingWith(answer: Transport, options: StartOptions = {}): Promise<string[]> {
  const port = await freePort()
  const { handle } = new ApiServer()
  const { api } = new Cluster({ name: 'admin', transport: handle })
  for (const each of wanted(port).crds) await api.create({ resource: CRD }, each, {})
  const stopping = new AbortController()
  const ready = new Latch()
  const lines: string[] = []
  const line = (message: string): void => void lines.push(message)
  const ended = sites(port, () => {}, { crds: 'ignore', leaderElection: false }).start(stopping.signal, {
    instance: 'test',
    webhooks: 'stated',
    log: { debug() {}, info: line, warn: line, error: line },
    transport: (request) => request.path.endsWith(`/${NAME}`) ? answer(request) : handle(request),
    onAssembled: ({ manager }) => void manager.elected.then(() => ready.open()),
    ...options,
  })
  await Promise.race([ready.opened, ended])
  stopping.abort()
  await ended
  return lines.filter((line) => line.endsWith('; starting anyway'))
}

test('an operator that may not read the definition starts, and says which right it lacks', async () => {
  const denied = 'User "u" cannot get resource "customresourcedefinitions" in API group "apiextensions.k8s.io"'
  const lines = await leadingWith(() => Promise.resolve(refusal(403, 'Forbidden', {}, denied)))
  const title = `CustomResourceDefinition "${NAME}"`
  assert.deepEqual(lines, [
    `The API server may not trust the conversion: Cannot set the trusted CAs of ${title}: Cannot get ${title}: ` +
    `${denied}; its role lacks { apiGroups: ` +
    '["apiextensions.k8s.io"], resources: ["customresourcedefinitions"], verbs: ["get", "update"] }; starting anyway',
  ])
})

test('an API server that does not answer holds the start for 10 s, before the caches and before the controllers', async () => {
  const clock = new FakeClock()
  let requests = 0
  const lines = await leadingWith((request) => {
    // The first is for the caches, the second for the controllers; others are of the rotation.
    if (++requests <= 2) void nextTurn().then(() => clock.advance(10_000))
    return silence(request)
  }, { clock })
  const late = 'Cannot set the trusted CAs of the webhooks within 10 s'
  assert.deepEqual(lines, [`The API server may not trust the conversion: ${late}; starting anyway`])
  assert.ok(requests >= 2)
})
