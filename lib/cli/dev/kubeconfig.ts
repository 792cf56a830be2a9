/** The kubeconfig that kubectl and the operator use: JSON, which needs no parser for YAML, with all in it. */
import { pathOfCluster } from './session.ts'

export interface ServedAt {
  readonly url: string
  readonly token: string
  /** PEM. */
  readonly ca: string
}

/** The context of the operator's own cluster, which is the current one. */
const OWN = 'kubeloop'

/** `others`: the operator's other clusters. Each has a context of its name. */
export function kubeconfigText({ url, token, ca }: ServedAt, others: readonly string[] = []): string {
  const clusters = [
    { name: OWN, server: url },
    ...others.map((name) => ({ name: contextOf(name), server: url + pathOfCluster(name) })),
  ]
  return `${
    JSON.stringify(
      {
        apiVersion: 'v1',
        kind: 'Config',
        'current-context': OWN,
        contexts: clusters.map(({ name }) => ({ name, context: { cluster: name, user: OWN, namespace: 'default' } })),
        clusters: clusters.map(({ name, server }) => ({
          name,
          cluster: { server, 'certificate-authority-data': btoa(ca) },
        })),
        users: [{ name: OWN, user: { token } }],
      },
      null,
      2,
    )
  }\n`
}

/** The context of another cluster: its name, unless the operator's own has that. */
export function contextOf(name: string): string {
  return name === OWN ? `${OWN}.other` : name
}
