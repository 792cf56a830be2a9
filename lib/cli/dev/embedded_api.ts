/**
 * Serves the Kubernetes API of `kubeloop dev` on loopback, saves its state and writes its kubeconfig. Reports new
 * definitions of kinds.
 */
import { Cluster, type Transport } from 'kubeloop'
import {
  ApiServer,
  internals,
  type PodLog,
  type SavedState,
  type ServableApi,
  type StoredChange,
} from 'kubeloop/apiserver'
import type { KubeObject } from '../../core/objects.ts'
import { CRD } from '../../core/resource.ts'
import { messageOf } from '../../core/errors.ts'
import { abortScope } from '../../async/abort.ts'
import { type Clock, pause } from '../../async/clock.ts'
import { silentLog } from '../../observe/log.ts'
import { remove, writePrivate } from '../../runtime/os/user_files.ts'
import { kubeconfigIn, readState, StateFile, stateIn } from '../api/folder.ts'
import type { DevEvent } from '../api/events.ts'
import { CONTEXT, kubeconfigText, listen } from '../api/serving.ts'
import { pathOfCluster } from './session.ts'
import { GarbageCollector } from '../../simcluster/garbage_collector.ts'
import type { LoopModel } from './loop_model.ts'
import type { SessionHost } from './session_host.ts'

export interface EmbeddedApi {
  /** `host:port` */
  readonly authority: string
  /** Returns a transport in memory to a cluster's API, if there is one of that name. No name: the operator's own. */
  transportOf(cluster?: string): Transport | undefined
  /**
   * Adds other clusters of the operator to the API and the kubeconfig. The APIs of earlier calls stay. One call waits
   * for the other, as two would open an API for the same name. Each call rejects with its own error alone.
   */
  setClusters(names: readonly string[]): Promise<void>
  /** Closes all connections and saves the state. */
  close(): Promise<void>
}

export interface EmbeddedApiOptions {
  readonly folder: string
  readonly port: number | undefined
  readonly fresh: boolean
  readonly workloads: boolean
  readonly sessions: SessionHost
  readonly clock: Clock
  readonly report: (event: DevEvent) => void
  /** What notes all objects, for the page of `--ui`. Default: none. */
  readonly model?: Pick<LoopModel, 'changed' | 'keepAll'> | undefined
}

interface DevState extends SavedState {
  readonly clusters?: Readonly<Record<string, SavedState>>
}

interface OneApi {
  readonly server: ApiServer
  readonly transport: Transport
}

/** The control loops start later: their watches and files would delay the operator's start by 25 ms and more. */
const LOOPS_AFTER_MS = 300

/** @throws Error if the port is in use. */
export async function startEmbeddedApi(
  { folder, port, fresh, workloads, sessions, clock, report, model }: EmbeddedApiOptions,
): Promise<EmbeddedApi> {
  const [state, kubeconfig] = [stateIn(folder), kubeconfigIn(folder)]
  const problem = (message: string): void => report({ kind: 'problem', message })
  if (fresh) await remove(state)
  let ca = ''
  /** Set when the controllers of workloads are loaded. */
  let podLog: PodLog | undefined
  const serverOf = (saved?: SavedState, cluster?: string): ApiServer => {
    if (saved) model?.keepAll(saved.store.objects, cluster)
    return new ApiServer({
      ...(model && { onChange: (change: StoredChange) => model.changed(change, cluster) }),
      ...{ clock, log: silentLog, bootstrap: true, podLog: (...request) => podLog?.(...request) },
      ...(saved && { state: saved }),
    })
  }
  const restored = await readState(state, (saved) => {
    const others = Object.entries((saved as DevState).clusters ?? {})
    return {
      own: serverOf(saved as DevState),
      others: others.map(([name, each]) => [name, serverOf(each, name)] as const),
    }
  }, problem)
  if (restored) report({ kind: 'restored' })
  const others = new Map<string, OneApi>()
  const save = (): DevState => {
    const clusters = Object.fromEntries([...others].map(([name, { server }]) => [name, server.save()]))
    return { ...own.server.save(), ...(others.size > 0 && { clusters }) }
  }
  const onError = (error: unknown): void => problem(`Cannot save the state of the API: ${messageOf(error)}`)
  const file = new StateFile(state, { clock, save, onError })
  const loops = abortScope()
  const running: Promise<void>[] = []
  const open = async (server: ApiServer, cluster?: string): Promise<OneApi> => {
    const transport = await listenTo(server.handle, { onWrite: () => file.changed(), report }, cluster)
    running.push(runLoops(transport, {
      ...{ clock, problem, workloads, signal: loops.signal, ca: () => ca || undefined },
      onPodLog: (found) => void (podLog ??= found),
    }))
    return { server, transport }
  }
  const own = await open(restored?.own ?? serverOf())
  for (const [name, server] of restored?.others ?? []) others.set(name, await open(server, name))
  /** Finds the cluster of a path; the operator's own has all paths without another one. */
  const routed = (path: string): { readonly to: OneApi; readonly path: string; readonly name?: string } => {
    const [, name = '', rest = ''] = /^\/clusters\/([^/?]+)(.*)$/.exec(path) ?? []
    const to = others.get(name)
    return to ? { to, name, path: rest.startsWith('/') ? rest : `/${rest}` } : { to: own, path }
  }
  const handle: Transport = async (request) => {
    const { to, path, name } = routed(request.path)
    const response = await to.transport({ ...request, path })
    if (name === undefined || !/^\/openapi\/v3(\?|$)/.test(path)) return response
    // Only this response has paths of the server in it, which kubectl follows.
    const text = await response.body.text()
    return internals.answerJson(response.status, text.replaceAll('"/openapi/', `"${pathOfCluster(name)}/openapi/`), [])
  }
  const refuse: ServableApi['refuse'] = (request) => {
    const { to, path } = routed(request.path)
    return to.server.refuse({ ...request, path })
  }
  const served = await listen({ handle: sessions.over(handle), refuse }, { port })
  ca = served.ca
  const writeKubeconfig = async (names: readonly string[]): Promise<void> => {
    const clusters = names.map((name) => ({ context: contextOf(name), path: pathOfCluster(name) }))
    await writePrivate(kubeconfig, kubeconfigText(served, clusters))
  }
  await writeKubeconfig([...others.keys()])
  report({ kind: 'serving', server: served.url, kubeconfig })
  const reported = new Set<string>()
  const setClusters = async (names: readonly string[]): Promise<void> => {
    for (const name of names) {
      if (!others.has(name)) others.set(name, await open(serverOf(undefined, name), name))
    }
    await writeKubeconfig(names)
    for (const name of names.filter((each) => !reported.has(each))) {
      report({ kind: 'cluster', name, context: contextOf(name), server: served.url + pathOfCluster(name) })
      reported.add(name)
    }
  }
  let setting = Promise.resolve()
  return {
    authority: `${served.host}:${served.port}`,
    transportOf: (cluster) => (cluster === undefined ? own : others.get(cluster))?.transport,
    setClusters: (names) => setting = setting.catch(() => {}).then(() => setClusters(names)),
    async close() {
      sessions.close()
      loops.abort(new DOMException('kubeloop dev is stopping', 'AbortError'))
      await Promise.all(running)
      for (const { server } of [own, ...others.values()]) server.closeWatches()
      await served.close()
      await file.close()
    },
  }
}

