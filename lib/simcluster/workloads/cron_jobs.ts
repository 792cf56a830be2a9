/** Creates the Jobs of CronJobs at their times: croner computes them, as for the schedules of operators. */
import { type Operator, owners } from 'kubeloop'
import { CronJob, Job, type V1CronJob, type V1CronJobSpec, type V1CronJobStatus, type V1Job } from 'kubeloop/kinds'
import { messageOf } from '../../core/errors.ts'
import { instant } from '../../core/duration.ts'
import { finishedBy } from './job_plan.ts'
import { jobsByOwner } from './owned.ts'
import { unlessNamespaceEnds } from './pod_changes.ts'

export function addCronJobs(app: Operator): void {
  app.controllerFor(CronJob, { name: 'cronjob', fieldManager: 'kube-controller-manager', concurrency: 5 })
    .owns(Job)
    .reconcile(async (cronJob, { client, clock, events }) => {
      const { metadata: { name, namespace, uid }, spec } = cronJob
      const nowMs = clock.now()
      const next = await timesOf(spec!).catch((error: unknown) => {
        const message = `unparseable schedule: ${JSON.stringify(spec!.schedule)} : ${messageOf(error)}`
        events.warning(cronJob, 'UnparseableSchedule', message)
      })
      const plan = planCronJob(cronJob, await client.lookup(jobsByOwner, uid), nowMs, next ?? (() => Infinity))
      for (const [level, ...text] of plan.events) events[level](cronJob, ...text)
      for (const { metadata } of plan.remove) {
        await client.delete(Job, { metadata }, { uid: metadata.uid })
        events.normal(cronJob, 'SuccessfulDelete', `Deleted job ${metadata.name}`)
      }
      let { status } = plan
      if (plan.dueMs !== undefined) {
        const { metadata: { labels, annotations } = {}, spec: job } = spec!.jobTemplate
        const scheduled = zonedInstant(plan.dueMs, spec!.timeZone)
        const metadata = {
          ...{ namespace, name: jobName(name, plan.dueMs), labels: { ...labels } },
          annotations: { ...annotations, 'batch.kubernetes.io/cronjob-scheduled-timestamp': scheduled },
        }
        const made = await unlessNamespaceEnds(
          client.createIfMissing(Job, { metadata, spec: job! }, { owner: cronJob }),
        )
        if (!made) return undefined
        if (made.result === 'created') events.normal(cronJob, 'SuccessfulCreate', `Created job ${metadata.name}`)
        // A Job of another owner may have the name.
        if (owners.hasOwner(made.object, cronJob)) {
          const { apiVersion, kind, metadata: { name, uid, resourceVersion } } = made.object
          const active = [...status.active ?? [], { apiVersion, kind, namespace, name, uid, resourceVersion }]
          status = { ...status, active, lastScheduleTime: instant(plan.dueMs) }
        }
      }
      await client.setStatus(CronJob, cronJob, status)
      return Number.isFinite(plan.againMs) ? { requeueAfter: plan.againMs } : undefined
    })
}

export interface CronPlan {
  readonly events: (readonly [level: 'normal' | 'warning', reason: string, message: string])[]
  /** The Jobs to delete: finished ones beyond the limits of the history, and those that a new one replaces. */
  readonly remove: readonly V1Job[]
  /** The time of a Job to create. */
  readonly dueMs: number | undefined
  /** The status without that Job. */
  readonly status: V1CronJobStatus
  /** The time until the next one. Infinity: there is none. */
  readonly againMs: number
}

