/** Parses an expression to a tree, in which macros are expanded as cel-go does. */
import { type ASTNode, Environment } from '@marcbachmann/cel-js'
import { type Expr, ExpressionError, type SyntaxProblem } from './expr.ts'
import { Expander, isMacro } from './macros.ts'
import { Uint, type Value } from './values.ts'

const parser = new Environment({
  enableOptionalTypes: true,
  limits: { maxDepth: 250, maxListElements: 100_000, maxMapEntries: 100_000 },
})

const BINARY: Readonly<Record<string, string>> = {
  '==': '_==_',
  '!=': '_!=_',
  '<': '_<_',
  '<=': '_<=_',
  '>': '_>_',
  '>=': '_>=_',
  '+': '_+_',
  '-': '_-_',
  '*': '_*_',
  '/': '_/_',
  '%': '_%_',
  in: '@in',
  '&&': '_&&_',
  '||': '_||_',
}

/** Returns the tree of an expression, or what is wrong with its syntax. */
export function parse(source: string): Expr | readonly SyntaxProblem[] {
  const size = source.length > MAX_CHARACTERS ? [...source].length : 0
  if (size > MAX_CHARACTERS) {
    return [{ at: -1, message: `expression code point size exceeds limit: size: ${size}, limit ${MAX_CHARACTERS}` }]
  }
  try {
    return new Reader(source).read(parser.parse(source).ast as unknown as ASTNode)
  } catch (error) {
    if (error instanceof ExpressionError) return [{ at: error.at, message: error.message }]
    if (!(error instanceof Error)) throw error
    return syntaxProblems(source, error as ParseFailure)
  }
}

interface ParseFailure extends Error {
  readonly summary?: string
  readonly range?: { readonly start: number; readonly end: number }
}

const OPERAND =
  "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"

/** What is not the beginning of any token. */
const UNKNOWN_TOKEN = /^(?:[^\w\s()[\]{}<>=!&|+\-*/%.,:?'"]|[=&|](?![=&|])[^]?|(["'])(?:(?!\1).)*$)/

/** Describes a failure of the parser in the words of cel-go's, as far as the two have the same failures. */
function syntaxProblems(source: string, { summary = '', message, range }: ParseFailure): SyntaxProblem[] {
  if (summary.startsWith('Exceeded')) return [{ at: -1, message: `expression recursion limit exceeded: ${MAX_DEPTH}` }]
  const at = range?.start ?? 0
  const unknown = UNKNOWN_TOKEN.exec(source.slice(at))?.[0]
  if (unknown !== undefined) {
    // cel-go goes on behind what it does not know.
    const rest = `${source.slice(0, at)}${' '.repeat(unknown.length)}${source.slice(at + unknown.length)}`
    const further = parse(rest)
    const first = { at, message: `Syntax error: token recognition error at: '${unknown}'` }
    return [first, ...('kind' in further ? [] : further)]
  }
  const isEnd = source.slice(at).trim() === ''
  const token = isEnd ? '<EOF>' : source.slice(at, range?.end ?? at + 1)
  return [{ at, message: messageOf(source, summary, token, at) ?? `Syntax error: ${summary || message}` }]
}

