/** Evaluates the CEL rules of unions: has() and comparisons with literals, joined by || and &&. */
import { jsonEqual } from '../../core/equal.ts'
import { isObject, type Json, type JsonObject } from '../json.ts'
import type { Schema } from '../schema/schema.ts'
import { type Cause, fault } from '../http/status.ts'

interface Rule {
  readonly rule: string
  readonly message?: string
  readonly reason?: string
  readonly fieldPath?: string
}

type Test = (self: JsonObject) => boolean

/**
 * Returns the faults of an object by the validation rules of its schema. Ignores rules with any other CEL. As on the
 * real server, rules are skipped for unchanged values, and after faults that make the structure unreliable.
 */
export function ruleFaults(
  schema: Schema,
  value: Json,
  old: Json | undefined,
  others: readonly Cause[],
): readonly Cause[] {
  return others.some(({ reason }) => BLOCKING.has(reason)) ? [] : faultsIn(schema, value, '', old)
}

const BLOCKING: ReadonlySet<string> = new Set([
  'FieldValueRequired',
  'FieldValueTypeInvalid',
  'FieldValueTooLong',
  'FieldValueTooMany',
])

function faultsIn(schema: Schema, value: Json, path: string, old?: Json): readonly Cause[] {
  if (old !== undefined && path !== '' && jsonEqual(value, old)) return []
  if (Array.isArray(value)) {
    return schema.items ? value.flatMap((item, i) => faultsIn(schema.items!, item, `${path}[${i}]`)) : []
  }
  if (!isObject(value)) return []
  const own = ((schema['x-kubernetes-validations'] ?? []) as readonly Rule[]).flatMap((rule) =>
    faultOf(rule, value, path)
  )
  const { properties = {}, additionalProperties } = schema
  return [
    ...own,
    ...Object.entries(value).flatMap(([name, child]) => {
      const below = Object.hasOwn(properties, name) ? properties[name] : additionalProperties
      if (!isObject(below as Json) || child === undefined) return []
      const before = isObject(old) && Object.hasOwn(old, name) ? old[name] : undefined
      return faultsIn(below as Schema, child, path ? `${path}.${name}` : name, before)
    }),
  ]
}

function faultOf(
  { rule, message = `failed rule: ${rule}`, reason, fieldPath }: Rule,
  self: JsonObject,
  path: string,
): readonly Cause[] {
  const test = testOf(rule)
  if (!test || test(self)) return []
  const at = `${path}${fieldPath === undefined ? '' : fieldPath.replace(/^\['(.*)'\]$/, '.$1')}`
  if (reason === 'FieldValueRequired') return [fault.required(at, message)]
  return [reason === 'FieldValueForbidden' ? fault.forbidden(at, message) : fault.invalid(at, self, message)]
}

const tests = new Map<string, Test | undefined>()

/** Returns undefined for a rule with unsupported CEL. */
function testOf(rule: string): Test | undefined {
  if (!tests.has(rule)) tests.set(rule, parse(rule))
  return tests.get(rule)
}

const TERM = /(!?)has\(self\.(\w+)\)|self\.(\w+) ([!=])= ("(?:[^"\\]|\\.)*"|[-\d.]+|true|false)/y
const JUNCTION = / (\|\||&&) /y

function parse(rule: string): Test | undefined {
  const alternatives: Test[][] = [[]]
  for (let at = 0;;) {
    TERM.lastIndex = at
    const [term, not, tested, field, comparison, literal] = TERM.exec(rule) ?? []
    if (term === undefined) return undefined
    const name = (tested ?? field)!.replace(/__(\w+?)__/g, (_, word: string) => ESCAPES[word] ?? word)
    const value = literal === undefined ? undefined : JSON.parse(literal) as Json
    alternatives.at(-1)!.push(
      tested
        ? (self) => ((self[name] ?? null) !== null) === !not
        : (self) => (self[name] === value) === (comparison === '='),
    )
    at += term.length
    if (at === rule.length) return (self) => alternatives.some((tests) => tests.every((test) => test(self)))
    JUNCTION.lastIndex = at
    const [text, junction] = JUNCTION.exec(rule) ?? []
    if (text === undefined) return undefined
    if (junction === '||') alternatives.push([])
    at += text.length
  }
}

const ESCAPES: Readonly<Record<string, string>> = { underscores: '__', dot: '.', dash: '-', slash: '/' }
