/** A transport that delivers the data of watches later, in order. */
import type { Transport } from '../../lib/core/transport.ts'
import type { Clock } from '../../lib/async/clock.ts'
import { Stream } from './scripted_server.ts'

export function delayedWatches(inner: Transport, clock: Clock, delayMs: number): Transport {
  return async (request) => {
    const response = await inner(request)
    if (!/[?&]watch=true/.test(request.path) || response.status !== 200) return response
    const delayed = new Stream()
    const later = (then: () => void): void => void clock.after(delayMs, then)
    const pump = async (): Promise<void> => {
      try {
        for await (const chunk of response.body) {
          const bytes = chunk.slice()
          later(() => delayed.bytes(bytes))
        }
        later(() => delayed.end())
      } catch (error) {
        // Errors and aborts are not delayed.
        delayed.fail(error)
      }
    }
    void pump()
    return { ...response, body: delayed.body() }
  }
}
