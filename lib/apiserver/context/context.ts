/** What every verb works on: stored objects in the version of a kind, and bodies decoded as objects of it. */
import type { Clock } from '../../async/clock.ts'
import { applyDefaults } from '../../core/schema_defaults.ts'
import type { Log } from '../../observe/log.ts'
import type { Access } from '../access/access.ts'
import { type ApiObject, at, instant, isObject, type Json, type JsonObject, jsonOf } from '../model/json.ts'
import { jsonType, wrongType } from '../model/go_text.ts'
import type { Kind } from '../model/kinds.ts'
import type { Call, Kinds, ResourceRoute } from '../model/routes.ts'
import type { Schema } from '../model/schema.ts'
import {
  badRequest,
  errorWithoutReason,
  fault,
  invalid,
  MAX_FAULTS,
  notFound,
  type StatusError,
} from '../model/status.ts'
import { DecodeError, decodeTyped } from '../schema/decode.ts'
import { prune } from '../schema/prune.ts'
import type { Store } from '../storage/store.ts'
import type { Webhooks } from '../webhooks/session.ts'
import { readJsonBody } from '../wire/body.ts'

export interface Context {
  readonly store: Store
  readonly kinds: Kinds
  readonly clock: Clock
  readonly log: Log
  readonly random: () => number
  readonly webhooks: Webhooks
  readonly access: Access
  /** The mode of requests without a `fieldValidation` parameter. */
  readonly fieldValidation: FieldValidation
  /** Whether watches have no bookmarks and no timeouts. */
  readonly endlessWatches: boolean
  /** Whether a create keeps the status and the metadata that a server sets. */
  keepsStated(): boolean
  /** Returns the log of a container of a pod; see the option of the server. */
  readonly podLog: PodLog | undefined
  /** Called after every write: registers and removes custom kinds, and empties deleted namespaces. */
  afterWrite(kind: Kind, object: ApiObject, type: 'put' | 'removed'): void
  /** Ends the watches of a kind: `storage` is its id in the store. */
  endWatches(storage: string): void
}

/** A request for a kind, as every verb gets it. */
export interface KindRequest {
  readonly context: Context
  readonly kind: Kind
  readonly route: ResourceRoute
  readonly call: Call
}

/** A line of a container's log. */
export interface LogLine {
  readonly atMs: number
  readonly text: string
}

/**
 * Returns the lines of a container's log. Undefined: nothing runs the pod. `follow`: the request waits for later lines,
 * and `more` is to be called when there are some, until the signal is aborted. Changes of the pod need no call.
 */
export type PodLog = (
  pod: ApiObject,
  container: string,
  follow?: { readonly signal: AbortSignal; more(): void },
) => readonly LogLine[] | undefined

/** What happens to unknown fields. */
export type FieldValidation = 'Ignore' | 'Warn' | 'Strict'

export function nowIso(context: Context): string {
  return instant(context.clock.now())
}

/** Returns the store key of an object: `namespace/name`, or `name` for cluster-scoped kinds. */
export function storeKey(kind: Kind, namespace: string, name: string): string {
  return kind.namespaced ? `${namespace}/${name}` : name
}

/** Converts a stored object to `kind`'s version. */
export function fromStored(kind: Kind, stored: ApiObject): ApiObject {
  if (kind.rules.fromStored) return kind.rules.fromStored(stored)
  const apiVersion = kind.apiVersion
  return stored.apiVersion === apiVersion ? stored : { ...stored, apiVersion }
}

/** Converts an object of `kind`'s version to its storage version. */
export function toStored(kind: Kind, object: ApiObject): ApiObject {
  if (kind.rules.toStored) return kind.rules.toStored(object)
  return object.apiVersion === kind.storage.apiVersion ? object : { ...object, apiVersion: kind.storage.apiVersion }
}

/** Returns the requested object in the requested version, if it exists. */
export function findObject({ context, kind, route }: Omit<KindRequest, 'call'>): ApiObject | undefined {
  const stored = context.store.get(kind.storage.id, storeKey(kind, route.namespace, route.name))
  return stored && fromStored(kind, stored)
}

/** Like {@link findObject}, but throws 404 if it does not exist. */
export function readObject(request: Omit<KindRequest, 'call'>): ApiObject {
  const object = findObject(request)
  if (!object) throw notFound(request.kind, request.route.name)
  return object
}

/** The limit of etcd for a request, which holds one object. */
const MAX_BYTES = 1.5 * 2 ** 20

/** Throws 500 as etcd refuses an object that is too large. Only a request with a large body can make one. */
function checkSize({ webhooks }: Context, object: ApiObject): void {
  if ((webhooks.current?.call?.body?.length ?? 0) < MAX_BYTES / 8) return
  if (new TextEncoder().encode(jsonOf(object)).length <= MAX_BYTES) return
  throw errorWithoutReason(500, 'etcdserver: request is too large')
}

/** Stores an object. Returns the stored object in `kind`'s version. */
export function putObject(context: Context, kind: Kind, object: ApiObject): ApiObject {
  const next = toStored(kind, object)
  // A conversion webhook is called before the write: a request cannot wait for it after the write.
  const answer = kind.rules.convert && fromStored(kind, next)
  checkSize(context, next)
  const stored = context.store.put(
    kind.storage.id,
    storeKey(kind, object.metadata.namespace ?? '', object.metadata.name!),
    next,
  )
  context.afterWrite(kind, stored, 'put')
  if (!answer) return fromStored(kind, stored)
  return { ...answer, metadata: { ...answer.metadata, resourceVersion: stored.metadata.resourceVersion! } }
}

