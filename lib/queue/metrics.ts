/** The metrics of a work queue, with the names of client-go and controller-runtime, so that their dashboards work. */
import { type Gauge, type Meter, type MetricDefinition, OwnSeries, type Series } from '../observe/metrics.ts'

/** @internal */
type Label = 'name' | 'controller'

/** Creates the metrics of queues. */
export interface QueueMeter {
  /** Creates the series of one queue. The gauges are read from `state` at each scrape. */
  queue(labels: Readonly<Record<Label, string>>, state: MeasuredQueue, now: () => number): QueueMetrics
}

/** The part of a queue that is read at each scrape. */
export interface MeasuredQueue {
  readonly delayed: number
  /** Returns the number of turns to come, by priority. */
  depths(): ReadonlyMap<number, number>
  /** Yields the turns of the keys in work. */
  turns(): Iterable<{ readonly takenMs: number }>
}

/** The metrics of one queue. */
export interface QueueMetrics {
  /** Counts added turns. An add that joins a turn that is already waiting is not counted. */
  added(turns: number): void
  /** Counts a key that was added with a delay. */
  delayed(): void
  taken(waitedMs: number): void
  done(workedMs: number): void
  /** Removes all series. Later calls do nothing. */
  end(): void
}

export function queueMetrics(meter: Meter, ...[labels, state, now]: Parameters<QueueMeter['queue']>): QueueMetrics {
  const series = new OwnSeries(meter, labels)
  const adds = series.counter(metric('workqueue_adds_total'))
  const retries = series.counter(metric('workqueue_retries_total'))
  const queueDuration = series.histogram({ ...metric('workqueue_queue_duration_seconds'), buckets: BUCKETS })
  const workDuration = series.histogram({ ...metric('workqueue_work_duration_seconds'), buckets: BUCKETS })
  const unfinished = series.gauge(metric('workqueue_unfinished_work_seconds'))
  const longest = series.gauge(metric('workqueue_longest_running_processor_seconds'))
  const delayed = series.gauge(metric('workqueue_delayed_items'))
  const depth = depthByPriority(
    meter.gauge<Label | 'priority'>({ ...metric('workqueue_depth'), labels: [...LABELS, 'priority'] }),
    labels,
  )
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

/**
 * The first priorities have a series each, the others share one, because the number of label values must be bounded.
 */
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

const HELP = {
  workqueue_depth: 'Keys that wait in the queue, by priority',
  workqueue_adds_total: 'Keys added to the queue',
  workqueue_retries_total: 'Keys added with a delay',
  workqueue_queue_duration_seconds: 'How long a key waited in the queue before it was handed out',
  workqueue_work_duration_seconds: 'How long the work on a key took',
  workqueue_unfinished_work_seconds:
    'How long the keys in work have been in work, in total: work that work_duration does not include yet',
  workqueue_longest_running_processor_seconds: 'How long the longest running key has been in work',
  workqueue_delayed_items: 'Keys whose delay is not over; workqueue_depth does not include them',
}

function metric(name: keyof typeof HELP): MetricDefinition<Label> {
  return { name, help: HELP[name], labels: LABELS }
}
