/** Reads the paths of fields in definitions, such as `.spec.replicas` and `.labels['a.b']`. */
import { entriesOf, type RuleSchema } from './schema.ts'

/** A field that a path leads to. */
interface Field {
  /** The path as messages write it: fields after dots, keys of maps in brackets. */
  readonly path: string
  readonly schema: RuleSchema
}

const TOKEN = /'(?:[^'\\]|\\[^])*'|[.[\]]|[^.[\]]+/y
const ESCAPES: Readonly<Record<string, string>> = { a: '\x07', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' }
const NO_FIELD = 'does not refer to a valid field'
const NO_MORE = 'unexpected end of JSON path'

/** Returns the field at a path, or what is wrong with the path. Lists cannot be entered. */
export function fieldOf(path: string, root: RuleSchema, allowBrackets = true): Field | string {
  const tokens = path.match(new RegExp(TOKEN.source, 'g')) ?? []
  let field: Field = { path: '', schema: root }
  for (let at = 0; at < tokens.length;) {
    const token = tokens[at++]!
    let name: string | undefined
    if (token === '.') name = tokens[at++]
    else if (token !== '[') return `expected [ or . but got: ${token}`
    else {
      if (!allowBrackets) return 'array notation is not allowed'
      const quoted = tokens[at++]
      if (quoted === undefined) return NO_MORE
      if (!/^'.*'$/s.test(quoted)) return `expected single quoted string but got ${quoted}`
      const wrong = /\\([^abfnrtv'\\])/.exec(quoted)
      if (wrong) return `invalid string literal: invalid escape char ${wrong[0]}`
      name = quoted.slice(1, -1).replace(/\\(.)/g, (_, char: string) => ESCAPES[char] ?? char)
    }
    if (name === undefined) return NO_MORE
    const next = below(field, name)
    if (!next) return NO_FIELD
    field = next
    if (token !== '[') continue
    const end = tokens[at++]
    if (end !== ']') return end === undefined ? NO_MORE : `expected ] but got ${end}`
  }
  return field
}

function below({ path, schema }: Field, name: string): Field | undefined {
  const { properties } = schema
  if (properties) {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined
    return property && { path: path ? `${path}.${name}` : name, schema: property }
  }
  const entries = entriesOf(schema)
  return entries && { path: `${path}[${name}]`, schema: entries }
}
