import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { WorkQueue } from '../../lib/queue/work_queue.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import type { HistogramDefinition, MetricDefinition } from '../../lib/observe/metrics.ts'
import { partMeter } from '../../lib/manager/metrics.ts'
import { type MemoryMeter, memoryMeter } from '../observe/memory_meter.ts'
import { QueueModel } from './queue_model.ts'
import { tries } from '../tools/fuzz.ts'

const never = new AbortController().signal
const LABELS = { name: 'foo', controller: 'foo' }

function measured(): { readonly clock: FakeClock; readonly meter: MemoryMeter; readonly queue: WorkQueue<string> } {
  const [clock, meter] = [new FakeClock(), memoryMeter()]
  return { clock, meter, queue: new WorkQueue({ clock, meter, ...LABELS }) }
}

function value(meter: MemoryMeter, name: string): number | undefined {
  meter.scrape()
  return meter.value(`workqueue_${name}`, LABELS)
}

/** Returns the depth of each priority that has keys. */
function depths(meter: MemoryMeter): Record<string, number> {
  meter.scrape()
  const labels = meter.series().flatMap((id) => /^workqueue_depth\{.*priority="(.+)"\}$/.exec(id)?.[1] ?? [])
  const counts = labels.map((priority) => [priority, meter.value('workqueue_depth', { ...LABELS, priority })!] as const)
  return Object.fromEntries(counts.filter(([, count]) => count !== 0))
}

test('names, labels and buckets are those of client-go, plus a metric of delayed keys', () => {
  const definitions: (MetricDefinition & Partial<HistogramDefinition>)[] = []
  const meter = memoryMeter()
  new WorkQueue({
    meter: partMeter({
      ...meter,
      counter: (definition) => (definitions.push(definition), meter.counter(definition)),
      gauge: (definition) => (definitions.push(definition), meter.gauge(definition)),
      histogram: (definition) => (definitions.push(definition), meter.histogram(definition)),
    }),
    ...LABELS,
  }).add('a')
  assert.deepEqual(Object.fromEntries(definitions.map(({ name, labels }) => [name, labels.join()])), {
    workqueue_adds_total: 'name,controller',
    workqueue_delayed_items: 'name,controller',
    workqueue_depth: 'name,controller,priority',
    workqueue_longest_running_processor_seconds: 'name,controller',
    workqueue_queue_duration_seconds: 'name,controller',
    workqueue_retries_total: 'name,controller',
    workqueue_unfinished_work_seconds: 'name,controller',
    workqueue_work_duration_seconds: 'name,controller',
  })
  const buckets = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1, 10, 100, 1000]
  assert.deepEqual(definitions.flatMap((each) => each.buckets ? [each.buckets] : []), [buckets, buckets])
})

test('a queue with only one of name and controller uses it for both labels', () => {
  for (const labels of [{ name: 'foo' }, { controller: 'foo' }]) {
    const meter = memoryMeter()
    new WorkQueue<string>({ meter, ...labels }).add('a')
    assert.equal(value(meter, 'adds_total'), 1)
  }
})

test('a queue has no series before its first use', () => {
  const { meter, queue } = measured()
  assert.deepEqual([queue.length, meter.series()], [0, []])
})

test('all values are exact after each add, get and done', async () => {
  const { clock, meter, queue } = measured()
  queue.add('a')
  queue.add('a')
  assert.deepEqual([value(meter, 'adds_total'), depths(meter)], [1, { 0: 1 }])
  await clock.advance(50)
  await queue.get(never)
  assert.deepEqual([depths(meter), meter.observed('workqueue_queue_duration_seconds', LABELS)], [{}, [0.05]])
  // Adds of a key in work make one more turn, which is counted at once.
  queue.add('a')
  queue.add('a')
  await clock.advance(25)
  assert.deepEqual([value(meter, 'adds_total'), depths(meter)], [2, { 0: 1 }])
  queue.done('a')
  assert.deepEqual([meter.observed('workqueue_work_duration_seconds', LABELS), depths(meter)], [[0.025], { 0: 1 }])
  await clock.advance(10)
  await queue.get(never)
  // The wait starts with the add, not with the end of the work before it.
  assert.deepEqual(meter.observed('workqueue_queue_duration_seconds', LABELS), [0.05, 0.035])
  queue.done('a')
  queue.done('a')
  assert.deepEqual([value(meter, 'adds_total'), value(meter, 'work_duration_seconds'), depths(meter)], [2, 2, {}])
})

test('unfinished work and the longest run are computed at the scrape', async () => {
  const { clock, meter, queue } = measured()
  for (const key of ['a', 'b']) {
    queue.add(key)
    await queue.get(never)
    await clock.advance(2000)
  }
  assert.deepEqual([value(meter, 'unfinished_work_seconds'), value(meter, 'longest_running_processor_seconds')], [6, 4])
  queue.done('a')
  assert.deepEqual([value(meter, 'unfinished_work_seconds'), value(meter, 'longest_running_processor_seconds')], [2, 2])
  queue.done('b')
  assert.deepEqual([value(meter, 'unfinished_work_seconds'), value(meter, 'longest_running_processor_seconds')], [0, 0])
  assert.equal(clock.pending, 0)
})

