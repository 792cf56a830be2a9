/** Items from whoever has them to everybody who listens, with back-pressure. */
import { rejectOnAbort } from './abort.ts'

/** As in controller-runtime's channel sources. */
const CAPACITY = 1024

interface Listener<T> {
  /** The number of the item that it hears next. */
  at: number
  /** Calls of `next` that wait for an item. */
  readonly waiting: ((result: IteratorResult<T, undefined>) => void)[]
}

/**
 * Each iteration hears every item, in the order in which they were sent: from the oldest one on that another iteration has not
 * heard yet, and with no other there, from the oldest that nobody has heard. So what is sent before anybody listens is kept, for
 * all who then begin together. At most `capacity` items wait; then senders do, for the slowest listener.
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
export class EventChannel<T> implements AsyncIterable<T, undefined> {
  readonly #capacity: number
  /** Items that a listener has yet to hear, and the number of the first of them. */
  readonly #items: T[] = []
  #first = 0
  readonly #listeners = new Set<Listener<T>>()
  /** Senders that wait for a place. */
  readonly #senders = new Set<{ readonly item: T; readonly settle: (refusal: Error | undefined) => void }>()
  #closed = false
  /** Whether what all have heard is about to be let go of. */
  #isMoving = false

  /** `capacity`: a whole number from 1 on. Default: 1024. */
  constructor(capacity: number = CAPACITY) {
    if (!Number.isInteger(capacity) || capacity < 1) {
      throw new RangeError(
        `Cannot make an event channel: its capacity is ${capacity}, and must be a whole number from 1 on`,
      )
    }
    this.#capacity = capacity
  }

  /**
   * Settles when the item has its place; rejects when the channel is closed before that, or with the signal's reason.
   * Who does not wait sends without back-pressure.
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

  /** Takes no more items. Iterations end when they have heard what was accepted. May be called again. */
  close(): void {
    this.#closed = true
    for (const sender of this.#senders) sender.settle(closed())
    this.#senders.clear()
    for (const listener of this.#listeners) this.#wake(listener)
  }

  /** Listens from this call on, until `return` is called, as `for await` does, or the channel is closed. */
  [Symbol.asyncIterator](): AsyncIterator<T, undefined, void> {
    const listener: Listener<T> = { at: this.#first, waiting: [] }
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
        this.#moveSoon()
        return Promise.resolve({ done: true, value: undefined })
      },
    }
  }

  #accept(item: T): void {
    this.#items.push(item)
    for (const listener of this.#listeners) this.#wake(listener)
  }

  /** Answers what the listener waits for, as far as there is something. */
  #wake(listener: Listener<T>): void {
    const isListening = this.#listeners.has(listener)
    const before = listener.at
    while (listener.waiting.length > 0) {
      const item = listener.at - this.#first
      if (isListening && item < this.#items.length) {
        listener.at++
        listener.waiting.shift()!({ done: false, value: this.#items[item]! })
      } else if (!isListening || this.#closed) listener.waiting.shift()!({ done: true, value: undefined })
      else break
    }
    if (listener.at > before) this.#moveSoon()
  }

  /** Not at once: those who begin to listen together hear the same. */
  #moveSoon(): void {
    if (this.#isMoving) return
    this.#isMoving = true
    queueMicrotask(() => this.#move())
  }

  /** Lets go of what all have heard, and lets senders in. */
  #move(): void {
    this.#isMoving = false
    let heard = Infinity
    for (const { at } of this.#listeners) heard = Math.min(heard, at)
    if (heard > this.#first && heard < Infinity) {
      this.#items.splice(0, heard - this.#first)
      this.#first = heard
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
  return new Error('Cannot send to an event channel: it was closed')
}
