/** Moves objects from kubectl's client-side apply to server-side apply. */
import { at, isObject, type Json, type JsonObject } from '../model/json.ts'
import { difference, EMPTY_SET, type FieldSet } from './field_set.ts'
import { compare, fieldsOf, typeProblem } from './typed.ts'
import type { Conflict, Typing } from './updater.ts'

/** The annotation of kubectl's client-side apply: the configuration that was applied last. */
export const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

/** Returns the conflicts whose live values are not those of the last client-side apply. */
export function withoutLastApplied(
  conflicts: readonly Conflict[],
  typing: Typing,
  live: JsonObject,
  apiVersion: string,
): readonly Conflict[] {
  const allowed = lastAppliedFields(typing, live, apiVersion)
  return conflicts.filter(({ path }) => !hasMember(allowed, path))
}

/** Returns the fields of the last client-side apply that the live object still has with the same values. */
function lastAppliedFields({ schema }: Typing, live: JsonObject, apiVersion: string): FieldSet {
  const text = at(live, 'metadata', 'annotations', LAST_APPLIED)
  if (typeof text !== 'string' || text === '') return EMPTY_SET
  let config: Json
  try {
    config = JSON.parse(text) as Json
  } catch {
    return EMPTY_SET
  }
  if (!isObject(config) || config['apiVersion'] !== apiVersion || typeProblem(schema, config)) return EMPTY_SET
  const { added, modified, removed } = compare(schema, config, live)
  return difference(difference(difference(fieldsOf(schema, config), modified), added), removed)
}

function hasMember(set: FieldSet, [first, ...rest]: readonly string[]): boolean {
  const node = first === undefined ? undefined : set.get(first)
  return node !== undefined && (rest.length === 0 ? node.member : hasMember(node.children, rest))
}
