/** A Meter in memory for tests, with the meters of the parts: values by `name{label="value"}`. */
import { type PartMeter, partMeter } from '../../lib/manager/metrics.ts'
import type { LabelValues, Meter, MetricDefinition, Series } from '../../lib/observe/metrics.ts'

export interface MemoryMeter extends Meter, PartMeter {
  /** Returns a counter's or gauge's value, or a histogram's number of observations; undefined if there is no such series. */
  value(name: string, labels?: LabelValues): number | undefined
  /** Returns the observations of a histogram, in order. */
  observed(name: string, labels?: LabelValues): readonly number[]
  /** The limits of the buckets of each histogram, by its name. */
  readonly buckets: ReadonlyMap<string, readonly number[]>
  /** Returns the names of all series, such as `workqueue_depth{controller="foo",name="foo"}`. */
  series(): string[]
  /** Calls the functions added with `onScrape`. */
  scrape(): void
}

export function memoryMeter(): MemoryMeter {
  const numbers = new Map<string, number>()
  const observations = new Map<string, number[]>()
  const buckets = new Map<string, readonly number[]>()
  const updates = new Set<() => void>()
  const idOf = (name: string, labels: LabelValues = {}): string => {
    const pairs = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1))
    return `${name}{${pairs.map(([label, value]) => `${label}="${value}"`).join(',')}}`
  }
  const seriesOf = <M>({ name, labels: known }: MetricDefinition, open: (id: string) => M): Series<M> => ({
    with(labels) {
      const given = Object.keys(labels).sort().join(), wanted = [...known].sort().join()
      if (given !== wanted) throw new TypeError(`Cannot measure ${name} by "${given}": its labels are "${wanted}"`)
      return open(idOf(name, labels))
    },
    remove(labels) {
      numbers.delete(idOf(name, labels))
      observations.delete(idOf(name, labels))
    },
  })
  const number = (id: string): { set(value: number): void; inc(by?: number): void; dec(by?: number): void } => {
    if (!numbers.has(id)) numbers.set(id, 0)
    const add = (by: number): void => void numbers.set(id, (numbers.get(id) ?? 0) + by)
    return { set: (value) => void numbers.set(id, value), inc: (by = 1) => add(by), dec: (by = 1) => add(-by) }
  }
  const scrape = (): void => updates.forEach((update) => update())
  const meter: Meter = {
    counter: (definition) => seriesOf(definition, number),
    gauge: (definition) => seriesOf(definition, number),
    histogram(definition) {
      buckets.set(definition.name, definition.buckets)
      return seriesOf(definition, (id) => {
        if (!observations.has(id)) observations.set(id, [])
        return { observe: (value) => void observations.get(id)?.push(value) }
      })
    },
    onScrape(update) {
      updates.add(update)
      return () => void updates.delete(update)
    },
  }
  return {
    ...meter,
    ...partMeter(meter),
    value: (name, labels) => numbers.get(idOf(name, labels)) ?? observations.get(idOf(name, labels))?.length,
    observed: (name, labels) => observations.get(idOf(name, labels)) ?? [],
    buckets,
    series: () => [...numbers.keys(), ...observations.keys()].sort(),
    scrape,
  }
}
