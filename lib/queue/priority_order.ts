/** Stores the keys of a queue in typed arrays and orders the waiting ones by priority and by age. */
import { Heap } from '../async/heap.ts'

/** The status of a slot's key. Only a waiting key is in the order. */
export const WAITING = 0
export const WORKING = 1
/** In work, and added again meanwhile. */
export const AGAIN = 2

/** Stands for "no slot" in links and lists. */
export const NONE = -1

/** The initial number of rows. */
const INITIAL_CAPACITY = 256

/**
 * The links of doubly linked lists of slots. A million keys are a few flat arrays instead of a million objects that the
 * garbage collector must walk. A slot is in at most one list of its links.
 */
export interface SlotLinks {
  before: Int32Array
  after: Int32Array
}

/** One list of slots. Appending, unlinking and reading the head are O(1). */
export interface SlotList {
  head: number
  tail: number
  size: number
}

export function slotList(): SlotList {
  return { head: NONE, tail: NONE, size: 0 }
}

/** Appends a slot that is in no list. */
export function append(links: SlotLinks, list: SlotList, slot: number): void {
  links.before[slot] = list.tail
  links.after[slot] = NONE
  if (list.tail === NONE) list.head = slot
  else links.after[list.tail] = slot
  list.tail = slot
  list.size++
}

export function unlink(links: SlotLinks, list: SlotList, slot: number): void {
  const before = links.before[slot]!, after = links.after[slot]!
  if (before === NONE) list.head = after
  else links.after[before] = after
  if (after === NONE) list.tail = before
  else links.before[after] = before
  list.size--
}

/** The keys that wait or are in work: one row ("slot") per key, in columns. */
export class KeyTable<K> {
  readonly #slotOf = new Map<K, number>()
  readonly #keys: (K | undefined)[] = []
  /** {@link WAITING}, {@link WORKING} or {@link AGAIN}. */
  status: Uint8Array = new Uint8Array(INITIAL_CAPACITY)
  /** The priority of the next turn. */
  priority: Float64Array = new Float64Array(INITIAL_CAPACITY)
  /** When the next turn was added. */
  addedMs: Float64Array = new Float64Array(INITIAL_CAPACITY)
  /** The priority of the current turn of a key in work. */
  turnPriority: Float64Array = new Float64Array(INITIAL_CAPACITY)
  /** When a key in work was handed out. */
  takenMs: Float64Array = new Float64Array(INITIAL_CAPACITY)
  /** The lists by priority. In a free slot `after` is the next free slot. */
  readonly byPriority: SlotLinks = slotLinks(INITIAL_CAPACITY)
  /** The list of all waiting keys, and the list of all keys in work. */
  readonly byAge: SlotLinks = slotLinks(INITIAL_CAPACITY)
  #used = 0
  #free = NONE
  /** The number of rows in the shortest column. */
  #capacity = INITIAL_CAPACITY
  /** The number of columns that are already doubled. */
  #grown = 0

  get capacity(): number {
    return this.#capacity
  }

  get size(): number {
    return this.#slotOf.size
  }

  /** Whether the table has grown, so that replacing it when it is empty frees memory. */
  get large(): boolean {
    return this.#capacity > INITIAL_CAPACITY
  }

  keys(): Iterable<K> {
    return this.#slotOf.keys()
  }

  slotOf(key: K): number | undefined {
    return this.#slotOf.get(key)
  }

  keyOf(slot: number): K {
    return this.#keys[slot]!
  }

