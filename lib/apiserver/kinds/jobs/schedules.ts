/** Checks the schedules of cron jobs: five fields, or a descriptor such as `@daily`. */

/** The limits and names of each field: minutes, hours, days, months and days of the week. */
const FIELDS: readonly { readonly min: number; readonly max: number; readonly names?: readonly string[] }[] = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12, names: ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'] },
  { min: 0, max: 6, names: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] },
]

const DESCRIPTOR =
  /^@(?:yearly|annually|monthly|weekly|daily|midnight|hourly|every (?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+)$/

/** Returns the problem of a schedule; undefined if it is valid. */
export function scheduleProblem(schedule: string): string | undefined {
  if (schedule.includes('TZ')) return 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead'
  if (schedule.startsWith('@')) return DESCRIPTOR.test(schedule) ? undefined : `unrecognized descriptor: ${schedule}`
  const fields = schedule.split(/\s+/).filter(Boolean)
  if (fields.length !== FIELDS.length) return `expected exactly ${FIELDS.length} fields, found ${fields.length}`
  const wrong = fields.find((field, index) => !field.split(',').every((part) => isRange(part, FIELDS[index]!)))
  return wrong === undefined ? undefined : `must have numbers, ranges and steps within their limits: ${wrong}`
}

/** `*`, `5`, `1-5`, `mon`, each with a step or without: `0-30/5`. */
function isRange(text: string, { min, max, names = [] }: (typeof FIELDS)[number]): boolean {
  const [, low = '', high, step] = /^([*?]|\w+)(?:-(\w+))?(?:\/(\d+))?$/.exec(text) ?? []
  const numberOf = (name: string): number => {
    const named = names.indexOf(name.toLowerCase())
    return named < 0 ? (/^\d+$/.test(name) ? Number(name) : Number.NaN) : named + min
  }
  const start = low === '*' || low === '?' ? min : numberOf(low)
  const end = high === undefined ? start : numberOf(high)
  return step !== '0' && start >= min && end >= start && end <= max
}
