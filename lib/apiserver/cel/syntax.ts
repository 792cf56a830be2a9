/** Parses an expression to a tree, in which macros are expanded as cel-go does. */
import { call, type Expr, ExpressionError, RESERVED, type SyntaxProblem } from './expr.ts'
import { expandMacro, isMacro } from './macros.ts'
import { Tokens, unquote } from './tokens.ts'
import { Uint, type Value } from './values.ts'

/** The functions of the operators with two operands, by how tightly they bind. */
const LEVELS: readonly Readonly<Record<string, string>>[] = [
  { '||': '_||_' },
  { '&&': '_&&_' },
  { '==': '_==_', '!=': '_!=_', '<': '_<_', '<=': '_<=_', '>': '_>_', '>=': '_>=_', in: '@in' },
  { '+': '_+_', '-': '_-_' },
  { '*': '_*_', '/': '_/_', '%': '_%_' },
]
const OPERATORS: ReadonlyMap<string, { readonly fn: string; readonly level: number }> = new Map(
  LEVELS.flatMap((fns, level) => Object.entries(fns).map(([text, fn]) => [text, { fn, level }] as const)),
)
/** The levels of || and &&, whose operands may be many. */
const LAST_LOGIC = 1

/** cel-go's limits. */
const MAX_DEPTH = 250
const MAX_CHARACTERS = 100_000

/** Returns the tree of an expression, or what is wrong with its syntax. */
export function parse(source: string): Expr | readonly SyntaxProblem[] {
  const size = source.length > MAX_CHARACTERS ? [...source].length : 0
  if (size > MAX_CHARACTERS) {
    return [{ at: -1, message: `expression code point size exceeds limit: size: ${size}, limit ${MAX_CHARACTERS}` }]
  }
  try {
    return new Parser(source).parse()
  } catch (error) {
    if (error instanceof ExpressionError) return [{ at: error.at, message: error.message }]
    throw error
  }
}

class Parser {
  readonly #tokens: Tokens
  /** The types of message literals: none is declared. */
  readonly #undeclared: SyntaxProblem[] = []
  /** How deep the expression being read is in brackets and branches. */
  #nesting = 0
  /** The height of the highest tree read so far as an operand of the expression being read. */
  #height = 0

  constructor(source: string) {
    this.#tokens = new Tokens(source)
  }

