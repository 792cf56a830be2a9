/** Cases of validation of built-in kinds that operators write. */
import type { Body, Case } from './api.ts'
import { casesOf, script, type Step } from './transcript.ts'

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

const RESOURCE_QUOTAS = '/api/v1/namespaces/{ns}/resourcequotas'

export const BUILTIN_CASES: readonly Case[] = casesOf('builtin', [
  script('a ResourceQuota accepts only known resources', [
    ...QUOTAS.map((hard): Step => [`POST ${RESOURCE_QUOTAS}`, { metadata: { name: 'a' }, spec: { hard } }]),
    ...['hard', 'used'].map((field): Step => [
      `MERGE ${RESOURCE_QUOTAS}/a/status`,
      { status: { [field]: { storage: '1' } } },
    ]),
  ]),
])
