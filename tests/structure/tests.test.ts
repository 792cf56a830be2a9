import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import ts from 'typescript'
import { readTree, ROOT } from '../tools/tree.ts'

const files = readTree(['tests'], /\.test\.ts$/)

/** Folders whose subject is real time, sockets or processes. */
const REAL = /^tests\/(runtime|testing|e2e|faults|soak|build|bench)\//

test('every test file has a test, and all use node:test', () => {
  assert.ok(files.size > 5)
  const without = [...files].filter(([, text]) =>
    !/^\s*(test|it|keeping)(\.skip)?\(/m.test(text) || !/from '(?:node:test|\.\/servers\.ts)'/.test(text)
  )
  assert.deepEqual(without.map(([path]) => path), [])
})

test('.ci/run has every file that needs the real control plane', () => {
  const lists = readFileSync(join(ROOT, '.ci/run'), 'utf8').matchAll(/(?:paths|once|waiting)=\(([^)]*)\)/g)
  const paths = [...lists].flatMap(([, list]) => list!.split(/\s+/))
  const needing = [...files].filter(([path, text]) =>
    /env\['KUBEBUILDER_ASSETS'\]|\/real_plane\.ts'/.test(text) && !path.startsWith('tests/structure/')
  )
  assert.ok(needing.length >= 20)
  assert.deepEqual(needing.map(([path]) => path).filter((path) => !paths.some((each) => path.startsWith(each))), [])
})

test('no test sleeps or polls by the real clock', () => {
  assert.deepEqual(
    lines(/\b(setTimeout|setInterval|setImmediate|sleep\(systemClock)\b|timers\/promises/, (path) => !REAL.test(path)),
    [],
  )
})

test('no test polls turn by turn: tests wait for events', () => {
  const found = [...readTree(['tests'], /\.ts$/)].filter(([path]) =>
    !REAL.test(path) && !path.startsWith('tests/tools/')
  ).flatMap(([path, text]) => polls(path, text))
  assert.deepEqual(found, [])
})

test('a polling loop is recognized by what it awaits; a counting loop is not polling', () => {
  const loops: readonly (readonly [string, boolean])[] = [
    ['while (!done) await nextTurn()', true],
    ['while (!(await done())) {\n  await new Promise((resolve) => setImmediate(resolve))\n}', true],
    ['do { await Promise.resolve() } while (!done)', true],
    ['for (;;) { if (done) break; await nextTurn() }', true],
    ['for (; !done;) await sleep(clock, 10)', true],
    ['for (let asked = 0; ; asked++) { await null }', true],
    ['while (await untilDone()) await turn(1)\nasync function turn() { await nextTurn() }', true],
    ['const turn = async () => { await nextTurn() }\nwhile (!done) await turn()', true],
    ['for (let turn = 0; turn < 20; turn++) await nextTurn()', false],
    ['for (const each of all) await nextTurn()', false],
    ['while (queue.length > 0) await queue.get()', false],
    ['while (waiting) await new Promise((resolve) => void listeners.push(resolve))', false],
    ['while (!done) { later(async () => { await nextTurn() }) }', false],
  ]
  for (const [text, isPoll] of loops) assert.equal(polls('a.ts', text).length > 0, isPoll, text)
})

test('a skip is an option with a reason: Deno counts a call of t.skip() as passed', () => {
  assert.deepEqual(lines(/\bt\.skip\(|\btest\.skip\(|skip: true\b/, () => true), [])
})

test('no test is skipped or run alone by accident, and mock timers are not used', () => {
  assert.deepEqual(lines(/\b(test|it|describe)\.(only|todo)\b|only: true|mock\.timers/, () => true), [])
})

/** Returns the loops of a file that have no counter and only await another turn, directly or through a function. */
function polls(path: string, text: string): string[] {
  if (
    !/\bwhile \(|\bdo \{|\bfor \([^)\n]*;[^)\n]*;/.test(text) ||
    !/\b(nextTurn|sleep|setImmediate|setTimeout|null|undefined|resolve)\b/.test(text)
  ) return []
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const passing = new Set(['nextTurn', 'sleep', 'setImmediate', 'setTimeout'])
  /** Tests whether the awaited promise resolves by itself. */
  const passes = (awaited: ts.Expression): boolean => {
    if (['null', 'undefined', 'Promise.resolve()'].includes(awaited.getText())) return true
    if (ts.isCallExpression(awaited)) return passing.has(awaited.expression.getText())
    return ts.isNewExpression(awaited) && /\bset(Immediate|Timeout)\b/.test(awaited.getText())
  }
  const awaits = (node: ts.Node): boolean =>
    (ts.isAwaitExpression(node) && passes(node.expression)) ||
    (ts.forEachChild(node, (child) => !ts.isFunctionLike(child) && awaits(child)) ?? false)
  const functions = (node: ts.Node): void => {
    const made = ts.isVariableDeclaration(node) ? node.initializer : node
    if (made && ts.isFunctionLike(made) && 'body' in made && made.body && awaits(made.body)) {
      const { name } = node as ts.NamedDeclaration
      if (name) passing.add(name.getText())
    }
    ts.forEachChild(node, functions)
  }
  functions(source)
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    const isOpen = ts.isWhileStatement(node) || ts.isDoStatement(node) ||
      (ts.isForStatement(node) && !(node.condition && node.incrementor))
    if (isOpen && awaits(node)) found.push(`${path}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1}`)
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

function lines(pattern: RegExp, of: (path: string) => boolean): string[] {
  return [...files].filter(([path]) => of(path) && path !== 'tests/structure/tests.test.ts').flatMap(([path, text]) =>
    text.split('\n').flatMap((line, at) =>
      pattern.test(line) && !path.startsWith('tests/structure/') ? [`${path}:${at + 1} ${line.trim()}`] : []
    )
  )
}
