/** Cases of evictions and their PodDisruptionBudgets. */
import type { Body } from '../api.ts'
import { type Script, script, type Step } from '../transcript.ts'
import { pod } from './granting.ts'

const BUDGETS = '/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets'
const CREATE: Step = ['POST ns/pods', pod('p')]
const DRY = '?dryRun=All'

const evict = (name: string, eviction: Body = {}, query = ''): Step => [
  `POST ns/pods/${name}/eviction${query}`,
  { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name }, ...eviction },
]
const evictWith = (deleteOptions: Body, query = ''): Step => evict('p', { deleteOptions }, query)
const running = (name: string, status = 'True'): Step => [
  `MERGE ns/pods/${name}/status`,
  { status: { phase: 'Running', conditions: [{ type: 'Ready', status }] } },
]
const budgeted = (status: Body): Step => [`MERGE ${BUDGETS}/b/status`, { status }]
/** A status of a budget that is up to date. */
const counted = (disruptionsAllowed: number, currentHealthy: number, expectedPods: number): Step =>
  budgeted({ observedGeneration: 1, disruptionsAllowed, currentHealthy, desiredHealthy: 1, expectedPods })
const budget = (name = 'b', path = BUDGETS, more: Body = {}): Step => [
  `POST ${path}`,
  { metadata: { name }, spec: { minAvailable: 1, selector: { matchLabels: { app: 'a' } }, ...more } },
]
const disallowed = (reason: string): Step =>
  budgeted({
    conditions: [{
      ...{ type: 'DisruptionAllowed', status: 'False', reason, message: 'why' },
      lastTransitionTime: '2026-01-01T00:00:00Z',
    }],
  })
const SHOWN = '? status.disruptionsAllowed status.disruptedPods status.conditions metadata.managedFields'

export const EVICTION_CASES: readonly Script[] = [
  script('a dry run of an eviction keeps the pod', [
    CREATE,
    evict('p', {}, DRY),
    evictWith({ dryRun: ['All'] }),
    evictWith({ dryRun: ['All'] }, DRY),
    evict('p', { apiVersion: 'policy/v1beta1', deleteOptions: { dryRun: ['All'] } }),
    'GET ns/pods/p ? metadata.deletionTimestamp status.conditions',
  ]),
  script('an invalid eviction is refused', [
    CREATE,
    evict('p', { metadata: { name: 'q' } }),
    evict('p', { metadata: {} }),
    evict('p', { metadata: { name: 'p', namespace: 'other' } }),
    evictWith({ dryRun: ['Foo'] }),
    'GET ns/pods/p/eviction',
    ['PUT ns/pods/p/eviction', {}],
    'DELETE ns/pods/p/eviction',
    'GET ns/pods/p',
  ]),
  script('the preconditions of an eviction are checked', [
    CREATE,
    // A real server retries an eviction with another uid for ten seconds: that one is tested on the embedded server only.
    evictWith({ preconditions: { resourceVersion: '1' } }),
    'GET ns/pods/p ? status.conditions',
  ]),
  script('a budget whose status is behind refuses an eviction', [CREATE, running('p'), budget(), evict('p')]),
  script('a budget without allowed disruptions refuses an eviction', [
    CREATE,
    running('p'),
    budget(),
    counted(0, 1, 1),
    evict('p'),
    budgeted({ currentHealthy: 2 }),
    evict('p'),
    disallowed('Other'),
    evict('p'),
    disallowed('SyncFailed'),
    evict('p'),
    'GET ns/pods/p ? metadata.deletionTimestamp',
  ]),
  script('an eviction counts down the budget and marks the pod', [
    ['POST ns/pods', { ...pod('p'), metadata: { name: 'p', labels: { app: 'a' }, finalizers: ['a.b/c'] } }],
    running('p'),
    budget(),
    budget('{ns}', BUDGETS.replace('{ns}', 'default')),
    counted(2, 3, 3),
    evict('p', {}, DRY),
    `GET ${BUDGETS}/b ? status.disruptionsAllowed`,
    evict('p'),
    `GET ${BUDGETS}/b ${SHOWN}`,
    'GET ns/pods/p ? metadata.deletionTimestamp status.conditions',
    // A pod that is being deleted is not counted again.
    evict('p'),
    `GET ${BUDGETS}/b ? status.disruptionsAllowed`,
    ['POST ns/pods', pod('q')],
    running('q'),
    evict('q'),
    'GET ns/pods/q',
    `GET ${BUDGETS}/b ${SHOWN}`,
    ['MERGE ns/pods/p', { metadata: { finalizers: null } }],
  ]),
  script('a pod with two budgets is not evicted', [CREATE, running('p'), budget(), budget('c'), evict('p')]),
  script('an unready pod is evicted if the others are healthy', [
    CREATE,
    running('p', 'False'),
    budget(),
    counted(0, 0, 2),
    evict('p'),
    budgeted({ currentHealthy: 1 }),
    evict('p'),
    'GET ns/pods/p',
    `GET ${BUDGETS}/b ? status.disruptedPods`,
  ]),
  script('an unready pod is always evicted with unhealthyPodEvictionPolicy AlwaysAllow', [
    CREATE,
    running('p', 'False'),
    budget('b', BUDGETS, { unhealthyPodEvictionPolicy: 'AlwaysAllow' }),
    evict('p'),
    'GET ns/pods/p',
  ]),
  script('a finished pod, a pending one and a pod of other budgets are evicted at once', [
    budget(),
    ...['Succeeded', 'Failed', 'Pending'].flatMap((phase): Step[] => [
      CREATE,
      ['MERGE ns/pods/p/status', { status: { phase } }],
      evict('p'),
      'GET ns/pods/p',
    ]),
    ['POST ns/pods', pod('q', {}, { app: 'other' })],
    running('q'),
    evict('q'),
    'GET ns/pods/q',
  ]),
  script('an evicted pod on a node has its grace period', [
    ['POST ns/pods', pod('p', { nodeName: 'n' })],
    evictWith({ gracePeriodSeconds: 5 }),
    'GET ns/pods/p ? metadata.deletionGracePeriodSeconds',
    evictWith({ gracePeriodSeconds: 0 }),
    'GET ns/pods/p',
  ]),
]
