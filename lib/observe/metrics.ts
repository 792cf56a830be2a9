/**
 * Metrics as the parts see them: a contract that prom-client fits, and that costs nothing where nobody measures.
 * The names, labels and buckets are controller-runtime's and client-go's, so that their dashboards and alerts work.
 */

export interface MetricDefinition<L extends string = string> {
  readonly name: string
  readonly help: string
  /** In the order in which they are told. */
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

/** A metric whose series are taken once and kept: looking labels up for each event would cost more than the event. */
export interface Series<M, L extends string = string> {
  /** The series with these labels, made at the first call, at 0. */
  with(labels: LabelValues<L>): M
  /** Takes a series out: what it was about has ended. */
  remove(labels: LabelValues<L>): void
}

/** Where metrics are kept. Asking twice for one name gives the same metric. */
export interface Meter {
  counter<L extends string>(definition: MetricDefinition<L>): Series<Counter, L>
  gauge<L extends string>(definition: MetricDefinition<L>): Series<Gauge, L>
  histogram<L extends string>(definition: HistogramDefinition<L>): Series<Histogram, L>
  /** Calls `update` before each scrape, for values that are cheaper asked for than kept. Returns what ends it. */
  onScrape(update: () => void): () => void
}
