/** Metrics as plain numbers, which a registry of prom-client can collect. */
import type { HistogramDefinition, LabelValues, MetricDefinition, Series } from './metrics.ts'

/** One number of a metric, in the form of prom-client's metrics. */
interface ScrapedValue {
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
  readonly metricName?: string
}

/** A metric in the form that prom-client's registry collects. */
export interface ScrapedMetric {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly aggregator: 'sum'
  readonly values: readonly ScrapedValue[]
}

/** A series: the values with one set of labels. */
interface Cell {
  readonly labels: LabelValues
  values(name: string): ScrapedValue[]
  reset(): void
}

/** Valid names. Prometheus refuses a scrape with others, and so all metrics of the process. */
const [NAME, LABEL] = [/^[a-zA-Z_:][\w:]*$/, /^[a-zA-Z_]\w*$/]

/** A metric that prom-client's registry handles like its own. */
export class CellMetric implements Series<unknown> {
  readonly name: string
  readonly help: string
  readonly type: ScrapedMetric['type']
  readonly aggregator = 'sum'
  readonly #definition: MetricDefinition | HistogramDefinition
  readonly #beforeGet: () => void
  readonly #cells = new Map<string, Cell>()

  /**
   * `beforeGet` is called before the values are read.
   *
   * @throws TypeError if a name is not one of Prometheus, or the buckets do not ascend.
   */
  constructor(type: ScrapedMetric['type'], definition: MetricDefinition | HistogramDefinition, beforeGet: () => void) {
    const refuse = (why: string): never => {
      throw new TypeError(`Cannot measure ${JSON.stringify(definition.name)}: ${why}`)
    }
    if (!NAME.test(definition.name)) refuse('a name has letters, digits, "_" and ":", and begins with no digit')
    if (!Array.isArray(definition.labels)) refuse('it has no list of labels; without any, state labels: []')
    const wrong = definition.labels.find((label) => !LABEL.test(label) || (type === 'histogram' && label === 'le'))
    if (wrong !== undefined) {
      refuse(
        `it has the label ${JSON.stringify(wrong)}; one has letters, digits and "_", and is not "le" of a histogram`,
      )
    }
    const { buckets = [] } = definition as Partial<HistogramDefinition>
    if (!buckets.every((bound, at) => at === 0 ? Number.isFinite(bound) : bound > buckets[at - 1]!)) {
      refuse(`its buckets are ${buckets.join()}, and must ascend`)
    }
    this.name = definition.name
    this.help = definition.help
    this.type = type
    this.#definition = definition
    this.#beforeGet = beforeGet
  }

  /** @throws TypeError if the labels are not those of the metric. */
  with(labels: LabelValues): Cell {
    const id = this.#idOf(labels)
    let cell = this.#cells.get(id)
    if (!cell) this.#cells.set(id, cell = this.#newCell({ ...labels }))
    return cell
  }

  remove(labels: LabelValues): void {
    this.#cells.delete(this.#idOf(labels))
  }

  /** Called by the registry. */
  async get(): Promise<ScrapedMetric> {
    this.#beforeGet()
    const { name, help, type, aggregator } = this
    return await Promise.resolve({
      name,
      help,
      type,
      aggregator,
      values: [...this.#cells.values()].flatMap((cell) => cell.values(name)),
    })
  }

  /** Called by the registry. Sets all series to 0 and keeps them. */
  reset(): void {
    for (const cell of this.#cells.values()) cell.reset()
  }

  #idOf(labels: LabelValues): string {
    const { name, labels: wanted } = this.#definition
    if (Object.keys(labels).length !== wanted.length || !wanted.every((label) => label in labels)) {
      throw new TypeError(
        `Cannot measure ${name} by "${Object.keys(labels).join()}": its labels are "${wanted.join()}"`,
      )
    }
    return JSON.stringify(wanted.map((label) => labels[label]))
  }

  #newCell(labels: LabelValues): Cell {
    if (this.type === 'counter') return new CounterCell(labels)
    if (this.type === 'gauge') return new GaugeCell(labels)
    return new HistogramCell(labels, (this.#definition as HistogramDefinition).buckets)
  }
}

class NumberCell implements Cell {
  readonly labels: LabelValues
  protected value = 0

  constructor(labels: LabelValues) {
    this.labels = labels
  }

  values(): ScrapedValue[] {
    return [{ labels: this.labels, value: this.value }]
  }

  reset(): void {
    this.value = 0
  }
}

class CounterCell extends NumberCell {
  inc(by = 1): void {
    if (!(by >= 0 && by < Infinity)) throw new RangeError(`Cannot count by ${by}: a counter only grows`)
    this.value += by
  }
}

class GaugeCell extends NumberCell {
  set(value: number): void {
    this.value = value
  }

  inc(by = 1): void {
    this.value += by
  }

  dec(by = 1): void {
    this.value -= by
  }
}

class HistogramCell implements Cell {
  readonly labels: LabelValues
  readonly #bounds: readonly number[]
  /** The count of each bucket, not cumulative; the last one is for values above all bounds. */
  readonly #counts: number[]
  #sum = 0

  constructor(labels: LabelValues, bounds: readonly number[]) {
    this.labels = labels
    this.#bounds = bounds
    this.#counts = new Array<number>(bounds.length + 1).fill(0)
  }

  observe(value: number): void {
    if (Number.isNaN(value)) throw new RangeError('Cannot observe NaN: the sum of the histogram would stay NaN')
    let at = 0
    while (at < this.#bounds.length && value > this.#bounds[at]!) at++
    this.#counts[at]!++
    this.#sum += value
  }

  values(name: string): ScrapedValue[] {
    const values: ScrapedValue[] = []
    let count = 0
    this.#counts.forEach((own, at) => {
      count += own
      values.push({
        metricName: `${name}_bucket`,
        labels: { le: this.#bounds[at] ?? '+Inf', ...this.labels },
        value: count,
      })
    })
    return [
      ...values,
      { metricName: `${name}_sum`, labels: this.labels, value: this.#sum },
      { metricName: `${name}_count`, labels: this.labels, value: count },
    ]
  }

  reset(): void {
    this.#counts.fill(0)
    this.#sum = 0
  }
}
