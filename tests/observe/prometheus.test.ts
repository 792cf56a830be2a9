import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as prom from 'prom-client'
import type { HistogramDefinition, MetricDefinition } from '../../lib/observe/metrics.ts'
import { prometheusMeter as partsMeter } from '../../lib/manager/metrics.ts'
import { prometheusMeter } from '../../lib/observe/prometheus.ts'

const TOTAL: MetricDefinition<'controller' | 'result'> = {
  name: 'a_total',
  help: 'How many.',
  labels: ['controller', 'result'],
}
const DEPTH: MetricDefinition<'name'> = { name: 'depth', help: 'How deep.', labels: ['name'] }
const PLAIN: MetricDefinition = { name: 'plain', help: 'Without labels.', labels: [] }
const SECONDS: HistogramDefinition<'name'> = {
  name: 'seconds',
  help: 'How long.',
  labels: ['name'],
  buckets: [0.005, 1, 10],
}

test('the registry’s output has our metrics in the same format as prom-client’s own', async () => {
  const registry = new prom.Registry(), own = new prom.Registry()
  const meter = await prometheusMeter(registry)
  const counter = meter.counter(TOTAL).with({ controller: 'foo', result: 'success' })
  counter.inc()
  counter.inc(2)
  meter.counter(TOTAL).with({ controller: 'fo"o', result: 'error' })
  const gauge = meter.gauge(DEPTH).with({ name: 'q' })
  gauge.set(5)
  gauge.inc()
  gauge.dec(2)
  meter.gauge(PLAIN).with({}).set(0.5)
  const histogram = meter.histogram(SECONDS).with({ name: 'q' })
  for (const value of [0.001, 0.005, 0.5, 10, 11]) histogram.observe(value)

  const theirs = {
    counter: new prom.Counter({ ...labelled(TOTAL), registers: [own] }),
    gauge: new prom.Gauge({ ...labelled(DEPTH), registers: [own] }),
    plain: new prom.Gauge({ ...labelled(PLAIN), registers: [own] }),
    histogram: new prom.Histogram({ ...labelled(SECONDS), buckets: [...SECONDS.buckets], registers: [own] }),
  }
  theirs.counter.inc({ controller: 'foo', result: 'success' }, 3)
  theirs.counter.inc({ controller: 'fo"o', result: 'error' }, 0)
  theirs.gauge.set({ name: 'q' }, 4)
  theirs.plain.set(0.5)
  for (const value of [0.001, 0.005, 0.5, 10, 11]) theirs.histogram.observe({ name: 'q' }, value)
  assert.equal(await registry.metrics(), await own.metrics())
  assert.match(await registry.metrics(), /seconds_bucket\{le="\+Inf",name="q"\} 5/)
  // Exemplars are null if there are none.
  const json = async (of: prom.Registry): Promise<unknown> =>
    JSON.parse(
      JSON.stringify(await of.getMetricsAsJSON(), (name, value: unknown) => (name === 'exemplar' ? undefined : value)),
    )
  assert.deepEqual(await json(registry), await json(own))
  assert.equal(meter.registry.contentType, registry.contentType)
})

function labelled({ name, help, labels }: MetricDefinition): { name: string; help: string; labelNames: string[] } {
  return { name, help, labelNames: [...labels] }
}

