/** Checks the rules in a CustomResourceDefinition: their form, their expressions and their costs. */
import { type Cause, fault } from '../model/status.ts'
import { fieldOf } from './field_path.ts'
import { type CompiledRule, compileRules } from './rules.ts'
import { entriesOf, isEmbedded, type Rule, type RuleSchema } from './schema.ts'

/** The highest estimated cost of one expression, and of all expressions of a schema. */
const MAX_COST = 10_000_000
const MAX_TOTAL_COST = 100_000_000
const MAX_SHOWN = 4

/**
 * Returns the faults of all rules of a schema. `isUnchanged`: the cost of each rule is not checked again. `others`: the
 * other faults of the schema; rules at and above them are not compiled.
 */
export function definitionFaults(
  schema: RuleSchema,
  path: string,
  isUnchanged: boolean,
  others: readonly Cause[],
): readonly Cause[] {
  const check = new Check(isUnchanged, others)
  const formFaults = check.visit(schema, { path, isResource: true, cardinality: 1 })
  return [...formFaults, ...check.faults, ...check.totalFaults(path)]
}

interface Place {
  readonly path: string
  readonly isResource: boolean
  /** How often values can exist in an object, as far as the schemas above limit it. */
  readonly cardinality: number | undefined
  /** The first schema above whose values have no place in the old object. */
  readonly uncorrelated?: string
}

class Check {
  readonly faults: Cause[] = []
  readonly #isUnchanged: boolean
  readonly #others: readonly Cause[]
  readonly #costs: { readonly path: string; readonly cost: number }[] = []
  #total = 0

  constructor(isUnchanged: boolean, others: readonly Cause[]) {
    this.#isUnchanged = isUnchanged
    this.#others = others
  }

  /** Returns the faults in the form of the rules here and below; those of expressions go to `faults`. */
  visit(schema: RuleSchema, place: Place): Cause[] {
    const faults = this.#children(schema, place).flatMap(([child, at]) => this.visit(child, at))
    const rules = schema['x-kubernetes-validations'] ?? []
    faults.push(...rules.flatMap((rule, index) => formFaults(rule, schema, rulePath(place.path, index))))
    if (faults.length > 0 || rules.length === 0) return faults
    if (this.#others.some(({ field }) => field.startsWith(`${place.path}.`))) return faults
    const compiled = compileRules(schema, place.isResource)
    if (compiled.length === 0) this.faults.push(untyped(`${place.path}.x-kubernetes-validations`))
    for (const [index, rule] of compiled.entries()) this.#checkRule(rule, index, place)
    return faults
  }

  #children(schema: RuleSchema, place: Place): [RuleSchema, Place][] {
    const { path } = place
    const cardinality = cardinalityBelow(schema, place.cardinality)
    const at = (name: string, child: RuleSchema, isCorrelated = true): [RuleSchema, Place] => {
      const uncorrelated = place.uncorrelated ?? (isCorrelated ? undefined : path)
      return [child, {
        path: `${path}.${name}`,
        isResource: isEmbedded(child),
        cardinality,
        ...(uncorrelated && { uncorrelated }),
      }]
    }
    const { properties = {}, items } = schema
    const entries = entriesOf(schema)
    return [
      ...(entries ? [at('additionalProperties', entries)] : []),
      ...Object.entries(properties).map(([name, property]) => at(`properties[${name}]`, property)),
      ...(items ? [at('items', items, schema['x-kubernetes-list-type'] === 'map')] : []),
    ]
  }

