/** Handles POST and PUT: creates an object, or replaces it or its status. */
import type { Backend } from '../backend.ts'
import { readJsonBody } from '../http/body.ts'
import { decodeBody } from '../schema/incoming.ts'
import type { ApiObject } from '../json.ts'
import type { Kind } from '../kinds.ts'
import { ensureNamespace } from '../storage/objects.ts'
import type { Call, ResourceRoute } from '../http/routes.ts'
import { badRequest, notFound } from '../http/status.ts'
import { createObject, isDryRun, liveObject, updateObject, writerOf, type Written } from './write.ts'

export function create(backend: Backend, kind: Kind, route: ResourceRoute, call: Call): Written {
  const { value, duplicates } = readJsonBody(call, kind)
  const object = decodeBody(backend, kind, value, duplicates, call)
  ensureNamespace(object.metadata, kind, route.namespace)
  return createObject(
    backend,
    kind,
    object,
    writerOf(backend, kind, route, call),
    isDryRun(call.query.getAll('dryRun')),
  )
}

export function update(backend: Backend, kind: Kind, route: ResourceRoute, call: Call): Written {
  const { value, duplicates } = readJsonBody(call, kind)
  const object = decodeBody(backend, kind, value, duplicates, call)
  checkIdentity(object, kind, route)
  const writer = writerOf(backend, kind, route, call)
  const dryRun = isDryRun(call.query.getAll('dryRun'))
  const old = liveObject(backend, kind, route)
  if (old) return updateObject(backend, kind, route.subresource, old, object, writer, dryRun)
  if (!kind.rules.createOnUpdate || route.subresource || object.metadata.resourceVersion) {
    throw notFound(kind, route.name)
  }
  return createObject(backend, kind, object, writer, dryRun)
}

/** Checks that name and namespace match the URL, and fills in the namespace, in place. */
function checkIdentity(object: ApiObject, kind: Kind, route: ResourceRoute): void {
  const { name } = object.metadata
  if (name && name !== route.name) {
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${route.name})`)
  }
  if (!name) {
    throw badRequest(`the name of the object (${route.name} based on URL) was undeterminable: name must be provided`)
  }
  ensureNamespace(object.metadata, kind, route.namespace)
}
