/** Cases of evictions and their PodDisruptionBudgets. */
import assert from 'node:assert/strict'
import type { Body, Case } from '../api.ts'
import { pod, PODS, type Step, steps } from './steps.ts'

const T = '2026-01-01T00:00:00Z'
const MERGE = 'application/merge-patch+json'
const BUDGETS = '/apis/policy/v1/namespaces/$NS/poddisruptionbudgets'
const SUCCESS = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 }

function evict(name: string, status = 201, more: Partial<Step> & { readonly eviction?: Body } = {}): Step {
  const { eviction, ...rest } = more
  return {
    path: `${PODS}/${name}/eviction`,
    body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name }, ...eviction },
    status,
    ...(status === 201 && { check: (body: Body) => assert.deepEqual(body, SUCCESS) }),
    ...rest,
  }
}

function running(name: string, ready = 'True'): Step {
  const status = { phase: 'Running', conditions: [{ type: 'Ready', status: ready }] }
  return { method: 'PATCH', path: `${PODS}/${name}/status`, type: MERGE, body: { status }, status: 200 }
}

function budgeted(status: Body, name = 'b'): Step {
  return { method: 'PATCH', path: `${BUDGETS}/${name}/status`, type: MERGE, body: { status }, status: 200 }
}

function budget(name = 'b'): Step {
  const spec = { minAvailable: 1, selector: { matchLabels: { app: 'a' } } }
  return { path: BUDGETS, body: { metadata: { name }, spec }, status: 201 }
}

function tooMany(message: string, retryAfterSeconds?: number): Partial<Step> {
  return {
    reason: 'TooManyRequests',
    message: "Cannot evict pod as it would violate the pod's disruption budget.",
    has: { details: { causes: [{ reason: 'DisruptionBudget', message }], retryAfterSeconds } },
  }
}

const CREATE: Step = { path: PODS, body: pod('p'), status: 201 }

