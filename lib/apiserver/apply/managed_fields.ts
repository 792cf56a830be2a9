/** Reads and writes `metadata.managedFields`, and updates it after writes. */
import { type ApiObject, isObject, type Json, type JsonObject, type ManagedFieldsEntry } from '../model/json.ts'
import { type Kind } from '../model/kinds.ts'
import { zeroValue } from '../schema/decode.ts'
import { badRequest, StatusError } from '../model/status.ts'
import { withoutLastApplied } from './last_applied.ts'
import { typeProblem, UntypableError } from './typed.ts'
import {
  difference,
  type FieldSet,
  FieldSetBuilder,
  fieldSetOf,
  formatPath,
  isEmpty,
  sharedFieldsV1,
  union,
  unionOf,
} from './field_set.ts'
import {
  afterApply,
  afterUpdate,
  type Applied,
  type Conflict,
  ConflictsError,
  type Owners,
  type Typing,
} from './updater.ts'

/** The identity of a writer in managedFields. */
export interface Writer {
  readonly manager: string
  readonly apiVersion: string
  /** Empty for the object itself. */
  readonly subresource: string
  /** RFC 3339. */
  readonly now: string
  /** Receives the warnings of the write. Default: they are dropped. */
  readonly warnings?: string[]
}

/** The fields without an owner: those that the server sets and those that every object has. */
const SERVER_OWNED: FieldSet = (() => {
  const builder = new FieldSetBuilder()
  for (const path of ['f:apiVersion', 'f:kind', 'f:metadata']) builder.insert([path])
  for (
    const name of ('name namespace creationTimestamp selfLink uid clusterName generation managedFields ' +
      'resourceVersion').split(' ')
  ) {
    builder.insert(['f:metadata', `f:${name}`])
  }
  return builder.build()
})()

const MAX_UPDATE_ENTRIES = 10

/** Returns the id of a manager. The id of an apply is equal for all versions, the id of an update is per version. */
function identify(entry: ManagedFieldsEntry): string {
  const { manager = '', operation = 'Update', apiVersion = '', subresource = '' } = entry
  return JSON.stringify([manager, operation, operation === 'Apply' ? '' : apiVersion, subresource])
}

interface Identity {
  readonly manager: string
  readonly operation: 'Apply' | 'Update'
  readonly apiVersion: string
  readonly subresource: string
}

function identityOf(id: string): Identity {
  const [manager, operation, apiVersion, subresource] = JSON.parse(id) as [string, 'Apply' | 'Update', string, string]
  return { manager, operation, apiVersion, subresource }
}

/** The entries of managers, by their ids. */
interface Managed {
  readonly owners: Owners
  readonly details: Map<string, Details>
}

interface Details {
  readonly time: string | undefined
  readonly apiVersion: string
}

function decode(entries: readonly ManagedFieldsEntry[] | undefined): Managed {
  const owners: Owners = new Map()
  const details = new Map<string, Details>()
  for (const entry of entries ?? []) {
    const id = identify(entry)
    const set = isObject(entry.fieldsV1) ? fieldSetOf(entry.fieldsV1) : new Map()
    owners.set(id, owners.has(id) ? union(owners.get(id)!, set) : set)
    details.set(id, { time: entry.time, apiVersion: entry.apiVersion ?? '' })
  }
  return { owners, details }
}

function encode({ owners, details }: Managed): ManagedFieldsEntry[] {
  const entries = [...owners].map(([id, set]): ManagedFieldsEntry => {
    const { manager, operation, subresource } = identityOf(id)
    const { time, apiVersion } = details.get(id)!
    return {
      manager,
      operation,
      apiVersion,
      ...(time !== undefined && { time }),
      fieldsType: 'FieldsV1',
      fieldsV1: sharedFieldsV1(set),
      ...(subresource && { subresource }),
    }
  })
  return inOrder(entries)
}

