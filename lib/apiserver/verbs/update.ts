/** Handles POST and PUT: creates an object, or replaces it or its status. */
import type { Context } from '../context/context.ts'
import { readJsonBody } from '../wire/body.ts'
import { decodeBody } from '../context/incoming.ts'
import type { Kind } from '../model/kinds.ts'
import { checkNameInUrl, checkUid, ensureNamespace } from '../model/objects.ts'
import type { Call, ResourceRoute } from '../model/routes.ts'
import { notFound } from '../model/status.ts'
import { checkWriteOptions } from './options.ts'
import { createObject, isDryRun, liveObject, updateObject, writerOf, type Written } from './write.ts'

export function create(context: Context, kind: Kind, route: ResourceRoute, call: Call): Written {
  checkWriteOptions(call)
  const { value, duplicates } = readJsonBody(call, kind)
  const object = decodeBody(context, kind, value, duplicates, call)
  ensureNamespace(object.metadata, kind, route.namespace)
  return createObject(
    context,
    kind,
    object,
    writerOf(context, kind, route, call),
    isDryRun(call.query.getAll('dryRun')),
  )
}

export function update(context: Context, kind: Kind, route: ResourceRoute, call: Call): Written {
  checkWriteOptions(call)
  const { value, duplicates } = readJsonBody(call, kind)
  const object = decodeBody(context, kind, value, duplicates, call)
  checkNameInUrl(object.metadata.name, route.name)
  ensureNamespace(object.metadata, kind, route.namespace)
  const writer = writerOf(context, kind, route, call)
  const dryRun = isDryRun(call.query.getAll('dryRun'))
  const old = liveObject(context, kind, route)
  if (old) checkUid(object.metadata, old.metadata, kind)
  if (old) return updateObject(context, kind, route.subresource, old, object, writer, dryRun)
  if (!kind.rules.createOnUpdate || route.subresource) throw notFound(kind, route.name)
  delete object.metadata.resourceVersion
  return createObject(context, kind, object, writer, dryRun)
}
