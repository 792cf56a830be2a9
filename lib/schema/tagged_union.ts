/**
 * Translates unions of objects that are discriminated by a field.
 *
 * Some alternatives require a field, others forbid it: CEL rules state that with a message. Where rules are not
 * allowed, value validations state the same with a poorer message.
 *
 * @see https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules
 */
import type { JsonSchema } from '../core/resource.ts'
import { isEmpty, refuseLoneDefault, refuseMetadata, requiredOf, split } from './merge.ts'
import { below, type Place } from './refusal.ts'
import { typeOf } from './schema_changes.ts'
import { valuesSchema } from './values.ts'

type Fields = Readonly<Record<string, JsonSchema>>
type Values = readonly unknown[]

/** The limits of rules. A server allows an estimated cost of 10 million for a rule, 100 million for a definition. */
export interface RuleScope {
  /** The maximum number of these objects in the root object. Infinity inside a list or map without a limit. */
  readonly count: number
  /** The remaining cost of rules. Undefined in a condition, where rules are not allowed. */
  readonly budget: { left: number } | undefined
}

const MAX_RULE_COST = 10_000_000

/** The maximum bytes of a request, which limit the number of objects. */
const MAX_BYTES = 3 * 1024 * 1024

/** Returns the union as one schema, or undefined if no field discriminates the alternatives. */
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
  /** Adds the condition that the field is required in these alternatives, or allowed only in them. */
  const addCondition = (name: string, isRequired: boolean, among: readonly number[]): void => {
    const when = among.flatMap((at) => values[at]!)
    // For has(), a null field is absent. Fractional numbers are left out for simplicity.
    const canBeRule = !properties[name]!['nullable'] && properties[tag]!['type'] !== 'number' &&
      isDeclared(properties[name]!)
    const rule = canBeRule ? ruleOf(tag, name, isRequired, when) : undefined
    if (rule && isAffordable(rule.cost, scope, always)) rules.push(rule.validation)
    // If both conditions fail, the server reports the first.
    else {validations.push({
        anyOf: isRequired
          ? [{ required: [name] }, noneOf(tag, when)]
          : [{ not: { required: [name] } }, { properties: { [tag]: { enum: when } } }],
      })}
  }
  for (const name of new Set([tag, ...alternatives.flatMap((fields) => Object.keys(fields))])) {
    const having = [...schemas.keys()].filter((at) => Object.hasOwn(alternatives[at]!, name))
    const found = having.map((at) => alternatives[at]![name]!)
    // Tags of type number may be integers in some alternatives only.
    const { shared, separate } = split(
      name === tag ? found.map(({ type: _, ...words }) => words) : found,
      'anyOf',
      below(place, name),
    )
    properties[name] = name === tag ? { ...shared, ...valuesSchema(values.flat(), place) } : shared
    if (name === tag) continue
    separate.forEach((condition, i) => isEmpty(condition) || (conditions[having[i]!]![name] = condition))
    if (having.length < schemas.length) {
      refuseLoneDefault(shared, below(place, name))
      addCondition(name, false, having)
    }
    const requiring = having.filter((at) => requiredBy[at]!.includes(name))
    if (requiring.length > 0 && requiring.length < schemas.length) addCondition(name, true, requiring)
  }
  for (const [at, fields] of conditions.entries()) {
    if (isEmpty(fields)) continue
    refuseMetadata({ properties: fields }, place)
    validations.push({ anyOf: [{ properties: fields }, noneOf(tag, values[at]!)] })
  }
  return {
    type: 'object',
    properties,
    required: always,
    ...(validations.length > 0 && { allOf: validations }),
    ...(rules.length > 0 && { 'x-kubernetes-validations': rules }),
  }
}

/** Keywords that objects and tags may have in a discriminated union. */
const PLAIN = /^(?:type|properties|required|enum|description|title|example)$/

function isPlain(schema: JsonSchema): boolean {
  return Object.keys(schema).every((keyword) => PLAIN.test(keyword))
}

/** Tests for a field that CEL knows: lists and maps of anything are left out of its types. */
function isDeclared(schema: JsonSchema): boolean {
  const inner = (schema['items'] ?? schema['additionalProperties']) as JsonSchema | undefined
  return inner ? isDeclared(inner) : typeOf(schema) !== 'anything'
}

function fieldsOf(schema: JsonSchema): Fields {
  return (schema['properties'] ?? {}) as Fields
}

/** Returns the field that all alternatives require, with distinct values of one type in each. */
function tagOf(schemas: readonly JsonSchema[]): string | undefined {
  return requiredOf(schemas[0]!).find((name) => {
    const fields = schemas.map((schema) => (requiredOf(schema).includes(name) ? fieldsOf(schema)[name]! : {}))
    const values = fields.flatMap((field) => (field['enum'] ?? []) as Values)
    return fields.every((field) => field['enum'] && isPlain(field)) && new Set(values).size === values.length &&
      new Set(values.map((value) => typeof value)).size === 1
  })
}

function noneOf(tag: string, values: Values): JsonSchema {
  return { properties: { [tag]: { not: { enum: values } } } }
}

/** Takes the cost of a rule from the budget. Returns false if the budget is too small. */
function isAffordable(cost: number, { count, budget }: RuleScope, always: readonly string[]): boolean {
  // Without limits, a server assumes as many objects as fit into a request: each has at least its required fields.
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
): { readonly validation: object; readonly cost: number } | undefined {
  const [field, discriminator] = [name, tag].map(identifierOf)
  if (!field || !discriminator) return undefined
  const texts = values.map((value) => JSON.stringify(value))
  const [not, is, or, verb, reason] = isRequired
    ? ['', '!=', '&&', 'required', 'Required']
    : ['!', '==', '||', 'allowed only', 'Forbidden']
  return {
    validation: {
      rule: `${not}has(self.${field}) || ${texts.map((text) => `self.${discriminator} ${is} ${text}`).join(` ${or} `)}`,
      message: `${name} is ${verb} when ${tag} is ${texts.map((text) => text.replace(/^"(\w+)"$/, '$1')).join(' or ')}`,
      reason: `FieldValue${reason}`,
      fieldPath: `.${name}`,
    },
    // A comparison costs 3, plus 1 for every ten characters.
    cost: texts.reduce((sum, text) => sum + 3 + Math.ceil(text.length / 10), 2),
  }
}

/** Reserved words, which CEL escapes. */
const RESERVED =
  /^(?:true|false|null|in|as|break|const|continue|else|for|function|if|import|let|loop|package|namespace|return|var|void|while)$/

/** Returns a field's name in CEL. Undefined for other characters or two underscores, which would need escapes. */
function identifierOf(name: string): string | undefined {
  return /^(?!.*__)[A-Za-z_]\w*$/.test(name) ? name.replace(RESERVED, '__$&__') : undefined
}
