/** Reads the body of a create that stores nothing: a review, an eviction, a token request. */
import { updateManagedFields } from '../apply/managed_fields.ts'
import { typingOf } from '../apply/updater.ts'
import { type Context, decodeBody } from '../context/context.ts'
import { kindsOf } from '../model/kind_table.ts'
import { readJsonBody } from '../wire/body.ts'
import type { Call, ResourceRoute } from '../model/routes.ts'
import type { ApiObject } from '../model/json.ts'
import type { Kind } from '../model/kinds.ts'
import { zeroValue } from '../schema/decode.ts'
import { mutated, placeOf, validated } from '../admission/admission.ts'
import { ensureNamespace, isAdmitting, isDryRun, writerOf } from './write.ts'

/** The body of a subresource. */
interface BodyType {
  readonly group: string
  readonly version: string
  readonly kind: string
}

/** Returns the kind of a subresource's body, which no path serves by itself. */
export function bodyKind({ group, version, kind }: BodyType): Kind {
  const row = { kind, plural: `${kind.toLowerCase()}s`, verbs: [], stored: false } as const
  return kindsOf({ group, version, kinds: [row] })[0]!
}

/** Returns the object of a body. `defaults` sets default values, in place, before the managedFields are computed. */
export function readUnstored(
  context: Context,
  kind: Kind,
  route: ResourceRoute,
  call: Call,
  defaults: (object: ApiObject) => void = () => {},
): ApiObject {
  const value = readJsonBody(call, kind)
  const object = decodeBody(context, kind, value, call)
  if (kind.namespaced) ensureNamespace(object.metadata, kind, route.namespace)
  else delete object.metadata.namespace
  for (
    const name of ['creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'managedFields'] as const
  ) {
    delete object.metadata[name]
  }
  defaults(object)
  const writer = writerOf(context, kind, route, call)
  const entries = updateManagedFields(typingOf(kind, ''), undefined, zeroValue(kind.schema), object, writer)
  if (entries && entries.length > 0) object.metadata.managedFields = entries
  return object
}

export function isDryRunCall(call: Call): boolean {
  return isDryRun(call.query.getAll('dryRun'))
}

/** Returns the body of a subresource's create after the webhooks. */
export function admitted(
  context: Context,
  kind: Kind,
  route: ResourceRoute,
  { group, version, kind: name }: BodyType,
  object: ApiObject,
  dryRun: boolean,
): ApiObject {
  if (!isAdmitting(context, kind)) return object
  const admission = {
    ...placeOf(kind, { ...object, metadata: { name: route.name, namespace: route.namespace } }),
    operation: 'CREATE',
    subresource: route.subresource,
    old: undefined,
    dryRun,
    objectKind: { group, version, kind: name },
  } as const
  return validated(context, { ...admission, object: mutated(context, { ...admission, object }, () => {}) })
}
