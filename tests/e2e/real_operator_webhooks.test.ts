/** The API server calls an operator's webhooks: admission, conversion, certificates, configurations. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Cluster, defineResource, httpTransport, isReason, operator } from 'kubeloop'
import {
  ConfigMap,
  CustomResourceDefinition as Definition,
  NetworkPolicy,
  ResourceQuota,
  Secret,
  ServiceAccount,
  ValidatingWebhookConfiguration as Configuration,
} from 'kubeloop/kinds'
import * as z from 'zod'
import app, { Site, SiteV1alpha1 } from '../../examples/8_site_webhooks.ts'
import { Latch } from '../../lib/async/latch.ts'
import type { Transport } from '../../lib/core/transport.ts'
import { Api } from '../../lib/client/api.ts'
import type { Client } from '../../lib/client/client.ts'
import type { OperatorWebhooks } from '../../lib/operator/webhooks/setup.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { createAuthority } from '../../lib/runtime/net/certificates.ts'
import { freePort } from '../../lib/runtime/net/loopback.ts'
import { type Envtest, startEnvtest } from '../../lib/testing/envtest.ts'
import { sites, trusted, untilReconciled, upgrade } from '../crds/converted_sites.ts'
import { watching } from './watching.ts'

const skip = process.env['KUBEBUILDER_ASSETS'] ? false : 'KUBEBUILDER_ASSETS is not set: no real control plane'

let envtest: Envtest
let transport: Transport & { close(): void }
let client: Client
/** What the API server warned of since the last look. */
const warnings: string[] = []
before(async () => {
  if (skip) return
  envtest = await startEnvtest()
  transport = httpTransport(envtest.config)
  const log = { ...silentLog, warn: (message: string) => void warnings.push(message) }
  client = new Cluster({ name: 'test', transport, log }).client
})
after(async () => {
  transport?.close()
  await envtest?.stop()
})

/** Runs an operator while `work` runs. */
async function running(
  what: typeof app,
  work: () => Promise<void>,
  options: Parameters<typeof app.start>[1] = {},
): Promise<void> {
  const stopping = new AbortController()
  const ready = new Latch()
  const ended = what.start(stopping.signal, {
    cluster: envtest.config,
    log: silentLog,
    ...options,
    onAssembled: ({ manager }) => void manager.elected.then(() => ready.open()),
  })
  await Promise.race([ready.opened, ended])
  try {
    await work()
  } finally {
    stopping.abort()
    await ended
  }
}

const never = new AbortController().signal

const at = (name: string) => ({ metadata: { namespace: 'default', name } })

test('the example defaults, warns, denies, converts and reconciles', { skip }, () =>
  running(app, async () => {
    const made = await client.create(Site, { ...at('a'), spec: { hosts: ['A.example.dev'] } })
    assert.deepEqual(made.spec, { hosts: ['a.example.dev'], issuer: 'letsencrypt', tls: { mode: 'off' } })

    const bad = client.create(Site, { ...at('b'), spec: { hosts: ['ok.dev', 'not_ok.dev'] } })
    await assert.rejects(bad, (error: unknown) => {
      assert.ok(isReason(error, 'Invalid'), String(error))
      assert.deepEqual(error.causes, [{ field: 'spec.hosts[1]', message: '"not_ok.dev" has an underscore' }])
      assert.match(
        error.message,
        /admission webhook "validate-web-example-dev-v1-site\.sites\.kubeloop" denied the request/,
      )
      return true
    })
    assert.equal(await client.get(Site, at('b').metadata), undefined)

    // The same rules for the old version: it is converted first.
    const old = await client.create(SiteV1alpha1, {
      ...at('old'),
      spec: { hostnames: 'OLD.dev b.dev', tlsSecret: 's' },
    })
    assert.deepEqual(old.spec, { hostnames: 'old.dev b.dev', issuer: 'letsencrypt', tlsSecret: 's' })
    const converted = await client.get(Site, at('old').metadata)
    assert.deepEqual(converted?.spec, {
      hosts: ['old.dev', 'b.dev'],
      issuer: 'letsencrypt',
      tls: { mode: 'on', secretName: 's' },
    })
    const names = (await client.list(SiteV1alpha1)).map(({ spec }) => spec.hostnames)
    assert.deepEqual(names, ['a.example.dev', 'old.dev b.dev'])

    const ending = new AbortController()
    const { watching: sites, ended } = watching(transport, Site, ending.signal)
    await sites.until(
      'default/old',
      'ready',
      (site) => (site as { status?: { ready?: boolean } }).status?.ready === true,
    )
    ending.abort()
    await ended
    assert.ok(await client.get(NetworkPolicy, at('old').metadata))
  }, { webhooks: { port: 0 } }))

