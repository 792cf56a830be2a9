/** The log that kubeloop writes to. pino, LogTape and console fit it behind a few lines; see README, "Logs". */

/** Values beside a message, printed as key=value or as JSON fields. */
export type LogFields = Readonly<Record<string, unknown>>

export interface Log {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
}

export type LogLevel = keyof Log

export const LOG_LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error']

/** A log that adds the same fields to every line. */
export function withFields(log: Log, fields: LogFields): Log {
  const add = (more?: LogFields): LogFields => (more ? { ...fields, ...more } : fields)
  return {
    debug: (message, more) => log.debug(message, add(more)),
    info: (message, more) => log.info(message, add(more)),
    warn: (message, more) => log.warn(message, add(more)),
    error: (message, more) => log.error(message, add(more)),
  }
}

/** A log that goes nowhere. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} }
