/** Formats log lines as text for a terminal. */
import { causesOf, messageOf } from '../core/errors.ts'
import { fill, type LogLine, toJson } from './format_log.ts'

/** Returns `12:00:01  warn: message  key=value`. An error is a field only with texts that are not in the message. */
export function formatPretty({ level, message, fields, timeMs }: LogLine): string {
  const text = `${level === 'info' ? '' : `${level}: `}${fill(message, fields)}`
  const rest = Object.entries(fields)
    .filter(([name]) => !message.includes(`{${name}}`) && !OMITTED.has(name))
    .filter(([name, value]) => name !== 'controller' || !isNamedAfter(fields['kind'], value))
    .map(([name, value]) => [name, value instanceof Error ? missingMessages(value, text) : value] as const)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : toJson(value)}`)
  return [clockTime(timeMs), text, ...(rest.length > 0 ? [rest.join(' ')] : [])].join('  ')
}

/**
 * Returns the messages of an error and its causes that the text lacks. Errors of requests contain their causes' texts.
 */
function missingMessages(error: Error, text: string): string | undefined {
  const parts: string[] = []
  for (const at of causesOf(error, MAX_CAUSES)) {
    const message = messageOf(at)
    if (![text, ...parts].some((each) => each.includes(message))) parts.push(message)
    if (at instanceof Error && SELF_CONTAINED.has(at.name)) break
  }
  return parts.length > 0 ? parts.join(', caused by: ') : undefined
}

/** Errors whose messages have those of their causes. By name: the package has this file without mod.js's classes. */
const SELF_CONTAINED: ReadonlySet<string> = new Set(['ApiError', 'ConfigError', 'NetworkError'])

/** The maximum number of causes in a line. */
const MAX_CAUSES = 8

/** Returns the local time of this process: `12:00:01`. */
export function clockTime(timeMs: number): string {
  const date = new Date(timeMs)
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, '0')).join(':')
}

/** Fields omitted in a terminal, because the message has them or they are rarely needed. */
const OMITTED: ReadonlySet<string> = new Set(['reconcileID', 'kind'])

/** Whether a controller, perhaps of one cluster, has its default name: that of its kind. */
export function isNamedAfter(kind: unknown, controller: unknown): boolean {
  return String(controller).split('@')[0] === String(kind).toLowerCase()
}
