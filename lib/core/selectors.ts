/**
 * Label selectors, in the grammar of the API server.
 *
 * @see https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
 */
import { INTEGER, type LabelRequirement, satisfies } from './label_requirement.ts'
import { isDomainName, isLabelText } from './names.ts'

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
  const { matchLabels, matchExpressions } = labels
  // A label may have these names. Then its value is text.
  if (typeof matchLabels !== 'object' && typeof matchExpressions !== 'object') return equalities(labels as Labels)
  const terms = [
    equalities((matchLabels ?? {}) as Labels),
    ...((matchExpressions ?? []) as readonly LabelExpression[]).map(expressionText),
  ]
  const text = terms.filter(Boolean).join(',')
  new LabelParser(text).parse()
  return text
}

/** Does not validate: the parser refuses an invalid expression. */
function expressionText({ key, operator, values = [] }: LabelExpression): string {
  checkLabel(key, values)
  if (values.length > 0) return `${key} ${operator.toLowerCase()} (${values.join(',')})`
  return operator === 'Exists' ? key : operator === 'DoesNotExist' ? `!${key}` : `${key} ${operator.toLowerCase()} `
}

function checkLabel(key: string, values: readonly string[]): void {
  const problem = keyProblem(key) ?? values.map(valueProblem).find(Boolean)
  if (problem) throw new TypeError(`Cannot select by the label ${JSON.stringify(key)}: ${problem}`)
}

function equalities(labels: Labels): string {
  return Object.entries(labels).map(([key, value]) => {
    checkLabel(key, [value])
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
  const requirements = new LabelParser(formatLabels(selector)).parse()
  return (labels) => requirements.every((requirement) => satisfies(requirement, labels))
}

type Token = { readonly kind: 'word' | 'symbol' | 'end'; readonly text: string }

/** Parses requirements as apimachinery does: `in` and `notin` are words wherever an operator is not allowed. */
class LabelParser {
  readonly #text: string
  readonly #tokens: readonly Token[]
  #at = 0

  constructor(text: string) {
    this.#text = text
    const tokens = text.match(/==|!=|[=!(),<>]|[^\s=!(),<>]+/g) ?? []
    this.#tokens = tokens.map((token) => ({ kind: /^[=!(),<>]/.test(token) ? 'symbol' : 'word', text: token }))
  }

  parse(): readonly LabelRequirement[] {
    const requirements: LabelRequirement[] = []
    if (this.#peek().kind === 'end') return requirements
    do requirements.push(this.#requirement())
    while (this.#take(','))
    if (this.#peek().kind !== 'end') throw this.#unexpected('a comma or the end')
    return requirements
  }

  #requirement(): LabelRequirement {
    const absent = this.#take('!')
    const key = this.#word('a label')
    const problem = keyProblem(key)
    if (problem) throw this.#refuse(`"${key}" is not a label: ${problem}`)
    if (absent) return { key, operator: 'absent', values: [] }
    const { kind, text } = this.#peek()
    if (kind === 'end' || text === ',') return { key, operator: 'exists', values: [] }
    this.#at++
    switch (text) {
      case '=':
      case '==':
        return { key, operator: 'in', values: [this.#value()] }
      case '!=':
        return { key, operator: 'notin', values: [this.#value()] }
      case '>':
      case '<':
        return { key, operator: text === '>' ? 'gt' : 'lt', values: [this.#integer()] }
      case 'in':
      case 'notin':
        return { key, operator: text, values: this.#values() }
    }
    this.#at--
    throw this.#unexpected('=, ==, !=, in, notin, > or <')
  }

  /** `(a, b)`. Nothing between two commas or parentheses is the empty value. */
  #values(): readonly string[] {
    if (!this.#take('(')) throw this.#unexpected('(')
    const values: string[] = []
    do values.push(this.#value())
    while (this.#take(','))
    if (!this.#take(')')) throw this.#unexpected('a comma or )')
    return values
  }

  /** A value. It may be empty: `app=` is a requirement. */
  #value(): string {
    const { kind, text } = this.#peek()
    if (kind === 'end' || text === ',' || text === ')') return ''
    const value = this.#word('a value')
    const problem = valueProblem(value)
    if (problem) throw this.#refuse(`"${value}" is not a label value: ${problem}`)
    return value
  }

  #integer(): string {
    const value = this.#value()
    if (!INTEGER.test(value)) throw this.#refuse(`"${value}" is not an integer; > and < need one`)
    return value
  }

  #word(expected: string): string {
    const { kind, text } = this.#peek()
    if (kind !== 'word') throw this.#unexpected(expected)
    this.#at++
    return text
  }

  #take(symbol: string): boolean {
    const found = this.#peek().kind === 'symbol' && this.#peek().text === symbol
    if (found) this.#at++
    return found
  }

  #peek(): Token {
    return this.#tokens[this.#at] ?? { kind: 'end', text: '' }
  }

  #unexpected(expected: string): TypeError {
    const { kind, text } = this.#peek()
    return this.#refuse(`found ${kind === 'end' ? 'the end' : `"${text}"`} where ${expected} was expected`)
  }

  #refuse(what: string): TypeError {
    return new TypeError(`Cannot read label selector "${this.#text}": ${what}`)
  }
}

const TEXT = '63 letters, digits, "-", "_" and ".", and begins and ends with a letter or digit'

function keyProblem(key: string): string | undefined {
  const slash = key.indexOf('/')
  if (slash >= 0 && !isDomainName(key.slice(0, slash))) {
    return 'what is before the slash must be a domain name in lower case'
  }
  return isLabelText(key.slice(slash + 1)) ? undefined : `a name has 1 to ${TEXT}`
}

function valueProblem(value: unknown): string | undefined {
  if (value === '' || (typeof value === 'string' && isLabelText(value))) return undefined
  return `a value is text of at most ${TEXT}`
}