test(
  'a built-in kind is defaulted, warned of and protected from deletion, with a certificate from a Secret',
  { skip },
  () => {
    const guard = operator({
      name: 'guard',
      crds: 'install',
      webhooks: { port: 0, certs: { secret: 'guard-certificates' } },
    })
    const seen: unknown[] = []
    guard.admission(ConfigMap, {
      default(map, { operation, dryRun }) {
        map.data = { ...map.data, last: operation }
        if (dryRun) map.data['dry'] = 'run'
      },
    })
    guard.admission(ConfigMap, {
      async validate(map, { operation, old, warn, user, client, name, namespace }) {
        seen.push([
          operation,
          name,
          namespace,
          old?.data?.['last'],
          user.username,
          user.groups.includes('system:masters'),
        ])
        if (map.data?.['ask']) {
          const other = await client.get(ConfigMap, { namespace: 'default', name: map.data['ask'] })
          if (!other) return [{ field: 'data.ask', message: 'there is no such map', reason: 'FieldValueNotFound' }]
        }
        if (operation === 'DELETE') {
          warn('someone deletes a map')
          if (map.data?.['keep']) return [{ field: 'data.keep', message: 'it must be kept' }]
        }
        return undefined
      },
    }, {
      operations: ['CREATE', 'UPDATE', 'DELETE'],
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'default' } },
    })
    return running(guard, async () => {
      seen.length = warnings.length = 0
      const made = await client.create(ConfigMap, { ...at('m'), data: { a: '1' } })
      assert.deepEqual(made.data, { a: '1', last: 'CREATE' })
      const patched = await client.patch(ConfigMap, at('m').metadata, { merge: { data: { keep: 'yes' } } })
      assert.deepEqual(patched.data, { a: '1', keep: 'yes', last: 'UPDATE' })
      const kept = client.delete(ConfigMap, at('m').metadata)
      await assert.rejects(kept, /validate--v1-configmap\.guard\.kubeloop.*data\.keep: .*it must be kept/s)
      assert.deepEqual(warnings, ['The API server warns: someone deletes a map'])
      await assert.rejects(
        client.create(ConfigMap, { ...at('n'), data: { ask: 'nothing' } }),
        (error: unknown) =>
          isReason(error, 'Invalid') && error.status.details?.causes?.[0]?.reason === 'FieldValueNotFound',
      )
      await client.create(ConfigMap, { ...at('n'), data: { ask: 'm' } })
      assert.deepEqual(seen, [
        ['CREATE', 'm', 'default', undefined, 'envtest-admin', true],
        ['UPDATE', 'm', 'default', 'CREATE', 'envtest-admin', true],
        ['DELETE', 'm', 'default', undefined, 'envtest-admin', true],
        ['CREATE', 'n', 'default', undefined, 'envtest-admin', true],
        ['CREATE', 'n', 'default', undefined, 'envtest-admin', true],
      ])
      const secret = await client.get(Secret, { namespace: 'default', name: 'guard-certificates' })
      assert.equal(secret?.type, 'kubernetes.io/tls')
    })
  },
)

