/**
 * Objects whose map function failed, and what of them is still to be mapped. Bounded, whatever happens: an object has one entry,
 * with its newest states; and of objects that were deleted a bounded number is kept.
 */
import type { KubeObject } from '../core/objects.ts'
import type { Delta } from '../cache/store.ts'

/** The states of an object that are tried: as it is, and as it was before; older ones only until there are so many. */
const MOST_STATES = 4
/** What exists is in the cache anyway; what is gone would pile up. */
const MOST_DELETED = 10_000

export interface ParkedObject {
  /** Whose keys are still to be told, the newest first. */
  readonly states: readonly KubeObject[]
  /** The newest event, and the highest priority of all. */
  readonly delta: Delta
  readonly priority: number
  /** Why it was parked last. */
  readonly why: string
}

export class Parked {
  readonly #objects = new Map<string, ParkedObject>()
  /** Those of them whose last event was a deletion, the oldest first. */
  readonly #deleted = new Set<string>()
  readonly #mostDeleted: number

  constructor(mostDeleted: number = MOST_DELETED) {
    this.#mostDeleted = mostDeleted
  }

  get size(): number {
    return this.#objects.size
  }

  get(key: string): ParkedObject | undefined {
    return this.#objects.get(key)
  }

  values(): IterableIterator<ParkedObject> {
    return this.#objects.values()
  }

  /** Adds states that are newer than those there. Returns the object that had to be given up for it, if one had to. */
  add(key: string, { states, delta, priority, why }: ParkedObject): ParkedObject | undefined {
    const known = this.#objects.get(key)
    this.#objects.set(key, {
      states: [...new Set([...states, ...(known?.states ?? [])])].slice(0, MOST_STATES),
      delta,
      priority: Math.max(priority, known?.priority ?? priority),
      why: why || (known?.why ?? ''),
    })
    this.#deleted.delete(key)
    if (delta.kind !== 'deleted') return undefined
    this.#deleted.add(key)
    return this.#deleted.size > this.#mostDeleted ? this.#giveUp() : undefined
  }

  /** Some of the states were mapped, and the rest failed for this reason. States that were added meanwhile stay too. */
  mapped(key: string, states: readonly KubeObject[], why: string): void {
    const known = this.#objects.get(key)
    if (!known) return
    const left = known.states.filter((state) => !states.includes(state))
    if (left.length > 0) this.#objects.set(key, { ...known, states: left, why: why || known.why })
    else this.#remove(key)
  }

  #giveUp(): ParkedObject | undefined {
    const [oldest] = this.#deleted
    return oldest === undefined ? undefined : this.#remove(oldest)
  }

  #remove(key: string): ParkedObject | undefined {
    const known = this.#objects.get(key)
    this.#objects.delete(key)
    this.#deleted.delete(key)
    return known
  }
}
