import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { EventChannel } from '../../lib/async/event_channel.ts'
import { nextTurn } from '../../lib/async/clock.ts'
import { countedSignal } from './counted_signal.ts'

/** Reads until the end, or until it has `max` items. */
async function read<T>(channel: EventChannel<T>, max = Infinity): Promise<T[]> {
  const items: T[] = []
  for await (const item of channel) {
    items.push(item)
    if (items.length >= max) break
  }
  return items
}

test('a later listener starts with the oldest item that another has not received', async () => {
  const channel = new EventChannel<number>()
  const slow = channel[Symbol.asyncIterator]()
  await channel.send(1)
  await channel.send(2)
  assert.deepEqual(await slow.next(), { done: false, value: 1 })
  const late = read(channel)
  await channel.send(3)
  channel.close()
  assert.deepEqual(await late, [2, 3])
  assert.deepEqual([await slow.next(), await slow.next(), await slow.next()], [{ done: false, value: 2 }, {
    done: false,
    value: 3,
  }, { done: true, value: 'done' }])
})

test('senders wait in order for the slowest listener when the channel is full', async () => {
  const channel = new EventChannel<number>(2)
  const slow = channel[Symbol.asyncIterator]()
  const fast = channel[Symbol.asyncIterator]()
  const accepted: number[] = []
  for (const item of [1, 2, 3, 4]) void channel.send(item).then(() => accepted.push(item))
  await nextTurn()
  assert.deepEqual(accepted, [1, 2])
  assert.deepEqual([(await fast.next()).value, (await fast.next()).value], [1, 2])
  await nextTurn()
  assert.deepEqual(accepted, [1, 2])
  await slow.next()
  await nextTurn()
  assert.deepEqual(accepted, [1, 2, 3])
  await slow.return?.()
  await nextTurn()
  assert.deepEqual([accepted, (await fast.next()).value, (await fast.next()).value], [[1, 2, 3, 4], 3, 4])
})

test('an aborted send delivers nothing and leaves no listener', async () => {
  const channel = new EventChannel<string>(1)
  const signal = countedSignal()
  await channel.send('a', signal.controller.signal)
  const waiting = channel.send('aborted', signal.controller.signal)
  assert.equal(signal.listeners(), 1)
  signal.controller.abort(new Error('mine'))
  await assert.rejects(waiting, /mine/)
  await assert.rejects(channel.send('b', signal.controller.signal), /mine/)
  const reading = read(channel, 2)
  await channel.send('c')
  assert.deepEqual([await reading, signal.listeners()], [['a', 'c'], 0])
})

test('closing refuses waiting and later items; accepted ones are delivered', async () => {
  const channel = new EventChannel<string>(1)
  await channel.send('a')
  const waiting = channel.send('b')
  channel.close()
  channel.close()
  await assert.rejects(waiting, /Cannot send to an event channel: it was closed/)
  await assert.rejects(channel.send('c'), /it was closed/)
  assert.deepEqual([await read(channel), await read(channel)], [['a'], []])
})

test('a listener that stops is resolved at once, and delays no sender', async () => {
  const channel = new EventChannel<number>(1)
  const iterator = channel[Symbol.asyncIterator]()
  const waiting = iterator.next()
  await iterator.return?.()
  assert.deepEqual([await waiting, await iterator.next()], [{ done: true, value: undefined }, {
    done: true,
    value: undefined,
  }])
  await channel.send(1)
  assert.deepEqual(await read(channel, 1), [1])
})

test('the capacity must be an integer of at least 1', () => {
  for (const capacity of [0, -1, 1.5, NaN]) {
    assert.throws(() => new EventChannel(capacity), /its capacity is .*, and must be an integer of at least 1$/)
  }
})

test('each listener receives items without gaps, for any order of sends, reads and listeners', async () => {
  const step = fc.oneof(
    fc.constant({ do: 'send' as const }),
    fc.record({ do: fc.constant('listen' as const) }),
    fc.record({ do: fc.constantFrom('read' as const, 'leave' as const), who: fc.nat(4) }),
  )
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 3 }), fc.array(step, { maxLength: 60 }), async (capacity, steps) => {
      const channel = new EventChannel<number>(capacity)
      const listeners: { iterator: AsyncIterator<number, 'done' | undefined, void>; received: number[] }[] = []
      let sent = 0
      const reads: Promise<unknown>[] = []
      const sends: Promise<void>[] = []
      const readOne = (listener: typeof listeners[number]): void =>
        void reads.push(
          listener.iterator.next().then(({ done, value }) => void (done || listener.received.push(value!))),
        )
      for (const each of steps) {
        if (each.do === 'send') sends.push(channel.send(sent++).catch(() => {}))
        else if (each.do === 'listen') listeners.push({ iterator: channel[Symbol.asyncIterator](), received: [] })
        else if (listeners.length > 0) {
          const who = listeners[each.who % listeners.length]!
          if (each.do === 'read') readOne(who)
          else await who.iterator.return?.()
        }
        await nextTurn()
      }
      // Read the rest with all listeners, so that every sender is accepted.
      const rest = read(channel)
      for (const listener of listeners) for (let i = 0; i <= sent; i++) readOne(listener)
      await nextTurn()
      await Promise.all(sends)
      channel.close()
      await Promise.all(reads)
      const all = [...listeners.map(({ received }) => received), await rest]
      for (const received of all) {
        received.forEach((item, i) =>
          assert.ok(i === 0 || item === received[i - 1]! + 1, `a gap: ${received.join(' ')}`)
        )
      }
      if (sent > 0) assert.equal(Math.max(...all.map((received) => received.at(-1) ?? -1)), sent - 1)
    }),
    { numRuns: 60 },
  )
})
