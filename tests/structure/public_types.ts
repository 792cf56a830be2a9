/** Finds types that public declarations mention and no entry exports. */
import { join } from 'node:path'
import ts from 'typescript'
import { ROOT } from '../tools/tree.ts'

/**
 * Returns the types that public declarations mention and no entry exports, as `Name (its file), mentioned by Name`.
 *
 * Walks from the exports of the entries, by their paths from the top, through every mentioned type, hidden ones
 * included. Bodies, initializers and private members are skipped. A type that a file does not export counts as part of
 * the declaration that mentions it. `texts`: files that exist only in a test, by their paths from the top.
 */
export function hiddenTypes(entries: readonly string[], texts: ReadonlyMap<string, string> = new Map()): string[] {
  const { config } = ts.readConfigFile(`${ROOT}/tsconfig.json`, ts.sys.readFile) as { config: object }
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, ROOT)
  const program = ts.createProgram(entries.map((entry) => join(ROOT, entry)), options, virtualHost(options, texts))
  const checker = program.getTypeChecker()
  const resolved = (
    symbol: ts.Symbol,
  ): ts.Symbol => (symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol)
  const exportsOf = (entry: string): ts.Symbol[] =>
    checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(join(ROOT, entry))!)!)

  const known = new Set<ts.Symbol>()
  const waiting: ts.Symbol[] = []
  const publish = (symbol: ts.Symbol): void => {
    const target = resolved(symbol)
    if (known.has(target)) return
    known.add(target)
    waiting.push(target)
    // `export * as name`: the exports of the module are reached through the name.
    // An alias of a type exports it.
    for (const each of target.declarations ?? []) {
      if (!ts.isTypeAliasDeclaration(each) || !ts.isTypeReferenceNode(each.type) || each.type.typeArguments) continue
      const aliased = checker.getSymbolAtLocation(each.type.typeName)
      if (aliased) publish(aliased)
    }
    if (target.flags & ts.SymbolFlags.ValueModule) {
      for (const each of checker.getExportsOfModule(target)) {
        publish(each)
      }
    }
  }
  for (const entry of entries) exportsOf(entry).forEach(publish)

  const hidden: string[] = []
  for (let symbol = waiting.shift(); symbol; symbol = waiting.shift()) {
    for (const declaration of symbol.declarations ?? []) {
      if (!ts.isSourceFile(declaration)) walk(declaration, symbol.name)
    }
  }
  return hidden.toSorted()

  function walk(node: ts.Node, by: string): void {
    if (isOutOfSight(node)) return
    if (ts.isTypeReferenceNode(node)) mention(node.typeName, by)
    else if (ts.isExpressionWithTypeArguments(node)) mention(node.expression, by)
    ts.forEachChild(node, (child) => {
      if (!isHiddenPart(node, child)) walk(child, by)
    })
  }

  function mention(name: ts.Node, by: string): void {
    const found = checker.getSymbolAtLocation(name)
    if (!found) return
    const symbol = resolved(found)
    const file = symbol.declarations?.[0]?.getSourceFile().fileName
    if (known.has(symbol) || symbol.flags & ts.SymbolFlags.TypeParameter || !file?.startsWith(`${ROOT}/lib/`)) return
    known.add(symbol)
    waiting.push(symbol)
    if (isExported(symbol)) hidden.push(`${symbol.name} (${file.slice(ROOT.length + 1)}), mentioned by ${by}`)
  }
}

function isExported(symbol: ts.Symbol): boolean {
  return (symbol.declarations ?? []).some((each) =>
    ts.canHaveModifiers(each) && ts.getModifiers(each)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
  )
}

/** Tests for members whose types are not in declaration files. */
function isOutOfSight(node: ts.Node): boolean {
  if (!ts.isClassElement(node)) return false
  if (node.name && ts.isPrivateIdentifier(node.name)) return true
  return ts.canHaveModifiers(node) &&
    (ts.getModifiers(node) ?? []).some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword)
}

/** Tests for a body or an initializer: its type is declared separately. */
function isHiddenPart(parent: ts.Node, child: ts.Node): boolean {
  return ('body' in parent && parent.body === child && ts.isBlock(child)) ||
    ('initializer' in parent && parent.initializer === child)
}

/** The parsed files of the repository and its packages: all programs of a process share them. */
const parsed = new Map<string, ts.SourceFile | undefined>()

/** Returns a compiler host for this repository with additional files, given by their paths from the top. */
function virtualHost(options: ts.CompilerOptions, files: ReadonlyMap<string, string>): ts.CompilerHost {
  const texts = new Map([...files].map(([path, text]) => [join(ROOT, path), text]))
  const host = ts.createCompilerHost(options)
  const { getSourceFile, fileExists } = host
  host.fileExists = (path) => texts.has(path) || fileExists(path)
  host.getSourceFile = (path, version, ...rest) => {
    const text = texts.get(path)
    if (text !== undefined) return ts.createSourceFile(path, text, version)
    if (!parsed.has(path)) parsed.set(path, getSourceFile(path, version, ...rest))
    return parsed.get(path)
  }
  return host
}
