/** Requests counted as client-go counts them: each one that is sent, retries included. */
import type { Transport } from '../core/transport.ts'
import type { Counter, Meter, MetricDefinition } from '../observe/metrics.ts'

const REQUESTS_TOTAL: MetricDefinition<'code' | 'method' | 'host'> = {
  name: 'rest_client_requests_total',
  help: 'Requests to the API server by status code, method and host; the code is <error> where no answer came.',
  labels: ['code', 'method', 'host'],
}

/** Where requests are measured. */
export interface RequestMeter {
  /** A transport that counts. `host` is where it leads, as `host:port`. */
  requests(transport: Transport, host: string): Transport
}

export function countingRequests(meter: Meter, transport: Transport, host: string): Transport {
  const series = meter.counter(REQUESTS_TOTAL)
  const taken = new Map<string, Counter>()
  const count = (code: string, method: string): void => {
    const id = `${code} ${method}`
    let counter = taken.get(id)
    if (!counter) taken.set(id, counter = series.with({ code, method, host }))
    counter.inc()
  }
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
