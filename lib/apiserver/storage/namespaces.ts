/** The namespaces that are always there, and the end of one: its contents go first, then it. */
import { type Backend, present } from '../backend.ts'
import { type ApiObject, at, clone, isObject, type Json, put } from '../json.ts'
import type { Kind } from '../kinds.ts'
import { instant, newUid } from './objects.ts'
import { deleteObject } from '../verbs/delete.ts'

const ALWAYS_THERE: readonly string[] = ['default', 'kube-node-lease', 'kube-public', 'kube-system']

/** Makes the namespaces that every cluster has. */
export function createSystemNamespaces(backend: Backend): void {
  for (const name of ALWAYS_THERE) {
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

const PLAIN_DELETE = {
  uid: undefined,
  resourceVersion: undefined,
  policy: undefined,
  gracePeriodSeconds: undefined,
  dryRun: false,
}

/** Deletes what is in a namespace that is going. */
export function emptyNamespace(backend: Backend, name: string): void {
  for (const kind of backend.kinds.stored()) {
    if (!kind.namespaced) continue
    for (const stored of backend.store.list(kind.storage.id, `${name}/`)) {
      if (!stored.metadata.deletionTimestamp) deleteObject(backend, kind, present(kind, stored), PLAIN_DELETE)
    }
  }
  finishNamespace(backend, name)
}

/** Lets a namespace go that only waited for its contents. Called after an object in it has gone. */
export function finishNamespace(backend: Backend, name: string): void {
  const namespace = backend.store.get('namespaces', name)
  if (!namespace?.metadata.deletionTimestamp) return
  const isEmpty = backend.kinds.stored().every((kind) =>
    !kind.namespaced || backend.store.list(kind.storage.id, `${name}/`).length === 0
  )
  if (isEmpty) finalizeNamespace(backend, namespace)
}

/** Takes the namespace controller's finalizer off; without any other the namespace is gone. */
function finalizeNamespace(backend: Backend, namespace: ApiObject): void {
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

export function putFinalizers(namespace: ApiObject, finalizers: Json[]): void {
  const spec = isObject(namespace['spec']) ? { ...namespace['spec'] } : {}
  put(spec, 'finalizers', finalizers)
  namespace['spec'] = spec
}

/** Whether a kind is that of namespaces. */
export function isNamespaceKind(kind: Kind): boolean {
  return kind.storage.id === 'namespaces'
}
