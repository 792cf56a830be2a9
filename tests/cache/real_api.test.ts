/**
 * Informers against a real kube-apiserver, over a network that breaks. `OBJECTS=1000 CHANGES=20000` makes more of it, and prints figures.
 * Their time runs twenty times as fast, so that 150 s of silence are 7.5.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Clock, systemClock } from '../../lib/async/clock.ts'
import { Cache } from '../../lib/cache/cache.ts'
import type { Informer } from '../../lib/cache/informer.ts'
import type { Delta } from '../../lib/cache/store.ts'
import { Api } from '../../lib/client/api.ts'
import { formatKey, keyOf, type KubeObject } from '../../lib/core/objects.ts'
import { type AnyResource, metadataOf } from '../../lib/core/resource.ts'
import type { Transport } from '../../lib/core/transport.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { httpTransport } from '../../lib/runtime/net/transport.ts'
import { startEnvtest } from '../../lib/testing/envtest.ts'
import { type BreakingProxy, breakingProxy } from './breaking_proxy.ts'
import { Random, versionsOf } from './random_server.ts'

const skip = process.env['KUBEBUILDER_ASSETS'] ? false : 'KUBEBUILDER_ASSETS is not set: no real control plane to start'
const CHANGES = Number(process.env['CHANGES'] ?? 1000)
const OBJECTS = Number(process.env['OBJECTS'] ?? 100)
const SPEED = 20
/** Nothing can be broken while a half-open connection has not been found: the changes go on until so much was. */
const BREAKS = Math.ceil(CHANGES / 200)
const isLong = process.env['CHANGES'] !== undefined

const CONFIG_MAP: AnyResource = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  scope: 'Namespaced',
}
const FOO: AnyResource = { group: 'histories.dev', version: 'v1', kind: 'Foo', plural: 'foos', scope: 'Namespaced' }
const CRD: AnyResource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  scope: 'Cluster',
}
const FOO_CRD = {
  metadata: { name: 'foos.histories.dev' },
  spec: {
    group: 'histories.dev',
    scope: 'Namespaced',
    names: { kind: 'Foo', listKind: 'FooList', plural: 'foos', singular: 'foo' },
    versions: [{
      name: 'v1',
      served: true,
      storage: true,
      schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
    }],
  },
}

const fastClock: Clock = {
  now: () => systemClock.now(),
  monotonic: () => systemClock.monotonic() * SPEED,
  after: (ms, fn) => systemClock.after(ms / SPEED, fn),
}

/** An API server behind a proxy; a cache that sees it through that, and an Api that does not. */
interface World {
  readonly direct: Api
  readonly proxy: BreakingProxy
  readonly cache: Cache
  /** What the cache asked for: `stream configmaps`, `list configmaps`, `watch configmaps`. */
  readonly asked: string[]
  /** What the informers said of their failures. */
  readonly told: string[]
  restartApiServer(): Promise<void>
}

async function inWorld(run: (world: World) => Promise<void>): Promise<void> {
  // Compaction every second: what is older than two may be gone.
  const envtest = await startEnvtest({ extraArgs: { apiServer: ['--etcd-compaction-interval=1s'] } })
  const { hostname, port } = new URL(envtest.config.server)
  const proxy = await breakingProxy({ host: hostname, port: Number(port) })
  const direct = httpTransport(envtest.config, { clock: systemClock, log: silentLog })
  const through = httpTransport({ ...envtest.config, server: `https://127.0.0.1:${proxy.port}`, gzip: false }, {
    clock: fastClock,
    log: silentLog,
  })
  const asked: string[] = []
  const counted: Transport = (request) => {
    const { pathname, searchParams } = new URL(request.path, 'http://localhost')
    const verb = searchParams.has('sendInitialEvents') ? 'stream' : searchParams.has('watch') ? 'watch' : 'list'
    asked.push(`${verb} ${pathname.split('/').at(-1)}`)
    return through(request)
  }
  const told: string[] = []
  const tell = (message: string): void => void told.push(message)
  const cache = new Cache({
    api: new Api({ transport: counted }),
    clock: fastClock,
    log: { ...silentLog, debug: tell, warn: tell },
    freeze: true,
  })
  const controller = new AbortController()
  const running = cache.start(controller.signal)
  try {
    await run({
      direct: new Api({ transport: direct }),
      proxy,
      cache,
      asked,
      told,
      restartApiServer: () => envtest.restartApiServer(),
    })
  } finally {
    controller.abort()
    await running
    through.close()
    direct.close()
    await proxy.close()
    await envtest.stop()
  }
}

