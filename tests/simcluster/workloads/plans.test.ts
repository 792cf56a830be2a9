/** The decisions of the controllers of workloads, as tables: objects seen, writes wanted. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type {
  V1CronJob,
  V1Deployment,
  V1EndpointSlice,
  V1Job,
  V1Pod,
  V1PodStatus,
  V1ReplicaSet,
  V1Service,
} from 'kubeloop/kinds'
import { planCronJob, timesOf, zonedInstant } from '../../../lib/simcluster/workloads/cron_jobs.ts'
import { planSlices } from '../../../lib/simcluster/workloads/endpoint_slices.ts'
import { INDEX, planJob } from '../../../lib/simcluster/workloads/job_plan.ts'
import { planDeployment } from '../../../lib/simcluster/workloads/deployment_plan.ts'
import { untilDeadline } from '../../../lib/simcluster/workloads/deployment_status.ts'
import { planPod, type PodSeen, untilAvailable } from '../../../lib/simcluster/workloads/pod_plan.ts'
import { type PodRule, PodScript } from '../../../lib/simcluster/workloads/pod_script.ts'
import { KnownPods } from '../../../lib/simcluster/workloads/pods.ts'
import { instant } from '../../../lib/core/duration.ts'
import { planReplicas, statusOfSet } from '../../../lib/simcluster/workloads/replica_sets.ts'
import { boundsOf, scale, type Sized } from '../../../lib/simcluster/workloads/rollout.ts'

const NOW = Date.UTC(2026, 0, 1, 12)
const ago = (seconds: number): string => instant(NOW - seconds * 1000)

interface PodFacts {
  readonly spec?: object
  readonly status?: object
  readonly metadata?: object
}
const pod = ({ spec, status, metadata }: PodFacts = {}): V1Pod =>
  ({
    metadata: { name: 'a', namespace: 'default', uid: 'u', creationTimestamp: ago(60), ...metadata },
    spec: {
      containers: [{ name: 'web', image: 'web:1' }],
      nodeName: 'kubeloop',
      schedulerName: 'default-scheduler',
      ...spec,
    },
    ...(status && { status }),
  }) as unknown as V1Pod

/** Returns the steps until a pod needs nothing or waits: `phase/readiness/state` for a status. */
function steps(
  first: V1Pod,
  { rule, sinceMs = NOW - 60_000, limit = 5 }: { rule?: PodRule; sinceMs?: number; limit?: number } = {},
): string[] {
  const seen = { nowMs: NOW, sinceMs, rule, times: { readyMs: 1000, completeMs: 2000 }, node: 'kubeloop' }
  let next = first
  const found: string[] = []
  for (;;) {
    const step = planPod({ ...seen, pod: next, ip: '10.244.0.1', hostIP: '10.0.0.1' } as PodSeen)
    if (step === undefined) return found
    if (typeof step !== 'object') return [...found, typeof step === 'number' ? `wait ${step}` : step]
    next = { ...next, status: step }
    found.push(textOf(next))
    if (found.length === limit) return found
  }
}

function textOf({ status }: V1Pod): string {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')
  const states = [...status?.initContainerStatuses ?? [], ...status?.containerStatuses ?? []]
    .map(({ state, restartCount, ready }) => {
      const ended = `${state?.terminated?.reason} ${state?.terminated?.exitCode}${ready ? ', ready' : ''}`
      const what = state?.waiting?.reason ?? (state?.running ? 'running' : ended)
      return restartCount > 0 ? `${what} x${restartCount}` : what
    })
  return [status?.phase, ready?.status, ...states, ...(status?.reason ? [status.reason] : [])].join(', ')
}

const started = {
  phase: 'Pending',
  startTime: ago(60),
  containerStatuses: [{ name: 'web', restartCount: 0, state: { waiting: { reason: 'ContainerCreating' } } }],
}
const running = {
  phase: 'Running',
  startTime: ago(60),
  conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: ago(50) }],
  containerStatuses: [{ name: 'web', restartCount: 0, imageID: 'web:1', state: { running: { startedAt: ago(50) } } }],
}
const crashed = (restartCount: number, seconds: number) => ({
  ...running,
  conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: ago(seconds) }],
  containerStatuses: [{
    name: 'web',
    restartCount,
    imageID: 'web:1',
    state: { waiting: { reason: 'CrashLoopBackOff' } },
    lastState: { terminated: { exitCode: 1, finishedAt: ago(seconds) } },
  }],
})
const FAIL: PodRule = { does: 'fail' }
const HOLD: PodRule = { does: 'hold' }
const deleted = { deletionTimestamp: instant(NOW + 30_000), deletionGracePeriodSeconds: 30 }

