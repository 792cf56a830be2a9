/** Handles /scale: reads and sets the replicas of any scalable kind, and renders them as a Table. */
import { type KindRequest, readObject, reportStrictFaults, strictFaults } from '../context/context.ts'
import { parseBody, readApplyBody, readJsonBody } from '../wire/body.ts'
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
import { ageColumn, type Column, NAME_COLUMN } from '../model/columns.ts'
import { tableOf, type TableOptions } from '../wire/table.ts'
import { unregistered } from '../model/go_text.ts'
import type { Kind, ScalePaths } from '../model/kinds.ts'
import { jsonPatch, mergePatch } from '../patch/json_patch.ts'
import type { Call } from '../model/routes.ts'
import {
  badRequest,
  conflict,
  fault,
  internal,
  invalid,
  methodNotAllowed,
  MODIFIED_MESSAGE,
  StatusError,
} from '../model/status.ts'
import { mutated, placeOf, validated } from '../admission/admission.ts'
import { DecodeError, decodeTyped } from '../schema/decode.ts'
import { definition } from '../model/schema.ts'
import { checkUid, updateObject } from './update.ts'
import {
  applyManagedFields,
  checkApplyConfig,
  inOrder,
  updateManagedFields,
  type Writer,
} from '../apply/managed_fields.ts'
import { typingOf } from '../apply/updater.ts'
import { patchType } from './patch.ts'
import { APPLY, checkNameInUrl, JSON_PATCH, writeOf } from './write.ts'

const SCALE = { group: 'autoscaling', version: 'v1', kind: 'Scale' } as const

export function scale(request: KindRequest, paths: ScalePaths): JsonObject {
  const { context, kind, route, call } = request
  if (call.method === 'GET') {
    const object = readObject(request)
    if (statesNone(kind, paths, object)) throw internal(`${replicasField(paths)} does not exist`)
    return scaleOf(object, paths)
  }
  if (call.method !== 'PUT' && call.method !== 'PATCH') throw methodNotAllowed()
  const write = writeOf(request)
  const { writer, dryRun } = write
  // What does not depend on the object is checked first.
  const type = call.method === 'PATCH' ? patchType(kind, call) : undefined
  const put = type === undefined ? checkedScale(request, readJsonBody(call, SCALE)) : undefined
  const object = readObject(request)
  const now = scaleOf(object, paths)
  const applied = type === APPLY ? applyScale(kind, paths, object, now, writer, call) : undefined
  const given = put ?? checkedScale(request, applied?.scale ?? patched(now, call, type!))
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
  if (put) checkUid(wanted.metadata, object.metadata, kind)
  const version = at(wanted, 'metadata', 'resourceVersion')
  const stated = at(wanted, 'spec', 'replicas')
  if (!put && stated === undefined && statesNone(kind, paths, object)) {
    throw badRequest(`${replicasField(paths)} cannot be empty`)
  }
  const replicas = stated ?? 0
  if (typeof replicas !== 'number') throw badRequest('spec.replicas must be an integer')
  // That of a custom kind is refused by its own field.
  if (replicas < 0 && !kind.custom) {
    const problem = fault.invalid('spec.replicas', replicas, 'must be greater than or equal to 0')
    throw invalid(SCALE, route.name, [problem])
  }
  if (version && version !== object.metadata.resourceVersion) throw conflict(kind, route.name, MODIFIED_MESSAGE)
  validated(context, { ...admission, object: wanted })
  const next = clone(object)
  putAt(next, paths.specReplicas, replicas)
  const managedFields = applied?.entries ?? scaleEntries(kind, paths, object, next, writer)
  const { object: written } = updateObject({ ...write, subresource: '', managedFields }, object, next)
  return scaleOf(written, paths)
}

function ownsReplicas({ specReplicas }: ScalePaths, { fieldsV1 }: ManagedFieldsEntry): boolean {
  return at(fieldsV1, ...specReplicas.map((name) => `f:${name}`)) !== undefined
}

