/** Handles PUT, and stores the next states of objects of all verbs. */
import { jsonEqual } from '../../core/equal.ts'
import { mutated, placeOf } from '../admission/admission.ts'
import { updateManagedFields } from '../apply/managed_fields.ts'
import { typingOf } from '../apply/updater.ts'
import {
  findObject,
  type KindRequest,
  putObject,
  readBody,
  removeObject,
  storeKey,
  toStored,
} from '../context/context.ts'
import { type ApiObject, clone, type JsonObject, type Meta, restoreField } from '../model/json.ts'
import type { Kind, PartRules } from '../model/kinds.ts'
import { commonFaults, finalizerNameFaults } from '../model/names.ts'
import {
  type Cause,
  conflict,
  errorWithoutReason,
  fault,
  immutable,
  invalid,
  MODIFIED_MESSAGE,
  notFound,
  storageConflict,
} from '../model/status.ts'
import { setLimits } from './limits.ts'
import {
  admitted,
  asStored,
  checkNameInUrl,
  createObject,
  dedupeOwners,
  ensureNamespace,
  guard,
  isAdmitting,
  prepareContext,
  schemaFaults,
  setManagedFields,
  throwIfInvalid,
  type Write,
  writeOf,
  type Written,
} from './write.ts'

export function update(request: KindRequest): Written {
  const { kind, route } = request
  const write = writeOf(request)
  const object = readBody(request)
  checkNameInUrl(object.metadata.name, route.name)
  ensureNamespace(object.metadata, kind, route.namespace)
  const old = findObject(request)
  if (old) checkUid(object.metadata, old.metadata, kind)
  if (old) return updateObject(write, old, object)
  if (!kind.rules.createOnUpdate || route.subresource) throw notFound(kind, route.name)
  checkUid(object.metadata, { ...object.metadata, uid: '' }, kind)
  delete object.metadata.resourceVersion
  return createObject(write, object)
}

/** Stores the next state of an object. `old` is the stored object in the kind's version. */
export function updateObject(write: Write, old: ApiObject, wanted: ApiObject): Written {
  const { context, kind, subresource, writer, dryRun } = write
  kind.rules.prepareRules?.(wanted)
  dedupeOwners(write, wanted)
  // Webhooks have admitted a write to /scale before, as a Scale.
  const admission = writer.subresource !== 'scale' && isAdmitting(context, kind) &&
    { ...placeOf(kind, old), operation: 'UPDATE', subresource, old, dryRun } as const
  const ownFields = (object: ApiObject): void => {
    const typing = typingOf(kind, subresource)
    setManagedFields(object, write.managedFields ?? updateManagedFields(typing, old, old, object, writer))
  }
  if (subresource === 'resize') setLimits(context, wanted)
  const mutable = admission ? mutated(context, { ...admission, object: wanted }, ownFields) : wanted
  let object = clone(mutable)
  guard(write, object, old)
  if (!parseUpdateVersion(object.metadata) && !kind.rules.unconditionalUpdate) {
    // Unlike other errors, this one names the resource instead of the kind.
    const fields = [fault.invalid('metadata.resourceVersion', 0, 'must be specified for an update')]
    throw invalid({ group: kind.group, kind: kind.plural }, object.metadata.name ?? '', fields)
  }
  preserveMetadata(object, old, kind)
  // The webhooks have seen, and may have changed, the managedFields.
  if (mutable === wanted) ownFields(object)
  if (write.managedFields) keepTimes(object, old)
  restoreUnwritten(write, object, old)
  updateGeneration(object, old, kind, subresource === 'status')
  throwIfInvalid(kind, object, () => {
    const metaFaults = metadataUpdateFaults(object.metadata, old.metadata, kind)
    // The real server checks the metadata of every kind, and the kind's own check repeats that.
    const faults = [...metaFaults, ...metaFaults, ...schemaFaults(write, object, old, metaFaults)]
    return [...faults, ...(validatorOf(kind, subresource)?.(object, old) ?? [])]
  })
  object.metadata.resourceVersion = old.metadata.resourceVersion!
  object = admitted(write, object, old, admission)
  if (isLastFinalizerGone(object) && !kind.rules.isHeld?.(object)) {
    if (!dryRun) removeObject(context, kind, old)
    return { object, created: false }
  }
  if (dryRun) return { object: asStored(kind, object), created: false }
  // A write without a change gets no revision and no watch event. Compare with the stored form: `old` may already
  // contain defaults that were added to the schema later.
  const stored = context.store.get(kind.storage.id, storeKey(kind, old.metadata.namespace ?? '', old.metadata.name!))
  if (jsonEqual(toStored(kind, object), stored)) return { object: old, created: false }
  return { object: putObject(context, kind, object), created: false }
}

/** Throws 409 if a PUT has another uid than the object. */
export function checkUid(metadata: Meta, before: Meta, kind: Kind): void {
  if (!metadata.uid || metadata.uid === before.uid) return
  throw storageConflict(kind, before, `UID in precondition: ${metadata.uid}, UID in object meta: ${before.uid}`)
}

