/** Keeps fields that another release may write, while replicas of two releases change one definition. */
import type { CustomResourceDefinition, JsonSchema } from '../core/resource.ts'
import { type Crd, schemaOf } from './definition.ts'

/**
 * Returns a definition that also has the fields that the one in the cluster has in the same version. The server accepts
 * a write of other fields, and drops them.
 */
export function withFieldsOf(before: Crd, crd: CustomResourceDefinition): CustomResourceDefinition {
  const versions = crd.spec.versions.map((ours) => {
    const theirs = before.spec.versions.find(({ name }) => name === ours.name)
    return theirs ? { ...ours, schema: { openAPIV3Schema: withFields(schemaOf(ours), schemaOf(theirs)) } } : ours
  })
  return { ...crd, spec: { ...crd.spec, versions } }
}

type Fields = Readonly<Record<string, JsonSchema>>

function withFields(ours: JsonSchema, theirs: JsonSchema): JsonSchema {
  if (ours['type'] !== theirs['type']) return ours
  const below = ['items', 'additionalProperties'].flatMap((keyword) => {
    const [own, their] = [ours[keyword], theirs[keyword]] as [unknown, unknown]
    return isSchema(own) && isSchema(their) ? [[keyword, withFields(own, their)] as const] : []
  })
  const [own = {}, their] = [ours['properties'], theirs['properties']] as [Fields | undefined, Fields | undefined]
  // The server refuses a schema that names fields and has one for all others.
  if (!their || ours['additionalProperties']) return { ...ours, ...Object.fromEntries(below) }
  const common = Object.entries(own).map(([name, each]) =>
    [name, Object.hasOwn(their, name) ? withFields(each, their[name]!) : each] as const
  )
  return { ...ours, ...Object.fromEntries(below), properties: { ...their, ...Object.fromEntries(common) } }
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null
}
