/**
 * Doubly linked lists of small numbers ("slots"), with the links in typed arrays: a million keys are a few flat arrays
 * instead of a million objects for the garbage collector to walk. A slot is in one list of its links at most.
 */

export const NONE = -1

/** The links of all lists over the same slots. */
export interface SlotLinks {
  before: Int32Array
  after: Int32Array
}

/** One list: append, unlink and look at the head are O(1). */
export interface SlotList {
  head: number
  tail: number
  size: number
}

export function slotLinks(capacity: number): SlotLinks {
  return { before: new Int32Array(capacity), after: new Int32Array(capacity) }
}

export function slotList(): SlotList {
  return { head: NONE, tail: NONE, size: 0 }
}

/** Puts a slot that is in no list at the tail. */
export function append(links: SlotLinks, list: SlotList, slot: number): void {
  links.before[slot] = list.tail
  links.after[slot] = NONE
  if (list.tail === NONE) list.head = slot
  else links.after[list.tail] = slot
  list.tail = slot
  list.size++
}

/** Takes a slot out of the list that it is in. */
export function unlink(links: SlotLinks, list: SlotList, slot: number): void {
  const before = links.before[slot]!, after = links.after[slot]!
  if (before === NONE) list.head = after
  else links.after[before] = after
  if (after === NONE) list.tail = before
  else links.before[after] = before
  list.size--
}

/** A copy with room for twice as much. */
export function doubled<A extends Uint8Array | Int32Array | Float64Array>(array: A): A {
  const larger = new (array.constructor as new (length: number) => A)(array.length * 2)
  larger.set(array)
  return larger
}
