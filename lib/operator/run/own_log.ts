/** Makes the log that an operator states callable as ours. */
import { fill } from '../../observe/format_log.ts'
import { type Log, type LogFields, type LogLevel, safeLog } from '../../observe/log.ts'
import type { OperatorOptions } from '../description/options.ts'

/** The call order of pino. */
type FieldsFirst = Readonly<Record<LogLevel, (fields: LogFields, message: string) => void>>

/**
 * Returns the log of `operator({ log })`, made safe, if there is one. pino takes the fields first and drops them after
 * the message, so a log with pino's `bindings` is called in that order, with the braces of the message filled in and
 * `error` renamed to `err`.
 */
export function ownLog({ log }: OperatorOptions): Log | undefined {
  if (!log || !('bindings' in log)) return log && safeLog(log)
  const at = (level: LogLevel): Log['info'] => (message, fields = {}) => {
    const { error, ...rest } = fields
    const given = error instanceof Error ? { ...rest, err: error } : fields
    ;(log as unknown as FieldsFirst)[level](given, fill(message, fields))
  }
  const { level } = log
  return safeLog({ debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), level })
}
