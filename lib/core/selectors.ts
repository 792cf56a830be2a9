/**
 * Label selectors, in the grammar of the API server.
 *
 * @see https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
 */
import { isFields } from './clone.ts'
import { int64, type LabelRequirement, satisfies } from './label_requirement.ts'
import { checkLabel, labelKeyProblem, labelValueProblem } from './names.ts'

/** @internal Labels by name. */
type Labels = Readonly<Record<string, string>>

/**
 * A selector in an object, such as a Deployment's `spec.selector`: meta/v1 LabelSelector. An empty one selects
 * everything.
 */
export interface LabelSelector {
  readonly matchLabels?: Labels | undefined
  readonly matchExpressions?: readonly LabelExpression[] | undefined
}

/** One of the `matchExpressions` of a label selector. */
export interface LabelExpression {
  readonly key: string
  /** `In`, `NotIn`, `Exists` or `DoesNotExist`. */
  readonly operator: string
  /** At least one for `In` and `NotIn`, none for the others. */
  readonly values?: readonly string[] | undefined
}

/** A parsed selector: tests whether an object's labels (or fields) match. */
export type Selector = (values: Labels | undefined) => boolean

/**
 * Returns the selector text of labels or of an object's selector: `{ app: 'a' }` is `app=a`. Text is returned
 * unchanged. Throws a TypeError for an invalid label, because `{ app: 'a,b' }` as text would select other objects, and
 * for an unknown operator.
 */
export function formatLabels(labels: string | Labels | LabelSelector): string {
  if (typeof labels === 'string') return labels
  // A list or a Map has no fields, so as labels it would select everything.
  if (!isFields(labels) || Symbol.iterator in labels) {
    throw new TypeError('Cannot select by labels: they must be text or an object')
  }
  const { matchLabels, matchExpressions } = labels
  // A label may have these names. Then its value is text.
  if (typeof matchLabels !== 'object' && typeof matchExpressions !== 'object') return equalities(labels as Labels)
  const terms = [
    equalities((matchLabels ?? {}) as Labels),
    ...((matchExpressions ?? []) as readonly LabelExpression[]).map(expressionText),
  ]
  const text = terms.filter(Boolean).join(',')
  parseRequirements(text)
  return text
}

const OPERATORS: Readonly<Record<string, string>> = { In: ' in ', NotIn: ' notin ', Exists: '', DoesNotExist: '!' }

function expressionText({ key, operator, values = [] }: LabelExpression): string {
  checkLabel('Cannot select by', key, ...values)
  const sign = Object.hasOwn(OPERATORS, operator) ? OPERATORS[operator]! : undefined
  if (sign === undefined || sign.length > 1 !== values.length > 0) {
    throw new TypeError(
      `Cannot select by label "${key}": its operator is ${JSON.stringify(operator)}, with ${values.length} values; ` +
        'In and NotIn have values, Exists and DoesNotExist have none',
    )
  }
  return values.length > 0 ? `${key}${sign}(${values.join(',')})` : `${sign}${key}`
}

function equalities(labels: Labels): string {
  return Object.entries(labels).map(([key, value]) => {
    checkLabel('Cannot select by', key, value)
    return `${key}=${value}`
  }).join(',')
}

/**
 * Parses a label selector: text, labels that must be equal, or an object's selector. An empty one selects everything.
 * Throws a TypeError that names the invalid part.
 *
 * @example
 * ```ts
 * import { selectors } from 'kubeloop'
 * const isFrontend = selectors.parseLabelSelector('app=shop,tier in (web, edge)')
 * if (!isFrontend({ app: 'shop', tier: 'web' })) throw new Error('unexpected')
 * ```
 */
export function parseLabelSelector(selector: string | Labels | LabelSelector): Selector {
  const requirements = parseRequirements(formatLabels(selector))
  return (labels) => requirements.every((requirement) => satisfies(requirement, labels))
}

/** Parses requirements as apimachinery does: `in` and `notin` are words wherever an operator is not allowed. */
function parseRequirements(selector: string): readonly LabelRequirement[] {
  const tokens: readonly (string | undefined)[] = selector.match(/==|!=|[=!(),<>]|[^\s=!(),<>]+/g) ?? []
  let at = 0
  const refuse = (what: string): TypeError => new TypeError(`Cannot read label selector "${selector}": ${what}`)
  const unexpected = (expected: string): TypeError =>
    refuse(`found ${at < tokens.length ? `"${tokens[at]}"` : 'the end'} where ${expected} was expected`)
  const take = (token: string): boolean => tokens[at] === token && ++at > 0
  const word = (expected: string): string => {
    const token = tokens[at]
    if (token === undefined || /^[=!(),<>]/.test(token)) throw unexpected(expected)
    at++
    return token
  }
  const commaSeparated = <T>(read: () => T): T[] => {
    const all = [read()]
    while (take(',')) all.push(read())
    return all
  }
  /** Nothing before a comma, a parenthesis or the end is the empty value: `app=` is a requirement. */
  const value = (): string => {
    if ([undefined, ',', ')'].includes(tokens[at])) return ''
    const text = word('a value')
    const problem = labelValueProblem(text)
    if (problem) throw refuse(`"${text}" is not a label value: ${problem}`)
    return text
  }
  const integer = (): string => {
    const text = value()
    if (int64(text) === undefined) throw refuse(`"${text}" is not an integer of 64 bits; > and < need one`)
    return text
  }
  const values = (): readonly string[] => {
    if (!take('(')) throw unexpected('(')
    const all = commaSeparated(value)
    if (!take(')')) throw unexpected('a comma or )')
    return all
  }
  const requirement = (): LabelRequirement => {
    const isAbsent = take('!')
    const key = word('a label')
    const problem = labelKeyProblem(key)
    if (problem) throw refuse(`"${key}" is not a label: ${problem}`)
    if (isAbsent) return { key, operator: 'absent', values: [] }
    if (at === tokens.length || tokens[at] === ',') return { key, operator: 'exists', values: [] }
    if (take('=') || take('==')) return { key, operator: 'in', values: [value()] }
    if (take('!=')) return { key, operator: 'notin', values: [value()] }
    if (take('>')) return { key, operator: 'gt', values: [integer()] }
    if (take('<')) return { key, operator: 'lt', values: [integer()] }
    for (const operator of ['in', 'notin'] as const) if (take(operator)) return { key, operator, values: values() }
    throw unexpected('=, ==, !=, in, notin, > or <')
  }
  if (tokens.length === 0) return []
  const requirements = commaSeparated(requirement)
  if (at < tokens.length) throw unexpected('a comma or the end')
  return requirements
}
