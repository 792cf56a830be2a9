/** Runs Jobs to their completion. */
import { type Client, finalizers, type Operator, owners } from 'kubeloop'
import { Job, Pod, type V1Job, type V1Pod } from 'kubeloop/kinds'
import { finishedBy, INDEX, isTracked, planJob, TRACKING } from './job_plan.ts'
import { adopters, claim, podsByOwner } from './owned.ts'
import { changePods, createPod, nextLook, unlessGone } from './pod_changes.ts'

const MANAGER = 'kubernetes.io/job-controller'

/** Adds the controller of Jobs, that of pods whose Job is gone, and the deletion of finished Jobs after their time. */
export function addJobs(app: Operator): void {
  const fieldManager = 'kube-controller-manager'
  app.controllerFor(Job, { name: 'job', fieldManager, concurrency: 5 })
    .owns(Pod)
    .watches(Pod, (pod, { client }) => adopters(client, Job, pod))
    .reconcile(async (job, { client, clock, events }) => {
      const { managedBy = MANAGER } = job.spec ?? {}
      // Another controller runs it. Finished, it goes after its time all the same.
      if (managedBy !== MANAGER && !finishedBy(job.status)) return undefined
      const nowMs = clock.now()
      const pods = await claim(client, podsByOwner, job)
      const plan = planJob(job, pods, nowMs)
      if (!plan.countsRemoved) { for (const pod of plan.remove) await untrack(client, pod) }
      const create = plan.create.map((index) => ({ make: () => createMember(client, job, index) }))
      const changed = await changePods({ client, events }, job, { create, remove: plan.remove }, pods)
      if (!changed) return undefined
      const missing = create.length - (changed.counted.length - pods.length)
      const { active = 0, ...counts } = plan.status
      const status = active > missing ? { ...counts, active: active - missing } : counts
      const finished = finishedBy(plan.status)
      if (finished && !finishedBy(job.status)) {
        if (finished.type === 'Complete') events.normal(job, 'Completed', 'Job completed')
        else events.warning(job, finished.reason ?? '', finished.message ?? '')
      }
      // A CronJob deletes what leaves its history.
      if (!await unlessGone(client.setStatus(Job, job, status))) return undefined
      // After the status has their uids: an uncounted pod must not get lost.
      for (const pod of plan.untrack) await untrack(client, pod)
      const leftMs = finished ? untilExpired(job, nowMs) : plan.againMs
      if (leftMs !== undefined && leftMs <= 0) await client.delete(Job, job, { uid: job.metadata.uid })
      return nextLook(leftMs && Math.max(0, leftMs), changed.failure)
    })
  app.controllerFor(Pod, { name: 'job-pods', fieldManager, when: (pod) => isTracked(pod as V1Pod) })
    .watches(
      Job,
      ({ metadata }, { client, event }) => event.kind === 'deleted' ? client.lookup(podsByOwner, metadata.uid) : [],
    )
    .reconcile(async (pod, { client }) => {
      const owner = owners.controllerOf(pod)
      if (!isTracked(pod) || (owner && owner.kind !== 'Job')) return
      const job = owner && await client.get(Job, { namespace: pod.metadata.namespace, name: owner.name })
      if (!job || job.metadata.uid !== owner.uid) await untrack(client, pod)
    })
}

async function untrack(client: Client, { metadata }: V1Pod): Promise<void> {
  await unlessGone(client.edit(Pod, metadata, (draft) => void finalizers.remove(draft, TRACKING)))
}

/** Returns the time until a finished Job is deleted; undefined if it stays. */
function untilExpired({ spec, status }: V1Job, nowMs: number): number | undefined {
  const seconds = spec?.ttlSecondsAfterFinished
  const { lastTransitionTime } = finishedBy(status) ?? {}
  if (seconds === undefined || !lastTransitionTime) return undefined
  return Date.parse(lastTransitionTime) + seconds * 1000 - nowMs
}

async function createMember(client: Client, job: V1Job, index: number | undefined): Promise<V1Pod> {
  const { metadata: { name }, spec } = job
  const { metadata: { labels, annotations, finalizers = [] } = {}, spec: pod } = spec!.template
  const tracked = { finalizers: [...finalizers, TRACKING] }
  if (index === undefined) return await createPod(client, job, spec!.template, tracked)
  const own = { [INDEX]: String(index) }
  const metadata = { labels: { ...labels, ...own }, annotations: { ...annotations, ...own }, ...tracked }
  const valueFrom = { fieldRef: { apiVersion: 'v1', fieldPath: `metadata.labels['${INDEX}']` } }
  const variable = { name: 'JOB_COMPLETION_INDEX', valueFrom }
  return await createPod(client, job, spec!.template, { ...metadata, generateName: `${name}-${index}-` }, {
    hostname: `${name}-${index}`,
    containers: pod!.containers.map((each) => ({ ...each, env: [...each.env ?? [], variable] })),
  })
}
