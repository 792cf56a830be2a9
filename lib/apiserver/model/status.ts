/** API errors with the messages of kube-apiserver. */
import { invalidStatus } from '../../core/invalid_status.ts'
import { type JsonObject, MAX_VALUES, type Meta } from './json.ts'

/** One invalid field. */
export interface Cause {
  readonly reason: CauseReason
  readonly message: string
  readonly field: string
}

type FieldValue =
  | 'Required'
  | 'Invalid'
  | 'NotSupported'
  | 'Forbidden'
  | 'Duplicate'
  | 'TooLong'
  | 'TooMany'
  | 'TypeInvalid'
  | 'NotFound'

type CauseReason =
  | `FieldValue${FieldValue}`
  | 'FieldManagerConflict'
  | 'UnexpectedServerResponse'
  | 'ResourceVersionTooLarge'
  | 'InternalError'
  | 'NamespaceTerminating'

/** Thrown while a request is handled; becomes the Status body of the response. */
export class StatusError extends Error {
  override readonly name = 'StatusError'
  readonly code: number
  readonly reason: string
  readonly details: JsonObject | undefined
  /** `metadata` of the Status: holds the continue token of a 410. */
  readonly metadata: JsonObject

  constructor(code: number, reason: string, message: string, details?: JsonObject, metadata: JsonObject = {}) {
    super(message)
    this.code = code
    this.reason = reason
    this.details = details
    this.metadata = metadata
  }

  body(): JsonObject {
    const { code, reason, message, details, metadata } = this
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata,
      status: 'Failure',
      message,
      ...(reason && { reason }),
      ...(details && { details }),
      code,
    }
  }
}

/** The resource that an error names. */
export interface Named {
  readonly group: string
  readonly plural: string
  readonly kind: string
}

function qualified({ group, plural }: { readonly group: string; readonly plural: string }): string {
  return group ? `${plural}.${group}` : plural
}

/** Returns what a Status says of an object. */
export function detailsOf(
  { group, plural }: { readonly group: string; readonly plural: string },
  name: string,
): JsonObject {
  return { ...(name && { name }), ...(group && { group }), kind: plural }
}

export function notFound(of: Pick<Named, 'group' | 'plural'>, name: string): StatusError {
  return new StatusError(404, 'NotFound', `${qualified(of)} "${name}" not found`, detailsOf(of, name))
}

export function alreadyExists(of: Named, name: string, prefix = ''): StatusError {
  const message = `${prefix}${qualified(of)} "${name}" already exists`
  return new StatusError(409, 'AlreadyExists', message, detailsOf(of, name))
}

export function generateNameConflict(of: Named, name: string): StatusError {
  const message = `${
    qualified(of)
  } "${name}" already exists, the server was not able to generate a unique name for the object`
  return new StatusError(409, 'AlreadyExists', message, { ...detailsOf(of, name), retryAfterSeconds: 1 })
}

export function conflict(of: Pick<Named, 'group' | 'plural'>, name: string, reason: string): StatusError {
  const message = `Operation cannot be fulfilled on ${qualified(of)} "${name}": ${reason}`
  return new StatusError(409, 'Conflict', message, detailsOf(of, name))
}

export const MODIFIED_MESSAGE =
  'the object has been modified; please apply your changes to the latest version and try again'

export function badRequest(message: string): StatusError {
  return new StatusError(400, 'BadRequest', message)
}

export function forbidden(
  of: Pick<Named, 'group' | 'plural'>,
  name: string,
  reason: string,
  causes?: readonly Cause[],
): StatusError {
  const details: JsonObject = { ...detailsOf(of, name), ...(causes && { causes: causes.map(causeJson) }) }
  return new StatusError(403, 'Forbidden', `${qualified(of)}${name && ` "${name}"`} is forbidden: ${reason}`, details)
}

/** Returns the 422 error of an invalid object, with one cause per violated rule. */
export function invalid(of: Pick<Named, 'group' | 'kind'>, name: string, causes: readonly Cause[]): StatusError {
  const { message, details } = invalidStatus(of, name, causes)
  return new StatusError(422, 'Invalid', message, details as JsonObject)
}

function causeJson({ reason, message, field }: Cause): JsonObject {
  return { reason, message, field }
}

export function methodNotAllowed(): StatusError {
  return new StatusError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {})
}

/** The error of a path that does not exist below an API group. */
export function pathNotFound(): StatusError {
  return new StatusError(404, 'NotFound', 'the server could not find the requested resource', {})
}

/** The error of a method that a custom kind does not support. */
export function methodNotSupported(of: Pick<Named, 'group' | 'plural'>, verb: string): StatusError {
  const message = `${verb} is not supported on resources of kind "${qualified(of)}"`
  return new StatusError(405, 'MethodNotAllowed', message, detailsOf(of, ''))
}

