/** Calls the handlers of one kind, in the order of the changes. A failing handler does not affect the others. */
import { messageOf } from '../core/errors.ts'
import { formatMs } from '../core/duration.ts'
import type { KubeObject } from '../core/objects.ts'
import { type TurnBudget, turnBudgetOf } from '../async/clock.ts'
import { Latch } from '../async/latch.ts'
import type { RandomPartEnvironment } from '../observe/environment.ts'
import type { Delta, Deltas, Snapshot } from './store.ts'

/** Called for each change. It should not throw: an error is logged, and this handler loses the event. */
export type Handler<T extends KubeObject = KubeObject> = (delta: Delta<T>) => void

/** Options of an informer's handler. */
export interface HandlerOptions {
  /**
   * The period in milliseconds after which the handler gets every object of the store as an update, without a request
   * to the server. At least 1000; it varies by up to 10 % at random, to spread the load. Default: never.
   */
  readonly resyncMs?: number | undefined
}

export interface HandlerSetOptions<T extends KubeObject> extends RandomPartEnvironment {
  /** The kind, for messages: `pods`. */
  readonly name: string
  readonly store: { snapshot(): Snapshot<T> }
}

/** Deltas that a handler gets one after the other. Several handlers share those of a list. */
interface Part<T extends KubeObject> {
  readonly deltas: Deltas<T>
  /** The number of deltas that the handler got. */
  delivered: number
  /** `list`: a list, or the whole store when the handler was added. After it, the handler is synced. */
  readonly kind: 'list' | 'events' | 'resync'
}

interface Member<T extends KubeObject> {
  readonly handler: Handler<T>
  readonly resyncMs: number | undefined
  cancelResync: () => void
  /** What the handler has not got yet, in order. While it is empty, events are delivered at once. */
  readonly backlog: Part<T>[]
  isCatchingUp: boolean
  readonly synced: Latch
  readonly removed: Latch
}

export interface Membership {
  /** Opens when the handler got the first list, or, if it was added later, the whole store. */
  readonly synced: Latch
  /** Opens when the handler is removed, or the set has ended. */
  readonly removed: Latch
  remove(): void
}

/** The max number of waiting events per part. A part is freed when all its events are delivered. */
const EVENTS_PER_PART = 1024

export class HandlerSet<T extends KubeObject> {
  readonly #options: HandlerSetOptions<T>
  readonly #budget: TurnBudget
  readonly #members = new Set<Member<T>>()
  #isRunning = false
  #isListed = false
  /** The store as initial adds, shared by handlers added together. Dropped when the store changes or one got all. */
  #initialAdds: Deltas<T> | undefined

  constructor(options: HandlerSetOptions<T>) {
    this.#options = options
    this.#budget = turnBudgetOf(options.clock)
  }

