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

/** Returns the type of a JSON value in the errors of Go's decoder. */
export function jsonType(value: Json): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value === 'boolean' ? 'bool' : typeof value
}

/** Returns the error of Go's scheme for a kind that it does not have. */
export function unregistered(kind: Json | undefined, apiVersion: Json | undefined): string {
  const [named, version] = [JSON.stringify(kind), JSON.stringify(apiVersion)]
  return `no kind ${named} is registered for version ${version} in scheme "pkg/runtime/scheme.go:111"`
}

/** Returns a value as `%#v` formats it: `map[string]interface {}{"a":1}`. */
export function goSyntax(value: Json): string {
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntax).join(', ')}}`
  if (!isObject(value)) return typeof value === 'string' ? JSON.stringify(value) : String(value)
  const fields = Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${goSyntax(value[key] ?? null)}`)
  return `map[string]interface {}{${fields.join(', ')}}`
}

const SUMMARY_BYTES = 30

/** Returns the first bytes of a body, in hexadecimal unless they begin like JSON. */
export function summary(bytes: Uint8Array): string {
  if (bytes.length === 0) return '<empty>'
  const shown = bytes.subarray(0, SUMMARY_BYTES)
  const text = shown[0] === 0x7b
    ? new TextDecoder().decode(shown)
    : Array.from(shown, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return bytes.length > SUMMARY_BYTES ? `${text} ...` : text
}

/** Prints a list as Go's `%q` does. */
export function goList(values: readonly string[]): string {
  return `[${values.map((each) => JSON.stringify(each)).join(' ')}]`
}
