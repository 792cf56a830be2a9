/** Cases of workloads: what a user does, one step after the other. What there is after each step is compared. */
import { type AnyResource, type Client, draft, type KubeObject, operator } from 'kubeloop'
import {
  ControllerRevision,
  CronJob,
  DaemonSet,
  Deployment,
  EndpointSlice,
  Job,
  Namespace,
  PersistentVolumeClaim,
  Pod,
  ReplicaSet,
  Secret,
  Service,
  ServiceAccount,
  StatefulSet,
  type V1Toleration,
} from 'kubeloop/kinds'
import { type Pods, world } from 'kubeloop/testing'
import { silentLog } from '../../../lib/observe/log.ts'

interface Step {
  readonly client: Client
  readonly namespace: string
  readonly pods: Pods
}

/** By a name that is a namespace: steps, each with its title. */
export type Cases = Readonly<Record<string, Readonly<Record<string, (step: Step) => Promise<unknown>>>>>

const labels = { app: 'web' }
const template = (image: string) => ({ metadata: { labels }, spec: { containers: [{ name: 'web', image }] } })
const web = (namespace: string, spec: object = {}, image = 'web:1') => ({
  metadata: { namespace, name: 'web', annotations: { note: 'x' } },
  spec: { replicas: 3, selector: { matchLabels: labels }, template: template(image), ...spec },
})
const edit = (spec: object) => ({ client, namespace }: Step) =>
  client.patch(Deployment, { namespace, name: 'web' }, { merge: { spec } })
const create = (spec: object = {}) => ({ client, namespace }: Step) => client.create(Deployment, web(namespace, spec))
const image = (image: string) => edit({ template: template(image) })

const job = (spec: object = {}, template: object = {}) => ({ client, namespace }: Step) =>
  client.create(Job, {
    metadata: { namespace, name: 'web' },
    spec: {
      ...spec,
      template: {
        spec: {
          restartPolicy: 'Never',
          terminationGracePeriodSeconds: 1,
          containers: [{ name: 'web', image: 'web:1' }],
          ...template,
        },
      },
    },
  })
const failing = (step: (step: Step) => Promise<unknown>) => (given: Step) => {
  given.pods.fail(`${given.namespace}/web-*`, { exitCode: 3 })
  return step(given)
}
const held = (step: (step: Step) => Promise<unknown>) => (given: Step) => {
  given.pods.hold(`${given.namespace}/web-*`)
  return step(given)
}
const rejob = (spec: object) => ({ client, namespace }: Step) =>
  client.patch(Job, { namespace, name: 'web' }, { merge: { spec } })
const suspend = (suspend: boolean) => rejob({ suspend })

const stateful = (spec: object = {}) => ({ client, namespace }: Step) =>
  client.create(StatefulSet, web(namespace, { serviceName: 'web', ...spec }))
const restate = (spec: object) => ({ client, namespace }: Step) =>
  client.patch(StatefulSet, { namespace, name: 'web' }, { merge: { spec } })
const daemon = (spec: object) => ({ client, namespace }: Step) =>
  client.patch(DaemonSet, { namespace, name: 'web' }, { merge: { spec } })
const daemonsOf = (image: string) => ({ client, namespace }: Step) => {
  const { spec: { replicas: _replicas, ...spec }, ...rest } = web(namespace, {}, image)
  return client.create(DaemonSet, { ...rest, spec })
}
const daemons = daemonsOf('web:1')
const preferring = (disk: string) => {
  const preference = { matchExpressions: [{ key: 'disk', operator: 'In', values: [disk] }] }
  return { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference }] } }
}
/** The namespace takes no more such pods. */
const refused = (step: (step: Step) => Promise<unknown>) => async (given: Step) => {
  const enforced = { 'pod-security.kubernetes.io/enforce': 'restricted' }
  await given.client.patch(Namespace, { name: given.namespace }, { merge: { metadata: { labels: enforced } } })
  return await step(given)
}
const pin = (name: string) => ({ client, namespace }: Step) =>
  client.patch(Pod, { namespace, name }, { merge: { metadata: { finalizers: ['test/held'] } } })
