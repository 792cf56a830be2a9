/** Maps a request to its verb and renders the result. */
import { turnBudgetOf } from '../../async/clock.ts'
import type { HttpResponse } from '../../core/transport.ts'
import { type Context, fromStored, type KindRequest, readObject } from '../context/context.ts'
import { type ApiObject, forgetJson, itemJsonOf, type JsonObject, jsonOf } from '../model/json.ts'
import { type Kind } from '../model/kinds.ts'
import { answerPlain } from '../discovery/plain.ts'
import {
  type AcceptedForm,
  answerJson,
  answerList,
  answerPageNotFound,
  answerText,
  negotiate,
  supportsForm,
} from '../wire/respond.ts'
import { flag, isWellFormed } from '../../core/requested_action.ts'
import { type Call, type ResourceRoute, routeOf } from '../model/routes.ts'
import {
  badRequest,
  errorWithoutReason,
  methodNotAllowed,
  methodNotSupported,
  notAcceptable,
  notFound,
  pathNotFound,
  StatusError,
} from '../model/status.ts'
import { metadataOf, rowOf, tableOf, type TableOptions } from '../wire/table.ts'
import { remove, removeCollection } from '../verbs/delete.ts'
import { finalize } from '../controllers/namespaces.ts'
import { ANSWERS } from '../verbs/subresources.ts'
import { checkReadVersion, list, type Page } from '../verbs/list.ts'
import { patch, patchType } from '../verbs/patch.ts'
import { scale, scaleTable } from '../verbs/scale.ts'
import { update } from '../verbs/update.ts'
import { type Rendering, watch, type Watches } from '../verbs/watch.ts'
import { create, type Written } from '../verbs/write.ts'

export function dispatch(context: Context, watches: Watches, call: Call): HttpResponse {
  // Go's HTTP server answers before any handler.
  if (!isWellFormed(call.path)) return answerText(400, '400 Bad Request')
  const given = routeOf(call.path)
  // As on the real server, `watch` has no effect on the path of one object.
  const isWatch = given.type === 'resource' && call.method === 'GET' &&
    (given.isWatch === true || given.name === '' && flag(call.query, 'watch'))
  if (given.type === 'plain') return answerPlain(context, call, given.path)
  const kind = context.kinds.find(given.group, given.version, given.plural)
  // The handler of custom kinds ignores what follows the subresource.
  const route = kind?.custom ? { ...given, subresource: given.subresource.split('/')[0]! } : given
  if (!kind || !isServed(kind, route)) {
    const { group } = route
    // A custom kind reports the object that the subresource would belong to.
    if (kind?.custom && route.subresource && isServed(kind, { ...route, subresource: '' })) {
      throw notFound(kind, route.name)
    }
    if (group === '' || context.kinds.all().some((each) => each.group === group && !each.custom)) throw pathNotFound()
    return answerPageNotFound()
  }
  if (kind.custom && kind.namespaced && !route.namespace && call.method !== 'GET' && call.method !== 'HEAD') {
    return answerPageNotFound()
  }
  if (route.isWatch && call.method !== 'GET') throw methodNotAllowed()
  // A custom kind answers HEAD like GET; the HTTP layer drops the body.
  if (kind.custom && call.method === 'HEAD' && !flag(call.query, 'watch')) {
    return dispatch(context, watches, { ...call, method: 'GET' })
  }
  checkMethod(kind, route, call)
  const form = negotiate(call.headers['accept'], {
    supports: supportsForm,
    by: kind.custom ? 'handler' : 'router',
    ...(isWatch ? { watch: 'requested' } : call.method === 'GET' && route.name === '' ? { watch: 'possible' } : {}),
  })
  if (kind.deprecation !== undefined) call.warnings.push(kind.deprecation)
  checkName(route.name)
  // Before the write, so that nothing is stored.
  if (call.method === 'DELETE' && !route.name) checkForm(kind, form, 'list')
  else if (call.method !== 'GET') checkForm(kind, form, 'object')
  const request = { context, kind, route, call }
  if (isWatch && !route.subresource) return watch(request, watches, rendering(request, form))
  if (!verbsOf(kind, route).includes(verbOf(call, route))) throw methodNotAllowed()
  if (route.subresource) return answerSubresource(request, form)
  // A custom kind ignores the name in the path of a create.
  if (route.name && !(kind.custom && call.method === 'POST')) return answerObject(request, form)
  return answerCollection(request, form)
}

const VERBS: Readonly<Record<string, string>> = {
  GET: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
}

