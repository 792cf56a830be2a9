/** The log of one run: every line has the same fields. */
import { withFields, type Log, type LogFields } from '../observe/log.ts'

/** Makes the fields with the first line: most runs write none, and an id costs as much as a queued key. */
export function runLog(log: Log, fields: () => LogFields): Log {
  let made: Log | undefined
  const own = (): Log => (made ??= withFields(log, fields()))
  return {
    debug: (message, more) => own().debug(message, more),
    info: (message, more) => own().info(message, more),
    warn: (message, more) => own().warn(message, more),
    error: (message, more) => own().error(message, more),
  }
}