type PodRow = readonly [string, V1Pod, Parameters<typeof steps>[1], string[]]
const rowOf = (status: object, wanted: string) => (reason: string): PodRow => [reason, pod({ status }), {
  rule: { ...FAIL, reason },
}, [`${wanted}, ${reason}`]]
const PODS: readonly PodRow[] = [
  ['no node', pod({ spec: { nodeName: undefined } }), {}, ['bind']],
  ['a scheduler of its own', pod({ spec: { nodeName: undefined, schedulerName: 'mine' } }), {}, []],
  ['scheduling gates', pod({ spec: { nodeName: undefined, schedulingGates: [{ name: 'x' }] } }), {}, []],
  ['no node, and deleted', pod({ spec: { nodeName: undefined }, metadata: deleted }), {}, []],
  ['another node', pod({ spec: { nodeName: 'other' } }), {}, []],
  ['another node, and deleted', pod({ spec: { nodeName: 'other' }, metadata: deleted }), {}, []],
  ['new', pod(), { sinceMs: NOW }, ['Pending, False, ContainerCreating', 'wait 1000']],
  ['started', pod({ status: started }), {}, ['Running, True, running']],
  ['held', pod(), { rule: HOLD }, ['Pending, False, ContainerCreating']],
  ['held while it runs', pod({ status: running, spec: { restartPolicy: 'Never' } }), { rule: HOLD }, []],
  ['held, and deleted', pod({ status: running, metadata: deleted }), { rule: HOLD }, ['wait 30000']],
  ['held, and its grace is over', pod({ status: running, metadata: { ...deleted, deletionTimestamp: ago(0) } }), {
    rule: HOLD,
  }, ['remove']],
  ['deleted', pod({ status: running, metadata: deleted }), {}, ['remove']],
  ['deleted, with a finalizer', pod({ status: running, metadata: { ...deleted, finalizers: ['x/y'] } }), {}, [
    'Failed, False, Error 143',
    'remove',
  ]],
  [
    'deleted without grace, with a finalizer',
    pod({
      status: { ...running, phase: 'Failed' },
      metadata: { ...deleted, finalizers: ['x/y'], deletionGracePeriodSeconds: 0 },
    }),
    {},
    [],
  ],
  ['failing', pod({ status: running }), { rule: FAIL }, ['Running, False, CrashLoopBackOff', 'wait 10000']],
  ['failing at its start', pod({ status: started }), { rule: { ...FAIL, reason: 'OOMKilled' } }, [
    'Running, False, CrashLoopBackOff',
    'wait 10000',
  ]],
  ['failing again', pod({ status: crashed(0, 10) }), { rule: FAIL }, [
    'Running, False, CrashLoopBackOff x1',
    'wait 20000',
  ]],
  ['failing for long', pod({ status: crashed(9, 299) }), { rule: FAIL }, ['wait 1000']],
  ['mended during the back-off', pod({ status: crashed(1, 5) }), {}, ['wait 15000']],
  ['mended', pod({ status: crashed(1, 20) }), {}, ['Running, True, running x2']],
  ['failing, Never', pod({ status: running, spec: { restartPolicy: 'Never' } }), { rule: { ...FAIL, exitCode: 3 } }, [
    'Failed, False, Error 3',
  ]],
  ['out of memory, Never', pod({ status: running, spec: { restartPolicy: 'Never' } }), {
    rule: { ...FAIL, reason: 'OOMKilled' },
  }, ['Failed, False, OOMKilled 137']],
  ['failing, OnFailure', pod({ status: running, spec: { restartPolicy: 'OnFailure' } }), { rule: FAIL }, [
    'Running, False, CrashLoopBackOff',
    'wait 10000',
  ]],
  ...['ErrImagePull', 'ImagePullBackOff', 'InvalidImageName', 'CreateContainerConfigError', 'CreateContainerError']
    .map(rowOf(started, 'Pending, False')),
  ['no image for one that runs', pod({ status: running }), { rule: { ...FAIL, reason: 'ImagePullBackOff' } }, []],
  ...['Evicted', 'NodeLost', 'NodeShutdown', 'DeadlineExceeded'].map(rowOf(running, 'Failed, False, Error 137')),
  ['Never, and new', pod({ status: running, spec: { restartPolicy: 'Never' } }), { sinceMs: NOW }, ['wait 2000']],
  ['Never', pod({ status: running, spec: { restartPolicy: 'Never' } }), {}, ['Succeeded, False, Completed 0']],
  ['OnFailure', pod({ status: running, spec: { restartPolicy: 'OnFailure' } }), {}, ['Succeeded, False, Completed 0']],
  ['over', pod({ status: { phase: 'Failed' } }), { rule: FAIL }, []],
  [
    'with init containers',
    pod({ spec: { initContainers: [{ name: 'i', image: 'i' }, { name: 's', image: 's', restartPolicy: 'Always' }] } }),
    {},
    [
      'Pending, False, PodInitializing, PodInitializing, PodInitializing',
      'Running, True, Completed 0, ready, running, running',
    ],
  ],
  ['a gate', pod({ spec: { readinessGates: [{ conditionType: 'x/y' }] } }), {}, [
    'Pending, False, ContainerCreating',
    'Running, False, running',
  ]],
  [
    'an open gate',
    pod({
      spec: { readinessGates: [{ conditionType: 'x/y' }] },
      status: { ...running, conditions: [{ type: 'Ready', status: 'False' }, { type: 'x/y', status: 'True' }] },
    }),
    {},
    ['Running, True, running'],
  ],
]

for (const [name, seen, options, wanted] of PODS) {
  test(`a pod: ${name}`, () => assert.deepEqual(steps(seen, options), wanted))
}

