/** Handles PATCH: selects one of four patch types by media type. */
import type { Backend } from '../backend.ts'
import { applyManagedFields, checkApplyConfig } from '../apply/managed_fields.ts'
import { listProblems } from '../apply/typed.ts'
import { mediaType, parseBody } from '../http/body.ts'
import { DecodeError, zeroValue } from '../schema/decode.ts'
import { decodeObject, fieldValidationOf, reportStrictFaults, setDefaults, strictFaults } from '../schema/incoming.ts'
import { type ApiObject, at, clone, isObject, type Json, type JsonObject } from '../json.ts'
import { apiVersionOf, type Kind } from '../kinds.ts'
import { ensureNamespace } from '../storage/objects.ts'
import { jsonPatch, mergePatch } from '../patch/json_patch.ts'
import { strategicPatch } from '../patch/strategic.ts'
import { type Call, flag, type ResourceRoute } from '../http/routes.ts'
import {
  badRequest,
  conflict,
  errorWithoutReason,
  fault,
  invalid,
  notFound,
  StatusError,
  unsupportedMediaType,
} from '../http/status.ts'
import {
  checkNamespace,
  createObject,
  isDryRun,
  liveObject,
  typingOf,
  updateObject,
  writerOf,
  type Written,
} from './write.ts'

const JSON_PATCH = 'application/json-patch+json'
const MERGE = 'application/merge-patch+json'
const STRATEGIC = 'application/strategic-merge-patch+json'
const APPLY = 'application/apply-patch+yaml'

export function patch(backend: Backend, kind: Kind, route: ResourceRoute, call: Call): Written {
  const type = mediaType(call)
  const supported = [JSON_PATCH, MERGE, ...(kind.custom ? [] : [STRATEGIC]), APPLY]
  if (!supported.includes(type)) {
    // For strategic merge on a custom kind the message differs from that for unknown media types.
    if (kind.custom && type === STRATEGIC) {
      throw new StatusError(
        415,
        'UnsupportedMediaType',
        `the body of the request was in an unknown format - accepted media types include: ${supported.join(', ')}`,
      )
    }
    throw unsupportedMediaType('415: Unsupported Media Type')
  }
  return type === APPLY ? apply(backend, kind, route, call) : patchObject(backend, kind, route, call, type)
}

function patchObject(backend: Backend, kind: Kind, route: ResourceRoute, call: Call, type: string): Written {
  if (flag(call.query, 'force')) {
    throw invalid(
      { group: 'meta.k8s.io', kind: 'PatchOptions' },
      '',
      [fault.forbidden('force', 'may not be specified for non-apply patch')],
    )
  }
  const { value, duplicates } = parsePatch(call)
  const old = liveObject(backend, kind, route)
  if (!old) throw notFound(kind, route.name)
  const patched = patchedJson(kind, old, value, type)
  if (!isObject(patched)) throw badRequest('the patched document is not an object')
  const { object, unknown } = decodeObject(kind, patched)
  reportStrictFaults(
    strictFaults(unknown, duplicates),
    fieldValidationOf(backend, call),
    call,
    (list) => invalid({ group: '', kind: '' }, '', [fault.invalid('patch', JSON.stringify(patched), list)]),
  )
  setDefaults(kind, object)
  checkIdentity(patched, object, kind, route)
  return updateObject(
    backend,
    kind,
    route.subresource,
    old,
    object,
    writerOf(backend, kind, route, call),
    isDryRun(call.query.getAll('dryRun')),
  )
}

function parsePatch(call: Call): ReturnType<typeof parseBody> {
  try {
    return parseBody(call)
  } catch (cause) {
    throw cause instanceof StatusError && cause.code === 400
      ? Object.assign(
        badRequest(`error decoding patch: ${cause.message.replace(/^.*json parse error: /, '')}`),
        { cause },
      )
      : cause
  }
}

function patchedJson(kind: Kind, old: ApiObject, value: Json, type: string): Json {
  if (type === JSON_PATCH) return jsonPatch(old, value)
  if (!isObject(value)) throw badRequest('error decoding patch: json: cannot unmarshal into a map')
  return type === MERGE ? mergePatch(old, value) : strategicPatch(kind.schema, old, value)
}

