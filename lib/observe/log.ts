/** The log that kubeloop writes to. */

import { messageOf } from '../core/errors.ts'

/** Values beside a message, printed as key=value or as JSON fields. */
export type LogFields = Readonly<Record<string, unknown>>

/**
 * Four methods, called with a message and fields beside it; the message may name fields in braces, as `{count}`. A log must not
 * throw. Which lines are kept is its own decision. What fits, as `operator({ log })` and everywhere else:
 *
 * - `console`: prints the fields as an object behind the message.
 * - LogTape: `getLogger('my-operator')`; the same calls, and it fills in the braces.
 * - winston, tslog: the same calls.
 * - pino: takes the fields first. `operator({ log: pino() })` knows it by its `bindings` and turns each call around, with `error` as
 *   `err`, which pino's serializers look for. Elsewhere write `{ info: (message, fields) => log.info(fields ?? {}, message), … }`.
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
}

export type LogLevel = keyof Log

export const LOG_LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error']

/** The level that a setting names, in any case; undefined where it names none. */
export function levelOf(text: string): LogLevel | undefined {
  const wanted = text.trim().toLowerCase()
  return LOG_LEVELS.find((level) => level === wanted)
}

/** A log that adds the same fields to every line; a function makes them with the first line. */
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

/** A log that goes nowhere. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} }

/** Logs that cannot fail: they need no further guard. */
const safeLogs = new WeakSet<Log>([silentLog])

/**
 * Returns a log that writes to the given one and neither throws nor rejects: a log that fails must not stop the work that writes to
 * it. The first failure of a log goes to standard error. Without a log it is the silent one; a log that is safe already is returned
 * as it is.
 */
export function safeLog(log: Log | undefined): Log {
  if (!log || safeLogs.has(log)) return log ?? silentLog
  let isReported = false
  const failed = (error: unknown): void => {
    if (!isReported) {
      console.error('kubeloop: the log that was given to it failed; its next failures are not reported.', error)
    }
    isReported = true
  }
  const at = (level: LogLevel): Log['info'] => (message, fields) => {
    try {
      // An async method passes for a method of a log, and its rejection would end the process.
      const written: unknown = fields ? log[level](message, fields) : log[level](message)
      if (written instanceof Promise) written.catch(failed)
    } catch (error) {
      failed(error)
    }
  }
  const safe: Log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  safeLogs.add(safe)
  return safe
}

/** Returns a function that logs the first failure that it is called with, and then ever more rarely: the second, the fourth, the eighth. */
export function rarely(log: Log, what: string): (error: unknown) => void {
  let failures = 0
  return (error) => {
    failures++
    if ((failures & (failures - 1)) === 0) log.error(`${what}: ${messageOf(error)} (failure ${failures})`, { error })
  }
}
