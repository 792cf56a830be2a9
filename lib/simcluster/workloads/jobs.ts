/** Runs Jobs to their completion. */
import { type Client, finalizers, isReason, type Operator, owners } from 'kubeloop'
import { Job, Pod, type V1Job, type V1Pod } from 'kubeloop/kinds'
import { INDEX } from './indexes.ts'
import { isTracked, TRACKING } from './job_counts.ts'
import { finishedBy, planJob } from './job_plan.ts'
import { adopters, claim, podsByOwner } from './owned.ts'
import { changePods, unlessNamespaceEnds } from './pod_changes.ts'

/** Adds the controller of Jobs, that of pods whose Job is gone, and the deletion of finished Jobs after their time. */
export function addJobs(app: Operator): void {
  app.controllerFor(Job, { name: 'job', fieldManager: 'kube-controller-manager', concurrency: 5 })
    .owns(Pod)
    .watches(Pod, (pod, { client }) => adopters(client, Job, pod))
    .reconcile(async (job, { client, clock, events }) => {
      const nowMs = clock.now()
      const pods = await claim(client, podsByOwner, job)
      const plan = planJob(job, pods, nowMs)
      const changed = await unlessNamespaceEnds((async () => {
        if (!plan.countsRemoved) { for (const pod of plan.remove) await untrack(client, pod) }
        const create = plan.create.map((index) => () => createPod(client, job, index))
        return await changePods({ client, events }, job, { create, remove: plan.remove }, [...pods])
      })())
      if (!changed) return undefined
      const finished = finishedBy(plan.status)
      if (finished && !finishedBy(job.status)) {
        if (finished.type === 'Complete') events.normal(job, 'Completed', 'Job completed')
        else events.warning(job, finished.reason ?? '', finished.message ?? '')
      }
      try {
        await client.setStatus(Job, job, plan.status)
      } catch (error) {
        // A CronJob deletes what leaves its history.
        if (isReason(error, 'NotFound')) return undefined
        throw error
      }
      // After the status has their uids: an uncounted pod must not get lost.
      for (const pod of plan.untrack) await untrack(client, pod)
      const leftMs = finished ? untilExpired(job, nowMs) : plan.againMs
      if (leftMs !== undefined && leftMs > 0) return { requeueAfter: leftMs }
      if (leftMs !== undefined) await client.delete(Job, job, { uid: job.metadata.uid })
      return undefined
    })
  app.controllerFor(Pod, {
    name: 'job-pods',
    fieldManager: 'kube-controller-manager',
    when: (pod) => isTracked(pod as V1Pod),
  })
    .watches(
      Job,
      ({ metadata }, { client, event }) => event.kind === 'deleted' ? client.lookup(podsByOwner, metadata.uid) : [],
    )
    .reconcile(async (pod, { client }) => {
      const owner = owners.controllerOf(pod)
      const { namespace } = pod.metadata
      const job = owner?.kind === 'Job' ? await client.get(Job, { namespace, name: owner.name }) : undefined
      if (isTracked(pod) && job?.metadata.uid !== owner?.uid) await untrack(client, pod)
    })
}

async function untrack(client: Client, { metadata }: V1Pod): Promise<void> {
  await client.edit(Pod, metadata, (draft) => void finalizers.remove(draft, TRACKING))
}

/** Returns the time until a finished Job is deleted; undefined if it stays. */
function untilExpired({ spec, status }: V1Job, nowMs: number): number | undefined {
  const seconds = spec?.ttlSecondsAfterFinished
  const { lastTransitionTime } = finishedBy(status) ?? {}
  return seconds === undefined || !lastTransitionTime
    ? undefined
    : Date.parse(lastTransitionTime) + seconds * 1000 - nowMs
}

async function createPod(client: Client, job: V1Job, index: number | undefined): Promise<V1Pod> {
  const { metadata: { name, namespace }, spec } = job
  const { labels, annotations, finalizers = [] } = spec?.template.metadata ?? {}
  const own = index === undefined ? {} : { [INDEX]: String(index) }
  const metadata = {
    namespace,
    generateName: index === undefined ? `${name}-` : `${name}-${index}-`,
    labels: { ...labels, ...own },
    annotations: { ...annotations, ...own },
    finalizers: [...finalizers, TRACKING],
  }
  const template = spec!.template.spec!
  if (index === undefined) return await client.create(Pod, { metadata, spec: template }, { owner: job })
  const variable = {
    name: 'JOB_COMPLETION_INDEX',
    valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: `metadata.labels['${INDEX}']` } },
  }
  const containers = template.containers.map((each) => ({ ...each, env: [...each.env ?? [], variable] }))
  return await client.create(Pod, { metadata, spec: { ...template, hostname: `${name}-${index}`, containers } }, {
    owner: job,
  })
}
