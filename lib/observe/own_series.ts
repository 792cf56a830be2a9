/** The series of one thing that comes and goes: under its labels, and taken out together when it has ended. */
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

export class OwnSeries<L extends string> {
  readonly #meter: Meter
  readonly #labels: LabelValues<L>
  readonly #taken: Series<unknown, L>[] = []

  constructor(meter: Meter, labels: LabelValues<L>) {
    this.#meter = meter
    this.#labels = labels
  }

  counter(definition: MetricDefinition<L>): Counter {
    return this.#take(this.#meter.counter(definition))
  }

  gauge(definition: MetricDefinition<L>): Gauge {
    return this.#take(this.#meter.gauge(definition))
  }

  histogram(definition: HistogramDefinition<L>): Histogram {
    return this.#take(this.#meter.histogram(definition))
  }

  /** Takes all of them out. */
  remove(): void {
    for (const series of this.#taken) series.remove(this.#labels)
  }

  #take<M>(series: Series<M, L>): M {
    this.#taken.push(series)
    return series.with(this.#labels)
  }
}