  /** Adds a row for a key that has none. */
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
   * Doubles one column. Columns are doubled one by one, from the first half of the rows on: doubling all of them at
   * once takes tens of milliseconds for hundreds of thousands of keys.
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

function slotLinks(capacity: number): SlotLinks {
  return { before: new Int32Array(capacity), after: new Int32Array(capacity) }
}

/** Returns a copy of twice the length. */
function doubled<A extends Uint8Array | Int32Array | Float64Array>(array: A): A {
  const larger = new (array.constructor as new (length: number) => A)(array.length * 2)
  larger.set(array)
  return larger
}

interface Level {
  readonly priority: number
  readonly list: SlotList
}

/**
 * The order in which waiting keys leave: the highest priority first, within a priority first in, first out; and by age,
 * for all priorities together. Adding, raising and taking are O(1) with few priorities, and O(log priorities) with
 * many.
 */
export class PriorityOrder {
  readonly #table: KeyTable<unknown>
  /** All waiting slots, the oldest first. Raising a key does not change its place here. */
  readonly #age = slotList()
  /** Levels by priority; each of them is in #order too. */
  readonly #levels = new Map<number, Level>()
  /** The highest level first. Empty levels stay until they reach the top, or until there are too many. */
  readonly #order = new Heap<Level>((a, b) => a.priority > b.priority)
  #emptyLevels = 0

  constructor(table: KeyTable<unknown>) {
    this.#table = table
  }

  get size(): number {
    return this.#age.size
  }

  /** The number of stored levels. Empty ones are included, at most twice as many as the others, plus 65. */
  get levels(): number {
    return this.#levels.size
  }

  /** The first slot by priority; NONE when no key waits. */
  get first(): number {
    return this.#top()?.list.head ?? NONE
  }

  /** The first slot by age; NONE when no key waits. */
  get oldest(): number {
    return this.#age.head
  }

  /** Adds a slot as the last of its priority, and as the youngest. */
  enter(slot: number): void {
    append(this.#table.byAge, this.#age, slot)
    this.#enterLevel(slot)
  }

  /** Moves a slot to another priority, as the last one there. */
  raise(slot: number, priority: number): void {
    this.#leaveLevel(slot)
    this.#table.priority[slot] = priority
    this.#enterLevel(slot)
  }

  leave(slot: number): void {
    this.#leaveLevel(slot)
    unlink(this.#table.byAge, this.#age, slot)
  }

  *depths(): Generator<readonly [priority: number, count: number]> {
    for (const { priority, list } of this.#levels.values()) if (list.size > 0) yield [priority, list.size]
  }

  #enterLevel(slot: number): void {
    const level = this.#level(this.#table.priority[slot]!)
    if (level.list.size === 0) this.#emptyLevels--
    append(this.#table.byPriority, level.list, slot)
  }

  #leaveLevel(slot: number): void {
    const level = this.#level(this.#table.priority[slot]!)
    unlink(this.#table.byPriority, level.list, slot)
    if (level.list.size === 0) this.#emptyLevels++
  }

  /** Returns the highest level that has keys. */
  #top(): Level | undefined {
    for (let top = this.#order.peek(); top !== undefined; top = this.#order.peek()) {
      if (top.list.size > 0) return top
      // The last level stays, also in an empty queue: most queues never have another one.
      if (this.#order.size === 1) return undefined
      this.#order.pop()
      this.#levels.delete(top.priority)
      this.#emptyLevels--
    }
    return undefined
  }

  #level(priority: number): Level {
    const top = this.#order.peek()
    if (top?.priority === priority) return top
    return this.#levels.get(priority) ?? this.#newLevel(priority)
  }

  #newLevel(priority: number): Level {
    if (this.#emptyLevels > 2 * (this.#order.size - this.#emptyLevels) + 64) this.#dropEmptyLevels()
    const level = { priority, list: slotList() }
    this.#levels.set(priority, level)
    this.#order.push(level)
    this.#emptyLevels++
    return level
  }

  /** Drops empty levels. Keys that are raised again and again, or leave by age, leave them behind below the top. */
  #dropEmptyLevels(): void {
    this.#order.clear()
    for (const level of this.#levels.values()) {
      if (level.list.size === 0) this.#levels.delete(level.priority)
      else this.#order.push(level)
    }
    this.#emptyLevels = 0
  }
}
