/** Verifies what the checks of `kubeloop/schema` add to a schema: throws what the API server would refuse. */
import type { JsonSchema } from '../core/resource.ts'
import { schemaAt, stepsOf } from './paths.ts'

/** Throws a TypeError with the path of the schema. */
export type Refuse = (what: string, advice?: string) => never

const REASONS: readonly unknown[] = ['Invalid', 'Forbidden', 'Required', 'Duplicate'].map((why) => `FieldValue${why}`)

const RULE_KEYS = ['rule', 'message', 'messageExpression', 'reason', 'fieldPath', 'optionalOldSelf']

/** Verifies the form of a rule; the server, or `kubeloop crd`, compiles the expression. */
export function verifyRule(rule: Readonly<Record<string, unknown>>, schema: JsonSchema, refuse: Refuse): void {
  const wrong = (what: string): never => refuse(`given a CEL rule ${what}`)
  const unknown = Object.keys(rule).find((key) => !RULE_KEYS.includes(key))
  if (unknown !== undefined) wrong(`with "${unknown}", which is none of ${RULE_KEYS.join(', ')}`)
  if (!isText(rule['rule'])) wrong('without an expression')
  for (const key of ['message', 'messageExpression', 'fieldPath']) {
    if (rule[key] !== undefined && !isText(rule[key])) wrong(`whose ${key} is empty`)
  }
  const { message, reason, fieldPath } = rule as { message?: string; reason?: unknown; fieldPath?: string }
  if (/[\n\r]/.test(message?.trim() ?? '')) wrong('whose message has more than one line')
  if (message === undefined && /[\n\r]/.test(String(rule['rule']).trim())) wrong('of several lines, without a message')
  if (reason !== undefined && !REASONS.includes(reason)) {
    wrong(`with the reason "${String(reason)}"; it may be ${REASONS.join(', ')}`)
  }
  const steps = fieldPath === undefined ? [] : stepsOf(fieldPath)
  if (!steps?.every((step) => /^\.|^\['/.test(step)) || 'missing' in schemaAt(steps, schema)) {
    wrong(`with the fieldPath "${fieldPath}", which is no field of it`)
  }
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== ''
}

export function verifyType(what: string, type: 'array' | 'object', schema: JsonSchema, refuse: Refuse): void {
  if (schema['type'] !== type) refuse(`given ${what}`, `it is for ${type === 'array' ? 'arrays' : 'objects'}`)
}

export function verifyEntries(limits: readonly (number | undefined)[], schema: JsonSchema, refuse: Refuse): void {
  verifyType('entries()', 'object', schema, refuse)
  for (const limit of limits) {
    if (limit === undefined || (Number.isSafeInteger(limit) && limit >= 0)) continue
    refuse(`limited to ${limit} entries`, 'give an integer from 0')
  }
}

export function verifyEmbedded(schema: JsonSchema, refuse: Refuse): void {
  verifyType('embedded()', 'object', schema, refuse)
  if (schema['additionalProperties']) refuse('a record that is an embedded object', 'use z.looseObject()')
}

export function verifySet(schema: JsonSchema, refuse: Refuse): void {
  verifyType('listSet()', 'array', schema, refuse)
  const items = schema['items'] as JsonSchema
  if (items['nullable']) refuse('a set whose items may be null', 'take .nullable() from the items')
  if (items['type'] === 'object' && items['x-kubernetes-map-type'] !== 'atomic') {
    refuse('a set of objects', 'make the objects atomic(), or use listMap()')
  }
  if (items['type'] === 'array' && ![undefined, 'atomic'].includes(items['x-kubernetes-list-type'] as 'atomic')) {
    refuse('a set of lists that are not atomic', 'make the lists atomic()')
  }
}

export function verifyMap(keys: readonly string[], schema: JsonSchema, refuse: Refuse): void {
  verifyType('listMap()', 'array', schema, refuse)
  const items = schema['items'] as JsonSchema
  if (items['nullable']) refuse('a list with keys whose items may be null', 'take .nullable() from the items')
  if (items['type'] !== 'object') refuse('a list with keys whose items are no objects', 'use listSet()')
  if (keys.length === 0) refuse('a list with keys that names no key', "name the fields, as in listMap('name')")
  if (new Set(keys).size < keys.length) refuse('a list with keys that names a key twice')
  for (const name of keys) verifyKey(name, items, refuse)
}

function verifyKey(name: string, items: JsonSchema, refuse: Refuse): void {
  const fields = (items['properties'] ?? {}) as Readonly<Record<string, JsonSchema>>
  const key = Object.hasOwn(fields, name) ? fields[name] : undefined
  const prefix = `a list with the key "${name}",`
  if (!key) return refuse(`${prefix} which is no field of its items`)
  if (key['type'] === 'object' || key['type'] === 'array') refuse(`${prefix} which is no scalar`)
  if (key['nullable']) refuse(`${prefix} which may be null`, 'take .nullable() from it')
  const required = (items['required'] ?? []) as readonly string[]
  if (required.includes(name) || key['default'] !== undefined) return
  refuse(`${prefix} which is optional`, 'require it, or give it a default')
}
