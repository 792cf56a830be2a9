import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aborted, abortScope, rejectOnAbort, untilAborted } from '../../lib/async/abort.ts'
import { countedSignal } from './counted_signal.ts'

test('a scope ends with the first of its parents, and with its reason', () => {
  const [a, b] = [new AbortController(), new AbortController()]
  const scope = abortScope(a.signal, undefined, b.signal)
  b.abort('b')
  a.abort('a')
  assert.equal(scope.signal.reason, 'b')
})

test('a scope of an aborted parent begins aborted', () => {
  assert.equal(abortScope(undefined, AbortSignal.abort('late')).signal.reason, 'late')
})

test('a scope that is aborted does not abort its parent', () => {
  const parent = new AbortController()
  abortScope(parent.signal).abort('mine')
  assert.equal(parent.signal.aborted, false)
})

test('a disposed scope has let go of its parents', () => {
  const parent = countedSignal()
  const scopes = Array.from({ length: 20 }, () => abortScope(parent.controller.signal))
  assert.equal(parent.listeners(), 20)
  for (const scope of scopes) scope[Symbol.dispose]()
  assert.equal(parent.listeners(), 0)
  parent.controller.abort('end')
  assert.ok(scopes.every((scope) => !scope.signal.aborted))
})

test('rejectOnAbort leaves no listener behind, however it ends', async () => {
  const parent = countedSignal()
  const { signal } = parent.controller
  assert.equal(await rejectOnAbort<number>(signal, (resolve) => (resolve(1), () => {})), 1)
  let settle = (_: number): void => {}
  const later = rejectOnAbort<number>(signal, (resolve) => ((settle = resolve), () => {}))
  settle(2)
  assert.equal(await later, 2)
  assert.equal(parent.listeners(), 0)
})

test('an abort undoes what was begun, once, and what comes later is ignored', async () => {
  const controller = new AbortController()
  let undone = 0
  let settle = (): void => {}
  const waiting = rejectOnAbort(controller.signal, (resolve) => ((settle = resolve), () => void undone++))
  controller.abort(new Error('stop'))
  settle()
  await assert.rejects(waiting, /stop/)
  assert.equal(undone, 1)
})

test('an aborted signal lets nothing begin', async () => {
  let begun = false
  await assert.rejects(rejectOnAbort(AbortSignal.abort(new Error('stop')), () => ((begun = true), () => {})), /stop/)
  assert.equal(begun, false)
})

test('untilAborted waits for the promise, but no longer than the signal lives', async () => {
  const parent = countedSignal()
  assert.equal(await untilAborted(Promise.resolve(1), parent.controller.signal), 1)
  await assert.rejects(untilAborted(Promise.reject(new Error('own')), parent.controller.signal), /own/)
  await Promise.resolve()
  assert.equal(parent.listeners(), 0)
  const never = untilAborted(new Promise(() => {}), parent.controller.signal)
  parent.controller.abort(new Error('stop'))
  await assert.rejects(never, /stop/)
})

test('a promise that rejects after the abort, or after it was given an aborted signal, is nobody’s unhandled rejection', async () => {
  const fails = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const
  const controller = new AbortController()
  const first = untilAborted(fails[0].promise, controller.signal)
  controller.abort(new Error('stop'))
  const second = untilAborted(fails[1].promise, controller.signal)
  for (const fail of fails) fail.reject(new Error('nobody listens'))
  // An unhandled rejection fails this file under every runtime.
  await assert.rejects(first, /stop/)
  await assert.rejects(second, /stop/)
})

test('aborted settles with the signal and never rejects', async () => {
  const controller = new AbortController()
  const waiting = aborted(controller.signal)
  controller.abort(new Error('stop'))
  assert.equal(await waiting, undefined)
  assert.equal(await aborted(controller.signal), undefined)
})
