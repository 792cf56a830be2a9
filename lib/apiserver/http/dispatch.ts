/** Maps a request to its verb and renders the result. */
import type { HttpResponse } from '../../core/transport.ts'
import { type Backend, fromStored, readObject } from '../backend.ts'
import type { ApiObject, JsonObject } from '../json.ts'
import { apiVersionOf, type Kind } from '../kinds.ts'
import { answerPlain } from './plain.ts'
import { type AcceptedForm, answerJson, answerText, parseAccept } from './respond.ts'
import { type Call, flag, type ResourceRoute, routeOf } from './routes.ts'
import { badRequest, methodNotAllowed, StatusError } from './status.ts'
import { metadataOf, supportsForm, tableOf } from '../table.ts'
import { remove, removeCollection } from '../verbs/delete.ts'
import { finalize } from '../storage/namespaces.ts'
import { list } from '../verbs/list.ts'
import { patch } from '../verbs/patch.ts'
import { scale } from '../verbs/scale.ts'
import { create, update } from '../verbs/update.ts'
import { type Rendering, watch, type Watches } from '../verbs/watch.ts'
import type { Written } from '../verbs/write.ts'

export function dispatch(backend: Backend, watches: Watches, call: Call): HttpResponse {
  const route = routeOf(call.path)
  if (route.type === 'plain') return answerPlain(backend, call, route.path)
  const kind = backend.kinds.find(route.group, route.version, route.plural)
  if (!kind || !isServed(kind, route)) {
    if (backend.kinds.of(route.group, route.version).length === 0) return answerText(404, '404 page not found\n')
    throw new StatusError(404, 'NotFound', 'the server could not find the requested resource', {})
  }
  const form = parseAccept(call.headers['accept'], supportsForm)
  if (route.subresource) return answerSubresource(backend, kind, route, call, form)
  if (route.name) return answerObject(backend, watches, kind, route, call, form)
  return answerCollection(backend, watches, kind, route, call, form)
}

/** Returns whether the scope and the subresource of a path exist for a kind. */
function isServed(kind: Kind, { namespace, name, subresource }: ResourceRoute): boolean {
  if (kind.namespaced ? name !== '' && namespace === '' : namespace !== '') return false
  switch (subresource) {
    case '':
      return true
    case 'status':
      return kind.status
    case 'scale':
      return kind.scale !== undefined
    case 'finalize':
      return kind.storage.id === 'namespaces'
    default:
      return false
  }
}

function answerCollection(
  backend: Backend,
  watches: Watches,
  kind: Kind,
  route: ResourceRoute,
  call: Call,
  form: AcceptedForm,
): HttpResponse {
  switch (call.method) {
    case 'GET': {
      if (flag(call.query, 'watch')) {
        return watch(backend, watches, kind, route, call, rendering(backend, kind, call, form))
      }
      const { objects, metadata } = list(backend, kind, route, call)
      return answerJson(200, listJson(backend, kind, objects, metadata, call, form), call.warnings)
    }
    case 'POST':
      if (kind.namespaced && !route.namespace) throw methodNotAllowed()
      return answerWritten(backend, kind, create(backend, kind, route, call), call, form)
    case 'DELETE': {
      const removed = removeCollection(backend, kind, route, call)
      return answerJson(
        200,
        listJson(backend, kind, removed, { resourceVersion: String(backend.store.revision) }, call, form),
        call.warnings,
      )
    }
    default:
      throw methodNotAllowed()
  }
}

function answerObject(
  backend: Backend,
  watches: Watches,
  kind: Kind,
  route: ResourceRoute,
  call: Call,
  form: AcceptedForm,
): HttpResponse {
  switch (call.method) {
    case 'GET':
      if (flag(call.query, 'watch')) {
        return watch(backend, watches, kind, route, call, rendering(backend, kind, call, form))
      }
      return answerJson(200, objectJson(backend, kind, readObject(backend, kind, route), call, form), call.warnings)
    case 'PUT':
      return answerWritten(backend, kind, update(backend, kind, route, call), call, form)
    case 'PATCH':
      return answerWritten(backend, kind, patch(backend, kind, route, call), call, form)
    case 'DELETE': {
      const remaining = remove(backend, kind, route, call)
      return answerJson(
        200,
        remaining['kind'] === 'Status'
          ? JSON.stringify(remaining)
          : objectJson(backend, kind, remaining as ApiObject, call, form),
        call.warnings,
      )
    }
    default:
      throw methodNotAllowed()
  }
}

