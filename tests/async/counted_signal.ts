/** Returns a signal that counts its listeners: one that stays on a long-lived signal is a leak. */
export function countedSignal(): { readonly controller: AbortController; readonly listeners: () => number } {
  const controller = new AbortController()
  const { signal } = controller
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
  return { controller, listeners: () => listening.size }
}