/** Removes an object. `last` is the final state that watchers receive. Returns the resourceVersion of the removal. */
export function removeObject(context: Context, kind: Kind, object: ApiObject, last?: ApiObject): string {
  const key = storeKey(kind, object.metadata.namespace ?? '', object.metadata.name!)
  const stored = context.store.remove(kind.storage.id, key, last && toStored(kind, last))
  context.afterWrite(kind, stored, 'removed')
  return stored.metadata.resourceVersion!
}

/** Returns the `fieldValidation` mode of a request, whose value has been checked. */
function fieldValidationOf({ context, call }: Pick<KindRequest, 'context' | 'call'>): FieldValidation {
  return (call.query.get('fieldValidation') || context.fieldValidation) as FieldValidation
}

/** Returns the messages of strict decoding, in the given order. */
export function strictFaults(unknown: readonly string[]): string[] {
  return unknown.map((path) => `unknown field ${JSON.stringify(path)}`)
}

/** Reports strict faults by the validation mode: ignores them, adds warnings, or throws 400. */
export function reportStrictFaults(
  request: Pick<KindRequest, 'context' | 'call'>,
  all: readonly string[],
  refuse: (list: string) => StatusError,
): void {
  const validation = fieldValidationOf(request)
  if (all.length === 0 || validation === 'Ignore') return
  const faults = all.slice(0, MAX_FAULTS)
  if (validation === 'Strict') throw refuse(`strict decoding error: ${faults.join(', ')}`)
  request.call.warnings.push(...faults)
}

/** Reads the object of a request body, with defaults. */
export function readBody(request: Omit<KindRequest, 'route'>): ApiObject {
  const { kind, call } = request
  const value = readJsonBody(call, kind)
  checkIdentity(kind, value)
  const { object, unknown } = decodeObject(kind, value as JsonObject)
  reportStrictFaults(request, strictFaults(unknown), (list) => cannotHandle(kind, list))
  setDefaults(kind, object)
  return object
}

function cannotHandle(kind: Kind, reason: string): StatusError {
  const version = JSON.stringify(kind.version)
  return badRequest(`${kind.kind} in version ${version} cannot be handled as a ${kind.kind}: ${reason}`)
}

/** Throws if the body is of a different kind than the URL. Built-in kinds may omit apiVersion and kind. */
function checkIdentity(kind: Kind, value: Json): void {
  if (!isObject(value)) throw badRequest(`the body is of the type ${jsonType(value)}, not an object`)
  const { apiVersion, kind: given } = value
  if (kind.custom && !(given && apiVersion)) throw badRequest(`a ${kind.kind} must have an apiVersion and a kind`)
  const isOther = given && given !== kind.kind
  if ((apiVersion && apiVersion !== kind.apiVersion) || (isOther && !kind.custom)) {
    throw badRequest(
      `the object provided is a ${given ?? kind.kind} of ${apiVersion}, not a ${kind.kind} of ${kind.apiVersion}`,
    )
  }
  if (isOther) {
    const problem = fault.invalid('kind', given, `must be ${kind.kind}`)
    throw invalid({ group: kind.group, kind: String(given) }, nameOf(value), [problem])
  }
}

/** Returns whether a type is a built-in one. */
export function isKnownType({ kinds }: Context, kind: string, apiVersion: string): boolean {
  return kinds.all().some((each) => !each.custom && each.kind === kind && each.apiVersion === apiVersion)
}

function nameOf(value: JsonObject): string {
  return String(at(value, 'metadata', 'name') ?? '')
}

/** The real server stops counting the unknown fields of a built-in kind here. */
const MAX_STRICT_FAULTS = 100

const OBJECT_META: Schema = { $ref: 'meta.v1.ObjectMeta' }

/** Decodes a body by the schema of the kind. Throws 400 for a value of a wrong type. */
export function decodeObject(kind: Kind, value: JsonObject): DecodedObject {
  try {
    return decodeByKind(kind, value)
  } catch (error) {
    throw error instanceof DecodeError ? cannotHandle(kind, error.message) : error
  }
}

interface DecodedObject {
  readonly object: ApiObject
  /** The paths of unknown fields, in the order of the real server's report. */
  readonly unknown: readonly string[]
}

/** Like {@link decodeObject}, but throws a DecodeError. */
export function decodeByKind(kind: Kind, value: JsonObject): DecodedObject {
  const { apiVersion: _apiVersion, kind: _kind, metadata = {}, ...rest } = value
  const identity = { apiVersion: kind.apiVersion, kind: kind.kind }
  if (!kind.custom) {
    const { object, unknown } = decodeTyped(
      kind.schema,
      { ...value, apiVersion: undefined, kind: undefined, metadata },
    )
    return {
      object: keepEmptyManagedFields({ ...identity, metadata: {}, ...object } as ApiObject, metadata),
      unknown: unknown.slice(0, MAX_STRICT_FAULTS),
    }
  }
  if (metadata !== null && !isObject(metadata)) {
    throw new DecodeError(wrongType('metadata', metadata, 'object'))
  }
  const meta = decodeTyped(OBJECT_META, metadata ?? {}, 'metadata')
  const pruned = prune(kind.schema, rest)
  const object = { ...identity, metadata: meta.object, ...pruned.object } as ApiObject
  return { object, unknown: [...meta.unknown, ...[...pruned.unknown].sort()] }
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
