/** Parts of the messages of errors. */
import type { Json } from './json.ts'

/** Returns the type of a JSON value. */
export function jsonType(value: Json): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value === 'boolean' ? 'bool' : typeof value
}

/** Returns the error of a kind that the server does not have. */
export function unregistered(kind: Json | undefined, apiVersion: Json | undefined): string {
  const [named, version] = [JSON.stringify(kind), JSON.stringify(apiVersion)]
  return `no kind ${named} is registered for version ${version}`
}

/** Returns the message of a value of a wrong type. */
export function wrongType(field: string, value: Json, type: string): string {
  return `json: cannot unmarshal ${jsonType(value)} into field ${field} of type ${type}`
}

/** Prints a list as Go's `%q` does. */
export function goList(values: readonly string[]): string {
  return `[${values.map((each) => JSON.stringify(each)).join(' ')}]`
}
