/** Who hears of the changes of one kind. Handlers are called in the order of the changes, and a failing one does not disturb the others. */
import { messageOf } from '../core/errors.ts'
import { formatMs } from '../core/duration.ts'
import { formatKey, keyOf, type KubeObject } from '../core/objects.ts'
import type { Clock } from '../async/clock.ts'
import type { Log } from '../observe/log.ts'
import type { Delta, StoreReader } from './store.ts'

/** What a handler is told. It should not throw; what it throws or rejects with is logged, and the event is lost to it alone. */
export type Handler<T extends KubeObject = KubeObject> = (delta: Delta<T>) => void

export interface HandlerOptions {
  /**
   * Tells the handler of every object again and again, as an update of itself, from the store: the server is not asked.
   * The period is changed by up to a tenth at random, so that not all come at once. At least 1000. Default: never.
   */
  readonly resyncMs?: number | undefined
}

export interface HandlerSetOptions<T extends KubeObject> {
  /** What is told of, for messages: `pods`. */
  readonly name: string
  readonly store: StoreReader<T>
  readonly clock: Clock
  readonly random: () => number
  readonly log: Log
}

interface Member<T extends KubeObject> {
  readonly handler: Handler<T>
  readonly resyncMs: number | undefined
  cancelResync: () => void
}

export class HandlerSet<T extends KubeObject> {
  readonly #options: HandlerSetOptions<T>
  readonly #members = new Set<Member<T>>()
  #isRunning = false

  constructor(options: HandlerSetOptions<T>) {
    this.#options = options
  }

  /** Tells the handler of everything in the store, as initial adds, before any later change. Returns what removes it. */
  add(handler: Handler<T>, { resyncMs }: HandlerOptions = {}): () => void {
    if (resyncMs !== undefined && !(resyncMs >= 1000)) {
      throw new RangeError(`Cannot resync a handler of ${this.#options.name} every ${formatMs(resyncMs)}: the shortest period is 1 s`)
    }
    const member: Member<T> = { handler, resyncMs, cancelResync: () => {} }
    for (const object of this.#options.store.values()) this.#tell(member, { kind: 'added', object, initial: true })
    this.#members.add(member)
    if (this.#isRunning) this.#resyncLater(member)
    return () => {
      member.cancelResync()
      this.#members.delete(member)
    }
  }

  /** Begins to resync those who asked for it. */
  begin(): void {
    this.#isRunning = true
    for (const member of this.#members) this.#resyncLater(member)
  }

  /** Nobody is told of anything any more. */
  end(): void {
    this.#isRunning = false
    for (const member of this.#members) member.cancelResync()
    this.#members.clear()
  }

  tellAll(deltas: readonly Delta<T>[]): void {
    // The store is ahead of the deltas: a handler that is added meanwhile has been told of what they say.
    const members = [...this.#members]
    for (const delta of deltas) for (const member of members) if (this.#members.has(member)) this.#tell(member, delta)
  }

  #resyncLater(member: Member<T>): void {
    if (member.resyncMs === undefined) return
    const { clock, random, store } = this.#options
    member.cancelResync = clock.after(member.resyncMs * (0.9 + 0.2 * random()), () => {
      for (const object of [...store.values()]) {
        // What a handler does meanwhile may remove it.
        if (!this.#members.has(member)) return
        if (store.get(formatKey(keyOf(object))) === object) this.#tell(member, { kind: 'updated', object, old: object })
      }
      if (this.#members.has(member)) this.#resyncLater(member)
    })
  }

  #tell({ handler }: Member<T>, delta: Delta<T>): void {
    const failed = (error: unknown): void => {
      const { name, log } = this.#options
      log.error(`A handler of ${name} threw; the event is lost to it: ${messageOf(error)}`, { error })
    }
    try {
      // An async function passes for a handler, and its rejection would end the process.
      const told: unknown = handler(delta)
      if (told instanceof Promise) told.catch(failed)
    } catch (error) {
      failed(error)
    }
  }
}
