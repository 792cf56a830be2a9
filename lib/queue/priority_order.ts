/**
 * The order in which waiting keys leave: by priority, the highest first and within one in the order in which they came;
 * and by age, whichever priority they have. Adding, raising and taking are O(1) where there are few different
 * priorities, and O(log priorities) where there are many.
 */
import { Heap } from '../async/heap.ts'
import type { KeyTable } from './key_table.ts'
import { append, NONE, type SlotList, slotList, unlink } from './slot_list.ts'

/** The keys of one priority. */
interface Level {
  readonly priority: number
  readonly list: SlotList
}

export class PriorityOrder {
  readonly #table: KeyTable<unknown>
  /** All slots that wait, that which came first at the head. Being raised changes nothing here. */
  readonly #age = slotList()
  /** Levels by priority; every one of them is in #order too. */
  readonly #levels = new Map<number, Level>()
  /** The highest level first. Levels that ran empty stay until they come to the top, or are a crowd. */
  readonly #order = new Heap<Level>((a, b) => a.priority > b.priority)
  #emptyLevels = 0

  constructor(table: KeyTable<unknown>) {
    this.#table = table
  }

  get size(): number {
    return this.#age.size
  }

  /** Levels that are kept, empty ones included: at most twice as many as have keys, and some. */
  get levels(): number {
    return this.#levels.size
  }

  /** The slot that goes first by priority; NONE when none waits. */
  get first(): number {
    return this.#top()?.list.head ?? NONE
  }

  /** The slot that came first; NONE when none waits. */
  get oldest(): number {
    return this.#age.head
  }

  /** Puts a slot behind all that have its priority, and behind all in age. */
  enter(slot: number): void {
    append(this.#table.byAge, this.#age, slot)
    this.#enterLevel(slot)
  }

  /** Puts a slot behind all that have the new priority. */
  raise(slot: number, priority: number): void {
    this.#leaveLevel(slot)
    this.#table.priority[slot] = priority
    this.#enterLevel(slot)
  }

  /** Takes a slot out. */
  leave(slot: number): void {
    this.#leaveLevel(slot)
    unlink(this.#table.byAge, this.#age, slot)
  }

  /** How many keys wait at each priority; only priorities at which some do. */
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

  /** The highest level that has keys. */
  #top(): Level | undefined {
    for (let top = this.#order.peek(); top !== undefined; top = this.#order.peek()) {
      if (top.list.size > 0) return top
      // The last level stays, also in an empty queue: most have no other, ever.
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

  /** Keys that are raised again and again, or that leave by their age, leave empty levels below the top. */
  #dropEmptyLevels(): void {
    this.#order.clear()
    for (const level of this.#levels.values()) {
      if (level.list.size === 0) this.#levels.delete(level.priority)
      else this.#order.push(level)
    }
    this.#emptyLevels = 0
  }
}
