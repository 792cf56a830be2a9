/** Creates objects: POST, and the options, the writer and the checks that create, update, patch and apply share. */
import { mutated, placeOf, validated } from '../admission/admission.ts'
import { updateManagedFields, type Writer } from '../apply/managed_fields.ts'
import { splitApiVersion } from '../../core/owners.ts'
import { type Context, decodeBody, fromStored, nowIso, putObject, storeKey, toStored } from '../context/context.ts'
import { type ApiObject, clone, type JsonObject, type ManagedFieldsEntry, type Meta, newUid } from '../model/json.ts'
import { dedupedOwners, finalizerNameFaults, finalizerWarnings, generateName, metaFaults } from '../model/names.ts'
import { fieldSchema } from '../model/schema.ts'
import {
  alreadyExists,
  badRequest,
  type Cause,
  counted,
  errorWithoutReason,
  fault,
  forbidden,
  generateNameConflict,
  invalid,
  MAX_FAULTS,
  MORE_FAULTS,
  notFound,
  StatusError,
  TOO_MANY_FAULTS,
} from '../model/status.ts'
import { emptyStruct, zeroValue } from '../schema/decode.ts'
import { mediaType, readJsonBody } from '../wire/body.ts'
import { attributesOf } from '../model/attributes.ts'
import { typingOf } from '../apply/updater.ts'
import { MUTATING, VALIDATING } from '../admission/hooks.ts'
import { BINDINGS, hasPolicies } from '../admission/policies.ts'
import { scaleFaults } from '../crd/scale_values.ts'
import { customFaults } from '../crd/validate.ts'
import type { Kind, PrepareContext } from '../model/kinds.ts'
import { checkLimits, checkQuotas, LIMITED, quotaStatus, setLimits } from './limits.ts'
import type { Call, ResourceRoute } from '../model/routes.ts'
import { ADMIN, userInfo } from '../model/user.ts'

/** The result of a write. */
export interface Written {
  readonly object: ApiObject
  readonly created: boolean
}

/** Returns whether webhooks or policies may apply. If not, neither `mutated` nor `validated` does anything. */
export function isAdmitting(context: Context, { rules }: Kind): boolean {
  const { store, webhooks } = context
  return webhooks.current?.call !== undefined &&
    (rules.convert !== undefined || store.list(MUTATING, '').length > 0 || store.list(VALIDATING, '').length > 0 ||
      (store.list(BINDINGS, '').length > 0 && hasPolicies(context)))
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
    apiVersion: kind.apiVersion,
    subresource: route.subresource,
    now: nowIso(context),
    warnings: call.warnings,
  }
}

