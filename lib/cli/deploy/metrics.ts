/** Builds what Prometheus needs to scrape an operator: the right, the ServiceMonitor, and the mounted certificate. */
import type { MetricsOptions, OperatorOptions } from '../../operator/options.ts'
import { reviewsTokens } from '../../rights/likely.ts'

type Labels = Readonly<Record<string, string>>

/** A volume of a pod, and where its container mounts it. */
export interface Mounted {
  readonly volume: object
  readonly mount: object
}

function secureOf({ metrics }: Pick<OperatorOptions, 'metrics'>): Pick<MetricsOptions, 'tls' | 'auth'> {
  return typeof metrics === 'object' ? metrics : {}
}

function certsOf(options: Pick<OperatorOptions, 'metrics'>): string | undefined {
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

/** Returns the Secret with the certificate of the metrics, as it is mounted; undefined without one. */
export function metricsCertificate(options: OperatorOptions): Mounted | undefined {
  const mountPath = certsOf(options)
  if (mountPath === undefined) return undefined
  return {
    volume: { name: 'metrics-certs', secret: { secretName: secretOf(options) } },
    mount: { name: 'metrics-certs', mountPath, readOnly: true },
  }
}

/** Returns the endpoint of a ServiceMonitor. `service`: the name of the Service that the certificate is for. */
export function metricsEndpoint(options: OperatorOptions, service: string): object {
  const { tls, auth } = secureOf(options)
  if (!tls) return { port: 'metrics' }
  return {
    port: 'metrics',
    scheme: 'https',
    ...(auth && { bearerTokenFile: '/var/run/secrets/kubernetes.io/serviceaccount/token' }),
    tlsConfig: certsOf(options) === undefined
      // The certificate lives as long as the process, so it cannot be verified.
      ? { insecureSkipVerify: true }
      : { ca: { secret: { name: secretOf(options), key: 'ca.crt' } }, serverName: service },
  }
}

/** Returns hints for the user. */
export function* metricsNotes(options: OperatorOptions): Iterable<string> {
  const { name } = options
  const certs = certsOf(options)
  if (certs !== undefined) {
    yield `The certificate of the metrics is mounted from the Secret "${
      secretOf(options)
    }" at ${certs}: cert-manager can keep it`
  }
  if (reviewsTokens(options)) {
    yield `The metrics need a token: bind the ClusterRole "${name}-metrics-reader" to the ServiceAccount of Prometheus`
  }
}

function secretOf({ name }: Pick<OperatorOptions, 'name'>): string {
  return `${name}-metrics-certs`
}
