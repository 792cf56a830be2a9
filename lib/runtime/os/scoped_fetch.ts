/** Replaces the global `fetch` for the asynchronous work that a caller starts. */
import { AsyncLocalStorage } from 'node:async_hooks'

/**
 * Answers in place of the global `fetch`, which is `real`. `signal` is the one that the caller gave: on Node the signal
 * of a request is not aborted with it once the request is garbage.
 */
export type ScopedFetch = (request: Request, real: typeof fetch, signal: AbortSignal | undefined) => Promise<Response>

const scope = new AsyncLocalStorage<ScopedFetch>()
/** The number of callers of {@link replaceFetch} whose replacement has not ended. */
let users = 0

/** Calls `fn`. A global `fetch` in it, and in all that it starts, is `fetch` while that is replaced. */
export function withFetch<T>(fetch: ScopedFetch, fn: () => T): T {
  return scope.run(fetch, fn)
}

/** Replaces the global `fetch`; outside of {@link withFetch} it stays as it is. Returns what ends that. */
export function replaceFetch(): () => void {
  if (users++ === 0) install()
  let isOver = false
  return () => {
    if (!isOver && --users === 0) restore()
    isOver = true
  }
}

let restore = (): void => {}

function install(): void {
  const real = globalThis.fetch
  const replaced = async (...[input, init]: Parameters<typeof fetch>): Promise<Response> => {
    const own = users > 0 ? scope.getStore() : undefined
    if (!own) return await real(input, init)
    const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined)
    return await own(new Request(input, init), real, signal)
  }
  // Bun's has functions of its own.
  globalThis.fetch = Object.setPrototypeOf(replaced, real) as typeof fetch
  restore = () => {
    // Another replacement may have this one inside.
    if (globalThis.fetch === replaced) globalThis.fetch = real
  }
}