test('a pod keeps the conditions of others, and the times of its own', () => {
  const others = [{ type: 'x/y', status: 'True' }, { type: 'Initialized', status: 'True', lastTransitionTime: ago(90) }]
  const step = planPod({
    ...{ pod: pod({ status: { ...started, conditions: others } }), nowMs: NOW, sinceMs: 0, rule: undefined },
    ...{ times: { readyMs: 0, completeMs: 0 }, node: 'kubeloop', ip: '1', hostIP: '2' },
  })
  const { conditions = [] } = step as V1PodStatus
  const times = Object.fromEntries(conditions.map(({ type, lastTransitionTime }) => [type, lastTransitionTime]))
  const now = instant(NOW)
  assert.deepEqual(times, {
    'x/y': undefined,
    Initialized: ago(90),
    PodReadyToStartContainers: now,
    Ready: now,
    ContainersReady: now,
  })
})

test('the address of a pod is given again when it is gone, after all others', () => {
  const known = new KnownPods()
  const addressOf = (uid: number): string => known.addressOf(known.of(pod({ metadata: { uid: `${uid}` } })))
  const [first, second] = [addressOf(1), addressOf(2)]
  known.delete('2')
  for (let uid = 3; uid < 2 ** 16 + 1; uid++) {
    addressOf(uid)
    known.delete(`${uid}`)
  }
  assert.deepEqual([first, addressOf(0), addressOf(1)], ['10.244.0.1', second, first])
})

test('the patterns of a script name pods, and a listener is called until its signal is aborted', () => {
  const script = new PodScript(() => NOW)
  const stop = new AbortController()
  let calls = 0
  script.onLine(() => calls++, stop.signal)
  for (const pattern of ['a.b', 'x/*', 'def*/a-*']) script.log(pattern, pattern)
  stop.abort()
  script.log('*', 'all')
  assert.equal(calls, 3)
  const linesOf = (name: string, namespace: string) =>
    script.linesOf(pod({ metadata: { name, namespace } })).map(({ text }) => text).join(' ')
  assert.deepEqual([linesOf('a.b', 'x'), linesOf('acb', 'y'), linesOf('a-c', 'default')], [
    'a.b x/* all',
    'all',
    'def*/a-* all',
  ])
})

const set = (
  name: string,
  replicas: number,
  status: object = {},
  more: { metadata?: object; spec?: object } = {},
): V1ReplicaSet =>
  ({
    metadata: { name, uid: name, generation: 1, creationTimestamp: ago(60), ...more.metadata },
    spec: {
      replicas,
      selector: {},
      template: {
        metadata: { labels: { app: 'web', 'pod-template-hash': name } },
        spec: { containers: [{ name: 'web', image: name }] },
      },
      ...more.spec,
    },
    status: { replicas, availableReplicas: replicas, readyReplicas: replicas, observedGeneration: 1, ...status },
  }) as unknown as V1ReplicaSet

test('a ReplicaSet lacks pods, or has too many: those of least use go first', () => {
  const of = (name: string, facts: PodFacts) =>
    pod({ ...facts, metadata: { name, uid: name, creationTimestamp: ago(60), ...facts.metadata } })
  const ready = (seconds: number) => ({
    ...running,
    conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: ago(seconds) }],
  })
  const restarted = { ...ready(50), containerStatuses: [{ restartCount: 3 }] }
  const pods = [
    of('old', { status: ready(50) }),
    of('young', { status: ready(50), metadata: { creationTimestamp: ago(10) } }),
    of('restarted', { status: restarted }),
    of('new', { status: ready(5) }),
    of('cheap', {
      status: ready(50),
      metadata: { annotations: { 'controller.kubernetes.io/pod-deletion-cost': '-1' } },
    }),
    of('not-ready', { status: { phase: 'Running' } }),
    of('pending', { status: { phase: 'Pending' } }),
    of('unassigned', { spec: { nodeName: undefined } }),
    of('failed', { status: { phase: 'Failed' } }),
    of('ending', { status: ready(50), metadata: deleted }),
  ]
  const removed = planReplicas(set('s', 1), pods).remove.map(({ metadata }) => metadata.name)
  assert.deepEqual(removed, ['unassigned', 'pending', 'not-ready', 'cheap', 'new', 'restarted', 'young'])
  assert.deepEqual([planReplicas(set('s', 10), pods).create, planReplicas(set('s', 1000), []).create], [2, 500])
  assert.deepEqual(planReplicas(set('s', 10, {}, { metadata: { deletionTimestamp: ago(1) } }), []), {
    create: 0,
    remove: [],
  })
})

