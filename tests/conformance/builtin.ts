/** Cases of validation of built-in kinds that operators write. */
import type { Body, Case } from './api.ts'
import { casesOf, type Step } from './transcript.ts'

const START = '2026-01-01T00:00:00Z'
const END = '2026-01-01T00:00:05Z'
const on = (...types: readonly string[]): Body[] =>
  types.map((type) => ({ type, status: 'True', lastProbeTime: START, lastTransitionTime: START }))

const RUNNING = { startTime: START, active: 1, failed: 2, succeeded: 1 }
const DONE = {
  startTime: START,
  failed: 2,
  succeeded: 1,
  conditions: on('SuccessCriteriaMet', 'Complete'),
  completionTime: END,
}

/** Successive statuses of one Job. */
const STATUSES: readonly Body[] = [
  { completionTime: END },
  { conditions: on('Complete') },
  { conditions: on('SuccessCriteriaMet', 'Complete'), completionTime: START, startTime: END },
  { conditions: on('Failed'), startTime: START },
  {
    conditions: on('Failed', 'Complete', 'SuccessCriteriaMet', 'FailureTarget'),
    startTime: START,
    completionTime: END,
  },
  { active: -1, terminating: -1 },
  { ready: 2, active: 1 },
  { completedIndexes: '0' },
  { failedIndexes: '0' },
  { uncountedTerminatedPods: { succeeded: ['a'], failed: ['a'] } },
  { ...DONE, active: 1, terminating: 1, uncountedTerminatedPods: { succeeded: ['a'] } },
  RUNNING,
  { ...RUNNING, startTime: END },
  { ...RUNNING, failed: 1, succeeded: 0 },
  { ...RUNNING, conditions: on('SuccessCriteriaMet') },
  RUNNING,
  DONE,
  { ...DONE, completionTime: START },
  { ...DONE, conditions: on('SuccessCriteriaMet') },
  { ...DONE, conditions: [...on('SuccessCriteriaMet', 'Complete'), { ...on('Note')[0], status: 'Unknown' }] },
]

const QUOTAS: readonly Body[] = [
  { 'made-up': '1' },
  { storage: '1' },
  { pods: '1.5' },
  { 'example.com/x': '1.5' },
  { pods: '-1' },
  {
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
  },
]

const JOBS = '/apis/batch/v1/namespaces/{ns}/jobs'
const RESOURCE_QUOTAS = '/api/v1/namespaces/{ns}/resourcequotas'
const JOB = { restartPolicy: 'Never', containers: [{ name: 'a', image: 'b' }] }

export const BUILTIN_CASES: readonly Case[] = casesOf('builtin', [
  {
    name: 'the status of a Job is validated',
    steps: [
      [`POST ${JOBS}`, { metadata: { name: 'a' }, spec: { template: { spec: JOB } } }],
      ...STATUSES.flatMap((status): Step[] => [
        `GET ${JOBS}/a ? status`,
        [`PUT ${JOBS}/a/status`, (answers: readonly Body[]) => ({ ...answers.at(-1), status })],
      ]),
    ],
  },
  {
    name: 'a ResourceQuota accepts only known resources',
    steps: [
      ...QUOTAS.map((hard): Step => [`POST ${RESOURCE_QUOTAS}`, { metadata: { name: 'a' }, spec: { hard } }]),
      ...['hard', 'used'].map((field): Step => [
        `MERGE ${RESOURCE_QUOTAS}/a/status`,
        { status: { [field]: { storage: '1' } } },
      ]),
    ],
  },
])
