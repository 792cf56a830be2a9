/** What create, update, patch and apply share: from an object that is wanted to one that is stored. */
import { jsonEqual } from '../../core/equal.ts'
import { emptyTyped } from '../schema/decode.ts'
import { type FieldSet, FieldSetBuilder, NOTHING } from '../apply/field_set.ts'
import { updateManagedFields, type Writer } from '../apply/managed_fields.ts'
import type { Typing } from '../apply/updater.ts'
import { type Backend, commit, nowIso, present, storeKey, toStored, uncommit } from '../backend.ts'
import { validateCustom } from '../crd/validate.ts'
import { type ApiObject, clone, type JsonObject, type ManagedFieldsEntry } from '../json.ts'
import { apiVersionOf, type Kind } from '../kinds.ts'
import { beginLife, continueLife, countGeneration, metadataFaults } from '../storage/objects.ts'
import type { Call, ResourceRoute } from '../http/routes.ts'
import {
  alreadyExists,
  bare,
  type Cause,
  fault,
  forbidden,
  generateNameConflict,
  invalid,
  notFound,
  StatusError,
} from '../http/status.ts'

/** What a write answers with. */
export interface Written {
  readonly object: ApiObject
  readonly created: boolean
}

/** Whether a write is only to be tried. Throws 422 for anything but `All`. */
export function isDryRun(values: readonly string[]): boolean {
  const wrong = values.filter((value) => value && value !== 'All')
  if (wrong.length > 0) {
    throw invalid({ group: 'meta.k8s.io', kind: 'CreateOptions' }, '', [fault.notSupported('dryRun', wrong, ['All'])])
  }
  return values.includes('All')
}

const MAX_MANAGER_LENGTH = 128

/** Who writes: the `fieldManager` parameter, or the program in the User-Agent, as the real server takes it. */
export function writerOf(backend: Backend, kind: Kind, route: ResourceRoute, call: Call): Writer {
  const stated = call.query.get('fieldManager')
  if (stated && stated.length > MAX_MANAGER_LENGTH) {
    throw invalid({ group: 'meta.k8s.io', kind: 'CreateOptions' }, '', [
      fault.tooLong('fieldManager', MAX_MANAGER_LENGTH),
    ])
  }
  const manager = stated || (call.headers['user-agent'] ?? '').split('/')[0]!.slice(0, MAX_MANAGER_LENGTH) || 'unknown'
  return { manager, apiVersion: apiVersionOf(kind), subresource: route.subresource, now: nowIso(backend) }
}

/** What an endpoint of a kind knows about the ownership of fields. */
export function typingOf(kind: Kind, subresource: string): Typing {
  return { schema: kind.schema, ignored: ignoredFields(kind, subresource), isBuiltin: !kind.custom }
}

const STATUS_ONLY = fieldSet(['f:status'])
const ALL_BUT_STATUS = fieldSet(['f:spec'], ['f:metadata'], ['f:apiVersion'], ['f:kind'])
const SPEC_ONLY = fieldSet(['f:spec'])
const SPEC_AND_LABELS = fieldSet(['f:spec'], ['f:metadata', 'f:labels'])

/** The fields that an endpoint resets, so that nobody comes to own them by it. */
function ignoredFields(kind: Kind, subresource: string): FieldSet {
  if (!kind.status) return NOTHING
  if (subresource !== 'status') return STATUS_ONLY
  if (kind.custom) return ALL_BUT_STATUS
  return kind.rules.statusKeepsLabels ? SPEC_AND_LABELS : SPEC_ONLY
}

function fieldSet(...paths: readonly (readonly string[])[]): FieldSet {
  const builder = new FieldSetBuilder()
  for (const path of paths) builder.insert(path)
  return builder.build()
}

/** Refuses writes into namespaces that do not exist or are going. */
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

/** Stores a new object. `managedFields` is what an apply has worked out; otherwise the writer comes to own all. */
export function createObject(
  backend: Backend,
  kind: Kind,
  wanted: ApiObject,
  writer: Writer,
  dryRun: boolean,
  managedFields?: ManagedFieldsEntry[],
): Written {
  const object = clone(wanted)
  if (object.metadata.resourceVersion) throw bare(500, 'resourceVersion should not be set on objects to be created')
  checkNamespace(backend, kind, object)
  const before = kind.custom ? { apiVersion: object.apiVersion, kind: object.kind } : emptyTyped(kind.schema)
  setManagedFields(object, managedFields ?? updateManagedFields(typingOf(kind, ''), undefined, before, object, writer))
  const isGenerated = !object.metadata.name && !!object.metadata.generateName
  const surroundings = { nowMs: () => backend.clock.now(), random: backend.random }
  beginLife(object, kind, surroundings)
  if (kind.status && kind.custom) delete object['status']
  kind.rules.prepareCreate?.(object, { random: backend.random, nowIso: () => nowIso(backend) })
  refuseInvalid(
    kind,
    object,
    [
      ...metadataFaults(object, kind),
      ...validateCustom(kind, object, undefined),
      ...(kind.rules.validate?.(object, undefined) ?? []),
    ],
  )
  if (backend.store.get(kind.storage.id, storeKey(kind, object.metadata.namespace ?? '', object.metadata.name!))) {
    throw (isGenerated ? generateNameConflict : alreadyExists)(kind, object.metadata.name!)
  }
  return { object: dryRun ? object : commit(backend, kind, object), created: true }
}

