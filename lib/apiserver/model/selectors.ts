/**
 * Selectors: of labels as text (the full grammar of apimachinery's parser) and as LabelSelector objects; of fields:
 * `path=value` and `path!=value` on the selectable fields of a kind.
 */
import { type LabelRequirement, satisfies } from '../../core/label_requirement.ts'
import { type ApiObject, at, field, isObject, type Json, type JsonObject } from './json.ts'
import type { Kind } from './kinds.ts'
import { labelFaults, labelValueProblems, qualifiedNameProblems } from './names.ts'
import { badRequest, type Cause, fault } from './status.ts'

type Labels = Readonly<Record<string, string>> | undefined

interface Token {
  readonly type: 'word' | '=' | '==' | '!=' | '!' | '(' | ')' | ',' | '<' | '>' | 'end'
  readonly text: string
}

const SPECIAL = /^(?:==|!=|[=!(),<>])/

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
  readonly #tokens: Token[]
  #at = 0

  constructor(text: string) {
    this.#tokens = tokenize(text)
  }

  parse(): readonly LabelRequirement[] {
    const requirements: LabelRequirement[] = []
    const first = this.#peek()
    if (first.type === 'end') return requirements
    if (first.type !== 'word' && first.type !== '!') {
      throw badRequest(`found '${first.text}', expected: !, identifier, or 'end of string'`)
    }
    for (;;) {
      requirements.push(this.#requirement())
      const token = this.#next()
      if (token.type === 'end') return requirements
      if (token.type !== ',') throw badRequest(`found '${token.text}', expected: ',' or 'end of string'`)
      const following = this.#peek()
      if (following.type !== 'word' && following.type !== '!') {
        throw badRequest(`found '${following.text}', expected: identifier after ','`)
      }
    }
  }

  #requirement(): LabelRequirement {
    const negated = this.#peek().type === '!'
    if (negated) this.#at++
    const { type, text: key } = this.#next()
    if (type !== 'word') throw refuse(`found '${key}', expected: identifier`)
    const problems = qualifiedNameProblems(key)
    if (problems.length > 0) throw refuse(`<nil>: Invalid value: ${JSON.stringify(key)}: ${problems.join('; ')}`)
    const following = this.#peek()
    if (negated || following.type === 'end' || following.type === ',') {
      return { key, operator: negated ? 'absent' : 'exists', values: [] }
    }
    return this.#comparison(key)
  }

  #comparison(key: string): LabelRequirement {
    const { type, text } = this.#next()
    if (type === 'word' && (text === 'in' || text === 'notin')) {
      return checked({ key, operator: text, values: this.#values() })
    }
    switch (type) {
      case '=':
      case '==':
        return checked({ key, operator: 'in', values: [this.#value()] })
      case '!=':
        return checked({ key, operator: 'notin', values: [this.#value()] })
      case '<':
      case '>':
        return checked({ key, operator: type === '<' ? 'lt' : 'gt', values: [this.#value()] })
      default:
        throw refuse(`found '${text}', expected: in, notin, =, ==, !=, gt, lt`)
    }
  }

  /** Parses an exact value; a missing value is the empty string. */
  #value(): string {
    const { type } = this.#peek()
    if (type === 'end' || type === ',') return ''
    const token = this.#next()
    if (token.type !== 'word') throw refuse(`found '${token.text}', expected: identifier`)
    return token.text
  }

  #values(): readonly string[] {
    const open = this.#next()
    if (open.type !== '(') throw refuse(`found '${open.text}' expected: '('`)
    if (this.#peek().type === ')') {
      this.#at++
      return ['']
    }
    if (this.#peek().type !== 'word' && this.#peek().type !== ',') {
      throw refuse(`found '${this.#peek().text}', expected: ',', ')' or identifier`)
    }
    const values = new Set<string>()
    for (;;) {
      const { type, text } = this.#next()
      const following = this.#peek()
      if (type === 'word') {
        values.add(text)
        if (following.type !== ',' && following.type !== ')') {
          throw refuse(`found '${following.text}', expected: ',' or ')'`)
        }
      } else if (type === ',') {
        if (values.size === 0 || following.type === ')' || following.type === ',') values.add('')
      } else throw refuse(`found '${text}', expected: ',', or identifier`)
      if (following.type === ')') {
        this.#at++
        return [...values].sort()
      }
    }
  }

  #peek(): Token {
    return this.#tokens[this.#at]!
  }

  #next(): Token {
    const token = this.#peek()
    if (token.type !== 'end') this.#at++
    return token
  }
}

function tokenize(text: string): Token[] {
  const tokens: Token[] = []
  let rest = text.trimStart()
  while (rest) {
    const special = SPECIAL.exec(rest)?.[0]
    const word = special ?? /^[^\s=!(),<>]+/.exec(rest)![0]
    tokens.push({ type: special ? special as Token['type'] : 'word', text: word })
    rest = rest.slice(word.length).trimStart()
  }
  tokens.push({ type: 'end', text: '' })
  return tokens
}

function checked(requirement: LabelRequirement): LabelRequirement {
  const { key, operator, values } = requirement
  for (const [index, value] of values.entries()) {
    if ((operator === 'gt' || operator === 'lt') && !/^-?\d+$/.test(value)) {
      throw refuse(
        `values[${index}]: Invalid value: ${
          JSON.stringify(value)
        }: for 'Gt', 'Lt' operators, the value must be an integer`,
      )
    }
    const problems = labelValueProblems(value)
    if (problems.length > 0) {
      throw refuse(`values[${index}][${key}]: Invalid value: ${JSON.stringify(value)}: ${problems.join('; ')}`)
    }
  }
  return requirement
}

function refuse(problem: string): Error {
  return badRequest(`unable to parse requirement: ${problem}`)
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
