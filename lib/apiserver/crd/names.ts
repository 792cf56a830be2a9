/** Checks the names of the kind in a CustomResourceDefinition. */
import type { Json, JsonObject } from '../model/json.ts'
import { type Cause, fault } from '../model/status.ts'
import { nameProblems } from '../model/names.ts'

export function namesFaults(names: JsonObject): Cause[] {
  const path = 'spec.names'
  const { plural, singular, kind, listKind } = names
  const required = Object.entries({ plural, singular, kind, listKind }).filter(([, value]) => !value)
  return [
    ...required.map(([name]) => fault.required(`${path}.${name}`)),
    ...labelFaults(plural, `${path}.plural`),
    ...labelFaults(singular, `${path}.singular`),
    ...kindFaults(kind, `${path}.kind`),
    ...kindFaults(listKind, `${path}.listKind`),
    ...listFaults(names['shortNames'], `${path}.shortNames`),
    ...(kind && kind === listKind
      ? [fault.invalid(`${path}.listKind`, listKind, 'kind and listKind may not be the same')]
      : []),
    ...listFaults(names['categories'], `${path}.categories`),
  ]
}

function labelFaults(name: Json | undefined, path: string): Cause[] {
  const problems = name ? nameProblems(String(name), 'label1035') : []
  return problems.length > 0 ? [fault.invalid(path, name, problems.join(','))] : []
}

function kindFaults(kind: Json | undefined, path: string): Cause[] {
  const problems = kind ? nameProblems(String(kind).toLowerCase(), 'label1035') : []
  const detail = `may have mixed case, but should otherwise match: ${problems.join(',')}`
  return problems.length > 0 ? [fault.invalid(path, kind, detail)] : []
}

function listFaults(names: Json | undefined, path: string): Cause[] {
  if (!Array.isArray(names)) return []
  return names.flatMap((name, index) => {
    const problems = nameProblems(String(name), 'label1035')
    return problems.length > 0 ? [fault.invalid(`${path}[${index}]`, name, problems.join(','))] : []
  })
}