test('the status of a ReplicaSet counts pods by what they are', () => {
  const labels = { app: 'web', 'pod-template-hash': 's' }
  const ready = (seconds: number) => ({
    ...running,
    conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: ago(seconds) }],
  })
  const pods = [
    pod({ status: ready(50), metadata: { labels } }),
    pod({ status: ready(5) }),
    pod({ status: { phase: 'Pending' }, metadata: { labels: { app: 'web' } } }),
    pod({ status: ready(50), metadata: { labels, ...deleted } }),
    pod({ status: { phase: 'Succeeded' } }),
  ]
  const slow = set('s', 3, {}, { spec: { minReadySeconds: 10, template: { metadata: { labels } } } })
  const counts = {
    replicas: 3,
    fullyLabeledReplicas: 1,
    readyReplicas: 2,
    availableReplicas: 1,
    terminatingReplicas: 1,
    observedGeneration: 1,
  }
  assert.deepEqual(statusOfSet(slow, pods, NOW), counts)
  assert.equal(untilAvailable({ spec: { minReadySeconds: 10 } }, pods, NOW), 5000)
  assert.equal(untilAvailable({}, pods, NOW), undefined)
  const failure = { reason: 'FailedCreate', message: 'no' } as const
  const { conditions } = statusOfSet(slow, pods, NOW, failure)
  assert.deepEqual(conditions, [{
    type: 'ReplicaFailure',
    status: 'True',
    lastTransitionTime: instant(NOW),
    ...failure,
  }])
  assert.equal(
    statusOfSet({ ...slow, status: { replicas: 0, conditions } } as V1ReplicaSet, pods, NOW).conditions,
    undefined,
  )
})

test('a Job: its back-off has a limit, restarts of init containers count, and two indexes are no range', () => {
  const planned = (more: object, pods: readonly V1Pod[]) => {
    const spec = { completions: 9, parallelism: 1, template: { spec: { restartPolicy: 'OnFailure' } }, ...more }
    return planJob({ metadata: { name: 'a' }, spec } as V1Job, pods, NOW)
  }
  const ended = { containerStatuses: [{ state: { terminated: { finishedAt: ago(0) } } }] }
  const failed = Array.from({ length: 9 }, () => pod({ status: { phase: 'Failed', ...ended } }))
  assert.equal(planned({ backoffLimit: 99 }, failed).againMs, 600_000)
  const restarted = pod({ status: { phase: 'Pending', initContainerStatuses: [{ restartCount: 2 }] } })
  const { conditions } = planned({ backoffLimit: 2 }, [restarted]).status
  assert.equal(conditions?.find(({ type }) => type === 'FailureTarget')?.reason, 'BackoffLimitExceeded')
  const succeeded = [0, 1, 3, 4, 5].map((at) =>
    pod({ status: { phase: 'Succeeded', ...ended }, metadata: { annotations: { [INDEX]: `${at}` } } })
  )
  assert.equal(planned({ completionMode: 'Indexed' }, succeeded).status.completedIndexes, '0,1,3-5')
  const finalizers = ['batch.kubernetes.io/job-tracking']
  const success = pod({ status: { phase: 'Succeeded', ...ended }, metadata: { finalizers } })
  const queue = planned({ completions: undefined, parallelism: 2, backoffLimit: 6 }, [success])
  assert.equal(queue.status.conditions?.find(({ type }) => type === 'SuccessCriteriaMet')?.status, 'True')
})

interface DeploymentFacts {
  readonly replicas?: number
  readonly image?: string
  readonly strategy?: object
  readonly spec?: object
  readonly status?: object
  readonly metadata?: object
}
const deployment = ({ replicas = 10, image = 'new', strategy, ...more }: DeploymentFacts = {}): V1Deployment =>
  ({
    metadata: { name: 'web', uid: 'd', generation: 1, ...more.metadata },
    spec: {
      replicas,
      selector: {},
      template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image }] } },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: '25%' }, ...strategy },
      progressDeadlineSeconds: 600,
      ...more.spec,
    },
    ...(more.status && { status: more.status }),
  }) as unknown as V1Deployment

const sized = (desired: number, max: number) => ({
  metadata: {
    annotations: {
      'deployment.kubernetes.io/desired-replicas': String(desired),
      'deployment.kubernetes.io/max-replicas': String(max),
    },
  },
})
const plan = (seen: V1Deployment, sets: readonly V1ReplicaSet[]) => planDeployment(seen, sets, NOW)
/** Returns `create N`, and the new sizes of ReplicaSets. */
const writes = (seen: V1Deployment, sets: readonly V1ReplicaSet[]): string[] => {
  const { create, changes } = plan(seen, sets)
  const sizes = changes.flatMap(({ set: { metadata, spec }, replicas }) =>
    spec?.replicas === replicas ? [] : [`${metadata.name} ${replicas}`]
  )
  return [...(create ? [`create ${create.spec?.replicas}`] : []), ...sizes]
}

