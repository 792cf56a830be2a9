/** Log lines as text: for a person at a terminal, or as JSON for whatever collects them. */
import { messageOf } from '../core/errors.ts'
import type { LogFields, LogLevel } from './log.ts'

export interface LogLine {
  readonly level: LogLevel
  /** May name fields in braces: `replicated to {count} namespaces`. */
  readonly message: string
  readonly fields: LogFields
  readonly timeMs: number
}

/**
 * One JSON object a line, whatever the fields hold. Errors become their name, message, stack and causes; a field that is called
 * like one of the line's own is told as `fields.<name>`.
 */
export function formatJson({ level, message, fields, timeMs }: LogLine): string {
  const line: Record<string, unknown> = { time: new Date(timeMs).toISOString(), level, message: fill(message, fields) }
  for (const [name, value] of Object.entries(fields)) line[name in line ? `fields.${name}` : name] = value
  return toJson(line)
}

/** `12:00:01  warn: message  key=value`. Errors are left to the message, which has what they say. */
export function formatPretty({ level, message, fields, timeMs }: LogLine): string {
  const rest = Object.entries(fields)
    .filter(([, value]) => value !== undefined && !(value instanceof Error))
    .filter(([name]) => !message.includes(`{${name}}`) && !OBVIOUS.has(name))
    .map(([name, value]) => `${name}=${typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : toJson(value)}`)
  const text = `${level === 'info' ? '' : `${level}: `}${fill(message, fields)}`
  return [clockTime(timeMs), text, ...(rest.length > 0 ? [rest.join(' ')] : [])].join('  ')
}

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
function toJson(value: unknown): string {
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
      const cause = value.cause === undefined ? {} : { cause: plain(value.cause) }
      return { name: value.name, message: value.message, stack: value.stack, ...cause }
    }
    if ('toJSON' in value && typeof value.toJSON === 'function') return plain(value.toJSON())
    if (Array.isArray(value)) return value.map(plain)
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plain(each)]))
  }
  return JSON.stringify(plain(value)) ?? String(value)
}
