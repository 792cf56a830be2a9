/** Cases of evictions and their PodDisruptionBudgets. */
import assert from 'node:assert/strict'
import type { Body, Case } from '../api.ts'
import { pod, PODS, type Step, steps } from './steps.ts'

const T = '2026-01-01T00:00:00Z'
const MERGE = 'application/merge-patch+json'
const BUDGETS = '/apis/policy/v1/namespaces/$NS/poddisruptionbudgets'

function evict(name: string, more: Partial<Step> & { readonly eviction?: Body } = {}): Step {
  const { eviction, ...rest } = more
  return {
    path: `${PODS}/${name}/eviction`,
    body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name }, ...eviction },
    ...rest,
  }
}

function running(name: string, ready = 'True'): Step {
  const status = { phase: 'Running', conditions: [{ type: 'Ready', status: ready }] }
  return { method: 'PATCH', path: `${PODS}/${name}/status`, type: MERGE, body: { status } }
}

function budgeted(status: Body, name = 'b'): Step {
  return { method: 'PATCH', path: `${BUDGETS}/${name}/status`, type: MERGE, body: { status } }
}

function budget(name = 'b', path = BUDGETS): Step {
  const spec = { minAvailable: 1, selector: { matchLabels: { app: 'a' } } }
  return { path, body: { metadata: { name }, spec } }
}

const CREATE: Step = { path: PODS, body: pod('p') }

