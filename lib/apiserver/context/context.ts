/** The context of every verb: store, kinds, clock and randomness. */
import type { Clock } from '../../async/clock.ts'
import type { Access } from '../access/access.ts'
import type { Log } from '../../observe/log.ts'
import type { ApiObject } from '../model/json.ts'
import { apiVersionOf, type Kind, type Kinds } from '../model/kinds.ts'
import { instant } from '../model/objects.ts'
import type { ResourceRoute } from '../model/routes.ts'
import { notFound } from '../model/status.ts'
import type { Store } from '../storage/store.ts'
import type { Webhooks } from '../webhooks/session.ts'

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
  /** Called after every write: registers and removes custom kinds, and empties deleted namespaces. */
  afterWrite(kind: Kind, object: ApiObject, type: 'put' | 'removed'): void
}

/** What happens to unknown and duplicate fields. */
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
  const apiVersion = apiVersionOf(kind)
  return stored.apiVersion === apiVersion ? stored : { ...stored, apiVersion }
}

/** Converts an object of `kind`'s version to its storage version. */
export function toStored(kind: Kind, object: ApiObject): ApiObject {
  if (kind.rules.toStored) return kind.rules.toStored(object)
  return object.apiVersion === kind.storage.apiVersion ? object : { ...object, apiVersion: kind.storage.apiVersion }
}

/** Returns the requested object in the requested version. Throws 404 if it does not exist. */
export function readObject(context: Context, kind: Kind, route: ResourceRoute): ApiObject {
  const stored = context.store.get(kind.storage.id, storeKey(kind, route.namespace, route.name))
  if (!stored) throw notFound(kind, route.name)
  return fromStored(kind, stored)
}

/** Stores an object. Returns the stored object in `kind`'s version. */
export function putObject(context: Context, kind: Kind, object: ApiObject): ApiObject {
  const next = toStored(kind, object)
  // A conversion webhook is called before the write: a request cannot wait for it after the write.
  const answer = kind.rules.convert && fromStored(kind, next)
  const stored = context.store.put(
    kind.storage.id,
    storeKey(kind, object.metadata.namespace ?? '', object.metadata.name!),
    next,
  )
  context.afterWrite(kind, stored, 'put')
  if (!answer) return fromStored(kind, stored)
  return { ...answer, metadata: { ...answer.metadata, resourceVersion: stored.metadata.resourceVersion! } }
}

/** Removes an object. `last` is the final state that watchers receive. */
export function removeObject(context: Context, kind: Kind, object: ApiObject, last?: ApiObject): void {
  const key = storeKey(kind, object.metadata.namespace ?? '', object.metadata.name!)
  const stored = context.store.remove(kind.storage.id, key, last && toStored(kind, last))
  context.afterWrite(kind, stored, 'removed')
}
