/** Handles PATCH: selects one of four patch types by media type. */
import {
  decodeByKind,
  findObject,
  isKnownType,
  type KindRequest,
  readObject,
  reportStrictFaults,
  setDefaults,
  strictFaults,
} from '../context/context.ts'
import { LAST_APPLIED } from '../apply/last_applied.ts'
import { applyManagedFields, checkApplyConfig, type Writer } from '../apply/managed_fields.ts'
import { typingOf } from '../apply/updater.ts'
import { listProblems, typeProblem } from '../apply/typed.ts'
import { checkCount, mediaType, parseBody, readApplyBody, wrongTypeMeta } from '../wire/body.ts'
import { DecodeError, zeroValue } from '../schema/decode.ts'
import { jsonType, unregistered } from '../model/go_text.ts'
import { type ApiObject, at, clone, isObject, type Json, type JsonObject, objectAt, putAt } from '../model/json.ts'
import { type Kind } from '../model/kinds.ts'
import { jsonPatch, mergePatch } from '../patch/json_patch.ts'
import { strategicPatch } from '../patch/strategic.ts'
import { flag } from '../../core/requested_action.ts'
import type { Call, ResourceRoute } from '../model/routes.ts'
import {
  badRequest,
  type Cause,
  conflict,
  errorWithoutReason,
  fault,
  internal,
  invalid,
  notFound,
  StatusError,
  unsupportedMediaType,
} from '../model/status.ts'
import { updateObject } from './update.ts'
import {
  APPLY,
  checkNameInUrl,
  checkNamespace,
  createObject,
  ensureNamespace,
  JSON_PATCH,
  MERGE,
  STRATEGIC,
  type Write,
  writeOf,
  type Written,
} from './write.ts'

export function patch(request: KindRequest): Written {
  const type = patchType(request.kind, request.call)
  const write = writeOf(request)
  return type === APPLY ? apply(request, write) : patchObject(request, write, type)
}