test('fields that the operator does not know survive its defaults', { skip }, async () => {
  const names = { group: 'fields.example.com', version: 'v1', kind: 'Wide' }
  const Wide = defineResource({
    ...names,
    spec: z.object({ a: z.string().optional(), theirs: z.array(z.int()).optional() }),
  })
  const wide = operator({ name: 'wide', crds: 'install' })
  wide.controllerFor(Wide).reconcile(async () => {})
  await running(wide, async () => {})
  const Narrow = defineResource({ ...names, spec: z.object({ a: z.string().optional() }) })
  const narrow = operator({ name: 'narrow', webhooks: { port: 0, certs: { secret: 'narrow-certificates' } } })
  narrow.admission(Narrow, {
    default: ({ spec }) => {
      spec.a ??= 'filled in'
    },
  })
  let webhooks: OperatorWebhooks | undefined
  await running(narrow, async () => {
    await webhooks!.install(new Api({ transport }), never)
    const made = await client.create(Wide, { ...at('w'), spec: { theirs: [1, 2, 3] } })
    assert.deepEqual(made.spec, { a: 'filled in', theirs: [1, 2, 3] })
  }, { crds: 'ignore', onWebhooks: (opened) => void (webhooks = opened) })
})

const thing = { group: 'orders.example.com', kind: 'Thing', spec: z.object({ a: z.string().optional() }) }
const Thing = defineResource({ ...thing, version: 'v1' })
const OldThing = defineResource({ ...thing, version: 'v1beta1', spec: z.object({ b: z.string().optional() }) })

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
const create = (name: string): Promise<unknown> => client.create(Thing, { ...at(name), spec: {} })
const configurations = async (): Promise<number> =>
  (await client.list(Configuration, { labels: 'kubeloop.dev/operator=orders' })).length
/** New webhooks have `Ignore` for ten minutes; this is what they have later. */
const settled = async (): Promise<void> => {
  for (const each of await client.list(Configuration, { labels: 'kubeloop.dev/operator=orders' })) {
    const json = each.webhooks!.map((_, i) => ({ op: 'replace', path: `/webhooks/${i}/failurePolicy`, value: 'Fail' }))
    await client.patch(Configuration, each, { json })
  }
}

test('an uninstall: the objects, the operator, its configurations, the definitions', { skip }, async () => {
  const port = await freePort()
  const made = ordered(port, 'Fail')
  made.controllerFor(Thing).finalize(async () => {}).reconcile(async () => {})
  await running(made, async () => {
    await settled()
    await create('a')
    const ending = new AbortController()
    const { watching: things, ended } = watching(transport, Thing, ending.signal)
    await things.until('default/a', 'finalizer', (found) => Boolean(found?.metadata.finalizers?.length))
    await client.deleteAll(Thing, { namespace: 'default' })
    while ((await client.list(Thing)).length > 0) await client.get(Thing, at('a').metadata)
    ending.abort()
    await ended
  })
  await assert.rejects(create('b'), calling, 'the operator is gone, its configuration is not')
  await client.deleteAll(Configuration, { labels: 'kubeloop.dev/operator=orders' })
  assert.equal(await configurations(), 0)
  await create('b')
  await client.deleteAll(Thing, { namespace: 'default' })
  await client.delete(Definition, { name: 'things.orders.example.com' })
  while (await client.get(Definition, { name: 'things.orders.example.com' })) await client.list(Configuration)
})

test('a restore: the definitions, the operator, the objects in any version', { skip }, async () => {
  const made = ordered(await freePort(), 'Fail')
  made.convert(OldThing, Thing, {
    up: ({ spec: { b } }) => ({ spec: b === undefined ? {} : { a: b } }),
    down: ({ spec: { a } }) => ({ spec: a === undefined ? {} : { b: a } }),
  })
  await running(made, async () => {})
  const restored = (): Promise<unknown> => client.create(OldThing, { ...at('r'), spec: { b: 'kept' } })
  await assert.rejects(restored(), /conversion webhook for orders\.example\.com/, 'before the operator')
  await running(made, async () => {
    await restored()
    assert.deepEqual((await client.get(Thing, at('r').metadata))?.spec, { a: 'kept' })
    await client.deleteAll(Thing, { namespace: 'default' })
  })
  await client.deleteAll(Configuration, { labels: 'kubeloop.dev/operator=orders' })
  await client.delete(Definition, { name: 'things.orders.example.com' })
  while (await client.get(Definition, { name: 'things.orders.example.com' })) await client.list(Configuration)
})

