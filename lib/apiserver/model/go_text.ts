/** Formats JSON values as Go prints them in errors. */
import { isObject, type Json } from './json.ts'

/** Returns a value as `%v` formats it: `map[a:1 b:[x y]]`. */
export function goText(value: Json | undefined): string {
  if (Array.isArray(value)) return `[${value.map(goText).join(' ')}]`
  if (!isObject(value)) return value === null || value === undefined ? '<nil>' : String(value)
  return `map[${Object.keys(value).sort().map((key) => `${key}:${goText(value[key])}`).join(' ')}]`
}

/** Returns the Go type of a decoded JSON value. */
export function goTypeOf(value: Json): string {
  if (value === null) return '<nil>'
  if (Array.isArray(value)) return '[]interface {}'
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64'
  return typeof value === 'boolean' ? 'bool' : typeof value === 'string' ? 'string' : 'map[string]interface {}'
}

/** Returns a value as `%#v` formats it: `map[string]interface {}{"a":1}`. */
export function goSyntax(value: Json): string {
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntax).join(', ')}}`
  if (!isObject(value)) return typeof value === 'string' ? JSON.stringify(value) : String(value)
  const fields = Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${goSyntax(value[key] ?? null)}`)
  return `map[string]interface {}{${fields.join(', ')}}`
}