export const EVICTION_CASES: readonly Case[] = [
  steps('a dry run of an eviction keeps the pod', [
    CREATE,
    evict('p', { path: `${PODS}/p/eviction?dryRun=All` }),
    evict('p', { eviction: { deleteOptions: { dryRun: ['All'] } } }),
    evict('p', { path: `${PODS}/p/eviction?dryRun=All`, eviction: { deleteOptions: { dryRun: ['All'] } } }),
    evict('p', { eviction: { apiVersion: 'policy/v1beta1', deleteOptions: { dryRun: ['All'] } } }),
    { path: `${PODS}/p`, show: 'metadata.deletionTimestamp status.conditions' },
  ]),
  steps('an invalid eviction is refused', [
    CREATE,
    evict('p', { eviction: { metadata: { name: 'q' } } }),
    evict('p', { eviction: { metadata: {} } }),
    evict('p', { eviction: { metadata: { name: 'p', namespace: 'other' } } }),
    evict('p', { eviction: { deleteOptions: { dryRun: ['Foo'] } } }),
    { path: `${PODS}/p/eviction` },
    { method: 'PUT', path: `${PODS}/p/eviction`, body: {} },
    { method: 'DELETE', path: `${PODS}/p/eviction` },
    { path: `${PODS}/p` },
  ]),
  steps('the preconditions of an eviction are checked', [
    CREATE,
    // A real server retries an eviction with another uid for ten seconds: that one is tested on the embedded server only.
    evict('p', { eviction: { deleteOptions: { preconditions: { resourceVersion: '1' } } }, show: 'details' }),
    { path: `${PODS}/p`, show: 'status.conditions' },
  ]),
  steps('a budget whose status is behind refuses an eviction', [CREATE, running('p'), budget(), evict('p')]),
  steps('a budget without allowed disruptions refuses an eviction', [
    CREATE,
    running('p'),
    budget(),
    budgeted({ observedGeneration: 1, disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 }),
    evict('p'),
    budgeted({ currentHealthy: 2 }),
    evict('p'),
    budgeted({
      conditions: [{
        type: 'DisruptionAllowed',
        status: 'False',
        reason: 'Other',
        message: 'why',
        lastTransitionTime: T,
      }],
    }),
    evict('p'),
    budgeted({
      conditions: [
        { type: 'DisruptionAllowed', status: 'False', reason: 'SyncFailed', message: 'why', lastTransitionTime: T },
      ],
    }),
    evict('p'),
    { path: `${PODS}/p`, show: 'metadata.deletionTimestamp' },
  ]),
  steps('an eviction counts down the budget and marks the pod', async function* () {
    yield { ...CREATE, body: { ...pod('p'), metadata: { name: 'p', labels: { app: 'a' }, finalizers: ['a.b/c'] } } }
    yield running('p')
    yield budget()
    yield budget('$NS', BUDGETS.replace('$NS', 'default'))
    yield budgeted({
      observedGeneration: 1,
      disruptionsAllowed: 2,
      currentHealthy: 3,
      desiredHealthy: 1,
      expectedPods: 3,
    })
    yield evict('p', { path: `${PODS}/p/eviction?dryRun=All` })
    const before = yield { path: `${BUDGETS}/b` }
    assert.equal(before.status.disruptionsAllowed, 2)
    yield evict('p')
    const once = yield { path: `${BUDGETS}/b` }
    assert.equal(once.status.disruptionsAllowed, 1)
    assert.deepEqual(Object.keys(once.status.disruptedPods), ['p'])
    assert.equal(once.status.conditions, undefined)
    const evicted = yield { path: `${PODS}/p` }
    assert.ok(evicted.metadata.deletionTimestamp)
    const [, { lastTransitionTime, ...condition }] = evicted.status.conditions
    assert.ok(lastTransitionTime)
    assert.deepEqual(condition, {
      type: 'DisruptionTarget',
      status: 'True',
      lastProbeTime: null,
      reason: 'EvictionByEvictionAPI',
      message: 'Eviction API: evicting',
    })
    // A pod that is being deleted is not counted again.
    yield evict('p')
    const twice = yield { path: `${BUDGETS}/b` }
    assert.equal(twice.status.disruptionsAllowed, 1)
    yield { path: PODS, body: pod('q') }
    yield running('q')
    yield evict('q')
    yield { path: `${PODS}/q` }
    const last = yield { path: `${BUDGETS}/b` }
    assert.equal(last.status.disruptionsAllowed, 0)
    assert.deepEqual(Object.keys(last.status.disruptedPods), ['p', 'q'])
    const [{ lastTransitionTime: changed, ...allowed }] = last.status.conditions
    assert.ok(changed)
    assert.deepEqual(allowed, {
      type: 'DisruptionAllowed',
      status: 'False',
      observedGeneration: 1,
      reason: 'InsufficientPods',
      message: '',
    })
    const manager = last.metadata.managedFields.find((entry: Body) => entry.manager === 'kube-apiserver')
    assert.equal(manager.subresource, 'status')
    yield { method: 'PATCH', path: `${PODS}/p`, type: MERGE, body: { metadata: { finalizers: null } } }
  }),
  steps('a pod with two budgets is not evicted', [CREATE, running('p'), budget(), budget('c'), evict('p')]),
  steps('an unready pod is evicted if the others are healthy', [
    CREATE,
    running('p', 'False'),
    budget(),
    budgeted({ observedGeneration: 1, disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 1, expectedPods: 2 }),
    evict('p'),
    budgeted({ currentHealthy: 1 }),
    evict('p'),
    { path: `${PODS}/p` },
    { path: `${BUDGETS}/b`, show: 'status.disruptedPods' },
  ]),
  steps('an unready pod is always evicted with unhealthyPodEvictionPolicy AlwaysAllow', [
    CREATE,
    running('p', 'False'),
    {
      path: BUDGETS,
      body: {
        metadata: { name: 'b' },
        spec: { minAvailable: 1, selector: { matchLabels: { app: 'a' } }, unhealthyPodEvictionPolicy: 'AlwaysAllow' },
      },
    },
    evict('p'),
    { path: `${PODS}/p` },
  ]),
  steps('a finished pod, a pending one and a pod of other budgets are evicted at once', [
    budget(),
    ...['Succeeded', 'Failed', 'Pending'].flatMap((phase): Step[] => [
      CREATE,
      { method: 'PATCH', path: `${PODS}/p/status`, type: MERGE, body: { status: { phase } } },
      evict('p'),
      { path: `${PODS}/p` },
    ]),
    { path: PODS, body: pod('q', {}, { app: 'other' }) },
    running('q'),
    evict('q'),
    { path: `${PODS}/q` },
  ]),
  steps('an evicted pod on a node has its grace period', [
    { path: PODS, body: pod('p', { nodeName: 'n' }) },
    evict('p', { eviction: { deleteOptions: { gracePeriodSeconds: 5 } } }),
    { path: `${PODS}/p`, show: 'metadata.deletionGracePeriodSeconds' },
    evict('p', { eviction: { deleteOptions: { gracePeriodSeconds: 0 } } }),
    { path: `${PODS}/p` },
  ]),
]
