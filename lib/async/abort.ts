/**
 * Derives abort signals and waits with them, without leaking listeners.
 *
 * `AbortSignal.any` leaks: a long-lived source keeps every short-lived signal derived from it. These helpers remove
 * each listener that they add.
 */

/** An abort controller that follows its parents until it is disposed. */
export interface AbortScope extends Disposable {
  readonly signal: AbortSignal
  abort(reason?: unknown): void
}

const ONCE = { once: true } as const

/** Returns a scope that is aborted with the first of its parents, or by itself. Disposing it only removes listeners. */
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
 * An abort signal that is created when it is first read: creating and aborting one takes longer than a small reconcile.
 * Follows the parent, if there is one, from that time until it is aborted.
 */
export class LazyAbort {
  readonly #parent: AbortSignal | undefined
  #scope: AbortController | AbortScope | undefined
  #end: { readonly reason: unknown } | undefined

  constructor(parent?: AbortSignal) {
    this.#parent = parent
  }

  get signal(): AbortSignal {
    if (!this.#scope) {
      this.#scope = this.#parent ? abortScope(this.#parent) : new AbortController()
      if (this.#end) end(this.#scope, this.#end.reason)
    }
    return this.#scope.signal
  }

  /** Aborts the signal, also one that is read later. Returns false, and does nothing, if this was called before. */
  abort(reason: unknown): boolean {
    if (this.#end) return false
    this.#end = { reason }
    if (this.#scope) end(this.#scope, reason)
    return true
  }

  /** The same for the end of a call, with one reason for all calls, because creating one is slow. */
  end(): void {
    this.abort(callEnded ??= new DOMException('The call has ended', 'AbortError'))
  }
}

let callEnded: DOMException | undefined

function end(scope: AbortController | AbortScope, reason: unknown): void {
  scope.abort(reason)
  if (Symbol.dispose in scope) scope[Symbol.dispose]()
}

/**
 * Returns a promise for something that can be cancelled: `begin` gets `resolve` and returns a function that cancels.
 * An abort cancels and rejects with the signal's reason. `begin` is not called if the signal is already aborted.
 */
export function rejectOnAbort<T = void>(
  signal: AbortSignal | undefined,
  begin: (resolve: (value: T) => void) => () => void,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    let settled = false
    const cancel = begin((value) => {
      settled = true
      signal?.removeEventListener('abort', onAbort)
      resolve(value)
    })
    function onAbort(): void {
      cancel()
      reject(signal?.reason)
    }
    if (!settled) signal?.addEventListener('abort', onAbort, { once: true })
  })
}

/** Settles with the promise, or rejects with the signal's reason if it is aborted first. A later result is ignored. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise
  return new Promise<T>((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    // Also after an abort: an unhandled rejection would end the process.
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}

/** Whether an error is the signal's reason or an AbortError, or was caused by one. */
export function isAbort(error: unknown, signal: AbortSignal): boolean {
  if (error === signal.reason) return true
  return error instanceof Error && (error.name === 'AbortError' || isAbort(error.cause, signal))
}

/** Resolves when the signal is aborted; never rejects. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