const orphan = (kind: AnyResource) => ({ client, namespace }: Step) =>
  client.delete(kind, { namespace, name: 'web' }, { propagation: 'Orphan' })
const data = {
  metadata: { name: 'data' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
}

/** Its last time was missed: while it is suspended, the status says that it last ran years ago. */
const missed = async ({ client, namespace }: Step, spec: object) => {
  const ref = { namespace, name: 'web' }
  await client.patch(CronJob, ref, { merge: { spec: { suspend: true, ...spec } } })
  const { status } = (await client.live.get(CronJob, ref))!
  await client.setStatus(CronJob, ref, { ...status, lastScheduleTime: '2020-01-01T00:00:00Z' })
  return await client.patch(CronJob, ref, { merge: { spec: { suspend: false } } })
}
const cron = (spec: object = {}, job: object = {}) => async (step: Step) => {
  const container = { name: 'web', image: 'web:1' }
  const pod = { restartPolicy: 'Never', terminationGracePeriodSeconds: 1, containers: [container] }
  const jobTemplate = {
    metadata: { labels, annotations: { note: 'x' } },
    spec: { backoffLimit: 0, ...job, template: { spec: pod } },
  }
  await step.client.create(CronJob, {
    metadata: { namespace: step.namespace, name: 'web' },
    spec: { schedule: '0 0 2 1 *', suspend: true, jobTemplate, ...spec },
  })
  return await missed(step, {})
}
const recron = (spec: object) => (step: Step) => missed(step, spec)
const february = { schedule: '0 0 2 feb ?' }

const service = (spec: object = {}) => ({ client, namespace }: Step) =>
  client.create(Service, {
    metadata: { namespace, name: 'web', labels: { tier: 'front' } },
    spec: {
      selector: labels,
      ports: [{ name: 'http', port: 80, targetPort: 'http' }, { name: 'dns', port: 53 }],
      ...spec,
    },
  })
const serving = (name: string, spec: object = {}, port = 8080) => ({ client, namespace }: Step) =>
  client.create(Pod, {
    metadata: { namespace, name, labels },
    spec: {
      terminationGracePeriodSeconds: 300,
      containers: [{ name: 'web', image: 'web:1', ports: [{ name: 'http', containerPort: port }] }],
      ...spec,
    },
  })
const secret = (account: string, uid?: string) => async ({ client, namespace }: Step) => {
  if (account !== 'nobody') await client.createIfMissing(ServiceAccount, { metadata: { namespace, name: account } })
  return await client.create(Secret, {
    metadata: {
      namespace,
      name: `of-${account}`,
      annotations: {
        'kubernetes.io/service-account.name': account,
        ...(uid && { 'kubernetes.io/service-account.uid': uid }),
      },
    },
    type: 'kubernetes.io/service-account-token',
  })
}

/** The kinds that are compared. */
export const KINDS: readonly AnyResource[] = [
  ControllerRevision,
  CronJob,
  DaemonSet,
  Deployment,
  EndpointSlice,
  Job,
  PersistentVolumeClaim,
  Pod,
  ReplicaSet,
  Secret,
  ServiceAccount,
  StatefulSet,
]

export const CASES: Cases = {
  stateful: {
    'it is created': stateful({
      volumeClaimTemplates: [data],
      template: {
        ...template('web:1'),
        spec: { ...template('web:1').spec, volumes: [{ name: 'data', emptyDir: {} }] },
      },
    }),
    'it is scaled down': restate({ replicas: 1 }),
    'it is scaled up': restate({ replicas: 2 }),
    'another image': restate({ template: template('web:2') }),
    'back to the first': restate({ template: template('web:1') }),
    'a pod is deleted': ({ client, namespace }) => client.delete(Pod, { namespace, name: 'web-1' }),
    'it is deleted': ({ client, namespace }) => client.delete(StatefulSet, { namespace, name: 'web' }),
  },
  'stateful-deletes': {
    'its claims are deleted with it, or with a pod': stateful({
      volumeClaimTemplates: [data],
      persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete', whenScaled: 'Delete' },
    }),
    'it is scaled down, and a pod stays': async (step) => {
      await pin('web-1')(step)
      await restate({ replicas: 1 })(step)
    },
    'its claims stay with it': restate({ persistentVolumeClaimRetentionPolicy: { whenScaled: 'Retain' } }),
    'that pod is gone, and its claim stays': ({ client, namespace }) =>
      client.patch(Pod, { namespace, name: 'web-1' }, { merge: { metadata: { finalizers: null } } }),
    'it is scaled up': restate({ replicas: 2 }),
    'claims are kept': restate({
      persistentVolumeClaimRetentionPolicy: { whenScaled: 'Retain', whenDeleted: 'Retain' },
    }),
    'it is deleted': ({ client, namespace }) => client.delete(StatefulSet, { namespace, name: 'web' }),
  },
  'stateful-releases': {
    'it is created': stateful({ replicas: 2 }),
    'the name of a pod is not its own any more': ({ client, namespace }) =>
      client.patch(Pod, { namespace, name: 'web-0' }, { merge: { metadata: { labels: { app: 'other' } } } }),
  },
  'stateful-waits': {
    'its first pod does not start': held(stateful()),
  },
  'stateful-ends': {
    'it is created': stateful(),
    'its last pod stays, and so those before it': async (step) => {
      await pin('web-2')(step)
      await restate({ replicas: 1 })(step)
    },
    'it goes': ({ client, namespace }) =>
      client.patch(Pod, { namespace, name: 'web-2' }, { merge: { metadata: { finalizers: null } } }),
  },
  'stateful-parallel': {
    'all start at once': held(stateful({ podManagementPolicy: 'Parallel', ordinals: { start: 5 } })),
    'and go at once': restate({ replicas: 0 }),
  },
  'stateful-counts': {
    'it is created': stateful({ podManagementPolicy: 'Parallel', replicas: 2 }),
    'its update has no end before the last pod has gone': async (step) => {
      await pin('web-1')(step)
      await restate({ replicas: 1, template: template('web:2') })(step)
    },
  },
  'stateful-partition': {
    'it is created': stateful({
      ordinals: { start: 5 },
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 2 } },
    }),
    'some pods get another image': restate({ template: template('web:2') }),
    'one with the first image comes back': ({ client, namespace }) => client.delete(Pod, { namespace, name: 'web-5' }),
  },
  'stateful-on-delete': {
    'it is created': stateful({ replicas: 2, updateStrategy: { type: 'OnDelete' }, revisionHistoryLimit: 0 }),
    'another image': restate({ template: template('web:2') }),
    'a pod is deleted': ({ client, namespace }) => client.delete(Pod, { namespace, name: 'web-0' }),
  },
  'stateful-orphans': {
    'it is created': stateful(),
    'it is deleted, and its pods stay': orphan(StatefulSet),
    'it is created again, and gets another image': async (step) => {
      await stateful()(step)
      await restate({ template: template('web:2') })(step)
    },
    'it is deleted': ({ client, namespace }) => client.delete(StatefulSet, { namespace, name: 'web' }),
  },
  daemon: {
    'it is created': daemons,
    'its pod fails': async ({ client, namespace, pods }) => {
      const [pod] = await client.list(Pod, { namespace })
      pods.fail(`daemon/${pod!.metadata.name}`, { reason: 'Evicted' })
    },
    'another image': daemon({ template: template('web:2') }),
    'no node': daemon({
      template: { ...template('web:2'), spec: { ...template('web:2').spec, nodeSelector: { disk: 'ssd' } } },
    }),
    'it is deleted': ({ client, namespace }) => client.delete(DaemonSet, { namespace, name: 'web' }),
  },
  'daemon-waits': {
    'it is created': daemons,
    'its pod has ended, and stays': async (step) => {
      const [pod] = await step.client.list(Pod, { namespace: step.namespace })
      await pin(pod!.metadata.name)(step)
      await daemon({ template: template('web:2') })(step)
    },
  },
  'daemon-refused': { 'its pod is refused': refused(daemons) },
  'daemon-on-delete': {
    'it is created': daemons,
    'the revision of its pod stays': daemon({
      updateStrategy: { type: 'OnDelete' },
      revisionHistoryLimit: 0,
      template: template('web:2'),
    }),
  },
  'daemon-orphans': {
    'it is created': daemons,
    'it is deleted, and its pod stays': orphan(DaemonSet),
    'it is created again, with another image': daemonsOf('web:3'),
    'a third image, and nodes that it prefers': daemon({
      template: { ...template('web:2'), spec: { ...template('web:2').spec, affinity: preferring('ssd') } },
    }),
    'it is deleted': ({ client, namespace }) => client.delete(DaemonSet, { namespace, name: 'web' }),
  },

  job: { 'it completes': job({ completions: 3, parallelism: 2 }) },
  'job-refused': { 'its pods are refused': refused(job({ completions: 2 })) },
  'job-queue': { 'one success is enough': job({ parallelism: 2 }) },
  'job-indexed': { 'each index completes': job({ completions: 4, parallelism: 3, completionMode: 'Indexed' }) },
  'job-elastic': {
    'an index completes': async (step) => {
      for (const index of [0, 1, 2]) step.pods.hold(`job-elastic/web-${index}-*`)
      await job({ completions: 4, parallelism: 4, completionMode: 'Indexed' })(step)
    },
    'it is made smaller': rejob({ completions: 1, parallelism: 1 }),
    'it is made larger': rejob({ completions: 2, parallelism: 2 }),
  },
  'job-managed': {
    'another controller runs it': job({ managedBy: 'example.com/other', ttlSecondsAfterFinished: 1 }),
    'it goes after its time': ({ client, namespace }) => {
      const [startTime, completionTime] = ['2025-01-01T00:00:00Z', '2025-01-01T00:00:01Z']
      const of = (type: string) => ({ type, status: 'True', lastTransitionTime: completionTime })
      const conditions = [of('SuccessCriteriaMet'), of('Complete')]
      return client.setStatus(Job, { namespace, name: 'web' }, { startTime, completionTime, succeeded: 1, conditions })
    },
  },
  'job-fails': { 'its pods fail': failing(job({ backoffLimit: 1 })) },
  'job-restarts': { 'its containers fail': failing(job({ backoffLimit: 1 }, { restartPolicy: 'OnFailure' })) },
  'job-deadline': { 'it takes too long': held(job({ activeDeadlineSeconds: 2 })) },
  'job-suspended': {
    'it is suspended from the start': job({ suspend: true, completions: 2 }),
    'it is resumed': suspend(false),
  },
  'job-deleted': {
    'it runs': held(job()),
    'it is suspended while it runs': suspend(true),
    'it is resumed': suspend(false),
    'it is deleted, and another one has its name': async (step) => {
      await step.client.delete(Job, { namespace: step.namespace, name: 'web' })
      await job()(step)
    },
    'it is deleted': ({ client, namespace }) => client.delete(Job, { namespace, name: 'web' }),
  },
  'job-orphans': {
    'it runs': held(job()),
    'it is deleted, and its pod stays': orphan(Job),
    'it is created again': job(),
    'it is deleted': ({ client, namespace }) => client.delete(Job, { namespace, name: 'web' }),
  },
  'job-ttl': { 'it goes after its time': job({ ttlSecondsAfterFinished: 1 }) },

  cron: {
    'a missed time is made up for': cron({ successfulJobsHistoryLimit: 1, timeZone: 'Asia/Kolkata' }),
    'the next one ends the history of the first': recron(february),
    'it is suspended': ({ client, namespace }) =>
      client.patch(CronJob, { namespace, name: 'web' }, { merge: { spec: { suspend: true } } }),
    'its Job is deleted': async ({ client, namespace }) => {
      const [job] = await client.list(Job, { namespace })
      await client.delete(Job, job!)
    },
  },
  'cron-allow': {
    'it runs': held(cron()),
    'another one runs beside it': recron(february),
    'it is deleted': ({ client, namespace }) => client.delete(CronJob, { namespace, name: 'web' }),
  },
  'cron-forbid': { 'it runs': held(cron({ concurrencyPolicy: 'Forbid' })), 'no other starts': recron(february) },
  'cron-replace': {
    'it runs': held(cron({ concurrencyPolicy: 'Replace' })),
    'another one replaces it': recron(february),
  },
  'cron-deadline': { 'it is too late': cron({ startingDeadlineSeconds: 10 }) },
  'cron-fails': {
    'its Job fails': failing(cron()),
    'and leaves the history': recron({ ...february, failedJobsHistoryLimit: 0 }),
  },
  'cron-never': { 'no date fits': cron({ schedule: '0 0 31 2 *' }) },

  slices: {
    'without pods': service(),
    'a pod': serving('web-0'),
    'a pod with another port': serving('web-1', {}, 9090),
    'a pod without the port': ({ client, namespace }) =>
      client.create(Pod, { metadata: { namespace, name: 'web-2', labels }, spec: template('web:1').spec }),
    'one does not start': held(serving('web-3', { hostname: 'front', subdomain: 'web' })),
    'one fails': ({ pods, ...step }) => {
      pods.fail('slices/web-1')
      return serving('web-4')({ pods, ...step })
    },
    'one is being deleted': ({ client, namespace }) => client.delete(Pod, { namespace, name: 'web-0' }),
    'one leaves': ({ client, namespace }) =>
      client.patch(Pod, { namespace, name: 'web-2' }, { merge: { metadata: { labels: { app: 'other' } } } }),
    'the labels of the Service change': ({ client, namespace }) =>
      client.patch(Service, { namespace, name: 'web' }, { merge: { metadata: { labels: { tier: null, a: 'b' } } } }),
    'another port': ({ client, namespace }) =>
      client.patch(Service, { namespace, name: 'web' }, { merge: { spec: { ports: [{ port: 8000 }] } } }),
    'a slice is deleted': async ({ client, namespace }) => {
      const [slice] = await client.list(EndpointSlice, { namespace })
      await client.delete(EndpointSlice, slice!)
    },
    'it selects nothing': ({ client, namespace }) =>
      client.patch(Service, { namespace, name: 'web' }, { merge: { spec: { selector: { app: 'none' } } } }),
    'it is deleted': ({ client, namespace }) => client.delete(Service, { namespace, name: 'web' }),
  },
  'slices-headless': {
    'pods that are not ready are published': async (step) => {
      await held(serving('web-0'))(step)
      await service({ clusterIP: 'None', publishNotReadyAddresses: true, ports: [] })(step)
    },
  },
  'slices-none': {
    'Services without a selector, and of another name': async ({ client, namespace }) => {
      await client.create(Service, { metadata: { namespace, name: 'plain' }, spec: { ports: [{ port: 80 }] } })
      await client.create(Service, {
        metadata: { namespace, name: 'other' },
        spec: { type: 'ExternalName', externalName: 'a.example', selector: labels },
      })
    },
  },
  'slices-many': {
    // They run on no node, which would take its time for them.
    'many pods': ({ client, namespace }) =>
      Promise.all(Array.from({ length: 104 }, async (_, index) => {
        const metadata = { namespace, name: `web-${index + 100}`, labels }
        const { spec } = template('web:1')
        await client.create(Pod, { metadata, spec: { ...spec, schedulerName: 'none' } })
        const ip = `10.1.0.${index}`
        await client.setStatus(Pod, metadata, { podIP: ip, podIPs: [{ ip }] })
      })),
    'more than a slice has': service({ ports: [{ port: 80 }], publishNotReadyAddresses: true }),
  },

  tokens: {
    'of an account': secret('default'),
    'of an account that comes with it': secret('robot'),
    'of no account': secret('nobody'),
    'of an earlier account': async ({ client, namespace, ...step }) => {
      await client.delete(Secret, { namespace, name: 'of-default' })
      await secret('default', '00000000-0000-0000-0000-000000000000')({ client, namespace, ...step })
    },
    'its token is removed': ({ client, namespace }) =>
      client.patch(Secret, { namespace, name: 'of-robot' }, { merge: { data: { token: null, extra: 'eA==' } } }),
    'the account is deleted': ({ client, namespace }) => client.delete(ServiceAccount, { namespace, name: 'robot' }),
  },

  deployment: {
    'it is created': create(),
    'it is scaled up': edit({ replicas: 5 }),
    'it is scaled down': edit({ replicas: 2 }),
    'another image': image('web:2'),
    'a third one': image('web:3'),
    'back to the first': image('web:1'),
    'a pod is deleted': async ({ client, namespace }) => {
      const [pod] = await client.list(Pod, { namespace })
      await client.delete(Pod, pod!)
    },
    'it is scaled to zero': edit({ replicas: 0 }),
    'it is deleted': ({ client, namespace }) => client.delete(Deployment, { namespace, name: 'web' }),
  },
  refused: {
    'it is created': create({ minReadySeconds: 1 }),
    'more pods are refused': refused(edit({ replicas: 4 })),
  },
  orphans: {
    'it is created': create(),
    'it is deleted, and its pods stay': orphan(Deployment),
    'it is created again': create(),
    'another image': image('web:2'),
    'its ReplicaSets stay': orphan(Deployment),
    'it is created with the first image': create(),
    'its ReplicaSets leave it': async ({ client, namespace }) => {
      for (const { metadata } of await client.list(ReplicaSet, { namespace })) {
        await client.patch(ReplicaSet, { metadata }, { merge: { metadata: { labels: { app: 'other' } } } })
      }
    },
  },
  bad: {
    'it is created': create({ replicas: 4 }),
    'an image that does not exist': ({ pods, ...step }) => {
      pods.fail('bad/web-*', { reason: 'ImagePullBackOff' })
      return image('web:2')({ ...step, pods })
    },
    'it is scaled during the rollout': edit({ replicas: 8 }),
    'back again': ({ pods, ...step }) => image('web:1')({ pods, ...step }),
  },
  paused: {
    'it is created': create(),
    'it is paused': edit({ paused: true }),
    'another image and size': edit({ replicas: 4, template: template('web:2') }),
    'it is resumed': edit({ paused: false }),
  },
  recreate: {
    'it is created': create({ strategy: { type: 'Recreate' } }),
    'another image': image('web:2'),
  },
  history: {
    'it is created': create({ replicas: 1, revisionHistoryLimit: 1, minReadySeconds: 1 }),
    'a second image': image('web:2'),
    'a third image': image('web:3'),
  },
  deadline: {
    'it is created': create({ replicas: 1, progressDeadlineSeconds: 2 }),
    'a rollout without progress': ({ pods, ...step }) => {
      pods.hold('deadline/web-*')
      return image('web:2')({ ...step, pods })
    },
  },
  sets: {
    'an orphan is adopted': async ({ client, namespace }) => {
      await client.create(Pod, { metadata: { namespace, name: 'orphan', labels }, spec: template('web:1').spec })
      await client.create(ReplicaSet, web(namespace, { replicas: 2 }))
    },
    'a pod is released': ({ client, namespace }) =>
      client.patch(Pod, { namespace, name: 'orphan' }, { merge: { metadata: { labels: { app: 'other' } } } }),
    'a pod fails': async ({ client, namespace, pods }) => {
      const [pod] = (await client.list(Pod, { namespace })).filter(({ metadata }) => metadata.name !== 'orphan')
      pods.fail(`sets/${pod!.metadata.name}`, { reason: 'Evicted' })
    },
  },
}

