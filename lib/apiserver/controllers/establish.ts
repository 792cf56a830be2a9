/** Serves custom kinds from stored definitions, like the controllers of apiextensions-apiserver. */
import { jsonEqual } from '../../core/equal.ts'
import { type Context, fromStored, nowIso } from '../context/context.ts'
import { type ApiObject, at, clone, isObject, type Json, type JsonObject } from '../model/json.ts'
import type { Kind } from '../model/kinds.ts'
import { updateManagedFields } from '../apply/managed_fields.ts'
import { typingOf } from '../apply/updater.ts'
import { deleteObject } from '../verbs/delete.ts'
import { approvalCondition } from '../crd/approval.ts'
import { kindsOfDefinition, originOf } from '../crd/kinds.ts'
import { CLEANUP_FINALIZER } from '../crd/rules.ts'

const CRDS = 'customresourcedefinitions.apiextensions.k8s.io'

/** Serves the kinds of a definition, or starts its deletion. Called after each write of a definition. */
export function applyDefinition(context: Context, stored: ApiObject): void {
  if (stored.metadata.deletionTimestamp) {
    deleteInstances(context, stored)
    return
  }
  const status = statusOf(context, stored)
  if (!jsonEqual(status, stored['status'])) {
    const next = clone(stored)
    next['status'] = status
    const writer = {
      manager: 'kube-apiserver',
      apiVersion: stored.apiVersion,
      subresource: 'status',
      now: nowIso(context),
    }
    const crdKind = context.kinds.find('apiextensions.k8s.io', 'v1', 'customresourcedefinitions')!
    const managedFields = updateManagedFields(typingOf(crdKind, 'status'), stored, stored, next, writer)
    if (managedFields) next.metadata.managedFields = managedFields
    context.store.put(CRDS, stored.metadata.name!, next)
  }
  serveKinds(context, { ...stored, status })
  if (!jsonEqual(status['acceptedNames'], at(stored, 'status', 'acceptedNames'))) offerNames(context, stored)
}

/** Gives names that a definition no longer has to the definitions that wait for them. */
function offerNames(context: Context, crd: ApiObject): void {
  for (const other of context.store.list(CRDS, '')) {
    const conditions = at(other, 'status', 'conditions')
    const isWaiting = Array.isArray(conditions) &&
      conditions.some((each) => at(each, 'type') === 'NamesAccepted' && at(each, 'status') === 'False')
    if (isWaiting && other.metadata.name !== crd.metadata.name) applyDefinition(context, other)
  }
}

/** Removes the kinds of a definition, and frees its names. Called after the removal of the definition. */
export function removeDefinition(context: Context, crd: ApiObject): void {
  removeKinds(context, crd)
  context.endWatches(crd.metadata.name!)
  offerNames(context, crd)
}

function removeKinds(context: Context, crd: ApiObject): void {
  for (const kind of kindsOf(context, crd)) context.kinds.delete(kind)
}

function kindsOf(context: Context, crd: ApiObject): readonly Kind[] {
  return context.kinds.all().filter((kind) => kind.custom && kind.storage.id === crd.metadata.name)
}

/** Watches of a kind end when its definition changes, as on a real server: clients then see objects by the new one. */
function serveKinds(context: Context, crd: ApiObject): void {
  const before = kindsOf(context, crd)[0]?.origin
  removeKinds(context, crd)
  const established = (at(crd, 'status', 'conditions') as JsonObject[] | null)?.some(
    (each) => each['type'] === 'Established' && each['status'] === 'True',
  )
  if (established) { for (const kind of kindsOfDefinition(crd, context.webhooks)) context.kinds.set(kind) }
  if (before && !jsonEqual(before, originOf(crd))) context.endWatches(crd.metadata.name!)
}

