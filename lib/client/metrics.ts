/** Counts requests. A file of its own: it is loaded only if metrics are on. */
import type { Transport } from '../core/transport.ts'
import type { Meter, MetricDefinition } from '../observe/metrics.ts'

const REQUESTS_TOTAL: MetricDefinition<'code' | 'method' | 'host'> = {
  name: 'rest_client_requests_total',
  help:
    'Number of requests to the API server, by status code, method and host; the code is <error> without a response.',
  labels: ['code', 'method', 'host'],
}

/** Creates the metrics of requests. */
export interface RequestMeter {
  /** Returns a transport that counts its requests. `host` is the server, as `host:port`. */
  requests(transport: Transport, host: string): Transport
}

/** Returns a transport that counts every sent request, retries included, as client-go does. */
export function countingRequests(meter: Meter, transport: Transport, host: string): Transport {
  const series = meter.counter(REQUESTS_TOTAL)
  const count = (code: string, method: string): void => series.with({ code, method, host }).inc()
  return async (request) => {
    try {
      const response = await transport(request)
      count(String(response.status), request.method)
      return response
    } catch (error) {
      count('<error>', request.method)
      throw error
    }
  }
}
