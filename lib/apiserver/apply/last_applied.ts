/** Moves objects from kubectl's client-side apply to server-side apply. */
import { at, isObject, type Json, type JsonObject } from '../model/json.ts'
import { difference, EMPTY_SET, type FieldSet } from './field_set.ts'
import { compare, fieldsOf, typeProblem } from './typed.ts'
import { afterApply, ConflictsError, type Owners, type Typing } from './updater.ts'

/** The annotation of kubectl's client-side apply: the configuration that was applied last. */
export const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

/**
 * Applies. For kubectl, fields that still have the values of the last client-side apply are no conflicts, so that an
 * object can move from client-side to server-side apply. Throws ConflictsError.
 */
export function applyOrUpgrade(
  typing: Typing,
  live: JsonObject,
  config: JsonObject,
  owners: Owners,
  id: string,
  force: boolean,
  { manager, apiVersion }: { readonly manager: string; readonly apiVersion: string },
): ReturnType<typeof afterApply> {
  try {
    return afterApply(typing, live, config, owners, id, force)
  } catch (error) {
    if (!(error instanceof ConflictsError) || manager !== 'kubectl') throw error
    const allowed = lastAppliedFields(typing, live, apiVersion)
    const conflicts = error.conflicts.filter(({ path }) => !hasMember(allowed, path))
    if (conflicts.length > 0) throw new ConflictsError(conflicts)
    return afterApply(typing, live, config, owners, id, true)
  }
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
