/** Finds the small changes of a source file that a test should notice. */
import ts from 'typescript'

/** A change of one place of a file: `[start, end)` becomes `text`. */
export interface Mutant {
  readonly kind: string
  readonly start: number
  readonly end: number
  readonly text: string
  /** The expression or statement that it changes. */
  readonly within: ts.Node
  /** Whether the place is evaluated once, when the module is loaded. */
  readonly atLoad: boolean
}

type Add = (kind: string, node: ts.Node, to: string, within?: ts.Node) => void

const OPPOSITES: Readonly<Record<string, string>> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '&&': '||',
  '||': '&&',
  '-': '+',
  '*': '/',
}

/** Texts of errors and logs are compared in few tests, on purpose. */
const MESSAGES = /^(?:.*\.)?(?:log|lines|#log|debug|info|warn|error)\b|Error$/

/** Returns the mutants of a file, in the order of their places. */
export function mutantsOf(path: string, text: string): Mutant[] {
  return read(path, text).mutants
}

/**
 * Returns a file with all its mutants, which are inactive: mutant N of {@link mutantsOf} replaces its place while
 * `globalThis.isPlanted(first + N)` returns true.
 */
export function withAllMutants(path: string, text: string, first: number): string {
  const { mutants, statements } = read(path, text)
  // All statements are in braces: one that begins with a parenthesis would continue the line before it.
  const switches = new Map<ts.Node, string>(statements.map((statement) => [statement, '']))
  for (const [index, { start, end, text: to, within }] of mutants.entries()) {
    const mutated = text.slice(within.getStart(), start) + to + text.slice(end, within.end)
    const isPlanted = `isPlanted(${first + index})`
    const one = ts.isExpressionStatement(within) ? `if (!${isPlanted}) ` : `${isPlanted} ? (${mutated}) : `
    switches.set(within, (switches.get(within) ?? '') + one)
  }
  const outerFirst = [...switches].toSorted(([a], [b]) =>
    a.getStart() - b.getStart() || b.end - a.end ||
    Number(ts.isExpressionStatement(b)) - Number(ts.isExpressionStatement(a))
  )
  const write = (start: number, end: number): string => {
    let written = ''
    let at = start
    while (outerFirst[0] && outerFirst[0][0].getStart() < end) {
      const [node, before] = outerFirst.shift()!
      written += text.slice(at, node.getStart())
      const original = write(node.getStart(), node.end)
      written += ts.isExpressionStatement(node) ? `{ ${before}${original} }` : `(${before}(${original}))`
      at = node.end
    }
    return written + text.slice(at, end)
  }
  return write(0, text.length)
}

function read(path: string, text: string): { mutants: Mutant[]; statements: ts.Node[] } {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const mutants: Mutant[] = []
  const statements: ts.Node[] = []
  let depth = 0
  const add: Add = (kind, node, to, within = node) => {
    mutants.push({ kind, start: node.getStart(), end: node.end, text: to, within, atLoad: depth === 0 })
  }
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return
    if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node) || isMessage(node)) return
    const isLazy = ts.isFunctionLike(node) || (ts.isPropertyDeclaration(node) && !ts.getModifiers(node)?.some(isStatic))
    if (isLazy) depth++
    mutate(node, add)
    if (ts.isExpressionStatement(node)) statements.push(node)
    // What a pattern assigns to is no value.
    if (isAssignment(node)) visit(node.right)
    else ts.forEachChild(node, visit)
    if (isLazy) depth--
  }
  visit(source)
  return { mutants: mutants.toSorted((a, b) => a.start - b.start), statements }
}

function isStatic({ kind }: ts.Node): boolean {
  return kind === ts.SyntaxKind.StaticKeyword
}

/** Whether a node assigns to the variables of a pattern. */
function isAssignment(node: ts.Node): node is ts.BinaryExpression {
  return ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
    (ts.isArrayLiteralExpression(node.left) || ts.isObjectLiteralExpression(node.left))
}

function mutate(node: ts.Node, add: Add): void {
  if (ts.isBinaryExpression(node)) {
    const operator = node.operatorToken.getText()
    if (operator in OPPOSITES) add('operator', node.operatorToken, OPPOSITES[operator]!, node)
    if (operator === '??') add('no default', node, node.left.getText())
  } else if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken) {
    add('no negation', node, node.operand.getText())
  } else if (ts.isIfStatement(node)) {
    add('no branch', node.expression, 'false')
  } else if (ts.isConditionalExpression(node)) {
    add('one branch', node, `(${node.whenTrue.getText()})`)
    add('one branch', node, `(${node.whenFalse.getText()})`)
  } else if (ts.isExpressionStatement(node) && isCall(node.expression)) {
    add('no call', node, ';')
  } else if (ts.isArrayLiteralExpression(node) && node.elements.length > 1) {
    for (const each of node.elements) add('no entry', node, without(node.elements, each, '[', ']'))
  } else if (ts.isObjectLiteralExpression(node) && node.properties.length > 1) {
    for (const each of node.properties) {
      if (ts.isPropertyAssignment(each) || ts.isShorthandPropertyAssignment(each)) {
        add('no property', node, without(node.properties, each, '{ ', ' }'))
      }
    }
  } else if (ts.isTemplateSpan(node) && ts.isTemplateExpression(node.parent) && node.parent.templateSpans.length > 1) {
    add('no part', node.expression, `''`)
  } else if (ts.isNumericLiteral(node) && !isName(node)) {
    add('number', node, String(Number(node.text) + 1))
  } else if (node.kind === ts.SyntaxKind.TrueKeyword || node.kind === ts.SyntaxKind.FalseKeyword) {
    add('boolean', node, node.kind === ts.SyntaxKind.TrueKeyword ? 'false' : 'true')
  }
}

function without(all: ts.NodeArray<ts.Node>, one: ts.Node, open: string, close: string): string {
  return open + all.filter((each) => each !== one).map((each) => each.getText()).join(', ') + close
}

function isCall(node: ts.Expression): boolean {
  if (ts.isAwaitExpression(node) || ts.isVoidExpression(node)) return isCall(node.expression)
  return ts.isCallExpression(node) && node.expression.kind !== ts.SyntaxKind.SuperKeyword && !isMessage(node)
}

function isName(node: ts.NumericLiteral): boolean {
  const { parent } = node
  return ts.isBindingElement(parent) ? parent.propertyName === node : 'name' in parent && parent.name === node
}

/** Whether a node is a log line, or the making of an error. */
function isMessage(node: ts.Node): boolean {
  return (ts.isCallExpression(node) || ts.isNewExpression(node)) && MESSAGES.test(node.expression.getText())
}
