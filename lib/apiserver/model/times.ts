/** Reads times as Go does, which refuses dates that do not exist and the hour 24; `Date.parse` takes them. */

/** Returns the time of a text that begins with a date, `2026-02-28…`, in milliseconds; NaN if there is none. */
export function timeMs(text: string): number {
  const date = text.slice(0, 10)
  const midnightMs = Date.parse(`${date}T00:00:00Z`)
  const exists = !Number.isNaN(midnightMs) && new Date(midnightMs).toISOString().startsWith(date)
  return exists && text.slice(11, 13) !== '24' ? Date.parse(text) : NaN
}

/** Returns whether a text is a date that exists, as `2026-02-28`. */
export function isDate(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(timeMs(text))
}
