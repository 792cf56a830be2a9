/** The kubeconfig that kubectl and the operator use: JSON, which needs no parser for YAML, with all in it. */

export interface ServedAt {
  readonly url: string
  readonly token: string
  /** PEM. */
  readonly ca: string
}

export function kubeconfigText({ url, token, ca }: ServedAt): string {
  const name = 'kubeloop'
  return `${JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': name,
    contexts: [{ name, context: { cluster: name, user: name, namespace: 'default' } }],
    clusters: [{ name, cluster: { server: url, 'certificate-authority-data': btoa(ca) } }],
    users: [{ name, user: { token } }],
  }, null, 2)}\n`
}
