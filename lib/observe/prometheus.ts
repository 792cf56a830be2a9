/**
 * Metrics in a registry of prom-client, so that what a user measures and what we measure are one answer.
 *
 * Our own metrics are kept in cells that a hot path adds to without looking anything up (prom-client hashes the labels at
 * each call: 0.2 µs on Node, 0.8 µs on Bun), and are told to the registry as objects that answer `get()` as its own do.
 */
import { ConfigError, messageOf } from '../core/errors.ts'
import { CellMetric, type ScrapedMetric } from './metric_cells.ts'
import type {
  Counter,
  Gauge,
  Histogram,
  HistogramDefinition,
  LabelValues,
  Meter,
  MetricDefinition,
  Series,
} from './metrics.ts'

/** What is used of a registry of prom-client. */
export interface PrometheusRegistry {
  readonly contentType: string
  metrics(): Promise<string>
  /** Takes a metric of prom-client, or what answers as one. */
  registerMetric(metric: never): void
  getSingleMetric(name: string): unknown
}

/** What is used of a metric that somebody else registered under one of our names: its series have the verbs of ours. */
interface ForeignMetric {
  labels(labels: LabelValues): unknown
  remove(labels: LabelValues): void
}

/** A meter whose metrics Prometheus can scrape. */
export interface PrometheusMeter extends Meter {
  /** What is scraped: the registry that was given, or our own with the process's metrics. */
  readonly registry: Pick<PrometheusRegistry, 'contentType' | 'metrics'>
}

/**
 * A meter that keeps its metrics in a registry of prom-client: the one that is given, else one of its own, which also has
 * prom-client's metrics of the process.
 *
 * @throws ConfigError if prom-client is needed and cannot be loaded.
 */
export async function prometheusMeter(given?: PrometheusRegistry): Promise<PrometheusMeter> {
  const registry = given ?? new (await loadPromClient()).Registry()
  const scrape = scrapeOf(registry)
  const keep = <M>(type: ScrapedMetric['type'], definition: MetricDefinition | HistogramDefinition): Series<M> =>
    seriesIn(registry, scrape, type, definition) as Series<M>
  return {
    counter: (definition) => keep<Counter>('counter', definition),
    gauge: (definition) => keep<Gauge>('gauge', definition),
    histogram: (definition) => keep<Histogram>('histogram', definition),
    onScrape: (update) => scrape.add(update),
    registry: given ?? withProcessMetrics(registry),
  }
}

function seriesIn(
  registry: PrometheusRegistry,
  scrape: Scrape,
  type: ScrapedMetric['type'],
  definition: MetricDefinition,
): Series<unknown> {
  const there = registry.getSingleMetric(definition.name)
  if (there === undefined) {
    const metric = new CellMetric(type, definition, () => scrape.begin())
    registry.registerMetric(metric as never)
    return metric
  }
  if (!(there instanceof CellMetric)) return foreignSeries(there as ForeignMetric)
  if (there.type !== type) {
    throw new TypeError(`Cannot measure ${definition.name} as a ${type}: it is a ${there.type} already`)
  }
  return there
}

function foreignSeries(metric: ForeignMetric): Series<unknown> {
  return { with: (labels) => metric.labels(labels), remove: (labels) => metric.remove(labels) }
}

/** Who wants to be asked before a scrape. A registry asks all its metrics in one turn: the first one asks for all of ours. */
class Scrape {
  readonly #updates = new Set<() => void>()
  #begun = false

  add(update: () => void): () => void {
    // The same function may be given twice, by two who end at different times.
    const own = (): void => update()
    this.#updates.add(own)
    return () => void this.#updates.delete(own)
  }

  begin(): void {
    if (this.#begun) return
    this.#begun = true
    queueMicrotask(() => (this.#begun = false))
    for (const update of this.#updates) update()
  }
}

/** Meters on one registry share their metrics, and so what is asked before a scrape. */
const scrapes = new WeakMap<PrometheusRegistry, Scrape>()

function scrapeOf(registry: PrometheusRegistry): Scrape {
  let scrape = scrapes.get(registry)
  if (!scrape) scrapes.set(registry, scrape = new Scrape())
  return scrape
}

interface PromClient {
  readonly Registry: new () => PrometheusRegistry
  collectDefaultMetrics(options: { register: PrometheusRegistry }): void
}

async function loadPromClient(): Promise<PromClient> {
  try {
    // Bundlers and runtimes disagree on whether a CommonJS module is its own default.
    const loaded = (await import('prom-client')) as unknown as PromClient & { readonly default?: PromClient }
    return loaded.default ?? loaded
  } catch (cause) {
    const why = messageOf(cause)
    throw new ConfigError(`Cannot serve metrics: prom-client cannot be loaded; run: npm install prom-client (${why})`, {
      cause,
    })
  }
}

/** Made once: its observers of garbage collection and of the event loop can not be taken away again. */
let processRegistry: Promise<PrometheusRegistry> | undefined

function withProcessMetrics(own: PrometheusRegistry): PrometheusMeter['registry'] {
  return {
    contentType: own.contentType,
    async metrics() {
      processRegistry ??= loadPromClient().then(({ Registry, collectDefaultMetrics }) => {
        const register = new Registry()
        collectDefaultMetrics({ register })
        return register
      })
      return (await own.metrics()) + (await (await processRegistry).metrics())
    },
  }
}
