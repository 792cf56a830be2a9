import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readTree } from '../tools/tree.ts'

const files = readTree(['tests'], /\.test\.ts$/)

/** Where real time, sockets or processes are the subject. */
const REAL = /^tests\/(runtime|testing|e2e|build|bench)\//

test('every test file has a test, and all use node:test', () => {
  assert.ok(files.size > 5)
  const without = [...files].filter(([, text]) => !/^\s*(test|it)(\.skip)?\(/m.test(text) || !text.includes(`from 'node:test'`))
  assert.deepEqual(without.map(([path]) => path), [])
})

test('no test sleeps or polls by the real clock', () => {
  assert.deepEqual(lines(/\b(setTimeout|setInterval|sleep\(systemClock)\b|timers\/promises/, (path) => !REAL.test(path)), [])
})

test('a skip is an option with a reason: Deno takes a call of t.skip() for a pass', () => {
  assert.deepEqual(lines(/\bt\.skip\(|\btest\.skip\(|skip: true\b/, () => true), [])
})

test('no test is left out by accident, or alone, and mock timers are not used', () => {
  assert.deepEqual(lines(/\b(test|it|describe)\.(only|todo)\b|only: true|mock\.timers/, () => true), [])
})

function lines(pattern: RegExp, of: (path: string) => boolean): string[] {
  return [...files].filter(([path]) => of(path) && path !== 'tests/structure/tests.test.ts').flatMap(([path, text]) =>
    text.split('\n').flatMap((line, at) =>
      pattern.test(line) && !path.startsWith('tests/structure/') ? [`${path}:${at + 1} ${line.trim()}`] : []
    )
  )
}
