/** Evaluates the rules of a schema for an object, in the order and with the messages of the real server. */
import { jsonEqual } from '../../core/equal.ts'
import { isObject, type Json, type JsonObject } from '../model/json.ts'
import type { Cause } from '../model/status.ts'
import { usableMessage } from './expressions.ts'
import { type CompiledRule, compileRules } from './rules.ts'
import { entriesOf, isEmbedded, type Rule, type RuleSchema, valueOf, withResourceFields } from './schema.ts'
import { CelError, optionalOf, outcomeOf, type Value } from './values.ts'

/** The compiled rules of a schema and of what is below it. */
export interface Validator {
  readonly schema: RuleSchema
  readonly isResource: boolean
  readonly rules: readonly CompiledRule[]
  readonly items?: Validator
  readonly entries?: Validator
  readonly properties: ReadonlyMap<string, Validator>
}

/** Compiles all rules of a schema. Returns undefined if it has none. */
export function validatorOf(schema: RuleSchema): Validator | undefined {
  return build(schema, true)
}

function build(schema: RuleSchema, isResource = isEmbedded(schema)): Validator | undefined {
  const rules = schema['x-kubernetes-validations'] ? compileRules(schema, isResource) : []
  const items = schema.items && build(schema.items)
  const values = entriesOf(schema)
  const entries = values && build(values)
  const properties = new Map<string, Validator>()
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const validator = build(property)
    if (validator) properties.set(name, validator)
  }
  if (rules.length === 0 && !items && !entries && properties.size === 0) return undefined
  return { schema, isResource, rules, ...(items && { items }), ...(entries && { entries }), properties }
}

/** What an evaluation adds to a response. */
export interface RuleResult {
  readonly causes: readonly Cause[]
  /** Broken rules of unchanged values, which do not fail an update. */
  readonly warnings: readonly string[]
}

export function validate(validator: Validator, object: Json, old: Json | undefined): RuleResult {
  const run = new Run()
  run.visit(
    validator,
    '',
    object,
    old,
    old === undefined ? UNRELATED : { own: new Pair(object, old, validator.schema) },
  )
  return run
}

/** Returns the broken rules of a default, which is at `path`. */
export function defaultFaults(schema: RuleSchema, value: Json, path: string): readonly Cause[] {
  const validator = build(schema)
  const run = new Run()
  if (validator) run.visit(validator, path, value, undefined, UNRELATED)
  return run.causes
}

/** A value and that of the old object at its place. */
class Pair {
  readonly value: Json
  readonly old: Json
  readonly schema: RuleSchema
  #isEqual: boolean | undefined

  constructor(value: Json, old: Json, schema: RuleSchema) {
    this.value = value
    this.old = old
    this.schema = schema
  }

  get isEqual(): boolean {
    return this.#isEqual ??= jsonEqual(this.value, this.old)
  }
}

/** How a value is related to the old object: by itself, or as a part of a value that is. */
interface Relation {
  readonly own?: Pair
  readonly parent?: Pair
}

const UNRELATED: Relation = {}

function below(relation: Relation, value: Json, old: Json | undefined, schema: RuleSchema | undefined): Relation {
  const { own } = relation
  if (!own) return relation
  return old === undefined || old === null || !schema
    ? { parent: own }
    : { own: new Pair(value, old, schema), parent: own }
}

class Run implements RuleResult {
  readonly causes: Cause[] = []
  readonly warnings: string[] = []

  visit(validator: Validator, path: string, value: Json, old: Json | undefined, relation: Relation): void {
    if (value === null || value === undefined) return
    if (validator.rules.length > 0) this.#evaluate(validator, path, value, old ?? undefined, relation)
    if (Array.isArray(value)) this.#items(validator, path, value, old, relation)
    else if (isObject(value)) this.#entries(validator, path, value, old, relation)
  }

