/**
 * Selectors: of labels as text (the full grammar of apimachinery's parser) and as LabelSelector objects; of fields:
 * `path=value` and `path!=value` on the selectable fields of a kind.
 */
import { int64, type LabelRequirement, satisfies } from '../../core/label_requirement.ts'
import { type ApiObject, at, field, isObject, type Json, type JsonObject } from './json.ts'
import type { Kind } from './kinds.ts'
import { labelFaults, labelValueProblems, qualifiedNameProblems } from './names.ts'
import { badRequest, type Cause, fault } from './status.ts'

type Labels = Readonly<Record<string, string>> | undefined

const TOKEN = /==|!=|[=!(),<>]|[^\s=!(),<>]+/g
const isWord = (token: string): boolean => /^[^=!(),<>]/.test(token)

const COMPARISONS: ReadonlyMap<string, LabelRequirement['operator']> = new Map([
  ['=', 'in'],
  ['==', 'in'],
  ['!=', 'notin'],
  ['<', 'lt'],
  ['>', 'gt'],
])

/** A parsed selector of labels, or of the fields of objects. */
export interface Selector<T> {
  readonly matches: (value: T) => boolean
  /** A label or field, with the value that all that match have; undefined if there is none. */
  readonly required: { readonly path: string; readonly value: string } | undefined
}

/** Throws 400 for an invalid selector. */
export function labelSelector(text: string): Selector<Labels> {
  const requirements = new Parser(text).parse()
  const exact = requirements.find(({ operator, values }) => operator === 'in' && values.length === 1)
  return {
    matches: (labels) => requirements.every((requirement) => satisfies(requirement, labels)),
    required: exact && { path: exact.key, value: exact.values[0]! },
  }
}

class Parser {
  readonly #text: string
  readonly #tokens: readonly string[]
  #at = 0

  constructor(text: string) {
    this.#text = text
    this.#tokens = text.match(TOKEN) ?? []
  }