function messageOf(source: string, summary: string, token: string, at: number): string | undefined {
  if (/iteration variable$/.test(summary)) return 'argument must be a simple name'
  if (summary.startsWith('Reserved identifier')) return `reserved identifier: ${token}`
  const rest = source.slice(at + token.length).trim()
  if (summary.startsWith('Unexpected token')) {
    const before = source.slice(0, at).trimEnd()
    // An argument list and an index may begin with something else.
    const first = /\w\($/.test(before) ? "')', '.'" : "'.'"
    const operand = /[\w)\]]\[$/.test(before) ? OPERAND.replace("'!'", "'!', '?'") : OPERAND.replace("'.'", first)
    const isExtra = token !== '<EOF>' && token !== ')' && /^[\w"'([{.!-]/.test(rest)
    return `Syntax error: ${isExtra ? 'extraneous' : 'mismatched'} input '${token}' expecting ${operand}`
  }
  if (summary.startsWith('Unexpected character')) {
    return `Syntax error: ${rest === '' ? 'extraneous' : 'mismatched'} input '${token}' expecting <EOF>`
  }
  switch (/^Expected (\w+)/.exec(summary)?.[1]) {
    case 'RPAREN':
      return `Syntax error: missing ')' at '${token}'`
    case 'RBRACKET':
      return isIndex(source, at)
        ? `Syntax error: missing ']' at '${token}'`
        : `Syntax error: mismatched input '${token}' expecting {']', ','}`
    case 'RBRACE':
      return `Syntax error: mismatched input '${token}' expecting {'}', ','}`
    case 'COLON':
      return `Syntax error: mismatched input '${token}' expecting ':'`
    case 'IDENTIFIER':
      return `Syntax error: no viable alternative at input '.${token === '<EOF>' ? '' : token}'`
  }
  return undefined
}

/** Returns whether the last open bracket before an offset is an index, and not a list. */
function isIndex(source: string, at: number): boolean {
  return /[\w)\]]\s*\[[^[]*$/.test(source.slice(0, at))
}

/** cel-go's limit. It balances the operands of && and ||, which so may be many more. */
const MAX_DEPTH = 250
const LOGIC_PER_LEVEL = 8
const MAX_CHARACTERS = 100_000

class Reader {
  readonly #source: string
  readonly #expand = new Expander()
  #depth = 0

  constructor(source: string) {
    this.#source = source
  }

  read(node: ASTNode): Expr {
    const weight = ['||', '&&', '!_'].includes(node.op) ? 1 : LOGIC_PER_LEVEL
    this.#depth += weight
    if (this.#depth > MAX_DEPTH * LOGIC_PER_LEVEL) throw new ExpressionError(-1, 'max recursion depth exceeded')
    const expr = this.#read(node)
    this.#depth -= weight
    return expr
  }

  #read(node: ASTNode): Expr {
    switch (node.op) {
      case 'value':
        if (typeof node.args === 'bigint' && node.args > 2n ** 63n) {
          throw new ExpressionError(node.start, 'invalid int literal')
        }
        return { kind: 'literal', at: node.start, value: literal(node.args) }
      case 'id':
        return { kind: 'ident', at: node.start, name: node.args }
      case '.':
        return {
          kind: 'select',
          at: this.#back('.', node.pos),
          operand: this.read(node.args[0]),
          field: node.args[1],
          test: false,
        }
      case '.?': {
        const at = this.#back('.', node.pos)
        const field: Expr = { kind: 'literal', at: node.pos, value: node.args[1] }
        return { kind: 'call', at, fn: '_?._', target: undefined, args: [this.read(node.args[0]), field] }
      }
      case '[]':
      case '[?]': {
        const [operand, index] = node.args
        const at = this.#after('[', operand.end)
        const fn = node.op === '[]' ? '_[_]' : '_[?_]'
        return { kind: 'call', at, fn, target: undefined, args: [this.read(operand), this.read(index)] }
      }
      case 'call': {
        const [fn, args] = node.args
        const at = this.#after('(', node.start + fn.length)
        this.#checkArguments(node.end)
        return this.#call(at, fn, undefined, args)
      }
      case 'rcall': {
        const [fn, target, args] = node.args
        const name = this.#source.indexOf(fn, this.#after('.', target.end))
        this.#checkArguments(node.end)
        return this.#call(this.#after('(', name + fn.length), fn, this.read(target), args)
      }
      case 'list':
        return { kind: 'list', at: node.start, items: node.args.map((each) => this.read(each)) }
      case 'map':
        return {
          kind: 'map',
          at: node.start,
          entries: node.args.map(([key, value]) => [this.read(key), this.read(value)] as const),
        }
      case '?:': {
        const [condition, yes, no] = node.args
        const args = [this.read(condition), this.read(yes), this.read(no)]
        return { kind: 'call', at: this.#after('?', condition.end), fn: '_?_:_', target: undefined, args }
      }
      case '!_':
        return { kind: 'call', at: node.start, fn: '!_', target: undefined, args: [this.read(node.args)] }
      case '-_': {
        const operand = this.read(node.args)
        if (operand.kind === 'literal' && (typeof operand.value === 'bigint' || typeof operand.value === 'number')) {
          return { kind: 'literal', at: node.start, value: -operand.value }
        }
        return { kind: 'call', at: node.start, fn: '-_', target: undefined, args: [operand] }
      }
      default: {
        const [left, right] = node.args
        const at = this.#after(node.op, left.end)
        return {
          kind: 'call',
          at,
          fn: BINARY[node.op]!,
          target: undefined,
          args: [this.read(left), this.read(right)],
        }
      }
    }
  }

  /** The parser allows a comma behind the last argument. */
  #checkArguments(end: number): void {
    if (!this.#source.slice(0, end - 1).trimEnd().endsWith(',')) return
    throw new ExpressionError(end - 1, `Syntax error: mismatched input ')' expecting ${OPERAND}`)
  }

  #call(at: number, fn: string, target: Expr | undefined, nodes: readonly ASTNode[]): Expr {
    const args = nodes.map((each) => this.read(each))
    if (isMacro(fn, target !== undefined, args.length)) return this.#expand.macro(at, fn, target, args)
    return { kind: 'call', at, fn, target, args }
  }

  /** Returns the offset of a token after an operand: between them are only blanks, comments and parentheses. */
  #after(token: string, from: number): number {
    const blank = /(?:[\s)]|\/\/[^\n]*)*/y
    blank.lastIndex = from
    const skipped = blank.exec(this.#source)![0].length
    const at = from + skipped
    return this.#source.startsWith(token, at) ? at : Math.max(this.#source.indexOf(token, from), from)
  }

  #back(token: string, from: number): number {
    return this.#source.lastIndexOf(token, from)
  }
}

function literal(value: unknown): Value {
  if (typeof value === 'object' && value !== null && !(value instanceof Uint8Array)) {
    return new Uint(BigInt(String((value as { valueOf(): unknown }).valueOf())))
  }
  return value as Value
}