/** An operator that does nothing. */
export const idle = operator({ name: 'idle' }).add(
  'wait',
  ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
)
/** Resolves with what there is after each step in a world, by `NAMESPACE: STEP`. */
export async function embeddedStates(): Promise<Map<string, readonly string[]>> {
  const states = new Map<string, readonly string[]>()
  const w = await world(idle, { workloads: true, log: silentLog })
  for (const [namespace, steps] of Object.entries(CASES)) {
    await w.client.create(Namespace, { metadata: { name: namespace } })
    for (const [title, step] of Object.entries(steps)) {
      await step({ client: w.client, namespace, pods: w.pods })
      await w.advance('30s')
      states.set(`${namespace}: ${title}`, snapshot(await objectsIn(w.client, namespace)))
    }
  }
  await w.stop()
  return states
}

async function objectsIn(client: Client, namespace: string): Promise<KubeObject[]> {
  return (await Promise.all(KINDS.map((kind) => client.list<KubeObject>(kind, { namespace })))).flat()
}

/** Returns objects as lines: without uids, times, hashes and random names. */
export function snapshot(objects: Iterable<KubeObject>): readonly string[] {
  const lines = Map.groupBy([...objects].map(lineOf), (line) => line)
  return [...lines.values()].flatMap((equal) => equal.length < 50 ? equal : `${equal.length} of ${equal[0]}`).toSorted()
}