/** Throws if a patch changes the identity of the object. */
function checkIdentity(patched: JsonObject, object: ApiObject, kind: Kind, route: ResourceRoute): void {
  const { apiVersion, kind: given } = patched
  if (apiVersion !== undefined && apiVersion !== apiVersionOf(kind)) {
    throw badRequest(
      `the API version in the data (${String(apiVersion)}) does not match the expected API version (${
        apiVersionOf(kind)
      })`,
    )
  }
  if (given !== undefined && given !== kind.kind) {
    throw badRequest(
      `the object provided is unrecognized (must be of type ${kind.kind}): kind ${String(given)} does not match`,
    )
  }
  const { metadata } = object
  if (metadata.name !== undefined && metadata.name !== route.name) {
    throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${route.name})`)
  }
  if (metadata.name === undefined) throw badRequest('name must be provided')
  ensureNamespace(metadata, kind, route.namespace)
}

/** Performs a server-side apply. */
function apply(backend: Backend, kind: Kind, route: ResourceRoute, call: Call): Written {
  if (!call.query.get('fieldManager')) {
    throw invalid({ group: 'meta.k8s.io', kind: 'PatchOptions' }, '', [
      fault.required('fieldManager', 'is required for apply patch'),
    ])
  }
  const { value, duplicates } = parsePatch(call)
  if (!isObject(value)) throw badRequest('error decoding YAML: the configuration is not an object')
  checkApplyConfig(value, kind)
  const config = checkedConfig(backend, kind, route, call, value, duplicates)
  const writer = writerOf(backend, kind, route, call)
  const dryRun = isDryRun(call.query.getAll('dryRun'))
  const force = flag(call.query, 'force')
  const old = liveObject(backend, kind, route)
  const typing = typingOf(kind, route.subresource)
  if (!old) {
    if (route.subresource) throw notFound(kind, route.name)
    const uid = at(config, 'metadata', 'uid')
    if (uid) {
      throw conflict(
        kind,
        route.name,
        `uid mismatch: the provided object specified uid ${String(uid)}, and no existing object was found`,
      )
    }
    const live = kind.custom ? { apiVersion: apiVersionOf(kind), kind: kind.kind } : zeroValue(kind.schema)
    const applied = applyManagedFields(typing, live, undefined, config, writer, force)
    const object = decodeMerged(kind, route, applied.object ?? live)
    checkNamespace(backend, kind, object)
    return createObject(backend, kind, object, writer, dryRun, applied.managedFields)
  }
  const applied = applyManagedFields(typing, old, old.metadata.managedFields, config, writer, force)
  const object = decodeMerged(kind, route, applied.object ?? old)
  object.metadata.resourceVersion ??= old.metadata.resourceVersion!
  return updateObject(backend, kind, route.subresource, old, object, writer, dryRun, applied.managedFields)
}

/** Returns the configuration with name and namespace of the URL. Unknown fields are errors in every validation mode. */
function checkedConfig(
  backend: Backend,
  kind: Kind,
  route: ResourceRoute,
  call: Call,
  value: JsonObject,
  duplicates: readonly string[],
): JsonObject {
  const validation = fieldValidationOf(backend, call)
  const { unknown } = decodeObject(kind, value)
  if (unknown.length > 0) {
    throw typedPatchError(
      kind,
      value,
      unknown.map((path) => `.${path}: field not declared in schema`).join('\n'),
    )
  }
  reportStrictFaults(strictFaults([], duplicates), validation, call, (list) => badRequest(list))
  const problems = listProblems(kind.schema, value)
  if (problems.length > 0) {
    throw typedPatchError(
      kind,
      value,
      problems.length === 1 ? problems[0]! : `errors:\n${problems.map((each) => `  ${each}`).join('\n')}`,
    )
  }
  const config = clone(value)
  const metadata = isObject(config['metadata']) ? config['metadata'] : {}
  config['metadata'] = metadata
  if (metadata['name'] !== undefined && metadata['name'] !== route.name) {
    throw badRequest(
      `the name of the object (${String(metadata['name'])}) does not match the name on the URL (${route.name})`,
    )
  }
  metadata['name'] = route.name
  ensureNamespace(metadata, kind, route.namespace)
  return config
}

function typedPatchError(kind: Kind, config: JsonObject, reason: string): StatusError {
  const metadata = isObject(config['metadata']) ? config['metadata'] : {}
  const target = `${String(metadata['namespace'] ?? '')}/${String(metadata['name'] ?? '')}; ${
    apiVersionOf(kind)
  }, Kind=${kind.kind}`
  return errorWithoutReason(500, `failed to create typed patch object (${target}): ${reason}`)
}

/** Decodes a merged object like a request body: typed, with defaults. */
function decodeMerged(kind: Kind, route: ResourceRoute, merged: JsonObject): ApiObject {
  try {
    const { object } = decodeObject(kind, merged)
    setDefaults(kind, object, 'keep')
    object.metadata.name ??= route.name
    if (kind.namespaced) object.metadata.namespace ??= route.namespace
    return object
  } catch (error) {
    throw error instanceof DecodeError ? badRequest(error.message) : error
  }
}