function answerSubresource(
  backend: Backend,
  kind: Kind,
  route: ResourceRoute,
  call: Call,
  form: AcceptedForm,
): HttpResponse {
  if (route.subresource === 'scale') {
    return answerJson(200, JSON.stringify(scale(backend, kind, kind.scale!, route, call)), call.warnings)
  }
  if (route.subresource === 'finalize') {
    return answerJson(200, JSON.stringify(finalize(backend, kind, route, call)), call.warnings)
  }
  switch (call.method) {
    case 'GET':
      return answerJson(200, objectJson(backend, kind, readObject(backend, kind, route), call, form), call.warnings)
    case 'PUT':
      return answerWritten(backend, kind, update(backend, kind, route, call), call, form)
    case 'PATCH':
      return answerWritten(backend, kind, patch(backend, kind, route, call), call, form)
    default:
      throw methodNotAllowed()
  }
}

function answerWritten(
  backend: Backend,
  kind: Kind,
  { object, created }: Written,
  call: Call,
  form: AcceptedForm,
): HttpResponse {
  return answerJson(created ? 201 : 200, objectJson(backend, kind, object, call, form), call.warnings)
}

/** Caches the JSON of each stored object, which all its watchers share. */
const jsonTexts = new WeakMap<ApiObject, string>()

function plainJson(object: ApiObject): string {
  let text = jsonTexts.get(object)
  if (text === undefined) {
    const { apiVersion, kind, metadata, ...rest } = object
    text = JSON.stringify({ apiVersion, kind, metadata, ...rest })
    jsonTexts.set(object, text)
  }
  return text
}

function objectJson(backend: Backend, kind: Kind, object: ApiObject, call: Call, form: AcceptedForm): string {
  if (form.as === 'Table') {
    return JSON.stringify(
      tableOf(
        kind,
        [object],
        { resourceVersion: object.metadata.resourceVersion },
        tableOptions(backend, call, form, true),
      ),
    )
  }
  if (form.as === 'PartialObjectMetadata') return JSON.stringify(metadataOf(object, form.version!))
  return plainJson(object)
}

function listJson(
  backend: Backend,
  kind: Kind,
  stored: readonly ApiObject[],
  metadata: JsonObject,
  call: Call,
  form: AcceptedForm,
): string {
  const objects = stored.map((object) => fromStored(kind, object))
  if (form.as === 'Table') {
    return JSON.stringify(tableOf(kind, objects, metadata, tableOptions(backend, call, form, true)))
  }
  if (form.as === 'PartialObjectMetadataList' || form.as === 'PartialObjectMetadata') {
    const items = objects.map((object) => metadataOf(object, form.version!))
    return JSON.stringify({
      kind: 'PartialObjectMetadataList',
      apiVersion: `meta.k8s.io/${form.version}`,
      metadata,
      items,
    })
  }
  // Items of built-in kinds have no apiVersion and kind (the list implies them); items of custom kinds have both.
  const items = kind.custom ? objects.map(plainJson) : objects.map(
    ({ apiVersion: _apiVersion, kind: _kind, ...rest }) => JSON.stringify(rest),
  )
  const shown = kind.custom && metadata['continue'] === undefined ? { continue: '', ...metadata } : metadata
  const head = JSON.stringify({ kind: kind.listKind, apiVersion: apiVersionOf(kind), metadata: shown })
  return `${head.slice(0, -1)},"items":[${items.join(',')}]}`
}

function tableOptions(
  backend: Backend,
  call: Call,
  form: AcceptedForm,
  definitions: boolean,
): Parameters<typeof tableOf>[3] {
  const include = call.query.get('includeObject') || 'Metadata'
  if (!['None', 'Metadata', 'Object'].includes(include)) {
    throw badRequest(`unrecognized includeObject value: ${JSON.stringify(include)}`)
  }
  return { version: form.version!, include, nowMs: backend.clock.now(), definitions }
}

function rendering(backend: Backend, kind: Kind, call: Call, form: AcceptedForm): Rendering {
  if (form.as === 'Table') {
    return (object, isFirst) =>
      JSON.stringify(
        tableOf(
          kind,
          [object],
          { resourceVersion: object.metadata.resourceVersion },
          tableOptions(backend, call, form, isFirst),
        ),
      )
  }
  if (form.as !== undefined) return (object) => JSON.stringify(metadataOf(object, form.version!))
  return plainJson
}
