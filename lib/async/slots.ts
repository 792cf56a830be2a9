/** Limits how many callers go on at a time. */

export class Slots {
  #free: number
  /**
   * Those that wait, by their signals, which have turns: one that has thousands does not keep the others waiting. With
   * a listener for each of thousands on one signal, Node would take seconds to add them.
   */
  readonly #waiting = new Map<AbortSignal | undefined, Set<PromiseWithResolvers<void>>>()
  readonly #onAbort = ({ target }: Event): void => {
    const signal = target as AbortSignal
    for (const { reject } of this.#waiting.get(signal)!) reject(signal.reason)
    this.#waiting.delete(signal)
  }

  constructor(count: number) {
    this.#free = count
  }

  /** Takes a slot. Returns a promise if none is free, which rejects with the signal's reason when that is aborted. */
  take(signal: AbortSignal | undefined): Promise<void> | undefined {
    if (this.#free > 0) return void this.#free--
    const waiting = Promise.withResolvers<void>()
    const others = this.#waiting.get(signal)
    if (others) others.add(waiting)
    else if (signal?.aborted) waiting.reject(signal.reason)
    else {
      this.#waiting.set(signal, new Set([waiting]))
      signal?.addEventListener('abort', this.#onAbort, { once: true })
    }
    return waiting.promise
  }

  /** Gives a slot back. */
  give(): void {
    const [turn] = this.#waiting
    if (!turn) return void this.#free++
    const [signal, all] = turn
    const [next] = all
    all.delete(next!)
    this.#waiting.delete(signal)
    if (all.size > 0) this.#waiting.set(signal, all)
    else signal?.removeEventListener('abort', this.#onAbort)
    next!.resolve()
  }
}
