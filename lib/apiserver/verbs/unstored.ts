/** Reads the body of a create that stores nothing: a review, an eviction, a token request. */
import { updateManagedFields } from '../apply/managed_fields.ts'
import { typingOf } from '../apply/updater.ts'
import { type KindRequest, readBody } from '../context/context.ts'
import { kindsOf } from '../model/kind_table.ts'
import type { ApiObject } from '../model/json.ts'
import type { Kind } from '../model/kinds.ts'
import { zeroValue } from '../schema/decode.ts'
import { mutated, placeOf, validated } from '../admission/admission.ts'
import { ensureNamespace, isAdmitting, isDryRun, setManagedFields, writeOf } from './write.ts'

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
export function readUnstored(request: KindRequest, defaults: (object: ApiObject) => void = () => {}): ApiObject {
  const { kind, route } = request
  const { writer } = writeOf(request)
  const object = readBody(request)
  const { metadata } = object
  ensureNamespace(metadata, kind, route.namespace)
  for (
    const name of ['creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'managedFields'] as const
  ) {
    delete metadata[name]
  }
  defaults(object)
  const zero = zeroValue(kind.schema)
  setManagedFields(object, updateManagedFields(typingOf(kind, ''), undefined, zero, object, writer))
  return object
}

/** Returns the body of a subresource's create after the webhooks. */
export function admitUnstored(
  { context, kind, route, call }: KindRequest,
  { group, version, kind: name }: BodyType,
  object: ApiObject,
): ApiObject {
  if (!isAdmitting(context, kind)) return object
  const admission = {
    ...placeOf(kind, { ...object, metadata: { name: route.name, namespace: route.namespace } }),
    operation: 'CREATE',
    subresource: route.subresource,
    old: undefined,
    dryRun: isDryRun(call),
    objectKind: { group, version, kind: name },
  } as const
  return validated(context, { ...admission, object: mutated(context, { ...admission, object }, () => {}) })
}