export function gone(message: string, metadata: JsonObject = {}): StatusError {
  return new StatusError(410, 'Expired', message, undefined, metadata)
}

export function unsupportedMediaType(message: string): StatusError {
  return new StatusError(415, 'UnsupportedMediaType', message, {})
}

export function notAcceptable(message: string, details?: JsonObject): StatusError {
  return new StatusError(406, 'NotAcceptable', message, details)
}

export function tooLarge(limit: number): StatusError {
  return new StatusError(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${limit}`)
}

/** The error of a body or an object with too many fields and items: the server works on it in one turn. */
export function tooManyValues(): StatusError {
  const limit = `limit is ${MAX_VALUES} fields and items of the embedded API server`
  return new StatusError(413, 'RequestEntityTooLarge', `Request entity too large: ${limit}`)
}

/** Returns an error without a reason, as the real server sends for errors that it does not classify. */
export function errorWithoutReason(code: number, message: string): StatusError {
  return new StatusError(code, '', message)
}

export function internal(message: string): StatusError {
  const details: JsonObject = { causes: [{ message }] }
  return new StatusError(500, 'InternalError', `Internal error occurred: ${message}`, details)
}

/** Quotes a value as Go's field errors do. */
function quote(value: unknown): string {
  return JSON.stringify(value) ?? 'null'
}

/** The most faults that an answer names. A body of 3 MB can have a million, which take a minute and gigabytes. */
export const MAX_FAULTS = 1000
/** Ends a check that has found too many. */
export const TOO_MANY_FAULTS: Error = new Error('too many faults')
/** The last fault after these. */
export const MORE_FAULTS: Cause = {
  reason: 'FieldValueInvalid',
  field: '<nil>',
  message: `only the first ${MAX_FAULTS} faults are named`,
}

/** The faults that the check of an object has made; undefined while they do not count. Checks do not wait. */
export const counted: { faults: Cause[] | undefined } = { faults: undefined }

function noted(reason: CauseReason, field: string, message: string): Cause {
  const cause = { reason, field, message }
  if (counted.faults && counted.faults.push(cause) > MAX_FAULTS) throw TOO_MANY_FAULTS
  return cause
}

/** The faults of fields, in the words of apimachinery's `field` package. */
export const fault = {
  required: (field: string, detail = ''): Cause =>
    noted('FieldValueRequired', field, `Required value${detail && `: ${detail}`}`),
  invalid: (field: string, value: unknown, detail: string): Cause =>
    noted('FieldValueInvalid', field, `Invalid value: ${quote(value)}: ${detail}`),
  notSupported(field: string, value: unknown, supported: readonly string[]): Cause {
    const values = supported.map((each) => JSON.stringify(each)).join(', ')
    return noted('FieldValueNotSupported', field, `Unsupported value: ${quote(value)}: supported values: ${values}`)
  },
  notFound: (field: string, value: unknown): Cause => noted('FieldValueNotFound', field, `Not found: ${quote(value)}`),
  forbidden: (field: string, detail: string): Cause => noted('FieldValueForbidden', field, `Forbidden: ${detail}`),
  duplicate: (field: string, value: unknown): Cause =>
    noted('FieldValueDuplicate', field, `Duplicate value: ${quote(value)}`),
  tooLong: (field: string, max: number): Cause =>
    noted('FieldValueTooLong', field, `Too long: may not be more than ${max} bytes`),
  tooMany: (field: string, count: number, max: number): Cause =>
    noted('FieldValueTooMany', field, `Too many: ${count}: must have at most ${max} ${max === 1 ? 'item' : 'items'}`),
  typeInvalid: (field: string, value: unknown, detail: string): Cause =>
    noted('FieldValueTypeInvalid', field, `Invalid value: ${quote(value)}: ${detail}`),
}

/** The reason of a text that cannot be parsed. Go's names the character, which no client reads. */
export const NOT_JSON = 'it is not valid JSON'

/** Returns the fault of a changed field that cannot change. */
export function immutable(path: string, value: unknown): Cause {
  return fault.invalid(path, value, 'field is immutable')
}

type Place = Pick<Named, 'group' | 'plural'> & { readonly custom: boolean }

/** Returns the 409 error of the real server's storage for a failed precondition. */
export function storageConflict(kind: Place, meta: Meta, problem: string): StatusError {
  const place = kind.custom ? `${kind.group}/${kind.plural}` : kind.plural
  const key = `/registry/${place}/${meta.namespace ? `${meta.namespace}/` : ''}${meta.name}`
  const message =
    `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ${problem}`
  return conflict(kind, meta.name!, message)
}