/** Returns what to do now. `jobs` are those of the CronJob. */
export function planCronJob(cronJob: V1CronJob, jobs: readonly V1Job[], nowMs: number, next: NextTime): CronPlan {
  const { metadata, spec, status } = cronJob
  const events: CronPlan['events'] = []
  const known = status?.active ?? []
  const isIn = (list: typeof known, { metadata: { uid } }: V1Job): boolean => list.some((each) => each.uid === uid)
  const active = known.filter(({ uid, name }) => {
    const job = jobs.find((each) => each.metadata.uid === uid)
    const finished = finishedBy(job?.status)
    if (!job) events.push(['normal', 'MissingJob', `Active job went missing: ${name}`])
    if (finished) events.push(['normal', 'SawCompletedJob', `Saw completed job: ${name}, condition: ${finished.type}`])
    return job && !finished
  })
  for (const job of jobs.filter((each) => !isIn(known, each) && !finishedBy(each.status))) {
    const message = `Saw a job that the controller did not create or forgot: ${job.metadata.name}`
    events.push(['warning', 'UnexpectedJob', message])
  }
  const ended = (type: string): V1Job[] => jobs.filter((each) => finishedBy(each.status)?.type === type)
  const lastSuccessfulTime = [status?.lastSuccessfulTime, ...ended('Complete').map((job) => job.status?.completionTime)]
    .filter((each) => each !== undefined).toSorted().at(-1)
  const remove = [
    ...oldest(ended('Complete'), spec?.successfulJobsHistoryLimit),
    ...oldest(ended('Failed'), spec?.failedJobsHistoryLimit),
  ]
  const { active: _active, ...rest } = status ?? {}
  const statusWith = (refs: typeof known): V1CronJobStatus => ({
    ...rest,
    ...(refs.length > 0 && { active: refs }),
    ...(lastSuccessfulTime && { lastSuccessfulTime }),
  })
  const without = { events, remove, dueMs: undefined, status: statusWith(active) }
  if (metadata.deletionTimestamp || spec?.suspend) return { ...without, againMs: Infinity }
  const sinceMs = Date.parse(status?.lastScheduleTime ?? metadata.creationTimestamp)
  const againMs = next(lastTime(sinceMs, nowMs, next).dueMs ?? Math.max(sinceMs, nowMs)) - nowMs
  const deadlineMs = (spec?.startingDeadlineSeconds ?? Infinity) * 1000
  const { dueMs, missed } = lastTime(Math.max(sinceMs, nowMs - deadlineMs), nowMs, next)
  if (missed > 100) events.push(['warning', 'TooManyMissedTimes', MANY_MISSED])
  const isDone = dueMs === undefined || active.some(({ name }) => name === jobName(metadata.name, dueMs))
  if (isDone) return { ...without, againMs }
  if (spec?.concurrencyPolicy === 'Forbid' && active.length > 0) {
    const message = 'Not starting job because prior execution is running and concurrency policy is Forbid'
    events.push(['normal', 'JobAlreadyActive', message])
    return { ...without, againMs }
  }
  if (spec?.concurrencyPolicy !== 'Replace') return { ...without, dueMs, againMs }
  const replaced = jobs.filter((each) => isIn(active, each))
  return { events, remove: [...remove, ...replaced], dueMs, status: statusWith([]), againMs }
}

const MANY_MISSED = 'too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew'

/** Returns the last time up to now, and how many there were, by the distance of the first two. */
function lastTime(
  sinceMs: number,
  nowMs: number,
  next: NextTime,
): { readonly dueMs?: number; readonly missed: number } {
  const first = next(sinceMs)
  if (first > nowMs) return { missed: 0 }
  const second = next(first)
  if (second > nowMs) return { dueMs: first, missed: 1 }
  const missed = Math.floor((nowMs - first) / (second - first)) + 1
  // From one time before the last regular one: distances may differ.
  let dueMs: number | undefined
  for (let ms = next(first + (missed - 2) * (second - first)); ms <= nowMs; ms = next(ms)) dueMs = ms
  return { ...(dueMs !== undefined && { dueMs }), missed }
}

function oldest(jobs: readonly V1Job[], limit: number | undefined): readonly V1Job[] {
  const orderOf = ({ metadata: { name }, status }: V1Job): string => `${status?.startTime ?? '~'} ${name}`
  const sorted = jobs.toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1))
  return sorted.slice(0, Math.max(0, jobs.length - (limit ?? jobs.length)))
}

const jobName = (name: string, dueMs: number): string => `${name}-${Math.floor(dueMs / 60_000)}`

/** Returns the first time after another one. Infinity: there is none. */
type NextTime = (afterMs: number) => number

/** @throws Error if the schedule or the time zone cannot be read. */
export async function timesOf({ schedule, timeZone }: V1CronJobSpec): Promise<NextTime> {
  const every = /^@every (.+)$/.exec(schedule)?.[1]
  if (every !== undefined) {
    const { durationMs } = await import('../../schema/formats.ts')
    const step = Math.max(Math.floor(durationMs(every) / 1000), 1) * 1000
    return (afterMs) => Math.floor(afterMs / 1000) * 1000 + step
  }
  // Built, the parser of schedules is a file of its own.
  const { timesOfFields } = await import('../../operator/schedules.ts')
  // A day of the month and one of the week must both fit if one of them is `*`, of which `*/1` is another form here.
  return await timesOfFields(schedule.replaceAll('?', '*').replaceAll(/\*\/1(?!\d)/g, '*'), timeZone ?? 'UTC')
}

/** Returns a time with the offset of its zone, as `2026-03-01T00:00:00+01:00`. */
export function zonedInstant(ms: number, timeZone = 'UTC'): string {
  const local = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' }).format(ms)
  const parts = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' }).formatToParts(ms)
  const offset = parts.find(({ type }) => type === 'timeZoneName')!.value.replace(/^GMT(\+00:00)?/, '')
  return `${local.replace(' ', 'T')}${offset || 'Z'}`
}
