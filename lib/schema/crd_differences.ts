/**
 * Whether the CRD in a cluster is what we need: not the same text, but that it serves our versions, keeps the fields that
 * we write, has the types and defaults that we read, and demands nothing that we don't know.
 */
import type { CustomResourceDefinition, CustomResourceVersion, JsonSchema } from '../core/resource.ts'
import { lacking, othersOf, schemaChanges, type SchemaChange } from './schema_changes.ts'

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
  const changes = schemaChanges(ours.schema.openAPIV3Schema, theirs.schema?.openAPIV3Schema ?? {})
  return [...found, ...changes.flatMap((change) => textOf(change) ?? []).map((difference) => `${ours.name}: ${difference}`)]
}

/** A change from our schema to theirs, if it matters to a reader and a writer of ours: what is stricter there may be so. */
function textOf({ path, keyword, from, to, schema }: SchemaChange): string | undefined {
  const [was, is] = [from, to].map((value) => JSON.stringify(value))
  switch (keyword) {
    case 'type': return to === 'anything' ? undefined : `${path} is ${String(to)}, not ${String(from)}`
    // Without our default, a reader would miss a field that its type promises.
    case 'default': return was && `${path} has ${is ? `the default ${is}` : 'no default'}, not ${was}`
    case 'nullable': return was && `${path} refuses null`
    case 'properties': return was && `${path} is missing`
    case 'additionalProperties': return was && `${path} keeps no fields but its own`
    case 'enum': {
      const refused = from && to ? lacking(from, to) : []
      return refused.length > 0 ? `${path} refuses ${refused.map((value) => JSON.stringify(value)).join(', ')}` : undefined
    }
    case 'required': {
      const [unknown] = othersOf(schema) ? [] : lacking(to ?? [], Object.keys(schema['properties'] ?? {}))
      return unknown ? `${path ? `${path}.` : ''}${unknown} is required, and not known to us` : undefined
    }
  }
  return undefined
}
