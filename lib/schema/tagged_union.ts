/**
 * Unions of objects that a field tells apart. A field is required by some alternatives and refused by those that don't have it, which
 * CEL rules say with a message. Where rules can't be, value validations say the same with a poorer message.
 *
 * @see https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules
 */
import type { JsonSchema } from '../core/resource.ts'
import { isEmpty, refuseLoneDefault, split } from './merge.ts'
import { below, type Place } from './refusal.ts'
import { valuesSchema } from './values.ts'

type Fields = Readonly<Record<string, JsonSchema>>
type Values = readonly unknown[]

/** How much rules may cost: a server estimates it, and takes 10 million for each rule and 100 million for a definition. */
export interface RuleScope {
  /** How many of this object there can be in another; Infinity where a list or map has no limit. */
  readonly count: number
  /** What the rules of this part of a definition may still cost. Undefined where the schema becomes a condition, which no rule can be. */
  readonly budget: { left: number } | undefined
}

const MAX_RULE_COST = 10_000_000

/** What a server takes in one request, in bytes, which limits the number of objects. */
const MAX_BYTES = 3 * 1024 * 1024

/** The union as one schema, or undefined if no field tells the alternatives apart. */
export function taggedUnion(schemas: readonly JsonSchema[], scope: RuleScope, place: Place): JsonSchema | undefined {
  const tag = schemas.every(isPlain) ? tagOf(schemas) : undefined
  if (tag === undefined) return undefined
  const alternatives = schemas.map(fieldsOf)
  const requiredBy = schemas.map(requiredOf)
  const values = alternatives.map((fields) => fields[tag]!['enum'] as Values)
  const always = requiredBy[0]!.filter((name) => requiredBy.every((names) => names.includes(name)))
  const properties: Record<string, JsonSchema> = {}
  const conditions: Record<string, JsonSchema>[] = schemas.map(() => ({}))
  const validations: JsonSchema[] = []
  const rules: object[] = []
  /** The field is required by these alternatives, or allowed in them only. */
  const demand = (name: string, isRequired: boolean, among: readonly number[]): void => {
    const when = among.flatMap((at) => values[at]!)
    // To has(), a field that is null is absent. Numbers with fractions are not worth their words.
    const canBeRule = !properties[name]!['nullable'] && properties[tag]!['type'] !== 'number'
    const rule = canBeRule ? ruleOf(tag, name, isRequired, when) : undefined
    if (rule && isAffordable(rule.cost, scope, always)) rules.push(rule.said)
    // Where both conditions fail, a server reports what the first lacks.
    else {validations.push({
        anyOf: isRequired
          ? [{ required: [name] }, isNone(tag, when)]
          : [{ not: { required: [name] } }, { properties: { [tag]: { enum: when } } }],
      })}
  }
  for (const name of new Set([tag, ...alternatives.flatMap((fields) => Object.keys(fields))])) {
    const having = [...schemas.keys()].filter((at) => Object.hasOwn(alternatives[at]!, name))
    const found = having.map((at) => alternatives[at]![name]!)
    // Of numbers, some may be integers alone.
    const { whole, apart } = split(
      name === tag ? found.map(({ type: _, ...words }) => words) : found,
      'anyOf',
      below(place, name),
    )
    properties[name] = name === tag ? { ...whole, ...valuesSchema(values.flat(), place) } : whole
    if (name === tag) continue
    apart.forEach((condition, i) => isEmpty(condition) || (conditions[having[i]!]![name] = condition))
    if (having.length < schemas.length) {
      refuseLoneDefault(whole, below(place, name))
      demand(name, false, having)
    }
    const requiring = having.filter((at) => requiredBy[at]!.includes(name))
    if (requiring.length > 0 && requiring.length < schemas.length) demand(name, true, requiring)
  }
  conditions.forEach((fields, at) =>
    isEmpty(fields) || validations.push({ anyOf: [{ properties: fields }, isNone(tag, values[at]!)] })
  )
  return {
    type: 'object',
    properties,
    required: always,
    ...(validations.length > 0 && { allOf: validations }),
    ...(rules.length > 0 && { 'x-kubernetes-validations': rules }),
  }
}

/** What objects and tags may say for the alternatives to be told apart. */
const PLAIN: ReadonlySet<string> = new Set(['type', 'properties', 'required', 'enum', 'description', 'title'])

function isPlain(schema: JsonSchema): boolean {
  return Object.keys(schema).every((keyword) => PLAIN.has(keyword))
}

function fieldsOf(schema: JsonSchema): Fields {
  return (schema['properties'] ?? {}) as Fields
}

function requiredOf(schema: JsonSchema): readonly string[] {
  return (schema['required'] ?? []) as readonly string[]
}

/** The field that all alternatives require, of which each takes values of one type that no other takes. */
function tagOf(schemas: readonly JsonSchema[]): string | undefined {
  return requiredOf(schemas[0]!).find((name) => {
    const fields = schemas.map((schema) => (requiredOf(schema).includes(name) ? fieldsOf(schema)[name]! : {}))
    const values = fields.flatMap((field) => (field['enum'] ?? []) as Values)
    return fields.every((field) => field['enum'] && isPlain(field)) && new Set(values).size === values.length &&
      new Set(values.map((value) => typeof value)).size === 1
  })
}

function isNone(tag: string, values: Values): JsonSchema {
  return { properties: { [tag]: { not: { enum: values } } } }
}

/** Takes what a rule costs from the budget, if that suffices. */
function isAffordable(cost: number, { count, budget }: RuleScope, always: readonly string[]): boolean {
  // Without limits on the way, a server takes as many objects as fit into a request: each has at least its required fields.
  const minBytes = always.reduce((sum, name) => sum + name.length + 4, 2)
  const all = cost * (count === Infinity ? MAX_BYTES / minBytes : count)
  if (!budget || all > MAX_RULE_COST || all > budget.left) return false
  budget.left -= all
  return true
}

function ruleOf(
  tag: string,
  name: string,
  isRequired: boolean,
  values: Values,
): { readonly said: object; readonly cost: number } | undefined {
  const [field, discriminator] = [name, tag].map(identifierOf)
  if (!field || !discriminator) return undefined
  const texts = values.map((value) => JSON.stringify(value))
  const [not, is, or, verb, reason] = isRequired
    ? ['', '!=', '&&', 'required', 'Required']
    : ['!', '==', '||', 'allowed only', 'Forbidden']
  return {
    said: {
      rule: `${not}has(self.${field}) || ${texts.map((text) => `self.${discriminator} ${is} ${text}`).join(` ${or} `)}`,
      message: `${name} is ${verb} when ${tag} is ${texts.map((text) => text.replace(/^"(\w+)"$/, '$1')).join(' or ')}`,
      reason: `FieldValue${reason}`,
      fieldPath: `.${name}`,
    },
    // A comparison costs 3, and 1 more for every ten characters.
    cost: texts.reduce((sum, text) => sum + 3 + Math.ceil(text.length / 10), 2),
  }
}

/** Names that CEL escapes. */
const RESERVED =
  /^(?:true|false|null|in|as|break|const|continue|else|for|function|if|import|let|loop|package|namespace|return|var|void|while)$/

/** A field's name in CEL. Names with other characters and with two underscores, which it escapes too, are not worth their words. */
function identifierOf(name: string): string | undefined {
  return /^(?!.*__)[A-Za-z_]\w*$/.test(name) ? name.replace(RESERVED, '__$&__') : undefined
}
