/** Creates objects: POST, and the options, the writer and the checks that create, update, patch and apply share. */
import { mutated, placeOf, validated } from '../admission/admission.ts'
import type { Admission } from '../admission/review.ts'
import { updateManagedFields, type Writer } from '../apply/managed_fields.ts'
import { splitApiVersion } from '../../core/owners.ts'
import {
  type Context,
  fromStored,
  type KindRequest,
  nowIso,
  putObject,
  readBody,
  storeKey,
  toStored,
} from '../context/context.ts'
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
  TOO_MANY_FAULTS,
} from '../model/status.ts'
import { emptyStruct, zeroValue } from '../schema/decode.ts'
import { mediaType } from '../wire/body.ts'
import { attributesOf } from '../model/attributes.ts'
import { typingOf } from '../apply/updater.ts'
import { MUTATING, VALIDATING } from '../admission/hooks.ts'
import { BINDINGS, hasPolicies } from '../admission/policies.ts'
import { scaleFaults } from '../crd/scale_values.ts'
import { customFaults } from '../crd/validate.ts'
import type { Kind, PrepareContext } from '../model/kinds.ts'
import { checkLimits, checkQuotas, LIMITED, quotaStatus, setLimits } from './limits.ts'
import type { Call } from '../model/routes.ts'
import { ADMIN, userInfo } from '../model/user.ts'

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

/** A write of an object: who writes, and how. */
export interface Write extends Pick<KindRequest, 'context' | 'kind'> {
  readonly subresource: string
  readonly writer: Writer
  readonly dryRun: boolean
  /** The result of an apply. Default: the writer owns all fields. */
  readonly managedFields?: ManagedFieldsEntry[]
}

/** Returns the write of a request. Throws 422 with all invalid options. */
export function writeOf({ context, kind, route, call }: KindRequest): Write {
  checkWriteOptions(call)
  const { subresource } = route
  return { context, kind, subresource, writer: writerOf({ context, kind, route, call }), dryRun: isDryRun(call) }
}

/** Returns whether a write is a dry run. {@link writeOf} has refused other values than `All`. */
export function isDryRun({ query }: Call): boolean {
  return query.getAll('dryRun').includes('All')
}

/** Returns the field manager: the `fieldManager` parameter, or the program name of the User-Agent. */
function writerOf({ context, kind, route, call }: KindRequest): Writer {
  const manager = call.query.get('fieldManager') ||
    (call.headers['user-agent'] ?? '').split('/')[0]!.slice(0, MAX_MANAGER_BYTES) || 'unknown'
  const { subresource } = route
  return { manager, apiVersion: kind.apiVersion, subresource, now: nowIso(context), warnings: call.warnings }
}

/** Throws 403 if the user of the request lacks a right for the content of an object. */
export function guard({ context, kind, subresource }: Write, object: ApiObject, old?: ApiObject): void {
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
  { context, kind, subresource }: Write,
  object: ApiObject,
  old: ApiObject | undefined,
  metadataFaults: readonly Cause[],
): readonly Cause[] {
  if (!kind.custom) return []
  const warn = (text: string): void => void context.webhooks.current?.call?.warnings.push(text)
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
    message: message.replace(/\bstatus(?:\.(?=\S+ in body )|(?= in body ))/, '')
      .replace(/ in status\.(?=\S+$)/, ' in '),
  }
}

function warn({ writer }: Write, texts: readonly string[] = []): void {
  writer.warnings?.push(...texts)
}