/** Settles when the store says so; looks at every change. */
function until(informer: Informer, what: string, holds: () => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (settle: () => void): void => {
      cancel()
      queueMicrotask(() => registration.remove())
      settle()
    }
    const cancel = systemClock.after(
      60_000,
      () => done(() => reject(new Error(`within a minute, ${what} did not happen: ${String(informer.failure)}`))),
    )
    const look = (): void => void (informer.isSynced && holds() && done(resolve))
    const registration = informer.addHandler(look)
    informer.synced(new AbortController().signal).then(look, reject)
  })
}

function same(a: Iterable<KubeObject>, b: Iterable<KubeObject>): boolean {
  return JSON.stringify(versionsOf(a)) === JSON.stringify(versionsOf(b))
}

test(
  'a cache behind a network that resets, stalls and half-opens connections ends with what the server has, and asks for little',
  { skip, timeout: 600_000 },
  async () => {
    await inWorld(async ({ direct, proxy, cache, asked }) => {
      const random = new Random(7)
      // Of its own, so that what is broken does not hang on which writer was quicker.
      const fate = new Random(8)
      const target = { resource: CONFIG_MAP, namespace: 'default' }
      const [informer] = cache.declare(CONFIG_MAP, { namespaces: ['default'] })
      const [metadata] = cache.declare(metadataOf(CONFIG_MAP), { namespaces: ['default'] })
      const heard = new Map<string, number>()
      const problems: string[] = []
      informer!.addHandler((delta: Delta) => {
        const { uid, resourceVersion } = delta.object.metadata
        const newest = heard.get(uid) ?? 0
        if (delta.kind === 'updated' && Number(resourceVersion) <= newest) {
          problems.push(`${formatKey(keyOf(delta.object))} went back`)
        }
        heard.set(uid, Math.max(newest, Number(resourceVersion)))
      })
      await cache.synced(new AbortController().signal)

      const names = Array.from({ length: OBJECTS }, (_, i) => `map-${i}`)
      const exists = new Set<string>()
      let changes = 0
      const writer = async (mine: readonly string[]): Promise<void> => {
        while (changes < CHANGES || breaks < BREAKS) {
          const name = random.pick(mine)
          const place = { ...target, name }
          changes++
          // A stall ends with what is broken next.
          if (changes % 50 === 0) breakSomething()
          if (!exists.has(name)) {
            await direct.create(target, { metadata: { name }, data: { changed: String(changes) } }, {})
            exists.add(name)
          } else if (random.chance(0.1)) {
            await direct.delete(place, {})
            exists.delete(name)
          } else await direct.patch(place, 'merge', { data: { changed: String(changes) } }, {})
        }
      }
      let breaks = 0
      let resume = (): void => {}
      const breakSomething = (): void => {
        resume()
        if (proxy.open === 0) return
        breaks++
        const how = fate.next()
        if (how < 0.6) proxy.reset()
        else if (how < 0.92) resume = proxy.stall()
        else proxy.freeze()
      }
      const began = performance.now()
      const workers = 8
      await Promise.all(Array.from({ length: workers }, (_, at) => writer(names.filter((_, i) => i % workers === at))))
      resume()
      const seconds = (performance.now() - began) / 1000
      // The last connections are half-open: they are to be found.
      proxy.freeze()
      const { items } = await direct.list(target)
      await until(informer!, 'the cache equals the server', () => same(informer!.store.values(), items))
      await until(metadata!, 'the cache of metadata equals the server', () => same(metadata!.store.values(), items))
      assert.deepEqual(problems, [])
      assert.ok([...metadata!.store.values()].every((object) => object.kind === 'ConfigMap' && !('data' in object)))
      // The same by a list and by a read.
      const partial = await direct.list({ ...target, resource: metadataOf(CONFIG_MAP) })
      assert.ok(
        same(partial.items, items) &&
          partial.items.every((object) => object.kind === 'ConfigMap' && !('data' in object)),
      )
      const { name } = items[0]!.metadata
      assert.deepEqual(Object.keys(await direct.get({ ...target, resource: metadataOf(CONFIG_MAP), name })).sort(), [
        'apiVersion',
        'kind',
        'metadata',
      ])
      // Two informers, and each break costs each of them a watch, which the next break may cut before it is answered.
      assert.ok(asked.length > 4, `${breaks} breaks caused no more than ${asked.length} requests`)
      const bound = 20 + 6 * breaks
      assert.ok(asked.length <= bound, `a storm: ${asked.length} requests for ${breaks} breaks`)
      if (isLong) {
        console.log(
          `${changes} changes of ${OBJECTS} objects in ${
            seconds.toFixed(1)
          } s, ${breaks} breaks, ${asked.length} requests: ${JSON.stringify(countsOf(asked))}`,
        )
      }
    })
  },
)