const ROLLOUTS: readonly (readonly [string, V1Deployment, readonly V1ReplicaSet[], string[]])[] = [
  ['nothing yet', deployment(), [], ['create 10']],
  ['a new template', deployment(), [set('old', 10)], ['create 3']],
  ['no surge', deployment({ strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 2 } } }), [set('old', 10)], [
    'create 0',
  ]],
  ['no surge, next', deployment({ strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 2 } } }), [
    set('new', 0),
    set('old', 10),
  ], ['old 8']],
  ['the new one grows', deployment(), [set('new', 3), set('old', 8)], ['new 5']],
  ['the old one shrinks', deployment(), [set('new', 5), set('old', 8)], ['old 3']],
  ['new pods that are not available', deployment(), [set('new', 5, { availableReplicas: 0 }), set('old', 8)], []],
  ['old pods that are not available', deployment(), [
    set('new', 5, { availableReplicas: 0 }),
    set('old', 8, { availableReplicas: 6 }),
    set('older', 2, { availableReplicas: 0 }),
  ], ['old 6']],
  ['too many', deployment({ replicas: 5 }), [set('new', 8)], ['new 5']],
  ['scaled up', deployment({ replicas: 20 }), [set('new', 10, {}, sized(10, 13))], ['new 20']],
  ['scaled up without pods', deployment({ replicas: 2 }), [set('new', 0)], ['new 2']],
  ['scaled to zero', deployment({ replicas: 0 }), [set('new', 10, {}, sized(10, 13))], ['new 0']],
  ['scaled to zero during a rollout', deployment({ replicas: 0, strategy: { rollingUpdate: { maxSurge: 3 } } }), [
    set('new', 5, {}, sized(10, 13)),
    set('old', 8, {}, sized(10, 13)),
  ], ['new 0', 'old 0']],
  ['scaled during a rollout', deployment({ replicas: 20 }), [
    set('new', 5, { availableReplicas: 0 }, sized(10, 13)),
    set('old', 8, {}, sized(10, 13)),
  ], ['new 10', 'old 15']],
  ['scaled up with ReplicaSets of one size', deployment({ replicas: 20 }), [
    set('new', 5, { availableReplicas: 0 }, sized(10, 13)),
    set('old', 5, {}, { metadata: { ...sized(10, 13).metadata, creationTimestamp: ago(90) } }),
  ], ['old 10', 'new 15']],
  ['scaled down during a rollout', deployment({ replicas: 5 }), [
    set('new', 5, { availableReplicas: 0 }, sized(10, 13)),
    set('old', 8, {}, sized(10, 13)),
  ], ['new 3', 'old 4']],
  ['paused', deployment({ spec: { paused: true } }), [set('old', 10)], []],
  ['paused and scaled', deployment({ replicas: 4, spec: { paused: true } }), [set('old', 10)], ['old 4']],
  ['Recreate', deployment({ strategy: { type: 'Recreate', rollingUpdate: undefined } }), [set('old', 10)], ['old 0']],
  ['Recreate, while old pods end', deployment({ strategy: { type: 'Recreate' } }), [
    set('old', 0, { terminatingReplicas: 1 }),
  ], []],
  [
    'Recreate, while pods are counted',
    deployment({ strategy: { type: 'Recreate' } }),
    [set('old', 0, { replicas: 1 })],
    [],
  ],
  ['Recreate, without old pods', deployment({ strategy: { type: 'Recreate' } }), [set('old', 0)], ['create 10']],
  [
    'Recreate, back to an old template',
    deployment({ strategy: { type: 'Recreate' } }),
    [set('new', 0), set('old', 0)],
    ['new 10'],
  ],
  [
    'Recreate, back while old pods end',
    deployment({ strategy: { type: 'Recreate' } }),
    [set('new', 0), set('old', 0, { terminatingReplicas: 1 })],
    [],
  ],
  ['deleted', deployment({ metadata: { deletionTimestamp: ago(1) } }), [], []],
]
for (const [name, seen, sets, wanted] of ROLLOUTS) {
  test(`a Deployment: ${name}`, () => assert.deepEqual(writes(seen, sets), wanted))
}

test('surge is rounded up, unavailability down, and one of them is at least 1', () => {
  const bounds = (replicas: number, maxSurge: number | string, maxUnavailable: number | string) => {
    const { surge, unavailable } = boundsOf(
      deployment({ replicas, strategy: { rollingUpdate: { maxSurge, maxUnavailable } } }),
    )
    return [surge, unavailable]
  }
  assert.deepEqual(bounds(10, '25%', '25%'), [3, 2])
  assert.deepEqual(bounds(1, '25%', '25%'), [1, 0])
  assert.deepEqual(bounds(2, 0, '1%'), [0, 1])
  assert.deepEqual(bounds(2, 0, 5), [0, 2])
})

test('a saturated new ReplicaSet lets the others go when the Deployment is scaled', () => {
  const [fresh, old]: Sized[] = [{ set: set('new', 4, {}, sized(4, 5)), size: 4 }, { set: set('old', 2), size: 2 }]
  scale(deployment({ replicas: 4 }), fresh, [old!])
  assert.deepEqual([fresh!.size, old!.size], [4, 0])
})

const REVISION = 'deployment.kubernetes.io/revision'
test('a revision is one more than all others; going back to a ReplicaSet keeps its history', () => {
  const annotated = (annotations: object) => ({ metadata: { annotations } })
  const annotations = { note: 'x', [REVISION]: '9', 'kubectl.kubernetes.io/last-applied-configuration': '{}' }
  const first = plan(deployment({ metadata: { annotations } }), [set('old', 10, {}, annotated({ [REVISION]: '4' }))])
  assert.equal(first.revision, '5')
  const sizes = { 'deployment.kubernetes.io/desired-replicas': '10', 'deployment.kubernetes.io/max-replicas': '13' }
  assert.deepEqual(first.create?.metadata.annotations, { note: 'x', [REVISION]: '5', ...sizes })
  const history = 'deployment.kubernetes.io/revision-history'
  const back = plan(deployment(), [
    set('new', 0, {}, annotated({ [REVISION]: '2', [history]: '1' })),
    set('old', 10, {}, annotated({ [REVISION]: '4' })),
  ])
  assert.equal(back.revision, '5')
  assert.deepEqual(back.changes[0]?.annotations, { [REVISION]: '5', [history]: '1,2', ...sizes })
  // The oldest entries go.
  const long = Array.from({ length: 500 }, (_, at) => at + 1000)
  const longest = plan(deployment(), [
    set('new', 0, {}, annotated({ [REVISION]: '2', [history]: long.join() })),
    set('old', 10, {}, annotated({ [REVISION]: '4' })),
  ])
  assert.equal(longest.changes[0]?.annotations[history], [...long.slice(-399), 2].join())
  // The highest one stays when older ReplicaSets are gone.
  assert.equal(plan(deployment(), [set('new', 10, {}, annotated({ [REVISION]: '7' }))]).revision, '7')
})

