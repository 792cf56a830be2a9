/**
 * Informers against a real kube-apiserver over a breaking network. `OBJECTS=1000 CHANGES=20000` makes it longer and
 * prints figures. Their clock runs twenty times as fast, so that 150 s of silence are 7.5 s.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Clock, systemClock } from '../../lib/async/clock.ts'
import { Cache } from '../../lib/cache/cache.ts'
import type { Informer } from '../../lib/cache/informer.ts'
import type { Delta } from '../../lib/cache/store.ts'
import { Api } from '../../lib/client/api.ts'
import { formatKey, keyOf, type KubeObject } from '../../lib/core/objects.ts'
import { type AnyResource, CRD, metadataOf } from '../../lib/core/resource.ts'
import type { Transport } from '../../lib/core/transport.ts'
import { ConfigMap } from '../../lib/kinds/mod.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { httpTransport } from '../../lib/runtime/net/transport.ts'
import { startEnvtest } from '../../lib/testing/envtest/envtest.ts'
import { type BreakingProxy, breakingProxy } from './breaking_proxy.ts'
import { Random, versionsOf } from './random_server.ts'
import { definitionOf } from '../tools/definitions.ts'

const skip = process.env['KUBEBUILDER_ASSETS'] ? false : 'KUBEBUILDER_ASSETS is not set: no real control plane to start'
const CHANGES = Number(process.env['CHANGES'] ?? 1000)
const OBJECTS = Number(process.env['OBJECTS'] ?? 100)
const SPEED = 20
/**
 * The min number of breaks. No new break is possible before a half-open connection is found, so changes go on until
 * then.
 */
const BREAKS = Math.ceil(CHANGES / 200)
const isLong = process.env['CHANGES'] !== undefined

const CONFIG_MAP: AnyResource = ConfigMap
const FOO: AnyResource = { group: 'histories.dev', version: 'v1', kind: 'Foo', plural: 'foos', scope: 'Namespaced' }
const FOO_CRD = definitionOf({ group: 'histories.dev', scope: 'Namespaced' })

const fastClock: Clock = {
  now: () => systemClock.now(),
  monotonic: () => systemClock.monotonic() * SPEED,
  after: (ms, fn) => systemClock.after(ms / SPEED, fn),
}

/** An API server, a cache that uses it through the proxy, and an Api without the proxy. */
interface World {
  readonly direct: Api
  readonly proxy: BreakingProxy
  readonly cache: Cache
  /** The requests of the cache: `stream configmaps`, `list configmaps`, `watch configmaps`. */
  readonly requested: string[]
  /** The failures that the informers logged. */
  readonly failures: string[]
  restartApiServer(): Promise<void>
}

