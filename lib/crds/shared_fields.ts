/** Keeps fields that another release may write, while replicas of two releases change one definition. */
import { isFields } from '../core/clone.ts'
import type { CustomResourceDefinition, JsonSchema } from '../core/resource.ts'
import { type Crd, schemaOf } from './definition.ts'

/**
 * Returns a definition that also has the fields and subresources that the one in the cluster has in the same version.
 * The server accepts a write of other fields, and drops them; a write of another subresource fails.
 */
export function withFieldsOf(before: Crd, crd: CustomResourceDefinition): CustomResourceDefinition {
  const versions = crd.spec.versions.map((ours) => {
    const theirs = before.spec.versions.find(({ name }) => name === ours.name)
    if (!theirs) return ours
    const subresources = theirs.subresources && { subresources: { ...theirs.subresources, ...ours.subresources } }
    return { ...ours, ...subresources, schema: { openAPIV3Schema: withFields(schemaOf(ours), schemaOf(theirs)) } }
  })
  return { ...crd, spec: { ...crd.spec, versions } }
}

type Fields = Readonly<Record<string, JsonSchema>>

const KEEPS_ALL = 'x-kubernetes-preserve-unknown-fields'

function withFields(own: JsonSchema, theirs: JsonSchema): JsonSchema {
  // Fields that theirs has without naming them.
  const isOpen = own['type'] === 'object' && !own['additionalProperties'] &&
    (theirs[KEEPS_ALL] || theirs['additionalProperties'])
  const ours = isOpen ? { ...own, [KEEPS_ALL]: true } : own
  if (ours['type'] !== theirs['type']) return ours
  const below = ['items', 'additionalProperties'].flatMap((keyword) => {
    const [inner, their] = [ours[keyword], theirs[keyword]] as [unknown, unknown]
    return isFields(inner) && isFields(their) ? [[keyword, withFields(inner, their)] as const] : []
  })
  const [named = {}, their] = [ours['properties'], theirs['properties']] as [Fields | undefined, Fields | undefined]
  // The server refuses a schema that names fields and has one for all others.
  if (!their || ours['additionalProperties']) return { ...ours, ...Object.fromEntries(below) }
  const common = Object.entries(named).map(([name, each]) =>
    [name, Object.hasOwn(their, name) ? withFields(each, their[name]!) : each] as const
  )
  return { ...ours, ...Object.fromEntries(below), properties: { ...their, ...Object.fromEntries(common) } }
}