  parse(): Expr | readonly SyntaxProblem[] {
    const expr = this.#expression()
    if (this.#tokens.current.kind !== 'end') throw this.#tokens.unexpected('an operator or the end')
    return this.#undeclared.length > 0 ? this.#undeclared : expr
  }

  #expression(): Expr {
    if (++this.#nesting > MAX_DEPTH) throw new ExpressionError(-1, `expression recursion limit exceeded: ${MAX_DEPTH}`)
    const outer = this.#height
    this.#height = 0
    let expr = this.#operation(0)
    const { at } = this.#tokens.current
    if (this.#tokens.accept('?')) {
      const yes = this.#operation(0)
      this.#tokens.expect(':')
      expr = call(at, '_?_:_', expr, yes, this.#expression())
      this.#grow()
    }
    this.#height = Math.max(outer, this.#height)
    this.#nesting--
    return expr
  }

  /** Counts a node above the trees read so far. Safety: all that later walks the tree recursively relies on this. */
  #grow(): void {
    if (++this.#height > MAX_DEPTH) throw new ExpressionError(-1, 'max recursion depth exceeded')
  }

  /** Reads operands between operators of at least a level. */
  #operation(minLevel: number): Expr {
    const outer = this.#height
    this.#height = 0
    let left = this.#unary()
    for (let operator; (operator = OPERATORS.get(this.#tokens.current.text)) && operator.level >= minLevel;) {
      const { fn, level } = operator
      const { at, text } = this.#tokens.next()
      const right = this.#operation(level + 1)
      if (level <= LAST_LOGIC) left = this.#logic(text, fn, [left, right], [at])
      else {
        left = call(at, fn, left, right)
        this.#grow()
      }
    }
    this.#height = Math.max(outer, this.#height)
    return left
  }

  /** Reads the further operands of a chain of && or ||, of which cel-go makes a balanced tree. */
  #logic(text: string, fn: string, terms: Expr[], places: number[]): Expr {
    const { level } = OPERATORS.get(text)!
    while (this.#tokens.current.text === text) {
      places.push(this.#tokens.next().at)
      terms.push(this.#operation(level + 1))
    }
    const balanced = (from: number, to: number): Expr => {
      if (from === to) return terms[from]!
      const middle = Math.floor((from + to) / 2)
      return call(places[middle]!, fn, balanced(from, middle), balanced(middle + 1, to))
    }
    return balanced(0, places.length)
  }

  #unary(): Expr {
    const { at, text } = this.#tokens.current
    if (text !== '!' && text !== '-') return this.#member()
    let count = 0
    while (this.#tokens.accept(text)) count++
    if (text === '-' && count === 1 && this.#mayHaveSign()) return this.#members(this.#number(at, '-'))
    const operand = this.#member()
    return count % 2 === 0 ? operand : call(at, `${text}_`, operand)
  }

  #member(): Expr {
    const isName = this.#tokens.current.text !== '('
    const expr = this.#primary()
    return this.#members(expr, isName && expr.kind === 'ident' ? expr.name : undefined)
  }

  /** Reads what follows an operand: fields, calls, indices. `path` is its name if it is nothing but a name. */
  #members(operand: Expr, path?: string): Expr {
    const tokens = this.#tokens
    let expr = operand
    for (;; this.#grow()) {
      const { at } = tokens.current
      if (path !== undefined && tokens.accept('{')) {
        expr = this.#message(at, path)
        path = undefined
        continue
      }
      if (tokens.accept('[')) {
        const fn = tokens.accept('?') ? '_[?_]' : '_[_]'
        expr = call(at, fn, expr, this.#expression())
        tokens.expect(']')
        path = undefined
        continue
      }
      if (!tokens.accept('.')) return expr
      const isOptional = tokens.accept('?')
      const { at: nameAt, text: name } = this.#name()
      if (isOptional) expr = call(at, '_?._', expr, { kind: 'literal', at: nameAt, value: name })
      else if (tokens.current.text === '(') expr = this.#call(name, expr)
      else {
        expr = { kind: 'select', at, operand: expr, field: name, test: false }
        if (path !== undefined) path += `.${name}`
        continue
      }
      path = undefined
    }
  }

  /** Reads the name of a field or function. Unlike those of variables, it may be a reserved word. */
  #name(): { readonly at: number; readonly text: string } {
    if (this.#tokens.current.kind !== 'name') throw this.#tokens.unexpected('a name')
    return this.#tokens.next()
  }

  #primary(): Expr {
    const tokens = this.#tokens
    const { kind, at, text } = tokens.current
    switch (kind) {
      case 'int':
      case 'uint':
      case 'double':
        return this.#number(at)
      case 'name':
        return this.#variable()
      case 'text':
      case 'bytes':
        return { kind: 'literal', at, value: unquote(tokens.next()) }
      case 'constant':
        tokens.next()
        return { kind: 'literal', at, value: text === 'null' ? null : text === 'true' }
    }
    switch (text) {
      case '.':
        tokens.next()
        return this.#variable()
      case '-':
        tokens.next()
        if (this.#mayHaveSign()) return this.#number(at, '-')
        break
      case '(': {
        tokens.next()
        const expr = this.#expression()
        tokens.expect(')')
        return expr
      }
      case '[':
        tokens.next()
        return { kind: 'list', at, items: this.#items(']', (isOptional) => this.#value(isOptional)) }
      case '{':
        tokens.next()
        return { kind: 'map', at, entries: this.#items('}', (isOptional) => this.#entry(isOptional)) }
    }
    throw tokens.unexpected('an expression')
  }

  #variable(): Expr {
    const { at, text: name } = this.#name()
    if (RESERVED.has(name)) throw new ExpressionError(at, `reserved identifier: ${name}`)
    return this.#tokens.current.text === '(' ? this.#call(name, undefined) : { kind: 'ident', at, name }
  }

  #call(fn: string, target: Expr | undefined): Expr {
    const { at } = this.#tokens.next()
    const args: Expr[] = []
    if (this.#tokens.current.text !== ')') {
      do {
        args.push(this.#expression())
      } while (this.#tokens.accept(','))
    }
    this.#tokens.expect(')')
    if (isMacro(fn, target !== undefined, args.length)) return expandMacro(at, fn, target, args)
    return { kind: 'call', at, fn, target, args }
  }

  /** Reads items up to the closing bracket, which a comma may precede. */
  #items<T>(end: string, read: (isOptional: boolean) => T): T[] {
    const tokens = this.#tokens
    const items: T[] = []
    while (tokens.current.text !== end && tokens.current.text !== ',') {
      items.push(read(tokens.accept('?')))
      if (tokens.current.text === end || !tokens.accept(',')) break
      if (tokens.current.text === ',') break
    }
    if (items.length === 0) tokens.accept(',')
    tokens.expect(end)
    return items
  }

  #value(isOptional: boolean): Expr {
    const value = this.#expression()
    return isOptional ? { kind: 'optional', at: value.at, value } : value
  }

  #entry(isOptional: boolean): readonly [Expr, Expr] {
    const key = this.#expression()
    this.#tokens.expect(':')
    return [key, this.#value(isOptional)]
  }

  #message(at: number, name: string): Expr {
    this.#items('}', () => {
      this.#name()
      this.#tokens.expect(':')
      return this.#expression()
    })
    this.#undeclared.push({ at, message: `undeclared reference to '${name}' (in container '')` })
    return { kind: 'literal', at, value: null }
  }

  #mayHaveSign(): boolean {
    return ['int', 'double'].includes(this.#tokens.current.kind)
  }

  /** Reads a number, whose sign begins at `at`. */
  #number(at: number, sign = ''): Expr {
    const { kind, text } = this.#tokens.next()
    const value = numberOf(kind, text, sign)
    if (value === undefined) throw new ExpressionError(at, `invalid ${kind} literal`)
    return { kind: 'literal', at, value }
  }
}

/** Returns the value of a number; undefined if it is out of the range of its type. */
function numberOf(kind: string, text: string, sign: string): Value | undefined {
  if (kind === 'double') {
    const value = Number(sign + text)
    return Number.isFinite(value) ? value : undefined
  }
  if (kind === 'uint') {
    const value = BigInt(text.slice(0, -1))
    return BigInt.asUintN(64, value) === value ? new Uint(value) : undefined
  }
  const value = sign ? -BigInt(text) : BigInt(text)
  return BigInt.asIntN(64, value) === value ? value : undefined
}