test('old ReplicaSets beyond the limit go, the oldest revision first, if they have no pods', () => {
  const old = (name: string, revision: number, replicas = 0) =>
    set(name, replicas, {}, { metadata: { annotations: { [REVISION]: String(revision) } } })
  const done = { replicas: 10, updatedReplicas: 10, availableReplicas: 10, observedGeneration: 1 }
  const sets = [set('new', 10), old('c', 3), old('a', 1), old('b', 2)]
  const removed = (seen: V1Deployment, from = sets) => plan(seen, from).remove.map(({ metadata }) => metadata.name)
  assert.deepEqual(removed(deployment({ spec: { revisionHistoryLimit: 1 }, status: done })), ['a', 'b'])
  const equal = [set('new', 10), old('b', 1), old('a', 1)]
  assert.deepEqual(removed(deployment({ spec: { revisionHistoryLimit: 1 }, status: done }), equal), ['a'])
  assert.deepEqual(
    removed(deployment({ spec: { revisionHistoryLimit: 1 }, status: { ...done, availableReplicas: 9 } })),
    [],
  )
  assert.deepEqual(removed(deployment({ status: done })), [])
  const busy = [set('new', 10), set('a', 0, { replicas: 1 }), set('b', 0, { observedGeneration: 0 })]
  assert.deepEqual(removed(deployment({ spec: { revisionHistoryLimit: 0 }, status: done }), busy), [])
})

