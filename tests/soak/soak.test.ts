import assert from 'node:assert/strict'
import { basename } from 'node:path'
import process from 'node:process'
import { test } from 'node:test'
import { RUNTIMES } from '../faults/lane.ts'
import { plot } from './plot.ts'
import { soak } from './soaking.ts'
import { type Sample, trendsOf } from './trend.ts'

/** Samples whose heap is drawn by a function of their number. */
function samplesOf(heap: (i: number) => number): Sample[] {
  const flat = { resident: 90, descriptors: 30, connections: 5, timers: 4, reconciles: 1, cycles: 1 }
  return Array.from({ length: 90 }, (_, i) => ({ ...flat, seconds: i, events: (i + 1) * 1000, heap: heap(i) }))
}

test('a series that grows in its last two thirds is found; a warm-up, noise and a fall are not', () => {
  const grows = (heap: (i: number) => number): string[] =>
    trendsOf(samplesOf(heap)).filter(({ growth, bound }) => growth > bound).map(({ name }) => name)
  assert.deepEqual(grows((i) => 20 + i * 0.2), ['heap'])
  // It grows by more than a tenth and 3 MiB only together with its first third.
  assert.deepEqual(grows((i) => Math.min(20, 5 + i)), [])
  assert.deepEqual(grows((i) => 20 + (i % 2) * 8), [])
  assert.deepEqual(grows((i) => 40 - i * 0.2), [])
  const last = trendsOf(samplesOf((i) => i))[0]!
  assert.deepEqual([last.name, Math.round(last.growth), last.bound], ['heap', 59, 59.5 * 0.1 + 3])
})

test('the plot has a chart for each measure, with a line for each runtime', () => {
  const svg = plot({ node: samplesOf((i) => i), deno: samplesOf(() => 20) })
  assert.equal(svg.match(/<rect /g)?.length, 5)
  assert.equal(svg.match(/<polyline /g)?.length, 10)
  assert.equal(svg.includes('NaN'), false)
})

const skip = process.platform === 'linux' ? false : 'open connections are counted in /proc, which Linux has'

test('operators are started, elected and stopped beside one that sees events', { skip }, async () => {
  const runtime = RUNTIMES.find((name) => basename(process.execPath).startsWith(name))!
  const samples = await soak(runtime, { events: 12_000, reconciles: 1000 })
  const last = samples.at(-1)!
  assert.ok(last.events >= 12_000 && last.reconciles >= 1000 && last.cycles >= 3, JSON.stringify(last))
  const first = samples[0]!
  // What a cycle has opened is closed when it is over.
  for (const name of ['connections', 'timers'] as const) {
    assert.ok(last[name] <= first[name] + 6, JSON.stringify(samples))
  }
  assert.ok(samples.every(({ heap, resident, descriptors }) => heap > 1 && resident > heap && descriptors > 3))
})
