/** Tests the API of `kubeloop dev` with several clusters: one port, one kubeconfig, one state file. */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Client, Cluster, defineResource, loadConfig } from 'kubeloop'
import { ConfigMap, Deployment, Namespace, Node, Pod, Secret } from 'kubeloop/kinds'
import * as z from 'zod'
import { type Clock, systemClock } from '../../lib/async/clock.ts'
import { type EmbeddedApi, type EmbeddedApiOptions, startEmbeddedApi } from '../../lib/cli/dev/embedded_api.ts'
import type { DevEvent } from '../../lib/cli/api/events.ts'
import { SessionHost } from '../../lib/cli/dev/session_host.ts'
import { httpTransport } from '../../lib/runtime/net/transport.ts'
import { crdOf } from '../../lib/schema/crds.ts'
import { CRD } from '../../lib/core/resource.ts'
import { withFolder } from '../tools/folder.ts'

const ref = (name: string) => ({ namespace: 'default', name })
const Thing = defineResource({ group: 'test.dev', version: 'v1', kind: 'Thing', spec: z.object({}) })

/** A clock that is ten times as fast, so that pods are ready after a moment. */
const beganMs = systemClock.now()
const fastClock: Clock = {
  now: () => beganMs + (systemClock.now() - beganMs) * 10,
  monotonic: () => systemClock.monotonic() * 10,
  after: (ms, fire) => systemClock.after(ms / 10, fire),
}

interface Running {
  readonly api: EmbeddedApi
  readonly reported: DevEvent[]
  readonly folder: string
  /** Returns a client of a context in the folder's kubeconfig, over the socket. */
  clientOf(context?: string): Promise<Client>
  contexts(): string[]
}

function inFolder(use: (run: (options?: Partial<EmbeddedApiOptions>) => Promise<Running>) => Promise<void>) {
  return withFolder(async (folder) => {
    const open: { close(): unknown }[] = []
    const closeAll = async (): Promise<void> => {
      for (const each of open.splice(0).reverse()) await each.close()
    }
    const run = async (options: Partial<EmbeddedApiOptions> = {}): Promise<Running> => {
      await closeAll()
      const reported: DevEvent[] = []
      const hooks = { changed: () => undefined, prepare: () => Promise.resolve({}), onStart() {} }
      const api = await startEmbeddedApi({
        ...{ folder, port: undefined, fresh: false, workloads: false, clock: systemClock },
        sessions: new SessionHost({ clock: systemClock, ...hooks }),
        report: (event) => void reported.push(event),
        ...options,
      })
      open.push(api)
      const kubeconfig = join(folder, 'kubeconfig')
      return {
        ...{ api, reported, folder },
        async clientOf(context) {
          const cluster = new Cluster({ name: 'test', config: (await loadConfig({ kubeconfig, context })).cluster })
          open.push(cluster)
          return cluster.client
        },
        contexts: () =>
          (JSON.parse(readFileSync(kubeconfig, 'utf8')) as { contexts: { name: string }[] }).contexts
            .map(({ name }) => name),
      }
    }
    await use(run).finally(closeAll)
  })
}

