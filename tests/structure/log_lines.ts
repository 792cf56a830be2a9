/** Finds the messages of log calls in a source file, with `…` for what varies. */
import ts from 'typescript'

export interface LogCall {
  readonly line: number
  readonly level: string
  /** The messages that the call may write. A message of which nothing is known here is `…`. */
  readonly messages: readonly string[]
}

const LEVELS: readonly string[] = ['info', 'warn', 'error']

/** What a limited log adds to a line: "(and 3 more like it)". */
const SUFFIX = 'more'

/** How many messages of one expression are kept: conditions in a template multiply. */
const MAX_MESSAGES = 16

export function parse(path: string, text: string): ts.SourceFile {
  return ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
}

/** Returns the calls of `log.info`, `log.warn` and `log.error`, however the log is reached: `this.#options.log`. */
export function logCalls(source: ts.SourceFile): readonly LogCall[] {
  const calls: LogCall[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && node.arguments.length > 0) {
      const level = levelOf(node.expression)
      if (level !== undefined) {
        const { line } = source.getLineAndCharacterOfPosition(node.getStart())
        calls.push({ line: line + 1, level, messages: messagesOf(node.arguments[0]!) })
      }
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return calls
}

/** Returns every message that a string or a template of the file can be. */
export function allMessages(source: ts.SourceFile): ReadonlySet<string> {
  const found = new Set<string>()
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node) || ts.isTemplateExpression(node) || isSum(node)) {
      for (const message of messagesOf(node)) found.add(message)
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

/** `log.warn` is a warn, and `log[quiet ? 'debug' : 'warn']` too. */
function levelOf(callee: ts.Expression): string | undefined {
  const isLog = (node: ts.Expression): boolean => /(?:^|[.#])(?:log|lines)$|[a-z]Log$/.test(node.getText())
  if (ts.isPropertyAccessExpression(callee) && isLog(callee.expression)) {
    return LEVELS.find((level) => level === callee.name.text)
  }
  if (!ts.isElementAccessExpression(callee) || !isLog(callee.expression)) return undefined
  return LEVELS.find((level) => callee.argumentExpression.getText().includes(`'${level}'`))
}

function messagesOf(node: ts.Expression): readonly string[] {
  const texts = textsOf(node, 0).map((text) => text.replaceAll(/…+/g, '…').replaceAll('\n', ' '))
  return [...new Set(texts)]
}

function textsOf(node: ts.Node, depth: number): readonly string[] {
  if (ts.isStringLiteralLike(node)) return [node.text]
  if (ts.isParenthesizedExpression(node)) return textsOf(node.expression, depth)
  if (ts.isConditionalExpression(node)) {
    return [...textsOf(node.whenTrue, depth), ...textsOf(node.whenFalse, depth)]
  }
  if (isSum(node)) return joined([textsOf(node.left, depth), textsOf(node.right, depth)])
  if (ts.isTemplateExpression(node)) {
    const parts = node.templateSpans.flatMap(({ expression, literal }) => [textsOf(expression, depth), [literal.text]])
    return joined([[node.head.text], ...parts])
  }
  if (ts.isIdentifier(node) && node.text === SUFFIX) return ['']
  if (ts.isIdentifier(node) && node.text === 'undefined') return ['']
  const value = ts.isIdentifier(node) && depth < 3 ? constant(node) : undefined
  return value ? textsOf(value, depth + 1) : ['…']
}

function isSum(node: ts.Node): node is ts.BinaryExpression {
  return ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken
}

function joined(parts: readonly (readonly string[])[]): readonly string[] {
  return parts.reduce<readonly string[]>(
    (texts, next) => texts.flatMap((text) => next.map((each) => text + each)).slice(0, MAX_MESSAGES),
    [''],
  )
}

/** Returns the value of a constant with this name in the blocks around a node. */
function constant(name: ts.Identifier): ts.Expression | undefined {
  for (let node: ts.Node | undefined = name.parent; node; node = node.parent) {
    if (!ts.isBlock(node) && !ts.isSourceFile(node)) continue
    for (const statement of node.statements) {
      if (!ts.isVariableStatement(statement)) continue
      for (const each of statement.declarationList.declarations) {
        if (each.name.getText() === name.text) return each.initializer
      }
    }
  }
  return undefined
}
