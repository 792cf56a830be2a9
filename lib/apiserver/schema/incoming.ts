/** From a request's JSON to an object of a kind: type checks, unknown fields, pruning and defaults. */
import type { Backend, FieldValidation } from '../backend.ts'
import { DecodeError, decodeTyped } from './decode.ts'
import { type ApiObject, at, isObject, type Json, type JsonObject } from '../json.ts'
import { apiVersionOf, type Kind } from '../kinds.ts'
import type { Call } from '../http/routes.ts'
import { badRequest, fault, invalid, type StatusError } from '../http/status.ts'
import { applyDefaults } from '../crd/defaults.ts'
import { prune } from '../crd/prune.ts'
import type { Schema } from './schema.ts'

/** The `fieldValidation` of a request. */
export function fieldValidationOf(backend: Backend, call: Call): FieldValidation {
  const stated = call.query.get('fieldValidation')
  if (!stated) return backend.fieldValidation
  if (stated === 'Ignore' || stated === 'Warn' || stated === 'Strict') return stated
  const kind = call.method === 'POST' ? 'CreateOptions' : call.method === 'PUT' ? 'UpdateOptions' : 'PatchOptions'
  throw invalid({ group: 'meta.k8s.io', kind }, '', [
    fault.notSupported('fieldValidation', stated, ['', 'Ignore', 'Strict', 'Warn']),
  ])
}

/** What a strict reading found, in the words of apimachinery. */
export function strictFaults(unknown: readonly string[], duplicates: readonly string[]): string[] {
  return [
    ...duplicates.map((path) => `duplicate field ${JSON.stringify(path)}`),
    ...[...unknown].sort().map((path) => `unknown field ${JSON.stringify(path)}`),
  ]
}

/** Answers strict faults as the request asks: not at all, as warnings, or with 400. */
export function report(
  faults: readonly string[],
  validation: FieldValidation,
  call: Call,
  refuse: (list: string) => StatusError,
): void {
  if (faults.length === 0 || validation === 'Ignore') return
  if (validation === 'Strict') throw refuse(`strict decoding error: ${faults.join(', ')}`)
  call.warnings.push(...faults)
}

/** An object read from a body, in the form of `kind`, with defaults. */
export function readObjectOf(
  backend: Backend,
  kind: Kind,
  value: Json,
  duplicates: readonly string[],
  call: Call,
): ApiObject {
  checkIdentity(kind, value)
  const validation = fieldValidationOf(backend, call)
  const { object, unknown } = place(kind, value as JsonObject)
  report(strictFaults(unknown, duplicates), validation, call, (list) => unhandled(kind, list))
  fillIn(kind, object)
  return object
}

function unhandled(kind: Kind, why: string): StatusError {
  return badRequest(
    `${kind.kind} in version ${JSON.stringify(kind.version)} cannot be handled as a ${kind.kind}: ${why}`,
  )
}

/** Refuses a body that is of another kind than the URL. A built-in kind may leave its names out. */
function checkIdentity(kind: Kind, value: Json): void {
  if (!isObject(value)) {
    const type = Array.isArray(value) ? 'array' : typeof value
    throw badRequest(
      `couldn't get version/kind; json parse error: json: cannot unmarshal ${type} into Go value of type struct`,
    )
  }
  const { apiVersion, kind: stated } = value
  const expected = apiVersionOf(kind)
  if (kind.custom) {
    const missing = stated ? (apiVersion ? '' : 'apiVersion') : 'Kind'
    const text = JSON.stringify(value)
    if (missing) {
      throw badRequest(
        `the object provided is unrecognized (must be of type ${kind.kind}): Object '${missing}' is missing in '${text}' (${text})`,
      )
    }
  }
  if (apiVersion && apiVersion !== expected) {
    if (kind.custom) {
      throw badRequest(
        `the API version in the data (${String(apiVersion)}) does not match the expected API version (${expected})`,
      )
    }
    throw unregistered(kind, String(stated ?? kind.kind), String(apiVersion))
  }
  if (stated && stated !== kind.kind) {
    if (kind.custom) {
      throw invalid(
        { group: kind.group, kind: String(stated) },
        nameIn(value),
        [fault.invalid('kind', stated, `must be ${kind.kind}`)],
      )
    }
    throw unregistered(kind, String(stated), expected)
  }
}

function nameIn(value: JsonObject): string {
  return String(at(value, 'metadata', 'name') ?? '')
}

function unregistered(kind: Kind, stated: string, apiVersion: string): StatusError {
  const why = `no kind "${stated}" is registered for version "${apiVersion}" in scheme "pkg/runtime/scheme.go:111"`
  return badRequest(
    `${stated} in version ${JSON.stringify(apiVersion.split('/').pop())} cannot be handled as a ${kind.kind}: ${why}`,
  )
}

const OBJECT_META: Schema = { $ref: 'meta.v1.ObjectMeta' }

/** The fields of a body in their places: those that the kind has. */
export function place(kind: Kind, value: JsonObject): { object: ApiObject; unknown: readonly string[] } {
  const { apiVersion: _apiVersion, kind: _kind, metadata = {}, ...rest } = value
  const identity = { apiVersion: apiVersionOf(kind), kind: kind.kind }
  try {
    if (!kind.custom) {
      const { object, unknown } = decodeTyped(kind.schema, { ...rest, metadata })
      return { object: withReset({ ...identity, metadata: {}, ...object } as ApiObject, metadata), unknown }
    }
    if (metadata !== null && !isObject(metadata)) {
      throw new DecodeError(
        `json: cannot unmarshal ${typeof metadata} into Go struct field .metadata of type v1.ObjectMeta`,
      )
    }
    const meta = decodeTyped(OBJECT_META, metadata ?? {}, 'metadata')
    const pruned = prune(kind.schema, rest)
    const object = { ...identity, metadata: meta.object, ...pruned.object } as ApiObject
    return { object, unknown: [...pruned.unknown, ...meta.unknown] }
  } catch (error) {
    if (error instanceof DecodeError) throw kind.custom ? badRequest(error.message) : unhandled(kind, error.message)
    throw error
  }
}

/** In a built-in kind an empty list of managedFields is a wish, to have them erased: it must not vanish as others do. */
function withReset(object: ApiObject, metadata: Json | undefined): ApiObject {
  const stated = isObject(metadata) ? metadata['managedFields'] : undefined
  if (Array.isArray(stated) && stated.length === 0) object.metadata.managedFields = []
  return object
}

/** Fills in the defaults of a kind, in place. Nulls that mean nothing are dropped, but not those that were applied. */
export function fillIn(kind: Kind, object: ApiObject, nulls: 'drop' | 'keep' = 'drop'): void {
  if (kind.custom) applyDefaults(kind.schema, object, nulls)
  else kind.rules.defaults?.(object)
}
