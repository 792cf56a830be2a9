/**
 * Sets of field paths: what `managedFields` says a manager owns.
 *
 * A path element is the text that fieldsV1 uses: `f:name` a field, `k:{"name":"a"}` an item of a keyed list,
 * `v:"a"` a value of a set. A set is a tree; a node is a member, or has members below it, or both.
 */
import { isObject, type JsonObject, put } from '../json.ts'

export interface FieldNode {
  readonly member: boolean
  readonly below: FieldSet
}

export type FieldSet = ReadonlyMap<string, FieldNode>

export const NOTHING: FieldSet = new Map()

/** A set under construction. */
export class FieldSetBuilder {
  readonly #root = new Map<string, MutableNode>()

  insert(path: readonly string[]): void {
    let below = this.#root
    for (const [index, element] of path.entries()) {
      let node = below.get(element)
      if (!node) below.set(element, node = { member: false, below: new Map() })
      if (index === path.length - 1) node.member = true
      below = node.below
    }
  }

  build(): FieldSet {
    return this.#root
  }
}

interface MutableNode extends FieldNode {
  member: boolean
  readonly below: Map<string, MutableNode>
}

type Keep = (inA: boolean, inB: boolean) => boolean

/** Combines two sets member by member; nodes that end up empty are left out. */
function combine(a: FieldSet, b: FieldSet, keep: Keep): FieldSet {
  const result = new Map<string, FieldNode>()
  for (const element of new Set([...a.keys(), ...b.keys()])) {
    const left = a.get(element)
    const right = b.get(element)
    const member = keep(left?.member ?? false, right?.member ?? false)
    const below = combine(left?.below ?? NOTHING, right?.below ?? NOTHING, keep)
    if (member || below.size > 0) result.set(element, { member, below })
  }
  return result
}

export function union(a: FieldSet, b: FieldSet): FieldSet {
  return combine(a, b, (inA, inB) => inA || inB)
}

export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  return combine(a, b, (inA, inB) => inA && inB)
}

/** The members of `a` that are not members of `b`. What lies below a member of `b` stays. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  return combine(a, b, (inA, inB) => inA && !inB)
}

/** `a` without the members of `b` and everything below them. */
export function exclude(a: FieldSet, b: FieldSet): FieldSet {
  const result = new Map<string, FieldNode>()
  for (const [element, node] of a) {
    const other = b.get(element)
    if (other?.member) continue
    const below = other ? exclude(node.below, other.below) : node.below
    if (node.member || below.size > 0) result.set(element, { member: node.member, below })
  }
  return result
}

export function isEmpty(set: FieldSet): boolean {
  for (const node of set.values()) if (node.member || !isEmpty(node.below)) return false
  return true
}

/** The members, in the order in which they are printed: those of a level before those below them. */
export function paths(set: FieldSet, prefix: readonly string[] = []): (readonly string[])[] {
  const sorted = [...set].sort(([a], [b]) => (a < b ? -1 : 1))
  const members = sorted.filter(([, node]) => node.member).map(([element]) => [...prefix, element])
  return [...members, ...sorted.flatMap(([element, node]) => paths(node.below, [...prefix, element]))]
}

/** A path as people read it: `.spec.containers[name="a"].image`. */
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

/** A set in the form of `fieldsV1`. */
export function toFieldsV1(set: FieldSet): JsonObject {
  const json: JsonObject = {}
  for (const [element, node] of [...set].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const below = toFieldsV1(node.below)
    const hasBelow = Object.keys(below).length > 0
    if (node.member || hasBelow) put(json, element, hasBelow && node.member ? { '.': {}, ...below } : below)
  }
  return json
}

/** The set that `fieldsV1` states. An empty object is a member; otherwise `.` says whether it is. */
export function fromFieldsV1(json: JsonObject): FieldSet {
  const set = new Map<string, FieldNode>()
  for (const [element, value] of Object.entries(json)) {
    if (element === '.' || !isObject(value)) continue
    const member = Object.keys(value).length === 0 || Object.hasOwn(value, '.')
    set.set(element, { member, below: fromFieldsV1(value) })
  }
  return set
}