  #checkRule(compiled: CompiledRule, index: number, { path, cardinality, uncorrelated }: Place): void {
    const at = rulePath(path, index)
    const { rule, problem } = compiled
    const cost = compiled.cost * (cardinality ?? compiled.cardinality)
    this.#addCost(`${at}.rule`, 'estimated rule cost', cost)
    if (problem !== undefined) this.faults.push(invalidRule(`${at}.rule`, rule, problem))
    if (compiled.messageProblem !== undefined) {
      this.faults.push(invalidRule(`${at}.messageExpression`, rule, compiled.messageProblem))
    } else if (compiled.message) {
      this.#addCost(`${at}.messageExpression`, 'estimated messageExpression cost', compiled.messageCost)
    }
    if (compiled.usesOldSelf) {
      if (uncorrelated !== undefined) {
        const detail = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelated}`
        this.faults.push(fault.invalid(`${at}.rule`, rule.rule, detail))
      }
    } else if (rule.optionalOldSelf !== undefined) {
      const detail = 'may not be set if oldSelf is not used in rule'
      this.faults.push(fault.invalid(`${at}.optionalOldSelf`, rule.optionalOldSelf, detail))
    }
  }

  #addCost(path: string, name: string, cost: number): void {
    if (!this.#isUnchanged && cost > MAX_COST) {
      this.faults.push(fault.forbidden(path, costMessage(name, cost, MAX_COST)))
    }
    this.#total += cost
    if (cost >= MAX_TOTAL_COST / 100) this.#costs.push({ path, cost })
  }

  totalFaults(path: string): Cause[] {
    if (this.#total <= MAX_TOTAL_COST) return []
    const detail = 'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema'
    const name = 'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema'
    const most = this.#costs.toSorted((a, b) => b.cost - a.cost).slice(0, MAX_SHOWN)
    return [
      ...most.map((each) => fault.forbidden(each.path, detail)),
      fault.forbidden(path, costMessage(name, this.#total, MAX_TOTAL_COST)),
    ]
  }
}

/** Reports rules on values that have no type for expressions. */
function untyped(field: string): Cause {
  const detail = 'failed to construct type information for x-kubernetes-validations rules: unable to convert ' +
    'structural schema to CEL declarations'
  return { reason: 'InternalError', field, message: `Internal error: internal error: ${detail}` }
}

function rulePath(path: string, index: number): string {
  return `${path}.x-kubernetes-validations[${index}]`
}

/** The real server shows a rule with the names of its fields in Go, as JSON for HTML. */
function invalidRule(field: string, given: Rule, detail: string): Cause {
  const { rule = '', message = '', messageExpression = '', reason, fieldPath = '', optionalOldSelf } = given
  const shown = JSON.stringify({
    Rule: rule,
    Message: message,
    MessageExpression: messageExpression,
    Reason: reason ?? null,
    FieldPath: fieldPath,
    OptionalOldSelf: optionalOldSelf ?? null,
  })
  const escaped = shown.replace(/[<>&]/g, (char) => `\\u00${char.charCodeAt(0).toString(16)}`)
  return { reason: 'FieldValueInvalid', field, message: `Invalid value: ${escaped}: ${detail}` }
}

function costMessage(name: string, cost: number, limit: number): string {
  const times = cost / limit
  const factor = times > 100 ? 'more than 100x' : times < 1.5 ? `${times.toFixed(6)}x` : `${times.toFixed(1)}x`
  return `${name} exceeds budget by factor of ${factor} (try simplifying the rule, or adding maxItems, maxProperties, ` +
    'and maxLength where arrays, maps, and strings are declared)'
}

function cardinalityBelow(schema: RuleSchema, cardinality: number | undefined): number | undefined {
  const factor = maxElements(schema)
  return cardinality === undefined || factor === undefined ? undefined : cardinality * factor
}

/** Returns how many values below a schema one of its values can have; undefined if there is no limit. */
function maxElements({ type, additionalProperties, maxProperties, maxItems }: RuleSchema): number | undefined {
  if (type === 'array') return maxItems === undefined ? undefined : Math.max(maxItems, 0)
  if (type !== 'object' || additionalProperties === undefined) return 1
  return maxProperties === undefined ? undefined : Math.max(maxProperties, 0)
}

const REASONS = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired']
const LINE_BREAK = /[\n\r]/

function formFaults(given: Rule, schema: RuleSchema, path: string): Cause[] {
  const { rule = '', message = '', messageExpression = '', reason, fieldPath = '' } = given
  const faults: Cause[] = []
  if (!rule.trim()) faults.push(fault.required(`${path}.rule`, 'rule is not specified'))
  else if (message && !message.trim()) {
    faults.push(fault.invalid(`${path}.message`, message, 'must be non-empty if specified'))
  } else if (LINE_BREAK.test(message.trim())) {
    faults.push(fault.invalid(`${path}.message`, message, 'must not contain line breaks'))
  } else if (LINE_BREAK.test(rule.trim()) && !message.trim()) {
    faults.push(fault.required(`${path}.message`, 'message must be specified if rule contains line breaks'))
  }
  if (messageExpression && !messageExpression.trim()) {
    faults.push(
      fault.required(`${path}.messageExpression`, 'messageExpression must be non-empty if specified'),
    )
  }
  if (reason !== undefined && !REASONS.includes(reason)) {
    faults.push(fault.notSupported(`${path}.reason`, reason, REASONS))
  }
  if (!fieldPath) return faults
  const wrong = (detail: string): number => faults.push(fault.invalid(`${path}.fieldPath`, fieldPath, detail))
  if (!fieldPath.trim()) wrong('must be non-empty if specified')
  if (LINE_BREAK.test(fieldPath)) wrong('must not contain line breaks')
  if (typeof fieldOf(fieldPath, schema) === 'string') wrong('must be a valid path')
  return faults
}
