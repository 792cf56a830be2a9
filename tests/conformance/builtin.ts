/** Cases of validation of built-in kinds that operators write. */
import assert from 'node:assert/strict'
import { type Body, type Case, MERGE } from './api.ts'

const START = '2026-01-01T00:00:00Z'
const END = '2026-01-01T00:00:05Z'
const on = (...types: readonly string[]): Body[] =>
  types.map((type) => ({ type, status: 'True', lastProbeTime: START, lastTransitionTime: START }))
const conditions = (what: string): string => `status.conditions: Invalid value: ${what}`

const RUNNING = { startTime: START, active: 1, failed: 2, succeeded: 1 }
const DONE = {
  startTime: START,
  failed: 2,
  succeeded: 1,
  conditions: on('SuccessCriteriaMet', 'Complete'),
  completionTime: END,
}

/** Successive statuses of one Job, each with its faults; a status without faults is stored. */
const STATUSES: readonly (readonly [Body, ...string[]])[] = [
  [
    { completionTime: END },
    `status.completionTime: Invalid value: "${END}": cannot set completionTime when there is no Complete=True condition`,
  ],
  [
    { conditions: on('Complete') },
    'status.completionTime: Required value: completionTime is required for Complete jobs',
    conditions('cannot set Complete=True condition without the SuccessCriteriaMet=true condition'),
    'status.startTime: Required value: startTime is required for finished job',
  ],
  [
    { conditions: on('SuccessCriteriaMet', 'Complete'), completionTime: START, startTime: END },
    `status.completionTime: Invalid value: "${START}": must be equal to or after \`startTime\``,
  ],
  [
    { conditions: on('Failed'), startTime: START },
    conditions('cannot set Failed=True condition without the FailureTarget=true condition'),
  ],
  [
    {
      conditions: on('Failed', 'Complete', 'SuccessCriteriaMet', 'FailureTarget'),
      startTime: START,
      completionTime: END,
    },
    conditions('cannot set Complete=True and Failed=true conditions'),
    conditions('cannot set Complete=True and FailureTarget=true conditions'),
    conditions('cannot set SuccessCriteriaMet=True and Failed=true conditions'),
    conditions('cannot set SuccessCriteriaMet=True and FailureTarget=true conditions'),
  ],
  [
    { active: -1, terminating: -1 },
    'status.active: Invalid value: -1: must be greater than or equal to 0',
    'status.terminating: Invalid value: -1: must be greater than or equal to 0',
  ],
  [{ ready: 2, active: 1 }, 'status.ready: Invalid value: 2: cannot set more ready pods than active'],
  [
    { completedIndexes: '0' },
    'status.completedIndexes: Invalid value: "0": cannot set non-empty completedIndexes when non-indexed completion mode',
  ],
  [
    { failedIndexes: '0' },
    'status.failedIndexes: Invalid value: "0": cannot set non-null failedIndexes when backoffLimitPerIndex is null',
  ],
  [
    { uncountedTerminatedPods: { succeeded: ['a'], failed: ['a'] } },
    'status.uncountedTerminatedPods.failed[0]: Duplicate value: "a"',
  ],
  [
    { ...DONE, active: 1, terminating: 1, uncountedTerminatedPods: { succeeded: ['a'] } },
    'status.active: Invalid value: 1: active>0 is invalid for finished job',
    'status.uncountedTerminatedPods: Invalid value: {"Succeeded":["a"],"Failed":null}: must be empty for finished job',
    'status.terminating: Invalid value: 1: terminating>0 is invalid for finished job',
  ],
  [RUNNING],
  [
    { ...RUNNING, startTime: END },
    `status.startTime: Invalid value: "${END}": field is immutable for unsuspended job once set`,
  ],
  [
    { ...RUNNING, failed: 1, succeeded: 0 },
    'status.failed: Invalid value: 1: cannot decrease the failed counter',
    'status.succeeded: Invalid value: 0: cannot decrease the succeeded counter',
  ],
  [{ ...RUNNING, conditions: on('SuccessCriteriaMet') }],
  [RUNNING, conditions('cannot disable the SuccessCriteriaMet=True condition')],
  [DONE],
  [{ ...DONE, completionTime: START }, `status.completionTime: Invalid value: "${START}": field is immutable`],
  [
    { ...DONE, conditions: on('SuccessCriteriaMet') },
    `status.completionTime: Invalid value: "${END}": cannot set completionTime when there is no Complete=True condition`,
    conditions('cannot disable the terminal Complete=True condition'),
  ],
  [{ ...DONE, conditions: [...on('SuccessCriteriaMet', 'Complete'), { ...on('Note')[0], status: 'Unknown' }] }],
]

