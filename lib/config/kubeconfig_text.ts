/** Writes kubeconfigs. */

/**
 * Returns a kubeconfig as JSON, which is also YAML: a user, and for each cluster a context of the same name. The
 * current context is the one with the user's name.
 */
export function kubeconfigOf(
  user: { readonly name: string; readonly user: object },
  clusters: readonly { readonly name: string; readonly cluster: object }[],
  context: object = {},
): string {
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': user.name,
    contexts: clusters.map(({ name }) => ({ name, context: { cluster: name, user: user.name, ...context } })),
    clusters,
    users: [user],
  }
  return `${JSON.stringify(kubeconfig, null, 2)}\n`
}