/** Sorts entries as the API server stores them. */
export function inOrder(entries: ManagedFieldsEntry[]): ManagedFieldsEntry[] {
  return entries.sort((a, b) =>
    order(a.operation!, b.operation!) || order(a.time ?? '', b.time ?? '') || order(a.manager!, b.manager!) ||
    order(a.apiVersion!, b.apiVersion!) || order(a.subresource ?? '', b.subresource ?? '')
  )
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function isDecodable({ operation, fieldsType, fieldsV1 }: ManagedFieldsEntry): boolean {
  return (operation === 'Apply' || operation === 'Update') && fieldsType === 'FieldsV1' && isFieldSet(fieldsV1 ?? {})
}

function isFieldSet(json: Json | undefined): boolean {
  return isObject(json) &&
    Object.entries(json).every(([element, value]) => /^(\.$|[fkvi]:)/.test(element) && isFieldSet(value))
}

/** Returns the managers before a write: those in the written object if present, otherwise those of the live object. */
function managedOf(live: ApiObject | undefined, after: ApiObject, writer: Writer): Managed {
  const given = after.metadata.managedFields as ManagedFieldsEntry[] | null | undefined
  if (writer.subresource) return decode(live?.metadata.managedFields)
  // An empty list or a single empty entry clears managedFields; a missing list keeps them.
  if (given && (given.length === 0 || (given.length === 1 && Object.keys(given[0]!).length === 0))) {
    return decode(undefined)
  }
  const isUsable = given && given.length > 0 && given.every(isDecodable)
  return decode(isUsable ? given : live?.metadata.managedFields)
}

/** Returns the version of an owner that the definition no longer has. */
function unknownVersion(typing: Typing, { details }: Managed): string | undefined {
  return [...details.values()].find(({ apiVersion }) => !typing.isKnown(apiVersion))?.apiVersion
}

/**
 * Returns the managedFields after `writer` has replaced `before` with `after`; `live` is undefined on creation.
 *
 * Like the real server, drops the owners of an object that has a value of a wrong type, even if it is in a field that
 * is not written. It also drops them if the definition no longer has the version of one of them.
 */
export function updateManagedFields(
  typing: Typing,
  live: ApiObject | undefined,
  before: JsonObject,
  after: ApiObject,
  writer: Writer,
): ManagedFieldsEntry[] | undefined {
  if (!typing.isBuiltin && typeProblem(typing.schema, withoutManagedFields(after))) return undefined
  try {
    return ownersAfterUpdate(typing, live, before, after, writer)
  } catch (error) {
    if (error instanceof UntypableError) return undefined
    throw error
  }
}

function ownersAfterUpdate(
  typing: Typing,
  live: ApiObject | undefined,
  before: JsonObject,
  after: ApiObject,
  writer: Writer,
): ManagedFieldsEntry[] | undefined {
  const managed = managedOf(live, after, writer)
  const { owners, details } = managed
  // Without managedFields the object was cleared on purpose: keep it so.
  if (live && owners.size === 0) return undefined
  if (unknownVersion(typing, managed) !== undefined) return undefined
  const { manager, apiVersion, subresource } = writer
  const id = identify({ manager, operation: 'Update', apiVersion, subresource })
  const current = 'current-operation'
  const next = withoutServerFields(
    afterUpdate(typing, withoutManagedFields(before), withoutManagedFields(after), owners, current),
  )
  const written = next.get(current)
  if (written) {
    next.delete(current)
    next.set(id, next.has(id) ? union(next.get(id)!, written) : written)
    // The real server does not set the time of writes to /scale.
    details.set(id, { time: subresource === 'scale' ? undefined : writer.now, apiVersion })
  }
  const capped = { owners: next, details }
  capUpdateEntries(capped)
  return encode(capped)
}

export interface AppliedObject {
  /** Undefined if the apply changes nothing. */
  readonly object: JsonObject | undefined
  readonly managedFields: ManagedFieldsEntry[]
}

/**
 * Returns the object and its managedFields after an apply. `live` is an empty object on creation. Throws if the
 * definition no longer has the version of one of the owners.
 */
export function applyManagedFields(
  typing: Typing,
  live: JsonObject,
  entries: readonly ManagedFieldsEntry[] | undefined,
  config: JsonObject,
  writer: Writer,
  force: boolean,
): AppliedObject {
  const managed = decode(entries)
  const { owners, details } = managed
  const unknown = unknownVersion(typing, managed)
  if (unknown !== undefined) {
    throw new StatusError(500, '', `request to convert CR to an invalid group/version: ${unknown}`)
  }
  const id = identify({ manager: writer.manager, operation: 'Apply', subresource: writer.subresource })
  const bare = withoutManagedFields(live)
  if (owners.size === 0 && (live['metadata'] as JsonObject | undefined)?.['uid'] !== undefined) {
    claimUnmanaged(typing, bare, managed, writer)
  }
  try {
    const apply = (forced: boolean): Applied => afterApply(typing, bare, config, owners, id, forced)
    const applied = writer.manager === 'kubectl' && !force
      ? appliedByKubectl(typing, bare, writer, apply)
      : apply(force)
    const next = withoutServerFields(applied.owners)
    const time = applied.object === undefined ? details.get(id)?.time : writer.now
    details.set(id, { time, apiVersion: writer.apiVersion })
    return { object: applied.object, managedFields: encode({ owners: next, details }) }
  } catch (error) {
    if (error instanceof ConflictsError) throw conflictStatus(error.conflicts)
    throw error
  }
}

/**
 * Applies. For kubectl, fields that still have the values of the last client-side apply are no conflicts, so that an
 * object can move from client-side to server-side apply. Throws ConflictsError.
 */
function appliedByKubectl(
  typing: Typing,
  live: JsonObject,
  { apiVersion }: Writer,
  apply: (forced: boolean) => Applied,
): Applied {
  try {
    return apply(false)
  } catch (error) {
    if (!(error instanceof ConflictsError)) throw error
    const conflicts = withoutLastApplied(error.conflicts, typing, live, apiVersion)
    if (conflicts.length > 0) throw new ConflictsError(conflicts)
    return apply(true)
  }
}

/** Assigns the fields of an unmanaged object to `before-first-apply`, so that an apply does not remove them. */
function claimUnmanaged(typing: Typing, live: JsonObject, { owners, details }: Managed, writer: Writer): void {
  const { apiVersion, subresource } = writer
  const id = identify({ manager: 'before-first-apply', operation: 'Update', apiVersion, subresource })
  const before = typing.isBuiltin ? zeroValue(typing.schema) : {}
  const claimed = withoutServerFields(afterUpdate(typing, before, live, new Map(), id))
  for (const [manager, set] of claimed) owners.set(manager, set)
  details.set(id, { time: writer.now, apiVersion })
}

function withoutServerFields(owners: Owners): Owners {
  const result: Owners = new Map()
  for (const [id, set] of owners) {
    const kept = difference(set, SERVER_OWNED)
    if (!isEmpty(kept)) result.set(id, kept)
  }
  return result
}

function withoutManagedFields(object: JsonObject): JsonObject {
  const metadata = object['metadata']
  if (!isObject(metadata) || metadata['managedFields'] === undefined) return object
  const { managedFields: _, ...rest } = metadata
  return { ...object, metadata: rest }
}

/** Merges the oldest update entries above the limit of ten, separately for each version. */
function capUpdateEntries({ owners, details }: Managed): void {
  const updaters = [...owners.keys()].filter((id) => identityOf(id).operation === 'Update')
    .sort((a, b) => order(details.get(a)!.time ?? '', details.get(b)!.time ?? '') || order(a, b))
  const firstOf = new Map<string, string>()
  const merged = new Map<string, FieldSet[]>()
  let count = updaters.length
  for (const id of updaters) {
    if (count <= MAX_UPDATE_ENTRIES) break
    const { apiVersion } = details.get(id)!
    const first = firstOf.get(apiVersion)
    if (first === undefined) {
      firstOf.set(apiVersion, id)
      continue
    }
    const bucket = identify({ manager: 'ancient-changes', operation: 'Update', apiVersion })
    if (!owners.has(bucket)) {
      owners.set(bucket, owners.get(first)!)
      owners.delete(first)
    }
    const sets = merged.get(bucket) ?? [owners.get(bucket)!]
    merged.set(bucket, sets)
    sets.push(owners.get(id)!)
    owners.delete(id)
    if (id === bucket) merged.delete(bucket)
    details.set(bucket, details.get(id)!)
    count--
  }
  for (const [bucket, sets] of merged) owners.set(bucket, unionOf(sets))
}

/** Throws 400 if an applied configuration has the wrong type or contains managedFields. */
export function checkApplyConfig(config: JsonObject, kind: Pick<Kind, 'apiVersion' | 'kind'>): void {
  const { apiVersion, kind: given } = config
  if (apiVersion !== kind.apiVersion || given !== kind.kind) {
    const text = (value: Json | undefined): string => typeof value === 'string' ? value : ''
    throw badRequest(`invalid object type: ${groupVersion(text(apiVersion))}, Kind=${text(given)}`)
  }
  const metadata = config['metadata']
  if (isObject(metadata) && metadata['managedFields'] != null) throw badRequest('metadata.managedFields must be nil')
}

/** Returns an apiVersion as Go prints a group and a version: `/v1` for the core group. */
function groupVersion(apiVersion: string): string {
  return apiVersion.includes('/') ? apiVersion : `/${apiVersion}`
}

function conflictStatus(conflicts: readonly Conflict[]): StatusError {
  const causes = conflicts.map(({ manager, path }) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${describe(manager)}`,
    field: formatPath(path),
  }))
  return new StatusError(409, 'Conflict', conflictMessage(conflicts), { causes })
}

function conflictMessage(conflicts: readonly Conflict[]): string {
  if (conflicts.length === 1) {
    return `Apply failed with 1 conflict: conflict with ${describe(conflicts[0]!.manager)}: ${
      formatPath(conflicts[0]!.path)
    }`
  }
  const managers = [...new Set(conflicts.map(({ manager }) => manager))].sort()
  const lines = managers.flatMap((manager) => [
    `conflicts with ${describe(manager)}:`,
    ...conflicts.filter((conflict) => conflict.manager === manager).map(({ path }) => `- ${formatPath(path)}`),
  ])
  return `Apply failed with ${conflicts.length} conflicts: ${lines.join('\n')}`
}

function describe(id: string): string {
  const { manager, operation, apiVersion, subresource } = identityOf(id)
  const name = JSON.stringify(manager) + (subresource && ` with subresource ${JSON.stringify(subresource)}`)
  return operation === 'Update' ? `${name} using ${apiVersion}` : name
}
