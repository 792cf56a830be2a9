/** Runnables that do as a test says, and a log that remembers. */
import type { Runnable } from '../../lib/core/runnable.ts'
import { Latch } from '../../lib/async/latch.ts'
import { type Phase, START_ORDER, type Step, STOP_ORDER } from '../../lib/manager/start_order.ts'
import type { Log, LogLevel } from '../../lib/observe/log.ts'

export interface Part extends Runnable {
  /** The group's signal, once it was started. */
  signal: AbortSignal | undefined
  /** Ends its start: as it should, or with an error. */
  end(error?: unknown): void
  becomeReady(error?: unknown): void
}

/**
 * Says `+name` when it starts, `-name` when it is told to stop and `.name` when it has ended. It ends when it is told to,
 * unless it `lingers`; it is ready at once unless it is `unready`.
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

/** Lines as `warn text`. */
export function recordingLog(lines: string[]): Log {
  const say = (level: LogLevel) => (message: string): void => void lines.push(`${level} ${message}`)
  return { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') }
}

/** How a promise stands: undefined while it is open. */
export function watchOutcome(promise: Promise<void>): { outcome: 'resolved' | unknown } {
  const self: { outcome: 'resolved' | unknown } = { outcome: undefined }
  promise.then(() => (self.outcome = 'resolved'), (error: unknown) => (self.outcome = error))
  return self
}

/** The phases that a runnable's start may be in. */
export type Place = Exclude<Phase, 'warmup' | 'preparation'>

const isPlace = (step: Step): step is Place => step !== 'election' && step !== 'warmup' && step !== 'preparation'
export const STARTS: readonly Place[] = START_ORDER.filter(isPlace)
export const STOPS: readonly Place[] = STOP_ORDER.filter(isPlace)

/** What a runnable says of itself that is to come into a phase. */
export const PLACES: Readonly<Record<Place, Pick<Runnable, 'role' | 'everyReplica'>>> = {
  servers: { role: 'server' },
  webhooks: { role: 'webhook' },
  recorder: { role: 'recorder' },
  caches: { role: 'cache' },
  others: { everyReplica: true },
  leader: {},
}