function scaleEntries(
  kind: Kind,
  paths: ScalePaths,
  object: ApiObject,
  next: ApiObject,
  writer: Writer,
): ManagedFieldsEntry[] {
  const before = object.metadata.managedFields ?? []
  // A Scale has the entries that own the replicas; as for any object, none of them means that owners are not kept.
  if (!before.some((each) => ownsReplicas(paths, each))) return before
  const entries = updateManagedFields(typingOf(kind, ''), object, object, next, writer) ?? []
  // A Scale omits zero replicas, so its writer does not own them.
  if (at(next, ...paths.specReplicas) !== 0) return entries
  return entries.filter(({ manager, subresource }) => manager !== writer.manager || subresource !== 'scale')
}

const OWNED = { 'f:spec': { 'f:replicas': {} } }

/**
 * Applies a Scale. Its managers are those of the object that own the replicas, and those who own them afterwards are
 * managers of the object (apimachinery, util/managedfields/scalehandler.go). Throws 409 for conflicts. The real server
 * cannot convert a custom object to a Scale: it throws 500 if the replicas have no owner, if the manager has applied
 * them before, and if they change.
 */
function applyScale(
  kind: Kind,
  paths: ScalePaths,
  { metadata: { managedFields = [] } }: ApiObject,
  now: JsonObject,
  writer: Writer,
  call: Call,
): { readonly scale: JsonObject; readonly entries: ManagedFieldsEntry[] } {
  const apiVersion = 'autoscaling/v1'
  const owns = (each: ManagedFieldsEntry): boolean => ownsReplicas(paths, each)
  const config = readApplyBody(call)
  checkApplyConfig(config, { apiVersion, kind: 'Scale' })
  const before = managedFields.filter(owns)
  const isOwner = before.some(({ manager, operation }) => manager === writer.manager && operation === 'Apply')
  const inconvertible = (): StatusError =>
    new StatusError(500, '', `request to convert CR to an invalid group/version: ${apiVersion}`)
  if (kind.custom && (isOwner || before.length === 0)) throw inconvertible()
  const { object = now, managedFields: owners } = applyManagedFields(
    { ...typingOf(kind, 'scale'), schema: definition('autoscaling.v1.Scale'), isBuiltin: true, isKnown: () => true },
    now,
    before.map((each) => ({ ...each, apiVersion, fieldsV1: OWNED })),
    config,
    { ...writer, apiVersion },
    call.query.get('force') === 'true',
  )
  if (kind.custom && object !== now) throw inconvertible()
  const isIn = (list: readonly ManagedFieldsEntry[], { manager, operation, subresource }: ManagedFieldsEntry) =>
    list.some((each) => each.manager === manager && each.operation === operation && each.subresource === subresource)
  const path = paths.specReplicas.map((name) => `f:${name}`)
  const kept = managedFields.flatMap((each) => {
    // Also an apply that leaves them out keeps them, as on the real server.
    if (!owns(each) || isIn(owners, each)) return [each]
    const fieldsV1 = withoutPath(each.fieldsV1 ?? {}, path)
    return fieldsV1 ? [{ ...each, fieldsV1 }] : []
  })
  const fieldsV1 = path.reduceRight<JsonObject>((fields, name) => ({ [name]: fields }), {})
  const added = owners.filter((owner) =>
    at(owner.fieldsV1, 'f:spec', 'f:replicas') !== undefined && !isIn(before, owner)
  )
  const entries = [
    ...added.map(({ time: _, ...each }) => ({ ...each, apiVersion: kind.apiVersion, fieldsV1 })),
    ...kept,
  ]
  return { scale: object, entries: inOrder(entries) }
}

function withoutPath(fields: JsonObject, [name = '', ...path]: readonly string[]): JsonObject | undefined {
  const { [name]: below, ...others } = fields
  const left = path.length > 0 && isObject(below) ? withoutPath(below, path) : undefined
  const next = left ? { ...others, [name]: left } : others
  return Object.keys(next).length > 0 ? next : undefined
}