async function inWorld(run: (world: World) => Promise<void>): Promise<void> {
  // Compaction runs every second, so versions older than two seconds may be gone.
  const envtest = await startEnvtest({ extraArgs: { apiServer: ['--etcd-compaction-interval=1s'] } })
  const { hostname, port } = new URL(envtest.config.server)
  const proxy = await breakingProxy({ host: hostname, port: Number(port) })
  const direct = httpTransport(envtest.config, { clock: systemClock, log: silentLog })
  const through = httpTransport({ ...envtest.config, server: `https://127.0.0.1:${proxy.port}`, gzip: false }, {
    clock: fastClock,
    log: silentLog,
  })
  const requested: string[] = []
  const counted: Transport = (request) => {
    const { pathname, searchParams } = new URL(request.path, 'http://localhost')
    const verb = searchParams.has('sendInitialEvents') ? 'stream' : searchParams.has('watch') ? 'watch' : 'list'
    requested.push(`${verb} ${pathname.split('/').at(-1)}`)
    return through(request)
  }
  const failures: string[] = []
  const onLine = (message: string): void => void failures.push(message)
  const cache = new Cache({
    api: new Api({ transport: counted }),
    clock: fastClock,
    log: { ...silentLog, debug: onLine, warn: onLine },
    freeze: true,
  })
  const controller = new AbortController()
  const running = cache.start(controller.signal)
  try {
    await run({
      direct: new Api({ transport: direct }),
      proxy,
      cache,
      requested,
      failures,
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

/** Resolves when the condition is true; it is checked at every change. */
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
  'a cache behind a network that resets, stalls and half-opens connections ends equal to the server, with few requests',
  { skip, timeout: 600_000 },
  async () => {
    await inWorld(async ({ direct, proxy, cache, requested }) => {
      const random = new Random(7)
      // A separate generator, so that the breaks do not depend on the speed of the writers.
      const fate = new Random(8)
      const target = { resource: CONFIG_MAP, namespace: 'default' }
      const [informer] = cache.declare(CONFIG_MAP, { namespaces: ['default'] })
      const [metadata] = cache.declare(metadataOf(CONFIG_MAP), { namespaces: ['default'] })
      const received = new Map<string, number>()
      const problems: string[] = []
      informer!.addHandler((delta: Delta) => {
        const { uid, resourceVersion } = delta.object.metadata
        const newest = received.get(uid) ?? 0
        if (delta.kind === 'updated' && Number(resourceVersion) <= newest) {
          problems.push(`${formatKey(keyOf(delta.object))} went back`)
        }
        received.set(uid, Math.max(newest, Number(resourceVersion)))
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
          // The next break ends a stall.
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
      // The last connections are half-open, and must be found.
      proxy.freeze()
      const { items } = await direct.list(target)
      await until(informer!, 'the cache equals the server', () => same(informer!.store.values(), items))
      await until(metadata!, 'the cache of metadata equals the server', () => same(metadata!.store.values(), items))
      assert.deepEqual(problems, [])
      assert.ok([...metadata!.store.values()].every((object) => object.kind === 'ConfigMap' && !('data' in object)))
      // A list and a read must return the same.
      const partial = await direct.list({ ...target, resource: metadataOf(CONFIG_MAP) })
      assert.ok(
        same(partial.items, items) &&
          partial.items.every((object) => object.kind === 'ConfigMap' && !('data' in object)),
      )
      const { name } = items[0]!.metadata
      assert.deepEqual(
        Object.keys(await direct.get({ ...target, resource: metadataOf(CONFIG_MAP), name })).sort(),
        ['apiVersion', 'kind', 'kubeloop.partial', 'metadata'],
      )
      // Each break costs each of the two informers a watch, which the next break may cut before its answer.
      assert.ok(requested.length > 4, `${breaks} breaks caused no more than ${requested.length} requests`)
      const bound = 20 + 6 * breaks
      assert.ok(requested.length <= bound, `too many requests: ${requested.length} requests for ${breaks} breaks`)
      if (isLong) {
        console.log(
          `${changes} changes of ${OBJECTS} objects in ${
            seconds.toFixed(1)
          } s, ${breaks} breaks, ${requested.length} requests: ${JSON.stringify(countsOf(requested))}`,
        )
      }
    })
  },
)

test(
  'the informers go on after a definition is deleted and created again, after an expired version, and with ten controllers',
  { skip, timeout: 200_000 },
  async () => {
    await inWorld(async ({ direct, proxy, cache, requested, failures, restartApiServer }) => {
      const foos = { resource: FOO, namespace: 'default' }
      const maps = { resource: CONFIG_MAP, namespace: 'default' }
      const [definitions] = cache.declare(CRD)
      const isServed = (): boolean => {
        const conditions = (definitions!.store.get('foos.histories.dev') as {
          status?: { conditions?: { type: string; status: string }[] }
        } | undefined)?.status?.conditions
        return conditions?.some(({ type, status }) => type === 'Established' && status === 'True') ?? false
      }
      const received: string[] = []
      for (let i = 0; i < 10; i++) {
        for (const informer of cache.declare({ ...CONFIG_MAP })) {
          informer.addHandler(({ kind, object }) => object.metadata.name === 'seen' && received.push(kind))
        }
      }
      const [configMaps] = cache.informersOf(CONFIG_MAP)!
      await cache.synced(new AbortController().signal)
      assert.deepEqual(countsOf(requested), { 'stream customresourcedefinitions': 1, 'stream configmaps': 1 })
      await direct.create(maps, { metadata: { name: 'seen' } }, {})
      await until(
        configMaps!,
        'ten handlers hear of one object',
        () => configMaps!.store.get('default/seen') !== undefined,
      )
      assert.deepEqual(received, Array(10).fill('added'))

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

      // New connections are refused while objects change and are compacted, and the server's cache is restarted.
      proxy.refuses = true
      proxy.reset()
      await direct.create(maps, { metadata: { name: 'late' } }, {})
      const compactedAt = performance.now() + 2500
      for (let i = 0; performance.now() < compactedAt; i++) {
        await direct.patch({ ...maps, name: 'seen' }, 'merge', { data: { i: String(i) } }, {})
      }
      await restartApiServer()
      requested.splice(0)
      failures.splice(0)
      proxy.refuses = false
      const { items } = await direct.list({ resource: CONFIG_MAP })
      await until(configMaps!, 'the cache equals the server after a 410', () => same(configMaps!.store.values(), items))
      assert.ok(
        failures.some((line) => /configmaps.*too old resource version/.test(line)),
        `no 410 was logged: ${failures.join('\n')}`,
      )
      assert.ok(
        (countsOf(requested)['stream configmaps'] ?? 0) + (countsOf(requested)['list configmaps'] ?? 0) >= 1,
        'it was to be requested for the whole again',
      )
      assert.ok(requested.length < 60, `too many requests: ${requested.length} requests`)
    })
  },
)

function countsOf(requested: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const each of requested) counts[each] = (counts[each] ?? 0) + 1
  return counts
}
