/** Durations and timestamps: their texts and parts. */
import { CelError, Duration, Timestamp } from '../values.ts'
import { timeMs } from '../../model/times.ts'
import type { Row } from './table.ts'

const UNITS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  'µs': 1_000n,
  'μs': 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
}
const PART = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/y

/** Parses a duration in Go's form, such as `1h30m`. Returns undefined if it is none. */
export function goDuration(text: string, units: Readonly<Record<string, bigint>> = UNITS): bigint | undefined {
  const sign = /^[+-]/.exec(text)?.[0] ?? ''
  if (text.slice(sign.length) === '0') return 0n
  let total = 0n
  PART.lastIndex = sign.length
  while (PART.lastIndex < text.length) {
    const match = PART.exec(text)
    if (!match) return undefined
    const [whole = '', fraction = ''] = match[1]!.split('.')
    total += BigInt(whole + fraction) * units[match[2]!]! / 10n ** BigInt(fraction.length)
  }
  if (text.length === sign.length || BigInt.asIntN(64, total) !== total) return undefined
  return sign === '-' ? -total : total
}

export function parseDuration(text: string): Duration {
  const nanos = goDuration(text)
  if (nanos === undefined) {
    throw new CelError("type conversion error from 'string' to 'google.protobuf.Duration'")
  }
  return new Duration(nanos)
}

const RFC3339 = /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:[.,](\d+))?([Zz]|[+-]\d{2}:?\d{2})$/

/** Parses a time of RFC 3339. Returns undefined if it is none. */
export function rfc3339(text: string): Timestamp | undefined {
  const match = RFC3339.exec(text)
  if (!match) return undefined
  const [, year, month, day, hour, minute, second, fraction = '', zone] = match
  const offset = /[zZ]/.test(zone!) ? 'Z' : zone!.replace(/(\d{2}):?(\d{2})$/, '$1:$2')
  const ms = timeMs(`${year}-${month}-${day}T${hour}:${minute}:${second}${offset}`)
  if (Number.isNaN(ms)) return undefined
  return new Timestamp(BigInt(ms) * 1_000_000n + BigInt(fraction.padEnd(9, '0').slice(0, 9)))
}

export function parseTimestamp(text: string): Timestamp {
  const result = rfc3339(text)
  if (!result || /^0000|[tz]/.test(text)) {
    throw new CelError("type conversion error from 'string' to 'google.protobuf.Timestamp'")
  }
  return result
}

export function durationText({ nanos }: Duration): string {
  const sign = nanos < 0n ? '-' : ''
  const size = nanos < 0n ? -nanos : nanos
  const fraction = String(size % 1_000_000_000n).padStart(9, '0').replace(/0+$/, '')
  return `${sign}${size / 1_000_000_000n}${fraction && `.${fraction}`}s`
}

/** Splits a time into milliseconds and the nanoseconds within the second. */
function parts({ nanos }: Timestamp): { ms: number; nanos: bigint } {
  const within = ((nanos % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n
  return { ms: Number((nanos - within) / 1_000_000n), nanos: within }
}

export function timestampText(time: Timestamp): string {
  const { ms, nanos } = parts(time)
  const fraction = String(nanos).padStart(9, '0').replace(/0+$/, '')
  return `${new Date(ms).toISOString().slice(0, 19)}${nanos === 0n ? '' : `.${fraction}`}Z`
}

/** Returns a date whose UTC parts are those of a time in a zone: an offset such as `-07:00`, or a name. */
function inZone(time: Timestamp, zone: string): Date {
  const { ms } = parts(time)
  const offset = /^([+-]?)(\d{2}):(\d{2})$/.exec(zone)
  if (offset) {
    const minutes = Number(offset[2]) * 60 + Number(offset[3])
    return new Date(ms + (offset[1] === '-' ? -minutes : minutes) * 60_000)
  }
  try {
    const text = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' })
      .format(new Date(ms))
    return new Date(`${text.replace(' ', 'T')}Z`)
  } catch {
    // The exception says the same.
    throw new CelError(`unknown time zone ${zone}`)
  }
}

function dayOfYear(date: Date): number {
  return Math.floor((date.getTime() - Date.UTC(date.getUTCFullYear(), 0, 1)) / 86_400_000)
}

const GETTERS: readonly (readonly [name: string, get: (date: Date) => number])[] = [
  ['getFullYear', (date) => date.getUTCFullYear()],
  ['getMonth', (date) => date.getUTCMonth()],
  ['getDayOfYear', dayOfYear],
  ['getDayOfMonth', (date) => date.getUTCDate() - 1],
  ['getDate', (date) => date.getUTCDate()],
  ['getDayOfWeek', (date) => date.getUTCDay()],
  ['getHours', (date) => date.getUTCHours()],
  ['getMinutes', (date) => date.getUTCMinutes()],
  ['getSeconds', (date) => date.getUTCSeconds()],
]

function milliseconds(time: Timestamp): bigint {
  return parts(time).nanos / 1_000_000n
}

export const TIME: readonly Row[] = [
  ...GETTERS.flatMap(([name, get]): Row[] => [
    [name, 'timestamp.() -> int', (time) => BigInt(get(inZone(time, '+00:00')))],
    [name, 'timestamp.(string) -> int', (time, zone) => BigInt(get(inZone(time, zone)))],
  ]),
  ['getMilliseconds', 'timestamp.() -> int', milliseconds],
  ['getMilliseconds', 'timestamp.(string) -> int', milliseconds],
  ['getHours', 'duration.() -> int', ({ nanos }) => nanos / 3_600_000_000_000n],
  ['getMinutes', 'duration.() -> int', ({ nanos }) => nanos / 60_000_000_000n],
  ['getSeconds', 'duration.() -> int', ({ nanos }) => nanos / 1_000_000_000n],
  ['getMilliseconds', 'duration.() -> int', ({ nanos }) => nanos / 1_000_000n],
]
