/** Answers the global `fetch` of an operator in a world, in place of services outside of the cluster. */
import { NetworkError } from 'kubeloop'
import type { Fetch } from 'kubeloop/parts'
import { untilAborted } from '../../async/abort.ts'
import { messageOf } from '../../core/errors.ts'
import { replaceFetch, type ScopedFetch } from '../../runtime/os/scoped_fetch.ts'
import type { Activity } from './activity.ts'
import type { Faults } from './faults.ts'
import { originOf } from './origins.ts'

/** Hosts of real servers of a test. */
const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/

export class Services {
  readonly #handlers = new Map<string, Fetch>()
  readonly #activity: Activity
  readonly #faults: Faults
  #restore: (() => void) | undefined
  #isClosed = false

  constructor(activity: Activity, faults: Faults) {
    this.#activity = activity
    this.#faults = faults
  }

  /** Replaces a service of the same origin. */
  add(url: string, handler: Fetch): void {
    if (this.#isClosed) throw new Error(`Cannot add the service ${url}: the world has stopped`)
    const origin = originOf(url, 'Cannot add the service')
    if (typeof handler !== 'function') {
      throw new TypeError(
        `Cannot add the service ${url}: it needs a function of a Request that returns a Response, and has ${typeof handler}`,
      )
    }
    this.#restore ??= replaceFetch()
    this.#handlers.set(origin, handler)
  }

  close(): void {
    this.#isClosed = true
    this.#restore?.()
  }

  readonly fetch: ScopedFetch = async (request, real, signal = new AbortController().signal) => {
    // On Deno, what follows the abort of a body stays in the AsyncLocalStorage of its world: the next test.
    if (this.#isClosed) return await real(request)
    const { origin, hostname, pathname } = new URL(request.url)
    const handler = this.#handlers.get(origin)
    if (!handler) {
      // A world without services changes nothing.
      if (this.#handlers.size === 0 || LOOPBACK.test(hostname)) return await real(request)
      throw new TypeError(
        `Cannot fetch ${origin}${pathname}: no service of the world answers; add w.service('${origin}', (request) => …)`,
      )
    }
    // A handler may ignore the signal.
    const answer = (): Promise<Response> =>
      this.#activity.during(
        `${request.method} ${origin}${pathname}`,
        () => untilAborted((async () => await handler(request))(), signal),
      )
    try {
      return sent(await this.#faults.serve(origin, signal, answer), request.url, signal)
    } catch (error) {
      if (!(error instanceof NetworkError)) throw error
      throw new TypeError(`fetch failed: ${messageOf(error)}`, { cause: error })
    }
  }
}

/** Returns the answer as a caller of `fetch` has it: with its URL, and a body that ends with the signal. */
function sent(answer: unknown, url: string, signal: AbortSignal): Response {
  if (!(answer instanceof Response)) {
    throw new TypeError(`The service of ${url} answered with a value of type ${typeof answer}; it must be a Response`)
  }
  const { body, status, statusText, headers } = answer
  const response = body
    ? new Response(body.pipeThrough(new TransformStream(), { signal }), { status, statusText, headers })
    : answer
  return Object.defineProperty(response, 'url', { value: url })
}
