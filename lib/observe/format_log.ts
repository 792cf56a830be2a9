/** Formats log lines as JSON for log collectors. */
import { messageOf } from '../core/errors.ts'
import type { LogFields, LogLevel } from './log.ts'

export interface LogLine {
  readonly level: LogLevel
  /** May contain fields in braces: `replicated to {count} namespaces`. */
  readonly message: string
  readonly fields: LogFields
  readonly timeMs: number
}

/**
 * Returns one line of JSON for any fields. An error becomes its name, message, stack, causes and, for an
 * AggregateError, its errors. No text is repeated: the stack has no message, and an error's message is omitted if the
 * line ends with it. A field with the name of one of the line's own (`time`, `level`, `message`) is written as
 * `fields.<name>`.
 */
export function formatJson({ level, message, fields, timeMs }: LogLine): string {
  const text = fill(message, fields)
  const line: Record<string, unknown> = { time: new Date(timeMs).toISOString(), level, message: text }
  for (const [name, value] of Object.entries(fields)) line[name in line ? `fields.${name}` : name] = value
  return toJson(line, text)
}

/** Replaces field names in braces by their values. */
export function fill(message: string, fields: LogFields): string {
  return message.replace(/\{(\w+)\}/g, (whole, name: string) => {
    if (!Object.hasOwn(fields, name)) return whole
    const value = fields[name]
    return typeof value === 'object' && value !== null && !(value instanceof Error) ? toJson(value) : String(value)
  })
}

/** Returns any value as JSON, what JSON lacks as text: a log line must not throw. */
export function toJson(value: unknown, line?: string): string {
  const open = new Set<unknown>()
  const plain = (value: unknown): unknown => {
    if (typeof value === 'bigint' || typeof value === 'symbol' || typeof value === 'function') return String(value)
    if (typeof value !== 'object' || value === null) return value
    if (open.has(value)) return '[Circular]'
    open.add(value)
    try {
      return inner(value)
    } catch (error) {
      return `[cannot be written: ${messageOf(error)}]`
    } finally {
      open.delete(value)
    }
  }
  const inner = (value: object): unknown => {
    if (value instanceof Error) {
      const { name, message, stack, cause, errors } = value as Error & { errors?: unknown }
      // Only for a field of the line itself (depth 2: the line, the error): causes keep their messages.
      const isInLine = open.size === 2 && !!line && (line === message || line.endsWith(`: ${message}`))
      return {
        name,
        message: isInLine ? undefined : message,
        stack: framesOf(stack, message),
        cause: plain(cause),
        errors: plain(errors),
      }
    }
    if ('toJSON' in value && typeof value.toJSON === 'function') return plain(value.toJSON())
    if (Array.isArray(value)) return value.map(plain)
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plain(each)]))
  }
  return JSON.stringify(plain(value)) ?? String(value)
}

/** Returns the stack without its name and message, which may follow a line with a compiler's position. */
function framesOf(stack: string | undefined, message: string): string | undefined {
  const at = message ? (stack ?? '').indexOf(message) : -1
  if (!stack || at < 0) return stack
  return stack.slice(0, at).replace(/\S+: $/, '') + stack.slice(at + message.length).replace(/^\n/, '')
}
