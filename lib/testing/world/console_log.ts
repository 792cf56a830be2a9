/** The default log of a world: warnings and errors on standard error. */
import type { Log } from 'kubeloop'
import type { Clock } from '../../async/clock.ts'
import { formatPretty } from '../../observe/pretty_log.ts'
import { placeOfError } from '../../observe/error_place.ts'
import { userFrames } from '../../observe/stack.ts'
import { placeLine } from '../../runtime/os/source_place.ts'

/** Logs warnings and errors, an error with the place in the user's file and its line of source. */
export function consoleLog(clock: Pick<Clock, 'now'>): Log {
  const at = (level: 'warn' | 'error'): Log['warn'] => (message, fields = {}) => {
    const place = placeOfError(fields['error'], userFrames)
    const line = formatPretty({ level, message, fields, timeMs: clock.now() })
    console.error(place === undefined ? line : `${line}\n${placeLine(place)}`)
  }
  return { debug() {}, info() {}, warn: at('warn'), error: at('error') }
}
