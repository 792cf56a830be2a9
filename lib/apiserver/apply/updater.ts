/**
 * Computes field ownership after updates and applies, by the algorithm of structured-merge-diff.
 *
 * @see https://github.com/kubernetes-sigs/structured-merge-diff
 */
import { at, clone, isObject, type Json, type JsonObject, put } from '../model/json.ts'
import { jsonEqual } from '../../core/equal.ts'
import type { Kind } from '../model/kinds.ts'
import type { Schema } from '../model/schema.ts'
import {
  childSchema,
  compare,
  type Comparison,
  fieldsOf,
  itemElement,
  itemsByElement,
  itemsOf,
  type Maybe,
  partsOf,
  shapeOf,
  withNamedFields,
} from './typed.ts'
import {
  difference,
  EMPTY_SET,
  exclude,
  type FieldSet,
  FieldSetBuilder,
  intersection,
  isEmpty,
  paths,
  union,
  unionOf,
} from './field_set.ts'

/** Field sets by manager id: see `identify` in managed_fields.ts. */
export type Owners = Map<string, FieldSet>

/** A field of another manager that an apply would change. */
export interface Conflict {
  readonly manager: string
  readonly path: readonly string[]
}

/** Thrown by an apply without force that would change fields of other managers. */
export class ConflictsError extends Error {
  override readonly name = 'ConflictsError'
  readonly conflicts: readonly Conflict[]

  constructor(conflicts: readonly Conflict[]) {
    super('Cannot apply: fields are owned by other managers')
    this.conflicts = conflicts
  }
}

/** The schema and field rules of an endpoint. */
export interface Typing {
  readonly schema: Schema
  /** Fields that this endpoint resets; its writers do not own them. */
  readonly ignored: FieldSet
  /** Whether objects are Go structs, in which some fields are always present. */
  readonly isBuiltin: boolean
  /** Tests whether the owners of this version can be read: a custom kind's definition must have it. */
  readonly isKnown: (apiVersion: string) => boolean
}

/** Returns the schema and field rules for the ownership of an endpoint's fields. */
export function typingOf(kind: Kind, subresource: string): Typing {
  const { schema, custom, apiVersion, group, origin } = kind
  const versions = (at(origin, 'spec', 'versions') ?? []) as readonly JsonObject[]
  return {
    schema,
    ignored: ignoredFields(kind, subresource),
    isBuiltin: !custom,
    isKnown: (other) =>
      !custom || other === '' || other === apiVersion ||
      versions.some(({ name }) => `${group}/${String(name)}` === other),
  }
}

const STATUS_ONLY = fieldSet(['f:status'])
const ALL_BUT_STATUS = fieldSet(['f:spec'], ['f:metadata'])
const SPEC_ONLY = fieldSet(['f:spec'])
const SPEC_AND = {
  labels: fieldSet(['f:spec'], ['f:metadata', 'f:labels']),
  ownerReferences: fieldSet(['f:spec'], ['f:metadata', 'f:ownerReferences']),
}

/** Returns the fields that an endpoint resets; its writers do not own them. */
function ignoredFields(kind: Kind, subresource: string): FieldSet {
  if (!kind.status) return EMPTY_SET
  if (subresource !== 'status') return STATUS_ONLY
  if (kind.custom) return ALL_BUT_STATUS
  const { statusKeeps } = kind.rules
  return statusKeeps ? SPEC_AND[statusKeeps] : SPEC_ONLY
}

function fieldSet(...paths: readonly (readonly string[])[]): FieldSet {
  const builder = new FieldSetBuilder()
  for (const path of paths) builder.insert(path)
  return builder.build()
}

/** Returns the owners after `manager` has replaced `before` with `after`. */
export function afterUpdate(
  typing: Typing,
  before: JsonObject,
  after: JsonObject,
  owners: Owners,
  manager: string,
): Owners {
  const { owners: remaining, comparison } = releaseChanged(typing, before, after, owners, manager, true)
  const own = remaining.get(manager) ?? EMPTY_SET
  const set = exclude(
    union(difference(own, comparison.removed), union(comparison.modified, comparison.added)),
    typing.ignored,
  )
  if (isEmpty(set)) remaining.delete(manager)
  else remaining.set(manager, set)
  return remaining
}

/** The result of an apply; `object` is undefined if nothing changes. */
export interface Applied {
  readonly object: JsonObject | undefined
  readonly owners: Owners
}

export function afterApply(
  typing: Typing,
  live: JsonObject,
  config: JsonObject,
  owners: Owners,
  manager: string,
  force: boolean,
): Applied {
  const { schema } = typing
  const merged = merge(schema, live, config) as JsonObject
  const last = owners.get(manager)
  const next = new Map(owners).set(manager, exclude(fieldsOf(schema, config), typing.ignored))
  const object = pruneUnowned(schema, merged, next, last)
  const { owners: remaining } = releaseChanged(typing, live, object, next, manager, force)
  return { object: jsonEqual(live, object) ? undefined : object, owners: remaining }
}

