/** Parses and formats durations, and formats instants. Internally all of them are numbers of milliseconds. */

/** Milliseconds, or digits and a unit: `'500ms'`, `'30s'`, `'5m'`, `'1.5h'`, `'1d'`. */
export type Duration = [
  DurationLike<'a number and ms, s, m, h or d, as in 30s; durationMs(text) reads that of a spec'>,
][0]

/** The values of {@link Duration}. The compiler's messages show the hint. */
export type DurationLike<Hint extends string> =
  | number
  | '30s'
  | '5m'
  | '1.5h'
  // None, but without it the messages have no hint.
  | Extract<Hint, number>
  | (`${bigint | `${bigint}.${'' | 0}${bigint}`}${'ms' | 's' | 'm' | 'h' | 'd'}` & `${Digit}${string}`)

/** @internal */
type Digit = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Returns a duration in milliseconds. Throws a RangeError if it is invalid or negative. */
export function toMs(duration: Duration): number {
  if (typeof duration === 'number') {
    if (Number.isFinite(duration) && duration >= 0) return duration
    throw new RangeError(`Cannot read duration ${duration}: it must be finite and not negative`)
  }
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(duration)
  const ms = match ? Number(match[1]) * UNITS[match[2]!]! : Infinity
  if (ms === Infinity) {
    throw new RangeError(
      `Cannot read duration "${duration}": write a number and ms, s, m, h or d, such as "30s"; durationMs of ` +
        'kubeloop/schema reads "1h30m"',
    )
  }
  return ms
}

/** Formats milliseconds for people: `8 ms`, `1.5 s`, `2 m`, `1 d`. */
export function formatMs(ms: number): string {
  if (ms < 999.5) return `${Math.round(ms)} ms`
  // What would be rounded to 60 s is 1 m.
  const unit = ms < 59_950 ? 's' : ms < 3_597_000 ? 'm' : ms < 86_220_000 ? 'h' : 'd'
  return `${Number((ms / UNITS[unit]!).toFixed(1))} ${unit}`
}

/** Formats a time as metav1.Time does: RFC 3339, whole seconds. */
export function instant(wallMs: number): string {
  return `${new Date(wallMs).toISOString().slice(0, 19)}Z`
}

/** Formats the MicroTime of Leases and Events: exactly six decimals, or the server refuses it. */
export function microTime(wallMs: number): string {
  return new Date(wallMs).toISOString().replace('Z', '000Z')
}
