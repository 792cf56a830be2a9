/** Passes items from senders to all listeners, with back-pressure. */
import { rejectOnAbort } from './abort.ts'

/** The same as in controller-runtime's channel sources. */
const DEFAULT_CAPACITY = 1024

interface Listener<T> {
  /** The number of its next item. */
  next: number
  /** Calls of `next` that wait for an item. */
  readonly waiting: ((result: IteratorResult<T, 'done' | undefined>) => void)[]
}

/**
 * A channel of items, for example the events of a source. Each iteration receives every item in the order of sending.
 * It starts with the oldest item in the channel: an item is removed once every iteration has received it, and kept
 * while there is no iteration. So items sent early are received by all iterations that begin together. When `capacity`
 * items are in the channel, senders wait for the slowest iteration. A sender that does not await `send` is held back by
 * nothing, and its items stay in memory.
 *
 * A source of `from` iterates on the leader alone, unless its controller has `everyReplica`: on another replica, sends
 * wait after `capacity` items until it leads. Send from the leader's work, or pass a signal.
 *
 * @example
 * ```ts
 * import { EventChannel } from 'kubeloop'
 * const channel = new EventChannel<{ namespace: string; name: string }>()
 * await channel.send({ namespace: 'default', name: 'a' })
 * channel.close()
 * for await (const { name } of channel) console.log(name) // 'a'
 * ```
 */
export class EventChannel<T> implements AsyncIterable<T, 'done' | undefined> {
  readonly #capacity: number
  /** Items that some listener has not received, and the number of the first one. */
  readonly #items: T[] = []
  #first = 0
  readonly #listeners = new Set<Listener<T>>()
  /** Senders that wait for free capacity. */
  readonly #senders = new Set<{ readonly item: T; readonly settle: (refusal: Error | undefined) => void }>()
  #closed = false
  /** Whether a removal of received items is scheduled. */
  #isTrimming = false

  /**
   * Default capacity: 1024.
   *
   * @throws RangeError if the capacity is not an integer of at least 1.
   */
  constructor(capacity: number = DEFAULT_CAPACITY) {
    if (!Number.isInteger(capacity) || capacity < 1) {
      throw new RangeError(
        `Cannot create an event channel: its capacity is ${capacity}, and must be an integer of at least 1`,
      )
    }
    this.#capacity = capacity
  }

  /**
   * Resolves when the item is in the channel. Rejects if the channel is closed before that, or with the signal's
   * reason. Await it for back-pressure.
   */
  send(item: T, signal?: AbortSignal): Promise<void> {
    if (this.#closed) return Promise.reject(closed())
    if (this.#items.length < this.#capacity && !signal?.aborted) {
      this.#accept(item)
      return Promise.resolve()
    }
    return rejectOnAbort<Error | undefined>(signal, (resolve) => {
      const sender = { item, settle: resolve }
      this.#senders.add(sender)
      return () => this.#senders.delete(sender)
    }).then((refusal) => {
      if (refusal) throw refusal
    })
  }

  /** Refuses further items. Iterations end after the items in the channel with the return
   * value `done`, so that a source of the channel ends too. Closing again has no effect. */
  close(): void {
    this.#closed = true
    for (const sender of this.#senders) sender.settle(closed())
    this.#senders.clear()
    for (const listener of this.#listeners) this.#wake(listener)
  }

  /** Listens from this call on, until `return` is called (as `for await` does) or the channel is closed. */
  [Symbol.asyncIterator](): AsyncIterator<T, 'done' | undefined, void> {
    const listener: Listener<T> = { next: this.#first, waiting: [] }
    this.#listeners.add(listener)
    return {
      next: () =>
        new Promise((resolve) => {
          listener.waiting.push(resolve)
          this.#wake(listener)
        }),
      return: () => {
        this.#listeners.delete(listener)
        this.#wake(listener)
        this.#trimSoon()
        return Promise.resolve({ done: true, value: undefined })
      },
    }
  }

  #accept(item: T): void {
    this.#items.push(item)
    for (const listener of this.#listeners) this.#wake(listener)
  }

  /** Resolves the listener's waiting calls as far as there are items, or all of them at the end. */
  #wake(listener: Listener<T>): void {
    const isListening = this.#listeners.has(listener)
    const before = listener.next
    while (listener.waiting.length > 0) {
      const item = listener.next - this.#first
      if (isListening && item < this.#items.length) {
        listener.next++
        listener.waiting.shift()!({ done: false, value: this.#items[item]! })
      } else if (!isListening) listener.waiting.shift()!({ done: true, value: undefined })
      else if (this.#closed) listener.waiting.shift()!({ done: true, value: 'done' })
      else break
    }
    if (listener.next > before) this.#trimSoon()
  }

  /** Trims in a microtask, so that listeners that begin together receive the same items. */
  #trimSoon(): void {
    if (this.#isTrimming) return
    this.#isTrimming = true
    queueMicrotask(() => this.#trim())
  }

  /** Removes the items that all listeners have received, and accepts those of waiting senders. */
  #trim(): void {
    this.#isTrimming = false
    let first = Infinity
    for (const { next } of this.#listeners) first = Math.min(first, next)
    if (first > this.#first && first < Infinity) {
      this.#items.splice(0, first - this.#first)
      this.#first = first
    }
    for (const sender of this.#senders) {
      if (this.#items.length >= this.#capacity) return
      this.#senders.delete(sender)
      sender.settle(undefined)
      this.#accept(sender.item)
    }
  }
}

function closed(): Error {
  return new Error('Cannot send to an event channel: it was closed; stop sending after close()')
}