/**
 * Keeps the times of the field owners if nothing else changes, in place: an apply of values that the server writes in
 * another form (`1000m`), or completes in an atomic list, is no change.
 */
function keepTimes(object: ApiObject, old: ApiObject): void {
  const untimed = ({ metadata, ...rest }: ApiObject): unknown => ({
    ...rest,
    metadata: { ...metadata, managedFields: metadata.managedFields?.map(({ time: _time, ...entry }) => entry) },
  })
  if (jsonEqual(untimed(object), untimed(old))) setManagedFields(object, old.metadata.managedFields)
}

/** Restores the fields that an update cannot change, in place. Throws 409 for another version. */
function preserveMetadata({ metadata }: ApiObject, { metadata: before }: ApiObject, kind: Kind): void {
  const { resourceVersion } = metadata
  if (resourceVersion && resourceVersion !== '0' && resourceVersion !== before.resourceVersion) {
    throw conflict(kind, before.name!, MODIFIED_MESSAGE)
  }
  metadata.uid ||= before.uid!
  metadata.creationTimestamp = before.creationTimestamp!
  if (before.deletionTimestamp) metadata.deletionTimestamp = before.deletionTimestamp
  if (before.deletionGracePeriodSeconds !== undefined) {
    metadata.deletionGracePeriodSeconds ??= before.deletionGracePeriodSeconds
  }
  restoreField(metadata, before, 'generation')
  delete metadata['selfLink']
}

/** Returns the version of an update; 0 if it has none. Throws 500, as the real server, if it is not a number. */
function parseUpdateVersion({ resourceVersion }: Meta): number {
  if (!resourceVersion) return 0
  if (/^\d+$/.test(resourceVersion)) return Number(resourceVersion)
  throw errorWithoutReason(500, `strconv.ParseUint: parsing ${JSON.stringify(resourceVersion)}: invalid syntax`)
}

/** Returns the faults of the metadata of an update. An object that is being deleted gets no more finalizers. */
function metadataUpdateFaults(metadata: Meta, before: Meta, kind: Kind): Cause[] {
  const faults: Cause[] = []
  const added = metadata.finalizers?.filter((finalizer) => !before.finalizers?.includes(finalizer)) ?? []
  if (before.deletionTimestamp && added.length > 0) {
    const list = added.map((finalizer) => `"${finalizer}"`).join(', ')
    const detail = 'no new finalizers can be added if the object is being deleted, found new finalizers '
    faults.push(fault.forbidden('metadata.finalizers', `${detail}[]string{${list}}`))
  }
  for (const name of ['uid', 'deletionTimestamp', 'deletionGracePeriodSeconds'] as const) {
    if (metadata[name] !== before[name]) faults.push(immutable(`metadata.${name}`, metadata[name]))
  }
  faults.push(...commonFaults(metadata), ...finalizerNameFaults(metadata, kind))
  return faults
}

/** Increments the generation if anything except metadata and status has changed, in place. */
function updateGeneration(object: ApiObject, old: ApiObject, kind: Kind, isStatus: boolean): void {
  if (!kind.rules.generation) return
  const { annotations, labels } = object.metadata
  const changed = !jsonEqual(generationFields(object, kind), generationFields(old, kind)) ||
    (kind.rules.generationCountsAnnotations === true && !isStatus &&
      !jsonEqual(annotations ?? {}, old.metadata.annotations ?? {})) ||
    (kind.rules.generationCountsLabels === true && !jsonEqual(labels ?? {}, old.metadata.labels ?? {}))
  const generation = old.metadata.generation ?? 0
  object.metadata.generation = changed ? generation + 1 : generation
  if (object.metadata.generation === 0) delete object.metadata.generation
}

function generationFields(object: ApiObject, kind: Kind): JsonObject {
  const { metadata: _metadata, apiVersion: _apiVersion, kind: _kind, ...rest } = object as JsonObject
  // A custom kind without a status subresource treats status like any other field.
  if (kind.status) delete rest['status']
  return rest
}

/** Restores the fields that this endpoint does not write, in place. */
function restoreUnwritten({ context, kind, subresource }: Write, object: ApiObject, old: ApiObject): void {
  const given = prepareContext(context)
  const part = kind.rules.parts?.[subresource]
  if (part) return part.prepare(object, old, given)
  if (subresource === 'status') {
    restoreAllButStatus(kind, object, old)
    if (kind.rules.statusKeeps) restoreField(object.metadata, old.metadata, kind.rules.statusKeeps)
    kind.rules.prepareStatus?.(object, old, given)
  } else {
    if (kind.status) restoreField(object, old, 'status')
    kind.rules.prepareUpdate?.(object, old, given)
  }
}

function validatorOf({ rules }: Kind, subresource: string): PartRules['validate'] | undefined {
  return rules.parts?.[subresource]?.validate ?? (subresource === 'status' ? rules.validateStatus : rules.validate)
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

function isLastFinalizerGone({ metadata }: ApiObject): boolean {
  return !!metadata.deletionTimestamp && (metadata.finalizers ?? []).length === 0 &&
    (metadata.deletionGracePeriodSeconds ?? 0) === 0
}
