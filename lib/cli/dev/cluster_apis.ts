/** The embedded APIs of an operator's clusters: their state, their control loops, and reports of new definitions. */
import { Cluster, type Transport } from 'kubeloop'
import { ApiServer, type PodLog, type SavedState, type StoredChange } from 'kubeloop/apiserver'
import type { KubeObject } from '../../core/objects.ts'
import { CRD } from '../../core/resource.ts'
import { messageOf } from '../../core/errors.ts'
import { abortScope } from '../../async/abort.ts'
import { type Clock, pause } from '../../async/clock.ts'
import { silentLog } from '../../observe/log.ts'
import { remove } from '../../runtime/os/user_files.ts'
import { readState, StateFile, stateIn } from '../api/folder.ts'
import type { DevEvent } from '../api/events.ts'
import { GarbageCollector } from '../../simcluster/garbage_collector.ts'
import type { LoopModel } from './loop_model.ts'

export interface ClusterApisOptions {
  readonly folder: string
  readonly fresh: boolean
  readonly workloads: boolean
  readonly clock: Clock
  readonly report: (event: DevEvent) => void
  /** What notes all objects, for the page of `--ui`. Default: none. */
  readonly model?: Pick<LoopModel, 'changed' | 'keepAll'> | undefined
}

interface DevState extends SavedState {
  readonly clusters?: Readonly<Record<string, SavedState>>
}

export interface OneApi {
  readonly server: ApiServer
  readonly transport: Transport
}

/** The control loops start later: their watches and files would delay the operator's start by 25 ms and more. */
const LOOPS_AFTER_MS = 300

export class ClusterApis {
  /** The CA of the server that others reach, once it listens. */
  ca = ''
  readonly #options: ClusterApisOptions
  readonly #file: StateFile
  /** By the name of the cluster; undefined is the operator's own. */
  readonly #apis = new Map<string | undefined, OneApi>()
  readonly #loops = abortScope()
  readonly #running: Promise<void>[] = []
  /** Set when the controllers of workloads are loaded. */
  #podLog: PodLog | undefined

  /** Opens the APIs of the saved state, or an empty one of the operator's own cluster. */
  static async open(options: ClusterApisOptions): Promise<ClusterApis> {
    const file = stateIn(options.folder)
    if (options.fresh) await remove(file)
    const apis = new ClusterApis(options, file)
    const restored = await readState(file, (saved) => {
      const { clusters = {}, ...own } = saved as DevState
      const all = [[undefined, own as SavedState] as const, ...Object.entries(clusters)]
      return all.map(([name, each]) => [name, apis.#serverOf(each, name)] as const)
    }, apis.#problem)
    if (restored) options.report({ kind: 'restored' })
    for (const [name, server] of restored ?? [[undefined, apis.#serverOf()] as const]) await apis.#open(server, name)
    return apis
  }

  private constructor(options: ClusterApisOptions, file: string) {
    this.#options = options
    const onError = (error: unknown): void => this.#problem(`Cannot save the state of the API: ${messageOf(error)}`)
    this.#file = new StateFile(file, { clock: options.clock, save: () => this.#state(), onError })
  }

  /** Returns the API of a cluster, if there is one of that name. No name: the operator's own. */
  of(name?: string): OneApi | undefined {
    return this.#apis.get(name)
  }

  /** The names of the other clusters. */
  get others(): readonly string[] {
    return [...this.#apis.keys()].filter((name) => name !== undefined)
  }

  /** Opens the APIs of the clusters that have none. */
  async add(names: readonly string[]): Promise<void> {
    for (const name of names) {
      if (!this.#apis.has(name)) await this.#open(this.#serverOf(undefined, name), name)
    }
  }

  /** Ends control loops and watches. */
  async end(): Promise<void> {
    this.#loops.abort(new DOMException('kubeloop dev is stopping', 'AbortError'))
    await Promise.all(this.#running)
    for (const { server } of this.#apis.values()) server.closeWatches()
  }

  /** Saves the state for the last time. */
  async save(): Promise<void> {
    await this.#file.close()
  }

  readonly #problem = (message: string): void => this.#options.report({ kind: 'problem', message })

  #serverOf(saved?: SavedState, cluster?: string): ApiServer {
    const { model, clock } = this.#options
    if (saved) model?.keepAll(saved.store.objects, cluster)
    return new ApiServer({
      ...(model && { onChange: (change: StoredChange) => model.changed(change, cluster) }),
      ...{ clock, log: silentLog, bootstrap: true, podLog: (...request) => this.#podLog?.(...request) },
      ...(saved && { state: saved }),
    })
  }

  async #open(server: ApiServer, cluster: string | undefined): Promise<void> {
    const { clock, report, workloads } = this.#options
    const transport = await listenTo(server.handle, { onWrite: () => this.#file.changed(), report }, cluster)
    this.#running.push(runLoops(transport, {
      ...{ clock, problem: this.#problem, workloads, signal: this.#loops.signal, ca: () => this.ca || undefined },
      onPodLog: (found) => void (this.#podLog ??= found),
    }))
    this.#apis.set(cluster, { server, transport })
  }

  #state(): DevState {
    const others = this.others.map((name) => [name, this.of(name)!.server.save()] as const)
    return { ...this.of()!.server.save(), ...(others.length > 0 && { clusters: Object.fromEntries(others) }) }
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
  // A definition is reported before the objects that need it: their writes wait until its report has succeeded or
  // failed. A failed report rejects the write of the definition.
  let reported: Promise<unknown> = Promise.resolve()
  return async (request) => {
    const response = await inner(request)
    if (request.method === 'GET' || response.status >= 400) return response
    const own = CRD_PATH.test(request.path) ? checkDefinitions() : undefined
    if (own) reported = Promise.allSettled([own])
    await (own ?? reported)
    onWrite()
    return response
  }
}
