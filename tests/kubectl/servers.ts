/** The two servers of a session: the embedded API as `kubeloop dev` serves it, and a real control plane. */
import { ApiServer, serve } from 'kubeloop/apiserver'
import { systemClock } from '../../lib/async/clock.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { GarbageCollector } from '../../lib/simcluster/garbage_collector.ts'
import { startEnvtest } from '../../lib/testing/envtest/envtest.ts'
import type { Target } from './session.ts'

/** A server that runs. */
export interface RunningTarget extends Target {
  stop(): Promise<void>
}

/** The controllers that the embedded API has, too. */
const CONTROLLERS = ['garbage-collector-controller', 'namespace-controller']

/** Starts etcd, kube-apiserver and the controllers that the embedded API has, too. */
export async function startReal(programs: string): Promise<RunningTarget> {
  const envtest = await startEnvtest({
    assets: programs,
    controllerManager: CONTROLLERS,
    // The range of the embedded API.
    extraArgs: { apiServer: ['--service-cluster-ip-range=10.96.0.0/16'] },
  })
  const { server, ca, token } = envtest.tokenConfig
  return {
    programs,
    server,
    user: 'envtest-admin',
    kubeconfig: (namespace) => kubeconfig(namespace, server, ca, token),
    stop: () => envtest.stop(),
  }
}

/** Requests are authorized, and the objects exist that a real server creates at its start. */
const OPTIONS = { bootstrap: true } as const

/** Serves the embedded API with its garbage collector. */
export async function startEmbedded(programs: string): Promise<RunningTarget> {
  const api = new ApiServer(OPTIONS)
  const served = await serve(api)
  const stopping = new AbortController()
  const collecting = new GarbageCollector({ transport: api.handle, clock: systemClock, log: silentLog })
    .start(stopping.signal)
  return {
    programs,
    server: served.url,
    user: 'kubernetes-admin',
    kubeconfig: (namespace) => kubeconfig(namespace, served.url, served.ca, served.token),
    async stop() {
      stopping.abort(new Error('the session has ended'))
      await collecting
      api.closeWatches()
      await served.close()
    },
  }
}

function kubeconfig(namespace: string, server: string, ca: unknown, token: unknown): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'session',
    contexts: [{ name: 'session', context: { cluster: 'session', user: 'admin', namespace } }],
    clusters: [{ name: 'session', cluster: { server, 'certificate-authority-data': btoa(String(ca)) } }],
    users: [{ name: 'admin', user: { token } }],
  })
}