test(
  'a definition that is deleted and made again, a version that the server has forgotten, ten controllers: the informers go on',
  { skip, timeout: 200_000 },
  async () => {
    await inWorld(async ({ direct, proxy, cache, asked, told, restartApiServer }) => {
      const foos = { resource: FOO, namespace: 'default' }
      const maps = { resource: CONFIG_MAP, namespace: 'default' }
      const [definitions] = cache.declare(CRD)
      const isServed = (): boolean => {
        const conditions = (definitions!.store.get('foos.histories.dev') as {
          status?: { conditions?: { type: string; status: string }[] }
        } | undefined)?.status?.conditions
        return conditions?.some(({ type, status }) => type === 'Established' && status === 'True') ?? false
      }
      const heard: string[] = []
      for (let i = 0; i < 10; i++) {
        for (const informer of cache.declare({ ...CONFIG_MAP })) {
          informer.addHandler(({ kind, object }) => object.metadata.name === 'seen' && heard.push(kind))
        }
      }
      const [configMaps] = cache.informersOf(CONFIG_MAP)!
      await cache.synced(new AbortController().signal)
      assert.deepEqual(countsOf(asked), { 'stream customresourcedefinitions': 1, 'stream configmaps': 1 })
      await direct.create(maps, { metadata: { name: 'seen' } }, {})
      await until(
        configMaps!,
        'ten handlers hear of one object',
        () => configMaps!.store.get('default/seen') !== undefined,
      )
      assert.deepEqual(heard, Array(10).fill('added'))

      await direct.create({ resource: CRD }, FOO_CRD, {})
      await until(definitions!, 'the kind is served', isServed)
      const [informer] = cache.declare(FOO)
      const uids = new Set<string>()
      const lost: string[] = []
      informer!.addHandler(({ kind, object }) =>
        void (kind === 'deleted' ? lost.push(object.metadata.uid) : uids.add(object.metadata.uid))
      )
      await informer!.synced(new AbortController().signal)
      for (const round of [1, 2]) {
        for (const name of ['a', 'b']) {
          await direct.create(foos, { metadata: { name }, round }, {})
        }
        await until(
          informer!,
          `the objects of round ${round} are there`,
          () =>
            [...informer!.store.values()].filter((each) => (each as { round?: number }).round === round).length === 2,
        )
        if (round === 2) {
          break
        }
        await direct.delete({ resource: CRD, name: 'foos.histories.dev' }, {})
        await until(
          definitions!,
          'the definition is gone',
          () => definitions!.store.get('foos.histories.dev') === undefined,
        )
        await direct.create({ resource: CRD }, FOO_CRD, {})
        await until(definitions!, 'the kind is served again', isServed)
      }
      assert.deepEqual([uids.size, lost.length, informer!.store.size], [4, 2, 2])

      // Held off while the objects change and are compacted, and the server's own cache is gone.
      proxy.refuses = true
      proxy.reset()
      await direct.create(maps, { metadata: { name: 'late' } }, {})
      const compactedAt = performance.now() + 2500
      for (let i = 0; performance.now() < compactedAt; i++) {
        await direct.patch({ ...maps, name: 'seen' }, 'merge', { data: { i: String(i) } }, {})
      }
      await restartApiServer()
      asked.splice(0)
      told.splice(0)
      proxy.refuses = false
      const { items } = await direct.list({ resource: CONFIG_MAP })
      await until(configMaps!, 'the cache equals the server after a 410', () => same(configMaps!.store.values(), items))
      assert.ok(
        told.some((line) => /configmaps.*too old resource version/.test(line)),
        `no 410 was told of: ${told.join('\n')}`,
      )
      assert.ok(
        (countsOf(asked)['stream configmaps'] ?? 0) + (countsOf(asked)['list configmaps'] ?? 0) >= 1,
        'it was to be asked for the whole again',
      )
      assert.ok(asked.length < 60, `a storm: ${asked.length} requests`)
    })
  },
)

function countsOf(asked: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const each of asked) counts[each] = (counts[each] ?? 0) + 1
  return counts
}
