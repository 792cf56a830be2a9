/** `metadata.managedFields`: reading it, writing it, and keeping it through updates and applies. */
import { type ApiObject, isObject, type JsonObject, type ManagedFieldsEntry } from '../json.ts'
import { apiVersionOf, type Kind } from '../kinds.ts'
import { emptyTyped } from '../schema/decode.ts'
import { badRequest, type Cause, StatusError } from '../http/status.ts'
import {
  difference,
  type FieldSet,
  FieldSetBuilder,
  formatPath,
  fromFieldsV1,
  isEmpty,
  toFieldsV1,
  union,
} from './field_set.ts'
import { afterApply, afterUpdate, type Conflict, ConflictsError, type Owners, type Typing } from './updater.ts'

/** Who is writing, as managedFields names him. */
export interface Writer {
  readonly manager: string
  readonly apiVersion: string
  /** Empty for the object itself. */
  readonly subresource: string
  /** RFC 3339. */
  readonly now: string
}

interface Managed {
  owners: Owners
  readonly times: Map<string, string | undefined>
}

/** What nobody owns: the server's own fields and what every object has. */
const SERVER_OWNED: FieldSet = (() => {
  const builder = new FieldSetBuilder()
  for (const path of ['f:apiVersion', 'f:kind', 'f:metadata']) builder.insert([path])
  for (
    const name of [
      'name',
      'namespace',
      'creationTimestamp',
      'selfLink',
      'uid',
      'clusterName',
      'generation',
      'managedFields',
      'resourceVersion',
    ]
  ) {
    builder.insert(['f:metadata', `f:${name}`])
  }
  return builder.build()
})()

const MAX_UPDATE_ENTRIES = 10

/** The identity of an entry: an applier is one manager at whatever version, an updater one for each. */
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

function decode(
  entries: readonly ManagedFieldsEntry[] | undefined,
): Managed & { readonly versions: Map<string, string> } {
  const owners: Owners = new Map()
  const times = new Map<string, string | undefined>()
  const versions = new Map<string, string>()
  for (const entry of entries ?? []) {
    const id = identify(entry)
    const set = isObject(entry.fieldsV1) ? fromFieldsV1(entry.fieldsV1) : new Map()
    owners.set(id, owners.has(id) ? union(owners.get(id)!, set) : set)
    times.set(id, entry.time)
    versions.set(id, entry.apiVersion ?? '')
  }
  return { owners, times, versions }
}