/** Refuses methods that custom kinds do not have, in the words of their handler. */
function checkMethod(kind: Kind, { name, subresource }: ResourceRoute, call: Call): void {
  if (!kind.custom) return
  const verb = VERBS[call.method]
  if (!verb || subresource && (verb === 'create' || verb === 'delete')) throw methodNotSupported(kind, verb ?? '')
  if (name || verb !== 'update' && verb !== 'patch') return
  if (verb === 'patch') patchType(kind, call)
  throw badRequest('name must be provided')
}

/** Refuses the form of a list for an object, and that of an object for a list. */
function checkForm(kind: Kind, { as }: AcceptedForm, of: 'object' | 'list'): void {
  const [group = ''] = kind.definition.split('.')
  if (of === 'list' && as === 'PartialObjectMetadata') {
    const type = kind.custom ? 'unstructured.UnstructuredList' : `${group}.${kind.listKind}`
    throw notAcceptable(`you requested ${as}, but the requested object is a list (*${type})`)
  }
  if (of === 'object' && as === 'PartialObjectMetadataList') {
    if (kind.custom) throw errorWithoutReason(500, 'content is not a list')
    throw notAcceptable(`you requested ${as}, but the requested object is not a list (*${group}.${kind.kind})`)
  }
}

/** Refuses names that would change a path. */
function checkName(name: string): void {
  const reason = name === '.' || name === '..'
    ? `may not be '${name}'`
    : name.includes('%')
    ? "may not contain '%'"
    : ''
  if (reason) throw badRequest(`Name parameter invalid: ${JSON.stringify(name)}: ${reason}`)
}

/** Returns whether the scope and the subresource of a path exist for a kind. */
function isServed(kind: Kind, { namespace, name, subresource }: ResourceRoute): boolean {
  if (kind.namespaced ? name !== '' && namespace === '' : namespace !== '') return false
  if (!hasPath(kind, namespace, name)) return false
  return subresource === '' || kind.subresources.some((each) => each.name === rootOf(subresource))
}

function verbsOf(kind: Kind, { subresource }: ResourceRoute): readonly string[] {
  return subresource ? kind.subresources.find((each) => each.name === rootOf(subresource))!.verbs : kind.verbs
}

/** Returns the verb of a request, by the names of discovery. */
function verbOf({ method }: Call, { name }: ResourceRoute): string {
  const verb = VERBS[method] ?? 'get'
  return name ? verb : COLLECTION_VERBS[verb] ?? verb
}

const COLLECTION_VERBS: Readonly<Record<string, string>> = { get: 'list', delete: 'deletecollection' }

/** Returns whether a kind without stored objects has a path: reviews have no names, and only some are in namespaces. */
function hasPath({ stored, namespaced, verbs }: Kind, namespace: string, name: string): boolean {
  if (stored) return true
  if (name) return verbs.includes('get')
  return verbs.includes('list') || !namespaced || namespace !== ''
}

/** Returns the name of a subresource without the path that a proxy forwards. */
function rootOf(subresource: string): string {
  return subresource.startsWith('proxy/') ? 'proxy' : subresource
}

function answerCollection(request: KindRequest, form: AcceptedForm): HttpResponse {
  const { kind, route, call } = request
  if (call.method === 'GET') return answerPage(request, list(request), form)
  if (call.method !== 'POST' && call.method !== 'DELETE') throw methodNotAllowed()
  if (kind.namespaced && !route.namespace) throw methodNotAllowed()
  // The history keeps deleted objects, without their texts.
  if (call.method === 'DELETE') return answerPage(request, removeCollection(request), form, forgetJson)
  if (kind.stored) return answerWritten(request, create(request), form)
  const answer = ANSWERS[kind.storage.id]
  if (!answer) throw methodNotAllowed()
  return answer(request)
}

function answerObject(request: KindRequest, form: AcceptedForm): HttpResponse {
  const { context, call } = request
  switch (call.method) {
    case 'GET':
      // As on the real server, `watch` has no effect on the path of one object.
      checkReadVersion(context, call.query)
      return answerJson(200, objectJson(request, readObject(request), form), call.warnings)
    case 'PUT':
      return answerWritten(request, update(request), form)
    case 'PATCH':
      return answerWritten(request, patch(request), form)
    case 'DELETE': {
      const remaining = remove(request)
      const isStatus = remaining['kind'] === 'Status'
      const json = isStatus ? JSON.stringify(remaining) : objectJson(request, remaining as ApiObject, form)
      return answerJson(200, json, call.warnings)
    }
    default:
      throw methodNotAllowed()
  }
}

