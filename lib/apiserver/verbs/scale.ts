/** Handles /scale: reads and sets the replicas of any scalable kind. */
import { type Context, fieldValidationOf, readObject, reportStrictFaults, strictFaults } from '../context/context.ts'
import { mediaType, parseBody, readApplyBody, readJsonBody } from '../wire/body.ts'
import { selectorText } from '../model/selectors.ts'
import {
  type ApiObject,
  at,
  clone,
  isObject,
  type Json,
  type JsonObject,
  type ManagedFieldsEntry,
  type Meta,
  putAt,
} from '../model/json.ts'
import { unregistered } from '../model/go_text.ts'
import type { Kind, ScalePaths } from '../model/kinds.ts'
import { jsonPatch, mergePatch } from '../patch/json_patch.ts'
import type { Call, ResourceRoute } from '../model/routes.ts'
import {
  badRequest,
  conflict,
  fault,
  invalid,
  methodNotAllowed,
  MODIFIED_MESSAGE,
  type StatusError,
  unsupportedMediaType,
} from '../model/status.ts'
import { mutated, placeOf, validated } from '../admission/admission.ts'
import { DecodeError, decodeTyped } from '../schema/decode.ts'
import { definition } from '../model/schema.ts'
import { checkUid, updateObject } from './update.ts'
import { applyManagedFields, checkApplyConfig, updateManagedFields, type Writer } from '../apply/managed_fields.ts'
import { typingOf } from '../apply/updater.ts'
import { APPLY, checkNameInUrl, checkWriteOptions, isDryRun, JSON_PATCH, MERGE, STRATEGIC, writerOf } from './write.ts'

const SCALE = { group: 'autoscaling', version: 'v1', kind: 'Scale' } as const

export function scale(context: Context, kind: Kind, paths: ScalePaths, route: ResourceRoute, call: Call): JsonObject {
  const object = readObject(context, kind, { ...route, subresource: '' })
  const now = scaleOf(object, paths)
  if (call.method === 'GET') return now
  if (call.method !== 'PUT' && call.method !== 'PATCH') throw methodNotAllowed()
  checkWriteOptions(call)
  const isApply = call.method === 'PATCH' && mediaType(call) === APPLY
  const writer = { ...writerOf(context, kind, route, call), subresource: 'scale' }
  const applied = isApply ? applyScale(kind, paths, object, now, writer, call) : undefined
  const given = applied?.scale ?? (call.method === 'PUT' ? readJsonBody(call, SCALE) : patched(now, call))
  if (!isObject(given)) throw badRequest('the body of the request must be a Scale')
  checkScale(context, given, route, call)
  const dryRun = isDryRun(call.query.getAll('dryRun'))
  const admission = {
    ...placeOf(kind, object),
    operation: 'UPDATE',
    subresource: 'scale',
    old: now as ApiObject,
    dryRun,
    objectKind: SCALE,
  } as const
  const scaled = { ...now, spec: {}, ...given, metadata: { ...now['metadata'] as Meta, ...given['metadata'] as Meta } }
  const wanted = mutated(context, { ...admission, object: scaled as unknown as ApiObject }, () => {})
  if (call.method === 'PUT') checkUid(wanted.metadata, object.metadata, kind)
  const version = at(wanted, 'metadata', 'resourceVersion')
  if (version && version !== object.metadata.resourceVersion) throw conflict(kind, route.name, MODIFIED_MESSAGE)
  const replicas = at(wanted, 'spec', 'replicas') ?? 0
  if (typeof replicas !== 'number') throw badRequest('spec.replicas must be an integer')
  // That of a custom kind is refused by its own field.
  if (replicas < 0 && !kind.custom) {
    throw invalid(
      { group: 'autoscaling', kind: 'Scale' },
      route.name,
      [fault.invalid('spec.replicas', replicas, 'must be greater than or equal to 0')],
    )
  }
  validated(context, { ...admission, object: wanted })
  const next = clone(object)
  putAt(next, paths.specReplicas, replicas)
  const entries = applied?.entries ?? scaleEntries(kind, paths, object, next, writer)
  const { object: written } = updateObject(context, kind, '', object, next, writer, dryRun, entries)
  return scaleOf(written, paths)
}

/** Returns the managedFields after a write to /scale. */
function scaleEntries(
  kind: Kind,
  { specReplicas }: ScalePaths,
  object: ApiObject,
  next: ApiObject,
  writer: Writer,
): ManagedFieldsEntry[] {
  const before = object.metadata.managedFields ?? []
  const path = specReplicas.map((name) => `f:${name}`)
  // A Scale has the entries that own the replicas; as for any object, none of them means that owners are not kept.
  if (!before.some(({ fieldsV1 }) => at(fieldsV1, ...path) !== undefined)) return before
  const entries = updateManagedFields(typingOf(kind, ''), object, object, next, writer) ?? []
  // A Scale omits zero replicas, so its writer does not own them.
  if (at(next, ...specReplicas) !== 0) return entries
  return entries.filter(({ manager, subresource }) => manager !== writer.manager || subresource !== 'scale')
}

const OWNED = { 'f:spec': { 'f:replicas': {} } }

/**
 * Applies a Scale. Its managers are those of the object that own the replicas, and those who own them afterwards are
 * managers of the object (apimachinery, util/managedfields/scalehandler.go). Throws 409 for conflicts.
 */