function encode(
  owners: Owners,
  times: ReadonlyMap<string, string | undefined>,
  versions: ReadonlyMap<string, string>,
): ManagedFieldsEntry[] {
  const entries = [...owners].map(([id, set]): ManagedFieldsEntry => {
    const { manager, operation, apiVersion, subresource } = identityOf(id)
    const time = times.get(id)
    return {
      manager,
      operation,
      apiVersion: versions.get(id) ?? apiVersion,
      ...(time !== undefined && { time }),
      fieldsType: 'FieldsV1',
      fieldsV1: toFieldsV1(set),
      ...(subresource && { subresource }),
    }
  })
  return entries.sort((a, b) =>
    order(a.operation!, b.operation!) || order(a.time ?? '', b.time ?? '') || order(a.manager!, b.manager!) ||
    order(a.apiVersion!, b.apiVersion!) || order(a.subresource ?? '', b.subresource ?? '')
  )
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** The managers of what is about to be written: the client's word if it has one, else the live object's. */
function managedOf(live: ApiObject | undefined, after: ApiObject, writer: Writer): ReturnType<typeof decode> {
  const stated = after.metadata.managedFields as ManagedFieldsEntry[] | null | undefined
  if (writer.subresource) return decode(live?.metadata.managedFields)
  // An empty list, or one empty entry, erases; no list at all keeps.
  if (stated && (stated.length === 0 || (stated.length === 1 && Object.keys(stated[0]!).length === 0))) {
    return decode(undefined)
  }
  return decode(stated && stated.length > 0 ? stated : live?.metadata.managedFields)
}

/** The managedFields after `writer` has updated `before` to `after`; `live` is undefined on creation. */
export function updateManagedFields(
  typing: Typing,
  live: ApiObject | undefined,
  before: JsonObject,
  after: ApiObject,
  writer: Writer,
): ManagedFieldsEntry[] | undefined {
  const { owners, times, versions } = managedOf(live, after, writer)
  // An object that nobody manages stays so: whoever erased managedFields meant it.
  if (live && owners.size === 0) return undefined
  const id = identify({
    manager: writer.manager,
    operation: 'Update',
    apiVersion: writer.apiVersion,
    subresource: writer.subresource,
  })
  const current = 'current-operation'
  const next = stripped(afterUpdate(typing, withoutManagedFields(before), withoutManagedFields(after), owners, current))
  const written = next.get(current)
  if (written) {
    next.delete(current)
    next.set(id, next.has(id) ? union(next.get(id)!, written) : written)
    // The real server forgets the time of writes to /scale.
    times.set(id, writer.subresource === 'scale' ? undefined : writer.now)
    versions.set(id, writer.apiVersion)
  }
  capUpdaters(next, times, versions)
  return encode(next, times, versions)
}

export interface AppliedObject {
  /** Undefined when the apply changes nothing. */
  readonly object: JsonObject | undefined
  readonly managedFields: ManagedFieldsEntry[]
}

/** The object and its managedFields after an apply. `live` is an empty object on creation. */
export function applyManagedFields(
  typing: Typing,
  live: JsonObject,
  entries: readonly ManagedFieldsEntry[] | undefined,
  config: JsonObject,
  writer: Writer,
  force: boolean,
): AppliedObject {
  const { owners, times, versions } = decode(entries)
  const id = identify({ manager: writer.manager, operation: 'Apply', subresource: writer.subresource })
  const bare = withoutManagedFields(live)
  if (owners.size === 0 && (live['metadata'] as JsonObject | undefined)?.['uid'] !== undefined) {
    claimUnmanaged(
      typing,
      bare,
      owners,
      times,
      versions,
      writer,
    )
  }
  try {
    const applied = afterApply(typing, bare, config, owners, id, force)
    const next = stripped(applied.owners)
    if (applied.object !== undefined) times.set(id, writer.now)
    versions.set(id, writer.apiVersion)
    return { object: applied.object, managedFields: encode(next, times, versions) }
  } catch (error) {
    if (error instanceof ConflictsError) throw conflictStatus(error.conflicts)
    throw error
  }
}

/** What was there before anybody applied belongs to a manager of that name, so that it is not lost. */
function claimUnmanaged(
  typing: Typing,
  live: JsonObject,
  owners: Owners,
  times: Map<string, string | undefined>,
  versions: Map<string, string>,
  writer: Writer,
): void {
  const id = identify({ manager: 'before-first-apply', operation: 'Update', apiVersion: writer.apiVersion })
  for (
    const [manager, set] of stripped(
      afterUpdate(typing, typing.isBuiltin ? emptyTyped(typing.schema) : {}, live, new Map(), id),
    )
  ) owners.set(manager, set)
  times.set(id, writer.now)
  versions.set(id, writer.apiVersion)
}

function stripped(owners: Owners): Owners {
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

/** Above ten updaters, the oldest become one, version by version. */
function capUpdaters(owners: Owners, times: Map<string, string | undefined>, versions: Map<string, string>): void {
  const updaters = [...owners.keys()].filter((id) => identityOf(id).operation === 'Update')
    .sort((a, b) => order(times.get(a) ?? '', times.get(b) ?? '') || order(a, b))
  const firstOf = new Map<string, string>()
  let count = updaters.length
  for (const id of updaters) {
    if (count <= MAX_UPDATE_ENTRIES) return
    const apiVersion = versions.get(id) ?? ''
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
    owners.set(bucket, union(owners.get(id)!, owners.get(bucket)!))
    owners.delete(id)
    times.set(bucket, times.get(id))
    versions.set(bucket, apiVersion)
    count--
  }
}

/** Refuses an applied configuration that says what only the server may say. */
export function checkApplyConfig(config: JsonObject, kind: Kind): void {
  const { apiVersion, kind: stated } = config
  if (apiVersion !== apiVersionOf(kind) || stated !== kind.kind) {
    throw badRequest(`invalid object type: ${String(apiVersion ?? '')}, Kind=${String(stated ?? '')}`)
  }
  const metadata = config['metadata']
  if (isObject(metadata) && metadata['managedFields'] != null) throw badRequest('metadata.managedFields must be nil')
}

function conflictStatus(conflicts: readonly Conflict[]): StatusError {
  const causes = conflicts.map(({ manager, path }): Cause => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${describe(manager)}`,
    field: formatPath(path),
  }))
  const details: JsonObject = { causes: causes.map(({ reason, message, field }) => ({ reason, message, field })) }
  return new StatusError(409, 'Conflict', conflictMessage(conflicts), details)
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
  const who = JSON.stringify(manager) + (subresource && ` with subresource ${JSON.stringify(subresource)}`)
  return operation === 'Update' ? `${who} using ${apiVersion}` : who
}
