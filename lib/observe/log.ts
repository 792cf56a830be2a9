/** The log interface of kubeloop, and helpers that add fields, catch failures, or limit the rate of lines. */
import type { Clock } from '../async/clock.ts'
import { TokenBucket } from '../async/token_bucket.ts'
import { messageOf } from '../core/errors.ts'

/** Values beside a message, printed as key=value or as JSON fields. */
export type LogFields = Readonly<Record<string, unknown>>

/**
 * A log with four methods, called with a message and fields. The message may contain fields in braces: `{count}`. The
 * methods must not throw, and filter by level themselves. These logs fit, in `operator({ log })` and everywhere else:
 *
 * - `console`: prints the fields as an object behind the message.
 * - LogTape: `getLogger('my-operator')`; the same calls, and it fills in the braces.
 * - winston, tslog: the same calls.
 * - pino: takes the fields first. `operator({ log: pino() })` detects it by its `bindings`, swaps the arguments, and
 *   renames `error` to `err`, which pino's serializers expect. Elsewhere write
 *   `{ info: (message, fields) => log.info(fields ?? {}, message), … }`.
 *
 * @example
 * ```ts
 * import { operator } from 'kubeloop'
 * const app = operator({ name: 'greeter', log: console })
 * ```
 */
export interface Log {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
  /** The name of the lowest level that it writes, as in pino and winston. With `debug`, each reconcile has a line. */
  readonly level?: unknown
  /** Returns the same log with another lowest level. Without it, a level can only be raised. */
  withLevel?(level: LogLevel): Log
}

/** The levels of a log, the lowest first. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

export const LOG_LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error']

/** Returns the level with this name, in upper or lower case; undefined if there is none. */
export function levelOf(text: string): LogLevel | undefined {
  const wanted = text.trim().toLowerCase()
  return LOG_LEVELS.find((level) => level === wanted)
}

/** Returns a log that adds the same fields to every line. A function is called once, with the first line. */
export function withFields(log: Log, fields: LogFields | (() => LogFields)): Log {
  const add = (more?: LogFields): LogFields => {
    if (typeof fields === 'function') fields = fields()
    return more ? { ...fields, ...more } : fields
  }
  return {
    debug: (message, more) => log.debug(message, add(more)),
    info: (message, more) => log.info(message, add(more)),
    warn: (message, more) => log.warn(message, add(more)),
    error: (message, more) => log.error(message, add(more)),
  }
}

/** A log that discards all lines. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} }

/** Logs that never throw. */
const safeLogs = new WeakSet<Log>([silentLog])

/**
 * Returns a log that writes to the given one and never throws or rejects: a failing log must not stop other work. The
 * first failure is written to standard error. Returns the silent log if none is given, and a safe log unchanged.
 */
export function safeLog(log: Log | undefined): Log {
  if (!log || safeLogs.has(log)) return log ?? silentLog
  let isReported = false
  const failed = (error: unknown): void => {
    if (!isReported) {
      console.error('kubeloop: the configured log failed; further failures are not reported.', error)
    }
    isReported = true
  }
  const at = (level: LogLevel): Log['info'] => (message, fields) => {
    try {
      // A method may be async by mistake; its unhandled rejection would end the process.
      const written: unknown = fields ? log[level](message, fields) : log[level](message)
      if (written instanceof Promise) written.catch(failed)
    } catch (error) {
      failed(error)
    }
  }
  const safe: Log = {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    level: log.level,
    ...(log.withLevel && { withLevel: (level) => safeLog(log.withLevel!(level)) }),
  }
  safeLogs.add(safe)
  return safe
}

/** Returns a log with this lowest level, if one is given. */
export function atLevel(log: Log, level: LogLevel | undefined): Log {
  if (!level) return log
  if (log.withLevel) return log.withLevel(level)
  const min = LOG_LEVELS.indexOf(level)
  const lines = LOG_LEVELS.map((each, at) => [each, at < min ? () => {} : log[each].bind(log)])
  return { ...Object.fromEntries(lines), level }
}

/** Whether a log is known to write debug lines, so that expensive ones are worth their work. */
export function writesDebug({ level }: Log): boolean {
  return /^(all|silly|trace|verbose|debug)$/.test(String(level))
}

/** Returns a function that logs failures 1, 2, 4, 8, … of its calls. */
export function rarely(log: Log, what: string): (error: unknown) => void {
  let failures = 0
  return (error) => {
    failures++
    if ((failures & (failures - 1)) === 0) log.error(`${what}: ${messageOf(error)} (failure ${failures})`, { error })
  }
}

/**
 * Returns the same functions, but none throws: `failed` is called with each error. A failing meter, or a failing metric
 * of the user's registry, must not stop the work that it measures.
 */
export function guardedCalls<T extends { readonly [N in keyof T]: (...args: never[]) => void }>(
  calls: T,
  failed: (error: unknown) => void,
): T {
  const guarded = (call: (...args: unknown[]) => void) => (a: unknown, b: unknown, c: unknown): void => {
    try {
      call(a, b, c)
    } catch (error) {
      failed(error)
    }
  }
  return Object.fromEntries(Object.entries(calls).map(([name, call]) => [name, guarded(call as never)])) as unknown as T
}

/** Five lines at once, then one per minute. */
const RATE = { burst: 5, refillMs: 60_000 } as const

/** Limits the lines about one thing that may happen thousands of times a second. It has no timer. */
export class RateLimitedLog {
  readonly #clock: Clock
  readonly #log: Log
  readonly #bucket = new TokenBucket(RATE)
  #skipped = 0

  /** `log`: that of {@link warn} and {@link error}. */
  constructor(clock: Clock, log?: Log) {
    this.#clock = clock
    this.#log = safeLog(log)
  }

  warn(text: string, fields?: LogFields): void {
    this.line((more) => this.#log.warn(text + more, fields))
  }

  error(text: string, fields?: LogFields): void {
    this.line((more) => this.#log.error(text + more, fields))
  }

  /**
   * Calls `write` if a line may be written. `more` is a suffix for it that counts the lines skipped since the last one.
   */
  line(write: (more: string) => void): void {
    if (!this.#bucket.take(this.#clock.monotonic())) return void this.#skipped++
    write(this.#skipped === 0 ? '' : ` (and ${this.#skipped} more like it)`)
    this.#skipped = 0
  }
}
