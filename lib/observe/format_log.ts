/** Log lines as text: for a person at a terminal, or as JSON for whatever collects them. */
import { ApiError, causesOf, ConfigError, messageOf, NetworkError } from '../core/errors.ts'
import type { LogFields, LogLevel } from './log.ts'

export interface LogLine {
  readonly level: LogLevel
  /** May name fields in braces: `replicated to {count} namespaces`. */
  readonly message: string
  readonly fields: LogFields
  readonly timeMs: number
}

/**
 * One JSON object a line, whatever the fields hold. Errors become their name, message, stack, causes and the errors that they stand
 * for. No text is repeated: the stack is without the message, and a message that the line ends with is left to it. A field that is
 * called like one of the line's own is written as `fields.<name>`.
 */
export function formatJson({ level, message, fields, timeMs }: LogLine): string {
  const text = fill(message, fields)
  const line: Record<string, unknown> = { time: new Date(timeMs).toISOString(), level, message: text }
  for (const [name, value] of Object.entries(fields)) line[name in line ? `fields.${name}` : name] = value
  return toJson(line, text)
}

/** `12:00:01  warn: message  key=value`. Of an error is added what it and its causes say beyond the message. */
export function formatPretty({ level, message, fields, timeMs }: LogLine): string {
  const text = `${level === 'info' ? '' : `${level}: `}${fill(message, fields)}`
  const rest = Object.entries(fields)
    .filter(([name]) => !message.includes(`{${name}}`) && !OBVIOUS.has(name))
    .map(([name, value]) => [name, value instanceof Error ? unsaid(value, text) : value] as const)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : toJson(value)}`)
  return [clockTime(timeMs), text, ...(rest.length > 0 ? [rest.join(' ')] : [])].join('  ')
}

/** What an error and its causes say that is not in the text yet. Errors of requests say themselves what their cause means. */
function unsaid(error: Error, text: string): string | undefined {
  const parts: string[] = []
  for (const at of causesOf(error, MAX_CAUSES)) {
    const message = messageOf(at)
    if (![text, ...parts].some((each) => each.includes(message))) parts.push(message)
    if (at instanceof NetworkError || at instanceof ApiError || at instanceof ConfigError) break
  }
  return parts.length > 0 ? parts.join(', caused by: ') : undefined
}

/** How many of them a line says. */
const MAX_CAUSES = 8

/** `12:00:01`, in the local time of whoever looks. */
export function clockTime(timeMs: number): string {
  const date = new Date(timeMs)
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, '0')).join(':')
}

/** What a person can do without in a terminal: the message names it, or nobody asked. */
const OBVIOUS: ReadonlySet<string> = new Set(['reconcileID', 'controller', 'kind'])

/** Puts the values of fields in the place of their names in braces. */
export function fill(message: string, fields: LogFields): string {
  return message.replace(/\{(\w+)\}/g, (whole, name: string) => {
    if (!Object.hasOwn(fields, name)) return whole
    const value = fields[name]
    return typeof value === 'object' && value !== null && !(value instanceof Error) ? toJson(value) : String(value)
  })
}

/** JSON of anything: what JSON has no word for is written as text, because a log line must not fail its caller. */
function toJson(value: unknown, line?: string): string {
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
      // The line's own fields are two levels down: itself, and the error. What a cause says stays beside it.
      const isSaid = open.size === 2 && !!line && (line === message || line.endsWith(`: ${message}`))
      return {
        name,
        message: isSaid ? undefined : message,
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

/** A stack without the name and message that it begins with, which may stand below the place that a compiler names. */
function framesOf(stack: string | undefined, message: string): string | undefined {
  const at = message ? (stack ?? '').indexOf(message) : -1
  if (!stack || at < 0) return stack
  return stack.slice(0, at).replace(/\S+: $/, '') + stack.slice(at + message.length).replace(/^\n/, '')
}
