/** The steps that create, update, patch and apply share: validates and stores the new object. */
import { jsonEqual } from '../../core/equal.ts'
import { zeroValue } from '../schema/decode.ts'
import { EMPTY_SET, type FieldSet, FieldSetBuilder } from '../apply/field_set.ts'
import { updateManagedFields, type Writer } from '../apply/managed_fields.ts'
import type { Typing } from '../apply/updater.ts'
import { type Backend, fromStored, nowIso, putObject, removeObject, storeKey, toStored } from '../backend.ts'
import { validateCustom } from '../crd/validate.ts'
import { type ApiObject, clone, type JsonObject, type ManagedFieldsEntry } from '../json.ts'
import { apiVersionOf, type Kind } from '../kinds.ts'
import { initMetadata, metadataFaults, preserveMetadata, updateGeneration } from '../storage/objects.ts'
import type { Call, ResourceRoute } from '../http/routes.ts'
import { isAdmitting, mutated, placeOf, validated } from '../webhooks/admission.ts'
import {
  alreadyExists,
  type Cause,
  errorWithoutReason,
  fault,
  forbidden,
  generateNameConflict,
  invalid,
  notFound,
  StatusError,
} from '../http/status.ts'

/** The result of a write. */
export interface Written {
  readonly object: ApiObject
  readonly created: boolean
}

/** Returns whether a write is a dry run. Throws 422 for any value except `All`. */
export function isDryRun(values: readonly string[]): boolean {
  const wrong = values.filter((value) => value && value !== 'All')
  if (wrong.length > 0) {
    throw invalid({ group: 'meta.k8s.io', kind: 'CreateOptions' }, '', [fault.notSupported('dryRun', wrong, ['All'])])
  }
  return values.includes('All')
}

const MAX_MANAGER_LENGTH = 128

/** Returns the field manager: the `fieldManager` parameter, or the program name of the User-Agent. */
export function writerOf(backend: Backend, kind: Kind, route: ResourceRoute, call: Call): Writer {
  const given = call.query.get('fieldManager')
  if (given && given.length > MAX_MANAGER_LENGTH) {
    throw invalid({ group: 'meta.k8s.io', kind: 'CreateOptions' }, '', [
      fault.tooLong('fieldManager', MAX_MANAGER_LENGTH),
    ])
  }
  const manager = given || (call.headers['user-agent'] ?? '').split('/')[0]!.slice(0, MAX_MANAGER_LENGTH) || 'unknown'
  return { manager, apiVersion: apiVersionOf(kind), subresource: route.subresource, now: nowIso(backend) }
}

/** Returns the schema and field rules for the ownership of an endpoint's fields. */
export function typingOf(kind: Kind, subresource: string): Typing {
  return { schema: kind.schema, ignored: ignoredFields(kind, subresource), isBuiltin: !kind.custom }
}

const STATUS_ONLY = fieldSet(['f:status'])
const ALL_BUT_STATUS = fieldSet(['f:spec'], ['f:metadata'], ['f:apiVersion'], ['f:kind'])
const SPEC_ONLY = fieldSet(['f:spec'])
const SPEC_AND_LABELS = fieldSet(['f:spec'], ['f:metadata', 'f:labels'])

/** Returns the fields that an endpoint resets; its writers do not own them. */
function ignoredFields(kind: Kind, subresource: string): FieldSet {
  if (!kind.status) return EMPTY_SET
  if (subresource !== 'status') return STATUS_ONLY
  if (kind.custom) return ALL_BUT_STATUS
  return kind.rules.statusKeepsLabels ? SPEC_AND_LABELS : SPEC_ONLY
}

function fieldSet(...paths: readonly (readonly string[])[]): FieldSet {
  const builder = new FieldSetBuilder()
  for (const path of paths) builder.insert(path)
  return builder.build()
}

