import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextTurn } from '../../lib/async/clock.ts'
import { Slots } from '../../lib/async/slots.ts'
import { countedSignal } from './counted_signal.ts'

test('those without a slot wait, signals by turns, and leave by their signal', async () => {
  const slots = new Slots(2)
  const [many, one] = [countedSignal(), countedSignal()]
  assert.deepEqual([slots.take(undefined), slots.take(many.controller.signal)], [undefined, undefined])
  const went: string[] = []
  const waits = (name: string, { controller: { signal } }: typeof many): Promise<unknown> =>
    slots.take(signal)!.then(() => went.push(name), (error: unknown) => went.push(`${name} ${error}`))
  const all = [...['a', 'b', 'c', 'd'].map((name) => waits(name, many)), waits('e', one)]
  assert.deepEqual([many.listeners(), one.listeners()], [1, 1])
  const gone = async (free: number): Promise<readonly string[]> => {
    for (let n = 0; n < free; n++) slots.give()
    await nextTurn()
    return went.splice(0)
  }
  assert.deepEqual(await gone(0), [])
  assert.deepEqual(await gone(3), ['a', 'e', 'b'])
  assert.equal(one.listeners(), 0)
  many.controller.abort('has left')
  assert.deepEqual(await gone(0), ['c has left', 'd has left'])
  await assert.rejects(slots.take(many.controller.signal)!, (reason) => reason === 'has left')
  await Promise.all(all)
  // Those that have left hold none.
  slots.give()
  assert.deepEqual([slots.take(undefined), slots.take(one.controller.signal)?.constructor], [undefined, Promise])
})
