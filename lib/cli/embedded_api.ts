/** The Kubernetes API of `kubeloop dev`: kept in a file over restarts, served on loopback, with a kubeconfig for it. */
import type { Transport } from 'kubeloop'
import { ApiServer, serve, type SavedState } from 'kubeloop/apiserver'
import { messageOf } from '../core/errors.ts'
import { abortScope } from '../async/abort.ts'
import type { Clock } from '../async/clock.ts'
import { silentLog, type Log } from '../observe/log.ts'
import { writePrivate } from '../runtime/files.ts'
import { remove } from '../runtime/user_files.ts'
import { kubeconfigIn, stateIn } from './dev_folder.ts'
import { listenTo } from './dev_network.ts'
import type { DevEvent } from './events.ts'
import { kubeconfigText } from './kubeconfig.ts'
import { GarbageCollector } from '../simcluster/garbage_collector.ts'
import type { SessionHost } from './session_host.ts'
import { readState, StateFile } from './state_file.ts'

export interface EmbeddedApi {
  /** `host:port` */
  readonly authority: string
  /** The API in memory, past the sockets. */
  readonly transport: Transport
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

/** @throws Error when the port is in use. */
export async function startEmbeddedApi({ folder, port, fresh, sessions, clock, log, say }: EmbeddedApiOptions): Promise<EmbeddedApi> {
  const [state, kubeconfig] = [stateIn(folder), kubeconfigIn(folder)]
  const problem = (message: string): void => say({ kind: 'problem', message })
  if (fresh) await remove(state)
  const restored = await readState(state, (saved) => new ApiServer({ clock, log, state: saved as SavedState }), problem)
  if (restored) say({ kind: 'restored' })
  const server = restored ?? new ApiServer({ clock, log })
  const onError = (error: unknown): void => problem(`Cannot save the state of the API: ${messageOf(error)}`)
  const file = new StateFile(state, { clock, save: () => server.save(), onError })
  const transport = await listenTo(server.handle, { onWrite: () => file.changed(), onDefinition: say })
  const loops = abortScope()
  const collecting = new GarbageCollector({ transport, clock, log: loopLog(problem) }).start(loops.signal)
  const served = await listen(sessions.over(transport), port)
  await writePrivate(kubeconfig, kubeconfigText(served))
  say({ kind: 'serving', server: served.url, kubeconfig })
  return {
    authority: `${served.host}:${served.port}`,
    transport,
    async close() {
      sessions.close()
      loops.abort(new DOMException('kubeloop dev is stopping', 'AbortError'))
      await collecting
      server.closeWatches()
      await served.close()
      await file.close()
    },
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
