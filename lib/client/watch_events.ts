/** One line of a watch, as far as every reader of one goes. */
import type { Status } from '../core/errors.ts'
import { errorOf } from './codec.ts'

/**
 * Reads one line. Nothing malformed is dropped: a line that is not an event throws, and so does an ERROR event,
 * as the ApiError that it carries.
 */
export function readWatchEvent(line: string, what: string): { readonly type?: unknown; readonly object?: unknown } {
  const event = parse(line, what)
  if (event.type === 'ERROR') throw errorOf((event.object ?? {}) as Status, `watch ${what}`)
  return event
}

export function unknownType(type: unknown, what: string): TypeError {
  return new TypeError(`Cannot watch ${what}: the server sent an event of unknown type "${String(type)}"`)
}

function parse(line: string, what: string): { readonly type?: unknown; readonly object?: unknown } {
  let event: unknown
  try {
    event = JSON.parse(line)
  } catch {
    // Without its cause: V8's message quotes the line, and that may be a Secret.
    throw new SyntaxError(`Cannot watch ${what}: the server sent a line that is not JSON (${line.length} characters)`)
  }
  if (typeof event === 'object' && event !== null) return event
  throw new TypeError(`Cannot watch ${what}: the server sent a line that is not an event (${line.length} characters)`)
}
