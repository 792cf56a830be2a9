/** Builds what Prometheus needs to scrape an operator: the right, the ServiceMonitor, and the certificate. */
import type { MetricsOptions, OperatorOptions } from '../../operator/description/options.ts'
import { reviewsTokens } from '../../rights/likely.ts'

type Labels = Readonly<Record<string, string>>

function secureOf({ metrics }: Pick<OperatorOptions, 'metrics'>): Pick<MetricsOptions, 'tls' | 'auth'> {
  return typeof metrics === 'object' ? metrics : {}
}

/** Returns the folder of the certificate of the metrics; undefined without one. */
export function metricsFolder(options: Pick<OperatorOptions, 'metrics'>): string | undefined {
  const { tls } = secureOf(options)
  return typeof tls === 'object' ? tls.certs : undefined
}

/** Returns the ClusterRole to bind to the ServiceAccount of Prometheus, if the operator asks for the right. */
export function metricsReader(options: OperatorOptions, labels: Labels): object | undefined {
  if (!reviewsTokens(options)) return undefined
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: `${options.name}-metrics-reader`, labels },
    rules: [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }],
  }
}

export function metricsHost(name: string, namespace: string): string {
  return `${name}-metrics.${namespace}.svc`
}

/** @throws Error if Prometheus could not verify the certificate: it would send its token to any server. */
export function metricsEndpoint(options: OperatorOptions, namespace: string): object {
  const { tls, auth } = secureOf(options)
  if (!tls) return { port: 'metrics' }
  if (metricsFolder(options) === undefined) {
    throw new Error(
      `Cannot write manifests of operator "${options.name}": with tls: true, Prometheus cannot verify the metrics' ` +
        "certificate, which lives as long as the process; set metrics: { tls: { certs: '/metrics-certs' } } in " +
        'operator(), which --cert-manager prints a certificate for, or leave --service-monitor out',
    )
  }
  return {
    port: 'metrics',
    scheme: 'https',
    ...(auth && { bearerTokenFile: '/var/run/secrets/kubernetes.io/serviceaccount/token' }),
    tlsConfig: {
      ca: { secret: { name: metricsSecret(options), key: 'ca.crt' } },
      serverName: metricsHost(options.name, namespace),
    },
  }
}

export function* metricsNotes(options: OperatorOptions, certManager = false): Iterable<string> {
  const { name } = options
  const certs = metricsFolder(options)
  if (certs !== undefined && !certManager) {
    const secret = metricsSecret(options)
    yield `The certificate of the metrics is mounted from the Secret "${secret}" at ${certs}: --cert-manager prints what keeps it`
  }
  if (reviewsTokens(options)) {
    yield `The metrics need a token: bind the ClusterRole "${name}-metrics-reader" to the ServiceAccount of Prometheus`
  }
}

/** Returns the name of the Secret with the certificate of the metrics, which is also that of its Certificate. */
export function metricsSecret({ name }: Pick<OperatorOptions, 'name'>): string {
  return `${name}-metrics-certs`
}
