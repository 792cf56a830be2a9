/** From the texts of kubeconfigs to a cluster: what only processes outside of a pod need, and load when they need it. */
import { clusterOfContext, type ContextCluster, type Surroundings } from './context.ts'
import { mergeKubeconfigs, parseKubeconfig } from './kubeconfig.ts'

/** The text of a kubeconfig, and the file that it was read from. */
export interface KubeconfigText {
  readonly file: string
  readonly text: string
}

/**
 * The cluster of a context of these files, merged as client-go merges them. Default: their current context.
 *
 * @throws ConfigError naming file and field; never quoting them, as they may hold secrets.
 */
export async function fromKubeconfig(
  texts: readonly KubeconfigText[],
  context: string | undefined,
  around: Surroundings,
): Promise<ContextCluster> {
  const configs = await Promise.all(texts.map(({ text, file }) => parseKubeconfig(text, file)))
  return clusterOfContext(mergeKubeconfigs(configs), context, around)
}