export const EVICTION_CASES: readonly Case[] = [
  steps('an eviction deletes a pending pod', [
    CREATE,
    evict('p'),
    { path: `${PODS}/p`, status: 404 },
    evict('p', 404, { message: 'pods "p" not found' }),
  ]),
  steps('a dry run of an eviction keeps the pod', [
    CREATE,
    evict('p', 201, { path: `${PODS}/p/eviction?dryRun=All` }),
    evict('p', 201, { eviction: { deleteOptions: { dryRun: ['All'] } } }),
    evict('p', 201, {
      path: `${PODS}/p/eviction?dryRun=All`,
      eviction: { deleteOptions: { dryRun: ['All'] } },
    }),
    evict('p', 201, { eviction: { apiVersion: 'policy/v1beta1', deleteOptions: { dryRun: ['All'] } } }),
    {
      path: `${PODS}/p`,
      status: 200,
      check: (body) =>
        assert.deepEqual([body.metadata.deletionTimestamp, body.status.conditions], [undefined, undefined]),
    },
  ]),
  steps('an invalid eviction is refused', [
    CREATE,
    evict('p', 400, {
      eviction: { metadata: { name: 'q' } },
      message: 'name in URL does not match name in Eviction object',
    }),
    evict('p', 400, { eviction: { metadata: {} }, message: 'name in URL does not match name in Eviction object' }),
    evict('p', 400, {
      eviction: { metadata: { name: 'p', namespace: 'other' } },
      message: 'the namespace of the provided object does not match the namespace sent on the request',
    }),
    evict('p', 422, {
      eviction: { deleteOptions: { dryRun: ['Foo'] } },
      message: 'DeleteOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Foo"]: supported values: "All"',
    }),
    { path: `${PODS}/p/eviction`, status: 405 },
    { method: 'PUT', path: `${PODS}/p/eviction`, body: {}, status: 405 },
    { method: 'DELETE', path: `${PODS}/p/eviction`, status: 405 },
    { path: `${PODS}/p`, status: 200 },
  ]),
  steps('the preconditions of an eviction are checked', [
    CREATE,
    // A real server retries an eviction with another uid for ten seconds: that one is tested on the embedded server only.
    evict('p', 409, {
      eviction: { deleteOptions: { preconditions: { resourceVersion: '1' } } },
      reason: 'Conflict',
      check(body) {
        assert.match(
          body.message,
          /^Operation cannot be fulfilled on Pod "p": the ResourceVersion in the precondition \(1\) does not match the ResourceVersion in record \(\d+\)\. The object might have been modified$/,
        )
        assert.deepEqual(body.details, { name: 'p', kind: 'Pod' })
      },
    }),
    { path: `${PODS}/p`, status: 200, check: (body) => assert.equal(body.status.conditions, undefined) },
  ]),
  steps('a budget whose status is behind refuses an eviction', [
    CREATE,
    running('p'),
    budget(),
    evict('p', 429, tooMany('The disruption budget b is still being processed by the server.', 10)),
  ]),
  steps('a budget without allowed disruptions refuses an eviction', [
    CREATE,
    running('p'),
    budget(),
    budgeted({ observedGeneration: 1, disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 }),
    evict('p', 429, tooMany('The disruption budget b needs 1 healthy pods and has 1 currently')),
    budgeted({ currentHealthy: 2 }),
    evict('p', 429, tooMany('The disruption budget b does not allow evicting pods currently')),
    budgeted({
      conditions: [{
        type: 'DisruptionAllowed',
        status: 'False',
        reason: 'Other',
        message: 'why',
        lastTransitionTime: T,
      }],
    }),
    evict('p', 429, tooMany('The disruption budget b does not allow evicting pods currently (Other): why')),
    budgeted({
      conditions: [
        { type: 'DisruptionAllowed', status: 'False', reason: 'SyncFailed', message: 'why', lastTransitionTime: T },
      ],
    }),
    evict(
      'p',
      429,
      tooMany('The disruption budget b does not allow evicting pods currently because it failed sync: why'),
    ),
    { path: `${PODS}/p`, status: 200, check: (body) => assert.equal(body.metadata.deletionTimestamp, undefined) },
  ]),
  steps('an eviction counts down the budget and marks the pod', async function* () {
    yield { ...CREATE, body: { ...pod('p'), metadata: { name: 'p', labels: { app: 'a' }, finalizers: ['a.b/c'] } } }
    yield running('p')
    yield budget()
    yield budgeted({
      observedGeneration: 1,
      disruptionsAllowed: 2,
      currentHealthy: 3,
      desiredHealthy: 1,
      expectedPods: 3,
    })
    yield evict('p', 201, { path: `${PODS}/p/eviction?dryRun=All` })
    const before = yield { path: `${BUDGETS}/b`, status: 200 }
    assert.equal(before.status.disruptionsAllowed, 2)
    yield evict('p')
    const once = yield { path: `${BUDGETS}/b`, status: 200 }
    assert.equal(once.status.disruptionsAllowed, 1)
    assert.deepEqual(Object.keys(once.status.disruptedPods), ['p'])
    assert.equal(once.status.conditions, undefined)
    const evicted = yield { path: `${PODS}/p`, status: 200 }
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
    const twice = yield { path: `${BUDGETS}/b`, status: 200 }
    assert.equal(twice.status.disruptionsAllowed, 1)
    yield { path: PODS, body: pod('q'), status: 201 }
    yield running('q')
    yield evict('q')
    yield { path: `${PODS}/q`, status: 404 }
    const last = yield { path: `${BUDGETS}/b`, status: 200 }
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
    yield { method: 'PATCH', path: `${PODS}/p`, type: MERGE, body: { metadata: { finalizers: null } }, status: 200 }
  }),
  steps('a pod with two budgets is not evicted', [
    CREATE,
    running('p'),
    budget(),
    budget('c'),
    evict('p', 500, {
      reason: '',
      message: 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    }),
  ]),
  steps('an unready pod is evicted if the others are healthy', [
    CREATE,
    running('p', 'False'),
    budget(),
    budgeted({ observedGeneration: 1, disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 1, expectedPods: 2 }),
    evict('p', 429, tooMany('The disruption budget b needs 1 healthy pods and has 0 currently')),
    budgeted({ currentHealthy: 1 }),
    evict('p'),
    { path: `${PODS}/p`, status: 404 },
    { path: `${BUDGETS}/b`, status: 200, check: (body) => assert.equal(body.status.disruptedPods, undefined) },
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
      status: 201,
    },
    evict('p'),
    { path: `${PODS}/p`, status: 404 },
  ]),
  steps('a finished pod, a pending one and a pod of other budgets are evicted at once', [
    budget(),
    ...['Succeeded', 'Failed', 'Pending'].flatMap((phase): Step[] => [
      CREATE,
      { method: 'PATCH', path: `${PODS}/p/status`, type: MERGE, body: { status: { phase } }, status: 200 },
      evict('p'),
      { path: `${PODS}/p`, status: 404 },
    ]),
    { path: PODS, body: pod('q', {}, { app: 'other' }), status: 201 },
    running('q'),
    evict('q'),
    { path: `${PODS}/q`, status: 404 },
  ]),
  steps('an evicted pod on a node has its grace period', [
    { path: PODS, body: pod('p', { nodeName: 'n' }), status: 201 },
    evict('p', 201, { eviction: { deleteOptions: { gracePeriodSeconds: 5 } } }),
    { path: `${PODS}/p`, status: 200, has: { metadata: { deletionGracePeriodSeconds: 5 } } },
    evict('p', 201, { eviction: { deleteOptions: { gracePeriodSeconds: 0 } } }),
    { path: `${PODS}/p`, status: 404 },
  ]),
]
