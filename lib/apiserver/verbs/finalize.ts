/** PUT to a namespace's /finalize: who takes the last finalizer of its spec off lets it go. */
import { type Backend, commit, readObject, uncommit } from '../backend.ts'
import { readJsonBody } from '../http/body.ts'
import { at, clone, isObject, type Json, type JsonObject } from '../json.ts'
import type { Kind } from '../kinds.ts'
import { putFinalizers } from '../storage/namespaces.ts'
import type { Call, ResourceRoute } from '../http/routes.ts'
import { badRequest, methodNotAllowed } from '../http/status.ts'

export function finalizeNamespace(backend: Backend, kind: Kind, route: ResourceRoute, call: Call): JsonObject {
  if (call.method !== 'PUT') throw methodNotAllowed()
  const old = readObject(backend, kind, route)
  const { value } = readJsonBody(call)
  if (!isObject(value)) throw badRequest('the body of the request must be a Namespace')
  const next = clone(old)
  const finalizers = at(value, 'spec', 'finalizers')
  putFinalizers(next, Array.isArray(finalizers) ? finalizers as Json[] : [])
  const holds = (next.metadata.finalizers ?? []).length + (Array.isArray(finalizers) ? finalizers.length : 0)
  const isDone = old.metadata.deletionTimestamp && holds === 0
  if (isDone) {
    uncommit(backend, kind, old)
    return next
  }
  return commit(backend, kind, next)
}
