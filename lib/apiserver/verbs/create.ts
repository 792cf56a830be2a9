/** POST to a collection. */
import type { Backend } from '../backend.ts'
import { readJsonBody } from '../http/body.ts'
import { readObjectOf } from '../schema/incoming.ts'
import type { Kind } from '../kinds.ts'
import { settleNamespace } from '../storage/objects.ts'
import type { Call, ResourceRoute } from '../http/routes.ts'
import { createObject, isDryRun, writerOf, type Written } from './write.ts'

export function create(backend: Backend, kind: Kind, route: ResourceRoute, call: Call): Written {
  const { value, duplicates } = readJsonBody(call, kind)
  const object = readObjectOf(backend, kind, value, duplicates, call)
  settleNamespace(object.metadata, kind, route.namespace)
  return createObject(
    backend,
    kind,
    object,
    writerOf(backend, kind, route, call),
    isDryRun(call.query.getAll('dryRun')),
  )
}
