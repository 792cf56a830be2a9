/** Decodes request JSON to objects: type checks, unknown fields, pruning and defaults. */
import { applyDefaults } from '../../core/schema_defaults.ts'
import type { Backend, FieldValidation } from '../backend.ts'
import { DecodeError, decodeTyped } from './decode.ts'
import { type ApiObject, at, isObject, type Json, type JsonObject } from '../json.ts'
import { apiVersionOf, type Kind } from '../kinds.ts'
import type { Call } from '../http/routes.ts'
import { badRequest, fault, invalid, type StatusError } from '../http/status.ts'
import { prune } from '../crd/prune.ts'
import type { Schema } from './schema.ts'

/** Returns the `fieldValidation` mode of a request. Throws 422 for an unknown mode. */
export function fieldValidationOf(backend: Backend, call: Call): FieldValidation {
  const given = call.query.get('fieldValidation')
  if (!given) return backend.fieldValidation
  if (given === 'Ignore' || given === 'Warn' || given === 'Strict') return given
  const kind = call.method === 'POST' ? 'CreateOptions' : call.method === 'PUT' ? 'UpdateOptions' : 'PatchOptions'
  throw invalid({ group: 'meta.k8s.io', kind }, '', [
    fault.notSupported('fieldValidation', given, ['', 'Ignore', 'Strict', 'Warn']),
  ])
}

/** Returns the messages of strict decoding, in apimachinery's words. */
export function strictFaults(unknown: readonly string[], duplicates: readonly string[]): string[] {
  return [
    ...duplicates.map((path) => `duplicate field ${JSON.stringify(path)}`),
    ...[...unknown].sort().map((path) => `unknown field ${JSON.stringify(path)}`),
  ]
}

/** Reports strict faults by the validation mode: ignores them, adds warnings, or throws 400. */
export function reportStrictFaults(
  faults: readonly string[],
  validation: FieldValidation,
  call: Call,
  refuse: (list: string) => StatusError,
): void {
  if (faults.length === 0 || validation === 'Ignore') return
  if (validation === 'Strict') throw refuse(`strict decoding error: ${faults.join(', ')}`)
  call.warnings.push(...faults)
}

/** Decodes the object of a request body, with defaults. */
export function decodeBody(
  backend: Backend,
  kind: Kind,
  value: Json,
  duplicates: readonly string[],
  call: Call,
): ApiObject {
  checkIdentity(kind, value)
  const validation = fieldValidationOf(backend, call)
  const { object, unknown } = decodeObject(kind, value as JsonObject)
  reportStrictFaults(strictFaults(unknown, duplicates), validation, call, (list) => cannotHandle(kind, list))
  setDefaults(kind, object)
  return object
}

function cannotHandle(kind: Kind, reason: string): StatusError {
  return badRequest(
    `${kind.kind} in version ${JSON.stringify(kind.version)} cannot be handled as a ${kind.kind}: ${reason}`,
  )
}

/** Throws if the body is of a different kind than the URL. Built-in kinds may omit apiVersion and kind. */
function checkIdentity(kind: Kind, value: Json): void {
  if (!isObject(value)) {
    const type = Array.isArray(value) ? 'array' : typeof value
    throw badRequest(
      `couldn't get version/kind; json parse error: json: cannot unmarshal ${type} into Go value of type struct`,
    )
  }
  const { apiVersion, kind: given } = value
  const expected = apiVersionOf(kind)
  if (kind.custom) {
    const missing = given ? (apiVersion ? '' : 'apiVersion') : 'Kind'
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
    throw unregistered(kind, String(given ?? kind.kind), String(apiVersion))
  }
  if (given && given !== kind.kind) {
    if (kind.custom) {
      throw invalid(
        { group: kind.group, kind: String(given) },
        nameOf(value),
        [fault.invalid('kind', given, `must be ${kind.kind}`)],
      )
    }
    throw unregistered(kind, String(given), expected)
  }
}

function nameOf(value: JsonObject): string {
  return String(at(value, 'metadata', 'name') ?? '')
}

function unregistered(kind: Kind, given: string, apiVersion: string): StatusError {
  const reason = `no kind "${given}" is registered for version "${apiVersion}" in scheme "pkg/runtime/scheme.go:111"`
  return badRequest(
    `${given} in version ${JSON.stringify(apiVersion.split('/').pop())} cannot be handled as a ${kind.kind}: ${reason}`,
  )
}

const OBJECT_META: Schema = { $ref: 'meta.v1.ObjectMeta' }

/** Decodes a body by the schema of the kind. Returns the object and the paths of unknown fields. */
export function decodeObject(kind: Kind, value: JsonObject): { object: ApiObject; unknown: readonly string[] } {
  const { apiVersion: _apiVersion, kind: _kind, metadata = {}, ...rest } = value
  const identity = { apiVersion: apiVersionOf(kind), kind: kind.kind }
  try {
    if (!kind.custom) {
      const { object, unknown } = decodeTyped(kind.schema, { ...rest, metadata })
      return {
        object: keepEmptyManagedFields({ ...identity, metadata: {}, ...object } as ApiObject, metadata),
        unknown,
      }
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
    if (error instanceof DecodeError) throw kind.custom ? badRequest(error.message) : cannotHandle(kind, error.message)
    throw error
  }
}

/** Keeps an empty managedFields list of a built-in kind: it requests to clear them. */
function keepEmptyManagedFields(object: ApiObject, metadata: Json | undefined): ApiObject {
  const given = isObject(metadata) ? metadata['managedFields'] : undefined
  if (Array.isArray(given) && given.length === 0) object.metadata.managedFields = []
  return object
}

/** Sets the defaults of a kind, in place. `drop` removes nulls that are not valid values; an apply keeps them. */
export function setDefaults(kind: Kind, object: ApiObject, nulls: 'drop' | 'keep' = 'drop'): void {
  if (kind.custom) applyDefaults(kind.schema, object, nulls)
  else kind.rules.defaults?.(object)
}
