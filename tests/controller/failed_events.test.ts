import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubeObject } from '../../lib/core/objects.ts'
import { FailedEvents } from '../../lib/controller/failed_events.ts'
import { pod } from '../cache/scripted_server.ts'

const added = (object: KubeObject, priority = 0) => ({
  states: [object],
  delta: { kind: 'added', object, initial: false } as const,
  priority,
  why: 'mine',
})
const deleted = (object: KubeObject) => ({
  states: [object],
  delta: { kind: 'deleted', object, stale: false } as const,
  priority: 0,
  why: 'mine',
})

test('the three newest states of an object and its oldest are kept, each once, with the highest priority', () => {
  const parked = new FailedEvents()
  const versions = Array.from({ length: 6 }, (_, i) => pod('a', `${i}`))
  for (const [i, object] of versions.entries()) {
    parked.add('a', { ...added(object, i === 2 ? 5 : -100), states: i > 0 ? [object, versions[i - 1]!] : [object] })
  }
  assert.deepEqual(parked.get('a')?.states, [5, 4, 3, 0].map((i) => versions[i]))
  assert.deepEqual([parked.get('a')?.priority, parked.get('a')?.delta.object, parked.size], [5, versions[5], 1])
})

test('mapped states are removed, all stay if an event came meanwhile, and the object is removed with its last state', () => {
  const parked = new FailedEvents()
  const [first, second] = [pod('a', '1'), pod('a', '2')]
  const mapped = (states: readonly KubeObject[], why = ''): void => parked.mapped('a', parked.get('a')!, states, why)
  parked.add('a', added(first))
  const tried = parked.get('a')!
  parked.add('a', { ...added(second), why: '' })
  parked.mapped('a', tried, [first], '')
  assert.deepEqual(parked.get('a')?.states, [second, first])
  mapped([first])
  assert.deepEqual([parked.get('a')?.states, parked.get('a')?.why], [[second], 'mine'])
  mapped([], 'again')
  assert.equal(parked.get('a')?.why, 'again')
  mapped([second])
  assert.deepEqual([parked.size, [...parked.values()]], [0, []])
})

test('the number of deleted objects is limited: the oldest is dropped, unless it was mapped or created again', () => {
  const parked = new FailedEvents(2)
  const [a, b, c, d, e, f] = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => pod(name, '1')) as [
    ...[KubeObject, KubeObject, KubeObject],
    ...[KubeObject, KubeObject, KubeObject],
  ]
  for (const [i, object] of [a, b].entries()) assert.equal(parked.add('ab'[i]!, deleted(object)), undefined)
  parked.add('a', added(a))
  assert.equal(parked.add('c', deleted(c)), undefined)
  assert.equal(parked.add('d', deleted(d))?.delta.object, b)
  parked.mapped('c', parked.get('c')!, [c], '')
  assert.equal(parked.add('e', deleted(e)), undefined)
  assert.equal(parked.add('f', deleted(f))?.delta.object, d)
  assert.deepEqual([...parked.values()].map(({ delta }) => delta.object.metadata.name), ['a', 'e', 'f'])
})