/** Returns the status that the naming and establishing controllers would set. */
function statusOf(context: Context, crd: ApiObject): JsonObject {
  const { names, conflict } = acceptedNames(context, crd)
  const before = at(crd, 'status', 'conditions')
  const wasEstablished = Array.isArray(before) && before.some(
    (each) => isObject(each) && each['type'] === 'Established' && each['status'] === 'True',
  )
  const accepted = conflict
    ? { status: 'False', reason: conflict.reason, message: conflict.message }
    : { status: 'True', reason: 'NoConflicts', message: 'no conflicts found' }
  const established = conflict && !wasEstablished
    ? { status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' }
    : { status: 'True', reason: 'InitialNamesAccepted', message: 'the initial names have been accepted' }
  const approval = approvalCondition(crd)
  const conditions = [
    { type: 'NamesAccepted', ...accepted },
    { type: 'Established', ...established },
    ...(approval ? [approval] : []),
  ].map((each) => withTransition(each, before, nowIso(context)))
  const others = (Array.isArray(before) ? before : []).filter((each) =>
    isObject(each) && !conditions.some(({ type }) => type === each['type'])
  )
  return {
    conditions: [...conditions, ...others],
    acceptedNames: names,
    storedVersions: at(crd, 'status', 'storedVersions') ?? [],
  }
}

interface Condition {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
}

/** Returns a condition with the time since when it has its status. */
function withTransition(
  { type, status, reason, message }: Condition,
  before: Json | undefined,
  now: string,
): JsonObject {
  const old = (Array.isArray(before) ? before : []).find((each): each is JsonObject =>
    isObject(each) && each['type'] === type
  )
  const lastTransitionTime = old && old['status'] === status ? old['lastTransitionTime']! : now
  return { type, status, lastTransitionTime, reason, message }
}

interface NameConflict {
  readonly reason: string
  readonly message: string
}

/** Returns the names that no other definition of the group has, and the last conflict. */
function acceptedNames(context: Context, crd: ApiObject): { names: JsonObject; conflict: NameConflict | undefined } {
  const group = at(crd, 'spec', 'group')
  const others = context.store.list(CRDS, '').filter(
    (other) => other.metadata.name !== crd.metadata.name && at(other, 'spec', 'group') === group,
  ).map((other) => at(other, 'status', 'acceptedNames')).filter(isObject)
  const used = (fields: readonly string[]): ReadonlySet<Json | undefined> =>
    new Set(others.flatMap((other) => fields.flatMap((field) => other[field])))
  const resources = used(['plural', 'singular', 'shortNames'])
  const kinds = used(['kind', 'listKind'])
  const wanted = clone(at(crd, 'spec', 'names')) as JsonObject
  const names = clone(at(crd, 'status', 'acceptedNames') ?? { plural: '', kind: '' }) as JsonObject
  let conflict: NameConflict | undefined
  for (const field of ['plural', 'singular', 'shortNames', 'kind', 'listKind'] as const) {
    const taken = field === 'kind' || field === 'listKind' ? kinds : resources
    const wants = [wanted[field] ?? []].flat().filter((name) => ![names[field]].flat().includes(name))
    const inUse = wants.filter((name) => name !== '' && taken.has(name))
    if (inUse.length > 0) {
      const reason = `${field[0]!.toUpperCase()}${field.slice(1)}Conflict`
      conflict = { reason, message: inUse.map((name) => `${JSON.stringify(name)} is already in use`).join(', ') }
    } else names[field] = wanted[field]
  }
  names['categories'] = wanted['categories']
  return { names, conflict }
}

/** Deletes the instances of a deleted definition; the definition is removed after the last of them. */
function deleteInstances(context: Context, crd: ApiObject): void {
  if (!(crd.metadata.finalizers ?? []).includes(CLEANUP_FINALIZER)) return
  const id = crd.metadata.name!
  const kind = kindsOf(context, crd)[0]
  if (kind) {
    for (const stored of context.store.list(id, '')) {
      if (!stored.metadata.deletionTimestamp) deleteObject(context, kind, fromStored(kind, stored))
    }
  }
  finalizeDefinition(context, id)
  if (context.store.list(id, '').length > 0) markDeleting(context, crd)
}

/** Writes that objects remain, and serves the kinds without creations. */
function markDeleting(context: Context, crd: ApiObject): void {
  const before = at(crd, 'status', 'conditions')
  const others = Array.isArray(before) ? before.filter((each) => at(each, 'type') !== 'Terminating') : []
  const [reason, message] = ['InstanceDeletionInProgress', 'CustomResource deletion is in progress']
  const next = clone(crd)
  const condition = { type: 'Terminating', status: 'True', reason, message } as const
  const terminating = withTransition(condition, before, nowIso(context))
  next['status'] = { ...(isObject(crd['status']) ? crd['status'] : {}), conditions: [...others, terminating] }
  if (!jsonEqual(next, crd)) context.store.put(CRDS, crd.metadata.name!, next)
  serveKinds(context, next)
}

/** Removes a deleted definition if it has no instances. Called after the removal of any custom object. */
export function finalizeDefinition(context: Context, id: string): void {
  const crd = context.store.get(CRDS, id)
  if (!crd?.metadata.deletionTimestamp || context.store.list(id, '').length > 0) return
  const others = (crd.metadata.finalizers ?? []).filter((finalizer) => finalizer !== CLEANUP_FINALIZER)
  if (others.length === (crd.metadata.finalizers ?? []).length) return
  if (others.length === 0) {
    context.store.remove(CRDS, id)
    removeDefinition(context, crd)
    return
  }
  const next = clone(crd)
  next.metadata.finalizers = others
  context.store.put(CRDS, id, next)
}
