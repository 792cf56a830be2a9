/** Finds the small changes of a source file that a test should notice. */
import ts from 'typescript'

/** A change of one place of a file: `[start, end)` becomes `text`. */
export interface Mutant {
  readonly kind: string
  readonly start: number
  readonly end: number
  readonly text: string
}

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
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const found: Mutant[] = []
  const add = (kind: string, node: ts.Node, to: string): void => {
    found.push({ kind, start: node.getStart(), end: node.end, text: to })
  }
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return
    if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node) || isMessage(node)) return
    mutate(node, add)
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found.toSorted((a, b) => a.start - b.start)
}

function mutate(node: ts.Node, add: (kind: string, node: ts.Node, to: string) => void): void {
  if (ts.isBinaryExpression(node)) {
    const operator = node.operatorToken.getText()
    if (operator in OPPOSITES) add('operator', node.operatorToken, OPPOSITES[operator]!)
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
  } else if (ts.isNumericLiteral(node)) {
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

/** Whether a node is a log line, or the making of an error. */
function isMessage(node: ts.Node): boolean {
  return (ts.isCallExpression(node) || ts.isNewExpression(node)) && MESSAGES.test(node.expression.getText())
}