/** Removes changed fields from the other managers. Throws ConflictsError if there are any and `force` is false. */
function releaseChanged(
  { schema, ignored }: Typing,
  before: JsonObject,
  after: JsonObject,
  owners: Owners,
  manager: string,
  force: boolean,
): { owners: Owners; comparison: Comparison } {
  const whole = compare(schema, before, after)
  const comparison = {
    added: exclude(whole.added, ignored),
    modified: exclude(whole.modified, ignored),
    removed: exclude(whole.removed, ignored),
  }
  const written = union(comparison.modified, comparison.added)
  const conflicts = [...owners].filter(([other]) => other !== manager).map(([other, set]) =>
    [other, intersection(set, written)] as const
  )
    .filter(([, set]) => !isEmpty(set))
  if (!force && conflicts.length > 0) {
    throw new ConflictsError(conflicts.flatMap(([other, set]) => paths(set).map((path) => ({ manager: other, path }))))
  }
  const remaining: Owners = new Map()
  for (const [other, set] of owners) {
    const kept = other === manager ? set : difference(difference(set, written), comparison.removed)
    if (!isEmpty(kept)) remaining.set(other, kept)
  }
  return { owners: remaining, comparison }
}

/** Removes the fields that this manager applied last time, does not apply now, and no other manager owns. */
function pruneUnowned(schema: Schema, merged: JsonObject, owners: Owners, last: FieldSet | undefined): JsonObject {
  if (!last || isEmpty(last)) return merged
  const named = (set: FieldSet): FieldSet => withNamedFields(schema, set)
  const without = (set: FieldSet): JsonObject => (removeFields(schema, merged as Json, set) ?? {}) as JsonObject
  const mergedFields = named(fieldsOf(schema, merged))
  const lastFields = named(last)
  const owned = unionOf([...owners.values()])
  const bare = without(lastFields)
  const withOwned = without(difference(mergedFields, union(named(fieldsOf(schema, bare)), named(owned))))
  return without(intersection(difference(mergedFields, named(fieldsOf(schema, withOwned))), lastFields))
}

/** Returns the live value with the configuration merged in. Changes neither of them. */
function merge(schema: Schema, live: Maybe, config: Maybe): Maybe {
  if (config === undefined) return clone(live)
  if (live === undefined || live === null) return clone(config)
  const shape = shapeOf(schema, config ?? live)
  // Of two values that are null or empty, take the configuration's: it can replace null with empty and vice versa.
  if (isNullOrEmpty(live) && isNullOrEmpty(config)) return clone(config)
  if (shape === 'leaf' || (config !== null && shapeOf(schema, live) !== shape)) return clone(config)
  if (shape === 'map') return mergeMaps(schema, live as JsonObject, (config ?? {}) as JsonObject)
  return mergeLists(schema, live as Json[], (config ?? []) as Json[])
}

function isNullOrEmpty(value: Json): boolean {
  return value === null ||
    (Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0)
}

function mergeMaps(schema: Schema, live: JsonObject, config: JsonObject): JsonObject {
  const result: JsonObject = {}
  for (const name of new Set([...Object.keys(live), ...Object.keys(config)])) {
    const value = merge(childSchema(schema, name), ownField(live, name), ownField(config, name))
    if (value !== undefined) put(result, name, value)
  }
  return result
}

function ownField(object: JsonObject, name: string): Maybe {
  return Object.hasOwn(object, name) ? object[name] : undefined
}

/**
 * Merges in the order of structured-merge-diff: shared items have the configuration's order, and the other live items
 * keep their place relative to them.
 */
function mergeLists(schema: Schema, live: readonly Json[], config: readonly Json[]): Json[] {
  const elements = live.map((item) => itemElement(schema, item))
  const wanted = config.map((item) => itemElement(schema, item))
  const liveItems = itemsByElement(schema, live)
  const configItems = itemsByElement(schema, config)
  const shared = wanted.filter((element) => liveItems.has(element))
  // The next of the shared ones.
  let next = 0
  const done = new Set<string>()
  const result: Json[] = []
  const items = itemsOf(schema)
  const append = (element: string): void => {
    done.add(element)
    result.push(merge(items, liveItems.get(element), configItems.get(element))!)
    if (shared[next] === element) next++
  }
  let l = 0
  let r = 0
  while (l < elements.length || r < wanted.length) {
    const left = elements[l]
    const right = wanted[r]
    if (left !== undefined && right !== undefined) {
      if (left === right) {
        append(left)
        l++
        r++
        continue
      }
      if (configItems.has(left) && shared[next] !== undefined && shared[next] !== left) {
        l++
        continue
      }
    }
    if (left !== undefined) {
      if (!configItems.has(left)) {
        result.push(clone(live[l]!))
        l++
        continue
      }
      if (done.has(left)) l++
    }
    if (right !== undefined) {
      append(right)
      r++
    }
  }
  return result
}

/** Returns the value without the members of a set. Objects and lists that become empty are undefined. */
function removeFields(schema: Schema, value: Maybe, set: FieldSet): Maybe {
  if (isEmpty(set)) return value
  const shape = shapeOf(schema, value)
  if (shape === 'leaf') return Array.isArray(value) || isObject(value) ? undefined : value
  const kept = partsOf(schema, value).flatMap(({ element, schema: own, value: child }): [string, Json][] => {
    const node = set.get(element)
    if (node?.member) return []
    // What becomes empty is null, and not gone: another manager may own the field itself.
    return [[element.slice(2), node ? removeFields(own, child, node.children) ?? null : child]]
  })
  if (kept.length === 0) return undefined
  return shape === 'map' ? Object.fromEntries(kept) : kept.map(([, item]) => item)
}