/** Throws if the namespace does not exist (404) or is terminating (403). */
export function checkNamespace(backend: Backend, kind: Kind, object: ApiObject): void {
  if (!kind.namespaced) return
  const name = object.metadata.namespace!
  const namespace = backend.store.get('namespaces', name)
  if (!namespace) throw notFound({ group: '', plural: 'namespaces' }, name)
  if (namespace.metadata.deletionTimestamp) {
    const cause: JsonObject = {
      reason: 'NamespaceTerminating',
      message: `namespace ${name} is being terminated`,
      field: 'metadata.namespace',
    }
    const error = forbidden(
      kind,
      object.metadata.name ?? '',
      `unable to create new content in namespace ${name} because it is being terminated`,
    )
    throw new StatusError(403, 'Forbidden', error.message, { ...error.details, causes: [cause] })
  }
}

/** Stores a new object. `managedFields` is the result of an apply; by default the writer owns all fields. */
export function createObject(
  backend: Backend,
  kind: Kind,
  wanted: ApiObject,
  writer: Writer,
  dryRun: boolean,
  managedFields?: ManagedFieldsEntry[],
): Written {
  let object = clone(wanted)
  if (object.metadata.resourceVersion) {
    throw errorWithoutReason(500, 'resourceVersion should not be set on objects to be created')
  }
  checkNamespace(backend, kind, object)
  const before = kind.custom ? { apiVersion: object.apiVersion, kind: object.kind } : zeroValue(kind.schema)
  setManagedFields(object, managedFields ?? updateManagedFields(typingOf(kind, ''), undefined, before, object, writer))
  const admission = isAdmitting(backend, kind) &&
    { operation: 'CREATE', subresource: '', old: undefined, dryRun } as const
  if (admission) object = mutated(backend, { ...placeOf(kind, object), ...admission, object }, wipeSystemFields)
  const isGenerated = !object.metadata.name && !!object.metadata.generateName
  const context = { nowMs: () => backend.clock.now(), random: backend.random }
  initMetadata(object, kind, context)
  if (kind.status && kind.custom) delete object['status']
  kind.rules.prepareCreate?.(object, { random: backend.random, nowIso: () => nowIso(backend) })
  throwIfInvalid(
    kind,
    object,
    [
      ...metadataFaults(object, kind),
      ...validateCustom(kind, object, undefined),
      ...(kind.rules.validate?.(object, undefined) ?? []),
    ],
  )
  if (admission) object = validated(backend, { ...placeOf(kind, object), ...admission, object })
  if (backend.store.get(kind.storage.id, storeKey(kind, object.metadata.namespace ?? '', object.metadata.name!))) {
    throw (isGenerated ? generateNameConflict : alreadyExists)(kind, object.metadata.name!)
  }
  return { object: dryRun ? object : putObject(backend, kind, object), created: true }
}