test('the first 25 priorities have a label each and keep it; all others share one', async () => {
  const { meter, queue } = measured()
  // Priority 0 has a label from the start.
  for (let priority = 1; priority < 25; priority++) queue.add(`at-${priority}`, { priority })
  queue.add('at-0')
  assert.equal(depths(meter)['exceeded_cardinality_limit'], undefined)
  assert.equal(Object.keys(depths(meter)).length, 25)
  for (let priority = 25; priority < 30; priority++) queue.add(`at-${priority}`, { priority })
  queue.add('at-0 too')
  assert.deepEqual([depths(meter)['exceeded_cardinality_limit'], depths(meter)['0'], depths(meter)['24']], [5, 2, 1])
  while (queue.length > 0) queue.done((await queue.get(never))!)
  assert.deepEqual(depths(meter), {})
  await queue.shutDown()
  assert.deepEqual(meter.series(), [])
})

test('after a shutdown, waiting keys do not keep the series; a key in work does', async () => {
  const { meter, queue } = measured()
  queue.add('in work')
  queue.add('left')
  await queue.get(never)
  await queue.shutDown()
  assert.equal(value(meter, 'adds_total'), 2)
  queue.done('in work')
  meter.scrape()
  assert.deepEqual(meter.series(), [])
  assert.equal(await queue.get(never), 'left')
  queue.done('left')
  assert.deepEqual(meter.series(), [])
})

test('for random operations, keys and metrics equal those of the simple model', async () => {
  const key = fc.constantFrom('a', 'b', 'c', 'd')
  const priority = fc.constantFrom(0, 0, -100, 5)
  const operation = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ do: fc.constant('add' as const), key, priority, afterMs: fc.constantFrom(0, 0, 3, 20) }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('retry' as const), key, priority }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('get' as const) }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('done' as const), key }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('forget' as const), key }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.constantFrom(1, 5, 300) }) },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { maxLength: 120, size: 'max' }), fc.boolean(), async (operations, drain) => {
      const clock = new FakeClock()
      const meter = memoryMeter()
      const aging = { patienceMs: 25, every: 3 }
      const queue = new WorkQueue<string>({ clock, meter, aging, ...LABELS })
      const model = new QueueModel(aging.patienceMs, aging.every)
      const [retried, failures] = [[] as string[], new Map<string, number>()]
      const count = { got: 0, done: 0 }
      const take = async (): Promise<void> => {
        const key = model.take(clock.monotonic())
        assert.equal(await queue.get(never), key)
        count.got++
      }
      const done = (key: string): void => {
        if (model.working.some((each) => each.key === key)) count.done++
        model.done(key, clock.monotonic())
        queue.done(key)
      }
      for (const each of operations) {
        const now = clock.monotonic()
        switch (each.do) {
          case 'add':
            queue.add(each.key, each)
            if (each.afterMs > 0) {
              retried.push(each.key), model.addAt(each.key, now + each.afterMs, each.priority, false)
            } else model.add(each.key, each.priority, now)
            break
          case 'retry': {
            const times = failures.get(each.key) ?? 0
            failures.set(each.key, times + 1)
            retried.push(each.key)
            assert.equal(queue.retry(each.key, each), 5 * 2 ** times)
            model.addAt(each.key, now + 5 * 2 ** times, each.priority, true)
            break
          }
          case 'get':
            if (model.ready.length > 0) await take()
            break
          case 'done':
            done(each.key)
            break
          case 'forget':
            failures.delete(each.key)
            queue.forget(each.key)
            model.cancelRetry(each.key)
            break
          case 'pass':
            await clock.advance(each.ms)
            for (
              let due = model.nextDueMs();
              due !== undefined && due <= clock.monotonic();
              due = model.nextDueMs()
            ) model.promote(due)
            break
        }
        meter.scrape()
        const expected = Object.fromEntries([...model.depths()].map(([priority, count]) => [String(priority), count]))
        assert.deepEqual(depths(meter), expected)
        assert.deepEqual(
          ['adds_total', 'retries_total', 'delayed_items', 'queue_duration_seconds', 'work_duration_seconds'].map((
            name,
          ) => meter.value(`workqueue_${name}`, LABELS) ?? 0),
          [model.turnsAdded, retried.length, model.delayed.length, count.got, count.done],
        )
      }
      // After the shutdown, delayed keys are dropped, the rest is handed out, and no timer and no series is left.
      let ended = false
      const end = queue.shutDown({ drain }).then(() => (ended = true))
      queue.add('too late')
      for (const { key } of [...model.working]) done(key)
      while (model.ready.length > 0) {
        const next = model.ready.length
        await take()
        assert.equal(ended && drain, false, `it was drained with ${next} keys left`)
        for (const { key } of [...model.working]) done(key)
      }
      await end
      assert.deepEqual([await queue.get(never), queue.idle, queue.delayed, clock.pending], [undefined, true, 0, 0])
      assert.deepEqual(meter.series(), [])
    }),
    { numRuns: tries(60) },
  )
})
