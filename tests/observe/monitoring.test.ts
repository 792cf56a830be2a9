/** Tests the dashboard and the alerts of docs/monitoring: they use the metrics and labels that kubeloop exports. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { load } from 'js-yaml'
import { partMeter, prometheusMeter } from '../../lib/manager/metrics.ts'
import type { Meter, MetricDefinition } from '../../lib/observe/metrics.ts'
import { Registry } from 'prom-client'

const MONITORING = new URL('../../docs/monitoring/', import.meta.url)
const read = (file: string): string => readFileSync(new URL(file, MONITORING), 'utf8')

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string; readonly description: string }
}

const rules = (load(read('alerts.yaml')) as { groups: { rules: Rule[] }[] }).groups.flatMap(({ rules }) => rules)

interface Panel {
  readonly id: number
  readonly title: string
  readonly type: string
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[]
}

const dashboard = JSON.parse(read('dashboard.json')) as {
  readonly panels: readonly Panel[]
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] }
}

/** Creates the series of every part, as an operator with all of them does. */
function measureAll(meter: Meter): void {
  const parts = partMeter(meter)
  parts.queue(
    { name: 'foo', controller: 'foo' },
    { depths: () => new Map([[0, 0]]), turns: () => [], delayed: 0 } as never,
    () => 0,
  )
  parts.controller('foo', 1)
  parts.election('foo')
  parts.droppedEvents()
  parts.task('report', true)
  void parts.requests(() => Promise.resolve({ status: 200 } as never), 'host:443')({ method: 'GET', path: '/' })
  parts.webhooks().path('/validate')
  parts.certificates('webhooks')
  parts.caches(new Map([['', { informers: () => [] } as never]]))
}

/** Returns the labels of each exported metric, those of Prometheus' own series of histograms included. */
function exported(): Map<string, readonly string[]> {
  const labels = new Map<string, readonly string[]>()
  const note = (type: string) => (definition: MetricDefinition) => {
    const { name } = definition
    if (type === 'histogram') {
      labels.set(`${name}_bucket`, [...definition.labels, 'le'])
      for (const suffix of ['_sum', '_count']) labels.set(name + suffix, definition.labels)
    } else labels.set(name, definition.labels)
    const cell = { inc() {}, dec() {}, set() {}, observe() {} }
    return { with: () => cell, remove() {} }
  }
  measureAll({
    counter: note('counter'),
    gauge: note('gauge'),
    histogram: note('histogram'),
    onScrape: () => () => {},
  } as unknown as Meter)
  return labels
}

/** The labels that a scrape adds. */
const SCRAPED = ['job', 'namespace', 'pod', 'instance']
/** What a query has besides metrics and labels. */
const WORDS = /^(sum|min|max|by|rate|increase|delta|histogram_quantile|time|and|label_values)$/

/** Returns what is wrong with a query. */
function problemsOf(query: string, known: ReadonlyMap<string, readonly string[]>): string[] {
  const problems: string[] = []
  const bare = query.replace(/"[^"]*"/g, '""').replace(/\[[^\]]*\]/g, '')
  const labels = new Set<string>()
  const rest = bare
    .replace(/\{([^}]*)\}/g, (_, matchers: string) => {
      for (const [, label = ''] of matchers.matchAll(/(\w+)\s*(?:=~|!=|!~|=)/g)) labels.add(label)
      return ''
    })
    .replace(/\bby \(([^)]*)\)/g, (_, names: string) => {
      for (const label of names.split(/,\s*/)) labels.add(label)
      return ''
    })
    .replace(/label_values\((\w+), (\w+)\)/, (_, metric: string, label: string) => (labels.add(label), metric))
  const metrics = [...rest.matchAll(/\b[a-z_]\w*/g)].map(([word]) => word).filter((word) => !WORDS.test(word))
  if (metrics.length === 0) problems.push(`no metric in ${query}`)
  for (const metric of metrics) {
    const own = known.get(metric)
    if (!own) problems.push(`${metric} is not exported`)
    else {
      for (const label of labels) {
        if (!own.includes(label) && !SCRAPED.includes(label)) problems.push(`${metric} has no label ${label}`)
      }
    }
  }
  return problems
}

