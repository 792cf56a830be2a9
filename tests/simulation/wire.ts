/** The network of one simulated replica: it is observed, slow, and may garble what it carries. */
import { untilAborted } from '../../lib/async/abort.ts'
import { type HttpBody, type HttpRequest, type HttpResponse, mayPause } from '../../lib/core/transport.ts'
import { splitTarget } from '../../lib/core/requested_action.ts'

/** The parts of a query that differ between two watches of the same objects. */
const OF_ONE_WATCH = ['resourceVersion', 'resourceVersionMatch', 'timeoutSeconds', 'sendInitialEvents']

export class Wire {
  readonly #random: () => number
  readonly #open = new Map<object, string>()
  /** Garbles the next bytes of an open watch, or of the next answer to another request. */
  garbled: 'watch' | 'answer' | undefined
  readonly #hold: (ms: number) => Promise<void>
  /** What delays requests and answers now. */
  readonly delays = new Set<{ readonly maxMs: number }>()
  /** The time that each part of a watch takes. */
  lagMs = 0

  constructor(random: () => number, hold: (ms: number) => Promise<void>) {
    this.#random = random
    this.#hold = hold
  }

  /** The open watches: the cluster, the path, the selectors and the form of each. */
  get open(): readonly string[] {
    return [...this.#open.values()]
  }

  /** Returns the watches that are open more than once. */
  doubled(): readonly string[] {
    const { open } = this
    return open.filter((path, at) => open.indexOf(path) !== at)
  }

  /** Returns how long the next request or answer takes. */
  delayMs(): number {
    const maxMs = Math.max(0, ...Array.from(this.delays, (each) => each.maxMs))
    return maxMs === 0 ? 0 : Math.floor(this.#random() * maxMs)
  }

  receive(
    response: HttpResponse,
    cluster: string | null,
    { path: target, headers, signal }: HttpRequest,
  ): HttpResponse {
    const { path, query } = splitTarget(target)
    const isWatch = mayPause(target)
    for (const name of OF_ONE_WATCH) query.delete(name)
    const form = headers?.['accept']?.includes('PartialObjectMetadata') ? ', metadata' : ''
    const stream = {}
    if (isWatch && response.status < 300) this.#open.set(stream, `${cluster ?? 'own'} ${path}?${query}${form}`)
    const end = (): void => void this.#open.delete(stream)
    const { body } = response
    const chunkOf = (chunk: Uint8Array): Uint8Array => {
      if (this.garbled !== (isWatch ? 'watch' : 'answer')) return chunk
      this.garbled = undefined
      return chunk.map((byte, at) => at > chunk.length / 2 && at < chunk.length / 2 + 9 ? 1 : byte)
    }
    const lag = (): Promise<void> => untilAborted(this.#hold(this.lagMs), signal)
    const received: HttpBody = {
      endless: body.endless,
      text: async () => new TextDecoder().decode(chunkOf(new TextEncoder().encode(await body.text()))),
      cancel() {
        end()
        body.cancel()
      },
      async *[Symbol.asyncIterator]() {
        try {
          for await (const chunk of body) {
            if (isWatch) await lag()
            yield chunkOf(chunk)
          }
        } finally {
          end()
        }
      },
    }
    return { ...response, body: received }
  }
}
