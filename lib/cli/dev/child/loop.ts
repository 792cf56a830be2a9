/** Sends what the loop of an operator does to the page of `kubeloop dev --ui`, and holds the runs that it pauses. */
import { messageOf } from '../../../core/errors.ts'
import { formatKey } from '../../../core/objects.ts'
import { BoundedMap } from '../../../async/bounded_map.ts'
import type { Clock } from '../../../async/clock.ts'
import { userFrames } from '../../../observe/stack.ts'
import type { Tracing } from '../../../observe/tracing.ts'
import { placeLine, shortPath } from '../../../runtime/os/source_place.ts'
import type { ReconcileReport } from '../../../controller/controller.ts'
import type { Source } from '../../../controller/source.ts'
import type { Parts } from '../../../operator/description/context.ts'
import type { OperatorDescription } from '../../../operator/description/description.ts'
import { loadTracing } from '../../../operator/loaded_parts.ts'
import type { StartOptions } from '../../../operator/run/start.ts'
import type { LoopBatch, LoopError, LoopQueue, LoopRun, Paused, Session } from '../session.ts'
import { type HeldKey, RunGate } from './run_gate.ts'

/** The time between two batches: each is a request, which costs as much as a reconcile. */
const EVERY_MS = 250
/** Runs and keys in one batch; further runs are counted, further keys only in the length of the queue. */
const MAX_RUNS = 1000
const MAX_KEYS = 100
/** Frames of an error, and errors whose frames are kept: a failing operator throws few different ones. */
const MAX_FRAMES = 10
const MAX_STACKS = 200

export async function openLoop(
  { options }: OperatorDescription,
  session: Pick<Session, 'send' | 'onCommand'>,
  paused: Paused,
  clock: Clock,
): Promise<Loop> {
  return new Loop(session, paused, clock, await loadTracing(options))
}

export class Loop {
  /** For the operator's start. */
  readonly options: Required<Pick<StartOptions, 'onTask' | 'onAssembled'>> & { readonly tracing: Tracing }
  readonly #gate: RunGate
  readonly #tasks = new Map<string, LoopBatch['tasks'][number]>()
  readonly #send: (batch: LoopBatch) => Promise<void>
  readonly #clock: Clock
  readonly #errors = new BoundedMap<string, LoopError>(MAX_STACKS)
  readonly #running = new Map<string, { readonly controller: string; readonly key: string; readonly sinceMs: number }>()
  /** The kind and cluster of each controller that has run. */
  readonly #kinds = new Map<string, Pick<LoopQueue, 'kind' | 'cluster'>>()
  #parts: Parts | undefined
  #runs: LoopRun[] = []
  #dropped = 0
  #lastQueues = ''

  constructor(session: Pick<Session, 'send' | 'onCommand'>, paused: Paused, clock: Clock, inner: Tracing | undefined) {
    this.#send = (loop) => session.send({ loop })
    this.#clock = clock
    this.#gate = new RunGate(paused, (keys) => this.#queue(keys))
    session.onCommand = (command) => this.#gate.command(command)
    this.options = {
      tracing: this.#around(inner),
      onTask: (name, failure) =>
        this.#tasks.set(name, { name, ...(failure && { error: this.#describe(failure.error) }) }),
      onAssembled: (parts) => {
        this.#parts = parts
        void this.#tick()
      },
    }
  }

  #around(inner: Tracing | undefined): Tracing {
    return {
      reconcile: (run, work, judge) => {
        const { controller, kind, cluster } = run
        const key = formatKey(run.key)
        if (!this.#kinds.has(controller)) this.#kinds.set(controller, { kind, cluster })
        if (this.#gate.begins(controller, key)) return Promise.resolve(undefined as never)
        this.#running.set(`${controller} ${key}`, { controller, key, sinceMs: this.#clock.now() })
        return inner ? inner.reconcile(run, work, judge) : work()
      },
      requests: (transport, host) => inner ? inner.requests(transport, host) : transport,
    }
  }

  /** Returns whether a run was held: it is then no run for anyone else. */
  readonly ended = (report: ReconcileReport): boolean => {
    const { controller, key } = report
    this.#running.delete(`${controller} ${key}`)
    if (this.#gate.ended(report)) return true
    if (this.#runs.length >= MAX_RUNS) this.#dropped++
    else this.#runs.push(this.#runOf(report))
    return false
  }

  #runOf(report: ReconcileReport): LoopRun {
    const { controller, kind, key, cluster, causes, count, attempt, durationMs, writes, disposition } = report
    return {
      ...{ controller, kind, key, causes, count, attempt, durationMs, writes, ...(cluster && { cluster }) },
      endedMs: this.#clock.now(),
      againMs: disposition.kind === 'later' ? disposition.ms : report.retryInMs,
      error: 'error' in disposition ? this.#describe(disposition.error) : undefined,
    }
  }

  /** Returns an error with its frames. Equal stacks are read once. */
  #describe(error: unknown): LoopError {
    const message = messageOf(error)
    const stack = error instanceof Error ? error.stack ?? '' : ''
    const known = this.#errors.get(stack)
    if (known) return { ...known, message }
    const frames = userFrames(stack).slice(0, MAX_FRAMES)
    const line = frames[0] && placeLine(frames[0]).trim().slice(shortPath(frames[0]).length).trim()
    const described = { message, frames: frames.map(shortPath), ...(line && { line }) }
    this.#errors.set(stack, described)
    return described
  }

  /** Sends a batch after each wait, and waits for its answer, so that a slow command is not flooded. */
  async #tick(): Promise<void> {
    const queues = this.#queues()
    const text = JSON.stringify(queues)
    const hasNews = text !== this.#lastQueues
    if (hasNews || this.#runs.length + this.#tasks.size > 0) {
      const batch = { runs: this.#runs, tasks: [...this.#tasks.values()], dropped: this.#dropped }
      this.#runs = []
      this.#tasks.clear()
      this.#dropped = 0
      this.#lastQueues = text
      await this.#send({ ...batch, ...(hasNews && { queues }) })
    }
    this.#clock.after(EVERY_MS, () => void this.#tick())
  }

  #queues(): LoopQueue[] {
    return [...this.#parts?.controllers ?? []].map(([name, { queued }]) => {
      const known = this.#kinds.get(name) ?? { kind: '' }
      const held = this.#gate.held(name)
      const running = [...this.#running.values()].filter(({ controller }) => controller === name).slice(0, MAX_KEYS)
        .map(({ key, sinceMs }) => ({ key, sinceMs }))
      return { controller: name, ...known, queued, running, held: held.slice(0, MAX_KEYS), heldCount: held.length }
    })
  }

  /** Adds keys to the queues of their controllers by a source that ends at once. */
  #queue(keys: readonly HeldKey[]): void {
    for (const [name, own] of Map.groupBy(keys, ({ controller }) => controller)) {
      // deno-lint-ignore require-await -- a source is asynchronous
      const start: Source['start'] = async (sink) => {
        for (const { key, causes } of own) {
          for (const cause of causes.length > 0 ? causes : ['queued']) sink.add(key, { cause: () => cause })
        }
      }
      const added = this.#parts?.controllers.get(name)?.watch({ name: 'the page of kubeloop dev', start })
      added?.catch((error: unknown) => this.#parts?.log.warn(`Cannot queue keys of "${name}": ${messageOf(error)}`))
    }
  }
}