/** Returns the media type of a patch. Throws 415 if the kind does not support it. */
export function patchType(kind: Kind, call: Call): string {
  const type = mediaType(call)
  const supported = [JSON_PATCH, MERGE, ...(kind.custom ? [] : [STRATEGIC]), APPLY]
  if (supported.includes(type)) return type
  if (!kind.custom) throw unsupportedMediaType('415: Unsupported Media Type')
  throw new StatusError(
    415,
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${supported.join(', ')}`,
  )
}

function patchObject(request: KindRequest, write: Write, type: string): Written {
  const { kind, route, call } = request
  const old = readObject(request)
  const value = parsePatch(call, type)
  const patched = patchedJson(kind, old, value, type)
  checkCount(patched)
  const refuse = (reason: string): StatusError =>
    invalid({ group: '', kind: '' }, '', [fault.invalid('patch', JSON.stringify(sorted(patched)), reason)])
  const { object, unknown } = decodePatched(request, patched, refuse)
  const ofPatch = type === JSON_PATCH ? jsonPatchFaults(value) : []
  reportStrictFaults(request, [...ofPatch, ...strictFaults([...unknown].sort())], refuse)
  setDefaults(kind, object)
  checkNameInUrl(object.metadata.name, route.name)
  ensureNamespace(object.metadata, kind, route.namespace)
  return updateObject(write, old, object)
}

function parsePatch(call: Call, type: string): Json {
  try {
    return parseBody(call)
  } catch (cause) {
    if (!(cause instanceof StatusError) || cause.code !== 400) throw cause
    throw Object.assign(undecodable(type, cause.message), { cause })
  }
}

function undecodable(type: string, reason: string): StatusError {
  return badRequest(type === STRATEGIC ? reason : `error decoding patch: ${reason}`)
}

/** Decodes a patched object. Throws 422 for a wrong type, and for a kind or a version that the patch has changed. */
function decodePatched(
  { context, kind, route }: KindRequest,
  patched: JsonObject,
  refuse: (reason: string) => StatusError,
): ReturnType<typeof decodeByKind> {
  const wrong = wrongTypeMeta(patched)
  if (wrong) throw refuse(wrong)
  const apiVersion = String(patched['apiVersion'] ?? '')
  const given = String(patched['kind'] ?? '')
  if (kind.custom) checkCustomType(kind, patched, route, refuse)
  else if ((given && given !== kind.kind) || (apiVersion && apiVersion !== kind.apiVersion)) {
    throw isKnownType(context, given, apiVersion)
      ? badRequest(`the object provided is a ${given}`)
      : refuse(unregistered(given, apiVersion))
  }
  try {
    return decodeByKind(kind, patched)
  } catch (error) {
    throw error instanceof DecodeError ? refuse(error.message) : error
  }
}

function checkCustomType(
  kind: Kind,
  patched: JsonObject,
  { subresource }: ResourceRoute,
  refuse: (reason: string) => StatusError,
): void {
  const { apiVersion, kind: given } = patched
  if (!given) throw refuse("Object 'Kind' is missing")
  if (subresource === 'status') {
    if (!apiVersion) throw internal("Object 'apiVersion' is missing")
    return
  }
  const faults: Cause[] = []
  if (given !== kind.kind) faults.push(fault.invalid('kind', given, `must be ${kind.kind}`))
  if (apiVersion !== kind.apiVersion) {
    faults.push(fault.invalid('apiVersion', apiVersion ?? '', `must be ${kind.apiVersion}`))
  }
  const group = String(apiVersion ?? '').split('/').slice(0, -1).join('/')
  const name = String(at(patched, 'metadata', 'name') ?? '')
  if (faults.length > 0) throw invalid({ group, kind: String(given) }, name, faults)
}

const OPERATION_FIELDS: readonly string[] = ['op', 'path', 'from', 'value']

/** Returns the messages of unknown fields in the operations of a JSON patch. */
function jsonPatchFaults(patch: Json): string[] {
  const unknown = (Array.isArray(patch) ? patch : []).flatMap((operation, index) =>
    Object.keys(isObject(operation) ? operation : {}).filter((name) => !OPERATION_FIELDS.includes(name))
      .map((name) => `[${index}].${name}`)
  )
  return strictFaults(unknown).map((problem) => `json patch ${problem}`)
}

function sorted(value: Json | undefined): Json {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isObject(value)) return value ?? null
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]))
}

function patchedJson(kind: Kind, old: ApiObject, value: Json, type: string): JsonObject {
  if (type === JSON_PATCH) return jsonPatch(old, value) as JsonObject
  if (value === null) {
    if (type === STRATEGIC) return old
    throw badRequest('Invalid JSON Patch')
  }
  if (!isObject(value)) {
    throw undecodable(type, `it is of the type ${jsonType(value)}, not an object`)
  }
  return type === MERGE ? mergePatch(old, value) as JsonObject : strategicPatch(kind.schema, old, value)
}

function apply(request: KindRequest, write: Write): Written {
  const { context, kind, route, call } = request
  const old = findObject(request)
  if (!old && route.subresource) throw notFound(kind, route.name)
  const value = readApplyBody(call)
  checkApplyConfig(value, kind)
  const config = typedConfig(kind, route, value)
  const uid = at(config, 'metadata', 'uid')
  if (!old && uid) {
    const detail = `uid mismatch: the provided object specified uid ${String(uid)}, and no existing object was found`
    throw conflict(kind, route.name, detail)
  }
  const live: JsonObject = old ??
    (kind.custom ? { apiVersion: kind.apiVersion, kind: kind.kind } : zeroValue(kind.schema))
  const { writer } = write
  const { object: merged = live, managedFields } = applyManagedFields(
    typingOf(kind, route.subresource),
    live,
    old?.metadata.managedFields,
    config,
    writer,
    flag(call.query, 'force'),
  )
  // Conflicts are found before.
  const { name, namespace } = objectAt(value, 'metadata')
  ensureNamespace({ namespace: namespace as string }, kind, route.namespace)
  if (name !== undefined) checkNameInUrl(name, route.name)
  // A new object has no more fields than the body.
  if (old) checkCount(merged)
  const object = decodeMerged(kind, route, withLastApplied(merged, value, writer), namespace)
  if (old) {
    object.metadata.resourceVersion ??= old.metadata.resourceVersion!
    return updateObject({ ...write, managedFields }, old, object)
  }
  delete object.metadata.resourceVersion
  checkNameInUrl(name, route.name)
  checkNamespace(context, kind, object)
  return createObject({ ...write, managedFields }, object)
}

/** Updates the annotation of client-side apply, if kubectl applies, so that a later one knows the configuration. */
function withLastApplied(object: JsonObject, config: JsonObject, { manager }: Writer): JsonObject {
  const annotations = at(object, 'metadata', 'annotations')
  if (manager !== 'kubectl' || !isObject(annotations) || !annotations[LAST_APPLIED]) return object
  const applied = clone(config)
  const given = at(applied, 'metadata', 'annotations')
  if (isObject(given)) delete given[LAST_APPLIED]
  const next = { ...annotations, [LAST_APPLIED]: `${JSON.stringify(sorted(applied))}\n` }
  return { ...object, metadata: { ...object['metadata'] as JsonObject, annotations: next } }
}

/** Returns the configuration with name and namespace of the URL. Unknown fields are errors in every validation mode. */
function typedConfig(kind: Kind, route: ResourceRoute, value: JsonObject): JsonObject {
  const problem = typeProblem(kind.schema, value)
  const problems = problem ? [problem] : listProblems(kind.schema, value)
  const reason = problems.length > 1 ? ['errors:', ...problems].join('\n  ') : problems[0]
  if (reason !== undefined) throw typedPatchError(kind, value, reason)
  const config = clone(value)
  config['metadata'] = { ...objectAt(config, 'metadata'), name: route.name }
  putAt(config, ['metadata', 'namespace'], kind.namespaced ? route.namespace : undefined)
  return config
}

function typedPatchError(kind: Kind, config: JsonObject, reason: string): StatusError {
  const metadata = isObject(config['metadata']) ? config['metadata'] : {}
  const target = `${String(metadata['namespace'] ?? '')}/${String(metadata['name'] ?? '')}; ` +
    `${kind.group}/${kind.version}, Kind=${kind.kind}`
  return errorWithoutReason(500, `failed to create typed patch object (${target}): ${reason}`)
}

/** Decodes a merged object like a request body: typed, with defaults. Throws 500 for a value of a wrong type. */
function decodeMerged(kind: Kind, route: ResourceRoute, merged: JsonObject, namespace: Json | undefined): ApiObject {
  try {
    const { object } = decodeByKind(kind, merged)
    setDefaults(kind, object, 'keep')
    object.metadata.name ??= route.name
    if (kind.namespaced) object.metadata.namespace ??= route.namespace
    return object
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    const type = `${kind.group}/${kind.version}, Kind=${kind.kind}`
    throw errorWithoutReason(
      500,
      `failed to convert new object (${String(namespace ?? '')}/${route.name}; ${type}) to proper version: ` +
        `unable to convert unstructured object to ${type}: ${error.message}`,
    )
  }
}
