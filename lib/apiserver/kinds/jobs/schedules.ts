/** Checks the schedules of cron jobs: five fields, or a descriptor such as `@daily`. */

/** The limits and names of each field: minutes, hours, days, months and days of the week. */
const FIELDS: readonly { readonly min: number; readonly max: number; readonly names?: readonly string[] }[] = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12, names: ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'] },
  { min: 0, max: 6, names: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] },
]

const DESCRIPTORS = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly']

/** Returns the problem of a schedule, in the words of the real server's parser; undefined if it is valid. */
export function scheduleProblem(schedule: string): string | undefined {
  if (schedule.includes('TZ')) return 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead'
  if (schedule.startsWith('@')) return descriptorProblem(schedule)
  const fields = schedule.split(/\s+/).filter(Boolean)
  if (fields.length !== FIELDS.length) {
    return `expected exactly ${FIELDS.length} fields, found ${fields.length}: [${fields.join(' ')}]`
  }
  for (const [index, field] of fields.entries()) {
    for (const part of field.split(',')) {
      const problem = rangeProblem(part, FIELDS[index]!)
      if (problem) return problem
    }
  }
  return undefined
}

function descriptorProblem(schedule: string): string | undefined {
  if (DESCRIPTORS.includes(schedule)) return undefined
  if (!schedule.startsWith('@every ')) return `unrecognized descriptor: ${schedule}`
  const duration = schedule.slice('@every '.length)
  return /^(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+$/.test(duration)
    ? undefined
    : `failed to parse duration ${schedule}: time: invalid duration ${JSON.stringify(duration)}`
}

function rangeProblem(text: string, { min, max, names = [] }: (typeof FIELDS)[number]): string | undefined {
  const [range = '', step, ...more] = text.split('/')
  if (more.length > 0) return `too many slashes: ${text}`
  const [low = '', high, ...rest] = range.split('-')
  if (rest.length > 0) return `too many hyphens: ${text}`
  const isAny = low === '*' || low === '?'
  const start = isAny ? min : numberOf(low, names)
  if (typeof start === 'string') return start
  let end: number | string = isAny
    ? max
    : high === undefined
    ? (step === undefined ? start : max)
    : numberOf(high, names)
  if (typeof end === 'string') return end
  if (step !== undefined) {
    const width = numberOf(step, [])
    if (typeof width === 'string') return width
    if (width === 0) return `step of range should be a positive number: ${text}`
    end = Math.max(end, start)
  }
  if (start < min) return `beginning of range (${start}) below minimum (${min}): ${text}`
  if (end > max) return `end of range (${end}) above maximum (${max}): ${text}`
  return start > end ? `beginning of range (${start}) beyond end of range (${end}): ${text}` : undefined
}

/** Returns a number, or the problem of a text that is not a number. */
function numberOf(text: string, names: readonly string[]): number | string {
  const named = names.indexOf(text.toLowerCase())
  if (named >= 0) return names.length === 12 ? named + 1 : named
  if (/^[+-]?\d+$/.test(text)) return Number(text) < 0 ? `negative number (${text}) not allowed: ${text}` : Number(text)
  return `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`
}
