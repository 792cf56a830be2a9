/** The times of a CronJob's schedule: croner computes them, as for the schedules of operators. */
import type { V1CronJobSpec } from 'kubeloop/kinds'
import { instant } from './instant.ts'

/** Returns the first time after another one. Infinity: there is none. */
export type NextTime = (afterMs: number) => number

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

/** @throws Error if the schedule or the time zone cannot be read. */
export async function timesOf({ schedule, timeZone }: V1CronJobSpec): Promise<NextTime> {
  const every = /^@every (.+)$/.exec(schedule)?.[1]
  if (every !== undefined) {
    const ms = [...every.matchAll(/([\d.]+)([a-zµ]+)/g)]
      .reduce((sum, [, number, unit]) => sum + Number(number) * (UNITS[unit!] ?? 0), 0)
    const step = Math.max(Math.floor(ms / 1000), 1) * 1000
    return (afterMs) => Math.floor(afterMs / 1000) * 1000 + step
  }
  // Built, the parser of schedules is a file of its own.
  const { timesOfFields } = await import('../../operator/schedules.ts')
  return await timesOfFields(schedule.replaceAll('?', '*'), timeZone ?? 'UTC')
}

/** Returns a time with the offset of its zone, as `2026-03-01T00:00:00+01:00`. */
export function zonedInstant(ms: number, timeZone: string | undefined): string {
  if (timeZone === undefined) return instant(ms)
  const local = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' }).format(ms)
  const offset = (Date.parse(`${local.replace(' ', 'T')}Z`) - ms) / 60_000
  if (offset === 0) return instant(ms)
  const [hours, minutes] = [Math.floor(Math.abs(offset) / 60), Math.abs(offset) % 60]
  const two = (value: number): string => String(value).padStart(2, '0')
  return `${local.replace(' ', 'T')}${offset < 0 ? '-' : '+'}${two(hours)}:${two(minutes)}`
}
