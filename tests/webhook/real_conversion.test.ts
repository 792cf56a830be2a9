/** A real kube-apiserver converts by our webhook: an update from one version to two, in its order, while a cache runs. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Cache } from '../../lib/cache/cache.ts'
import type { Informer } from '../../lib/cache/informer.ts'
import { Latch } from '../../lib/async/latch.ts'
import { type Clock, systemClock, turnBudgetOf } from '../../lib/async/clock.ts'
import { Api } from '../../lib/client/api.ts'
import type { KubeObject } from '../../lib/core/objects.ts'
import { CRD, type CustomResourceConversion, type DefinedResource } from '../../lib/core/resource.ts'
import type { Transport } from '../../lib/core/transport.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { createCrds, installCrds } from '../../lib/crds/install.ts'
import { createAuthority } from '../../lib/runtime/net/certificates.ts'
import { type HttpsServer, serveHttps } from '../../lib/runtime/net/https_server.ts'
import { httpTransport } from '../../lib/runtime/net/transport.ts'
import { startEnvtest } from '../../lib/testing/envtest/envtest.ts'
import { conversionHandler, CONVERT_PATH } from '../../lib/webhook/conversion/conversion.ts'
import { fromAlpha, fromBeta, Site, SiteV1alpha1 } from './sites.ts'
import { noPlane } from '../tools/real_plane.ts'

/** Back-offs are short, so that the cache returns soon after the webhook. */
const fastClock: Clock = { ...systemClock, after: (ms, fn) => systemClock.after(ms / 20, fn) }
const never = new AbortController().signal

interface Webhook {
  readonly conversion: CustomResourceConversion
  /** How many objects each review had. */
  readonly sizes: number[]
  readonly thrown: string[]
  listen(): Promise<void>
  close(): Promise<void>
}

async function webhookOf(): Promise<Webhook> {
  const authority = await createAuthority()
  const { cert, key } = await authority.issue({ commonName: 'hook', ipAddresses: ['127.0.0.1'], usage: 'server' })
  const sizes: number[] = []
  const thrown: string[] = []
  const handler = conversionHandler({
    conversions: [fromAlpha, fromBeta],
    budget: turnBudgetOf(systemClock),
    onThrow: (error, what) => thrown.push(`${what} (${String(error)})`),
  })
  let server: HttpsServer | undefined
  let port = 0
  const listen = async (): Promise<void> => {
    server = await serveHttps({
      host: '127.0.0.1',
      port,
      cert,
      key,
      maxBodyBytes: 2 ** 23,
      onError: (error) => thrown.push(String(error)),
      refuseBody: () => assert.fail('a review is too large'),
      handle: async ({ body, signal, path }) => {
        assert.equal(path.split('?')[0], CONVERT_PATH)
        sizes.push((JSON.parse(new TextDecoder().decode(body)) as { request: { objects: [] } }).request.objects.length)
        const { status, body: text } = await handler({ contentType: 'application/json', body, signal })
        const bytes = new TextEncoder().encode(text)
        return {
          status,
          headers: { 'content-type': 'application/json' },
          body: {
            cancel() {},
            async *[Symbol.asyncIterator]() {
              yield bytes
            },
          },
        }
      },
    })
    port = server.port
  }
  await listen()
  const clientConfig = { url: `https://127.0.0.1:${port}${CONVERT_PATH}`, caBundle: btoa(authority.ca) }
  return {
    conversion: { strategy: 'Webhook', webhook: { conversionReviewVersions: ['v1'], clientConfig } },
    sizes,
    thrown,
    listen,
    close: async () => await server?.close(),
  }
}

const at = (resource: DefinedResource, name: string, subresource?: 'status') => ({
  resource,
  namespace: 'default',
  name,
  ...(subresource && { subresource }),
})
const specOf = (object: unknown): unknown => (object as { spec?: unknown }).spec

