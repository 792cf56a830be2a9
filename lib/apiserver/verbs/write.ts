/** The steps that create, update, patch and apply share: validates and stores the new object. */
import { jsonEqual } from '../../core/equal.ts'
import { emptyStruct, zeroValue } from '../schema/decode.ts'
import { fieldSchema } from '../model/schema.ts'
import { EMPTY_SET, type FieldSet, FieldSetBuilder } from '../apply/field_set.ts'
import { updateManagedFields, type Writer } from '../apply/managed_fields.ts'
import type { Typing } from '../apply/updater.ts'
import { type Context, fromStored, nowIso, putObject, removeObject, storeKey, toStored } from '../context/context.ts'
import { scaleFaults } from '../crd/scale_values.ts'
import { customFaults } from '../crd/validate.ts'
import { type ApiObject, clone, type JsonObject, type ManagedFieldsEntry, type Meta } from '../model/json.ts'
import { ADMIN, userInfo } from '../model/user.ts'
import { attributesOf } from '../model/attributes.ts'
import { apiVersionOf, type Kind, type PrepareContext } from '../model/kinds.ts'
import {
  initMetadata,
  metadataFaults,
  metadataUpdateFaults,
  preserveMetadata,
  updateGeneration,
} from '../model/objects.ts'
import { finalizerWarnings } from '../model/names.ts'
import type { Call, ResourceRoute } from '../model/routes.ts'
import { isAdmitting, mutated, placeOf, validated } from '../admission/admission.ts'
import { MAX_MANAGER_BYTES } from './options.ts'
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
} from '../model/status.ts'

/** The result of a write. */
export interface Written {
  readonly object: ApiObject
  readonly created: boolean
}

/** Returns whether a write is a dry run. {@link checkWriteOptions} has refused other values than `All`. */
export function isDryRun(values: readonly string[]): boolean {
  return values.includes('All')
}

/** Returns the field manager: the `fieldManager` parameter, or the program name of the User-Agent. */
export function writerOf(context: Context, kind: Kind, route: ResourceRoute, call: Call): Writer {
  const manager = call.query.get('fieldManager') ||
    (call.headers['user-agent'] ?? '').split('/')[0]!.slice(0, MAX_MANAGER_BYTES) || 'unknown'
  return {
    manager,
    apiVersion: apiVersionOf(kind),
    subresource: route.subresource,
    now: nowIso(context),
    warnings: call.warnings,
  }
}

/** Returns the schema and field rules for the ownership of an endpoint's fields. */
export function typingOf(kind: Kind, subresource: string): Typing {
  return { schema: kind.schema, ignored: ignoredFields(kind, subresource), isBuiltin: !kind.custom }
}

