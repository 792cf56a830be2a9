/** Creates the Jobs of CronJobs at their times. */
import type { Operator } from 'kubeloop'
import { CronJob, Job, type V1CronJob, type V1CronJobStatus, type V1Job } from 'kubeloop/kinds'
import { messageOf } from '../../core/errors.ts'
import { type NextTime, timesOf, zonedInstant } from './cron_times.ts'
import { instant } from './instant.ts'
import { finishedBy } from './job_plan.ts'
import { jobsByOwner } from './owned.ts'
import { unlessNamespaceEnds } from './pod_changes.ts'

/** Adds the controller of CronJobs. */
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
      for (const { level, reason, message } of plan.events) events[level](cronJob, reason, message)
      for (const { metadata } of plan.remove) {
        await client.delete(Job, { metadata }, { uid: metadata.uid })
        events.normal(cronJob, 'SuccessfulDelete', `Deleted job ${metadata.name}`)
      }
      let { status } = plan
      if (plan.dueMs !== undefined) {
        const { metadata: { labels, annotations } = {}, spec: job } = spec!.jobTemplate
        const scheduled = zonedInstant(plan.dueMs, spec!.timeZone)
        const metadata = {
          namespace,
          name: jobName(name, plan.dueMs),
          labels: { ...labels },
          annotations: { ...annotations, 'batch.kubernetes.io/cronjob-scheduled-timestamp': scheduled },
        }
        const wanted = { metadata, spec: job! }
        const made = await unlessNamespaceEnds(client.createIfMissing(Job, wanted, { owner: cronJob }))
        if (!made) return undefined
        if (made.result === 'created') events.normal(cronJob, 'SuccessfulCreate', `Created job ${metadata.name}`)
        const { apiVersion, kind, metadata: { uid: id, resourceVersion, ownerReferences } } = made.object
        // A Job of another owner may have the name.
        if (ownerReferences?.some((each) => each.uid === uid)) {
          const active = { apiVersion, kind, namespace, name: metadata.name, uid: id, resourceVersion }
          status = { ...status, active: [...status.active ?? [], active], lastScheduleTime: instant(plan.dueMs) }
        }
      }
      await client.setStatus(CronJob, cronJob, status)
      return Number.isFinite(plan.againMs) ? { requeueAfter: plan.againMs } : undefined
    })
}

export interface CronPlan {
  readonly events: readonly {
    readonly level: 'normal' | 'warning'
    readonly reason: string
    readonly message: string
  }[]
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
  const events: CronPlan['events'][number][] = []
  const known = status?.active ?? []
  const isActive = ({ metadata: { uid } }: V1Job): boolean => known.some((each) => each.uid === uid)
  const active = known.filter(({ uid, name }) => {
    const job = jobs.find((each) => each.metadata.uid === uid)
    const finished = finishedBy(job?.status)
    if (!job) events.push({ level: 'normal', reason: 'MissingJob', message: `Active job went missing: ${name}` })
    if (finished) {
      const message = `Saw completed job: ${name}, condition: ${finished.type}`
      events.push({ level: 'normal', reason: 'SawCompletedJob', message })
    }
    return job && !finished
  })
  for (const job of jobs.filter((each) => !isActive(each) && !finishedBy(each.status))) {
    const message = `Saw a job that the controller did not create or forgot: ${job.metadata.name}`
    events.push({ level: 'warning', reason: 'UnexpectedJob', message })
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
  const sinceMs = Date.parse(status?.lastScheduleTime ?? metadata.creationTimestamp ?? instant(nowMs))
  const againMs = next(lastTime(sinceMs, nowMs, next).dueMs ?? Math.max(sinceMs, nowMs)) - nowMs
  const deadlineMs = (spec?.startingDeadlineSeconds ?? Infinity) * 1000
  const { dueMs, missed } = lastTime(Math.max(sinceMs, nowMs - deadlineMs), nowMs, next)
  if (missed > 100) events.push({ level: 'warning', reason: 'TooManyMissedTimes', message: MANY_MISSED })
  const isDone = dueMs === undefined || dueMs === Date.parse(status?.lastScheduleTime ?? '') ||
    active.some(({ name }) => name === jobName(metadata.name, dueMs))
  if (isDone) return { ...without, againMs }
  if (spec?.concurrencyPolicy === 'Forbid' && active.length > 0) {
    const message = 'Not starting job because prior execution is running and concurrency policy is Forbid'
    events.push({ level: 'normal', reason: 'JobAlreadyActive', message })
    return { ...without, againMs }
  }
  if (spec?.concurrencyPolicy !== 'Replace') return { ...without, dueMs, againMs }
  const replaced = jobs.filter(({ metadata: { uid } }) => active.some((each) => each.uid === uid))
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
