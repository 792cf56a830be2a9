/** Label selectors: the full grammar of apimachinery's parser, with its errors. */
import { type LabelRequirement, satisfies } from '../../core/label_requirement.ts'
import { labelValueProblems, qualifiedNameProblems } from '../storage/names.ts'
import { badRequest } from '../http/status.ts'

type Labels = Readonly<Record<string, string>> | undefined

interface Token {
  readonly type: 'word' | '=' | '==' | '!=' | '!' | '(' | ')' | ',' | '<' | '>' | 'end'
  readonly text: string
}

const SPECIAL = /^(?:==|!=|[=!(),<>])/

/** Returns a predicate on labels. Throws 400 for an invalid selector. */
export function labelSelector(text: string): (labels: Labels) => boolean {
  const requirements = new Parser(text).parse()
  return (labels) => requirements.every((requirement) => satisfies(requirement, labels))
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
    if (problems.length > 0) throw refuse(`key: Invalid value: ${JSON.stringify(key)}: ${problems.join('; ')}`)
    const following = this.#peek()
    if (negated || following.type === 'end' || following.type === ',') {
      if (following.type !== 'end' && following.type !== ',') {
        throw refuse(`found '${following.text}', expected: ',' or 'end of string'`)
      }
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
    const values: string[] = []
    let isAfterWord = false
    for (;;) {
      const token = this.#next()
      if (token.type === 'word') {
        values.push(token.text)
        isAfterWord = true
      } else if (token.type === ',') {
        if (!isAfterWord) values.push('')
        isAfterWord = false
      } else if (token.type === ')') {
        if (!isAfterWord) values.push('')
        return values
      } else throw refuse(`found '${token.text}', expected: ',', ')' or identifier`)
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
