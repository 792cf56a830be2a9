/** Creates the system namespaces, and deletes namespaces after their contents. */
import { jsonEqual } from '../../core/equal.ts'
import {
  type Context,
  fromStored,
  type KindRequest,
  putObject,
  readBody,
  readObject,
  removeObject,
} from '../context/context.ts'
import { conflict, MODIFIED_MESSAGE } from '../model/status.ts'
import { type ApiObject, at, clone, instant, isObject, type Json, type JsonObject, newUid, put } from '../model/json.ts'
import { updateManagedFields } from '../apply/managed_fields.ts'
import { typingOf } from '../apply/updater.ts'
import { checkNameInUrl, setManagedFields, writeOf } from '../verbs/write.ts'
import { contentConditions } from './namespace_conditions.ts'
import { deleteObject } from '../verbs/delete.ts'

const SYSTEM_NAMESPACES: readonly string[] = ['default', 'kube-node-lease', 'kube-public', 'kube-system']

/** Creates the namespaces of a new cluster. */
export function createSystemNamespaces(context: Context): void {
  for (const name of SYSTEM_NAMESPACES) {
    context.store.put('namespaces', name, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: {
        name,
        uid: newUid(context.random),
        creationTimestamp: instant(context.clock.now()),
        labels: { 'kubernetes.io/metadata.name': name },
      },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Active' },
    })
  }
}

/** Deletes the objects in a namespace that is being deleted. */
export function deleteContents(context: Context, name: string): void {
  for (const kind of context.kinds.stored()) {
    if (!kind.namespaced) continue
    for (const stored of context.store.list(kind.storage.id, `${name}/`)) {
      deleteObject(context, kind, fromStored(kind, stored), { policy: 'Background', dryRun: false })
    }
  }
  finalizeIfEmpty(context, name)
  const namespace = context.store.get('namespaces', name)
  if (namespace) reportContents(context, namespace)
}

/**
 * Removes the finalizer of a deleted namespace if it is empty; otherwise, updates the conditions that report its
 * contents. Called after the removal of an object in it.
 */
export function finalizeIfEmpty(context: Context, name: string): void {
  const namespace = context.store.get('namespaces', name)
  if (!namespace?.metadata.deletionTimestamp) return
  const isEmpty = context.kinds.stored().every((kind) =>
    !kind.namespaced || context.store.countIn(kind.storage.id, name) === 0
  )
  if (isEmpty) removeFinalizer(context, namespace)
  // Without conditions, the contents are being deleted: what is left is reported at the end.
  else if (at(namespace, 'status', 'conditions')) reportContents(context, namespace, MAX_UPDATED)
}

/** An update for each removed object takes quadratic time, so there is none while more objects are left. */
const MAX_UPDATED = 100

/** Writes the conditions of a deleted namespace, unless more than `max` objects are left in it. */
function reportContents(context: Context, namespace: ApiObject, max = Infinity): void {
  const name = namespace.metadata.name!
  const remaining = context.kinds.stored().flatMap((kind) => {
    const objects = kind.namespaced ? context.store.list(kind.storage.id, `${name}/`) : []
    return objects.length > 0 ? [{ plural: kind.plural, group: kind.group, objects }] : []
  })
  if (remaining.length === 0 || remaining.reduce((sum, { objects }) => sum + objects.length, 0) > max) return
  const old = at(namespace, 'status', 'conditions')
  const conditions = contentConditions(old, remaining, instant(context.clock.now()))
  if (jsonEqual(old, conditions)) return
  const next = clone(namespace)
  next['status'] = { ...(isObject(next['status']) ? next['status'] : {}), conditions }
  context.store.put('namespaces', name, next)
}

/** Removes the namespace controller's finalizer; if it was the last one, removes the namespace. */
function removeFinalizer(context: Context, namespace: ApiObject): void {
  const finalizers = at(namespace, 'spec', 'finalizers')
  const others = (Array.isArray(finalizers) ? finalizers : []).filter((finalizer) => finalizer !== 'kubernetes')
  const { name } = namespace.metadata
  if (others.length === 0 && (namespace.metadata.finalizers ?? []).length === 0) {
    context.store.remove('namespaces', name!)
    return
  }
  if (Array.isArray(finalizers) && finalizers.length === others.length) return
  const next = clone(namespace)
  putFinalizers(next, others)
  context.store.put('namespaces', name!, next)
}

function putFinalizers(namespace: ApiObject, finalizers: Json[]): void {
  const spec = isObject(namespace['spec']) ? { ...namespace['spec'] } : {}
  if (finalizers.length > 0) put(spec, 'finalizers', finalizers)
  else delete spec['finalizers']
  namespace['spec'] = spec
}

/** Handles PUT to /finalize: removes a deleted namespace if it has no finalizers in spec and metadata. */
export function finalize(request: KindRequest): JsonObject {
  const { context, kind, route } = request
  const { writer, dryRun } = writeOf(request)
  const object = readBody(request)
  checkNameInUrl(object.metadata.name, route.name)
  const old = readObject(request)
  const { resourceVersion } = object.metadata
  if (resourceVersion && resourceVersion !== old.metadata.resourceVersion) {
    throw conflict(kind, route.name, MODIFIED_MESSAGE)
  }
  const { labels, annotations } = object.metadata
  const next = clone(old)
  Object.assign(next.metadata, { labels, annotations })
  const finalizers = at(object, 'spec', 'finalizers')
  putFinalizers(next, Array.isArray(finalizers) ? finalizers as Json[] : [])
  setManagedFields(next, updateManagedFields(typingOf(kind, 'finalize'), old, old, next, writer))
  if (dryRun) return next
  const count = (next.metadata.finalizers ?? []).length + (Array.isArray(finalizers) ? finalizers.length : 0)
  if (old.metadata.deletionTimestamp && count === 0) {
    removeObject(context, kind, old)
    return next
  }
  return putObject(context, kind, next)
}
