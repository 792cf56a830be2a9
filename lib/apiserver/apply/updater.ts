/**
 * The algorithm of structured-merge-diff: who owns which fields after an update or an apply, and what an apply makes
 * of the object.
 *
 * @see https://github.com/kubernetes-sigs/structured-merge-diff
 */
import type { Json, JsonObject } from '../json.ts'
import { jsonEqual } from '../../core/equal.ts'
import type { Schema } from '../schema/schema.ts'
import { compare, type Comparison, fieldsOf, withNamedFields } from './compare.ts'
import { difference, exclude, type FieldSet, intersection, isEmpty, NOTHING, paths, union } from './field_set.ts'
import { merge, removeFields } from './merge.ts'

/** Field sets by manager, where a manager is an operation of somebody: see managed_fields.ts. */
export type Owners = Map<string, FieldSet>

/** Fields of another manager that an apply would change. */
export interface Conflict {
  readonly manager: string
  readonly path: readonly string[]
}

/** Thrown by an apply that is not forced. */
export class ConflictsError extends Error {
  override readonly name = 'ConflictsError'
  readonly conflicts: readonly Conflict[]

  constructor(conflicts: readonly Conflict[]) {
    super('Cannot apply: fields are owned by other managers')
    this.conflicts = conflicts
  }
}

/** What one version of a kind knows about ownership. */
export interface Typing {
  readonly schema: Schema
  /** Fields that this endpoint does not write, and so nobody comes to own by it. */
  readonly ignored: FieldSet
  /** Whether objects are Go structs, of which some parts are always there. */
  readonly isBuiltin: boolean
}

/** Ownership after `manager` has written `after` over `before`. */
export function afterUpdate(
  typing: Typing,
  before: JsonObject,
  after: JsonObject,
  owners: Owners,
  manager: string,
): Owners {
  const { owners: left, comparison } = settle(typing, before, after, owners, manager, true)
  const own = left.get(manager) ?? NOTHING
  const set = exclude(
    union(difference(own, comparison.removed), union(comparison.modified, comparison.added)),
    typing.ignored,
  )
  if (isEmpty(set)) left.delete(manager)
  else left.set(manager, set)
  return left
}

/** The object and its owners after an apply; `object` is undefined when nothing changes. */
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
  const object = prune(schema, merged, next, last)
  const { owners: left } = settle(typing, live, object, next, manager, force)
  return { object: jsonEqual(live, object) ? undefined : object, owners: left }
}

/** Takes from the other managers what changes under them; without force that is an error. */
function settle(
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
  const left: Owners = new Map()
  for (const [other, set] of owners) {
    const kept = other === manager ? set : difference(difference(set, written), comparison.removed)
    if (!isEmpty(kept)) left.set(other, kept)
  }
  return { owners: left, comparison }
}

/** Takes out what this manager applied last time, not this time, and nobody else owns. */
function prune(schema: Schema, merged: JsonObject, owners: Owners, last: FieldSet | undefined): JsonObject {
  if (!last || isEmpty(last)) return merged
  const named = (set: FieldSet): FieldSet => withNamedFields(schema, set)
  const without = (set: FieldSet): JsonObject => (removeFields(schema, merged as Json, set) ?? {}) as JsonObject
  const mergedFields = named(fieldsOf(schema, merged))
  const lastFields = named(last)
  const owned = [...owners.values()].reduce((all, set) => union(all, set), NOTHING)
  const bare = without(lastFields)
  const withOwned = without(difference(mergedFields, union(named(fieldsOf(schema, bare)), named(owned))))
  return without(intersection(difference(mergedFields, named(fieldsOf(schema, withOwned))), lastFields))
}
