/** Runnables that a test controls, and a log that records its lines. */
import type { Runnable } from '../../lib/core/runnable.ts'
import { Latch } from '../../lib/async/latch.ts'
import { type Phase, START_ORDER, type Step, STOP_ORDER } from '../../lib/manager/start_order.ts'
import type { Log, LogLevel } from '../../lib/observe/log.ts'

export interface Part extends Runnable {
  /** The group's signal, after the start. */
  signal: AbortSignal | undefined
  /** Ends its start, with an error if one is given. */
  end(error?: unknown): void
  becomeReady(error?: unknown): void
}

/**
 * Reports `+name` when it starts, `-name` when it is aborted and `.name` when it has ended. It ends when it is aborted, unless it
 * `lingers`; it is ready at once, unless it is `unready`.
 */
export function part(name: string, told: string[], options: { lingers?: boolean; unready?: boolean } = {}): Part {
  const ended = new Latch<{ error: unknown } | undefined>()
  const ready = new Latch<{ error: unknown } | undefined>()
  const self: Part = {
    name,
    signal: undefined,
    end: (error) => ended.open(error === undefined ? undefined : { error }),
    becomeReady: (error) => ready.open(error === undefined ? undefined : { error }),
    async start(signal) {
      self.signal = signal
      told.push(`+${name}`)
      signal.addEventListener('abort', () => {
        told.push(`-${name}`)
        if (!options.lingers) ended.open(undefined)
      })
      const failure = await ended.opened
      told.push(`.${name}`)
      if (failure) throw failure.error
    },
  }
  if (!options.unready) return self
  self.ready = async () => {
    const failure = await ready.opened
    if (failure) throw failure.error
  }
  return self
}

/** Records lines as `warn text`. */
export function recordingLog(lines: string[]): Log {
  const say = (level: LogLevel) => (message: string): void => void lines.push(`${level} ${message}`)
  return { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') }
}

/** The outcome of a promise: undefined while it is pending. */
export function watchOutcome(promise: Promise<void>): { outcome: 'resolved' | unknown } {
  const self: { outcome: 'resolved' | unknown } = { outcome: undefined }
  promise.then(() => (self.outcome = 'resolved'), (error: unknown) => (self.outcome = error))
  return self
}

/** The groups of runnables. */
export type Place = Exclude<Phase, 'warmup' | 'preparation'>

const isPlace = (step: Step): step is Place => step !== 'election' && step !== 'warmup' && step !== 'preparation'
export const STARTS: readonly Place[] = START_ORDER.filter(isPlace)
export const STOPS: readonly Place[] = STOP_ORDER.filter(isPlace)

/** The role and everyReplica of a runnable in each group. */
export const PLACES: Readonly<Record<Place, Pick<Runnable, 'role' | 'everyReplica'>>> = {
  servers: { role: 'server' },
  webhooks: { role: 'webhook' },
  recorder: { role: 'recorder' },
  caches: { role: 'cache' },
  others: { everyReplica: true },
  leader: {},
}
