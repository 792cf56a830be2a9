/** Parses and formats durations, and formats instants. Internally all of them are numbers of milliseconds. */

/** Milliseconds, or digits and a unit: `'500ms'`, `'30s'`, `'5m'`, `'1.5h'`. */
export type Duration = [DurationLike<'30s' | '5m' | '1.5h'>][0]

/** The values of {@link Duration}. The compiler's messages show the examples of this name. */
export type DurationLike<Example extends string> =
  | number
  | Example
  | (`${bigint | `${bigint}.${'' | 0}${bigint}`}${'ms' | 's' | 'm' | 'h'}` & `${Digit}${string}`)

/** @internal */
type Digit = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

/** Returns a duration in milliseconds. Throws a RangeError if it is invalid or negative. */
export function toMs(duration: Duration): number {
  if (typeof duration === 'number') {
    if (Number.isFinite(duration) && duration >= 0) return duration
    throw new RangeError(`Cannot read duration ${duration}: it must be finite and not negative`)
  }
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(duration)
  const unit = match && UNITS[match[2]!]
  if (!unit) {
    throw new RangeError(
      `Cannot read duration "${duration}": write a number and a unit, such as "500ms", "30s", "5m" or "1h"`,
    )
  }
  return Number(match[1]) * unit
}

/** Formats milliseconds for people: `8 ms`, `1.5 s`, `2 m`. */
export function formatMs(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${Number((ms / 1000).toFixed(1))} s`
  if (ms < 3_600_000) return `${Number((ms / 60_000).toFixed(1))} m`
  return `${Number((ms / 3_600_000).toFixed(1))} h`
}

/** Formats the MicroTime of Leases and Events: exactly six decimals, or the server refuses it. */
export function microTime(wallMs: number): string {
  return new Date(wallMs).toISOString().replace('Z', '000Z')
}