/** Stores the next state of an object. `old` is what is stored, in the form of the kind's version. */
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
  const object = clone(wanted)
  if (!object.metadata.resourceVersion && !kind.rules.unconditionalUpdate) {
    // This one refusal names the resource, not the kind.
    throw invalid(
      { group: kind.group, kind: kind.plural },
      object.metadata.name ?? '',
      [fault.invalid('metadata.resourceVersion', 0, 'must be specified for an update')],
    )
  }
  const faults = continueLife(object, old, kind)
  setManagedFields(object, managedFields ?? updateManagedFields(typingOf(kind, subresource), old, old, object, writer))
  keepTheRest(kind, subresource, object, old)
  countGeneration(object, old, kind)
  const isStatus = subresource === 'status'
  faults.push(...metadataFaults(object, kind), ...validateCustom(kind, object, old))
  faults.push(...((isStatus ? kind.rules.validateStatus?.(object, old) : kind.rules.validate?.(object, old)) ?? []))
  refuseInvalid(kind, object, faults)
  object.metadata.resourceVersion = old.metadata.resourceVersion!
  if (isLastFinalizerGone(object)) {
    if (!dryRun) uncommit(backend, kind, old)
    return { object, created: false }
  }
  if (dryRun) return { object, created: false }
  // A write that changes nothing takes no revision, and no watcher is told of it. What is stored counts: it may lack a newer default.
  const stored = backend.store.get(kind.storage.id, storeKey(kind, old.metadata.namespace ?? '', old.metadata.name!))
  if (jsonEqual(toStored(kind, object), stored)) return { object: old, created: false }
  return { object: commit(backend, kind, object), created: false }
}

function setManagedFields(object: ApiObject, entries: ManagedFieldsEntry[] | undefined): void {
  if (entries && entries.length > 0) object.metadata.managedFields = entries
  else delete object.metadata.managedFields
}

/** Puts back what this endpoint does not write. In place. */
function keepTheRest(kind: Kind, subresource: string, object: ApiObject, old: ApiObject): void {
  if (subresource === 'status') {
    keepAllButStatus(kind, object, old)
    if (kind.rules.statusKeepsLabels) keepLabels(object, old)
    kind.rules.prepareStatus?.(object, old)
  } else {
    if (kind.status) keep(object, old, 'status')
    kind.rules.prepareUpdate?.(object, old)
  }
}

function keepAllButStatus(kind: Kind, object: ApiObject, old: ApiObject): void {
  for (const name of new Set([...Object.keys(object), ...Object.keys(old)])) {
    if (name !== 'status' && name !== 'metadata' && name !== 'apiVersion' && name !== 'kind') keep(object, old, name)
  }
  if (!kind.custom) return
  const { managedFields } = object.metadata
  object.metadata = clone(old.metadata)
  setManagedFields(object, managedFields)
}

function keepLabels({ metadata }: ApiObject, old: ApiObject): void {
  if (old.metadata.labels) metadata.labels = clone(old.metadata.labels)
  else delete metadata.labels
}

function keep(object: ApiObject, old: ApiObject, name: string): void {
  if (old[name] === undefined) delete object[name]
  else object[name] = clone(old[name])
}

function refuseInvalid(kind: Kind, object: ApiObject, faults: readonly Cause[]): void {
  if (faults.length > 0) throw invalid(kind, object.metadata.name ?? '', faults)
}

function isLastFinalizerGone({ metadata }: ApiObject): boolean {
  return !!metadata.deletionTimestamp && (metadata.finalizers ?? []).length === 0 &&
    (metadata.deletionGracePeriodSeconds ?? 0) === 0
}

/** The live object of a write, or undefined. */
export function liveObject(backend: Backend, kind: Kind, route: ResourceRoute): ApiObject | undefined {
  const stored = backend.store.get(kind.storage.id, storeKey(kind, route.namespace, route.name))
  return stored && present(kind, stored)
}
