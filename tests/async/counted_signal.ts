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
