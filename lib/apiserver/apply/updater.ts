/**
 * Computes field ownership after updates and applies, by the algorithm of structured-merge-diff.
 *
 * @see https://github.com/kubernetes-sigs/structured-merge-diff
 */
import type { Json, JsonObject } from '../json.ts'
import { jsonEqual } from '../../core/equal.ts'
import type { Schema } from '../schema/schema.ts'
import { compare, type Comparison, fieldsOf, withNamedFields } from './compare.ts'
import { difference, EMPTY_SET, exclude, type FieldSet, intersection, isEmpty, paths, union } from './field_set.ts'
import { merge, removeFields } from './merge.ts'

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
  const owned = [...owners.values()].reduce((all, set) => union(all, set), EMPTY_SET)
  const bare = without(lastFields)
  const withOwned = without(difference(mergedFields, union(named(fieldsOf(schema, bare)), named(owned))))
  return without(intersection(difference(mergedFields, named(fieldsOf(schema, withOwned))), lastFields))
}
