/** The Kubernetes API of `kubeloop dev`: kept in a file over restarts, served on loopback, with a kubeconfig for it. */
import type { Transport } from 'kubeloop'
import { ApiServer, type SavedState, serve } from 'kubeloop/apiserver'
import { answerJson } from '../../apiserver/http/respond.ts'
import { messageOf } from '../../core/errors.ts'
import { abortScope } from '../../async/abort.ts'
import type { Clock } from '../../async/clock.ts'
import { type Log, silentLog } from '../../observe/log.ts'
import { writePrivate } from '../../runtime/os/files.ts'
import { remove } from '../../runtime/os/user_files.ts'
import { kubeconfigIn, stateIn } from './folder.ts'
import { listenTo } from './network.ts'
import type { DevEvent } from './events.ts'
import { pathOfCluster } from './session.ts'
import { contextOf, kubeconfigText } from './kubeconfig.ts'
import { GarbageCollector } from '../../simcluster/garbage_collector.ts'
import type { SessionHost } from './session_host.ts'
import { readState, StateFile } from './state_file.ts'

export interface EmbeddedApi {
  /** `host:port` */
  readonly authority: string
  /** The API of the operator's own cluster, in memory, past the sockets; or of one of the others. Undefined for one that is not there. */
  transportOf(cluster?: string): Transport | undefined
  /** Serves the operator's other clusters, and names them in the kubeconfig. Those of the last call are kept, and served on. */
  setClusters(names: readonly string[]): Promise<void>
  /** Ends every connection and saves what is not saved yet. */
  close(): Promise<void>
}

export interface EmbeddedApiOptions {
  /** Where its state and its kubeconfig are. */
  readonly folder: string
  readonly port: number | undefined
  readonly fresh: boolean
  readonly sessions: SessionHost
  readonly clock: Clock
  readonly log: Log
  readonly say: (event: DevEvent) => void
}

/** What is in the file: the operator's own cluster, and the others beside it. */
interface DevState extends SavedState {
  readonly clusters?: Readonly<Record<string, SavedState>>
}

/** The API of one cluster, in memory. */
interface OneApi {
  readonly server: ApiServer
  readonly transport: Transport
}

/** @throws Error when the port is in use. */
export async function startEmbeddedApi(
  { folder, port, fresh, sessions, clock, log, say }: EmbeddedApiOptions,
): Promise<EmbeddedApi> {
  const [state, kubeconfig] = [stateIn(folder), kubeconfigIn(folder)]
  const problem = (message: string): void => say({ kind: 'problem', message })
  if (fresh) await remove(state)
  const serverOf = (saved: SavedState): ApiServer => new ApiServer({ clock, log, state: saved })
  const restored = await readState(state, (saved) => {
    const others = Object.entries((saved as DevState).clusters ?? {})
    return { own: serverOf(saved as DevState), others: others.map(([name, each]) => [name, serverOf(each)] as const) }
  }, problem)
  if (restored) say({ kind: 'restored' })
  const others = new Map<string, OneApi>()
  const save = (): DevState => {
    const clusters = Object.fromEntries([...others].map(([name, { server }]) => [name, server.save()]))
    return { ...own.server.save(), ...(others.size > 0 && { clusters }) }
  }
  const onError = (error: unknown): void => problem(`Cannot save the state of the API: ${messageOf(error)}`)
  const file = new StateFile(state, { clock, save, onError })
  const loops = abortScope()
  const collecting: Promise<void>[] = []
  const open = async (server: ApiServer, cluster?: string): Promise<OneApi> => {
    const transport = await listenTo(server.handle, { onWrite: () => file.changed(), onDefinition: say }, cluster)
    collecting.push(new GarbageCollector({ transport, clock, log: loopLog(problem) }).start(loops.signal))
    return { server, transport }
  }
  const own = await open(restored?.own ?? new ApiServer({ clock, log }))
  for (const [name, server] of restored?.others ?? []) others.set(name, await open(server, name))
  const routed = byPath(own.transport, (name) => others.get(name)?.transport)
  const served = await listen(sessions.over(routed), port)
  const writeKubeconfig = (names: readonly string[]): Promise<void> =>
    writePrivate(kubeconfig, kubeconfigText(served, names))
  await writeKubeconfig([...others.keys()])
  say({ kind: 'serving', server: served.url, kubeconfig })
  const said = new Set<string>()
  return {
    authority: `${served.host}:${served.port}`,
    transportOf: (cluster) => (cluster === undefined ? own : others.get(cluster))?.transport,
    async setClusters(names) {
      for (const name of names) {
        if (!others.has(name)) others.set(name, await open(new ApiServer({ clock, log }), name))
      }
      await writeKubeconfig(names)
      for (const name of names) {
        if (!said.has(name)) {
          say({ kind: 'cluster', name, context: contextOf(name), server: served.url + pathOfCluster(name) })
        }
        said.add(name)
      }
    },
    async close() {
      sessions.close()
      loops.abort(new DOMException('kubeloop dev is stopping', 'AbortError'))
      await Promise.all(collecting)
      for (const { server } of [own, ...others.values()]) server.closeWatches()
      await served.close()
      await file.close()
    },
  }
}

/** One network for all clusters: what is below the path of another one goes there, everything else to the operator's own. */
function byPath(own: Transport, other: (name: string) => Transport | undefined): Transport {
  return async (request) => {
    const [, name, path = ''] = /^\/clusters\/([^/?]+)(.*)$/.exec(request.path) ?? []
    const transport = name === undefined ? undefined : other(name)
    if (name === undefined || !transport) return await own(request)
    const response = await transport({ ...request, path: path.startsWith('/') ? path : `/${path}` })
    if (!/^\/openapi\/v3(\?|$)/.test(path)) return response
    // The one answer that has paths of the server's own: kubectl follows them as they are.
    const text = await response.body.text()
    return answerJson(response.status, text.replaceAll('"/openapi/', `"${pathOfCluster(name)}/openapi/`), [])
  }
}

/** The control loops are nobody's concern until they fail. */
function loopLog(problem: (message: string) => void): Log {
  return { ...silentLog, error: problem }
}

async function listen(handle: Transport, port: number | undefined): Promise<Awaited<ReturnType<typeof serve>>> {
  try {
    return await serve({ handle }, { host: '127.0.0.1', port: port ?? 0 })
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'EADDRINUSE') throw error
    const remedy = 'choose another one with --port, or leave --port out for a free one'
    throw new Error(`Cannot serve the API on 127.0.0.1:${port}: the port is in use; ${remedy}`, { cause: error })
  }
}