const progress = (reason: string, status = 'True', seconds = 0) => ({
  type: 'Progressing',
  status,
  reason,
  message: '',
  lastUpdateTime: ago(seconds),
  lastTransitionTime: ago(seconds),
})
const CONDITIONS: readonly (readonly [string, DeploymentFacts, readonly V1ReplicaSet[], string[]])[] = [
  ['new', {}, [], ['True NewReplicaSetCreated', 'False MinimumReplicasUnavailable']],
  ['a known ReplicaSet', {}, [set('new', 10, { replicas: 0, readyReplicas: 0, availableReplicas: 0 })], [
    'True FoundNewReplicaSet',
    'False MinimumReplicasUnavailable',
  ]],
  ['more pods', { status: { replicas: 4, updatedReplicas: 4, conditions: [progress('NewReplicaSetCreated')] } }, [
    set('new', 10, { replicas: 10, availableReplicas: 8 }),
  ], ['True ReplicaSetUpdated', 'True MinimumReplicasAvailable']],
  ['complete', { status: { conditions: [progress('ReplicaSetUpdated')] } }, [set('new', 10)], [
    'True NewReplicaSetAvailable',
    'True MinimumReplicasAvailable',
  ]],
  [
    'complete, and a pod is lost',
    {
      status: {
        replicas: 10,
        updatedReplicas: 10,
        readyReplicas: 10,
        availableReplicas: 10,
        conditions: [progress('NewReplicaSetAvailable', 'True', 900)],
      },
    },
    [set('new', 10, { readyReplicas: 7, availableReplicas: 7 })],
    ['True NewReplicaSetAvailable', 'False MinimumReplicasUnavailable'],
  ],
  [
    'no progress yet',
    { status: { replicas: 10, updatedReplicas: 10, conditions: [progress('ReplicaSetUpdated', 'True', 600)] } },
    [set('new', 10, { readyReplicas: 0, availableReplicas: 0 })],
    ['True ReplicaSetUpdated', 'False MinimumReplicasUnavailable'],
  ],
  [
    'no progress',
    { status: { replicas: 10, updatedReplicas: 10, conditions: [progress('ReplicaSetUpdated', 'True', 601)] } },
    [set('new', 10, { readyReplicas: 0, availableReplicas: 0 })],
    ['False ProgressDeadlineExceeded', 'False MinimumReplicasUnavailable'],
  ],
  [
    'no deadline',
    { spec: { progressDeadlineSeconds: 2147483647 }, status: { conditions: [progress('ReplicaSetUpdated')] } },
    [set('new', 10)],
    ['True MinimumReplicasAvailable'],
  ],
  ['paused', { spec: { paused: true }, status: { conditions: [progress('ReplicaSetUpdated')] } }, [set('new', 10)], [
    'Unknown DeploymentPaused',
    'True MinimumReplicasAvailable',
  ]],
  [
    'paused after its deadline',
    { spec: { paused: true }, status: { conditions: [progress('ProgressDeadlineExceeded', 'False')] } },
    [set('new', 10)],
    ['False ProgressDeadlineExceeded', 'True MinimumReplicasAvailable'],
  ],
  [
    'resumed',
    {
      status: {
        replicas: 10,
        updatedReplicas: 10,
        readyReplicas: 10,
        availableReplicas: 9,
        conditions: [progress('DeploymentPaused', 'Unknown')],
      },
    },
    [set('new', 10, { availableReplicas: 9 })],
    ['Unknown DeploymentResumed', 'True MinimumReplicasAvailable'],
  ],
  ['a ReplicaSet that fails', {
    status: {
      replicas: 10,
      updatedReplicas: 10,
      readyReplicas: 10,
      availableReplicas: 9,
      conditions: [progress('ReplicaSetUpdated')],
    },
  }, [
    set('new', 10, {
      availableReplicas: 9,
      conditions: [{ type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate' }],
    }),
  ], ['True ReplicaSetUpdated', 'True MinimumReplicasAvailable', 'True FailedCreate']],
]
for (const [name, facts, sets, wanted] of CONDITIONS) {
  test(`the conditions of a Deployment: ${name}`, () => {
    const { conditions = [] } = plan(deployment(facts), sets).status
    assert.deepEqual(new Set(conditions.map(({ status, reason }) => `${status} ${reason}`)), new Set(wanted))
  })
}

test('progress is checked again a second after its deadline, while there is one', () => {
  const left = (seen: V1Deployment) => untilDeadline(seen, seen.status ?? {}, NOW)
  const status = { conditions: [progress('ReplicaSetUpdated', 'True', 100)] }
  assert.equal(left(deployment({ status })), 501_000)
  assert.equal(left(deployment({ status: { conditions: [progress('ReplicaSetUpdated', 'True', 900)] } })), 1000)
  assert.equal(left(deployment({ status, spec: { progressDeadlineSeconds: 2147483647 } })), undefined)
  assert.equal(left(deployment({ status, spec: { paused: true } })), undefined)
  assert.equal(left(deployment({ status: { conditions: [progress('ProgressDeadlineExceeded', 'False')] } })), undefined)
  assert.equal(
    left(
      deployment({
        status: { ...status, replicas: 10, updatedReplicas: 10, availableReplicas: 10, observedGeneration: 1 },
      }),
    ),
    undefined,
  )
})

test('a CronJob: which Jobs start and go, by its last time, its Jobs and its policy', async () => {
  const job = (name: string, { type, seconds = 0 }: { type?: string; seconds?: number } = {}): V1Job =>
    ({
      metadata: { name, uid: name },
      status: {
        startTime: ago(seconds),
        ...(type && { conditions: [{ type, status: 'True' }], completionTime: ago(seconds) }),
      },
    }) as unknown as V1Job
  const hourly = await timesOf({ schedule: '@hourly' } as never)
  const due = instant(NOW).slice(0, 16)
  const plan = (spec: object, status: object, jobs: readonly V1Job[] = [], next = hourly, more = {}): string => {
    const metadata = { name: 'c', uid: 'c', creationTimestamp: ago(7000), ...more }
    const found = planCronJob({ metadata, spec, status } as unknown as V1CronJob, jobs, NOW, next)
    const at = found.dueMs === undefined ? '-' : instant(found.dueMs).slice(0, 16)
    const names = (list: readonly { readonly name?: string }[] = []) => list.map(({ name }) => name).join()
    const removed = names(found.remove.map(({ metadata }) => metadata))
    const events = found.events.map(([, reason]) => reason).join()
    return [at, found.againMs / 1000, names(found.status.active), removed, events].join(' ')
  }
  const active = (...names: string[]) => ({ active: names.map((name) => ({ name, uid: name })) })
  const ran = { lastScheduleTime: ago(3600) }
  assert.equal(plan({}, ran, [], hourly, { deletionTimestamp: ago(0) }), '- Infinity   ')
  for (
    const [spec, status, jobs, wanted] of [
      [{}, {}, [], `${due} 3600   `],
      [{}, { lastScheduleTime: ago(0) }, [], '- 3600   '],
      [{}, { lastScheduleTime: ago(3600 * 101) }, [], `${due} 3600   TooManyMissedTimes`],
      [{ suspend: true }, ran, [], '- Infinity   '],
      [{ startingDeadlineSeconds: 0 }, ran, [], '- 3600   '],
      [{ startingDeadlineSeconds: 1 }, ran, [], `${due} 3600   `],
      [{ concurrencyPolicy: 'Forbid' }, { ...ran, ...active('a') }, [job('a')], '- 3600 a  JobAlreadyActive'],
      [
        { concurrencyPolicy: 'Replace' },
        { ...ran, ...active('a') },
        [job('a'), job('b')],
        `${due} 3600  a UnexpectedJob`,
      ],
      [{ concurrencyPolicy: 'Allow' }, { ...ran, ...active('a') }, [job('a')], `${due} 3600 a  `],
      [{}, active('a', 'b'), [job('a', { type: 'Failed' })], `${due} 3600   SawCompletedJob,MissingJob`],
      [{}, active('c-' + NOW / 60_000), [job('c-' + NOW / 60_000)], `- 3600 c-${NOW / 60_000}  `],
      [
        { successfulJobsHistoryLimit: 1, failedJobsHistoryLimit: 0 },
        { lastScheduleTime: ago(0) },
        [job('a', { type: 'Complete', seconds: 5 }), job('b', { type: 'Complete' }), job('d', { type: 'Failed' })],
        '- 3600  a,d ',
      ],
      [
        { successfulJobsHistoryLimit: 1 },
        { lastScheduleTime: ago(0) },
        [job('b', { type: 'Complete' }), job('a', { type: 'Complete' })],
        '- 3600  a ',
      ],
    ] as const
  ) assert.equal(plan(spec, status, jobs), wanted, JSON.stringify([spec, status]))
  assert.equal(plan({}, ran, [], () => Infinity), '- Infinity   ')
  const every = await timesOf({ schedule: '@every 1h1m30.5s' } as never)
  assert.equal(every(NOW + 700) - NOW, 3_690_000)
  const mondays = await timesOf({ schedule: '0 0 */1 * MON' } as never)
  assert.equal(instant(mondays(NOW)), '2026-01-05T00:00:00Z')
  assert.equal(zonedInstant(NOW, 'America/St_Johns'), '2026-01-01T08:30:00-03:30')
})

test('EndpointSlices: endpoints stay, slices that change are filled, and one with room is used', () => {
  const service = { metadata: { name: 's', uid: 's' }, spec: { ports: [{ port: 80 }], clusterIP: '1.1.1.1' } }
  const labels = {
    'kubernetes.io/service-name': 's',
    'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
  }
  const pods = (...uids: number[]) =>
    uids.map((uid) => pod({ metadata: { name: `p${uid}`, uid: `${uid}` }, status: { podIP: `10.0.0.${uid}` } }))
  const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index)
  const elsewhere = { name: 'other', labels: { 'topology.kubernetes.io/zone': 'z' } }
  const nodes = [{ metadata: elsewhere }, { metadata: { name: 'kubeloop' } }]
  const plan = (slices: readonly object[], ...uids: number[]) => {
    const { create, update, remove } = planSlices(
      service as unknown as V1Service,
      pods(...uids),
      slices as never,
      nodes as never,
    )
    const sizes = (list: readonly { readonly endpoints?: readonly unknown[] }[]) =>
      list.map((each) => each.endpoints?.length)
    return JSON.stringify([
      sizes(create),
      update.map(({ metadata, endpoints }) => [metadata.name, endpoints?.length]),
      remove.map(({ metadata }) => metadata.name),
    ])
  }
  const slice = (name: string, ...uids: number[]): V1EndpointSlice => {
    const [content] = planSlices(service as unknown as V1Service, pods(...uids), [], nodes as never).create
    const ownerReferences = [{ uid: 's', kind: 'Service', name: 's', apiVersion: 'v1', controller: true }]
    return {
      ...content!,
      addressType: 'IPv4',
      metadata: { name, labels, ownerReferences },
    } as unknown as V1EndpointSlice
  }
  const [full, half, few] = [slice('full', ...range(0, 100)), slice('half', ...range(100, 150)), slice('few', 150, 151)]
  assert.equal(plan([], ...range(0, 250)), '[[100,100,50],[],[]]')
  assert.equal(plan([full, half, few], ...range(0, 152)), '[[],[],[]]')
  assert.equal(plan([full, half, few], ...range(0, 153)), '[[],[["half",51]],[]]')
  assert.equal(plan([few, half], ...range(100, 153)), '[[],[["half",51]],[]]')
  assert.equal(plan([full, half, few], ...range(1, 153)), '[[],[["full",100]],[]]')
  assert.equal(plan([full, half, few], ...range(0, 150)), '[[],[],["few"]]')
  assert.equal(plan([half], ...range(100, 200)), '[[],[["half",100]],[]]')
  assert.equal(plan([full, few], ...range(0, 100), 150, ...range(152, 300)), '[[49],[["few",100]],[]]')
  // A new slice takes the place of one that goes, and an empty one that of the last.
  assert.equal(plan([few], ...range(200, 205)), '[[],[["few",5]],[]]')
  assert.equal(plan([few]), '[[],[["few",0]],[]]')
  assert.equal(plan([slice('empty')]), '[[],[],[]]')
  const ofEarlier = { ownerReferences: [{ ...few!.metadata.ownerReferences![0], uid: 'earlier' }] }
  assert.equal(plan([{ ...few, metadata: { ...few!.metadata, ...ofEarlier } }], 150), '[[1],[],["few"]]')
  const ports = [{ name: 'dns', containerPort: 53 }, { name: 'dns', containerPort: 54, protocol: 'UDP' }]
  // Its name is one of another Service.
  const names = { hostname: 'a', subdomain: 'other' }
  const dns = pod({ status: { podIP: '10.0.0.1' }, spec: { containers: [{ name: 'dns', ports }], ...names } })
  const spec = { ports: [{ port: 1, targetPort: 'dns', protocol: 'UDP' }] }
  const [named] = planSlices({ ...service, spec } as unknown as V1Service, [dns], [], nodes as never).create
  assert.deepEqual(named!.ports, [{ name: '', port: 54, protocol: 'UDP' }])
  assert.deepEqual(Object.keys(named!.endpoints[0]!), ['addresses', 'conditions', 'targetRef', 'nodeName'])
  Object.assign(service.spec.ports[0]!, { appProtocol: 'h2c' })
  assert.equal(plan([few], 150, 151), '[[],[["few",2]],[]]')
})