test('a registry of the OpenMetrics type gets its own format', async () => {
  const registry = new (prom.Registry as new (contentType: string) => prom.Registry)(
    prom.Registry.OPENMETRICS_CONTENT_TYPE,
  )
  const meter = await prometheusMeter(registry)
  meter.counter(TOTAL).with({ controller: 'foo', result: 'success' }).inc()
  for (let round = 0; round < 2; round++) {
    assert.equal(await meter.registry.metrics(), await registry.metrics())
    assert.match(await registry.metrics(), /# TYPE a counter\na_total\{controller="foo",result="success"\} 1\n/)
  }
  assert.equal(
    await prometheusMeter(registry).then((again) =>
      again.counter(TOTAL).with({ controller: 'foo', result: 'success' })
    ),
    meter.counter(TOTAL).with({ controller: 'foo', result: 'success' }),
  )
})

test('a controller cannot have the name of another one whose metrics are in the same registry', async () => {
  const registry = new prom.Registry()
  const [one, two, other] = [await partsMeter(registry), await partsMeter(registry), await partsMeter()]
  one.controller('foo', 1)
  assert.throws(() => two.controller('foo', 1), /another controller with this name is running; .* or another registry/)
  other.controller('foo', 1)
  // One whose metrics cannot be made does not hold its name.
  const taken = new prom.Registry()
  ;(await prometheusMeter(taken)).counter({ name: 'controller_runtime_active_workers', help: '', labels: [] })
  const failing = await partsMeter(taken)
  for (let time = 0; time < 2; time++) assert.throws(() => failing.controller('foo', 1), /it is a counter already/)
})

test('the same labels return the same series, until it is removed', async () => {
  const registry = new prom.Registry()
  const meter = await prometheusMeter(registry)
  const series = meter.gauge(DEPTH)
  const labels = { name: 'a' }
  const one = series.with(labels)
  labels.name = 'changed'
  assert.equal(one, series.with({ name: 'a' }))
  assert.equal(meter.gauge(DEPTH).with({ name: 'a' }), series.with({ name: 'a' }))
  assert.notEqual(series.with({ name: 'a' }), series.with({ name: 'b' }))
  assert.equal((await registry.metrics()).includes('depth{name="a"} 0'), true)
  series.remove({ name: 'a' })
  assert.equal((await registry.metrics()).includes('depth{name="a"}'), false)
  for (const labels of [{}, { nam: 'a' }, { name: 'a', other: 'b' }]) {
    assert.throws(
      () => series.with(labels as { name: string }),
      /^TypeError: Cannot measure depth by ".*": its labels are "name"$/,
    )
  }
  const total = meter.counter(TOTAL)
  for (const by of [-1, NaN, Infinity]) {
    assert.throws(() => total.with({ controller: 'a', result: 'b' }).inc(by), /^RangeError: Cannot count by /)
  }
  assert.notEqual(
    total.with({ controller: 'a\0b', result: 'c' }),
    total.with({ controller: 'a', result: 'b\0c' }),
    'values of users',
  )
  const buckets = [1, 2]
  const histogram = meter.histogram({ name: 'seconds', help: '', labels: [], buckets }).with({})
  assert.throws(() => histogram.observe(NaN), /^RangeError: Cannot observe NaN/)
})

test('what Prometheus would refuse, with all other metrics, is refused when it is declared', async () => {
  const meter = await prometheusMeter(new prom.Registry())
  const made = (name: string, label: string, buckets: readonly number[] = [1, 2]): void =>
    void meter.histogram({ name, help: '', labels: [label], buckets })
  made('a:b_0', 'kind')
  assert.throws(() => meter.counter({ name: 'c', help: '' } as never), /Cannot measure "c": it has no list of labels/)
  for (const name of ['', '0a', 'a-b', 'a.b', 'ä', 'a b']) {
    assert.throws(() => made(name, 'kind'), /^TypeError: Cannot measure ".*": a name has letters/)
  }
  for (const label of ['', '0', 'a-b', 'a:b', 'le']) {
    assert.throws(() => made('a', label), /^TypeError: Cannot measure "a": it has the label ".*"; one has letters/)
  }
  for (const buckets of [[2, 1], [1, 1], [1, NaN], [NaN]]) {
    assert.throws(
      () => made('a', 'kind', buckets),
      /^TypeError: Cannot measure "a": its buckets are .*, and must ascend$/,
    )
  }
})

test('a second meter on a registry uses the metrics of the first, with the same type', async () => {
  const registry = new prom.Registry()
  const first = await prometheusMeter(registry)
  first.gauge(DEPTH).with({ name: 'a' }).set(1)
  const second = await prometheusMeter(registry)
  second.gauge(DEPTH).with({ name: 'a' }).inc()
  assert.match(await registry.metrics(), /depth\{name="a"\} 2/)
  second.onScrape(() => second.gauge(DEPTH).with({ name: 'a' }).set(3))
  assert.match(await registry.metrics(), /depth\{name="a"\} 3/)
  assert.throws(() => second.counter(DEPTH), /^TypeError: Cannot measure depth as a counter: it is a gauge already$/)
})

test('a metric of the user with one of our names is used unchanged', async () => {
  const registry = new prom.Registry()
  const theirs = new prom.Counter({ ...labelled(TOTAL), help: 'My own.', registers: [registry] })
  theirs.inc({ controller: 'foo', result: 'success' }, 5)
  const series = (await prometheusMeter(registry)).counter(TOTAL)
  series.with({ controller: 'foo', result: 'success' }).inc()
  assert.match(await registry.metrics(), /# HELP a_total My own\.\n.*\na_total\{controller="foo",result="success"\} 6/)
  series.remove({ controller: 'foo', result: 'success' })
  assert.equal((await registry.metrics()).includes('controller="foo"'), false)
})

test('an async function of onScrape fails the scrape, and its rejection is handled', async () => {
  const meter = await prometheusMeter()
  meter.counter({ name: 'a', help: 'a', labels: [] }).with({}).inc()
  const end = meter.onScrape(async () => await Promise.reject(new Error('late')))
  await assert.rejects(async () => await meter.registry.metrics(), /the function of onScrape is async/)
  end()
  assert.match(await meter.registry.metrics(), /^a 1$/m)
})

test('functions of onScrape are called once per scrape, before the first of our metrics is read', async () => {
  const registry = new prom.Registry()
  const meter = await prometheusMeter(registry)
  meter.gauge(PLAIN).with({})
  const depth = meter.gauge(DEPTH).with({ name: 'a' })
  let asked = 0
  const end = meter.onScrape(() => depth.set(++asked))
  assert.match(await registry.metrics(), /depth\{name="a"\} 1/)
  assert.match(await registry.metrics(), /depth\{name="a"\} 2/)
  end()
  assert.match(await registry.metrics(), /depth\{name="a"\} 2/)
  const twice = (): void => depth.set(++asked)
  const [first] = [meter.onScrape(twice), meter.onScrape(twice)]
  first!()
  assert.match(await registry.metrics(), /depth\{name="a"\} 3/)
})

test('a reset of the registry sets all series to 0', async () => {
  const registry = new prom.Registry()
  const meter = await prometheusMeter(registry)
  const counter = meter.counter(TOTAL).with({ controller: 'a', result: 'b' })
  counter.inc(3)
  meter.histogram(SECONDS).with({ name: 'a' }).observe(1)
  registry.resetMetrics()
  assert.match(await registry.metrics(), /a_total\{controller="a",result="b"\} 0[^]*seconds_sum\{name="a"\} 0/)
  counter.inc()
  assert.match(await registry.metrics(), /a_total\{controller="a",result="b"\} 1/)
})

test('what a given registry lacks of the metrics of the process is added, once', async (t) => {
  const own = (prom as typeof prom & { default?: typeof prom }).default ?? prom
  const { collectDefaultMetrics } = own
  let begun = 0
  t.after(() => void Object.assign(own, { collectDefaultMetrics }))
  for (const has of ['none', 'all', 'one'] as const) {
    const registry = new prom.Registry()
    if (has === 'all') prom.collectDefaultMetrics({ register: registry })
    if (has === 'one') {
      new prom.Gauge({ name: 'process_start_time_seconds', help: 'Mine', registers: [registry] }).set(1)
    }
    Object.assign(own, {
      collectDefaultMetrics: (options: object) => (begun++, collectDefaultMetrics.call(own, options)),
    })
    const meter = await partsMeter(registry)
    meter.counter(TOTAL).with({ controller: 'a', result: 'b' }).inc()
    const text = await meter.registry.metrics()
    const types = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name)
    assert.deepEqual(types, [...new Set(types)], has)
    for (const name of ['a_total', 'process_cpu_seconds_total', 'nodejs_version_info']) {
      assert.ok(types.includes(name), name)
    }
    assert.equal(/^process_start_time_seconds 1$/m.test(text), has === 'one')
    assert.ok(Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1]) > 1_000_000, has)
    assert.ok(text.endsWith('\n') && !text.includes('\n\n\n'))
    assert.doesNotMatch(await registry.metrics(), has === 'all' ? /never/ : /process_cpu_seconds_total/)
    Object.assign(own, { collectDefaultMetrics })
  }
  assert.ok(begun <= 1, `the collection begins ${begun} times`)
})

test('without a given registry there is an own one, with the metrics of the process; the global one is not used', async () => {
  const namesOf = async () => (await prom.register.getMetricsAsJSON()).map(({ name }) => name)
  const globals = await namesOf()
  const meter = await prometheusMeter()
  meter.counter(TOTAL).with({ controller: 'a', result: 'b' }).inc()
  const text = await meter.registry.metrics()
  assert.match(text, /a_total\{controller="a",result="b"\} 1/)
  assert.match(text, /^process_cpu_seconds_total \d/m)
  assert.match(text, /^process_resident_memory_bytes \d/m)
  assert.equal(meter.registry.contentType, 'text/plain; version=0.0.4; charset=utf-8')
  const other = await (await prometheusMeter()).registry.metrics()
  assert.equal(other.includes('a_total'), false)
  assert.match(other, /^process_cpu_seconds_total/m)
  assert.deepEqual(await namesOf(), globals)
})
