/** Counts the listeners of signals: one that stays on a long-lived signal is a leak. */

/** Returns a function that returns how many of the listeners that are added from now on are left. */
export function countListeners(signal: AbortSignal): () => number {
  const listening = new Set<unknown>()
  const { addEventListener, removeEventListener } = signal
  signal.addEventListener = (...args: Parameters<AbortSignal['addEventListener']>) => {
    listening.add(args[1])
    // An abort removes only listeners with `once`.
    const isOnce = typeof args[2] === 'object' && args[2].once
    if (isOnce) addEventListener.call(signal, 'abort', () => listening.delete(args[1]), { once: true })
    addEventListener.apply(signal, args)
  }
  signal.removeEventListener = (...args: Parameters<AbortSignal['removeEventListener']>) => {
    listening.delete(args[1])
    removeEventListener.apply(signal, args)
  }
  return () => listening.size
}

/** Returns a signal that counts its listeners. */
export function countedSignal(): { readonly controller: AbortController; readonly listeners: () => number } {
  const controller = new AbortController()
  return { controller, listeners: countListeners(controller.signal) }
}

/**
 * Counts the listeners of all signals, so also those of signals that a test cannot reach: what is repeated must not add
 * any. `end` ends the count.
 */
export function countAllListeners(): { readonly listeners: () => number; end(): void } {
  const counts = new Map<AbortSignal, () => number>()
  const { prototype } = EventTarget
  const { addEventListener } = prototype
  prototype.addEventListener = function (this: EventTarget, ...args: Parameters<EventTarget['addEventListener']>) {
    if (!(this instanceof AbortSignal) || counts.has(this)) return addEventListener.apply(this, args)
    counts.set(this, countListeners(this))
    this.addEventListener(...args as Parameters<AbortSignal['addEventListener']>)
  }
  return {
    listeners: () => [...counts.values()].reduce((sum, count) => sum + count(), 0),
    end: () => void (prototype.addEventListener = addEventListener),
  }
}
