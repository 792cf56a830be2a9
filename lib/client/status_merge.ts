/** Merges a status to set with what other writers have changed since its object was read. */
import { isFields, propertyOf, setField } from '../core/clone.ts'
import { jsonEqual } from '../core/equal.ts'
import type { AnyResource } from '../core/resource.ts'

/** The keywords of a schema that say which lists are maps. */
export interface ListSchema {
  readonly properties?: Readonly<Record<string, ListSchema>>
  /** A schema, or a boolean. */
  readonly additionalProperties?: unknown
  readonly items?: ListSchema
  readonly default?: unknown
  readonly 'x-kubernetes-list-type'?: string
  readonly 'x-kubernetes-list-map-keys'?: readonly string[]
}

/** Returns the schema of a kind's status, or undefined if only the server knows it. */
export function statusSchema({ definition, version }: AnyResource): ListSchema | undefined {
  const schema = definition?.crd.spec.versions.find(({ name }) => name === version)?.schema.openAPIV3Schema
  return (schema as ListSchema | undefined)?.properties?.['status']
}

/**
 * Returns the status to write: `wanted`, with the items that others have added to or changed in lists that are maps.
 * `base` is the status that `wanted` was made from, and `current` the server's. Adds to `conflicts` the path of each
 * field that another writer has changed, unless `wanted` has a new value for it; a list that is no map conflicts then,
 * too.
 *
 * A field that `wanted` has as it is in `base` conflicts: most often it was copied, and the caller may have decided by
 * it.
 */
export function mergeStatus(
  { base, wanted, current }: { readonly base: unknown; readonly wanted: unknown; readonly current: unknown },
  schema: ListSchema | undefined,
  conflicts: string[],
  path = 'status',
): unknown {
  if (jsonEqual(wanted, current) || jsonEqual(base, current)) return wanted
  const lists = keyed(schema, path, base, wanted, current)
  if (lists) {
    const items = mergeItems(...lists)
    return items.length > 0 || wanted !== undefined ? items : undefined
  }
  if (isFields(wanted) && isFields(current)) {
    const merged: Record<string, unknown> = {}
    for (const field of new Set([...Object.keys(wanted), ...Object.keys(current)])) {
      const [b, w, c] = [base, wanted, current].map((each) => fieldOf(each, field))
      const part = { base: b, wanted: w, current: c }
      const value = mergeStatus(part, propertyOf(schema, field), conflicts, `${path}.${field}`)
      if (value !== undefined) setField(merged, field, value)
    }
    return merged
  }
  const isOurs = wanted !== undefined && !jsonEqual(wanted, base)
  if (!isOurs || (Array.isArray(wanted) && Array.isArray(current))) conflicts.push(path)
  return wanted
}

/**
 * Returns the part of an answer that the writer of `wanted` knows: without the items of others in lists that are maps.
 * It is the base of the writer's next status, if that is made from the same object.
 */
export function ownPart(answer: unknown, wanted: unknown, schema: ListSchema | undefined, path = 'status'): unknown {
  const lists = keyed(schema, path, undefined, wanted, answer)
  if (lists) return [...lists[2]].filter(([key]) => lists[1].has(key)).map(([, item]) => item)
  if (!isFields(answer)) return answer
  return Object.fromEntries(
    Object.entries(answer).map(([field, value]) => [
      field,
      ownPart(value, fieldOf(wanted, field), propertyOf(schema, field), `${path}.${field}`),
    ]),
  )
}

type Items = ReadonlyMap<string, unknown>

/** Items of others stay, in their order; ours follow. An item that was removed or changed by us is as we want it. */
function mergeItems(base: Items, wanted: Items, current: Items): readonly unknown[] {
  const isOurs = (key: string): boolean => !jsonEqual(wanted.get(key), base.get(key))
  const kept = [...current].flatMap(([key, theirs]) => {
    if (!wanted.has(key)) return base.has(key) ? [] : [theirs]
    return [isOurs(key) ? wanted.get(key) : theirs]
  })
  return [...kept, ...[...wanted].flatMap(([key, ours]) => !current.has(key) && isOurs(key) ? [ours] : [])]
}

/** Returns the items of lists by their keys; undefined if the lists are no maps. A missing list is empty. */
function keyed(
  schema: ListSchema | undefined,
  path: string,
  ...lists: readonly [base: unknown, wanted: unknown, current: unknown]
): readonly [base: Items, wanted: Items, current: Items] | undefined {
  // Without a schema, only conditions are certain to be a map.
  const keys = schema
    ? schema['x-kubernetes-list-type'] === 'map' && schema['x-kubernetes-list-map-keys']
    : path.endsWith('.conditions') && ['type']
  if (!keys || !lists.some(Array.isArray)) return undefined
  const maps = lists.map((list) => itemsByKey(list ?? [], keys, schema?.items))
  return maps.every((map) => map !== undefined) ? maps as unknown as readonly [Items, Items, Items] : undefined
}

/** Returns undefined if the list has an item without a key, or two with the same. */
function itemsByKey(list: unknown, keys: readonly string[], schema: ListSchema | undefined): Items | undefined {
  if (!Array.isArray(list)) return undefined
  const items = new Map<string, unknown>()
  for (const item of list) {
    // The server fills in the defaults of keys.
    const values = keys.map((key) => fieldOf(item, key) ?? schema?.properties?.[key]?.default)
    if (values.includes(undefined)) return undefined
    items.set(JSON.stringify(values), item)
  }
  return items.size === list.length ? items : undefined
}

function fieldOf(value: unknown, field: string): unknown {
  return isFields(value) && Object.hasOwn(value, field) ? value[field] : undefined
}
