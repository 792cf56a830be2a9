/** Turns kubeconfigs into a cluster. Loaded at first use, because a pod has no kubeconfig. */
import { clusterOfContext, type ContextCluster, type Surroundings } from './context.ts'
import { mergeKubeconfigs, parseKubeconfig } from './kubeconfig.ts'

/** The text of a kubeconfig, and the file that it was read from. */
export interface KubeconfigText {
  readonly file: string
  readonly text: string
}

/**
 * Returns the cluster of a context of these files, merged as client-go does. Default: the current context.
 *
 * @throws ConfigError that names file and field, and never quotes values, which may be secrets.
 */
export async function fromKubeconfig(
  texts: readonly KubeconfigText[],
  context: string | undefined,
  around: Surroundings,
): Promise<ContextCluster> {
  const configs = await Promise.all(texts.map(({ text, file }) => parseKubeconfig(text, file)))
  return clusterOfContext(mergeKubeconfigs(configs), context, around)
}
