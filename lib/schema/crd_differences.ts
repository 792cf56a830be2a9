/**
 * Whether the CRD in a cluster is what we need: not the same text, but that it serves our versions, keeps the fields that
 * we write, has the types and defaults that we read, and demands nothing that we don't know.
 */
import { jsonEqual } from '../core/equal.ts'
import type { CustomResourceDefinition, CustomResourceVersion, JsonSchema } from '../core/resource.ts'

/** A CRD as a cluster has it: ours or somebody else's. */
export interface ForeignCrd {
  readonly spec?: {
    readonly scope?: string
    readonly names?: { readonly kind?: string; readonly plural?: string }
    readonly versions?: readonly ForeignVersion[]
  }
  readonly status?: { readonly conditions?: readonly { readonly type?: string; readonly status?: string; readonly message?: string }[] }
}

type ForeignVersion = Partial<Omit<CustomResourceVersion, 'schema'>> & { readonly schema?: { readonly openAPIV3Schema?: JsonSchema } }

/** What the cluster's CRD lacks of ours, each in words; empty when it will do. */
export function crdDifferences(ours: CustomResourceDefinition, theirs: ForeignCrd): readonly string[] {
  const found: string[] = []
  const { scope, names } = theirs.spec ?? {}
  if (scope !== ours.spec.scope) found.push(`its scope is ${String(scope)}, not ${ours.spec.scope}`)
  if (names?.kind !== ours.spec.names.kind) found.push(`its kind is ${String(names?.kind)}, not ${ours.spec.names.kind}`)
  for (const condition of theirs.status?.conditions ?? []) {
    if ((condition.type === 'Established' || condition.type === 'NamesAccepted') && condition.status === 'False') {
      found.push(`it is not served: ${condition.message || condition.type}`)
    }
  }
  for (const version of ours.spec.versions) found.push(...versionDifferences(version, theirs))
  return found
}

function versionDifferences(ours: CustomResourceVersion, { spec }: ForeignCrd): readonly string[] {
  const theirs = spec?.versions?.find(({ name }) => name === ours.name)
  if (!theirs) return [`version ${ours.name} is missing`]
  const found: string[] = []
  if (!theirs.served) found.push(`version ${ours.name} is not served`)
  if (ours.subresources?.status && !theirs.subresources?.status) found.push(`version ${ours.name} has no status subresource`)
  const root = theirs.schema?.openAPIV3Schema ?? {}
  return [...found, ...schemaDifferences(ours.schema.openAPIV3Schema, root, '').map((difference) => `${ours.name}: ${difference}`)]
}

type Fields = Readonly<Record<string, JsonSchema>>

function schemaDifferences(ours: JsonSchema, theirs: JsonSchema, path: string): readonly string[] {
  const [mine, other] = [kindOfValue(ours), kindOfValue(theirs)]
  if (mine !== other && other !== 'anything') return [`${path} is ${other}, not ${mine}`]
  const found: string[] = []
  // Without our default, a reader would miss a field that its type promises.
  if ('default' in ours && !jsonEqual(ours['default'], theirs['default'])) {
    const there = 'default' in theirs ? `the default ${JSON.stringify(theirs['default'])}` : 'no default'
    found.push(`${path} has ${there}, not ${JSON.stringify(ours['default'])}`)
  }
  const refused = refusedValues(ours, theirs)
  if (refused.length > 0) found.push(`${path} refuses ${refused.map((value) => JSON.stringify(value)).join(', ')}`)
  if (ours['nullable'] && !theirs['nullable'] && other !== 'anything') found.push(`${path} refuses null`)
  return [...found, ...fieldDifferences(ours, theirs, path)]
}

function fieldDifferences(ours: JsonSchema, theirs: JsonSchema, path: string): readonly string[] {
  const found: string[] = []
  const mine = (ours['properties'] ?? {}) as Fields
  const others = (theirs['properties'] ?? {}) as Fields
  const open = kindOfValue(theirs) === 'anything' || theirs['x-kubernetes-preserve-unknown-fields'] === true
  for (const [name, field] of Object.entries(mine)) {
    const at = path ? `${path}.${name}` : name
    const there = Object.hasOwn(others, name) ? others[name] : theirs['additionalProperties'] as JsonSchema | undefined
    if (there) found.push(...schemaDifferences(field, there, at))
    else if (!open) found.push(`${at} is missing`)
  }
  for (const name of (theirs['required'] ?? []) as readonly string[]) {
    const known = Object.hasOwn(mine, name) || ours['additionalProperties'] || ours['x-kubernetes-preserve-unknown-fields']
    if (!known) found.push(`${path ? `${path}.${name}` : name} is required, and not known to us`)
  }
  const [items, otherItems] = [ours, theirs].map((schema) => schema['items'] as JsonSchema | undefined)
  if (items && otherItems) found.push(...schemaDifferences(items, otherItems, `${path}[]`))
  const [values, otherValues] = [ours, theirs].map((schema) => schema['additionalProperties'] as JsonSchema | undefined)
  if (values && otherValues) found.push(...schemaDifferences(values, otherValues, `${path}{}`))
  else if (values && !open) found.push(`${path} keeps no fields but its own`)
  if (ours['x-kubernetes-preserve-unknown-fields'] && !open) found.push(`${path} prunes unknown fields`)
  return found
}

/** Values of our enum that theirs lacks. */
function refusedValues(ours: JsonSchema, theirs: JsonSchema): readonly unknown[] {
  const [mine, others] = [ours['enum'], theirs['enum']] as [readonly unknown[] | undefined, readonly unknown[] | undefined]
  return mine && others ? mine.filter((value) => !others.includes(value)) : []
}

function kindOfValue(schema: JsonSchema): string {
  if (schema['x-kubernetes-int-or-string']) return 'int-or-string'
  return typeof schema['type'] === 'string' ? schema['type'] : 'anything'
}