function statesNone({ custom }: Kind, { specReplicas }: ScalePaths, object: ApiObject): boolean {
  return custom && at(object, ...specReplicas) === undefined
}

function replicasField({ specReplicas }: ScalePaths): string {
  return `the spec replicas field ".${specReplicas.join('.')}"`
}

/** Returns a Scale. Throws 400, or 422 for a patch, for wrong types, unknown fields, or another name than the URL. */
function checkedScale(request: KindRequest, given: Json): JsonObject {
  if (!isObject(given)) throw badRequest('the body of the request must be a Scale')
  const { apiVersion = 'autoscaling/v1', kind = 'Scale' } = given
  const isPut = request.call.method === 'PUT'
  const refuse = (reason: string, of: Json = 'Scale', version = 'v1'): StatusError =>
    isPut
      ? badRequest(`${String(of)} in version ${JSON.stringify(version)} cannot be handled as a Scale: ${reason}`)
      : invalid({ group: '', kind: '' }, '', [fault.invalid('patch', JSON.stringify(given), reason)])
  if (apiVersion !== 'autoscaling/v1' || kind !== 'Scale') {
    throw refuse(unregistered(kind, String(apiVersion)), kind, String(apiVersion).split('/').at(-1))
  }
  try {
    const { unknown } = decodeTyped(definition('autoscaling.v1.Scale'), given)
    reportStrictFaults(request, strictFaults(unknown), refuse)
  } catch (error) {
    throw error instanceof DecodeError ? refuse(error.message) : error
  }
  checkNameInUrl(at(given, 'metadata', 'name'), request.route.name)
  return given
}

function patched(now: JsonObject, call: Call, type: string): Json {
  const value = parseBody(call)
  return type === JSON_PATCH ? jsonPatch(now, value) : mergePatch(now, value)
}

function scaleOf(object: ApiObject, { specReplicas, statusReplicas, selector }: ScalePaths): JsonObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata
  const found = selector && at(object, ...selector)
  const values = isObject(found) ? Object.values(found) : []
  // A ReplicationController selects by labels alone.
  const isLabelMap = values.length > 0 && values.every((value) => typeof value === 'string')
  const text = typeof found === 'string' ? found : selectorText(isLabelMap ? { matchLabels: found! } : found)
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, ...(namespace && { namespace }), uid, resourceVersion, creationTimestamp },
    spec: at(object, ...specReplicas) ? { replicas: at(object, ...specReplicas) } : {},
    status: { replicas: at(object, ...statusReplicas) ?? 0, ...(text && { selector: text }) },
  }
}

const BUILTIN: readonly Column[] = [
  { ...NAME_COLUMN, format: '' },
  ...countColumns(
    'replicas is the desired number of instances for the scaled object.',
    'replicas is the actual number of observed instances of the scaled object.',
  ),
  { ...ageColumn(), type: 'string' },
]

/** The columns of custom kinds differ in types and descriptions. */
const CUSTOM: readonly Column[] = [
  NAME_COLUMN,
  ...countColumns('Number of desired replicas', 'Number of actual replicas'),
  ageColumn(),
]

function countColumns(desired: string, available: string): readonly Column[] {
  return [['Desired', 'spec', desired], ['Available', 'status', available]].map(([name, part, description]) => ({
    ...{ name: name!, type: 'integer', description: description! },
    value: (scaled) => (at(scaled, part!, 'replicas') ?? 0) as Json,
  }))
}

export function scaleTable(scaled: JsonObject, isCustom: boolean, options: TableOptions): JsonObject {
  const object = scaled as unknown as ApiObject
  const metadata = { resourceVersion: object.metadata.resourceVersion }
  return tableOf({ columns: isCustom ? CUSTOM : BUILTIN }, [object], metadata, options)
}
