/** The metrics of webhooks. A file of its own: it is loaded only if metrics are on. */
import type { Counter, Gauge, Histogram, HistogramDefinition, Meter, MetricDefinition } from '../observe/metrics.ts'

const LATENCY: HistogramDefinition<'webhook'> = {
  name: 'controller_runtime_webhook_latency_seconds',
  help: 'Time to answer a request to a webhook.',
  labels: ['webhook'],
  // From 10 ns to 1,000 s, as in controller-runtime.
  buckets: Array.from({ length: 12 }, (_, exponent) => Number(`1e${exponent - 8}`)),
}

const REQUESTS: MetricDefinition<'webhook' | 'code'> = {
  name: 'controller_runtime_webhook_requests_total',
  help: 'Number of requests to a webhook by HTTP status code.',
  labels: ['webhook', 'code'],
}

const IN_FLIGHT: MetricDefinition<'webhook'> = {
  name: 'controller_runtime_webhook_requests_in_flight',
  help: 'Number of requests to a webhook that are being answered.',
  labels: ['webhook'],
}

const PANICS: MetricDefinition<never> = {
  name: 'controller_runtime_webhook_panics_total',
  help: 'Number of admission requests whose function threw an error that is not an API error.',
  labels: [],
}

const CONVERSION_PANICS: MetricDefinition<never> = {
  name: 'controller_runtime_conversion_webhook_panics_total',
  help: 'Number of conversion requests whose function threw an error.',
  labels: [],
}

const READS: MetricDefinition<never> = {
  name: 'certwatcher_read_certificate_total',
  help: 'Number of reads of the serving certificate.',
  labels: [],
}

const READ_ERRORS: MetricDefinition<never> = {
  name: 'certwatcher_read_certificate_errors_total',
  help: 'Number of reads of the serving certificate that failed, or found a pair that cannot be used.',
  labels: [],
}

const NOT_AFTER: MetricDefinition<'server'> = {
  name: 'kubeloop_certificate_expiration_timestamp_seconds',
  help: 'When the serving certificate ends, in seconds since 1970, by server (webhooks or metrics).',
  labels: ['server'],
}

/** Creates the metrics of webhooks. */
export interface WebhookMeter extends CertificateMeter {
  webhooks(): WebhookMetrics
}

/** Creates the metrics of serving certificates. */
export interface CertificateMeter {
  /** Returns the metrics of the certificate of one server. */
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
  const latency = meter.histogram(LATENCY)
  const inFlight = meter.gauge(IN_FLIGHT)
  const requests = meter.counter(REQUESTS)
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
      return {
        latency: latency.with({ webhook }),
        inFlight: inFlight.with({ webhook }),
        requests: counter,
      }
    },
    panics: { admission: meter.counter(PANICS).with({}), conversion: meter.counter(CONVERSION_PANICS).with({}) },
  }
}

/** Returns the metrics of a server's certificate. */
export function certificateMetrics(meter: Meter, server: string): CertificateMetrics {
  return {
    reads: meter.counter(READS).with({}),
    readErrors: meter.counter(READ_ERRORS).with({}),
    notAfter: meter.gauge(NOT_AFTER).with({ server }),
  }
}
