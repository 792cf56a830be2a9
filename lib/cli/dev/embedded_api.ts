/**
 * Serves the Kubernetes API of `kubeloop dev` on loopback: the operator's own cluster at the root, each other one below
 * a path of its own. Writes the kubeconfig.
 */
import type { Transport } from 'kubeloop'
import { internals, type ServableApi } from 'kubeloop/apiserver'
import { writePrivate } from '../../runtime/os/user_files.ts'
import { kubeconfigIn } from '../api/folder.ts'
import { CONTEXT, kubeconfigText, listen } from '../api/serving.ts'
import { ClusterApis, type ClusterApisOptions, type OneApi } from './cluster_apis.ts'
import { pathOfCluster } from './session.ts'
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

export interface EmbeddedApiOptions extends ClusterApisOptions {
  readonly port: number | undefined
  readonly sessions: SessionHost
}

/** @throws Error if the port is in use. */
export async function startEmbeddedApi(options: EmbeddedApiOptions): Promise<EmbeddedApi> {
  const { folder, port, sessions, report } = options
  const kubeconfig = kubeconfigIn(folder)
  const apis = await ClusterApis.open(options)
  const handle: Transport = async (request) => {
    const { to, path, name } = routed(apis, request.path)
    const response = await to.transport({ ...request, path })
    if (name === undefined || !/^\/openapi\/v3(\?|$)/.test(path)) return response
    // Only this response has paths of the server in it, which kubectl follows.
    const text = await response.body.text()
    return internals.answerJson(response.status, text.replaceAll('"/openapi/', `"${pathOfCluster(name)}/openapi/`), [])
  }
  const refuse: ServableApi['refuse'] = (request) => {
    const { to, path } = routed(apis, request.path)
    return to.server.refuse({ ...request, path })
  }
  const served = await listen({ handle: sessions.over(handle), refuse }, { port })
  apis.ca = served.ca
  const writeKubeconfig = async (names: readonly string[]): Promise<void> => {
    const clusters = names.map((name) => ({ context: contextOf(name), path: pathOfCluster(name) }))
    await writePrivate(kubeconfig, kubeconfigText(served, clusters))
  }
  await writeKubeconfig(apis.others)
  report({ kind: 'serving', server: served.url, kubeconfig })
  const reported = new Set<string>()
  const setClusters = async (names: readonly string[]): Promise<void> => {
    await apis.add(names)
    await writeKubeconfig(names)
    for (const name of names.filter((each) => !reported.has(each))) {
      report({ kind: 'cluster', name, context: contextOf(name), server: served.url + pathOfCluster(name) })
      reported.add(name)
    }
  }
  let setting = Promise.resolve()
  return {
    authority: `${served.host}:${served.port}`,
    transportOf: (cluster) => apis.of(cluster)?.transport,
    setClusters: (names) => setting = setting.catch(() => {}).then(() => setClusters(names)),
    async close() {
      sessions.close()
      await apis.end()
      await served.close()
      await apis.save()
    },
  }
}

/** Finds the cluster of a path; the operator's own has all paths without another one. */
function routed(
  apis: ClusterApis,
  path: string,
): { readonly to: OneApi; readonly path: string; readonly name?: string } {
  const [, name = '', rest = ''] = /^\/clusters\/([^/?]+)(.*)$/.exec(path) ?? []
  const to = name === '' ? undefined : apis.of(name)
  return to ? { to, name, path: rest.startsWith('/') ? rest : `/${rest}` } : { to: apis.of()!, path }
}

/** Returns the context of another cluster: its name, unless the operator's own cluster has that context. */
export function contextOf(name: string): string {
  return name === CONTEXT ? `${CONTEXT}.other` : name
}
