/**
 * Objects whose map function failed, and what of them is still to be mapped. Bounded, whatever happens: an object has one entry,
 * with its newest states; and of objects that were deleted a bounded number is kept.
 */
import type { KubeObject } from '../core/objects.ts'
import type { Delta } from '../cache/store.ts'

/** The states of an object that are tried: as it is, and as it was before; older ones only until there are so many. */
const MAX_STATES = 4
/** What exists is in the cache anyway; what is gone would pile up. */
const MAX_DELETED = 10_000

export interface FailedEvent {
  /** Whose keys are still to be told, the newest first. */
  readonly states: readonly KubeObject[]
  /** The newest event, and the highest priority of all. */
  readonly delta: Delta
  readonly priority: number
  /** Why it was parked last. */
  readonly why: string
}

export class FailedEvents {
  readonly #objects = new Map<string, FailedEvent>()
  /** Those of them whose last event was a deletion, the oldest first. */
  readonly #deleted = new Set<string>()
  readonly #maxDeleted: number

  constructor(maxDeleted: number = MAX_DELETED) {
    this.#maxDeleted = maxDeleted
  }

  get size(): number {
    return this.#objects.size
  }

  get(key: string): FailedEvent | undefined {
    return this.#objects.get(key)
  }

  values(): IterableIterator<FailedEvent> {
    return this.#objects.values()
  }

  /** Adds states that are newer than those there. Returns the object that had to be given up for it, if one had to. */
  add(key: string, { states, delta, priority, why }: FailedEvent): FailedEvent | undefined {
    const known = this.#objects.get(key)
    this.#objects.set(key, {
      states: [...new Set([...states, ...(known?.states ?? [])])].slice(0, MAX_STATES),
      delta,
      priority: Math.max(priority, known?.priority ?? priority),
      why: why || (known?.why ?? ''),
    })
    this.#deleted.delete(key)
    if (delta.kind !== 'deleted') return undefined
    this.#deleted.add(key)
    return this.#deleted.size > this.#maxDeleted ? this.#giveUp() : undefined
  }

  /** Some of the states were mapped, and the rest failed for this reason. States that were added meanwhile stay too. */
  mapped(key: string, states: readonly KubeObject[], why: string): void {
    const known = this.#objects.get(key)
    if (!known) return
    const left = known.states.filter((state) => !states.includes(state))
    if (left.length > 0) this.#objects.set(key, { ...known, states: left, why: why || known.why })
    else this.#remove(key)
  }

  #giveUp(): FailedEvent | undefined {
    const [oldest] = this.#deleted
    return oldest === undefined ? undefined : this.#remove(oldest)
  }

  #remove(key: string): FailedEvent | undefined {
    const known = this.#objects.get(key)
    this.#objects.delete(key)
    this.#deleted.delete(key)
    return known
  }
}