function lineOf(object: KubeObject): string {
  const { kind, metadata, spec, status } = draft(object) as unknown as Record<string, Record<string, unknown>> & {
    kind: string
    metadata: KubeObject['metadata']
  }
  const { labels, annotations, ownerReferences, finalizers, generation, deletionTimestamp } = metadata
  const own = ownerReferences?.map(({ uid: _uid, ...each }) => each)
  if (status?.['observedGeneration'] !== undefined) {
    status['observedGeneration'] = status['observedGeneration'] === generation
  }
  const shown = kind === 'PersistentVolumeClaim' ? undefined : kind === 'Pod'
    ? {
      phase: status?.['phase'],
      node: spec?.['nodeName'],
      hostname: spec?.['hostname'],
      subdomain: spec?.['subdomain'],
      affinity: spec?.['affinity'],
      tolerations: own?.[0]?.kind === 'DaemonSet'
        ? (spec?.['tolerations'] as V1Toleration[]).map((each) =>
          [each.key, each.effect, each.tolerationSeconds].join()
        )
          .toSorted()
        : undefined,
    }
    : status
  const { data, type, endpoints, ports, addressType } = draft(object) as unknown as Record<string, unknown>
  // A world has no CA.
  const { 'ca.crt': _ca, ...entries } = (data ?? {}) as Record<string, string>
  const content = kind === 'Secret'
    ? { type, data: { ...entries, ...(entries['token'] && { token: 'TOKEN' }) } }
    : { addressType, ports, endpoints: (endpoints as object[] | undefined)?.map((each) => ({ ...each, addresses: 0 })) }
  const size = { replicas: spec?.['replicas'], minReadySeconds: spec?.['minReadySeconds'] }
  const text = JSON.stringify(
    sorted({
      kind,
      name: metadata.name,
      labels,
      // That of a slice, when the last change was, is only in a cluster.
      annotations: kind === 'EndpointSlice' ? undefined : annotations,
      own,
      finalizers: kind === 'PersistentVolumeClaim' ? undefined : finalizers,
      ...(deletionTimestamp && { ending: true }),
      ...size,
      status: shown,
      ...content,
    }),
  )
  return text
}

const LETTERS = '[bcdfghjklmnpqrstvwxz2456789]'
/** Names with the hash of a ReplicaSet, and perhaps a suffix for its pods, or with that alone. */
const NAMES = new RegExp(
  `\\bweb-(?:\\d-)?(?:${LETTERS}{6,10}(-${LETTERS}{5})?|${LETTERS}{5}|\\d{3,8}(-${LETTERS}{5})?)\\b`,
  'g',
)

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(sorted).toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
  }
  if (typeof value === 'string') {
    return value.replaceAll(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, 'UID').replace(/^\d{4}(?=-.*T.*[Z\d]$)/, 'YEAR')
      .replaceAll(NAMES, 'web-*').replace(
        new RegExp(`^${LETTERS}{6,10}$`),
        'HASH',
      )
  }
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.keys(value).filter((name) => !/Time$|^resourceVersion$/.test(name)).sort()
  return Object.fromEntries(kept.map((name) => [name, sorted((value as Record<string, unknown>)[name])]))
}

/** Returns the lines that another list has fewer times. */
export function lacking(lines: readonly string[], other: readonly string[]): string[] {
  const left = [...other]
  return lines.filter((line) => left.includes(line) ? left.splice(left.indexOf(line), 1).length === 0 : true)
}
