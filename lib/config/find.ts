/**
 * Finds the cluster as controller-runtime does: a given kubeconfig, the files in `KUBECONFIG`, the pod's service
 * account, `~/.kube/config`. The first that exists decides; if it is invalid, that is an error.
 *
 * On Deno, beside `--allow-net`: with a kubeconfig that is named, `--allow-read` of it; otherwise
 * `--allow-env=KUBECONFIG,KUBERNETES_SERVICE_HOST,KUBERNETES_SERVICE_PORT,HOME` and `--allow-read` of the file that is
 * used, or of `/var/run/secrets/kubernetes.io/serviceaccount`. Files that a kubeconfig names, and `--allow-run` of its
 * plugin, come on top; `HTTPS_PROXY,NO_PROXY` where a proxy is to be taken from the environment.
 */
import { ConfigError, fileMissing } from '../core/errors.ts'
import { silentLog } from '../observe/log.ts'
import { isMissing, resolvePath, splitPaths } from '../runtime/os/files.ts'
import type { KubeconfigText, Surroundings } from './context.ts'
import { type Environment, systemEnvironment, variable } from './environment.ts'
import { inCluster } from './in_cluster.ts'
import type { LoadedCluster, LoadOptions } from './loaded.ts'
import { readFailure } from './rotating_file.ts'

/** @throws ConfigError as `loadConfig`. */
export async function findCluster(options: LoadOptions): Promise<LoadedCluster> {
  const { environment = systemEnvironment, log = silentLog, context } = options
  const around: Surroundings = { environment, log }
  if (options.kubeconfig !== undefined) {
    return clusterOf([await readKubeconfig(options.kubeconfig, environment)], context, around)
  }

  const listed = variable(environment, 'KUBECONFIG')
  if (listed !== undefined) {
    const files = splitPaths(listed)
    const found = (await Promise.all(files.map((file) => readKubeconfigIfExists(file, environment)))).filter((config) =>
      config !== undefined
    )
    // As in client-go, some of a list may be missing.
    if (found.length === 0) {
      const names = files.join(', ') || 'no file'
      throw new ConfigError(`Cannot find a cluster: KUBECONFIG names ${names}, which does not exist`)
    }
    return clusterOf(found, context, around)
  }

  const pod = await inCluster(environment, log)
  if ('cluster' in pod) {
    if (context !== undefined) {
      throw new ConfigError(
        `Cannot use context "${context}": this is a pod that speaks to its own cluster; set KUBECONFIG to use another`,
      )
    }
    return { cluster: pod.cluster, source: { kind: 'in-cluster' } }
  }

  const home = environment.homeDir()
  const file = home === undefined ? undefined : resolvePath(home, '.kube/config')
  const config = file === undefined ? undefined : await readKubeconfigIfExists(file, environment)
  if (config) return clusterOf([config], context, around)
  const missing = `${pod.missing}, and ${file === undefined ? 'HOME is not set' : `${file} does not exist`}`
  const remedy = 'set KUBECONFIG, or run without a cluster by `kubeloop dev FILE`'
  throw new ConfigError(`Cannot find a cluster: KUBECONFIG is not set, ${missing}; ${remedy}`)
}

/** Loads the code that reads kubeconfigs: a pod never needs it. */
async function clusterOf(
  configs: readonly KubeconfigText[],
  name: string | undefined,
  around: Surroundings,
): Promise<LoadedCluster> {
  const files = configs.map(({ file }) => file)
  const { fromKubeconfig } = await import('./context.ts')
    .catch(fileMissing(`read kubeconfig ${files.join(', ')}`, 'kubeconfig.js'))
  const { cluster, context } = await fromKubeconfig(configs, name, around)
  return { cluster, source: { kind: 'kubeconfig', files, context } }
}

async function readKubeconfig(file: string, environment: Environment): Promise<KubeconfigText> {
  try {
    return { file, text: await environment.readText(file) }
  } catch (error) {
    throw readFailure(file, 'kubeconfig', error)
  }
}

async function readKubeconfigIfExists(file: string, environment: Environment): Promise<KubeconfigText | undefined> {
  try {
    return await readKubeconfig(file, environment)
  } catch (error) {
    if (error instanceof ConfigError && isMissing(error.cause)) return undefined
    throw error
  }
}