/** Throws 422 with the faults that a check finds, if any. Ends the check after too many, and names the first ones. */
export function throwIfInvalid({ storage, kind }: Kind, object: ApiObject, check: () => readonly Cause[]): void {
  const own: Cause[] = counted.faults = []
  let faults: readonly Cause[]
  try {
    faults = check()
  } catch (error) {
    if (error !== TOO_MANY_FAULTS) throw error
    faults = [...own.slice(0, MAX_FAULTS), MORE_FAULTS]
  } finally {
    counted.faults = undefined
  }
  if (faults.length === 0) return
  // Events have the same form inside the server, whatever group a request names.
  throw invalid({ group: splitApiVersion(storage.apiVersion).group, kind }, object.metadata.name ?? '', faults)
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

export const JSON_PATCH = 'application/json-patch+json'
export const MERGE = 'application/merge-patch+json'
export const STRATEGIC = 'application/strategic-merge-patch+json'
export const APPLY = 'application/apply-patch+yaml'

const MAX_MANAGER_BYTES = 128

/** Throws 422 with all invalid options of a create, an update or a patch. */
function checkWriteOptions(call: Call): void {
  const { method, query } = call
  const manager = query.get('fieldManager') ?? ''
  const faults: Cause[] = []
  if (method === 'PATCH' && mediaType(call) === APPLY) {
    if (!manager) faults.push(fault.required('fieldManager', 'is required for apply patch'))
  } else if (method === 'PATCH' && query.has('force')) {
    faults.push(fault.forbidden('force', 'may not be specified for non-apply patch'))
  }
  faults.push(...managerFaults(manager), ...dryRunFaults(query.getAll('dryRun')))
  const [validation, modes] = [query.get('fieldValidation') ?? '', ['', 'Ignore', 'Strict', 'Warn']]
  if (!modes.includes(validation)) faults.push(fault.notSupported('fieldValidation', validation, modes))
  const kind = method === 'PUT' ? 'Update' : method === 'PATCH' ? 'Patch' : 'Create'
  if (faults.length > 0) throw invalidOptions(`${kind}Options`, faults)
}

export function invalidOptions(kind: string, faults: readonly Cause[]): Error {
  return invalid({ group: 'meta.k8s.io', kind }, '', faults)
}

function managerFaults(manager: string): Cause[] {
  const isLong = new TextEncoder().encode(manager).length > MAX_MANAGER_BYTES
  // Go prints letters, marks, numbers, punctuation, symbols and the ASCII space.
  const isPrintable = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u.test(manager)
  return [
    ...(isLong ? [fault.tooLong('fieldManager', MAX_MANAGER_BYTES)] : []),
    ...(isPrintable ? [] : [fault.invalid('fieldManager', manager, 'must have printable characters only')]),
  ]
}

/** Returns the fault of `dryRun` values other than `All`. */
export function dryRunFaults(values: readonly string[]): Cause[] {
  return values.every((value) => value === 'All') ? [] : [fault.notSupported('dryRun', values, ['All'])]
}

export function create(request: KindRequest): Written {
  const write = writeOf(request)
  const object = readBody(request)
  ensureNamespace(object.metadata, request.kind, request.route.namespace)
  return createObject(write, object)
}

export function createObject(write: Write, wanted: ApiObject): Written {
  const { context, kind, writer, dryRun } = write
  kind.rules.prepareRules?.(wanted)
  if (kind.rules.noCreate) throw forbidden(kind, wanted.metadata.name ?? '', kind.rules.noCreate)
  let object = clone(wanted)
  dedupeOwners(write, object)
  wipeSystemFields(object)
  checkNamespace(context, kind, object)
  const before = kind.custom ? { apiVersion: object.apiVersion, kind: object.kind } : zeroObject(kind, object)
  const owned = write.managedFields ?? updateManagedFields(typingOf(kind, ''), undefined, before, object, writer)
  setManagedFields(object, owned)
  if (kind.storage.id === 'pods') setLimits(context, object)
  const admission = isAdmitting(context, kind) &&
    { ...placeOf(kind, object), operation: 'CREATE', subresource: '', old: undefined, dryRun } as const
  if (admission) object = mutated(context, { ...admission, object }, wipeSystemFields)
  guard(write, object)
  const isVersioned = /^0*[1-9]\d*$/.test(object.metadata.resourceVersion ?? '')
  initMetadata(context, kind, object)
  if (kind.status && kind.custom) delete object['status']
  else if (kind.status && !kind.rules.keepsStatus) object['status'] = emptyStruct(fieldSchema(kind.schema, 'status')!)
  if (kind.storage.id === 'resourcequotas') object['status'] = quotaStatus(context, object)
  if (context.keepsStated()) keepStated(object, wanted)
  kind.rules.prepareCreate?.(object, prepareContext(context))
  throwIfInvalid(kind, object, () => {
    const metaFaults = metadataFaults(object, kind)
    const ownFaults = kind.rules.validate?.(object, undefined) ?? []
    return [...metaFaults, ...schemaFaults(write, object, undefined, metaFaults), ...ownFaults]
  })
  object = admitted(write, object, undefined, admission && { ...admission, ...placeOf(kind, object) })
  const { name, namespace, generateName } = object.metadata
  if (!dryRun && isVersioned) {
    throw errorWithoutReason(500, 'resourceVersion should not be set on objects to be created')
  }
  const existing = context.store.get(kind.storage.id, storeKey(kind, namespace ?? '', name!))
  if (existing?.metadata.deletionTimestamp) throw alreadyExists(kind, name!, 'object is being deleted: ')
  if (existing) throw (generateName ? generateNameConflict : alreadyExists)(kind, name!)
  return { object: dryRun ? asStored(kind, object) : putObject(context, kind, object), created: true }
}

/** Warns of a valid object, checks limits and quotas, calls validating webhooks, and returns what to store. */
export function admitted(
  write: Write,
  object: ApiObject,
  old: ApiObject | undefined,
  admission: Omit<Admission, 'object'> | false,
): ApiObject {
  const { context, kind, writer } = write
  if (write.subresource === '') warn(write, kind.rules.warnings?.(object, old))
  if (kind.custom) warn(write, finalizerWarnings(object.metadata, old?.metadata.finalizers ?? []))
  const limited = { kind, object, old, subresource: writer.subresource, warnings: writer.warnings }
  if (LIMITED.includes(kind.storage.id)) checkLimits(context, limited)
  const last = admission ? validated(context, { ...admission, object }) : object
  if (context.store.countIn('resourcequotas', object.metadata.namespace ?? '') > 0) checkQuotas(context, limited)
  return last
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
export function dedupeOwners(write: Write, { metadata }: ApiObject): void {
  warn(write, dedupedOwners(metadata, write.context.webhooks.current?.call?.method === 'PATCH'))
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
    const reason = `unable to create new content in namespace ${name} because it is being terminated`
    const message = `namespace ${name} is being terminated`
    const cause: Cause = { reason: 'NamespaceTerminating', message, field: 'metadata.namespace' }
    throw forbidden(kind, object.metadata.name || object.metadata.generateName || '', reason, [cause])
  }
}

const MAX_NAME_TRIES = 8

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
  return [...metaFaults(metadata, kind.rules.nameRule, kind.namespaced), ...finalizerNameFaults(metadata, kind)]
}