  parse(): readonly LabelRequirement[] {
    const requirements: LabelRequirement[] = []
    if (this.#tokens.length === 0) return requirements
    do requirements.push(this.#requirement())
    while (this.#takes(','))
    if (this.#peek() !== '') throw this.#refusal()
    return requirements
  }

  #requirement(): LabelRequirement {
    const negated = this.#takes('!')
    const key = this.#word()
    if (qualifiedNameProblems(key).length > 0) throw this.#refusal()
    if (negated || this.#peek() === '' || this.#peek() === ',') {
      return { key, operator: negated ? 'absent' : 'exists', values: [] }
    }
    for (const operator of ['in', 'notin'] as const) {
      if (this.#takes(operator)) return this.#checked({ key, operator, values: this.#values() })
    }
    const operator = COMPARISONS.get(this.#next())
    if (!operator) throw this.#refusal()
    // A missing value is the empty string.
    const isMissing = this.#peek() === '' || this.#peek() === ','
    return this.#checked({ key, operator, values: [isMissing ? '' : this.#word()] })
  }

  #values(): readonly string[] {
    if (!this.#takes('(')) throw this.#refusal()
    const values = new Set<string>()
    do values.add(isWord(this.#peek()) ? this.#next() : '')
    while (this.#takes(','))
    if (!this.#takes(')')) throw this.#refusal()
    return [...values].sort()
  }

  #word(): string {
    if (!isWord(this.#peek())) throw this.#refusal()
    return this.#next()
  }

  /** Returns the next token; empty at the end. */
  #peek(): string {
    return this.#tokens[this.#at] ?? ''
  }

  #next(): string {
    const token = this.#peek()
    this.#at++
    return token
  }

  #takes(token: string): boolean {
    if (this.#peek() !== token) return false
    this.#at++
    return true
  }

  #checked(requirement: LabelRequirement): LabelRequirement {
    const isNumeric = requirement.operator === 'gt' || requirement.operator === 'lt'
    const isValid = requirement.values.every((value) =>
      (!isNumeric || int64(value) !== undefined) && labelValueProblems(value).length === 0
    )
    if (!isValid) throw this.#refusal()
    return requirement
  }

  #refusal(): Error {
    return badRequest(`unable to parse the label selector ${JSON.stringify(this.#text)}`)
  }
}

const OPERATORS: readonly string[] = ['In', 'NotIn', 'Exists', 'DoesNotExist']

export function selectorFaults(selector: JsonObject, path: string): Cause[] {
  const labels = selector['matchLabels']
  const faults = labelFaults(isObject(labels) ? labels : undefined, `${path}.matchLabels`)
  for (const [index, requirement] of expressions(selector).entries()) {
    const at = `${path}.matchExpressions[${index}]`
    const { key, operator, values: stated } = requirement
    const values = Array.isArray(stated) ? stated : []
    const count = values.length
    if (!OPERATORS.includes(String(operator))) {
      faults.push(fault.invalid(`${at}.operator`, operator, 'not a valid selector operator'))
    } else if ((operator === 'In' || operator === 'NotIn') && count === 0) {
      faults.push(
        fault.required(`${at}.values`, "must be specified when `operator` is 'In' or 'NotIn'"),
      )
    } else if ((operator === 'Exists' || operator === 'DoesNotExist') && count > 0) {
      faults.push(
        fault.forbidden(`${at}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"),
      )
    }
    faults.push(...labelFaults({ [String(key ?? '')]: '' }, `${at}.key`))
    faults.push(...values.flatMap((value, place) => labelFaults({ a: value }, `${at}.values[${place}]`)))
  }
  return faults
}

export function selectorMatches(selector: JsonObject, labels: Json | undefined): boolean {
  const all = isObject(labels) ? labels : {}
  const wanted = isObject(selector['matchLabels']) ? selector['matchLabels'] : {}
  return Object.entries(wanted).every(([key, value]) => field(all, key) === value) &&
    expressions(selector).every((each) => isSatisfied(each, all))
}

function expressions(selector: JsonObject): JsonObject[] {
  const list = selector['matchExpressions']
  return Array.isArray(list) ? list.filter(isObject) : []
}

function isSatisfied({ key, operator, values }: JsonObject, labels: JsonObject): boolean {
  const value = field(labels, String(key))
  const isListed = Array.isArray(values) && value !== undefined && values.includes(value)
  switch (operator) {
    case 'In':
      return isListed
    case 'NotIn':
      return !isListed
    case 'Exists':
      return value !== undefined
    default:
      return value === undefined
  }
}

/** Formats a LabelSelector object as selector text. */
export function selectorText(selector: Json | undefined): string {
  if (!isObject(selector)) return ''
  const labels = isObject(selector['matchLabels']) ? selector['matchLabels'] : {}
  const terms = Object.keys(labels).map((key): [string, string] => [key, `${key}=${String(labels[key])}`])
  for (const { key, operator, values } of expressions(selector)) {
    const list = Array.isArray(values) ? [...values].map(String).sort().join(',') : ''
    terms.push([String(key), requirementText(String(key), String(operator), list)])
  }
  return terms.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)).map(([, text]) => text).join(',')
}

function requirementText(key: string, operator: string, values: string): string {
  switch (operator) {
    case 'In':
      return `${key} in (${values})`
    case 'NotIn':
      return `${key} notin (${values})`
    case 'Exists':
      return key
    default:
      return `!${key}`
  }
}

interface Term {
  readonly path: string
  readonly value: string
  readonly equal: boolean
}

/** Throws 400 for an invalid selector or a field that the kind does not support. */
export function fieldSelector(text: string, kind: Kind): Selector<ApiObject> {
  const terms = split(text).map((part) => parseTerm(part, text))
  const known = selectableFields(kind, EMPTY)
  for (const { path } of terms) {
    if (!Object.hasOwn(known, path)) throw refuseField(path, kind)
  }
  const matches = (object: ApiObject): boolean => {
    const fields = selectableFields(kind, object)
    return terms.every(({ path, value, equal }) => (fields[path] === value) === equal)
  }
  const exact = terms.filter(({ equal }) => equal)
  return { matches, required: exact.find(({ path }) => path === 'metadata.name') ?? exact[0] }
}

/** Returns the name that a field selector requires; undefined if it allows several names. */
export function selectedName(text: string): string | undefined {
  for (const part of split(text)) {
    const match = /^metadata\.name==?(?!=)(.*)$/.exec(part)
    if (match) return unescape(match[1]!)
  }
  return undefined
}

const EMPTY: ApiObject = { apiVersion: '', kind: '', metadata: {} }

export function selectableFields(kind: Kind, object: ApiObject): Readonly<Record<string, string>> {
  return {
    'metadata.name': object.metadata.name ?? '',
    ...(kind.namespaced || !(kind.custom || kind.rules.fields)
      ? { 'metadata.namespace': object.metadata.namespace ?? '' }
      : {}),
    ...kind.rules.fields?.(object),
  }
}

/** Returns what reads selectable fields: `spec.nodeName`, or `spec.hostNetwork=false` with its zero value. */
export function selectable(...given: readonly string[]): (object: ApiObject) => Readonly<Record<string, string>> {
  const fields = given.map((each) => {
    const [path = '', none = ''] = each.split('=')
    return { path, keys: path.split('.'), none }
  })
  return (object) =>
    Object.fromEntries(fields.map(({ path, keys, none }) => [path, String(at(object, ...keys) ?? none)]))
}

function refuseField(path: string, kind: Kind): Error {
  if (kind.custom) return badRequest(`field label not supported: ${path}`)
  if (kind.rules.fields) return badRequest(`field label not supported: ${path}`)
  return badRequest(`"${path}" is not a known field selector: only "metadata.name", "metadata.namespace"`)
}

/** Splits a field selector at its commas; an escaped comma belongs to a value. */
function split(text: string): string[] {
  return (text.match(/(?:[^\\,]|\\[^]|\\$)+/g) ?? []).sort()
}

function parseTerm(part: string, whole: string): Term {
  // The first operator separates: a path has no escapes.
  const match = /^(.*?)(!=|==|=)(.*)$/s.exec(part)
  if (!match) throw badRequest(`invalid selector: '${whole}'; can't understand '${part}'`)
  return { path: match[1]!, equal: match[2] !== '!=', value: unescape(match[3]!) }
}

function unescape(value: string): string {
  return value.replace(/\\([^]?)|[,=]/g, (text, escaped: string | undefined) => {
    if (escaped === undefined) {
      throw badRequest(`invalid field selector: unescaped character in value: ${text.codePointAt(0)}`)
    }
    if (!/^[\\,=]$/.test(escaped)) throw badRequest(`invalid field selector: invalid escape sequence: ${text}`)
    return escaped
  })
}