function answerSubresource(request: KindRequest, form: AcceptedForm): HttpResponse {
  const { kind, route, call } = request
  if (route.subresource === 'scale') {
    const scaled = scale(request, kind.scale!)
    const json = form.as === 'Table'
      ? scaleTable(scaled, kind.custom, tableOptions(request, form, true))
      : form.as === 'PartialObjectMetadata'
      ? metadataOf(scaled as ApiObject, form.version!)
      : scaled
    return answerJson(200, JSON.stringify(json), call.warnings)
  }
  const answer = ANSWERS[`${kind.storage.id}/${rootOf(route.subresource)}`]
  if (answer) return answer(request)
  if (route.subresource === 'finalize') return answerJson(200, JSON.stringify(finalize(request)), call.warnings)
  if (route.subresource !== 'status' && !kind.rules.parts?.[route.subresource]) {
    const path = `${kind.plural}/${route.subresource}`
    throw new StatusError(501, 'NotImplemented', `the embedded API server does not serve ${path}`)
  }
  // Like the object, but for the verbs, which `dispatch` has checked.
  return answerObject(request, form)
}

function answerWritten(request: KindRequest, { object, created }: Written, form: AcceptedForm): HttpResponse {
  return answerJson(created ? 201 : 200, objectJson(request, object, form), request.call.warnings)
}

function objectJson(request: KindRequest, object: ApiObject, form: AcceptedForm): string {
  const { kind } = request
  if (form.as === 'Table') return tableJson(request, object, form, true)
  checkForm(kind, form, 'object')
  if (form.as === 'PartialObjectMetadata') return JSON.stringify(metadataOf(object, form.version!))
  return jsonOf(object)
}

/** Returns the JSON of a table with one object. */
function tableJson(request: KindRequest, object: ApiObject, form: AcceptedForm, definitions: boolean): string {
  const { resourceVersion } = object.metadata
  return JSON.stringify(tableOf(request.kind, [object], { resourceVersion }, tableOptions(request, form, definitions)))
}

/** Answers with objects in their stored version. */
function answerPage(
  request: KindRequest,
  { objects: stored, metadata }: Page,
  form: AcceptedForm,
  afterRender?: (object: ApiObject) => void,
): HttpResponse {
  const { context, kind, call } = request
  // What a webhook has converted belongs to this request; other objects are converted when they are read.
  const isNow = kind.rules.convert !== undefined
  const objects = isNow ? stored.map((object) => fromStored(kind, object)) : stored
  const answer = (head: JsonObject, renderShown: (object: ApiObject) => string, field: 'items' | 'rows' = 'items') => {
    const render = (object: ApiObject): string => {
      const text = renderShown(isNow ? object : fromStored(kind, object))
      afterRender?.(object)
      return text
    }
    return answerList({ head, field, objects, render }, call.warnings, turnBudgetOf(context.clock))
  }
  if (form.as === 'Table') {
    const options = tableOptions(request, form, true)
    const { rows: _rows, ...head } = tableOf(kind, [], metadata, options)
    return answer(head, (object) => JSON.stringify(rowOf(kind, object, options)), 'rows')
  }
  checkForm(kind, form, 'list')
  if (form.as === 'PartialObjectMetadataList') {
    const head = { kind: 'PartialObjectMetadataList', apiVersion: `meta.k8s.io/${form.version}`, metadata }
    // As on a real server, an empty list of them is none.
    if (objects.length === 0) return answerJson(200, JSON.stringify({ ...head, items: null }), call.warnings)
    return answer(head, (object) => JSON.stringify(metadataOf(object, form.version!)))
  }
  // Items of built-in kinds have no apiVersion and kind (the list implies them); items of custom kinds have both.
  const shown = kind.custom && metadata['continue'] === undefined ? { continue: '', ...metadata } : metadata
  const head = { kind: kind.listKind, apiVersion: kind.apiVersion, metadata: shown }
  return answer(head, kind.custom ? jsonOf : itemJsonOf)
}

function tableOptions({ context, call }: KindRequest, form: AcceptedForm, definitions: boolean): TableOptions {
  const include = call.query.get('includeObject') || 'Metadata'
  if (!['None', 'Metadata', 'Object'].includes(include)) {
    throw badRequest(
      `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(include)}: ` +
        `must be 'Metadata', 'Object', 'None', or empty`,
    )
  }
  return { version: form.version!, include, nowMs: context.clock.now(), definitions }
}

function rendering(request: KindRequest, form: AcceptedForm): Rendering {
  if (form.as === 'Table') {
    tableOptions(request, form, true)
    const render = (definitions: boolean) => (object: ApiObject) => tableJson(request, object, form, definitions)
    return { next: render(false), first: render(true) }
  }
  if (form.as !== undefined) return { next: (object) => JSON.stringify(metadataOf(object, form.version!)) }
  return { next: jsonOf }
}
