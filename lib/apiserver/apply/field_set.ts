/** Sets of field paths: the fields that a manager owns, as in `managedFields`. */
import { isObject, type JsonObject, put } from '../model/json.ts'

export interface FieldNode {
  readonly member: boolean
  readonly children: FieldSet
}

export type FieldSet = ReadonlyMap<string, FieldNode>

/** Shared by all nodes without children: most of a set are such nodes. Never changed. */
const NO_CHILDREN: Map<string, MutableNode> = new Map()

export const EMPTY_SET: FieldSet = NO_CHILDREN

/**
 * Builds a set from paths. Path elements have the form of fieldsV1: `f:name` is a field, `k:{"name":"a"}` an item of a
 * keyed list, `v:"a"` a value of a set. A set is a tree: each node is a member, or has members below it, or both.
 */
export class FieldSetBuilder {
  readonly #root = new Map<string, MutableNode>()

  insert(path: readonly string[]): void {
    let children = this.#root
    const last = path.length - 1
    for (let index = 0; index <= last; index++) {
      const element = path[index]!
      let node = children.get(element)
      if (!node) children.set(element, node = { member: false, children: NO_CHILDREN })
      if (index === last) node.member = true
      else {
        if (node.children === NO_CHILDREN) node.children = new Map()
        children = node.children
      }
    }
  }

  build(): FieldSet {
    return this.#root
  }
}

interface MutableNode extends FieldNode {
  member: boolean
  children: Map<string, MutableNode>
}

/** The members that a combination of two sets keeps: those of the first only, of the second only, and of both. */
interface Kept {
  readonly first: boolean
  readonly second: boolean
  readonly both: boolean
}

/** Combines two sets member by member; drops nodes that become empty. The result shares subtrees with both. */
function combine(a: FieldSet, b: FieldSet, kept: Kept): FieldSet {
  if (a.size === 0) return kept.second ? b : EMPTY_SET
  if (b.size === 0) return kept.first ? a : EMPTY_SET
  const result = new Map<string, FieldNode>()
  for (const [element, left] of a) {
    const right = b.get(element)
    if (!right) {
      if (kept.first) result.set(element, left)
      continue
    }
    const member = left.member ? (right.member ? kept.both : kept.first) : right.member && kept.second
    const children = combine(left.children, right.children, kept)
    if (member || children.size > 0) result.set(element, { member, children })
  }
  if (kept.second) { for (const [element, right] of b) if (!a.has(element)) result.set(element, right) }
  return result
}

const UNION: Kept = { first: true, second: true, both: true }
const INTERSECTION: Kept = { first: false, second: false, both: true }
const DIFFERENCE: Kept = { first: true, second: false, both: false }

export function union(a: FieldSet, b: FieldSet): FieldSet {
  return combine(a, b, UNION)
}

/** Returns the union of many sets, by halves: one set that grows would be copied for each. */
export function unionOf(sets: readonly FieldSet[]): FieldSet {
  if (sets.length <= 1) return sets[0] ?? EMPTY_SET
  const half = sets.length >> 1
  return union(unionOf(sets.slice(0, half)), unionOf(sets.slice(half)))
}

export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  return combine(a, b, INTERSECTION)
}

/** Returns the members of `a` that are not members of `b`. Keeps what is below a member of `b`. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  return combine(a, b, DIFFERENCE)
}

/** Returns `a` without the members of `b` and everything below them. */
export function exclude(a: FieldSet, b: FieldSet): FieldSet {
  const result = new Map<string, FieldNode>()
  for (const [element, node] of a) {
    const other = b.get(element)
    if (other?.member) continue
    const children = other ? exclude(node.children, other.children) : node.children
    if (node.member || children.size > 0) result.set(element, { member: node.member, children })
  }
  return result
}

export function isEmpty(set: FieldSet): boolean {
  for (const node of set.values()) if (node.member || !isEmpty(node.children)) return false
  return true
}

/** Returns the members in print order: those of one level before those below them. */
export function paths(set: FieldSet, prefix: readonly string[] = []): (readonly string[])[] {
  const sorted = [...set].sort(([a], [b]) => (a < b ? -1 : 1))
  const members = sorted.filter(([, node]) => node.member).map(([element]) => [...prefix, element])
  return [...members, ...sorted.flatMap(([element, node]) => paths(node.children, [...prefix, element]))]
}

/** Formats a path for messages: `.spec.containers[name="a"].image`. */
export function formatPath(path: readonly string[]): string {
  return path.map((element) => {
    const rest = element.slice(2)
    switch (element[0]) {
      case 'f':
        return `.${rest}`
      case 'k':
        return `[${formatKeys(JSON.parse(rest) as JsonObject)}]`
      case 'v':
        return `[=${rest}]`
      default:
        return `[${rest}]`
    }
  }).join('')
}

function formatKeys(keys: JsonObject): string {
  return Object.entries(keys).map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(',')
}

/** Converts a set to `fieldsV1`. */
function toFieldsV1(set: FieldSet): JsonObject {
  const json: JsonObject = {}
  for (const element of [...set.keys()].sort()) {
    const { member, children } = set.get(element)!
    const below = children.size > 0 ? toFieldsV1(children) : {}
    const isEmpty = children.size === 0 || Object.keys(below).length === 0
    if (member || !isEmpty) put(json, element, member && !isEmpty ? { '.': {}, ...below } : below)
  }
  return json
}

/** Parses `fieldsV1`. An empty object is a member; in any other object `.` marks a member. */
function fromFieldsV1(json: JsonObject): FieldSet {
  const set = new Map<string, FieldNode>()
  for (const [element, value] of Object.entries(json)) {
    if (element === '.' || !isObject(value)) continue
    const member = Object.keys(value).length === 0 || Object.hasOwn(value, '.')
    const children = fromFieldsV1(value)
    if (member || children.size > 0) set.set(element, { member, children })
  }
  return set
}

interface Entry {
  readonly text: string
  readonly json: JsonObject
  readonly set: FieldSet
}

/**
 * Equal `fieldsV1` are shared between objects: those of one template own the same fields, which take more memory than
 * the objects themselves. The last different ones are kept, with at most 16 MB of text.
 */
const MAX_ENTRIES = 500
const MAX_SHARED_LENGTH = 32_768

const byText = new Map<string, Entry>()
const byJson = new WeakMap<JsonObject, Entry>()

/** Converts a set to `fieldsV1`. Equal sets have the same object, which must not be changed. */
export function sharedFieldsV1(set: FieldSet): JsonObject {
  const json = toFieldsV1(set)
  const text = JSON.stringify(json)
  if (text.length > MAX_SHARED_LENGTH) return json
  const known = byText.get(text)
  if (known) {
    // The entries that are not used for the longest time are dropped first.
    byText.delete(text)
    byText.set(text, known)
    return known.json
  }
  const entry = { text, json, set }
  byText.set(text, entry)
  byJson.set(json, entry)
  if (byText.size > MAX_ENTRIES) {
    const [oldest] = byText.values()
    byText.delete(oldest!.text)
    byJson.delete(oldest!.json)
  }
  return json
}

/** Converts `fieldsV1` to a set. */
export function fieldSetOf(json: JsonObject): FieldSet {
  return byJson.get(json)?.set ?? fromFieldsV1(json)
}
