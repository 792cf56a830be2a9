import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aborted, abortScope, LazyAbort, rejectOnAbort, untilAborted } from '../../lib/async/abort.ts'
import { countedSignal } from './counted_signal.ts'

test('a scope is aborted with the first of its parents, with the reason of that one', () => {
  const [a, b] = [new AbortController(), new AbortController()]
  const scope = abortScope(a.signal, undefined, b.signal)
  b.abort('b')
  a.abort('a')
  assert.equal(scope.signal.reason, 'b')
})

test('a scope with an aborted parent is aborted from the start', () => {
  assert.equal(abortScope(undefined, AbortSignal.abort('late')).signal.reason, 'late')
})

test('a scope that is aborted does not abort its parent', () => {
  const parent = new AbortController()
  abortScope(parent.signal).abort('mine')
  assert.equal(parent.signal.aborted, false)
})

test('a disposed scope leaves no listeners on its parents', () => {
  const parent = countedSignal()
  const scopes = Array.from({ length: 20 }, () => abortScope(parent.controller.signal))
  assert.equal(parent.listeners(), 20)
  for (const scope of scopes) scope[Symbol.dispose]()
  assert.equal(parent.listeners(), 0)
  parent.controller.abort('end')
  assert.ok(scopes.every((scope) => !scope.signal.aborted))
})

test('a lazy signal listens to its parent from the first read until its abort', () => {
  const parent = countedSignal()
  const lazy = new LazyAbort(parent.controller.signal)
  assert.equal(parent.listeners(), 0)
  const { signal } = lazy
  assert.deepEqual([parent.listeners(), lazy.signal === signal, signal.aborted], [1, true, false])
  lazy.abort('own')
  assert.deepEqual([parent.listeners(), signal.reason], [0, 'own'])
})

test('a lazy signal that is read after its abort is aborted with the first reason', () => {
  const parent = countedSignal()
  for (const lazy of [new LazyAbort(), new LazyAbort(parent.controller.signal)]) {
    assert.deepEqual([lazy.abort('first'), lazy.abort('second')], [true, false])
    assert.equal(lazy.signal.reason, 'first')
  }
  assert.equal(parent.listeners(), 0)
})

test('a lazy signal is aborted with its parent, also if that was aborted before the first read', () => {
  const parent = countedSignal()
  const [early, late] = [new LazyAbort(parent.controller.signal), new LazyAbort(parent.controller.signal)]
  const { signal } = early
  parent.controller.abort('parent')
  assert.deepEqual([signal.reason, late.signal.reason], ['parent', 'parent'])
  assert.equal(parent.listeners(), 0)
})

test('rejectOnAbort removes its listener in every case', async () => {
  const parent = countedSignal()
  const { signal } = parent.controller
  assert.equal(await rejectOnAbort<number>(signal, (resolve) => (resolve(1), () => {})), 1)
  let settle = (_: number): void => {}
  const later = rejectOnAbort<number>(signal, (resolve) => ((settle = resolve), () => {}))
  settle(2)
  assert.equal(await later, 2)
  assert.equal(parent.listeners(), 0)
})

test('an abort cancels once, and a later result is ignored', async () => {
  const controller = new AbortController()
  let undone = 0
  let settle = (): void => {}
  const waiting = rejectOnAbort(controller.signal, (resolve) => ((settle = resolve), () => void undone++))
  controller.abort(new Error('stop'))
  settle()
  await assert.rejects(waiting, /stop/)
  assert.equal(undone, 1)
})

test('rejectOnAbort does not begin if the signal is already aborted', async () => {
  let begun = false
  await assert.rejects(rejectOnAbort(AbortSignal.abort(new Error('stop')), () => ((begun = true), () => {})), /stop/)
  assert.equal(begun, false)
})

test('untilAborted settles with the promise, or rejects on the abort', async () => {
  const parent = countedSignal()
  assert.equal(await untilAborted(Promise.resolve(1), parent.controller.signal), 1)
  await assert.rejects(untilAborted(Promise.reject(new Error('own')), parent.controller.signal), /own/)
  await Promise.resolve()
  assert.equal(parent.listeners(), 0)
  const never = untilAborted(new Promise(() => {}), parent.controller.signal)
  parent.controller.abort(new Error('stop'))
  await assert.rejects(never, /stop/)
})

test('untilAborted handles a rejection after the abort, and one with an aborted signal', async () => {
  const fails = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const
  const controller = new AbortController()
  const first = untilAborted(fails[0].promise, controller.signal)
  controller.abort(new Error('stop'))
  const second = untilAborted(fails[1].promise, controller.signal)
  for (const fail of fails) fail.reject(new Error('too late'))
  // An unhandled rejection fails this file under every runtime.
  await assert.rejects(first, /stop/)
  await assert.rejects(second, /stop/)
})

test('aborted resolves with the abort and never rejects', async () => {
  const controller = new AbortController()
  const waiting = aborted(controller.signal)
  controller.abort(new Error('stop'))
  assert.equal(await waiting, undefined)
  assert.equal(await aborted(controller.signal), undefined)
})