/** The metrics of prom-client for the process, on every runtime. */
async function processMetrics(): Promise<Map<string, readonly string[]>> {
  const text = await (await prometheusMeter()).registry.metrics()
  return new Map([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => [name, []]))
}

test('the checks of queries find wrong names and labels', () => {
  const known = new Map([['a_total', ['x']], ['b', []]])
  assert.deepEqual(problemsOf('sum by (job, x) (rate(a_total{x="c_total"}[5m])) / b > 1', known), ['b has no label x'])
  assert.deepEqual(problemsOf('sum by (y) (c_total{z=~"1"})', known), ['c_total is not exported'])
  assert.deepEqual(problemsOf('a_total{z=~"1"}', known), ['a_total has no label z'])
  assert.deepEqual(problemsOf('time()', known), ['no metric in time()'])
})

test('every alert is on metrics and labels that are exported, and says what to do', () => {
  const known = exported()
  assert.deepEqual(rules.flatMap(({ expr }) => problemsOf(expr, known)), [])
  assert.ok(rules.length >= 8)
  for (const { alert, labels, annotations } of rules) {
    assert.match(alert, /^Operator[A-Z]\w+$/)
    assert.match(labels.severity, /^(warning|critical)$/)
    assert.ok(annotations.summary.includes('{{ $labels.') && annotations.description.endsWith('.'), alert)
  }
  const tested = readFileSync(new URL('./files/alerts_test.yaml', import.meta.url), 'utf8')
  for (const { alert } of rules) {
    assert.match(tested, new RegExp(`alertname: ${alert}\\n +exp_alerts:`), `${alert} has no test in which it fires`)
  }
})

test('every panel is on metrics and labels that are exported, and every metric has a panel', async () => {
  const known = new Map([...await processMetrics(), ...exported()])
  const queries = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
  const variables = dashboard.templating.list.flatMap(({ definition }) => definition ?? [])
  assert.deepEqual([...queries, ...variables].flatMap((query) => problemsOf(query, known)), [])
  for (const { targets = [], title } of dashboard.panels) {
    for (const { expr, legendFormat } of targets) {
      for (const [, label = ''] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) {
        assert.ok(SCRAPED.includes(label) || expr.includes(label), `${title}: ${label}`)
      }
    }
  }
  const ids = dashboard.panels.map(({ id }) => id)
  assert.equal(new Set(ids).size, ids.length)
  const shown = [...queries, ...rules.map(({ expr }) => expr)].join('\n')
  // A count that is always 0, the duration that the reconcile's own shows, and reads that succeed every 10 s.
  const hidden =
    /^(controller_runtime_reconcile_panics_total|workqueue_work_duration_seconds|certwatcher_read_certificate_total)/
  const missing = [...exported().keys()].map((name) => name.replace(/_(bucket|sum|count)$/, '')).filter((name) =>
    !shown.includes(name) && !hidden.test(name)
  )
  assert.deepEqual(missing, [])
})

const promtool = process.env['KUBELOOP_PROMTOOL']
const skip = promtool ? false : 'KUBELOOP_PROMTOOL is not set: no promtool to check rules and metrics with'

function check(args: readonly string[], input?: string): void {
  const { status, stdout, stderr } = spawnSync(promtool!, args, {
    encoding: 'utf8',
    ...(input !== undefined && { input }),
  })
  assert.equal(status, 0, `${stdout}${stderr}`)
}

test('promtool accepts the alerts, and each fires in its test', { skip }, () => {
  check(['check', 'rules', '--lint-fatal', new URL('alerts.yaml', MONITORING).pathname])
  check(['test', 'rules', new URL('./files/alerts_test.yaml', import.meta.url).pathname])
})

test('promtool accepts the metrics', { skip }, async () => {
  const registry = new Registry()
  measureAll(await prometheusMeter(registry))
  check(['check', 'metrics'], await registry.metrics())
})
