/**
 * Stores events whose map function failed, until a retry maps them.
 *
 * Memory is bounded: an object has one entry with its newest states, and the number of deleted objects is limited.
 */
import type { KubeObject } from '../core/objects.ts'
import type { Delta } from '../cache/store.ts'

/** The maximum number of states per object: the newest, and the oldest, whose keys knew the object before. */
const MAX_STATES = 4
/** Existing objects are in the cache anyway; deleted ones would accumulate. */
const MAX_DELETED = 10_000

export interface FailedEvent {
  /** The states that are not mapped yet, the newest first. */
  readonly states: readonly KubeObject[]
  /** The newest event; `priority` is the highest of all events. */
  readonly delta: Delta
  readonly priority: number
  /** Why the last try failed. */
  readonly why: string
  readonly error?: unknown
}

export class FailedEvents {
  readonly #objects = new Map<string, FailedEvent>()
  /** The keys whose last event is a deletion, the oldest first. */
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

  /** Adds states that are newer than the stored ones. Returns the entry that was dropped to make room, if any. */
  add(key: string, { states, delta, priority, why, error }: FailedEvent): FailedEvent | undefined {
    const known = this.#objects.get(key)
    this.#objects.set(key, {
      states: joinStates(states, known?.states ?? []),
      delta,
      priority: Math.max(priority, known?.priority ?? priority),
      why: why || (known?.why ?? ''),
      error: why ? error : known?.error,
    })
    this.#deleted.delete(key)
    if (delta.kind !== 'deleted') return undefined
    this.#deleted.add(key)
    return this.#deleted.size > this.#maxDeleted ? this.#dropOldest() : undefined
  }

  /**
   * Removes the mapped states of an entry; `why` is the error of the rest. If an event was added since `tried`, removes
   * none: the keys of the event's states must be queued after the event, and it may share a state with the try.
   */
  mapped(key: string, tried: FailedEvent, states: readonly KubeObject[], why: string, error?: unknown): void {
    const known = this.#objects.get(key)
    if (known !== tried) return
    const left = known.states.filter((state) => !states.includes(state))
    if (left.length > 0) this.#objects.set(key, { ...known, states: left, ...(why && { why, error }) })
    else this.#remove(key)
  }

  #dropOldest(): FailedEvent | undefined {
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

/** Returns the states of two events of an object, the newest first: all, or the newest and the oldest. */
export function joinStates(newer: readonly KubeObject[], older: readonly KubeObject[]): readonly KubeObject[] {
  const all = [...new Set([...newer, ...older])]
  return all.length > MAX_STATES ? [...all.slice(0, MAX_STATES - 1), all.at(-1)!] : all
}
