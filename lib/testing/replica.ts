/** One replica in a world: its connections, clock and log, which all end at once when it is killed. */
import type { Clock, Log, Parts, Runnable, Transport } from 'kubeloop'
import type { HttpBody } from '../core/transport.ts'
import type { ReplicaRuns } from './replica_runs.ts'

/**
 * A replica. Killed, it is to the rest of the world what a process is after SIGKILL: no request of its own reaches an
 * API server, none of its timers fires, and it logs nothing. Its code is not ended: it waits for ever at its next
 * request or timer.
 */
export class Replica {
  readonly number: number
  readonly runs: ReplicaRuns
  /** Known once it is assembled. */
  parts: Parts | undefined
  /** What its extensions added and a world does not start. */
  readonly servers: Runnable[] = []
  readonly clock: Clock
  readonly log: Log
  #isKilled = false
  /** Answers that are being read, such as those of watches. */
  readonly #open = new Set<HttpBody>()

  constructor(number: number, runs: ReplicaRuns, clock: Clock, log: Log) {
    this.number = number
    this.runs = runs
    this.clock = {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      after: (ms, fire) => clock.after(ms, () => void (this.#isKilled || fire())),
    }
    const line = (level: keyof Log): Log['info'] => (message, fields) => {
      if (!this.#isKilled) log[level](message, fields)
    }
    this.log = { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
  }

  get isKilled(): boolean {
    return this.#isKilled
  }

  kill(): void {
    this.#isKilled = true
    for (const body of this.#open) body.cancel()
    this.#open.clear()
  }

  /** Before an API server: no request passes any more, not even one that a fault has delayed. */
  sending(inner: Transport): Transport {
    return (request) => this.#isKilled ? never() : inner(request)
  }

  /** Around all else: no answer and no event of a watch arrives any more. */
  receiving(inner: Transport): Transport {
    return async (request) => {
      if (this.#isKilled) return await never()
      const response = await this.#unlessKilled(inner(request), ({ body }) => body.cancel())
      return { ...response, body: this.#reading(response.body) }
    }
  }

  #reading(body: HttpBody): HttpBody {
    this.#open.add(body)
    const end = (): void => void this.#open.delete(body)
    return {
      text: () => this.#unlessKilled(body.text().finally(end)),
      cancel() {
        end()
        body.cancel()
      },
      [Symbol.asyncIterator]: () => {
        const chunks = body[Symbol.asyncIterator]()
        return {
          next: async () => {
            const chunk = await this.#unlessKilled(chunks.next())
            if (chunk.done) end()
            return chunk
          },
          return: async () => {
            end()
            return await chunks.return?.() ?? { done: true, value: undefined }
          },
        }
      },
    }
  }

  async #unlessKilled<T>(work: Promise<T>, drop?: (late: T) => void): Promise<T> {
    try {
      const result = await work
      if (!this.#isKilled) return result
      drop?.(result)
    } catch (error) {
      if (!this.#isKilled) throw error
    }
    return await never()
  }
}

function never(): Promise<never> {
  return new Promise(() => {})
}
