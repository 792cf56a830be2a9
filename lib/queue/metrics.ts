/** What a work queue measures, under client-go's and controller-runtime's names, so that their dashboards work. */
import type { Gauge, HistogramDefinition, Meter, MetricDefinition, Series } from '../observe/metrics.ts'
import { OwnSeries } from '../observe/own_series.ts'

/** @internal */
type Label = 'name' | 'controller'

/** Where queues are measured. */
export interface QueueMeter {
  /** Makes the series of one queue. The gauges are asked for at each scrape, not kept. */
  queue(labels: Readonly<Record<Label, string>>, state: MeasuredQueue, now: () => number): QueueMetrics
}

/** What is asked of a queue at each scrape. */
export interface MeasuredQueue {
  readonly delayed: number
  /** How many keys wait, by priority. */
  depths(): ReadonlyMap<number, number>
  /** The keys in work. */
  turns(): Iterable<{ readonly takenMs: number }>
}

/** The metrics of one queue. */
export interface QueueMetrics {
  /** Turns were added: not those adds that became part of one that was to come anyway. */
  added(turns: number): void
  /** A key was added with a delay. */
  delayed(): void
  taken(waitedMs: number): void
  done(workedMs: number): void
  /** Takes all series out; nothing is measured any more. */
  end(): void
}

export function queueMetrics(meter: Meter, ...[labels, state, now]: Parameters<QueueMeter['queue']>): QueueMetrics {
  const series = new OwnSeries(meter, labels)
  const adds = series.counter(ADDS)
  const retries = series.counter(RETRIES)
  const queueDuration = series.histogram(QUEUE_DURATION)
  const workDuration = series.histogram(WORK_DURATION)
  const unfinished = series.gauge(UNFINISHED)
  const longest = series.gauge(LONGEST)
  const delayed = series.gauge(DELAYED)
  const depth = depthByPriority(meter.gauge(DEPTH), labels)
  let ended = false

  const endScrape = meter.onScrape(() => {
    depth.set(state.depths())
    delayed.set(state.delayed)
    let [sumMs, maxMs] = [0, 0]
    for (const { takenMs } of state.turns()) {
      const ms = now() - takenMs
      sumMs += ms
      maxMs = Math.max(maxMs, ms)
    }
    unfinished.set(sumMs / 1000)
    longest.set(maxMs / 1000)
  })

  return {
    added: (turns) => void (ended || adds.inc(turns)),
    delayed: () => void (ended || retries.inc()),
    taken: (waitedMs) => void (ended || queueDuration.observe(waitedMs / 1000)),
    done: (workedMs) => void (ended || workDuration.observe(workedMs / 1000)),
    end() {
      if (ended) return
      ended = true
      endScrape()
      series.remove()
      depth.remove()
    },
  }
}

interface DepthByPriority {
  set(depths: ReadonlyMap<number, number>): void
  remove(): void
}

/** The first priorities have a series each, the others share one: labels must not grow without end. */
function depthByPriority(
  series: Series<Gauge, Label | 'priority'>,
  labels: Readonly<Record<Label, string>>,
): DepthByPriority {
  const own = new Map<number, Gauge>()
  let others: Gauge | undefined
  const labelled = (priority: string): Readonly<Record<Label | 'priority', string>> => ({ ...labels, priority })
  const gauge = (priority: number): Gauge | undefined => {
    const known = own.get(priority)
    if (known || own.size >= MAX_PRIORITIES) return known
    const made = series.with(labelled(String(priority)))
    own.set(priority, made)
    return made
  }
  gauge(0)
  return {
    set(depths) {
      let rest = 0
      for (const each of own.values()) each.set(0)
      for (const [priority, count] of depths) {
        const its = gauge(priority)
        if (its) its.set(count)
        else rest += count
      }
      if (rest > 0) others ??= series.with(labelled(OTHER_PRIORITIES))
      others?.set(rest)
    },
    remove() {
      for (const priority of own.keys()) series.remove(labelled(String(priority)))
      if (others) series.remove(labelled(OTHER_PRIORITIES))
    },
  }
}

/** As in controller-runtime. */
const MAX_PRIORITIES = 25
const OTHER_PRIORITIES = 'exceeded_cardinality_limit'

/** 10 ns … 1000 s, as in client-go. */
const BUCKETS = Array.from({ length: 12 }, (_, at) => Number(`1e${at - 8}`))
const LABELS = ['name', 'controller'] as const

const DEPTH: MetricDefinition<Label | 'priority'> = {
  name: 'workqueue_depth',
  help: 'Turns to come, by queue and priority',
  labels: [...LABELS, 'priority'],
}
const ADDS: MetricDefinition<Label> = { name: 'workqueue_adds_total', help: 'Turns added to the queue', labels: LABELS }
const RETRIES: MetricDefinition<Label> = {
  name: 'workqueue_retries_total',
  help: 'Keys added with a delay',
  labels: LABELS,
}
const QUEUE_DURATION: HistogramDefinition<Label> = {
  name: 'workqueue_queue_duration_seconds',
  help: 'How long a key waited from being added to being handed out',
  labels: LABELS,
  buckets: BUCKETS,
}
const WORK_DURATION: HistogramDefinition<Label> = {
  name: 'workqueue_work_duration_seconds',
  help: 'How long the work on a key took',
  labels: LABELS,
  buckets: BUCKETS,
}
const UNFINISHED: MetricDefinition<Label> = {
  name: 'workqueue_unfinished_work_seconds',
  help: 'How long the keys in work have been worked on, together: what work_duration has not seen yet',
  labels: LABELS,
}
const LONGEST: MetricDefinition<Label> = {
  name: 'workqueue_longest_running_processor_seconds',
  help: 'How long the key that is in work longest has been worked on',
  labels: LABELS,
}
const DELAYED: MetricDefinition<Label> = {
  name: 'workqueue_delayed_items',
  help: 'Keys whose time has not come: the depth does not count them',
  labels: LABELS,
}
