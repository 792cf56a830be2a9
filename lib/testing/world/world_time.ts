/** Lets the time of a world pass until something runs, and until it has ended. */
import { nextTurn } from '../../async/clock.ts'
import type { FakeClock } from '../../async/fake_clock.ts'
import { formatMs, toMs } from '../../core/duration.ts'
import { messageOf } from '../../core/errors.ts'
import type { OperatorDescription } from '../../operator/description/description.ts'
import { setFailed } from '../../runtime/os/this_runtime.ts'
import { type Activity, MAX_TURNS } from './activity.ts'
import { consoleLog } from './console_log.ts'
import type { Ran } from './replica.ts'
import type { Services } from './services.ts'
import type { WorldParts } from './world_clusters.ts'

/** More timers than this without anything that runs are renewals of a lease, for example. */
const MAX_IDLE_TIMERS = 100_000

/** The last entries of a trace that a failed end prints. */
const SHOWN_ENTRIES = 30

/** Advances until something has run. Resolves with how far. */
export async function advanceUntil(clock: FakeClock, ran: Ran[]): Promise<number> {
  await clock.advance(0)
  ran.length = 0
  const beganMs = clock.monotonic()
  let timers = 0
  await clock.advance(Number.MAX_SAFE_INTEGER, () => ran.length > 0 || timers++ > MAX_IDLE_TIMERS)
  const ms = clock.monotonic() - beganMs
  if (ran.length > 0) return ms
  throw new Error(
    timers > MAX_IDLE_TIMERS
      ? `Cannot advance to what comes next: nothing ran in ${formatMs(ms)}, in which ${MAX_IDLE_TIMERS} timers fired`
      : 'Cannot advance to what comes next: the operator waits for no time',
  )
}

/** The time for what follows the grace period: the lease is released, the last Events are sent. */
const STOP_MARGIN_MS = 600_000
/** Limits an infinite grace period, so that the test ends. */
const MAX_GRACE_MS = 3_600_000

interface Ending extends Pick<WorldParts, 'description' | 'clock' | 'log' | 'faults' | 'activity' | 'trace'> {
  /** Whether the log is one of the test, which may not print. */
  readonly isLogOwn: boolean
  readonly services: Services
  readonly stopping: AbortController
}

/** Returns the functions that end a world: `stop` rejects with what is wrong, `dispose` logs it. */
export function endings(
  { description, clock, log, isLogOwn, faults, activity, services, stopping, trace }: Ending,
): { stop(): Promise<void>; dispose(): Promise<void> } {
  let ended: Promise<void> | undefined
  const stop = async (): Promise<void> => {
    ended ??= endOf(description, clock, activity, () => {
      stopping.abort(new DOMException('The test has ended', 'AbortError'))
    }).catch((error: unknown) => activity.fail(error)).finally(() => services.close())
    await ended
    for (const fault of faults.unmet()) log.warn(`No request met the fault ${fault}`)
    const errors = activity.takeUnreported()
    if (errors.length === 1) throw errors[0]
    if (errors.length > 1) throw new AggregateError(errors, errors.map(messageOf).join('; '))
  }
  const dispose = async (): Promise<void> => {
    try {
      await stop()
    } catch (error) {
      // If the test fails too, runners print neither error: of a SuppressedError they print only its own message.
      log.error(messageOf(error), { error })
      if (isLogOwn) consoleLog(clock).error(messageOf(error), { error })
      console.error(`What the replicas did last:\n${trace.entries().slice(-SHOWN_ENTRIES).join('\n')}`)
      // A world that did not come to rest has rejected before.
      if (!activity.restless) setFailed()
    }
  }
  return { stop, dispose }
}

/** Waits until a new world is at rest. If it is not, ends it and rejects with both errors. */
export async function firstRest(activity: Activity, stop: () => Promise<void>): Promise<void> {
  try {
    await activity.rest()
  } catch (error) {
    try {
      await stop()
    } catch (other) {
      throw new AggregateError([error, other], `${messageOf(error)}; and when it stopped:  ${messageOf(other)}`)
    }
    throw error
  }
}

/** Ends an operator, and advances the clock while it waits for timers. */
async function endOf(
  { options: { grace = '30s', name } }: OperatorDescription,
  clock: FakeClock,
  activity: Activity,
  abort: () => void,
): Promise<void> {
  const maxStopMs = Math.min(grace === 'forever' ? Infinity : toMs(grace), MAX_GRACE_MS) + STOP_MARGIN_MS
  abort()
  activity.stop()
  const untilMs = clock.monotonic() + maxStopMs
  await activity.rest()
  // The end may wait for timers, so advance the clock; otherwise wait some turns.
  for (let turns = 0; activity.isRunning; await nextTurn()) {
    if (clock.pending > 0 && clock.monotonic() < untilMs) await clock.advance(100)
    else if (turns++ > MAX_TURNS) {
      const { restless } = activity
      const stuck = `it has not ended ${formatMs(maxStopMs)} after its signal was aborted`
      const why = 'does a task or a reconcile wait for something that never happens?'
      const before = restless ? ` Before that: ${restless.message}` : ''
      throw new Error(`Cannot stop operator "${name}": ${stuck}; ${why}${before}`, { cause: restless })
    }
  }
}

export function millisOf(now: unknown): number {
  if (!(now instanceof Date)) {
    throw new TypeError(`Cannot create a world: now is ${JSON.stringify(now)}, and must be a Date`)
  }
  const ms = now.getTime()
  if (Number.isNaN(ms)) throw new RangeError('Cannot create a world: now is an invalid Date')
  return ms
}