  #entries(validator: Validator, path: string, value: JsonObject, old: Json | undefined, relation: Relation): void {
    const { entries, properties, schema } = validator
    const before = isObject(old) ? old : {}
    for (const [name, child] of Object.entries(value)) {
      const next = properties.get(name) ?? entries
      if (!next || child === undefined) continue
      const oldChild = Object.hasOwn(before, name) ? before[name] : undefined
      const place = properties.has(name) ? (path ? `${path}.${name}` : name) : `${path}[${name}]`
      const isIdentity = !relation.parent && (name === 'apiVersion' || name === 'kind')
      const childSchema = schema.properties?.[name] ?? schema.additionalProperties as RuleSchema | undefined
      this.visit(next, place, child, oldChild, isIdentity ? UNRELATED : below(relation, child, oldChild, childSchema))
    }
  }

  #items(validator: Validator, path: string, value: readonly Json[], old: Json | undefined, relation: Relation): void {
    const { items, schema } = validator
    if (!items) return
    const find = finderOf(schema, Array.isArray(old) ? old : [])
    for (const [index, item] of value.entries()) {
      const oldItem = find(item)
      this.visit(items, `${path}[${index}]`, item, oldItem, below(relation, item, oldItem, schema.items))
    }
  }

  #evaluate(
    { rules, schema: own, isResource }: Validator,
    path: string,
    value: Json,
    old: Json | undefined,
    relation: Relation,
  ): void {
    const schema = isResource ? withResourceFields(own) : own
    const self = lazy(() => valueOf(value, schema))
    const oldSelf = old === undefined ? undefined : lazy(() => valueOf(old, schema))
    for (const compiled of rules) {
      const { rule, program, problem, usesOldSelf } = compiled
      if (problem !== undefined) {
        this.#add(path, typeText(schema), `rule compile error: ${problem}`)
        continue
      }
      if (!program || (usesOldSelf && !oldSelf && !rule.optionalOldSelf)) continue
      const outcome = outcomeOf(() => {
        const before = usesOldSelf ? oldSelf?.() : undefined
        return program.evaluate({ self: self(), oldSelf: rule.optionalOldSelf ? optionalOf(before) : before })
      })
      if (outcome instanceof CelError && this.#addFailure(path, schema, rule, outcome)) return
      if (outcome === true || outcome instanceof CelError) continue
      const cause = causeOf(compiled, path, value, schema, messageOf(compiled, self, oldSelf))
      const isOld = !usesOldSelf && (relation.own ? relation.own.isEqual : relation.parent?.isEqual ?? false)
      if (isOld) this.warnings.push(`${cause.field}: ${cause.message}`)
      else this.causes.push(cause)
    }
  }

  #add(path: string, value: string, detail: string): void {
    const message = `Invalid value: ${value}: ${detail}`
    this.causes.push({ reason: 'FieldValueInvalid', field: path || '<nil>', message })
  }

  /** Adds the failure of an evaluation. Returns whether no further rules run. */
  #addFailure(path: string, schema: RuleSchema, rule: Rule, { message }: CelError): boolean {
    const text = shortText(rule)
    if (message.startsWith('no such overload')) {
      const detail = 'call arguments did not match a supported operator, function or macro signature for rule'
      this.#add(path, typeText(schema), `'${message}': ${detail}: ${text}`)
      return false
    }
    if (message.startsWith('operation cancelled')) {
      const detail = 'no further validation rules will be run due to call cost exceeds limit for rule'
      this.#add(path, typeText(schema), `'${message}': ${detail}: ${text}`)
      return true
    }
    this.#add(path, typeText(schema), `${message} evaluating rule: ${text}`)
    return false
  }
}

function typeText({ type }: RuleSchema): string {
  return JSON.stringify(type ?? '')
}

function lazy<T>(make: () => T): () => T {
  let value: { readonly made: T } | undefined
  return () => (value ??= { made: make() }).made
}

function shortText({ message, rule }: Rule): string {
  return (message || rule || '').trim()
}

/** Returns the message of a broken rule. A message expression that fails, or has no usable result, is not used. */
function messageOf(
  { rule, message }: CompiledRule,
  self: () => Value,
  oldSelf: (() => Value) | undefined,
): string {
  const otherwise = rule.message ? rule.message.trim() : `failed rule: ${shortText(rule)}`
  if (!message) return otherwise
  return usableMessage(outcomeOf(() => message.evaluate({ self: self(), oldSelf: oldSelf?.() }))) ?? otherwise
}

function causeOf(
  { rule, fieldPath }: CompiledRule,
  path: string,
  value: Json,
  { type }: RuleSchema,
  detail: string,
): Cause {
  const field = [path, fieldPath].filter(Boolean).join('.') || '<nil>'
  const shown = type === 'object' || type === 'array' ? '' : `: ${JSON.stringify(value)}`
  switch (rule.reason) {
    case 'FieldValueForbidden':
      return { reason: rule.reason, field, message: `Forbidden: ${detail}` }
    case 'FieldValueRequired':
      return { reason: rule.reason, field, message: `Required value: ${detail}` }
    case 'FieldValueDuplicate':
      return { reason: rule.reason, field, message: `Duplicate value${shown}` }
    default:
      return { reason: 'FieldValueInvalid', field, message: `Invalid value${shown}: ${detail}` }
  }
}

/** Returns a function that finds an item's old value: by its keys in a list of type map, otherwise none. */
function finderOf(schema: RuleSchema, old: readonly Json[]): (item: Json) => Json | undefined {
  if (schema['x-kubernetes-list-type'] !== 'map') return () => undefined
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  const idOf = (item: Json): string | undefined => {
    if (!isObject(item)) return undefined
    const values = keys.map((key) => item[key])
    return values.some((each) => each === undefined) ? undefined : JSON.stringify(values)
  }
  const found = new Map<string, Json>()
  for (const item of old) {
    const id = idOf(item)
    if (id !== undefined && !found.has(id)) found.set(id, item)
  }
  return (item) => {
    const id = idOf(item)
    return id === undefined ? undefined : found.get(id)
  }
}
