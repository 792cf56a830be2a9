/** Manages object metadata through creation and updates. */
import { jsonEqual } from '../../core/equal.ts'
import { type ApiObject, type JsonObject, type Meta } from './json.ts'
import type { Kind } from './kinds.ts'
import { commonFaults, finalizerNameFaults, metaFaults } from './names.ts'
import { badRequest, type Cause, conflict, fault, MODIFIED_MESSAGE, quote, type StatusError } from './status.ts'

/** The inputs for new metadata. */
export interface CreateContext {
  nowMs(): number
  random(): number
  /** Returns whether an object has this name. */
  isTaken(name: string): boolean
}

/** Formats a time as `metav1.Time`: whole seconds. */
export function instant(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}

/** Returns a random UUID, version 4. */
export function newUid(random: () => number): string {
  const hex = Array.from({ length: 32 }, () => Math.floor(random() * 16).toString(16))
  hex[12] = '4'
  hex[16] = (8 + Math.floor(random() * 4)).toString(16)
  const text = hex.join('')
  return [text.slice(0, 8), text.slice(8, 12), text.slice(12, 16), text.slice(16, 20), text.slice(20)].join('-')
}

const SUFFIX_LETTERS = 'bcdfghjklmnpqrstvwxz2456789'
const MAX_GENERATED_LENGTH = 63
const MAX_NAME_TRIES = 8

/** Returns `base` with five random letters, truncated to the length of a label. */
function generateName(base: string, random: () => number): string {
  const suffix = Array.from({ length: 5 }, () => SUFFIX_LETTERS[Math.floor(random() * SUFFIX_LETTERS.length)]).join('')
  return base.slice(0, MAX_GENERATED_LENGTH - 5) + suffix
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

/** Sets the metadata of a new object, in place. */
export function initMetadata(object: ApiObject, kind: Kind, context: CreateContext): void {
  const { metadata } = object
  if (!metadata.name && metadata.generateName) {
    // Like the real server, try other letters for a name that is taken.
    for (let tries = 0; tries < MAX_NAME_TRIES && (tries === 0 || context.isTaken(metadata.name!)); tries++) {
      metadata.name = generateName(metadata.generateName, () => context.random())
    }
  }
  delete metadata.resourceVersion
  metadata.uid = newUid(() => context.random())
  metadata.creationTimestamp = instant(context.nowMs())
  if (kind.rules.generation) metadata.generation = 1
}

/** Restores the fields that an update cannot change, in place. Throws 409 for another version. */
export function preserveMetadata(object: ApiObject, old: ApiObject, kind: Kind): void {
  const { metadata } = object
  const before = old.metadata
  checkVersion(metadata, before, kind)
  metadata.uid ||= before.uid!
  metadata.creationTimestamp = before.creationTimestamp!
  if (before.deletionTimestamp) metadata.deletionTimestamp = before.deletionTimestamp
  if (before.deletionGracePeriodSeconds !== undefined) {
    metadata.deletionGracePeriodSeconds ??= before.deletionGracePeriodSeconds
  }
  if (before.generation === undefined) delete metadata.generation
  else metadata.generation = before.generation
  delete metadata['selfLink']
}

/** Returns the faults of the metadata of an update. */
export function metadataUpdateFaults(metadata: Meta, before: Meta, kind: Kind): Cause[] {
  const faults = deletionFaults(metadata, before)
  for (const name of ['uid', 'deletionTimestamp', 'deletionGracePeriodSeconds'] as const) {
    if (metadata[name] !== before[name]) faults.push(immutable(`metadata.${name}`, metadata[name]))
  }
  faults.push(...commonFaults(metadata), ...(kind.custom ? [] : finalizerNameFaults(metadata)))
  return faults
}

/** Throws 409 if a PUT has another uid than the object. */
export function checkUid(metadata: Meta, before: Meta, kind: Kind): void {
  if (!metadata.uid || metadata.uid === before.uid) return
  throw storageConflict(kind, before, `UID in precondition: ${metadata.uid}, UID in object meta: ${before.uid}`)
}

function checkVersion(metadata: Meta, before: Meta, kind: Kind): void {
  if (
    metadata.resourceVersion && metadata.resourceVersion !== '0' && metadata.resourceVersion !== before.resourceVersion
  ) {
    throw conflict(kind, before.name!, MODIFIED_MESSAGE)
  }
}

/** Returns the 409 error of the real server's storage for a failed precondition. */
export function storageConflict(kind: Kind, meta: Meta, problem: string): StatusError {
  const place = kind.custom ? `${kind.group}/${kind.plural}` : kind.plural
  const key = `/registry/${place}/${meta.namespace ? `${meta.namespace}/` : ''}${meta.name}`
  const message =
    `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ${problem}`
  return conflict(kind, meta.name!, message)
}

/** Returns a fault if an update adds finalizers to an object that is being deleted. */
function deletionFaults(metadata: Meta, before: Meta): Cause[] {
  if (!before.deletionTimestamp) return []
  const added = (metadata.finalizers ?? []).filter((finalizer) => !(before.finalizers ?? []).includes(finalizer))
  if (added.length === 0) return []
  const list = added.map((finalizer) => `"${finalizer}"`).join(', ')
  return [
    fault.forbidden(
      'metadata.finalizers',
      `no new finalizers can be added if the object is being deleted, found new finalizers []string{${list}}`,
    ),
  ]
}

export function immutable(path: string, value: unknown): Cause {
  return { reason: 'FieldValueInvalid', field: path, message: `Invalid value: ${quote(value)}: field is immutable` }
}

/** Increments the generation if anything except metadata and status has changed, in place. */
export function updateGeneration(object: ApiObject, old: ApiObject, kind: Kind, isStatus: boolean): void {
  if (!kind.rules.generation) return
  const { annotations } = object.metadata
  const changed = !jsonEqual(generationFields(object, kind), generationFields(old, kind)) ||
    (kind.rules.generationCountsAnnotations === true && !isStatus &&
      !jsonEqual(annotations ?? {}, old.metadata.annotations ?? {}))
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

/** Returns the faults of an object's metadata, without the rules for updates. */
export function metadataFaults(object: ApiObject, kind: Kind): Cause[] {
  const { metadata } = object
  const faults = metaFaults(metadata, kind.rules.nameRule, kind.namespaced)
  // Custom kinds get a warning instead.
  return kind.custom || kind.group === 'apiextensions.k8s.io' ? faults : [...faults, ...finalizerNameFaults(metadata)]
}
