/** Creates the system namespaces, and deletes namespaces after their contents. */
import { type Backend, fromStored, putObject, readObject, removeObject } from '../backend.ts'
import { readJsonBody } from '../http/body.ts'
import type { Call, ResourceRoute } from '../http/routes.ts'
import { badRequest, methodNotAllowed } from '../http/status.ts'
import { type ApiObject, at, clone, isObject, type Json, type JsonObject, put } from '../json.ts'
import type { Kind } from '../kinds.ts'
import { instant, newUid } from './objects.ts'
import { deleteObject, PLAIN_DELETE } from '../verbs/delete.ts'

const SYSTEM_NAMESPACES: readonly string[] = ['default', 'kube-node-lease', 'kube-public', 'kube-system']

/** Creates the namespaces of a new cluster. */
export function createSystemNamespaces(backend: Backend): void {
  for (const name of SYSTEM_NAMESPACES) {
    backend.store.put('namespaces', name, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: {
        name,
        uid: newUid(backend.random),
        creationTimestamp: instant(backend.clock.now()),
        labels: { 'kubernetes.io/metadata.name': name },
      },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Active' },
    })
  }
}

/** Deletes the objects in a namespace that is being deleted. */
export function deleteContents(backend: Backend, name: string): void {
  for (const kind of backend.kinds.stored()) {
    if (!kind.namespaced) continue
    for (const stored of backend.store.list(kind.storage.id, `${name}/`)) {
      if (!stored.metadata.deletionTimestamp) deleteObject(backend, kind, fromStored(kind, stored), PLAIN_DELETE)
    }
  }
  finalizeIfEmpty(backend, name)
}

/** Removes the finalizer of a deleted namespace if it is empty. Called after the removal of an object in it. */
export function finalizeIfEmpty(backend: Backend, name: string): void {
  const namespace = backend.store.get('namespaces', name)
  if (!namespace?.metadata.deletionTimestamp) return
  const isEmpty = backend.kinds.stored().every((kind) =>
    !kind.namespaced || backend.store.list(kind.storage.id, `${name}/`).length === 0
  )
  if (isEmpty) removeFinalizer(backend, namespace)
}

/** Removes the namespace controller's finalizer; if it was the last one, removes the namespace. */
function removeFinalizer(backend: Backend, namespace: ApiObject): void {
  const finalizers = at(namespace, 'spec', 'finalizers')
  const others = (Array.isArray(finalizers) ? finalizers : []).filter((finalizer) => finalizer !== 'kubernetes')
  const { name } = namespace.metadata
  if (others.length === 0 && (namespace.metadata.finalizers ?? []).length === 0) {
    backend.store.remove('namespaces', name!)
    return
  }
  if (Array.isArray(finalizers) && finalizers.length === others.length) return
  const next = clone(namespace)
  putFinalizers(next, others)
  backend.store.put('namespaces', name!, next)
}

function putFinalizers(namespace: ApiObject, finalizers: Json[]): void {
  const spec = isObject(namespace['spec']) ? { ...namespace['spec'] } : {}
  put(spec, 'finalizers', finalizers)
  namespace['spec'] = spec
}

/** Handles PUT to /finalize: removes a deleted namespace if it has no finalizers in spec and metadata. */
export function finalize(backend: Backend, kind: Kind, route: ResourceRoute, call: Call): JsonObject {
  if (call.method !== 'PUT') throw methodNotAllowed()
  const old = readObject(backend, kind, route)
  const { value } = readJsonBody(call)
  if (!isObject(value)) throw badRequest('the body of the request must be a Namespace')
  const next = clone(old)
  const finalizers = at(value, 'spec', 'finalizers')
  putFinalizers(next, Array.isArray(finalizers) ? finalizers as Json[] : [])
  const count = (next.metadata.finalizers ?? []).length + (Array.isArray(finalizers) ? finalizers.length : 0)
  if (old.metadata.deletionTimestamp && count === 0) {
    removeObject(backend, kind, old)
    return next
  }
  return putObject(backend, kind, next)
}

export function isNamespaceKind(kind: Kind): boolean {
  return kind.storage.id === 'namespaces'
}
