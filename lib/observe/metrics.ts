/**
 * The metrics interface of kubeloop, which prom-client's metrics fit.
 *
 * The names, labels and buckets are controller-runtime's and client-go's, so that their dashboards and alerts work.
 */

export interface MetricDefinition<L extends string = string> {
  readonly name: string
  readonly help: string
  /** The names of the labels, in the order of the output. */
  readonly labels: readonly L[]
}

/** A histogram: its name, help, labels and buckets. */
export interface HistogramDefinition<L extends string = string> extends MetricDefinition<L> {
  /** Upper bounds, ascending, without +Inf. */
  readonly buckets: readonly number[]
}

/** A metric that only goes up. */
export interface Counter {
  /** Default: by 1. */
  inc(by?: number): void
}

/** A metric that goes up and down. */
export interface Gauge {
  set(value: number): void
  inc(by?: number): void
  dec(by?: number): void
}

/** A metric that counts values by buckets. */
export interface Histogram {
  observe(value: number): void
}

/** The values of a metric's labels. */
export type LabelValues<L extends string = string> = Readonly<Record<L, string>>

/** A metric with labels. Get a series once and keep it: a lookup by labels costs more than most events. */
export interface Series<M, L extends string = string> {
  /** Returns the series with these labels. The first call creates it, at 0. */
  with(labels: LabelValues<L>): M
  /** Removes a series, because its subject has ended. */
  remove(labels: LabelValues<L>): void
}

/** Creates and stores metrics. A second call with the same name returns the same metric. */
export interface Meter {
  counter<L extends string>(definition: MetricDefinition<L>): Series<Counter, L>
  gauge<L extends string>(definition: MetricDefinition<L>): Series<Gauge, L>
  histogram<L extends string>(definition: HistogramDefinition<L>): Series<Histogram, L>
  /**
   * Calls `update` before each scrape, for values that are expensive to keep up to date. It must not be async: the
   * scrape fails then. Returns a function that ends it.
   */
  onScrape(update: () => void): () => void
  /** What keeps the metrics: those of meters with the same store are the same. Default: the meter itself. */
  readonly store?: object | undefined
}

/** The series with one set of labels in several metrics, removed together. */
export class OwnSeries<L extends string> {
  readonly #meter: Meter
  readonly #labels: LabelValues<L>
  readonly #series: Series<unknown, L>[] = []

  constructor(meter: Meter, labels: LabelValues<L>) {
    this.#meter = meter
    this.#labels = labels
  }

  counter(definition: MetricDefinition<L>): Counter {
    return this.#add(this.#meter.counter(definition))
  }

  gauge(definition: MetricDefinition<L>): Gauge {
    return this.#add(this.#meter.gauge(definition))
  }

  histogram(definition: HistogramDefinition<L>): Histogram {
    return this.#add(this.#meter.histogram(definition))
  }

  remove(): void {
    for (const series of this.#series) series.remove(this.#labels)
  }

  #add<M>(series: Series<M, L>): M {
    this.#series.push(series)
    return series.with(this.#labels)
  }
}