function applyScale(
  kind: Kind,
  { specReplicas }: ScalePaths,
  { metadata: { managedFields = [] } }: ApiObject,
  now: JsonObject,
  writer: Writer,
  call: Call,
): { readonly scale: JsonObject; readonly entries: ManagedFieldsEntry[] } {
  const path = specReplicas.map((name) => `f:${name}`)
  const owns = ({ fieldsV1 }: ManagedFieldsEntry): boolean => at(fieldsV1, ...path) !== undefined
  const config = readApplyBody(call)
  checkApplyConfig(config, { apiVersion: 'autoscaling/v1', kind: 'Scale' })
  const typing = { ...typingOf(kind, 'scale'), schema: definition('autoscaling.v1.Scale'), isBuiltin: true }
  const { object = now, managedFields: owners } = applyManagedFields(
    typing,
    now,
    managedFields.filter(owns).map((each) => ({ ...each, apiVersion: 'autoscaling/v1', fieldsV1: OWNED })),
    config,
    { ...writer, apiVersion: 'autoscaling/v1' },
    call.query.get('force') === 'true',
  )
  const isSame = (a: ManagedFieldsEntry, b: ManagedFieldsEntry): boolean =>
    a.manager === b.manager && a.operation === b.operation && a.subresource === b.subresource
  const left = owners.filter(({ fieldsV1 }) => at(fieldsV1, 'f:spec', 'f:replicas') !== undefined)
  const kept = managedFields.flatMap((each) => {
    // Also an apply that leaves them out keeps them, as on the real server.
    if (!owns(each) || owners.some((owner) => isSame(owner, each))) return [each]
    const fieldsV1 = withoutPath(each.fieldsV1 ?? {}, path)
    return fieldsV1 ? [{ ...each, fieldsV1 }] : []
  })
  const added = left.filter((owner) => !managedFields.some((each) => owns(each) && isSame(owner, each)))
  const nested = path.reduceRight<JsonObject>((fields, name) => ({ [name]: fields }), {})
  const entries = [
    ...added.map(({ time: _, ...each }) => ({ ...each, apiVersion: kind.apiVersion, fieldsV1: nested })),
    ...kept,
  ]
  const orderOf = ({ operation, time = '', manager }: ManagedFieldsEntry): string => `${operation} ${time} ${manager}`
  return { scale: object, entries: entries.sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1)) }
}

/** Returns fields without those at a path; undefined if none is left. */
function withoutPath(fields: JsonObject, [name = '', ...path]: readonly string[]): JsonObject | undefined {
  const { [name]: below, ...others } = fields
  const left = path.length > 0 && isObject(below) ? withoutPath(below, path) : undefined
  const next = left ? { ...others, [name]: left } : others
  return Object.keys(next).length > 0 ? next : undefined
}

/** Throws 400 if a Scale has the wrong types, unknown fields, or another name than the URL. */
function checkScale(context: Context, given: JsonObject, { name }: ResourceRoute, call: Call): void {
  const { apiVersion = 'autoscaling/v1', kind = 'Scale' } = given
  if (apiVersion !== 'autoscaling/v1' || kind !== 'Scale') {
    const version = String(apiVersion)
    const name = JSON.stringify(version.split('/').at(-1))
    const reason = unregistered(kind, version)
    throw badRequest(`${String(kind)} in version ${name} cannot be handled as a Scale: ${reason}`)
  }
  try {
    const { unknown } = decodeTyped(definition('autoscaling.v1.Scale'), given)
    const refuse = (list: string): StatusError =>
      badRequest(`Scale in version "v1" cannot be handled as a Scale: ${list}`)
    reportStrictFaults(strictFaults(unknown), fieldValidationOf(context, call), call, refuse)
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    if (call.method === 'PATCH') {
      throw invalid({ group: '', kind: '' }, '', [fault.invalid('patch', JSON.stringify(given), error.message)])
    }
    throw badRequest(`Scale in version "v1" cannot be handled as a Scale: ${error.message}`)
  }
  checkNameInUrl(at(given, 'metadata', 'name'), name)
}

function patched(now: JsonObject, call: Call): Json {
  const type = mediaType(call)
  const value = parseBody(call)
  if (type === JSON_PATCH) return jsonPatch(now, value)
  if (type === MERGE || type === STRATEGIC) return mergePatch(now, value)
  throw unsupportedMediaType(`the body of the request was in an unknown format - ${type}`)
}

/** A ReplicationController selects by labels alone. */
function isLabelMap(selector: Json | undefined): selector is JsonObject {
  return isObject(selector) && Object.values(selector).length > 0 &&
    Object.values(selector).every((value) => typeof value === 'string')
}

function scaleOf(object: ApiObject, { specReplicas, statusReplicas, selector }: ScalePaths): JsonObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata
  const found = selector && at(object, ...selector)
  const text = typeof found === 'string' ? found : selectorText(isLabelMap(found) ? { matchLabels: found } : found)
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, ...(namespace && { namespace }), uid, resourceVersion, creationTimestamp },
    spec: { ...(at(object, ...specReplicas) ? { replicas: at(object, ...specReplicas) } : {}) },
    status: { replicas: at(object, ...statusReplicas) ?? 0, ...(text && { selector: text }) },
  }
}
