/** Creates the objects that a world begins with, and the definitions of their kinds. */
import type { Cluster, CustomResourceDefinition } from 'kubeloop'
import type { KubeObject, OwnerReference } from '../../core/objects.ts'
import { apiVersionOf } from '../../core/resource.ts'
import type { ConversionDescription } from '../../schema/conversions.ts'
import { conversionHandler, convertObjects } from '../../webhook/conversion/conversion.ts'

type AnyObject = KubeObject & { readonly metadata: { readonly namespace?: string; readonly generateName?: string } }
type Setup = Pick<Cluster, 'client' | 'kinds'>

/**
 * Creates the objects in this order. `own` returns the definitions of the operator's kinds, which are created when an
 * object needs them. Where the hub of a conversion is served, objects of other versions are converted first: no replica
 * runs that does it.
 *
 * @throws TypeError if one is not a whole object, or nothing defines its kind.
 */
export async function createObjects(
  cluster: Setup,
  objects: readonly object[],
  own: () => readonly CustomResourceDefinition[],
  conversions: readonly ConversionDescription[] = [],
): Promise<void> {
  for (const [index, object] of objects.entries()) await create(cluster, checked(object, index), own, conversions)
}

/** Returns an object in the version of the hub; undefined if none of the conversions is for it. */
async function inHub(
  object: AnyObject,
  conversions: readonly ConversionDescription[],
): Promise<AnyObject | undefined> {
  const { hub } =
    conversions.find(({ from }) => apiVersionOf(from) === object.apiVersion && from.kind === object.kind) ?? {}
  if (!hub) return undefined
  const budget = { isSpent: false, turn: () => Promise.resolve() }
  const handler = conversionHandler({ conversions, budget, onThrow() {} })
  const [converted] = await convertObjects(handler, [object], apiVersionOf(hub))
  return converted as AnyObject
}

/** Returns the object. Throws if it has no apiVersion, kind or name. */
function checked(object: unknown, index: number): AnyObject {
  const { apiVersion, kind, metadata } = (object ?? {}) as Partial<AnyObject>
  const missing = Object.entries({ apiVersion, kind, 'metadata.name': metadata?.name ?? metadata?.generateName })
    .flatMap(([field, value]) => (typeof value === 'string' && value !== '' ? [] : [field]))
  if (missing.length === 0) return object as AnyObject
  const example = "{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', name: 'a' } }"
  const what = `it has no ${missing.join(' and no ')}; give whole objects: ${example}`
  throw new TypeError(`Cannot create objects[${index}] of the world: ${what}`)
}

/** Creates an object, and its definition before, if the operator defines the kind and the server does not serve it. */
async function create(
  { client, kinds }: Setup,
  object: AnyObject,
  own: () => readonly CustomResourceDefinition[],
  conversions: readonly ConversionDescription[],
): Promise<void> {
  const { apiVersion, kind, metadata } = object
  let resource = await kinds.find(object)
  if (!resource) {
    const definition = own().find(({ spec }) =>
      spec.names.kind === kind &&
      spec.versions.some(({ name }) => apiVersionOf({ ...spec, version: name }) === apiVersion)
    )
    if (definition) {
      await create({ client, kinds }, definition as CustomResourceDefinition & AnyObject, () => [], [])
    }
  }
  const hub = await inHub(object, conversions)
  if (hub && await kinds.find(hub)) return await create({ client, kinds }, hub, own, [])
  resource ??= await kinds.find(object)
  if (!resource) {
    throw new TypeError(
      `Cannot create ${kind} "${metadata.name}": the world does not serve ${apiVersion} ${kind}, and no controller of the operator defines it; add its CustomResourceDefinition before it: world(app, { objects: [definition, object] })`,
    )
  }
  const { deletionTimestamp, finalizers, ownerReferences, ...rest } = metadata
  if (deletionTimestamp && !finalizers?.length) {
    throw new TypeError(
      `Cannot create ${kind} "${metadata.name}": it has a deletionTimestamp and no finalizers, so it would not exist`,
    )
  }
  const owners = await Promise.all((ownerReferences ?? []).map((owner) => withUid({ client, kinds }, owner, object)))
  const created = await client.create(resource, {
    ...object,
    metadata: { ...rest, ...(finalizers && { finalizers }), ...(ownerReferences && { ownerReferences: owners }) },
  })
  if (deletionTimestamp) await client.delete(resource, created.metadata)
}

/** Returns the reference with the uid of the owner, if that exists. Throws if it has another one. */
async function withUid(
  { client, kinds }: Setup,
  reference: OwnerReference,
  { kind, metadata: { name, namespace } }: AnyObject,
): Promise<OwnerReference> {
  const resource = await kinds.find(reference)
  const owner = resource && await client.get(resource, { name: reference.name, namespace: namespace ?? '' })
  if (!owner) return reference
  const { uid } = owner.metadata
  if (!reference.uid || reference.uid === uid) return { ...reference, uid }
  throw new TypeError(
    `Cannot create ${kind} "${name}": its owner ${reference.kind} "${reference.name}" has the uid ${uid}, and not ${reference.uid}; give the owner this uid, or leave it out of the reference`,
  )
}