test('each cluster has its own API on one port, and a context; all are restored after a restart', () => {
  return inFolder(async (run) => {
    const first = await run()
    assert.deepEqual(first.contexts(), ['kubeloop'])
    assert.equal(first.api.transportOf('west'), undefined)
    const kubeconfig = join(first.folder, 'kubeconfig')
    rmSync(kubeconfig)
    mkdirSync(kubeconfig)
    await assert.rejects(first.api.setClusters([]), /kubeconfig/)
    rmdirSync(kubeconfig)
    await first.api.setClusters(['west', 'east'])
    assert.deepEqual(first.contexts(), ['kubeloop', 'west', 'east'])
    assert.deepEqual(first.reported.map((event) => ('name' in event ? `${event.kind} ${event.name}` : event.kind)), [
      'serving',
      'cluster west',
      'cluster east',
    ])
    const url = `https://${first.api.authority}`
    assert.deepEqual(first.reported.at(-1), {
      kind: 'cluster',
      name: 'east',
      context: 'east',
      server: `${url}/clusters/east`,
    })
    for (const context of [undefined, 'west', 'east']) {
      const client = await first.clientOf(context)
      await client.create(ConfigMap, { metadata: ref('a'), data: { of: context ?? 'own' } })
    }
    for (const context of [undefined, 'west', 'east']) {
      assert.equal((await (await first.clientOf(context)).get(ConfigMap, ref('a')))?.data?.['of'], context ?? 'own')
      const { api } = new Cluster({ name: 'test', transport: first.api.transportOf(context)! })
      assert.equal(
        ((await api.get({ resource: ConfigMap, ...ref('a') })) as { data?: Record<string, string> }).data?.['of'],
        context ?? 'own',
      )
    }
    // Clusters that are no longer named are kept.
    await first.api.setClusters(['east'])
    assert.deepEqual([first.contexts(), first.reported.length], [['kubeloop', 'east'], 3])

    const second = await run()
    assert.equal(statSync(join(second.folder, 'state.json')).mode & 0o777, 0o600)
    assert.deepEqual(second.reported.map(({ kind }) => kind), ['restored', 'serving'])
    assert.deepEqual(
      second.contexts(),
      ['kubeloop', 'west', 'east'],
      'they can be looked into before the operator is there',
    )
    await second.api.setClusters(['west'])
    assert.equal((await (await second.clientOf('west')).get(ConfigMap, ref('a')))?.data?.['of'], 'west')
    // A change only in another cluster is saved as well.
    await (await second.clientOf('west')).delete(ConfigMap, ref('a'))

    const third = await run()
    await third.api.setClusters(['west', 'east'])
    assert.equal(await (await third.clientOf('west')).get(ConfigMap, ref('a')), undefined)
    assert.equal((await (await third.clientOf('east')).get(ConfigMap, ref('a')))?.data?.['of'], 'east')

    const fresh = await run({ fresh: true })
    assert.deepEqual(fresh.contexts(), ['kubeloop'])
    await fresh.api.setClusters(['east'])
    assert.equal(await (await fresh.clientOf('east')).get(ConfigMap, ref('a')), undefined)
    assert.equal(await (await fresh.clientOf()).get(ConfigMap, ref('a')), undefined)
  })
})

test("definitions, owned objects and watches work in another cluster as in the operator's own", () => {
  return inFolder(async (run) => {
    const { api, reported, clientOf } = await run()
    await api.setClusters(['west'])
    const west = await clientOf('west')
    await west.create(CRD as never, crdOf([Thing])[0] as never)
    const definition = reported.at(-1)
    assert.deepEqual(definition, {
      kind: 'definition',
      name: 'things.test.dev',
      cluster: 'west',
      versions: ['v1'],
      result: 'installed',
    })
    await assert.rejects((await clientOf()).list(Thing), /could not find|does not serve/)
    await west.delete(CRD as never, { name: definition!.kind === 'definition' ? definition!.name : '' } as never)
    await west.create(CRD as never, crdOf([Thing])[0] as never)
    const crd = { name: 'things.test.dev' } as never
    await west.patch(CRD as never, crd, { merge: { metadata: { labels: { a: 'b' } } } })
    await west.patch(CRD as never, crd, { merge: { spec: { names: { shortNames: ['th'] } } } })
    assert.deepEqual(reported.splice(-3), [definition, definition, { ...definition, result: 'updated' }])
    const owner = await west.create(Thing, { metadata: ref('a'), spec: {} })
    const stop = new AbortController()
    const watch = west.watch(Secret, { signal: stop.signal })[Symbol.asyncIterator]()
    const gone = (async () => {
      for (;;) {
        const { value, done } = await watch.next()
        if (done || value.type === 'DELETED') return value
      }
    })()
    await west.apply(Secret, { metadata: ref('owned') }, { owner })
    await west.delete(Thing, ref('a'))
    assert.equal((await gone)?.object.metadata.name, 'owned')
    stop.abort()
    await watch.return?.().catch(() => {})
  })
})

