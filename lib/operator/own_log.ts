/** Fits the log that an operator was given to the calls that kubeloop makes. */
import { fill } from '../observe/format_log.ts'
import { type Log, LOG_LEVELS, type LogFields, safeLog } from '../observe/log.ts'
import type { OperatorOptions } from './description.ts'

/** The call order of pino. */
type FieldsFirst = Readonly<Record<keyof Log, (fields: LogFields, message: string) => void>>

/**
 * Returns the log of `operator({ log })`, made safe, if there is one. pino takes the fields first and would drop them behind the
 * message, so a log with pino's `bindings` is called in its order, with braces in the message filled in and an `error` under
 * pino's own name, `err`.
 */
export function ownLog({ log }: OperatorOptions): Log | undefined {
  if (!log || !('bindings' in log)) return log && safeLog(log)
  const at = (level: keyof Log): Log['info'] => (message, fields = {}) => {
    const { error, ...rest } = fields
    const given = error instanceof Error ? { ...rest, err: error } : fields
    ;(log as unknown as FieldsFirst)[level](given, fill(message, fields))
  }
  return safeLog({ debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') })
}

/** @throws TypeError that names what is missing of the four methods. */
export function checkLog({ name, log }: OperatorOptions): void {
  const missing = log && LOG_LEVELS.find((level) => typeof log[level] !== 'function')
  if (missing) throw new TypeError(`Cannot describe operator "${name}": its log has no method "${missing}"`)
}