  /**
   * Adds a handler. It gets everything in the store as initial adds before any later change: at once, or over several
   * turns of the event loop if that takes long.
   *
   * @throws RangeError if `resyncMs` is less than 1000.
   */
  add(handler: Handler<T>, { resyncMs }: HandlerOptions = {}): Membership {
    if (resyncMs !== undefined && !(resyncMs >= 1000)) {
      throw new RangeError(
        `Cannot resync a handler of ${this.#options.name} every ${formatMs(resyncMs)}: the shortest period is 1 s`,
      )
    }
    const [synced, removed] = [new Latch(), new Latch()]
    const member: Member<T> = {
      handler,
      resyncMs,
      cancelResync: () => {},
      backlog: [],
      isCatchingUp: false,
      synced,
      removed,
    }
    this.#members.add(member)
    if (this.#isListed) {
      const deltas = (this.#initialAdds ??= this.#ofAll((object) => ({ kind: 'added', object, initial: true })))
      this.#deliver(member, { deltas, delivered: 0, kind: 'list' })
    }
    if (this.#isRunning) this.#resyncLater(member)
    return { synced, removed, remove: () => this.#remove(member) }
  }

  /** Starts the resyncs. */
  begin(): void {
    this.#isRunning = true
    for (const member of this.#members) this.#resyncLater(member)
  }

  /** Removes all handlers. */
  end(): void {
    this.#isRunning = false
    for (const member of this.#members) this.#remove(member)
  }

  /**
   * Notifies handlers of an event, after the store was changed. Handlers without a backlog are called synchronously.
   */
  notify(deltas: readonly Delta<T>[]): void {
    this.#initialAdds = undefined
    // A copy, because a handler that is added meanwhile already gets the new state from the store.
    for (const member of [...this.#members]) {
      if (member.backlog.length > 0) this.#append(member, deltas)
      else for (const delta of deltas) if (this.#members.has(member)) this.#call(member, delta)
    }
  }

  /** Notifies handlers of the changes of a list, in turns if that takes long. Resolves when all handlers are synced. */
  async notifyOfList(deltas: Deltas<T>): Promise<void> {
    this.#initialAdds = undefined
    this.#isListed = true
    const members = [...this.#members]
    for (const member of members) {
      if (this.#members.has(member)) this.#deliver(member, { deltas, delivered: 0, kind: 'list' })
    }
    for (const { synced, removed } of members) await Promise.race([synced.opened, removed.opened])
  }

  #remove(member: Member<T>): void {
    member.cancelResync()
    this.#members.delete(member)
    member.backlog.length = 0
    member.removed.open()
    this.#initialAdds = undefined
  }

  /**
   * Returns a delta for each object in the store. A delta is created when a handler reaches it, to save time now.
   */
  #ofAll(deltaOf: (object: T) => Delta<T>): Deltas<T> {
    const objects = this.#options.store.snapshot()
    return { length: objects.length, at: (i) => deltaOf(objects.at(i)!) }
  }

  #append({ backlog }: Member<T>, deltas: readonly Delta<T>[]): void {
    const last = backlog.at(-1)!
    if (last.kind === 'events' && last.deltas.length < EVENTS_PER_PART) {
      ;(last.deltas as unknown as Delta<T>[]).push(...deltas)
    } else backlog.push({ deltas: [...deltas], delivered: 0, kind: 'events' })
  }

  #deliver(member: Member<T>, part: Part<T>): void {
    member.backlog.push(part)
    if (!member.isCatchingUp) void this.#catchUp(member)
  }

  /** Delivers a handler's backlog, over several turns of the event loop if that takes long. Never rejects. */
  async #catchUp(member: Member<T>): Promise<void> {
    member.isCatchingUp = true
    const { backlog } = member
    for (let part = backlog[0]; part !== undefined; part = backlog[0]) {
      if (part.delivered < part.deltas.length) this.#call(member, part.deltas.at(part.delivered++)!)
      // The handler may have removed itself, which clears the backlog.
      if (part.delivered >= part.deltas.length && backlog[0] === part) {
        backlog.shift()
        if (part.kind === 'list') {
          member.synced.open()
          this.#initialAdds = undefined
        }
      }
      if (this.#budget.isSpent) await this.#budget.turn()
    }
    member.isCatchingUp = false
  }

  #resyncLater(member: Member<T>): void {
    if (member.resyncMs === undefined) return
    const { clock, random } = this.#options
    member.cancelResync = clock.after(member.resyncMs * (0.9 + 0.2 * random()), () => {
      // Skipped if the handler still has a backlog.
      if (member.backlog.length === 0) {
        this.#deliver(member, {
          deltas: this.#ofAll((object) => ({ kind: 'updated', object, old: object })),
          delivered: 0,
          kind: 'resync',
        })
      }
      if (this.#members.has(member)) this.#resyncLater(member)
    })
  }

  #call({ handler }: Member<T>, delta: Delta<T>): void {
    const failed = (error: unknown): void => {
      const { name, log } = this.#options
      log.error(`A handler of ${name} threw and loses the event: ${messageOf(error)}`, { error })
    }
    try {
      // An async function is assignable to Handler, and its unhandled rejection would end the process.
      const result: unknown = handler(delta)
      if (result instanceof Promise) result.catch(failed)
    } catch (error) {
      failed(error)
    }
  }
}
