/**
 * Compares the CRD in a cluster with the expected one.
 *
 * Additions (versions, optional fields, columns, short names) and texts (descriptions, titles) may differ, so that a
 * replica can start beside a newer one.
 */
import { jsonEqual } from '../core/equal.ts'
import type { CustomResourceDefinition, CustomResourceVersion, JsonSchema } from '../core/resource.ts'
import { changeText, type SchemaChange, schemaChanges, without } from './schema_changes.ts'

/** A CRD read from a cluster. */
export interface ForeignCrd {
  readonly spec?: {
    readonly scope?: string
    readonly names?: Readonly<Record<string, unknown>>
    readonly versions?: readonly ForeignVersion[]
    readonly conversion?: { readonly strategy?: string }
  }
  readonly status?: {
    readonly conditions?: readonly { readonly type?: string; readonly status?: string; readonly message?: string }[]
  }
}

type ForeignVersion = Partial<Omit<CustomResourceVersion, 'schema'>> & {
  readonly schema?: { readonly openAPIV3Schema?: JsonSchema }
}

/** Returns the differences as texts. Empty if the actual CRD is sufficient. */
export function crdDifferences(expected: CustomResourceDefinition, actual: ForeignCrd): readonly string[] {
  const found: string[] = []
  const { scope, names = {} } = actual.spec ?? {}
  if (scope !== expected.spec.scope) found.push(`its scope is ${String(scope)}, not ${expected.spec.scope}`)
  for (const [key, name] of Object.entries(expected.spec.names)) {
    const lacks = typeof name === 'string' ? names[key] !== name : without(name, names[key]).length > 0
    if (lacks) found.push(`its ${key} is ${String(names[key] ?? 'absent')}, not ${String(name)}`)
  }
  for (const condition of actual.status?.conditions ?? []) {
    if ((condition.type === 'Established' || condition.type === 'NamesAccepted') && condition.status === 'False') {
      found.push(`it is not served: ${condition.message || condition.type}`)
    }
  }
  const { strategy = 'None' } = actual.spec?.conversion ?? {}
  const isConverted = expected.spec.conversion !== undefined
  if (isConverted && strategy !== 'Webhook') found.push(`its conversion strategy is ${strategy}, not Webhook`)
  for (const version of expected.spec.versions) found.push(...versionDifferences(version, actual))
  return found
}

function versionDifferences(expected: CustomResourceVersion, { spec }: ForeignCrd): readonly string[] {
  const actual = spec?.versions?.find(({ name }) => name === expected.name)
  if (!actual) return [`version ${expected.name} is missing`]
  const found: string[] = []
  if (expected.served && !actual.served) found.push(`version ${expected.name} is not served`)
  const lacks = (what: string): void => void found.push(`version ${expected.name} has no ${what}`)
  if (expected.subresources?.status && !actual.subresources?.status) lacks('status subresource')
  const { scale } = expected.subresources ?? {}
  if (scale && !jsonEqual(scale, actual.subresources?.scale)) lacks('such scale subresource')
  for (const field of without(expected.selectableFields, actual.selectableFields)) {
    lacks(`selectable field ${(field as { readonly jsonPath: string }).jsonPath}`)
  }
  const differences: string[] = []
  let retyped: string | undefined
  for (const change of schemaChanges(expected.schema.openAPIV3Schema, actual.schema?.openAPIV3Schema ?? {})) {
    const { path, keyword } = change
    // Every object has these fields, even if undeclared. Where the type differs, further differences are consequences.
    if (/^(apiVersion|kind|metadata)$/.test(path) || (retyped !== undefined && isWithin(path, retyped))) continue
    if (keyword === 'type') retyped = path
    differences.push(...textsOf(change))
  }
  for (const { name, type, jsonPath } of expected.additionalPrinterColumns ?? []) {
    const column = actual.additionalPrinterColumns?.find((each) => each.name === name)
    if (column?.type === type && column.jsonPath === jsonPath) continue
    const what = column ? `shows ${column.jsonPath} (${column.type}), not ${jsonPath} (${type})` : 'is missing'
    differences.push(`column "${name}" ${what}`)
  }
  return [...found, ...differences.map((difference) => `${expected.name}: ${difference}`)]
}

/** Whether a field is another one, or below it. */
export function isWithin(path: string, outer: string): boolean {
  return outer === '' || (path.startsWith(outer) && /^$|^[.[{]/.test(path.slice(outer.length)))
}

/** Formats a change from the expected schema. Empty for an additional field, and for a different order. */
function textsOf(change: SchemaChange): readonly string[] {
  const { path, keyword, from, to } = change
  if (keyword === 'properties' && !from) return []
  if (!Array.isArray(from ?? to)) return [changeText(change)]
  return [[from, to, 'lacks'] as const, [to, from, 'has'] as const].flatMap(([some, others, verb]) => {
    const apart = without(some, others).map((value) => JSON.stringify(value))
    return apart.length > 0 ? [`${keyword} of ${path || 'the object'} ${verb} ${apart.join(', ')}`] : []
  })
}
