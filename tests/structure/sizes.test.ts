import assert from 'node:assert/strict'
import { test } from 'node:test'
import ts from 'typescript'
import { readTree } from '../tools/tree.ts'

const MAX_FILE = 405
const MAX_FUNCTION = 80

const LONGER: Readonly<Record<string, string>> = {
  'lib/kinds/models.ts': 'made by a tool',
}

test('files and functions of lib are short', () => {
  const files = readTree(['lib'], /\.ts$/)
  const long: string[] = []
  const longer = new Set<string>()
  for (const [path, text] of files) {
    if (text.split('\n').length > MAX_FILE) longer.add(path)
    if (text.split('\n').length > MAX_FUNCTION) long.push(...longFunctions(path, text))
  }
  assert.deepEqual(long, [])
  assert.deepEqual([...longer].toSorted(), Object.keys(LONGER))
})

test('a long function is found, with its place', () => {
  const body = 'x()\n'.repeat(MAX_FUNCTION)
  assert.deepEqual(longFunctions('a.ts', `\nfunction f() {\n${body}}`), [
    `a.ts:2 has a function of ${MAX_FUNCTION + 2} lines`,
  ])
  assert.deepEqual(longFunctions('a.ts', `class A {\n  m = () => {\n${body}}\n}`).length, 1)
  assert.deepEqual(longFunctions('a.ts', `function f() { x() }\n${body}`), [])
})

function longFunctions(path: string, text: string): string[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body) {
      const first = source.getLineAndCharacterOfPosition(node.getStart()).line
      const lines = source.getLineAndCharacterOfPosition(node.end).line - first + 1
      if (lines > MAX_FUNCTION) found.push(`${path}:${first + 1} has a function of ${lines} lines`)
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}
