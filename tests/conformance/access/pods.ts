/** Cases of bindings, of the parts of a pod with their own subresource, and of what a kubelet would answer. */
import assert from 'node:assert/strict'
import type { Body, Case } from '../api.ts'
import { pod, PODS, type Step, steps } from './steps.ts'

const STRATEGIC = 'application/strategic-merge-patch+json'
const MERGE = 'application/merge-patch+json'
const CREATE: Step = { path: PODS, body: pod('p', {}, undefined) }

function bind(body: Body, more: Partial<Step> = {}): Step {
  const node = { target: { apiVersion: 'v1', kind: 'Node', name: 'n1' } }
  return { path: `${PODS}/p/binding`, body: { metadata: { name: 'p' }, ...node, ...body }, ...more }
}

function ephemeral(containers: Body, more: Partial<Step> = {}, type = MERGE): Step {
  const path = `${PODS}/p/ephemeralcontainers`
  return { method: 'PATCH', path, type, body: { spec: { ephemeralContainers: containers } }, ...more }
}

const RESOURCES = { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '2', memory: '2Gi' } }
const SIZED: Step = {
  path: PODS,
  body: { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i', resources: RESOURCES }] } },
}

function resize(resources: Body, more: Partial<Step> = {}): Step {
  const body = { spec: { containers: [{ name: 'c', resources }] } }
  return { method: 'PATCH', path: `${PODS}/p/resize`, type: STRATEGIC, body, ...more }
}

export const POD_CASES: readonly Case[] = [
  steps('a binding assigns a pod to a node', async function* () {
    const before = { labels: { a: '1', l: 'old' }, annotations: { b: '2', x: 'old' } }
    yield { ...CREATE, body: { ...CREATE.body, metadata: { name: 'p', ...before } } }
    const status = { nominatedNodeName: 'n0' }
    yield { method: 'PATCH', path: `${PODS}/p/status`, type: MERGE, body: { status }, show: 'status.nominatedNodeName' }
    yield bind({}, { path: `${PODS}/p/binding?dryRun=All` })
    yield { path: `${PODS}/p`, show: 'spec.nodeName' }
    yield bind({ metadata: { name: 'p', annotations: { x: 'y' }, labels: { l: 'new' } } }, { show: '.' })
    const body = yield { path: `${PODS}/p` }
    assert.equal(body.spec.nodeName, 'n1')
    assert.equal(body.status.nominatedNodeName, undefined)
    assert.equal(body.metadata.generation, 1)
    assert.deepEqual([body.metadata.labels, body.metadata.annotations], [{ a: '1', l: 'new' }, { b: '2', x: 'y' }])
    const [{ lastTransitionTime, ...condition }] = body.status.conditions
    assert.ok(lastTransitionTime)
    assert.deepEqual(condition, { type: 'PodScheduled', status: 'True', lastProbeTime: null })
    yield bind({ target: { kind: 'Node', name: 'n2' } }, { show: 'details.name details.kind' })
  }),
  steps('an invalid binding is refused', [
    CREATE,
    bind({ metadata: { name: 'q' } }),
    bind({ target: { kind: 'Pod', name: 'n1' } }),
    bind({ target: {} }),
    bind({ metadata: { name: 'p', uid: 'wrong' } }),
    bind({ metadata: { name: 'p', resourceVersion: '1' } }),
    { path: `${PODS}/none/binding`, body: { metadata: { name: 'none' }, target: { name: 'n' } } },
    { path: `${PODS}/p/binding` },
    { path: `${PODS}/p`, show: 'spec.nodeName' },
  ]),
  steps('a Binding can be created in its namespace', [
    CREATE,
    {
      path: '/api/v1/namespaces/$NS/bindings',
      body: { metadata: { name: 'p' }, target: { kind: 'Node', name: 'n1' } },
    },
    { path: `${PODS}/p`, show: 'spec.nodeName' },
    {
      path: '/api/v1/namespaces/$NS/bindings',
      body: { metadata: { name: 'none' }, target: { kind: 'Node', name: 'n1' } },
    },
    { path: '/api/v1/namespaces/$NS/bindings' },
    { path: '/api/v1/namespaces/$NS/bindings/x' },
  ]),
  steps('a pod with scheduling gates cannot be bound', [
    { path: PODS, body: pod('p', { schedulingGates: [{ name: 'a.b/c' }] }) },
    bind({}),
  ]),
  steps('ephemeral containers are added by their subresource only', [
    CREATE,
    { path: `${PODS}/p/ephemeralcontainers`, show: 'kind metadata.name' },
    { path: `${PODS}/p/ephemeralcontainers`, method: 'POST', body: {} },
    ephemeral([{ name: 'd', image: 'busybox', targetContainerName: 'c' }], {
      show: 'metadata.generation spec.ephemeralContainers',
    }, STRATEGIC),
    {
      method: 'PATCH',
      path: `${PODS}/p/ephemeralcontainers`,
      type: STRATEGIC,
      body: {
        metadata: { labels: { q: 'r' } },
        spec: { ephemeralContainers: [{ name: 'e', image: 'busybox' }], containers: [{ name: 'c', image: 'other' }] },
      },
      check(body) {
        assert.deepEqual([body.metadata.labels, body.spec.containers[0].image], [{ app: 'a' }, 'i'])
        assert.deepEqual(body.spec.ephemeralContainers.map((each: Body) => each.name), ['e', 'd'])
        const { subresource, fieldsV1 } = body.metadata.managedFields.at(-1)
        assert.equal(subresource, 'ephemeralcontainers')
        assert.ok(fieldsV1['f:spec']['f:ephemeralContainers']['k:{"name":"e"}'])
      },
    },
    ephemeral(null),
    ephemeral([{ name: 'd', image: 'other', targetContainerName: 'c' }], {}, STRATEGIC),
    {
      path: PODS,
      body: { metadata: { name: 'q' }, spec: { ...pod('q').spec, ephemeralContainers: [{ name: 'd', image: 'b' }] } },
    },
    {
      method: 'PATCH',
      path: `${PODS}/p`,
      type: STRATEGIC,
      body: { spec: { ephemeralContainers: [{ name: 'g', image: 'b' }] } },
    },
  ]),
  steps('an invalid ephemeral container is refused', [
    CREATE,
    ephemeral([{ name: 'c', image: 'i' }]),
    ephemeral([{
      name: 'f',
      image: 'i',
      targetContainerName: 'nope',
      ports: [{ containerPort: 80 }],
      resources: { limits: { cpu: '1' } },
      livenessProbe: { httpGet: { port: 80 } },
    }]),
    { path: `${PODS}/p`, show: 'spec.ephemeralContainers' },
  ]),
  steps('a resize changes only cpu and memory', [
    SIZED,
    { path: `${PODS}/p/resize`, show: 'kind' },
    { path: `${PODS}/p/resize`, method: 'POST', body: {} },
    {
      method: 'PATCH',
      path: `${PODS}/p/resize`,
      type: STRATEGIC,
      body: {
        metadata: { labels: { a: 'b' } },
        spec: { containers: [{ name: 'c', image: 'j', resources: { requests: { cpu: '1500m' } } }] },
      },
      show:
        'metadata.generation metadata.labels spec.containers.0.image spec.containers.0.resources metadata.managedFields',
    },
    // A missing request defaults to the limit.
    resize({ requests: { cpu: null } }, { show: 'spec.containers' }),
    resize({ limits: { memory: '1500Mi' } }),
    resize({ requests: { cpu: '3' } }),
    {
      method: 'PATCH',
      path: `${PODS}/p/resize`,
      type: STRATEGIC,
      body: { spec: { containers: [{ name: 'x', resources: {} }] } },
    },
    {
      method: 'PATCH',
      path: `${PODS}/p`,
      type: STRATEGIC,
      body: { spec: { containers: [{ name: 'c', resources: { requests: { cpu: '1700m' } } }] } },
    },
  ]),
  steps('logs without a kubelet', [
    CREATE,
    { path: `${PODS}/p/log` },
    { path: `${PODS}/p/log?container=c` },
    { path: `${PODS}/p/log?container=x` },
    { path: `${PODS}/p/log?tailLines=-1` },
    { path: `${PODS}/none/log` },
    { path: `${PODS}/p/log`, method: 'POST', body: {} },
    { path: `${PODS}/p/log/x` },
    { path: PODS, body: pod('two', { containers: [{ name: 'c', image: 'i' }, { name: 'd', image: 'i' }] }) },
    { path: `${PODS}/two/log` },
    { path: '/api/v1/nodes', body: { metadata: { name: '$NS-log' } } },
    { path: PODS, body: pod('on', { nodeName: '$NS-log' }) },
    { path: `${PODS}/on/log` },
  ]),
  steps('exec, attach, portforward and proxies without a kubelet', [
    CREATE,
    { path: '/api/v1/nodes', body: { metadata: { name: '$NS-exec' } } },
    { path: PODS, body: pod('on', { nodeName: '$NS-exec' }) },
    ...['exec?command=ls&stdout=true', 'attach?stdout=true', 'portforward'].flatMap((sub): Step[] =>
      ['p', 'none', 'on'].map((name) => ({ method: 'POST', path: `${PODS}/${name}/${sub}` }))
    ),
    { path: `${PODS}/none/proxy/` },
    { path: '/api/v1/nodes/$NS-exec/proxy/' },
    { path: '/api/v1/nodes/$NS-none/proxy/' },
  ]),
]