/** Stores the next state of an object. `old` is the stored object in the kind's version. */
export function updateObject(
  backend: Backend,
  kind: Kind,
  subresource: string,
  old: ApiObject,
  wanted: ApiObject,
  writer: Writer,
  dryRun: boolean,
  managedFields?: ManagedFieldsEntry[],
): Written {
  // Webhooks have admitted a write to /scale before, as a Scale.
  const admission = writer.subresource !== 'scale' && isAdmitting(backend, kind) &&
    { ...placeOf(kind, old), operation: 'UPDATE', subresource, old, dryRun } as const
  const ownFields = (object: ApiObject): void =>
    setManagedFields(
      object,
      managedFields ?? updateManagedFields(typingOf(kind, subresource), old, old, object, writer),
    )
  const admitted = admission ? mutated(backend, { ...admission, object: wanted }, ownFields) : wanted
  let object = clone(admitted)
  if (!object.metadata.resourceVersion && !kind.rules.unconditionalUpdate) {
    // Unlike other errors, this one names the resource instead of the kind.
    throw invalid(
      { group: kind.group, kind: kind.plural },
      object.metadata.name ?? '',
      [fault.invalid('metadata.resourceVersion', 0, 'must be specified for an update')],
    )
  }
  const faults = preserveMetadata(object, old, kind)
  // The webhooks have seen, and may have changed, the managedFields.
  if (admitted === wanted) ownFields(object)
  restoreUnwritten(kind, subresource, object, old)
  updateGeneration(object, old, kind)
  const isStatus = subresource === 'status'
  faults.push(...metadataFaults(object, kind), ...validateCustom(kind, object, old))
  faults.push(...((isStatus ? kind.rules.validateStatus?.(object, old) : kind.rules.validate?.(object, old)) ?? []))
  throwIfInvalid(kind, object, faults)
  object.metadata.resourceVersion = old.metadata.resourceVersion!
  if (admission) object = validated(backend, { ...admission, object })
  if (isLastFinalizerGone(object)) {
    if (!dryRun) removeObject(backend, kind, old)
    return { object, created: false }
  }
  if (dryRun) return { object, created: false }
  // A write without a change gets no revision and no watch event. Compare with the stored form: `old` may already
  // contain defaults that were added to the schema later.
  const stored = backend.store.get(kind.storage.id, storeKey(kind, old.metadata.namespace ?? '', old.metadata.name!))
  if (jsonEqual(toStored(kind, object), stored)) return { object: old, created: false }
  return { object: putObject(backend, kind, object), created: false }
}

/** Removes what clients cannot set on a new object, in place; only then, webhooks see it. */
function wipeSystemFields({ metadata }: ApiObject): void {
  for (const field of ['uid', 'creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds'] as const) {
    delete metadata[field]
  }
}

function setManagedFields(object: ApiObject, entries: ManagedFieldsEntry[] | undefined): void {
  if (entries && entries.length > 0) object.metadata.managedFields = entries
  else delete object.metadata.managedFields
}

/** Restores the fields that this endpoint does not write, in place. */
function restoreUnwritten(kind: Kind, subresource: string, object: ApiObject, old: ApiObject): void {
  if (subresource === 'status') {
    restoreAllButStatus(kind, object, old)
    if (kind.rules.statusKeepsLabels) restoreLabels(object, old)
    kind.rules.prepareStatus?.(object, old)
  } else {
    if (kind.status) restoreField(object, old, 'status')
    kind.rules.prepareUpdate?.(object, old)
  }
}

function restoreAllButStatus(kind: Kind, object: ApiObject, old: ApiObject): void {
  for (const name of new Set([...Object.keys(object), ...Object.keys(old)])) {
    if (name !== 'status' && name !== 'metadata' && name !== 'apiVersion' && name !== 'kind') {
      restoreField(object, old, name)
    }
  }
  if (!kind.custom) return
  const { managedFields } = object.metadata
  object.metadata = clone(old.metadata)
  setManagedFields(object, managedFields)
}

function restoreLabels({ metadata }: ApiObject, old: ApiObject): void {
  if (old.metadata.labels) metadata.labels = clone(old.metadata.labels)
  else delete metadata.labels
}

function restoreField(object: ApiObject, old: ApiObject, name: string): void {
  if (old[name] === undefined) delete object[name]
  else object[name] = clone(old[name])
}

function throwIfInvalid(kind: Kind, object: ApiObject, faults: readonly Cause[]): void {
  if (faults.length > 0) throw invalid(kind, object.metadata.name ?? '', faults)
}

function isLastFinalizerGone({ metadata }: ApiObject): boolean {
  return !!metadata.deletionTimestamp && (metadata.finalizers ?? []).length === 0 &&
    (metadata.deletionGracePeriodSeconds ?? 0) === 0
}

/** Returns the live object of a write, or undefined. */
export function liveObject(backend: Backend, kind: Kind, route: ResourceRoute): ApiObject | undefined {
  const stored = backend.store.get(kind.storage.id, storeKey(kind, route.namespace, route.name))
  return stored && fromStored(kind, stored)
}