/** Throws 403 if the user of the request lacks a right for the content of an object. */
export function guard(
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

export function prepareContext(context: Context): PrepareContext {
  return {
    random: context.random,
    nowIso: () => nowIso(context),
    find: (storage, key) => context.store.get(storage, key),
    all: (storage) => context.store.list(storage, ''),
    user: userInfo(context.webhooks.current?.call?.user ?? ADMIN),
  }
}

export function setManagedFields(object: ApiObject, entries: ManagedFieldsEntry[] | undefined): void {
  if (entries && entries.length > 0) object.metadata.managedFields = entries
  else delete object.metadata.managedFields
}

/**
 * Returns the faults of a custom object by its schema and the paths of /scale, after those of its metadata; none for
 * built-in kinds. The warnings of rules go to the response.
 */
export function schemaFaults(
  { webhooks }: Context,
  kind: Kind,
  object: ApiObject,
  old: ApiObject | undefined,
  subresource: string,
  metadataFaults: readonly Cause[],
): readonly Cause[] {
  if (!kind.custom) return []
  const warn = (text: string): void => void webhooks.current?.call?.warnings.push(text)
  const rules = { schema: kind.schema, mayHaveRules: kind.rules.prepareRules !== undefined }
  const faults = customFaults(rules, object, old, metadataFaults, warn)
  return [
    ...(subresource === 'status' ? faults.map(fromStatus) : faults),
    ...(kind.scale ? scaleFaults(kind.scale, object, subresource) : []),
  ]
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

/** Adds to the warnings of a write. */
export function warn({ warnings }: Writer, texts: readonly string[] = []): void {
  for (const text of texts) warnings?.push(text)
}

/** Returns the faults that a check finds. Ends the check after too many, and returns the first ones. */
function firstFaults(check: () => readonly Cause[]): readonly Cause[] {
  const own: Cause[] = counted.faults = []
  try {
    return check()
  } catch (error) {
    if (error !== TOO_MANY_FAULTS) throw error
    return [...own.slice(0, MAX_FAULTS), MORE_FAULTS]
  } finally {
    counted.faults = undefined
  }
}

/** Throws 422 with the faults that a check finds, if any. */
export function throwIfInvalid(kind: Kind, object: ApiObject, check: () => readonly Cause[]): void {
  const faults = firstFaults(check)
  if (faults.length === 0) return
  // Events have the same form inside the server, whatever group a request names.
  throw invalid(
    { group: splitApiVersion(kind.storage.apiVersion).group, kind: kind.kind },
    object.metadata.name ?? '',
    faults,
  )
}

/** Returns the live object of a write, or undefined. */
export function liveObject(context: Context, kind: Kind, route: ResourceRoute): ApiObject | undefined {
  const stored = context.store.get(kind.storage.id, storeKey(kind, route.namespace, route.name))
  return stored && fromStored(kind, stored)
}

const SYSTEM_FIELDS = [
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'selfLink',
] as const

/** Removes what clients cannot set on a new object, in place. Nothing owns it, and webhooks do not see it. */
function wipeSystemFields({ metadata }: ApiObject): void {
  for (const field of SYSTEM_FIELDS) delete metadata[field]
}

/** Throws 400 if the body has another name than the URL, or none. */
export function checkNameInUrl(name: unknown, inUrl: string): void {
  if (!name) {
    throw badRequest(`the name of the object (${inUrl} based on URL) was undeterminable: name must be provided`)
  }
  if (name !== inUrl) {
    throw badRequest(`the name of the object (${String(name)}) does not match the name on the URL (${inUrl})`)
  }
}

/** Sets the namespace of the URL, in place. Throws 400 if the body has a different one. */
export function ensureNamespace(meta: Meta, kind: Kind, namespace: string): void {
  if (!kind.namespaced) return void delete meta.namespace
  if (meta.namespace && meta.namespace !== namespace) {
    throw badRequest(`the namespace of the provided object does not match the namespace sent on the request`)
  }
  meta.namespace = namespace
}

/** The media types of patches. */
export const JSON_PATCH = 'application/json-patch+json'
export const MERGE = 'application/merge-patch+json'
export const STRATEGIC = 'application/strategic-merge-patch+json'
export const APPLY = 'application/apply-patch+yaml'

/** The maximum length of a field manager, in bytes. */
const MAX_MANAGER_BYTES = 128

/** Throws 422 with all invalid options of a create, an update or a patch. */
export function checkWriteOptions(call: Call): void {
  const { query } = call
  const faults = [
    ...(call.method === 'PATCH' ? patchFaults(call) : []),
    ...managerFaults(query.get('fieldManager') ?? ''),
    ...dryRunFaults(query.getAll('dryRun')),
    ...validationFaults(query.get('fieldValidation') ?? ''),
  ]
  if (faults.length > 0) throw invalidOptions(`${KINDS[call.method] ?? 'Create'}Options`, faults)
}

const KINDS: Readonly<Record<string, string>> = { PUT: 'Update', PATCH: 'Patch' }

export function invalidOptions(kind: string, faults: readonly Cause[]): Error {
  return invalid({ group: 'meta.k8s.io', kind }, '', faults)
}

function patchFaults(call: Call): Cause[] {
  if (mediaType(call) === APPLY) {
    return call.query.get('fieldManager') ? [] : [fault.required('fieldManager', 'is required for apply patch')]
  }
  return call.query.has('force') ? [fault.forbidden('force', 'may not be specified for non-apply patch')] : []
}

function managerFaults(manager: string): Cause[] {
  const isLong = new TextEncoder().encode(manager).length > MAX_MANAGER_BYTES
  const faults = isLong ? [fault.tooLong('fieldManager', MAX_MANAGER_BYTES)] : []
  let position = 0
  for (const char of manager) {
    // Go prints letters, marks, numbers, punctuation, symbols and the ASCII space.
    if (!/[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(char)) {
      const code = char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')
      const shown = JSON.stringify(manager).replace(/\\u00([01][0-9a-f])/g, '\\x$1')
      faults.push({
        reason: 'FieldValueInvalid',
        field: 'fieldManager',
        message: `Invalid value: ${shown}: invalid character U+${code} (at position ${position})`,
      })
    }
    position += new TextEncoder().encode(char).length
  }
  return faults
}

/** Returns the fault of `dryRun` values other than `All`. */
export function dryRunFaults(values: readonly string[]): Cause[] {
  return values.every((value) => value === 'All') ? [] : [fault.notSupported('dryRun', values, ['All'])]
}

function validationFaults(value: string): Cause[] {
  if (['', 'Ignore', 'Strict', 'Warn'].includes(value)) return []
  return [fault.notSupported('fieldValidation', value, ['', 'Ignore', 'Strict', 'Warn'])]
}

export function create(context: Context, kind: Kind, route: ResourceRoute, call: Call): Written {
  checkWriteOptions(call)
  const value = readJsonBody(call, kind)
  const object = decodeBody(context, kind, value, call)
  ensureNamespace(object.metadata, kind, route.namespace)
  return createObject(
    context,
    kind,
    object,
    writerOf(context, kind, route, call),
    isDryRun(call.query.getAll('dryRun')),
  )
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
  dedupeOwners(context, object, writer)
  wipeSystemFields(object)
  checkNamespace(context, kind, object)
  const before = kind.custom ? { apiVersion: object.apiVersion, kind: object.kind } : zeroObject(kind, object)
  setManagedFields(object, managedFields ?? updateManagedFields(typingOf(kind, ''), undefined, before, object, writer))
  if (kind.storage.id === 'pods') setLimits(context, object)
  const admission = isAdmitting(context, kind) &&
    { operation: 'CREATE', subresource: '', old: undefined, dryRun } as const
  if (admission) object = mutated(context, { ...placeOf(kind, object), ...admission, object }, wipeSystemFields)
  guard(context, kind, object, undefined, '')
  const isVersioned = /^0*[1-9]\d*$/.test(object.metadata.resourceVersion ?? '')
  initMetadata(context, kind, object)
  if (kind.status && kind.custom) delete object['status']
  else if (kind.status && !kind.rules.keepsStatus) object['status'] = emptyStruct(fieldSchema(kind.schema, 'status')!)
  if (kind.storage.id === 'resourcequotas') object['status'] = quotaStatus(context, object)
  if (context.keepsStated()) keepStated(object, wanted)
  kind.rules.prepareCreate?.(object, prepareContext(context))
  throwIfInvalid(kind, object, () => {
    const ownFaults = kind.rules.validate?.(object, undefined) ?? []
    const metaFaults = kind.rules.metadataLast && ownFaults.length > 0 ? [] : metadataFaults(object, kind)
    return [...metaFaults, ...schemaFaults(context, kind, object, undefined, '', metaFaults), ...ownFaults]
  })
  warn(writer, kind.rules.warnings?.(object, undefined))
  if (kind.custom) warn(writer, finalizerWarnings(object.metadata, []))
  const write = { kind, object, old: undefined, subresource: '', warnings: writer.warnings }
  if (LIMITED.includes(kind.storage.id)) checkLimits(context, write)
  if (admission) object = validated(context, { ...placeOf(kind, object), ...admission, object })
  if (context.store.countIn('resourcequotas', object.metadata.namespace ?? '') > 0) checkQuotas(context, write)
  const { name, namespace, generateName } = object.metadata
  if (!dryRun && isVersioned) {
    throw errorWithoutReason(500, 'resourceVersion should not be set on objects to be created')
  }
  const existing = context.store.get(kind.storage.id, storeKey(kind, namespace ?? '', name!))
  if (existing?.metadata.deletionTimestamp) throw alreadyExists(kind, name!, 'object is being deleted: ')
  if (existing) throw (generateName ? generateNameConflict : alreadyExists)(kind, name!)
  return { object: dryRun ? asStored(kind, object) : putObject(context, kind, object), created: true }
}

/** Restores in place what a real server sets itself. */
function keepStated(object: ApiObject, { metadata, status }: ApiObject): void {
  if (status !== undefined) object['status'] = clone(status)
  const { uid, generation, creationTimestamp } = metadata
  Object.assign(
    object.metadata,
    uid && { uid },
    generation && { generation },
    creationTimestamp && { creationTimestamp },
  )
}

/** Removes repeated owner references, in place, with a warning. */
export function dedupeOwners({ webhooks }: Context, { metadata }: ApiObject, writer: Writer): void {
  warn(writer, dedupedOwners(metadata, webhooks.current?.call?.method === 'PATCH'))
}

/** Returns an object of a dry run as a write would return it: with the defaults of its status, for example. */
export function asStored(kind: Kind, object: ApiObject): ApiObject {
  return kind.custom ? fromStored(kind, toStored(kind, object)) : object
}

/** Returns the Go struct that a create is compared with. A missing list that is written as null belongs to it. */
function zeroObject(kind: Kind, object: ApiObject): JsonObject {
  const nulls = Object.entries(object).filter(([, value]) => value === null)
  return { ...zeroValue(kind.schema), ...Object.fromEntries(nulls) }
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

const MAX_NAME_TRIES = 8

/** Sets the metadata of a new object, in place. */
function initMetadata(context: Context, kind: Kind, { metadata }: ApiObject): void {
  const isTaken = (name: string): boolean =>
    context.store.get(kind.storage.id, storeKey(kind, metadata.namespace ?? '', name)) !== undefined
  if (!metadata.name && metadata.generateName) {
    // Like the real server, try other letters for a name that is taken.
    for (let tries = 0; tries < MAX_NAME_TRIES && (tries === 0 || isTaken(metadata.name!)); tries++) {
      metadata.name = generateName(metadata.generateName, context.random)
    }
  }
  metadata.uid = newUid(context.random)
  metadata.creationTimestamp = nowIso(context)
  if (kind.rules.generation) metadata.generation = 1
}

/** Returns the faults of an object's metadata, without the rules for updates. */
function metadataFaults(object: ApiObject, kind: Kind): Cause[] {
  const { metadata } = object
  const faults = metaFaults(metadata, kind.rules.nameRule, kind.namespaced)
  // Custom kinds get a warning instead.
  return kind.custom || kind.group === 'apiextensions.k8s.io' ? faults : [...faults, ...finalizerNameFaults(metadata)]
}