/** Runs the control loops of a cluster until the signal is aborted. Only their errors are reported. */
async function runLoops(
  transport: Transport,
  { clock, problem, workloads, signal, ca, onPodLog }: {
    readonly clock: Clock
    readonly problem: (message: string) => void
    readonly workloads: boolean
    readonly signal: AbortSignal
    readonly ca: () => string | undefined
    readonly onPodLog: (found: PodLog) => void
  },
): Promise<void> {
  const common = { transport, clock, log: { ...silentLog, error: problem } }
  const runWorkloads = async (): Promise<void> => {
    const { podLogOf, PodScript, TIMES, Workloads } = await import('../../simcluster/workloads/workloads.ts')
    const script = new PodScript(() => clock.now())
    onPodLog(podLogOf(script))
    await new Workloads({ ...common, script, times: TIMES, ca }).start(signal)
  }
  try {
    await pause(clock, LOOPS_AFTER_MS, signal)
    await Promise.all([new GarbageCollector(common).start(signal), workloads ? runWorkloads() : undefined])
  } catch (error) {
    if (!signal.aborted) problem(`A control loop of the cluster has ended: ${messageOf(error)}`)
  }
}

/** Returns the context of another cluster: its name, unless the operator's own cluster has that context. */
export function contextOf(name: string): string {
  return name === CONTEXT ? `${CONTEXT}.other` : name
}

const CRD_PATH = /^\/apis\/apiextensions\.k8s\.io\/v1\/customresourcedefinitions(?:[/?]|$)/

interface Definition extends KubeObject {
  readonly spec: { readonly versions: readonly { readonly name: string; readonly served: boolean }[] }
}

/** Wraps a transport to report new and changed definitions, of another cluster if named, and to notice writes. */
async function listenTo(
  inner: Transport,
  { onWrite, report }: { readonly onWrite: () => void; readonly report: (event: DevEvent) => void },
  cluster?: string,
): Promise<Transport> {
  const { api } = new Cluster({ name: 'kubeloop-dev', transport: inner })
  const read = async (): Promise<readonly Definition[]> => (await api.list({ resource: CRD })).items as Definition[]
  const generations = new Map<string, number | undefined>()
  // Definitions of the last run are not reported.
  for (const { metadata } of await read()) generations.set(metadata.name, metadata.generation)

  const checkDefinitions = async (): Promise<void> => {
    const all = await read()
    for (const { metadata: { name, generation }, spec } of all) {
      const known = generations.has(name)
      if (known && generations.get(name) === generation) continue
      generations.set(name, generation)
      const versions = spec.versions.filter(({ served }) => served).map((version) => version.name)
      const result = known ? 'updated' : 'installed'
      report({ kind: 'definition', name, ...(cluster && { cluster }), versions, result })
    }
    for (const name of generations.keys()) {
      if (!all.some(({ metadata }) => metadata.name === name)) generations.delete(name)
    }
  }
  // The line of a definition comes before those of the objects that waited for it.
  let reported: Promise<unknown> = Promise.resolve()
  return async (request) => {
    const response = await inner(request)
    if (request.method === 'GET' || response.status >= 400) return response
    const own = CRD_PATH.test(request.path) ? checkDefinitions() : undefined
    if (own) reported = own.catch(() => {}) // the write of the definition rejects
    await (own ?? reported)
    onWrite()
    return response
  }
}
