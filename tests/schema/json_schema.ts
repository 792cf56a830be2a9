/**
 * A small evaluator of structural OpenAPI v3 schemas: prunes, fills in defaults and validates like an API server.
 *
 * Written from the Kubernetes documentation only; shares nothing with lib/schema.
 */
type Json = Record<string, unknown>

/** Returns what a server stores of a value: forbidden nulls dropped, unknown fields pruned, defaults filled in. */
export function stored(schema: Json, value: unknown): unknown {
  if (Array.isArray(value)) return schema['items'] ? value.map((item) => stored(schema['items'] as Json, item)) : value
  if (!isObject(value)) return value
  const properties = (schema['properties'] ?? {}) as Record<string, Json>
  const others = schema['additionalProperties'] as Json | undefined
  const keeps = schema['x-kubernetes-preserve-unknown-fields'] === true
  const result: Json = {}
  for (const [name, field] of Object.entries(value)) {
    const known = Object.hasOwn(properties, name) ? properties[name]! : others
    if (known ? field === null && !known['nullable'] : !keeps) continue
    result[name] = known ? stored(known, field) : field
  }
  for (const [name, field] of Object.entries(properties)) {
    if (!(name in result) && 'default' in field) result[name] = stored(field, structuredClone(field['default']))
  }
  return result
}

/** Tests whether a stored value is valid. */
export function isValid(schema: Json, value: unknown): boolean {
  if (value === null && schema['nullable'] !== true && 'type' in schema) return false
  if (value !== null && !hasType(schema, value)) return false
  return CONDITIONS.every(([keyword, holds]) => !(keyword in schema) || holds(schema[keyword] as never, value, schema))
}

function hasType(schema: Json, value: unknown): boolean {
  if (schema['x-kubernetes-int-or-string']) return typeof value === 'string' || Number.isInteger(value)
  switch (schema['type']) {
    case undefined:
      return true
    case 'integer':
      return Number.isInteger(value) && (schema['format'] !== 'int32' || value === (value as number) >> 0)
    case 'number':
      return typeof value === 'number' && (schema['format'] !== 'float' || Math.abs(value) < 3.5e38)
    case 'array':
      return Array.isArray(value)
    case 'object':
      return isObject(value)
    default:
      // deno-lint-ignore valid-typeof -- of a schema's other types: boolean and string
      return typeof value === schema['type']
  }
}

/** The condition of each keyword. A keyword of one type does not apply to values of another, null included. */
const CONDITIONS: readonly (readonly [string, (argument: never, value: unknown, schema: Json) => boolean])[] = [
  ['enum', (values: unknown[], value) => values.some((one) => one === value && value !== null)],
  [
    'minimum',
    (limit: number, value, schema) =>
      typeof value !== 'number' || (schema['exclusiveMinimum'] ? value > limit : value >= limit),
  ],
  [
    'maximum',
    (limit: number, value, schema) =>
      typeof value !== 'number' || (schema['exclusiveMaximum'] ? value < limit : value <= limit),
  ],
  ['multipleOf', (divisor: number, value) => typeof value !== 'number' || Number.isInteger(value / divisor)],
  ['minLength', (limit: number, value) => typeof value !== 'string' || [...value].length >= limit],
  ['maxLength', (limit: number, value) => typeof value !== 'string' || [...value].length <= limit],
  ['pattern', (pattern: string, value) => typeof value !== 'string' || fromRe2(pattern).test(value)],
  ['format', (format: string, value) => typeof value !== 'string' || hasFormat(format, value)],
  ['minItems', (limit: number, value) => !Array.isArray(value) || value.length >= limit],
  ['maxItems', (limit: number, value) => !Array.isArray(value) || value.length <= limit],
  ['required', (names: string[], value) => !isObject(value) || names.every((name) => name in value)],
  ['properties', (fields: Record<string, Json>, value) =>
    !isObject(value) ||
    Object.entries(fields).every(([name, field]) => !(name in value) || isValid(field, value[name]))],
  [
    'additionalProperties',
    (field: Json, value) => !isObject(value) || Object.values(value).every((one) => isValid(field, one)),
  ],
  ['items', (item: Json, value) => !Array.isArray(value) || value.every((one) => isValid(item, one))],
  ['minProperties', (limit: number, value) => !isObject(value) || Object.keys(value).length >= limit],
  ['maxProperties', (limit: number, value) => !isObject(value) || Object.keys(value).length <= limit],
  ['x-kubernetes-list-type', (type: string, value, schema) => !Array.isArray(value) || isDistinct(type, value, schema)],
  [
    'x-kubernetes-embedded-resource',
    (_: boolean, value) => !isObject(value) || ['apiVersion', 'kind'].every((name) => Boolean(value[name])),
  ],
  ['allOf', (schemas: Json[], value) => schemas.every((one) => isValid(one, value))],
  ['anyOf', (schemas: Json[], value) => schemas.some((one) => isValid(one, value))],
  ['not', (schema: Json, value) => value === null || !isValid(schema, value)],
  [
    'x-kubernetes-validations',
    (rules: { rule: string }[], value) => !isObject(value) || rules.every(({ rule }) => holds(rule, value)),
  ],
]

