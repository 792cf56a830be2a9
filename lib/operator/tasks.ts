/** Runs an operator's tasks: one that throws is started again with back-off, or ends the operator. */
import { formatMs } from '../core/duration.ts'
import { isNotCapable, messageOf } from '../core/errors.ts'
import { aborted, abortScope } from '../async/abort.ts'
import { backoffMs } from '../async/backoff.ts'
import { sleep } from '../async/clock.ts'
import { guardedCalls, rarely, withFields } from '../observe/log.ts'
import type { LeaderElector } from '../leader/leader_elector.ts'
import type { Manager } from '../manager/manager.ts'
import type { RandomPartEnvironment } from '../observe/environment.ts'
import type { Clusters } from './clusters.ts'
import { clientsOf, workOf } from './work.ts'
import type { OperatorDescription, TaskDescription } from './description/description.ts'
import type { OperatorMeter } from './endpoints.ts'
import { placeOf } from './description/places.ts'
import type { Schedules } from './schedules.ts'

export interface TaskSetup extends RandomPartEnvironment {
  readonly clusters: Clusters
  readonly meter: OperatorMeter | undefined
  /** Present if the operator has a schedule. */
  readonly schedules?: Schedules | undefined
  /** Tests for the class of mod.js, which this file is loaded beside. */
  readonly isTerminal: (error: unknown) => boolean
  /** Called when a task has failed and waits for its next try, and without a failure when that begins. */
  readonly onTask?: ((task: string, failure?: { readonly error: unknown }) => void) | undefined
}

const BACKOFF = { baseMs: 1000, maxMs: 300_000, jitter: 0.2 } as const
/** A failure after this time begins the back-off anew. */
const HEALTHY_MS = BACKOFF.maxMs

/**
 * Adds the tasks. On a stop, a task may finish its writes, as a reconcile may: its client works until the task ends or
 * the grace period is over. A write that is cut off has an unknown outcome, which would prevent the release of the
 * lease.
 */
export function addTasks(
  { tasks }: OperatorDescription,
  manager: Manager,
  elector: LeaderElector | undefined,
  setup: TaskSetup,
): void {
  const { meter, log, schedules } = setup
  for (const task of tasks) {
    const { name, everyReplica, schedule } = task
    const metrics = meter &&
      guardedCalls(meter.task(name, schedule !== undefined), rarely(log, `Cannot measure the task "${name}"`))
    const run = (signal: AbortSignal): Promise<void> => untilDone(task, manager, setup, metrics?.failed, signal)
    const start = schedule
      ? (signal: AbortSignal) => schedules!.start(task, { run, skipped: metrics?.skipped, elector, log }, signal)
      : run
    manager.add({ name, everyReplica, start })
  }
}

/** Calls a task until it returns. Rejects if it fails and is not tried again. */
async function untilDone(
  task: TaskDescription,
  manager: Manager,
  setup: TaskSetup,
  count: (() => void) | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { clock, random, isTerminal, onTask } = setup
  const { name, restart, schedule } = task
  const log = withFields(setup.log, { task: name })
  for (let failures = 0;;) {
    const beganMs = clock.monotonic()
    onTask?.(name)
    try {
      return await once(task, manager, { ...setup, log }, signal)
    } catch (error) {
      // A fallen fence is a lost lease: the stop follows at once.
      if (manager.fence.signal.aborted) await aborted(signal)
      if (signal.aborted) throw error
      count?.()
      const failed = `Cannot run the ${schedule ? 'schedule' : 'task'} "${name}"${placeOf(task)}: ${messageOf(error)}`
      const reason = isNotCapable(error)
        ? 'a missing permission of Deno stays missing'
        : isTerminal(error)
        ? 'it threw a TerminalError'
        : restart
        ? undefined
        : 'it has restart: false'
      if (reason && !schedule) throw new Error(`${failed} (this ends the operator, as ${reason})`, { cause: error })
      onTask?.(name, { error })
      if (reason) return log.error(`${failed} (not tried again before its next time, as ${reason})`, { error })
      if (clock.monotonic() - beganMs >= HEALTHY_MS) failures = 0
      const waitMs = backoffMs(failures++, BACKOFF, random)
      log.error(`${failed} (started again in ${formatMs(waitMs)})`, { attempt: failures, error })
      await sleep(clock, waitMs, signal)
    }
  }
}

/** Calls the function of a task, with clients that end with the call. */
async function once(
  { name, task, everyReplica }: TaskDescription,
  manager: Manager,
  setup: TaskSetup,
  signal: AbortSignal,
): Promise<void> {
  const clients = clientsOf(setup.clusters, everyReplica ? undefined : manager.fence, { name: `task "${name}"` })
  const scope = abortScope(manager.abandon)
  try {
    if (!everyReplica) manager.fence.check()
    await task(workOf(setup, clients, { signal }, scope))
  } finally {
    scope.abort(new DOMException(`The task "${name}" has ended`, 'AbortError'))
    scope[Symbol.dispose]()
  }
}
