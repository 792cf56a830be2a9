/** What every verb works with: the store, the kinds, time and chance. */
import type { Clock } from '../async/clock.ts'
import type { Log } from '../observe/log.ts'
import type { ApiObject } from './json.ts'
import { apiVersionOf, type Kind, type Kinds } from './kinds.ts'
import { instant } from './storage/objects.ts'
import type { ResourceRoute } from './http/routes.ts'
import { notFound } from './http/status.ts'
import type { Store } from './storage/store.ts'

export interface Backend {
  readonly store: Store
  readonly kinds: Kinds
  readonly clock: Clock
  readonly log: Log
  readonly random: () => number
  /** What a request without `fieldValidation` asks for. */
  readonly fieldValidation: FieldValidation
  /** Called after a write went in, whatever it was: kinds come and go with their definitions, namespaces empty. */
  afterWrite(kind: Kind, object: ApiObject, type: 'put' | 'removed'): void
}

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict'

export function nowIso(backend: Backend): string {
  return instant(backend.clock.now())
}

/** The key of an object of a request. */
export function storeKey(kind: Kind, namespace: string, name: string): string {
  return kind.namespaced ? `${namespace}/${name}` : name
}

/** An object as stored, in the form of `kind`'s version. */
export function present(kind: Kind, stored: ApiObject): ApiObject {
  if (kind.rules.fromStored) return kind.rules.fromStored(stored)
  const apiVersion = apiVersionOf(kind)
  return stored.apiVersion === apiVersion ? stored : { ...stored, apiVersion }
}

/** An object of `kind`'s version, in the form that is stored. */
export function toStored(kind: Kind, object: ApiObject): ApiObject {
  if (kind.rules.toStored) return kind.rules.toStored(object)
  return object.apiVersion === kind.storage.apiVersion ? object : { ...object, apiVersion: kind.storage.apiVersion }
}

/** The object of a request in the form of its version. Throws 404. */
export function readObject(backend: Backend, kind: Kind, route: ResourceRoute): ApiObject {
  const stored = backend.store.get(kind.storage.id, storeKey(kind, route.namespace, route.name))
  if (!stored) throw notFound(kind, route.name)
  return present(kind, stored)
}

/** Puts an object in. Returns it as stored, in the form of its version. */
export function commit(backend: Backend, kind: Kind, object: ApiObject): ApiObject {
  const stored = backend.store.put(
    kind.storage.id,
    storeKey(kind, object.metadata.namespace ?? '', object.metadata.name!),
    toStored(kind, object),
  )
  backend.afterWrite(kind, stored, 'put')
  return present(kind, stored)
}

/** Takes an object out. `last` is what a watcher sees last. */
export function uncommit(backend: Backend, kind: Kind, object: ApiObject, last?: ApiObject): void {
  const key = storeKey(kind, object.metadata.namespace ?? '', object.metadata.name!)
  const stored = backend.store.remove(kind.storage.id, key, last && toStored(kind, last))
  backend.afterWrite(kind, stored, 'removed')
}