/** Resolves when the condition is true; it is checked at every change of the informer. */
function until(informer: Informer, holds: (objects: readonly KubeObject[]) => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = systemClock.after(30_000, () => reject(new Error(`not within 30 s: ${String(informer.failure)}`)))
    const check = (): void => {
      if (!informer.isSynced || !holds([...informer.store.values()])) return
      cancel()
      queueMicrotask(() => registration.remove())
      resolve()
    }
    const registration = informer.addHandler(check)
    informer.synced(never).then(check, reject)
  })
}

test('real: from one version to two with a conversion', { skip: noPlane, timeout: 120_000 }, async () => {
  const hook = await webhookOf()
  const envtest = await startEnvtest()
  const folder = mkdtempSync(join(tmpdir(), 'conversion-'))
  const transport = httpTransport(envtest.tokenConfig)
  const stop = new AbortController()
  const running: Promise<void>[] = []
  try {
    const api = new Api({ transport })
    const before = { api, clock: systemClock, log: silentLog, fieldManager: 'test' }
    const after = { ...before, conversions: [fromAlpha], conversion: hook.conversion }
    const crd = async () =>
      (await api.get({ resource: CRD, name: 'sites.web.example.dev' })) as unknown as {
        status: { storedVersions: string[] }
        spec: { versions: { name: string; storage: boolean }[] }
      }
    const create = (resource: DefinedResource, name: string, spec: object) =>
      api.create(at(resource, name), { metadata: { namespace: 'default', name }, spec }, {})
    const kubeconfig = join(folder, 'config')
    writeFileSync(kubeconfig, envtest.kubeconfig())
    const kubectl = (...args: string[]): Promise<string> =>
      new Promise((resolve) => {
        execFile(envtest.kubectl, ['--kubeconfig', kubeconfig, ...args], (_, out, err) => resolve(`${err}${out}`))
      })

    // The old replica.
    await installCrds([SiteV1alpha1], before, never)
    await create(SiteV1alpha1, 'a', { hostname: 'a.dev', tls: true })
    await create(SiteV1alpha1, 'b', { hostname: 'b.dev' })
    await api.patch(at(SiteV1alpha1, 'a', 'status'), 'merge', { status: { ready: true } }, {})

    // A new replica beside it.
    await createCrds([Site], after, never)
    assert.deepEqual(specOf(await api.get(at(Site, 'a'))), {
      hosts: ['a.dev'],
      tls: { mode: 'on', secretName: 'a-tls' },
    })
    const readOnly = /spec: Forbidden: v1 is read-only until the operator's leader has installed it$/
    await assert.rejects(create(Site, 'c', { hosts: ['c.dev', 'd.dev'] }), readOnly)
    for (const patch of [{ spec: { hosts: ['x', 'y'] } }, { metadata: { labels: { x: 'y' } } }]) {
      await assert.rejects(api.patch(at(Site, 'a'), 'merge', patch, {}), readOnly)
    }
    await assert.rejects(api.patch(at(Site, 'a', 'status'), 'merge', { status: { ready: false } }, {}), readOnly)
    await api.patch(at(SiteV1alpha1, 'b'), 'merge', { spec: { tls: true } }, {})
    assert.deepEqual((await crd()).status.storedVersions, ['v1alpha1'])

    const requested: string[] = []
    const recorded: Transport = (request) => {
      requested.push(request.path)
      return transport(request)
    }
    const cacheOf = (onLine = (_: string): void => {}): [Cache, Informer] => {
      const log = { ...silentLog, debug: onLine, warn: onLine }
      const cache = new Cache({ api: new Api({ transport: recorded }), clock: fastClock, log, freeze: true })
      const [informer] = cache.declare(Site, {})
      running.push(cache.start(stop.signal))
      return [cache, informer!]
    }
    const [cache, informer] = cacheOf()
    await cache.synced(never)
    const names = () => [...informer.store.values()].map(({ metadata }) => metadata.name).toSorted()
    assert.deepEqual(names(), ['a', 'b'])

    // The new leader, while the cache runs.
    await installCrds([Site], after, never)
    assert.deepEqual((await crd()).spec.versions.map(({ name, storage }) => [name, storage]), [
      ['v1', true],
      ['v1alpha1', false],
    ])
    await create(Site, 'c', { hosts: ['c.dev', 'd.dev'] })
    await until(informer, (objects) => objects.some(({ metadata }) => metadata.name === 'c'))
    assert.deepEqual((await crd()).status.storedVersions, ['v1alpha1', 'v1'])
    assert.deepEqual(specOf(await api.get(at(SiteV1alpha1, 'c'))), { hostname: 'c.dev', tls: false })
    assert.deepEqual(specOf(await api.get(at(SiteV1alpha1, 'a'))), { hostname: 'a.dev', tls: true })
    assert.deepEqual((await api.get(at(Site, 'a')) as { status?: unknown }).status, { ready: true })
    // What a conversion leaves out has its default, which the server itself fills in only before a conversion.
    await create(SiteV1alpha1, 'e', { hostname: 'e.dev' })
    assert.deepEqual(specOf(await api.get(at(Site, 'e'))), { hosts: ['e.dev'], tls: { mode: 'off' } })
    const shown = await kubectl('get', 'sites.v1alpha1.web.example.dev', 'c', '-o', 'jsonpath={.apiVersion} {.spec}')
    assert.equal(shown, 'web.example.dev/v1alpha1 {"hostname":"c.dev","tls":false}')

    // One manager that applies in both versions: the server converts what is left without its fields.
    const old = [SiteV1alpha1, { hostname: 'x' }] as const
    const last = [SiteV1alpha1, { hostname: 'z' }] as const
    for (const [resource, spec] of [old, [Site, { hosts: ['y'] }] as const, last]) {
      const type = { apiVersion: `${resource.group}/${resource.version}`, kind: resource.kind }
      const object = { ...type, metadata: { namespace: 'default', name: 'applied' }, spec }
      await api.patch(at(resource, 'applied'), 'apply', object, { fieldManager: 'both', force: true })
    }
    assert.deepEqual(specOf(await api.get(at(Site, 'applied'))), { hosts: ['z'], tls: { mode: 'off' } })
    await api.delete(at(Site, 'applied'), {})

    // The error that a client sees.
    await assert.rejects(create(SiteV1alpha1, 'bad', { hostname: 'x', fail: 'no such zone' }), {
      message: 'Cannot create Site "default/bad": conversion webhook for web.example.dev/v1alpha1, Kind=Site failed: ' +
        'Cannot convert Site "default/bad" from web.example.dev/v1alpha1 to web.example.dev/v1: up() of v1alpha1 failed: no such zone',
    })
    assert.deepEqual(hook.thrown.length, 1)

    // While the conversion is down, and after it has returned.
    await until(informer, (objects) => objects.length === 4)
    await hook.close()
    await assert.rejects(
      create(SiteV1alpha1, 'f', { hostname: 'f.dev' }),
      /conversion webhook for .* (refused|broken pipe|EOF)/,
    )
    await envtest.killApiServer()
    await envtest.restartApiServer()
    const refused = new Latch()
    const [, cold] = cacheOf((line) => void (line.includes('conversion webhook') && refused.open()))
    await create(Site, 'g', { hosts: ['g.dev'] })
    await refused.opened
    assert.deepEqual([cold.isSynced, names()], [false, ['a', 'b', 'c', 'e']])
    await hook.listen()
    const all = ['a', 'b', 'c', 'e', 'g']
    for (const each of [cold, informer]) {
      await until(each, (objects) => objects.length === all.length)
      assert.deepEqual([...each.store.values()].map(({ metadata }) => metadata.name).toSorted(), all)
    }
    assert.deepEqual(requested.filter((path) => /[?&]resourceVersion=0(&|$)/.test(path)), [])
    assert.equal(Math.max(...hook.sizes), 1, 'this server sends each object in a review of its own')
  } finally {
    stop.abort()
    await Promise.all(running)
    transport.close()
    await envtest.stop()
    await hook.close()
    rmSync(folder, { recursive: true, force: true })
  }
})
