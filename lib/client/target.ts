/** Resolves a call's target and owner, before a request could go to the wrong place. */
import type { KubeObject, ObjectKey, OwnerReference } from '../core/objects.ts'
import { withController } from '../core/owners.ts'
import { isPartial } from '../core/partial.ts'
import { type AnyResource, groupResourceOf } from '../core/resource.ts'
import { describe, type Target, wireObject } from './requests.ts'

/** The parts that an object to write may have. */
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

/** Returns the target of a call on one object. Throws a TypeError if its name, or a required namespace, is missing. */
export function targetOf(resource: AnyResource, ref: object, verb: string): NamedTarget {
  const { name, namespace } = keyIn(ref)
  if (!name) throw new TypeError(`Cannot ${verb} ${groupResourceOf(resource)}: the object has no name`)
  return { resource, name, namespace: namespaceIn(resource, namespace, `${verb} ${resource.kind} "${name}"`) }
}

/** Returns the target of a create. The server may generate the name. */
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

/** Returns the object in its owner's namespace, controlled by that owner. */
export function owned(resource: AnyResource, object: object, owner: KubeObject | undefined): object {
  if (!owner) return object
  const { metadata } = object as PartialObject
  const namespace = resource.scope === 'Namespaced' ? (metadata?.namespace ?? owner.metadata.namespace) : undefined
  const what = metadata?.name ? describe({ resource, namespace, name: metadata.name }) : `a new ${resource.kind}`
  const ownerReferences = withController(metadata?.ownerReferences, owner, { what, namespace })
  return { ...object, metadata: { ...metadata, ...(namespace ? { namespace } : {}), ownerReferences } }
}

/** Returns an object that replaces the server's. Throws a TypeError if it lacks fields, which would be deleted. */
export function requireComplete(resource: AnyResource, object: object, verb: string): object {
  if (!isPartial(object)) return object
  const { name, namespace } = keyIn(object)
  const why =
    'it is incomplete (stripped by the cache, or read as metadata only), and its missing fields would be deleted'
  throw new TypeError(
    `Cannot ${verb} ${describe({ resource, namespace, name })}: ${why}; use edit or client.live.get, or send a patch`,
  )
}

/** Returns the uid of an object; a key has none. */
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

/** Returns the object to write: with apiVersion and kind, and with its owner. */
export function wholeObject(
  resource: AnyResource,
  object: object,
  { owner }: { readonly owner?: KubeObject | undefined },
  verb: string,
): object {
  return wireObject(resource, requireComplete(resource, owned(resource, object, owner), verb))
}