test('an upgrade that removes a webhook: first it is ignored, then it is gone', { skip }, async () => {
  const port = await freePort()
  const next = ordered(port, undefined)
  /** A replica of the next version, while one of the last version leads. */
  const follower = { crds: 'ignore', leaderElection: false } as const
  await running(ordered(port, 'Fail'), async () => {
    await settled()
    await create('c')
  })
  await running(next, () => assert.rejects(create('d'), calling), follower)
  await running(ordered(port, 'Ignore'), () => create('e') as Promise<void>)
  await running(next, () => create('f') as Promise<void>, follower)
  assert.equal(await configurations(), 1)
  await running(next, () => create('g') as Promise<void>)
  assert.equal(await configurations(), 0)
})

test('a conversion that others installed is trusted before the caches list', { skip }, async () => {
  const port = await freePort()
  await upgrade(transport, port)
  const events = await untilReconciled(['b'], (seen) => sites(port, seen), transport)
  const secret = await client.get(Secret, { namespace: 'default', name: 'tls' })
  assert.equal(await trusted(new Api({ transport })), atob(secret!.data!['ca.crt']!))
  // The API server calls the webhooks for what the controllers write.
  const order = ['PUT converted-mutating-webhook-configuration', 'reconcile']
  assert.deepEqual(events.filter((event) => order.includes(event)).slice(0, 2), order)
})

/** Checks a kind that no other test creates, as the configuration outlives the operator. */
function checked(kind: typeof ServiceAccount | typeof ResourceQuota, url: string, webhooks: object): typeof app {
  const all = { url, host: '127.0.0.1', ...webhooks }
  const made = operator({ name: kind.plural, crds: 'install', leaderElection: true, webhooks: all })
  made.admission(kind as typeof ServiceAccount, { validate: () => [] }, {
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'default' } },
  })
  return made
}

const dryRun = (kind: typeof ServiceAccount | typeof ResourceQuota): Promise<unknown> =>
  client.create(kind as typeof ServiceAccount, at(`dry-${crypto.randomUUID()}`), { dryRun: true })

test('a folder with a new CA replaces a pair without a failed call', { skip }, async () => {
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
    await running(checked(ServiceAccount, `https://127.0.0.1:${port}`, { port, certs: folder }), async () => {
      await write()
      let isServed = false
      void served.opened.then(() => (isServed = true))
      for (let after = 0; after < 100; after += isServed ? 1 : 0) await dryRun(ServiceAccount)
    }, { log: { ...silentLog, info } })
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('a replica of a release with another Secret is called before it leads', { skip }, async () => {
  const [port, own, other] = [await freePort(), await freePort(), await freePort()]
  let [back, calls] = [own, 0]
  const sockets = new Set<Socket>()
  const forward = createServer((socket) => {
    if (back === other) calls++
    const next = connect(back, '127.0.0.1')
    socket.pipe(next).pipe(socket)
    for (const each of [socket, next]) sockets.add(each.on('error', () => {}))
  }).listen(port, '127.0.0.1')
  const release = (own: number, secret: string): typeof app =>
    checked(ResourceQuota, `https://127.0.0.1:${port}`, { port: own, certs: { secret } })
  const stopping = new AbortController()
  const ready = new Latch()
  try {
    await running(release(own, 'first'), async () => {
      await dryRun(ResourceQuota)
      const ended = release(other, 'second').start(stopping.signal, {
        ...{ cluster: envtest.config, log: silentLog },
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
