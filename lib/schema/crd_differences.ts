/**
 * Compares the CRD in a cluster with ours: all that ours says must hold there. What only the other has (versions, optional fields,
 * columns, short names) and words (descriptions, titles) may differ, so that a replica can start beside a newer one.
 */
import { jsonEqual } from '../core/equal.ts'
import type { CustomResourceDefinition, CustomResourceVersion, JsonSchema } from '../core/resource.ts'
import { changeText, type SchemaChange, schemaChanges } from './schema_changes.ts'

/** A CRD as a cluster has it: ours or somebody else's. */
export interface ForeignCrd {
  readonly spec?: {
    readonly scope?: string
    readonly names?: Readonly<Record<string, unknown>>
    readonly versions?: readonly ForeignVersion[]
  }
  readonly status?: {
    readonly conditions?: readonly { readonly type?: string; readonly status?: string; readonly message?: string }[]
  }
}

type ForeignVersion = Partial<Omit<CustomResourceVersion, 'schema'>> & {
  readonly schema?: { readonly openAPIV3Schema?: JsonSchema }
}

/** Where the cluster's CRD is not what ours says, each in words; empty when it is. */
export function crdDifferences(ours: CustomResourceDefinition, theirs: ForeignCrd): readonly string[] {
  const found: string[] = []
  const { scope, names = {} } = theirs.spec ?? {}
  if (scope !== ours.spec.scope) found.push(`its scope is ${String(scope)}, not ${ours.spec.scope}`)
  for (const [key, name] of Object.entries(ours.spec.names)) {
    const lacks = typeof name === 'string' ? names[key] !== name : without(name, names[key]).length > 0
    if (lacks) found.push(`its ${key} is ${String(names[key] ?? 'absent')}, not ${String(name)}`)
  }
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
  if (ours.subresources?.status && !theirs.subresources?.status) {
    found.push(`version ${ours.name} has no status subresource`)
  }
  const differences: string[] = []
  let retyped: string | undefined
  for (const change of schemaChanges(ours.schema.openAPIV3Schema, theirs.schema?.openAPIV3Schema ?? {})) {
    const { path, keyword } = change
    // Every object has these, named or not; and where the type differs, the rest follows from that.
    if (/^(apiVersion|kind|metadata)$/.test(path) || (retyped !== undefined && isWithin(path, retyped))) continue
    if (keyword === 'type') retyped = path
    differences.push(...textsOf(change))
  }
  for (const { name, type, jsonPath } of ours.additionalPrinterColumns ?? []) {
    const column = theirs.additionalPrinterColumns?.find((each) => each.name === name)
    if (column?.type === type && column.jsonPath === jsonPath) continue
    differences.push(
      `column "${name}" ${
        column ? `shows ${column.jsonPath} (${column.type}), not ${jsonPath} (${type})` : 'is missing'
      }`,
    )
  }
  return [...found, ...differences.map((difference) => `${ours.name}: ${difference}`)]
}

function isWithin(path: string, outer: string): boolean {
  return outer === '' || (path.startsWith(outer) && /^$|^[.[{]/.test(path.slice(outer.length)))
}

/** A change from our schema to theirs, in words. Empty for a field that only theirs has, and for another order. */
function textsOf(change: SchemaChange): readonly string[] {
  const { path, keyword, from, to } = change
  if (keyword === 'properties' && !from) return []
  if (!Array.isArray(from ?? to)) return [changeText(change)]
  return [[from, to, 'lacks'] as const, [to, from, 'has'] as const].flatMap(([some, others, verb]) => {
    const apart = without(some, others).map((value) => JSON.stringify(value))
    return apart.length > 0 ? [`${keyword} of ${path || 'the object'} ${verb} ${apart.join(', ')}`] : []
  })
}

function without(values: unknown = [], others: unknown = []): readonly unknown[] {
  return (values as readonly unknown[]).filter((value) =>
    !(others as readonly unknown[]).some((other) => jsonEqual(value, other))
  )
}
