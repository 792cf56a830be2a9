/** Runs schedules: croner computes their times, the operator's clock waits, and the Lease keeps what has been done. */
import { messageOf } from '../core/errors.ts'
import { abortScope } from '../async/abort.ts'
import { type Clock, sleep } from '../async/clock.ts'
import { type Log, RateLimitedLog } from '../observe/log.ts'
import type { LeaderElector } from '../leader/leader_elector.ts'
import type { OperatorDescription, TaskDescription } from './description/description.ts'
import { rethrowAt } from './description/places.ts'

export interface Schedules {
  /** What the Lease keeps. */
  readonly annotations: Readonly<Record<string, string>>
  /** Runs a schedule until the signal is aborted. Rejects with what a run rejects with. */
  start(schedule: TaskDescription, work: ScheduleWork, signal: AbortSignal): Promise<void>
}

export interface ScheduleWork {
  /** Resolves when a run, with further tries if it fails, has ended. */
  readonly run: (signal: AbortSignal) => Promise<void>
  /** Called for each time that comes before that. */
  readonly skipped: (() => void) | undefined
  readonly elector: LeaderElector | undefined
  readonly log: Log
}

/** A wait is at most this long, as the wall clock may be set, and goes on while the machine is suspended. */
const MAX_WAIT_MS = 600_000

/**
 * Loads croner, and computes the first time of each schedule.
 *
 * @throws TypeError with the place in the user's file, for an expression that croner refuses, or that no date fits.
 */
export async function loadSchedules({ tasks }: OperatorDescription, clock: Clock): Promise<Schedules> {
  const { Cron } = await import('croner')
  const all = tasks.filter(({ schedule }) => schedule)
  const times = new Map(all.map(({ name, schedule, declaredAt }) => {
    const { cron, timeZone } = schedule!
    let next = (_afterMs: number): Date | null => null
    rethrowAt(declaredAt, () => {
      try {
        const job = new Cron(cron, { timezone: timeZone, paused: true, mode: '5-or-6-parts' })
        next = (afterMs) => job.nextRun(new Date(afterMs))
        if (!next(clock.now())) throw new Error('no date fits')
      } catch (cause) {
        throw new TypeError(`Cannot schedule "${name}" by "${cron}": ${messageOf(cause)}`, { cause })
      }
    })
    return [name, next]
  }))
  const memory = new Memory(all, clock)
  return {
    annotations: memory.annotations,
    async start({ name }, { run, skipped, elector, log }, signal) {
      const limitedLog = new RateLimitedLog(clock, log)
      const scope = abortScope(signal)
      let running: Promise<void> | undefined
      const next = (afterMs: number): number => times.get(name)!(afterMs)?.getTime() ?? Infinity
      try {
        for (let afterMs = memory.begin(name, elector, log);; afterMs = clock.now()) {
          let dueMs = next(afterMs)
          // Several times may have passed since: one run makes up for all.
          for (let nowMs = clock.now(); nowMs < dueMs; nowMs = clock.now()) {
            // The clock was set back, during the last wait. By less, as by NTP, no time may come again.
            if (nowMs < afterMs - MAX_WAIT_MS) dueMs = next(afterMs = nowMs - MAX_WAIT_MS)
            else await sleep(clock, Math.min(dueMs - nowMs, MAX_WAIT_MS), scope.signal)
          }
          if (running) {
            skipped?.()
            const due = new Date(dueMs).toISOString()
            limitedLog.warn(`The schedule "${name}" skips ${due}, as its last run has not ended`)
            continue
          }
          running = run(signal).then(() => {
            memory.done(name, dueMs)
            running = undefined
          })
          running.catch((error: unknown) => scope.abort(error))
        }
      } finally {
        scope[Symbol.dispose]()
        await running
      }
    },
  }
}

/** Returns what computes the times of a CronJob: five fields, in which `5/15` is `5-59/15`. */
export async function timesOfFields(fields: string, timezone: string): Promise<(afterMs: number) => number> {
  const { Cron } = await import('croner')
  const job = new Cron(fields, { timezone, paused: true, mode: '5-part', sloppyRanges: true })
  return (afterMs) => job.nextRun(new Date(afterMs))?.getTime() ?? Infinity
}

const ANNOTATION = 'kubeloop.dev/schedules'

/** What is remembered of a schedule. Another expression or time zone makes it another schedule. */
interface Done {
  readonly cron: string
  readonly timeZone: string
  /** Its times up to this one are done, as an ISO date. */
  readonly until: string
  /** When a release without it began to lead, as an ISO date. */
  readonly unknownSince?: string | undefined
}

/** How long a schedule is remembered that this release does not have: a rollback is mostly undone within days. */
const UNKNOWN_MS = 7 * 24 * 3_600_000

/** Remembers until when schedules are done. The elector writes it with its renewals, which needs no further right. */
class Memory {
  readonly annotations: Record<string, string> = {}
  readonly #schedules: readonly TaskDescription[]
  readonly #clock: Clock
  /** By the names of the schedules. Undefined before the first one begins. */
  #done: Map<string, Done> | undefined

  constructor(schedules: readonly TaskDescription[], clock: Clock) {
    this.#schedules = schedules
    this.#clock = clock
  }

  /** Returns the time until which a schedule is done, by what the Lease had when this process began to lead. */
  begin(name: string, elector: LeaderElector | undefined, log: Log): number {
    if (!this.#done) {
      const nowMs = this.#clock.now()
      const known = new Map(
        Object.entries(stored(elector?.annotations[ANNOTATION], log)).map((
          [name, done],
        ): [string, Done] => [name, { unknownSince: new Date(nowMs).toISOString(), ...done }]).filter((
          [, { until, unknownSince }],
        ) => typeof until === 'string' && Math.abs(nowMs - Date.parse(unknownSince!)) < UNKNOWN_MS),
      )
      const own = this.#schedules.map(({ name, schedule }): [string, Done] => {
        const { cron, timeZone } = schedule!
        const last = known.get(name)
        const lastMs = last?.cron === cron && last.timeZone === timeZone ? Date.parse(last.until) : NaN
        // The clock of the last leader may have been ahead by a little: then no time comes again. Time zones have no
        // dates long before 1970.
        const untilMs = lastMs >= 0 && lastMs <= nowMs + MAX_WAIT_MS ? lastMs : nowMs
        return [name, { cron, timeZone, until: new Date(untilMs).toISOString() }]
      })
      this.#done = new Map([...known, ...own])
      this.#write()
    }
    return Date.parse(this.#done.get(name)!.until)
  }

  /** `dueMs`: of the run that has ended. The clock may have been set back meanwhile. */
  done(name: string, dueMs: number): void {
    const untilMs = Math.max(dueMs, this.#clock.now())
    this.#done!.set(name, { ...this.#done!.get(name)!, until: new Date(untilMs).toISOString() })
    this.#write()
  }

  #write(): void {
    this.annotations[ANNOTATION] = JSON.stringify(Object.fromEntries(this.#done!))
  }
}

function stored(annotation: string | undefined, log: Log): Readonly<Record<string, Done>> {
  try {
    return (JSON.parse(annotation ?? '{}') as Record<string, Done> | null) ?? {}
  } catch (error) {
    log.warn(
      `Cannot read the annotation ${ANNOTATION} of the Lease: ${messageOf(error)}; missed times are not made up for`,
    )
    return {}
  }
}
