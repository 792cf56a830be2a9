/** The metrics of webhooks. A file of its own: it is loaded only if metrics are on. */
import type { Counter, Gauge, Histogram, Meter, MetricDefinition } from '../../observe/metrics.ts'

const HELP = {
  controller_runtime_webhook_latency_seconds: 'Time to answer a request to a webhook.',
  controller_runtime_webhook_requests_total: 'Number of requests to a webhook by HTTP status code.',
  controller_runtime_webhook_requests_in_flight: 'Number of requests to a webhook that are being answered.',
  controller_runtime_webhook_panics_total:
    'Number of admission requests whose function threw an error that is not an API error.',
  controller_runtime_conversion_webhook_panics_total: 'Number of conversion requests whose function threw an error.',
  certwatcher_read_certificate_total: 'Number of reads of the serving certificate.',
  certwatcher_read_certificate_errors_total:
    'Number of reads of the serving certificate that failed, or found a pair that cannot be used.',
  kubeloop_certificate_expiration_timestamp_seconds:
    'When the serving certificate ends, in seconds since 1970, by server (webhooks or metrics).',
}

function metric<L extends string = never>(name: keyof typeof HELP, ...labels: readonly L[]): MetricDefinition<L> {
  return { name, help: HELP[name], labels }
}

/** From 10 ns to 1,000 s, as in controller-runtime. */
const BUCKETS = Array.from({ length: 12 }, (_, exponent) => Number(`1e${exponent - 8}`))

/** Creates the metrics of webhooks. */
export interface WebhookMeter extends CertificateMeter {
  webhooks(): WebhookMetrics
}

/** Creates the metrics of serving certificates. */
export interface CertificateMeter {
  certificates(server: 'webhooks' | 'metrics'): CertificateMetrics
}

/** The metrics of a serving certificate. The counters are shared by all servers, as in controller-runtime. */
export interface CertificateMetrics {
  readonly reads: Counter
  readonly readErrors: Counter
  /** The end of its validity, in seconds since 1970. */
  readonly notAfter: Gauge
}

/** The metrics of a webhook server. */
export interface WebhookMetrics {
  /** Returns the metrics of one path, which is their label. */
  path(path: string): PathMetrics
  /** The counters of requests whose function threw. */
  readonly panics: Readonly<Record<'admission' | 'conversion', Counter>>
}

/** The metrics of one path. */
export interface PathMetrics {
  /** In seconds. */
  readonly latency: Histogram
  readonly inFlight: Gauge
  /** Returns the counter of answers with this HTTP status. */
  requests(code: number): Counter
}

/** Returns the metrics under controller-runtime's names, with its labels and buckets. */
export function webhookMetrics(meter: Meter): WebhookMetrics {
  const latency = meter.histogram({
    ...metric('controller_runtime_webhook_latency_seconds', 'webhook'),
    buckets: BUCKETS,
  })
  const inFlight = meter.gauge(metric('controller_runtime_webhook_requests_in_flight', 'webhook'))
  const requests = meter.counter(metric('controller_runtime_webhook_requests_total', 'webhook', 'code'))
  return {
    path(webhook) {
      const counters = new Map<number, Counter>()
      const counter = (code: number): Counter => {
        let found = counters.get(code)
        if (!found) counters.set(code, found = requests.with({ webhook, code: String(code) }))
        return found
      }
      // The most likely ones exist before the first request, so that rates start at 0.
      counter(200)
      counter(500)
      return { latency: latency.with({ webhook }), inFlight: inFlight.with({ webhook }), requests: counter }
    },
    panics: {
      admission: meter.counter(metric('controller_runtime_webhook_panics_total')).with({}),
      conversion: meter.counter(metric('controller_runtime_conversion_webhook_panics_total')).with({}),
    },
  }
}

export function certificateMetrics(meter: Meter, server: string): CertificateMetrics {
  return {
    reads: meter.counter(metric('certwatcher_read_certificate_total')).with({}),
    readErrors: meter.counter(metric('certwatcher_read_certificate_errors_total')).with({}),
    notAfter: meter.gauge(metric('kubeloop_certificate_expiration_timestamp_seconds', 'server')).with({ server }),
  }
}