/** Throws 403 if the user of the request lacks a right for the content of an object. */
function guard(
  context: Context,
  kind: Kind,
  object: ApiObject,
  old: ApiObject | undefined,
  subresource: string,
): void {
  const call = context.webhooks.current?.call
  if (!call || !context.access.isChecked(call.user)) return
  const request = attributesOf(call, call.user)
  // A PUT or an apply that creates its object.
  if (!old && request.verb !== 'create') context.access.check({ ...request, verb: 'create' })
  kind.rules.guard?.({ object, old, subresource, request }, context.access)
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
export function checkNamespace(context: Context, kind: Kind, object: ApiObject): void {
  if (!kind.namespaced) return
  const name = object.metadata.namespace!
  const namespace = context.store.get('namespaces', name)
  if (!namespace) throw notFound({ group: '', plural: 'namespaces' }, name)
  if (namespace.metadata.deletionTimestamp) {
    const cause: JsonObject = {
      reason: 'NamespaceTerminating',
      message: `namespace ${name} is being terminated`,
      field: 'metadata.namespace',
    }
    const error = forbidden(
      kind,
      object.metadata.name || object.metadata.generateName || '',
      `unable to create new content in namespace ${name} because it is being terminated`,
    )
    throw new StatusError(403, 'Forbidden', error.message, { ...error.details, causes: [cause] })
  }
}

/** Stores a new object. `managedFields` is the result of an apply; by default the writer owns all fields. */
export function createObject(
  context: Context,
  kind: Kind,
  wanted: ApiObject,
  writer: Writer,
  dryRun: boolean,
  managedFields?: ManagedFieldsEntry[],
): Written {
  kind.rules.prepareRules?.(wanted)
  if (kind.rules.noCreate) throw forbidden(kind, wanted.metadata.name ?? '', kind.rules.noCreate)
  let object = clone(wanted)
  wipeSystemFields(object)
  if (/^0*[1-9]\d*$/.test(object.metadata.resourceVersion ?? '')) {
    throw errorWithoutReason(500, 'resourceVersion should not be set on objects to be created')
  }
  checkNamespace(context, kind, object)
  const before = kind.custom ? { apiVersion: object.apiVersion, kind: object.kind } : zeroObject(kind, object)
  setManagedFields(object, managedFields ?? updateManagedFields(typingOf(kind, ''), undefined, before, object, writer))
  const admission = isAdmitting(context, kind) &&
    { operation: 'CREATE', subresource: '', old: undefined, dryRun } as const
  if (admission) object = mutated(context, { ...placeOf(kind, object), ...admission, object }, wipeSystemFields)
  guard(context, kind, object, undefined, '')
  const isTaken = (name: string): boolean =>
    context.store.get(kind.storage.id, storeKey(kind, object.metadata.namespace ?? '', name)) !== undefined
  initMetadata(object, kind, { nowMs: () => context.clock.now(), random: context.random, isTaken })
  if (kind.status && kind.custom) delete object['status']
  else if (kind.status && !kind.rules.keepsStatus) object['status'] = emptyStruct(fieldSchema(kind.schema, 'status')!)
  kind.rules.prepareCreate?.(object, prepareContext(context))
  const ownFaults = metadataFaults(object, kind)
  throwIfInvalid(
    kind,
    object,
    [
      ...ownFaults,
      ...customFaults(kind, object, undefined, ownFaults, warnerOf(context)),
      ...scaleFaults(kind, object, ''),
      ...(kind.rules.validate?.(object, undefined) ?? []),
    ],
  )
  if (kind.custom) writer.warnings?.push(...finalizerWarnings(object.metadata, []))
  if (admission) object = validated(context, { ...placeOf(kind, object), ...admission, object })
  const { name, namespace, generateName } = object.metadata
  const existing = context.store.get(kind.storage.id, storeKey(kind, namespace ?? '', name!))
  if (existing?.metadata.deletionTimestamp) throw alreadyExists(kind, name!, 'object is being deleted: ')
  if (existing) throw (generateName ? generateNameConflict : alreadyExists)(kind, name!)
  return { object: dryRun ? object : putObject(context, kind, object), created: true }
}

/** Returns the Go struct that a create is compared with. A missing list that is written as null belongs to it. */
function zeroObject(kind: Kind, object: ApiObject): JsonObject {
  const nulls = Object.entries(object).filter(([, value]) => value === null)
  return { ...zeroValue(kind.schema), ...Object.fromEntries(nulls) }
}

/** Stores the next state of an object. `old` is the stored object in the kind's version. */
export function updateObject(
  context: Context,
  kind: Kind,
  subresource: string,
  old: ApiObject,
  wanted: ApiObject,
  writer: Writer,
  dryRun: boolean,
  managedFields?: ManagedFieldsEntry[],
): Written {
  kind.rules.prepareRules?.(wanted)
  // Webhooks have admitted a write to /scale before, as a Scale.
  const admission = writer.subresource !== 'scale' && isAdmitting(context, kind) &&
    { ...placeOf(kind, old), operation: 'UPDATE', subresource, old, dryRun } as const
  const ownFields = (object: ApiObject): void =>
    setManagedFields(
      object,
      managedFields ?? updateManagedFields(typingOf(kind, subresource), old, old, object, writer),
    )
  const admitted = admission ? mutated(context, { ...admission, object: wanted }, ownFields) : wanted
  let object = clone(admitted)
  guard(context, kind, object, old, subresource)
  if (!parseUpdateVersion(object.metadata) && !kind.rules.unconditionalUpdate) {
    // Unlike other errors, this one names the resource instead of the kind.
    throw invalid(
      { group: kind.group, kind: kind.plural },
      object.metadata.name ?? '',
      [fault.invalid('metadata.resourceVersion', 0, 'must be specified for an update')],
    )
  }
  preserveMetadata(object, old, kind)
  // The webhooks have seen, and may have changed, the managedFields.
  if (admitted === wanted) ownFields(object)
  restoreUnwritten(context, kind, subresource, object, old)
  updateGeneration(object, old, kind, subresource === 'status')
  const metaFaults = metadataUpdateFaults(object.metadata, old.metadata, kind)
  // The real server checks the metadata of every kind, and the kind's own check repeats that.
  const faults = [...metaFaults, ...metaFaults, ...updatedFaults(context, kind, object, old, subresource, metaFaults)]
  faults.push(...(validatorOf(kind, subresource)?.(object, old) ?? []))
  throwIfInvalid(kind, object, faults)
  if (kind.custom) writer.warnings?.push(...finalizerWarnings(object.metadata, old.metadata.finalizers ?? []))
  object.metadata.resourceVersion = old.metadata.resourceVersion!
  if (admission) object = validated(context, { ...admission, object })
  if (isLastFinalizerGone(object) && !kind.rules.isHeld?.(object)) {
    if (!dryRun) removeObject(context, kind, old)
    return { object, created: false }
  }
  if (dryRun) return { object, created: false }
  // A write without a change gets no revision and no watch event. Compare with the stored form: `old` may already
  // contain defaults that were added to the schema later.
  const stored = context.store.get(kind.storage.id, storeKey(kind, old.metadata.namespace ?? '', old.metadata.name!))
  if (jsonEqual(toStored(kind, object), stored)) return { object: old, created: false }
  return { object: putObject(context, kind, object), created: false }
}

function prepareContext(context: Context): PrepareContext {
  return {
    random: context.random,
    nowIso: () => nowIso(context),
    find: (storage, key) => context.store.get(storage, key),
    all: (storage) => context.store.list(storage, ''),
    user: userInfo(context.webhooks.current?.call?.user ?? ADMIN),
  }
}

/** Rewrites a fault for /status: its path in the message begins below the status. */
function fromStatus({ field, message, ...rest }: Cause): Cause {
  return {
    ...rest,
    field: field === '<nil>' ? 'status' : field,
    message: message.replace(/\bstatus(?:\.(?=\S+ in body )|(?= in body ))/, '').replace(
      / in status\.(?=\S+$)/,
      ' in ',
    ),
  }
}

const SYSTEM_FIELDS = [
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'selfLink',
] as const

/** Returns the faults of an updated custom object. A write to /status names its fields from the status on. */
function updatedFaults(
  context: Context,
  kind: Kind,
  object: ApiObject,
  old: ApiObject,
  subresource: string,
  others: readonly Cause[],
): readonly Cause[] {
  const faults = customFaults(kind, object, old, others, warnerOf(context))
  const named = subresource === 'status' ? faults.map(fromStatus) : faults
  return [...named, ...scaleFaults(kind, object, subresource)]
}

/** Removes what clients cannot set on a new object, in place. Nothing owns it, and webhooks do not see it. */
function wipeSystemFields({ metadata }: ApiObject): void {
  for (const field of SYSTEM_FIELDS) delete metadata[field]
}

/** Returns the version of an update; 0 if it has none. Throws 500, as the real server, if it is not a number. */
function parseUpdateVersion({ resourceVersion }: Meta): number {
  if (!resourceVersion) return 0
  if (/^\d+$/.test(resourceVersion)) return Number(resourceVersion)
  throw errorWithoutReason(500, `strconv.ParseUint: parsing ${JSON.stringify(resourceVersion)}: invalid syntax`)
}

function setManagedFields(object: ApiObject, entries: ManagedFieldsEntry[] | undefined): void {
  if (entries && entries.length > 0) object.metadata.managedFields = entries
  else delete object.metadata.managedFields
}

/** Restores the fields that this endpoint does not write, in place. */
function restoreUnwritten(
  context: Context,
  kind: Kind,
  subresource: string,
  object: ApiObject,
  old: ApiObject,
): void {
  const given = prepareContext(context)
  const part = kind.rules.parts?.[subresource]
  if (part) return part.prepare(object, old, given)
  if (subresource === 'status') {
    restoreAllButStatus(kind, object, old)
    if (kind.rules.statusKeepsLabels) restoreLabels(object, old)
    kind.rules.prepareStatus?.(object, old, given)
  } else {
    if (kind.status) restoreField(object, old, 'status')
    kind.rules.prepareUpdate?.(object, old, given)
  }
}

function validatorOf(
  { rules }: Kind,
  subresource: string,
): ((object: ApiObject, old: ApiObject) => readonly Cause[]) | undefined {
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

function restoreLabels({ metadata }: ApiObject, old: ApiObject): void {
  if (old.metadata.labels) metadata.labels = clone(old.metadata.labels)
  else delete metadata.labels
}

function restoreField(object: ApiObject, old: ApiObject, name: string): void {
  if (old[name] === undefined) delete object[name]
  else object[name] = clone(old[name])
}

/** Returns a function that adds warnings to the response of the running request. */
function warnerOf({ webhooks }: Context): (text: string) => void {
  return (text) => void webhooks.current?.call?.warnings.push(text)
}

function throwIfInvalid(kind: Kind, object: ApiObject, faults: readonly Cause[]): void {
  if (faults.length > 0) throw invalid(kind, object.metadata.name ?? '', faults)
}

function isLastFinalizerGone({ metadata }: ApiObject): boolean {
  return !!metadata.deletionTimestamp && (metadata.finalizers ?? []).length === 0 &&
    (metadata.deletionGracePeriodSeconds ?? 0) === 0
}

/** Returns the live object of a write, or undefined. */
export function liveObject(context: Context, kind: Kind, route: ResourceRoute): ApiObject | undefined {
  const stored = context.store.get(kind.storage.id, storeKey(kind, route.namespace, route.name))
  return stored && fromStored(kind, stored)
}