test('pods of all clusters run and have logs, over the API and after a restart; without workloads there are none', () => {
  const labels = { app: 'web' }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'web:1' }] } }
  const web = { metadata: ref('web'), spec: { replicas: 1, selector: { matchLabels: labels }, template } }
  /** Waits for the first Deployment that is as wanted. */
  const until = async (client: Client, isWanted: (status: { readyReplicas?: number } | undefined) => boolean) => {
    for await (const { object } of client.watch(Deployment)) if (isWanted(object.status)) return
  }
  return inFolder(async (run) => {
    const { api, reported, clientOf, folder } = await run({ workloads: true, clock: fastClock })
    await api.setClusters(['west'])
    for (const context of [undefined, 'west']) {
      const client = await clientOf(context)
      await client.create(Deployment, web)
      await until(client, (status) => status?.readyReplicas === 1)
      const [pod] = await client.list(Pod)
      const transport = httpTransport((await loadConfig({ kubeconfig: join(folder, 'kubeconfig'), context })).cluster)
      const path = `/api/v1/namespaces/default/pods/${pod!.metadata.name}/log`
      const log = await (await transport({ method: 'GET', path })).body.text()
      transport.close()
      assert.equal(log, 'kubeloop simulates this container: the image web:1 does not run\n')
    }
    assert.deepEqual(reported.filter(({ kind }) => kind === 'problem'), [])
    const second = await (await run({ workloads: true, clock: fastClock })).clientOf()
    await second.patch(Deployment, ref('web'), { merge: { spec: { replicas: 2 } } })
    await until(second, (status) => status?.readyReplicas === 2)
    const ips = (await second.list(Pod)).map(({ status }) => status?.podIP)
    assert.equal(new Set(ips).size, 2)
    const without = await (await run({ fresh: true })).clientOf()
    await without.create(Deployment, web)
    assert.deepEqual(await without.list(Node), [])
  })
})

test("requests to an unknown cluster go to the operator's own, and requests without a token are refused", () => {
  return inFolder(async (run) => {
    const { api, clientOf, folder } = await run()
    await api.setClusters(['west'])
    const { cluster } = await loadConfig({ kubeconfig: join(folder, 'kubeconfig'), context: 'west' })
    const at = (path: string, change: object = {}) =>
      new Cluster({ name: 'test', config: { ...cluster, ...change, server: `https://${api.authority}${path}` } })
    for (const path of ['/clusters/nowhere', '/clusters', '/clusters/westward', '/clusters/west/clusters/west']) {
      const each = at(path)
      await assert.rejects(each.client.list(Namespace), /the server answered 404/)
      each.close()
    }
    const stranger = at('/clusters/west', { credentials: undefined, token: 'wrong' })
    await assert.rejects(stranger.client.list(Namespace), /Unauthorized/)
    stranger.close()
    assert.equal((await (await clientOf('west')).list(Namespace)).length, 4)
  })
})

test('the paths in a response are those of its cluster', () => {
  return inFolder(async (run) => {
    const { api, folder } = await run()
    await api.setClusters(['west'])
    for (const [context, prefix] of [['kubeloop', ''], ['west', '/clusters/west']] as const) {
      const { cluster: config } = await loadConfig({ kubeconfig: join(folder, 'kubeconfig'), context })
      const cluster = new Cluster({ name: 'test', config })
      const { paths } = await cluster.api.raw({ method: 'GET', path: '/openapi/v3' }, 'read') as {
        paths: Record<string, { serverRelativeURL: string }>
      }
      assert.ok(
        paths['api/v1']!.serverRelativeURL.startsWith(`${prefix}/openapi/v3/api/v1?hash=`),
        paths['api/v1']!.serverRelativeURL,
      )
      const document = await cluster.api.raw({ method: 'GET', path: '/openapi/v3/api/v1' }, 'read') as {
        openapi: string
      }
      assert.equal(document.openapi, '3.0.0')
      cluster.close()
    }
  })
})

test('a state file with one unreadable cluster is renamed as a whole', () => {
  return inFolder(async (run) => {
    const first = await run()
    await first.api.setClusters(['west'])
    await (await first.clientOf('west')).create(ConfigMap, { metadata: ref('a') })
    const { folder } = await run()
    const file = join(folder, 'state.json')
    const state = JSON.parse(readFileSync(file, 'utf8')) as { clusters: Record<string, object> }
    writeFileSync(
      file,
      JSON.stringify({ ...state, clusters: { west: { ...state.clusters['west'], format: 'other' } } }),
    )
    const { reported, contexts } = await run()
    assert.match(
      JSON.stringify(reported[0]),
      /Cannot use the state of the last run: .*it is kept in .*state\.json\.bad/,
    )
    assert.deepEqual(contexts(), ['kubeloop'])
  })
})
