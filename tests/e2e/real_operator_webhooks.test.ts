/** What an operator's webhooks are to writes while its releases and certificates change, on a real API server. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { defineResource, type Operator, operator } from 'kubeloop'
import {
  CustomResourceDefinition as Definition,
  ResourceQuota,
  ServiceAccount,
  ValidatingWebhookConfiguration as Configuration,
} from 'kubeloop/kinds'
import * as z from 'zod'
import { Latch } from '../../lib/async/latch.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { createAuthority } from '../../lib/runtime/net/certificates.ts'
import { freePort } from '../../lib/runtime/net/loopback.ts'
import { watching } from './watching.ts'
import { noPlane, realPlane } from '../tools/real_plane.ts'
import { running } from './running.ts'

const plane = realPlane()

const leading = (app: Operator, work: () => Promise<void>, options: Parameters<Operator['start']>[1] = {}) =>
  running(app, { cluster: plane.envtest.config, ...options }, work)

const at = (name: string) => ({ metadata: { namespace: 'default', name } })

const thing = { group: 'orders.example.com', kind: 'Thing', spec: z.object({ a: z.string().optional() }) }
const Thing = defineResource({ ...thing, version: 'v1' })

/** An operator at a port, with an admission or, as its next version, without. */
function ordered(port: number, failurePolicy: 'Fail' | 'Ignore' | undefined) {
  const made = operator({
    name: 'orders',
    crds: 'install',
    webhooks: { port, url: `https://127.0.0.1:${port}`, certs: { secret: 'orders' } },
  })
  if (failurePolicy) made.admission(Thing, { validate: () => [] }, { failurePolicy })
  return made
}

const calling = /failed calling webhook "validate-orders-example-com-v1-thing\.orders\.kubeloop"/
const create = (name: string): Promise<unknown> => plane.client.create(Thing, { ...at(name), spec: {} })
const configurations = async (): Promise<number> =>
  (await plane.client.list(Configuration, { labels: 'kubeloop.dev/operator=orders' })).length
/** New webhooks have `Ignore` for ten minutes; this is what they have later. */
const settled = async (): Promise<void> => {
  for (const each of await plane.client.list(Configuration, { labels: 'kubeloop.dev/operator=orders' })) {
    const json = each.webhooks!.map((_, i) => ({ op: 'replace', path: `/webhooks/${i}/failurePolicy`, value: 'Fail' }))
    await plane.client.patch(Configuration, each, { json })
  }
}

test('an uninstall: the objects, the operator, its configurations, the definitions', { skip: noPlane }, async () => {
  const port = await freePort()
  const made = ordered(port, 'Fail')
  made.controllerFor(Thing).finalize(async () => {}).reconcile(async () => {})
  await leading(made, async () => {
    await settled()
    await create('a')
    const ending = new AbortController()
    const { watching: things, ended } = watching(plane.transport, Thing, ending.signal)
    await things.until('default/a', 'finalizer', (found) => Boolean(found?.metadata.finalizers?.length))
    await plane.client.deleteAll(Thing, { namespace: 'default' })
    while ((await plane.client.list(Thing)).length > 0) await plane.client.get(Thing, at('a').metadata)
    ending.abort()
    await ended
  })
  await assert.rejects(create('b'), calling, 'the operator is gone, its configuration is not')
  await plane.client.deleteAll(Configuration, { labels: 'kubeloop.dev/operator=orders' })
  assert.equal(await configurations(), 0)
  await create('b')
  await plane.client.deleteAll(Thing, { namespace: 'default' })
  await plane.client.delete(Definition, { name: 'things.orders.example.com' })
  while (await plane.client.get(Definition, { name: 'things.orders.example.com' })) {
    await plane.client.list(Configuration)
  }
})

test('an upgrade that removes a webhook: first it is ignored, then it is gone', { skip: noPlane }, async () => {
  const port = await freePort()
  const next = ordered(port, undefined)
  /** A replica of the next version, while one of the last version leads. */
  const follower = { crds: 'ignore', leaderElection: false } as const
  await leading(ordered(port, 'Fail'), async () => {
    await settled()
    await create('c')
  })
  await leading(next, () => assert.rejects(create('d'), calling), follower)
  await leading(ordered(port, 'Ignore'), () => create('e') as Promise<void>)
  await leading(next, () => create('f') as Promise<void>, follower)
  assert.equal(await configurations(), 1)
  await leading(next, () => create('g') as Promise<void>)
  assert.equal(await configurations(), 0)
})

/** Checks a kind that no other test creates, as the configuration outlives the operator. */
function checked(kind: typeof ServiceAccount | typeof ResourceQuota, url: string, webhooks: object): Operator {
  const all = { url, host: '127.0.0.1', ...webhooks }
  const made = operator({ name: kind.plural, crds: 'install', leaderElection: true, webhooks: all })
  made.admission(kind as typeof ServiceAccount, { validate: () => [] }, {
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'default' } },
  })
  return made
}

const dryRun = (kind: typeof ServiceAccount | typeof ResourceQuota): Promise<unknown> =>
  plane.client.create(kind as typeof ServiceAccount, at(`dry-${crypto.randomUUID()}`), { dryRun: true })

test('a folder with a new CA replaces a pair without a failed call', { skip: noPlane }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kubeloop-certs-'))
  const write = async (): Promise<void> => {
    const authority = await createAuthority()
    const { cert, key } = await authority.issue({ commonName: 'a', ipAddresses: ['127.0.0.1'], usage: 'server' })
    for (const [file, text] of Object.entries({ 'ca.crt': authority.ca, 'tls.crt': cert, 'tls.key': key })) {
      writeFileSync(join(folder, file), text)
    }
  }
  await write()
  const port = await freePort()
  const served = new Latch()
  const info = (line: string): void => {
    if (line === 'Serving webhooks with a new certificate') served.open()
  }
  try {
    await leading(checked(ServiceAccount, `https://127.0.0.1:${port}`, { port, certs: folder }), async () => {
      await write()
      let isServed = false
      void served.opened.then(() => (isServed = true))
      for (let after = 0; after < 100; after += isServed ? 1 : 0) await dryRun(ServiceAccount)
    }, { log: { ...silentLog, info } })
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('a replica of a release with another Secret is called before it leads', { skip: noPlane }, async () => {
  const [port, own, other] = [await freePort(), await freePort(), await freePort()]
  let [back, calls] = [own, 0]
  const sockets = new Set<Socket>()
  const forward = createServer((socket) => {
    if (back === other) calls++
    const next = connect(back, '127.0.0.1')
    socket.pipe(next).pipe(socket)
    for (const each of [socket, next]) sockets.add(each.on('error', () => {}))
  }).listen(port, '127.0.0.1')
  const release = (own: number, secret: string): Operator =>
    checked(ResourceQuota, `https://127.0.0.1:${port}`, { port: own, certs: { secret } })
  const stopping = new AbortController()
  const ready = new Latch()
  try {
    await leading(release(own, 'first'), async () => {
      await dryRun(ResourceQuota)
      const ended = release(other, 'second').start(stopping.signal, {
        ...{ cluster: plane.envtest.config, log: silentLog },
        onAssembled: ({ manager }) => void manager.ready(stopping.signal).then(() => ready.open(), () => {}),
      })
      await Promise.race([ready.opened, ended])
      back = other
      for (const socket of sockets) socket.destroy()
      for (let at = 0; at < 20; at++) await dryRun(ResourceQuota)
      assert.ok(calls > 0)
      stopping.abort()
      await ended
    })
  } finally {
    stopping.abort()
    for (const socket of sockets) socket.destroy()
    forward.close()
  }
})