/** Tests whether the items of a set, or the keys of a map, are distinct. */
function isDistinct(type: string, list: readonly unknown[], schema: Json): boolean {
  if (type === 'atomic') return true
  const keys = schema['x-kubernetes-list-map-keys'] as string[] | undefined
  const sorted = (_: string, value: unknown): unknown =>
    isObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1)) : value
  const texts = list.map((item) => JSON.stringify(keys ? keys.map((key) => (item as Json)[key]) : item, sorted))
  return new Set(texts).size === texts.length
}

/** Evaluates a CEL rule of comparisons with literals and has() as JavaScript. Other rules count as true. */
function holds(rule: string, self: Json): boolean {
  const known = /^(?:!?has\(self\.\w+\)|self\.\w+ [!=]= (?:"(?:[^"\\]|\\.)*"|[-\w.]+)| \|\| | && )+$/
  if (!known.test(rule)) return true
  const field = (name: string): string =>
    JSON.stringify(name.replace(/__(\w+?)__/g, (_, word: string) => ESCAPED[word] ?? word))
  const code = rule.replace(
    /"(?:[^"\\]|\\.)*"|has\(self\.(\w+)\)|self\.(\w+)/g,
    (text, tested?: string, read?: string) => {
      return tested ? `((self[${field(tested)}] ?? null) !== null)` : read ? `self[${field(read)}]` : text
    },
  )
  return new Function('self', `return ${code}`)(self) as boolean
}

const ESCAPED: Record<string, string> = { underscores: '__', dot: '.', dash: '-', slash: '/' }

function fromRe2(pattern: string): RegExp {
  const [, flags = '', rest = ''] = /^(?:\(\?([ims]+)\))?([^]*)$/.exec(pattern)!
  return new RegExp(
    rest.replace(/\\x\{([0-9A-Fa-f]+)\}/g, '\\u{$1}').replaceAll('(?P<', '(?<').replace(
      /\\(["'%:~ ,;@&!#=<>`])/g,
      '$1',
    ),
    `${flags}u`,
  )
}

function hasFormat(format: string, value: string): boolean {
  if (format === 'ipv6') return value.includes(':') && URL.canParse(`http://[${value}]`)
  if (format === 'cidr') {
    return value.includes('/') && (value.includes(':')
      ? URL.canParse(`http://[${value.split('/')[0]!}]`) &&
        Number(value.split('/')[1]) <= 128
      : true)
  }
  return true
}

/** Returns how a schema breaks the rules of structural schemas, each with the path in the schema. */
export function structuralFaults(schema: Json, path = '$'): readonly string[] {
  const faults: string[] = []
  const free = schema['x-kubernetes-int-or-string'] === true || schema['x-kubernetes-preserve-unknown-fields'] === true
  if (!('type' in schema) && !free) faults.push(`${path} has no type`)
  if ('type' in schema && schema['x-kubernetes-int-or-string']) faults.push(`${path} has a type and is int-or-string`)
  if (schema['type'] === 'array' && !schema['items']) faults.push(`${path} has no items`)
  if (schema['properties'] && schema['additionalProperties']) {
    faults.push(`${path} has properties and additionalProperties`)
  }
  for (const keyword of Object.keys(schema)) {
    if (
      !ALLOWED.has(keyword) &&
      !keyword.startsWith('x-kubernetes-')
    ) faults.push(`${path} has ${keyword}`)
  }
  if ('default' in schema && !isValid(schema, stored(schema, schema['default']))) {
    faults.push(`${path} has an invalid default`)
  }
  for (const [name, field] of children(schema)) faults.push(...structuralFaults(field, `${path}${name}`))
  for (const junctor of JUNCTORS) {
    for (const inner of [schema[junctor] ?? []].flat() as Json[]) {
      faults.push(...conditionFaults(inner, schema, `${path}.${junctor}`))
    }
  }
  return faults
}

const JUNCTORS = ['allOf', 'anyOf', 'oneOf', 'not']
const ALLOWED = new Set([
  'type',
  'format',
  'title',
  'description',
  'example',
  'default',
  'nullable',
  'enum',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'pattern',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
  'required',
  'properties',
  'additionalProperties',
  'items',
  ...JUNCTORS,
])
const FORBIDDEN_INSIDE = ['type', 'default', 'nullable', 'description', 'title', 'additionalProperties']

/** Inside a junctor only conditions are allowed, on fields of the structure outside. */
function conditionFaults(inner: Json, structure: Json, path: string): readonly string[] {
  const faults = Object.keys(inner)
    .filter((keyword) =>
      FORBIDDEN_INSIDE.includes(keyword) || keyword.startsWith('x-kubernetes-') || !ALLOWED.has(keyword)
    )
    .map((keyword) => `${path} has ${keyword}`)
  const outside = new Map(children(structure))
  for (const [name, field] of children(inner)) {
    const there = outside.get(name)
    if (there) faults.push(...conditionFaults(field, there, `${path}${name}`))
    else faults.push(`${path}${name} is not in the structure`)
  }
  for (const junctor of JUNCTORS) {
    for (const nested of [inner[junctor] ?? []].flat() as Json[]) {
      faults.push(...conditionFaults(nested, structure, `${path}.${junctor}`))
    }
  }
  return faults
}

function children(schema: Json): [string, Json][] {
  const fields = Object.entries((schema['properties'] ?? {}) as Record<string, Json>).map((
    [name, field],
  ): [string, Json] => [`.${name}`, field])
  if (schema['items']) fields.push(['[]', schema['items'] as Json])
  if (schema['additionalProperties']) fields.push(['{}', schema['additionalProperties'] as Json])
  return fields
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
