/** Who hears of the changes of one kind. Handlers are called in the order of the changes, and a failing one does not disturb the others. */
import { messageOf } from '../core/errors.ts'
import { formatMs } from '../core/duration.ts'
import type { KubeObject } from '../core/objects.ts'
import { type Clock, type TurnBudget, turnBudgetOf } from '../async/clock.ts'
import { Latch } from '../async/latch.ts'
import type { Log } from '../observe/log.ts'
import type { Delta, StoreReader } from './store.ts'

/** What a handler is told. It should not throw; what it throws or rejects with is logged, and the event is lost to it alone. */
export type Handler<T extends KubeObject = KubeObject> = (delta: Delta<T>) => void

/** Options of an informer's handler. */
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

/** Deltas that a handler is told one after the other; several handlers share those of a list. */
interface Part<T extends KubeObject> {
  readonly deltas: Pick<readonly Delta<T>[], 'at' | 'length'>
  /** How many of them the handler was told. */
  told: number
  /** `list`: of the first list, or all that there was when the handler was added; with it, the handler is synced. */
  readonly kind: 'list' | 'events' | 'resync'
}

interface Member<T extends KubeObject> {
  readonly handler: Handler<T>
  readonly resyncMs: number | undefined
  cancelResync: () => void
  /** What it was not told yet, in order. Empty while it keeps up: then it is told of an event at once. */
  readonly backlog: Part<T>[]
  isCatchingUp: boolean
  readonly synced: Latch
  readonly removed: Latch
}

/** A handler in a set. */
export interface Membership {
  /** Opens when the handler was told of everything in the first list, or of all that there was when it was added after that. */
  readonly synced: Latch
  /** Opens when it is removed, or the set has ended. */
  readonly removed: Latch
  remove(): void
}

/** Events that wait together: what was told of them is let go of with the last. */
const EVENTS_OF_A_PART = 1024

export class HandlerSet<T extends KubeObject> {
  readonly #options: HandlerSetOptions<T>
  readonly #budget: TurnBudget
  readonly #members = new Set<Member<T>>()
  #isRunning = false
  #isListed = false
  /** What the store has, as initial adds, until it changes or a handler was told of all: those that are added together share it. */
  #initialAdds: Part<T>['deltas'] | undefined

  constructor(options: HandlerSetOptions<T>) {
    this.#options = options
    this.#budget = turnBudgetOf(options.clock)
  }

  /**
   * Tells the handler of everything in the store, as initial adds, before any later change: at once, or in later turns of the
   * event loop when it takes long.
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
      this.#hand(member, { deltas, told: 0, kind: 'list' })
    }
    if (this.#isRunning) this.#resyncLater(member)
    return { synced, removed, remove: () => this.#remove(member) }
  }

  /** Begins to resync those who asked for it. */
  begin(): void {
    this.#isRunning = true
    for (const member of this.#members) this.#resyncLater(member)
  }

  /** Nobody is told of anything any more. */
  end(): void {
    this.#isRunning = false
    for (const member of this.#members) this.#remove(member)
  }

  /** Tells of what an event changed: a handler that keeps up hears of it before this returns. The store is changed already. */
  tell(deltas: readonly Delta<T>[]): void {
    this.#initialAdds = undefined
    // A handler that is added meanwhile has been told of what they say.
    for (const member of [...this.#members]) {
      if (member.backlog.length > 0) this.#append(member, deltas)
      else for (const delta of deltas) if (this.#members.has(member)) this.#tell(member, delta)
    }
  }

  /** Tells of what a list changed, in later turns when it takes long. Resolves when every handler was told of the first one. */
  async tellList(deltas: readonly Delta<T>[]): Promise<void> {
    this.#initialAdds = undefined
    this.#isListed = true
    const members = [...this.#members]
    for (const member of members) if (this.#members.has(member)) this.#hand(member, { deltas, told: 0, kind: 'list' })
    for (const { synced, removed } of members) await Promise.race([synced.opened, removed.opened])
  }

  #remove(member: Member<T>): void {
    member.cancelResync()
    this.#members.delete(member)
    member.backlog.length = 0
    member.removed.open()
    this.#initialAdds = undefined
  }

  /** A delta for each object that the store has now, made as the first handler comes to it: all at once would take long. */
  #ofAll(deltaOf: (object: T) => Delta<T>): Part<T>['deltas'] {
    const objects = [...this.#options.store.values()]
    const made: Delta<T>[] = []
    return { length: objects.length, at: (i) => (made[i] ??= deltaOf(objects[i]!)) }
  }

  #append({ backlog }: Member<T>, deltas: readonly Delta<T>[]): void {
    const last = backlog.at(-1)!
    if (last.kind === 'events' && last.deltas.length < EVENTS_OF_A_PART) (last.deltas as Delta<T>[]).push(...deltas)
    else backlog.push({ deltas: [...deltas], told: 0, kind: 'events' })
  }

  #hand(member: Member<T>, part: Part<T>): void {
    member.backlog.push(part)
    if (!member.isCatchingUp) void this.#catchUp(member)
  }

  /** Tells a handler what it was not told yet, as long as this turn's time lasts, and on in later ones. Never rejects. */
  async #catchUp(member: Member<T>): Promise<void> {
    member.isCatchingUp = true
    const { backlog } = member
    for (let part = backlog[0]; part !== undefined; part = backlog[0]) {
      if (part.told < part.deltas.length) this.#tell(member, part.deltas.at(part.told++)!)
      // Unless what it was told has removed it.
      if (part.told >= part.deltas.length && backlog[0] === part) {
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
      // One that has not caught up since the last time is not given more of the same. Changes that come meanwhile follow.
      if (member.backlog.length === 0) {
        this.#hand(member, {
          deltas: this.#ofAll((object) => ({ kind: 'updated', object, old: object })),
          told: 0,
          kind: 'resync',
        })
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
