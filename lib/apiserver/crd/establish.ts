/** Serves custom kinds from stored definitions, like the controllers of apiextensions-apiserver. */
import { jsonEqual } from '../../core/equal.ts'
import { type Backend, fromStored, nowIso } from '../backend.ts'
import { type ApiObject, at, clone, isObject, type Json, type JsonObject } from '../json.ts'
import type { Kind } from '../kinds.ts'
import { updateManagedFields } from '../apply/managed_fields.ts'
import { deleteObject, PLAIN_DELETE } from '../verbs/delete.ts'
import { typingOf } from '../verbs/write.ts'
import { kindsOfDefinition } from './kinds.ts'
import { CLEANUP_FINALIZER } from './rules.ts'

const CRDS = 'customresourcedefinitions.apiextensions.k8s.io'

/** Serves the kinds of a definition, or starts its deletion. Called after each write of a definition. */
export function applyDefinition(backend: Backend, stored: ApiObject): void {
  if (stored.metadata.deletionTimestamp) {
    deleteInstances(backend, stored)
    return
  }
  const status = statusOf(backend, stored)
  if (!jsonEqual(status, stored['status'])) {
    const next = clone(stored)
    next['status'] = status
    const writer = {
      manager: 'kube-apiserver',
      apiVersion: stored.apiVersion,
      subresource: 'status',
      now: nowIso(backend),
    }
    const crdKind = backend.kinds.find('apiextensions.k8s.io', 'v1', 'customresourcedefinitions')!
    const managedFields = updateManagedFields(typingOf(crdKind, 'status'), stored, stored, next, writer)
    if (managedFields) next.metadata.managedFields = managedFields
    backend.store.put(CRDS, stored.metadata.name!, next)
  }
  serveKinds(backend, { ...stored, status })
}

/** Removes the kinds of a definition. Called after the removal of the definition. */
export function removeKinds(backend: Backend, crd: ApiObject): void {
  for (const kind of kindsOf(backend, crd)) backend.kinds.delete(kind)
}

function kindsOf(backend: Backend, crd: ApiObject): readonly Kind[] {
  return backend.kinds.all().filter((kind) => kind.custom && kind.storage.id === crd.metadata.name)
}

function serveKinds(backend: Backend, crd: ApiObject): void {
  removeKinds(backend, crd)
  const established = (at(crd, 'status', 'conditions') as JsonObject[] | null)?.some(
    (each) => each['type'] === 'Established' && each['status'] === 'True',
  )
  if (established) { for (const kind of kindsOfDefinition(crd, backend.webhooks)) backend.kinds.set(kind) }
}

/** Returns the status that the naming and establishing controllers would set. */
function statusOf(backend: Backend, crd: ApiObject): JsonObject {
  const names = clone(at(crd, 'spec', 'names')) as JsonObject
  const conflict = nameConflict(backend, crd, names)
  const before = at(crd, 'status', 'conditions')
  const wasEstablished = Array.isArray(before) && before.some(
    (each) => isObject(each) && each['type'] === 'Established' && each['status'] === 'True',
  )
  const conditions = [
    condition(
      before,
      'NamesAccepted',
      conflict ? 'False' : 'True',
      conflict ? conflict.reason : 'NoConflicts',
      conflict ? conflict.message : 'no conflicts found',
      nowIso(backend),
    ),
    conflict && !wasEstablished
      ? condition(before, 'Established', 'False', 'NotAccepted', 'not all names are accepted', nowIso(backend))
      : condition(
        before,
        'Established',
        'True',
        'InitialNamesAccepted',
        'the initial names have been accepted',
        nowIso(backend),
      ),
  ]
  const others = Array.isArray(before)
    ? before.filter(
      (each) => isObject(each) && !['NamesAccepted', 'Established'].includes(String(each['type'])),
    )
    : []
  const acceptedNames = conflict ? at(crd, 'status', 'acceptedNames') ?? { plural: '', kind: '' } : names
  return {
    conditions: [...conditions, ...others],
    acceptedNames,
    storedVersions: at(crd, 'status', 'storedVersions') ?? [],
  }
}

function condition(
  before: Json | undefined,
  type: string,
  status: string,
  reason: string,
  message: string,
  now: string,
): JsonObject {
  const old = Array.isArray(before)
    ? before.find((each): each is JsonObject => isObject(each) && each['type'] === type)
    : undefined
  const lastTransitionTime = old && old['status'] === status ? old['lastTransitionTime']! : now
  return { type, status, lastTransitionTime, reason, message }
}

interface NameConflict {
  readonly reason: string
  readonly message: string
}

/** Returns a conflict if another definition of the group already uses a name. */
function nameConflict(backend: Backend, crd: ApiObject, names: JsonObject): NameConflict | undefined {
  const group = at(crd, 'spec', 'group')
  const others = backend.store.list(CRDS, '').filter(
    (other) => other.metadata.name !== crd.metadata.name && at(other, 'spec', 'group') === group,
  )
  for (const other of others) {
    const accepted = at(other, 'status', 'acceptedNames') as JsonObject | undefined
    if (!accepted) continue
    const used = [accepted['plural'], accepted['singular'], ...((accepted['shortNames'] as Json[] | undefined) ?? [])]
    const wanted = [
      ['Plural', names['plural']],
      ['Singular', names['singular']],
      ...((names['shortNames'] as Json[] | undefined) ?? []).map((each) => ['ShortNames', each]),
    ]
    for (const [type, name] of wanted) {
      if (name && used.includes(name as string)) {
        return { reason: `${String(type)}Conflict`, message: `${JSON.stringify(name)} is already in use` }
      }
    }
    const kinds = [accepted['kind'], accepted['listKind']]
    if (kinds.includes(names['kind']!)) {
      return { reason: 'KindConflict', message: `${JSON.stringify(names['kind'])} is already in use` }
    }
    if (kinds.includes(names['listKind']!)) {
      return { reason: 'ListKindConflict', message: `${JSON.stringify(names['listKind'])} is already in use` }
    }
  }
  return undefined
}

/** Deletes the instances of a deleted definition; the definition is removed after the last of them. */
function deleteInstances(backend: Backend, crd: ApiObject): void {
  if (!(crd.metadata.finalizers ?? []).includes(CLEANUP_FINALIZER)) return
  const id = crd.metadata.name!
  const kind = kindsOf(backend, crd)[0]
  if (kind) {
    for (const stored of backend.store.list(id, '')) {
      if (!stored.metadata.deletionTimestamp) deleteObject(backend, kind, fromStored(kind, stored), PLAIN_DELETE)
    }
  }
  finalizeDefinition(backend, id)
}

/** Removes a deleted definition if it has no instances. Called after the removal of any custom object. */
export function finalizeDefinition(backend: Backend, id: string): void {
  const crd = backend.store.get(CRDS, id)
  if (!crd?.metadata.deletionTimestamp || backend.store.list(id, '').length > 0) return
  const others = (crd.metadata.finalizers ?? []).filter((finalizer) => finalizer !== CLEANUP_FINALIZER)
  if (others.length === (crd.metadata.finalizers ?? []).length) return
  if (others.length === 0) {
    removeKinds(backend, crd)
    backend.store.remove(CRDS, id)
    return
  }
  const next = clone(crd)
  next.metadata.finalizers = others
  backend.store.put(CRDS, id, next)
}
