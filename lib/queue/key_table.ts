/** What a queue knows of each key that waits or is in work: a row ("slot") a key, in columns. */
import { doubled, NONE, type SlotLinks, slotLinks } from './slot_list.ts'

/** What is true of a slot's key. One that waits is in the order; one in work is not. */
export const WAITING = 0
export const WORKING = 1
/** In work, and added meanwhile. */
export const AGAIN = 2

export class KeyTable<K> {
  readonly #slotOf = new Map<K, number>()
  readonly #keys: (K | undefined)[] = []
  /** {@link WAITING}, {@link WORKING} or {@link AGAIN}. */
  status: Uint8Array = new Uint8Array(SMALL)
  /** The priority of the turn to come. */
  priority: Float64Array = new Float64Array(SMALL)
  /** When the turn to come was added. */
  addedMs: Float64Array = new Float64Array(SMALL)
  /** Of a key in work: the priority it was handed out with, and when. */
  turnPriority: Float64Array = new Float64Array(SMALL)
  takenMs: Float64Array = new Float64Array(SMALL)
  /** Its neighbours among the keys of its priority; those of a free slot lead to the next free one. */
  readonly byPriority: SlotLinks = slotLinks(SMALL)
  /** Its neighbours among all keys that wait, or among all that are in work. */
  readonly byAge: SlotLinks = slotLinks(SMALL)
  #used = 0
  #free = NONE
  /** Rows that every column has room for. */
  #capacity = SMALL
  /** Columns that have room for twice as many. */
  #grown = 0

  /** Rows that there is room for. */
  get capacity(): number {
    return this.#capacity
  }

  get size(): number {
    return this.#slotOf.size
  }

  /** Whether it has grown so much that an empty table is better replaced than kept. */
  get large(): boolean {
    return this.#capacity > SMALL
  }

  slotOf(key: K): number | undefined {
    return this.#slotOf.get(key)
  }

  keyOf(slot: number): K {
    return this.#keys[slot]!
  }

  /** Makes a row for a key that has none. */
  add(key: K): number {
    const slot = this.#newSlot()
    this.#slotOf.set(key, slot)
    this.#keys[slot] = key
    return slot
  }

  delete(slot: number): void {
    this.#slotOf.delete(this.#keys[slot]!)
    this.#keys[slot] = undefined
    this.byPriority.after[slot] = this.#free
    this.#free = slot
  }

  #newSlot(): number {
    const free = this.#free
    if (free !== NONE) {
      this.#free = this.byPriority.after[free]!
      return free
    }
    if (this.#used >= this.#capacity * (1 / 2 + this.#grown / 32)) this.#growOne()
    return this.#used++
  }

  /**
   * Doubles one column. From the first half on each comes at its own time, before there is need of it: all together take tens of
   * milliseconds where keys are hundreds of thousands.
   */
  #growOne(): void {
    const { byPriority, byAge } = this
    switch (this.#grown++) {
      case 0:
        this.status = doubled(this.status)
        break
      case 1:
        this.priority = doubled(this.priority)
        break
      case 2:
        this.addedMs = doubled(this.addedMs)
        break
      case 3:
        this.turnPriority = doubled(this.turnPriority)
        break
      case 4:
        this.takenMs = doubled(this.takenMs)
        break
      case 5:
        byPriority.before = doubled(byPriority.before)
        break
      case 6:
        byPriority.after = doubled(byPriority.after)
        break
      case 7:
        byAge.before = doubled(byAge.before)
        break
      default:
        byAge.after = doubled(byAge.after)
        this.#capacity *= 2
        this.#grown = 0
    }
  }
}

/** Rows to begin with. */
const SMALL = 256
