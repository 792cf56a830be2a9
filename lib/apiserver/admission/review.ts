/** Builds AdmissionReviews, and checks the responses. */
import { type ApiObject, isObject, type Json, type JsonObject } from '../model/json.ts'
import { wrongType } from '../model/go_text.ts'
import type { Kind } from '../model/kinds.ts'
import { type User, userInfo } from '../model/user.ts'
import type { Call } from '../model/routes.ts'
import { StatusError } from '../model/status.ts'
import { CallError } from '../webhooks/call.ts'

/** The request that a webhook admits. */
export interface Admission {
  readonly operation: 'CONNECT' | 'CREATE' | 'UPDATE' | 'DELETE'
  /** The kind of the URL. */
  readonly kind: Kind
  /** Empty for the object itself. */
  readonly subresource: string
  /** Empty for cluster-scoped kinds; for a Namespace, its own name. */
  readonly namespace: string
  /** Empty for a generated name, and for the deletion of a collection. */
  readonly name: string
  /** Undefined for a deletion. */
  readonly object: ApiObject | undefined
  /** Undefined for a creation. */
  readonly old: ApiObject | undefined
  readonly dryRun: boolean
  /** The kind of `object` and `old`, if it is not `kind`: the Scale of a subresource. */
  readonly objectKind?: GroupVersionKind
}

interface GroupVersionKind {
  readonly group: string
  readonly version: string
  readonly kind: string
}

/** Returns the review of an admission for a webhook that is called with `target`, which may be an equivalent kind. */
export function admissionReview(
  uid: string,
  admission: Admission,
  target: Kind,
  object: ApiObject | undefined,
  old: ApiObject | undefined,
  options: JsonObject | null,
  user: User,
): JsonObject {
  const { kind, objectKind, subresource, name, namespace, operation, dryRun } = admission
  return {
    kind: 'AdmissionReview',
    apiVersion: 'admission.k8s.io/v1',
    request: {
      uid,
      kind: kindJson(objectKind ?? target),
      resource: resourceJson(target),
      ...(subresource && { subResource: subresource }),
      requestKind: kindJson(objectKind ?? kind),
      requestResource: resourceJson(kind),
      ...(subresource && { requestSubResource: subresource }),
      ...(name && { name }),
      ...(namespace && { namespace }),
      operation,
      userInfo: userInfo(user),
      object: object ?? null,
      oldObject: old ?? null,
      dryRun,
      options,
    },
  }
}

function kindJson({ group, version, kind }: GroupVersionKind): JsonObject {
  return { group, version, kind }
}

function resourceJson({ group, version, plural }: Kind): JsonObject {
  return { group, version, resource: plural }
}

/** Returns the options of a request, as a review has them. */
export function reviewOptions({ operation, dryRun }: Admission, call: Call, body: JsonObject): JsonObject | null {
  if (operation === 'CONNECT') return null
  const names = { CREATE: 'CreateOptions', UPDATE: 'UpdateOptions', DELETE: 'DeleteOptions' }
  const fields = operation === 'DELETE' ? DELETE_FIELDS : WRITE_FIELDS
  const options: JsonObject = { kind: names[operation], apiVersion: 'meta.k8s.io/v1' }
  for (const field of fields) {
    const value = operation === 'DELETE' ? body[field] ?? call.query.get(field) : call.query.get(field)
    if (value === null || value === undefined || value === '') continue
    options[field] = field === 'gracePeriodSeconds' ? Number(value) : value
  }
  if (dryRun) options['dryRun'] = ['All']
  return options
}

const WRITE_FIELDS: readonly string[] = ['fieldManager', 'fieldValidation']
const DELETE_FIELDS: readonly string[] = [
  'gracePeriodSeconds',
  'preconditions',
  'orphanDependents',
  'propagationPolicy',
]

/** The checked response of a review. */
export interface AdmissionResponse {
  readonly allowed: boolean
  readonly status: JsonObject | undefined
  readonly warnings: readonly string[]
  readonly patch: string | undefined
  readonly patchType: string | undefined
}

/**
 * Returns the response of a review.
 *
 * @throws CallError if it is no AdmissionReview, or breaks a rule.
 */
export function admissionResponse(review: JsonObject, uid: string, mutating: boolean): AdmissionResponse {
  const { apiVersion, kind, response } = review
  if (apiVersion !== 'admission.k8s.io/v1' || kind !== 'AdmissionReview') {
    const got = `${String(apiVersion ?? '')}, Kind=${String(kind ?? '')}`
    throw invalidResponse(`expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got ${got}`)
  }
  if (!isObject(response)) throw invalidResponse('webhook response was absent')
  for (const [field, type] of [['allowed', 'boolean'], ['patch', 'string'], ['patchType', 'string']] as const) {
    const value = response[field] ?? undefined
    if (value !== undefined && typeof value !== type) throw invalidResponse(wrongType(`response.${field}`, value, type))
  }
  const text = (field: string): string | undefined => (response[field] ?? undefined) as string | undefined
  const allowed = response['allowed'] === true
  const status = isObject(response['status']) ? response['status'] : undefined
  const patch = decodePatch(text('patch') ?? '')
  const patchType = text('patchType')
  if (response['uid'] !== uid) {
    throw invalidResponse(`expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(response['uid'] ?? '')}`)
  }
  if (!mutating && (patch || patchType !== undefined)) {
    throw invalidResponse('validating webhook may not return response.patch')
  }
  if (!patch !== !patchType) {
    throw invalidResponse('webhook returned one of response.patch and response.patchType without the other')
  }
  return { allowed, status, warnings: warningsOf(response['warnings']), patch: patch || undefined, patchType }
}

function invalidResponse(reason: string, options?: ErrorOptions): CallError {
  return new CallError(`received invalid webhook response: ${reason}`, options)
}

/** Decodes the patch, which is base64 as every Go byte slice. */
function decodePatch(patch: string): string {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(patch), (char) => char.charCodeAt(0)))
  } catch (cause) {
    throw invalidResponse('response.patch is not base64', { cause })
  }
}

/** Returns the warnings that fit into a header: an empty one, and one with control characters, are dropped. */
function warningsOf(value: Json | undefined): readonly string[] {
  const texts = Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : []
  return texts.filter((each) => each !== '' && !/\p{Cc}/u.test(each))
}

/** Returns the error of a denied request: the webhook's status, with at least 400 as its code. */
export function denial(webhook: string, status: JsonObject = {}): StatusError {
  const text = (field: string): string => typeof status[field] === 'string' ? status[field] : ''
  const code = typeof status['code'] === 'number' && status['code'] >= 400 ? status['code'] : 400
  const reason = text('message') || text('reason')
  const denied = `admission webhook ${JSON.stringify(webhook)} denied the request`
  const message = reason ? `${denied}: ${reason}` : `${denied} without explanation`
  const details = isObject(status['details']) ? status['details'] : undefined
  return new StatusError(code, text('reason'), message, details)
}
