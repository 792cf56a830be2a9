/**
 * Abort scopes. `AbortSignal.any` keeps its sources alive for as long as they live, so a long-lived signal
 * gathers every short one derived from it; these helpers remove each listener that they add.
 */

/** A controller that follows its parents until it is released. */
export interface AbortScope extends Disposable {
  readonly signal: AbortSignal
  abort(reason?: unknown): void
}

const ONCE = { once: true } as const

/** A signal that ends with the first of its parents, or on its own. Disposing it lets go of them without aborting. */
export function abortScope(...parents: readonly (AbortSignal | undefined)[]): AbortScope {
  const controller = new AbortController()
  const follow = ({ target }: Event): void => controller.abort((target as AbortSignal).reason)
  for (const parent of parents) {
    if (parent?.aborted) {
      controller.abort(parent.reason)
      break
    }
    parent?.addEventListener('abort', follow, ONCE)
  }
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    [Symbol.dispose]() {
      for (const parent of parents) parent?.removeEventListener('abort', follow)
    },
  }
}

/**
 * A promise around something that can be undone: `begin` gets `resolve` and returns how to undo.
 * An abort undoes it and rejects with the signal's reason.
 */
export function rejectOnAbort<T = void>(
  signal: AbortSignal | undefined,
  begin: (resolve: (value: T) => void) => () => void,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    let settled = false
    const undo = begin((value) => {
      settled = true
      signal?.removeEventListener('abort', onAbort)
      resolve(value)
    })
    function onAbort(): void {
      undo()
      reject(signal?.reason)
    }
    if (!settled) signal?.addEventListener('abort', onAbort, { once: true })
  })
}

/** Waits for a promise, but no longer than the signal lives. The promise itself goes on; how it ends then is of no interest. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise
  return new Promise<T>((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    // Also after an abort: a rejection that nobody listens to would end the process.
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}

/** Settles when the signal is aborted; never rejects. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
