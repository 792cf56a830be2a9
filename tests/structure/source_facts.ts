/** Reads the imports, exports and uses of globals of a source file. */
import ts from 'typescript'

export interface ImportFact {
  /** Undefined if it is computed at run time. */
  readonly specifier: string | undefined
  readonly line: number
  /** `static`, `dynamic` (`import()`), or `type`: erased before running. */
  readonly how: 'static' | 'dynamic' | 'type'
  readonly names: readonly string[]
}

export type SourceFacts = ReturnType<typeof readFacts>

/** Globals to report, unless the file declares the name itself. */
const WATCHED = new Set([
  'process',
  'Buffer',
  'Deno',
  'Bun',
  '__dirname',
  '__filename',
  'require',
  'global',
  'setTimeout',
  'setInterval',
  'setImmediate',
])
const WATCHED_MEMBERS = new Set(['Date.now', 'performance.now', 'AbortSignal.any', 'AbortSignal.timeout'])

export function readFacts(path: string, text: string) {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const imports: ImportFact[] = []
  const found: { name: string; line: number }[] = []
  const declared = new Set<string>()
  const lineOf = (node: ts.Node): number => source.getLineAndCharacterOfPosition(node.getStart()).line + 1

  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) imports.push(importFact(node, lineOf(node)))
    else if (ts.isExportDeclaration(node) && node.moduleSpecifier) imports.push(exportFact(node, lineOf(node)))
    else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      imports.push({ specifier: textOf(node.argument.literal), line: lineOf(node), how: 'type', names: [] })
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      imports.push({ specifier: textOf(node.arguments[0]), line: lineOf(node), how: 'dynamic', names: [] })
    } else if (ts.isNewExpression(node) && node.expression.getText() === 'Date' && !node.arguments?.length) {
      found.push({ name: 'new Date()', line: lineOf(node) })
    } else if (ts.isPropertyAccessExpression(node) && WATCHED_MEMBERS.has(node.getText())) {
      found.push({ name: node.getText(), line: lineOf(node) })
    } else if (ts.isIdentifier(node) && WATCHED.has(node.text)) {
      if (declares(node)) declared.add(node.text)
      else if (isUse(node)) found.push({ name: node.text, line: lineOf(node) })
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return {
    imports,
    /** Uses of globals, such as `process` and `Date.now`, with their lines. */
    uses: found.filter(({ name }) => !declared.has(name)),
    exports: source.statements.flatMap((statement) => exportedNames(statement)),
    values: source.statements.flatMap((statement) => exportedNames(statement, isValue)),
    /** Statements other than imports and exports of names. */
    statements:
      source.statements.filter((each) => !ts.isImportDeclaration(each) && !ts.isExportDeclaration(each)).length,
    /** Whether the top level creates a class, a symbol or an empty map, which must exist once. */
    identity: source.statements.some(makesIdentity),
  }
}

function importFact(node: ts.ImportDeclaration, line: number): ImportFact {
  const clause = node.importClause
  const bindings = clause?.namedBindings
  const named = bindings && ts.isNamedImports(bindings) ? [...bindings.elements] : []
  const values = named.filter((element) => !element.isTypeOnly)
  const onlyTypes = clause !== undefined &&
    (isTypeOnly(clause) || (clause.name === undefined && named.length > 0 && values.length === 0))
  return {
    specifier: textOf(node.moduleSpecifier),
    line,
    how: onlyTypes ? 'type' : 'static',
    names: values.map((each) => (each.propertyName ?? each.name).text),
  }
}

function isTypeOnly(clause: ts.ImportClause): boolean {
  return clause.phaseModifier === ts.SyntaxKind.TypeKeyword
}

function exportFact(node: ts.ExportDeclaration, line: number): ImportFact {
  const named = node.exportClause && ts.isNamedExports(node.exportClause) ? [...node.exportClause.elements] : []
  const values = named.filter((element) => !element.isTypeOnly)
  const onlyTypes = node.isTypeOnly || (named.length > 0 && values.length === 0)
  return {
    specifier: textOf(node.moduleSpecifier),
    line,
    how: onlyTypes ? 'type' : 'static',
    names: values.map((each) => (each.propertyName ?? each.name).text),
  }
}

/** `wanted` filters statements and the names in an `export { … }`. */
function exportedNames(
  statement: ts.Statement,
  wanted: (node: ts.Statement | ts.ExportSpecifier) => boolean = () => true,
): string[] {
  if (!wanted(statement)) return []
  if (ts.isExportDeclaration(statement)) {
    const clause = statement.exportClause
    if (!clause) return ['*']
    return ts.isNamedExports(clause)
      ? clause.elements.filter(wanted).map((element) => element.name.text)
      : [clause.name.text]
  }
  const modifiers = ts.canHaveModifiers(statement) ? ts.getModifiers(statement) ?? [] : []
  if (!modifiers.some((each) => each.kind === ts.SyntaxKind.ExportKeyword)) return []
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.map((each) => each.name.getText())
  }
  return 'name' in statement && statement.name ? [(statement.name as ts.Identifier).text] : ['default']
}

function isValue(node: ts.Statement | ts.ExportSpecifier): boolean {
  if (ts.isExportSpecifier(node) || ts.isExportDeclaration(node)) return !node.isTypeOnly
  return !ts.isInterfaceDeclaration(node) && !ts.isTypeAliasDeclaration(node)
}

function makesIdentity(statement: ts.Statement): boolean {
  if (ts.isClassDeclaration(statement)) return true
  if (!ts.isVariableStatement(statement)) return false
  return statement.declarationList.declarations.some(({ initializer }) =>
    initializer !== undefined &&
    (ts.isClassExpression(initializer) ||
      /^(Symbol\(|new Weak(Map|Set)\b|new (Map|Set)(<.*>)?\(\))/s.test(initializer.getText()))
  )
}

function textOf(node: ts.Node | undefined): string | undefined {
  return node && ts.isStringLiteralLike(node) ? node.text : undefined
}

function declares(node: ts.Identifier): boolean {
  const parent = node.parent
  return (ts.isVariableDeclaration(parent) || ts.isParameter(parent) || ts.isFunctionDeclaration(parent) ||
    ts.isBindingElement(parent) ||
    ts.isImportSpecifier(parent) || ts.isImportClause(parent) || ts.isNamespaceImport(parent)) && parent.name === node
}

/** Tests for a reference, not the name of a member, a property or a label. */
function isUse(node: ts.Identifier): boolean {
  const parent = node.parent
  if (ts.isPropertyAccessExpression(parent)) {
    return parent.expression === node || parent.expression.getText() === 'globalThis'
  }
  if (ts.isQualifiedName(parent)) return parent.left === node
  if (
    ts.isPropertyAssignment(parent) || ts.isMethodDeclaration(parent) || ts.isPropertySignature(parent) ||
    ts.isMethodSignature(parent) ||
    ts.isPropertyDeclaration(parent) || ts.isGetAccessorDeclaration(parent) || ts.isNamedTupleMember(parent) ||
    ts.isJsxAttribute(parent)
  ) {
    return parent.name !== node
  }
  return true
}