const QUOTAS: readonly (readonly [Body, ...string[]])[] = [
  [
    { 'made-up': '1' },
    'spec.hard[made-up]: Invalid value: "made-up": must be a standard resource type or fully qualified',
    'spec.hard[made-up]: Invalid value: "made-up": must be a standard resource for quota',
  ],
  [{ storage: '1' }, 'spec.hard[storage]: Invalid value: "storage": must be a standard resource for quota'],
  [{ pods: '1.5' }, 'spec.hard[pods]: Invalid value: "1500m": must be an integer'],
  [{ 'example.com/x': '1.5' }, 'spec.hard[example.com/x]: Invalid value: "1500m": must be an integer'],
  [{ pods: '-1' }, 'spec.hard[pods]: Invalid value: "-1": must be greater than or equal to 0'],
  [{
    cpu: '500m',
    pods: '1',
    'limits.memory': '1Gi',
    'requests.storage': '1Gi',
    'requests.nvidia.com/gpu': '2',
    'count/foos.example.com': '3',
    'hugepages-2Mi': '4Mi',
    'requests.hugepages-2Mi': '1',
    'gold.storageclass.storage.k8s.io/requests.storage': '1Gi',
    'requests.x.com/y': '1500m',
  }],
]

export const BUILTIN_CASES: readonly Case[] = [
  {
    name: 'the status of a Job is validated',
    async run(api) {
      const path = `/apis/batch/v1/namespaces/${api.namespace}/jobs`
      const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'a', image: 'b' }] } }
      await api.expect(201, 'POST', path, {
        apiVersion: 'batch/v1',
        kind: 'Job',
        metadata: { name: 'a' },
        spec: { template },
      })
      for (const [status, ...faults] of STATUSES) {
        const body = { ...(await api.expect(200, 'GET', `${path}/a`)), status }
        if (faults.length === 0) await api.expect(200, 'PUT', `${path}/a/status`, body)
        else {assert.equal(
            (await api.refused(422, 'Invalid', 'PUT', `${path}/a/status`, body)).message,
            invalid('Job.batch', faults),
          )}
      }
    },
  },
  {
    name: 'a ResourceQuota accepts only known resources',
    async run(api) {
      const path = `/api/v1/namespaces/${api.namespace}/resourcequotas`
      const quota = (hard: Body): Body => ({
        apiVersion: 'v1',
        kind: 'ResourceQuota',
        metadata: { name: 'a' },
        spec: { hard },
      })
      for (const [hard, ...faults] of QUOTAS) {
        if (faults.length === 0) await api.expect(201, 'POST', path, quota(hard))
        else {assert.equal(
            (await api.refused(422, 'Invalid', 'POST', path, quota(hard))).message,
            invalid('ResourceQuota', faults),
          )}
      }
      for (const field of ['hard', 'used']) {
        const status = await api.refused(422, 'Invalid', 'PATCH', `${path}/a/status`, {
          status: { [field]: { storage: '1' } },
        }, { type: MERGE })
        assert.equal(
          status.message,
          invalid('ResourceQuota', [
            `status.${field}[storage]: Invalid value: "storage": must be a standard resource for quota`,
          ]),
        )
      }
    },
  },
]

function invalid(kind: string, faults: readonly string[]): string {
  return `${kind} "a" is invalid: ${faults.length === 1 ? faults[0] : `[${faults.join(', ')}]`}`
}
