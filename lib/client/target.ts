/** Where the object of a call is, and whose it is: decided before a request could go to a wrong place. */
import type { KubeObject, ObjectKey, OwnerReference } from '../core/objects.ts'
import { withController } from '../core/owners.ts'
import { isPartial } from '../core/partial.ts'
import { type AnyResource, groupResourceOf } from '../core/resource.ts'
import { describe } from './api.ts'
import type { Target } from './requests.ts'

/** What may be known of an object that is written. */
interface PartialObject {
  readonly metadata?: {
    readonly name?: string | undefined
    readonly generateName?: string | undefined
    readonly namespace?: string | undefined
    readonly ownerReferences?: readonly OwnerReference[] | undefined
  } | undefined
}

export interface NamedTarget extends Target, ObjectKey {
  readonly name: string
}

/** The target of a call about one object. Throws a TypeError when its name, or the namespace that its kind needs, is missing. */
export function targetOf(resource: AnyResource, ref: object, verb: string): NamedTarget {
  const { name, namespace } = keyIn(ref)
  if (!name) throw new TypeError(`Cannot ${verb} ${groupResourceOf(resource)}: the object has no name`)
  return { resource, name, namespace: namespaceIn(resource, namespace, `${verb} ${resource.kind} "${name}"`) }
}

/** The target of a create: the server may be the one to find a name. */
export function targetOfNew(resource: AnyResource, object: object): Target {
  const { name, generateName, namespace } = (object as PartialObject).metadata ?? {}
  if (!name && !generateName) {
    throw new TypeError(`Cannot create ${groupResourceOf(resource)}: the object has neither a name nor a generateName`)
  }
  const what = name ? `"${name}"` : `with generateName "${generateName}"`
  return {
    resource,
    name: name || undefined,
    namespace: namespaceIn(resource, namespace, `create ${resource.kind} ${what}`),
  }
}

/** An object with its owner: in the owner's namespace, and controlled by it. */
export function owned(resource: AnyResource, object: object, owner: KubeObject | undefined): object {
  if (!owner) return object
  const { metadata } = object as PartialObject
  const namespace = resource.scope === 'Namespaced' ? (metadata?.namespace ?? owner.metadata.namespace) : undefined
  const what = metadata?.name ? describe({ resource, namespace, name: metadata.name }) : `a new ${resource.kind}`
  const ownerReferences = withController(metadata?.ownerReferences, owner, { what, namespace })
  return { ...object, metadata: { ...metadata, ...(namespace ? { namespace } : {}), ownerReferences } }
}

/** The object, which is written whole. Throws a TypeError for one that has less than the server's: the rest would be deleted. */
export function whole(resource: AnyResource, object: object, verb: string): object {
  if (!isPartial(object)) return object
  const { name, namespace } = keyIn(object)
  const why = 'it was read without what the cache strips, or as metadata alone, and the rest would be deleted'
  throw new TypeError(
    `Cannot ${verb} ${describe({ resource, namespace, name })}: ${why}; use edit or client.live.get, or send a patch`,
  )
}

/** The uid of an object that was handed over whole; a key has none. */
export function uidIn(ref: object): string | undefined {
  return (ref as Partial<KubeObject>).metadata?.uid
}

function keyIn(ref: object): { readonly name?: string | undefined; readonly namespace?: string | undefined } {
  return 'metadata' in ref ? ((ref as PartialObject).metadata ?? {}) : ref
}

function namespaceIn(resource: AnyResource, namespace: string | undefined, action: string): string | undefined {
  if (resource.scope === 'Cluster') return undefined
  if (namespace) return namespace
  throw new TypeError(`Cannot ${action}: it needs a namespace; set metadata.namespace, or give an owner that has one`)
}
