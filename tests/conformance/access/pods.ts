/** Cases of bindings, of the parts of a pod with their own subresource, and of what a kubelet would answer. */
import assert from 'node:assert/strict'
import type { Body, Case } from '../api.ts'
import { pod, PODS, type Step, steps } from './steps.ts'

const STRATEGIC = 'application/strategic-merge-patch+json'
const MERGE = 'application/merge-patch+json'
const SUCCESS = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 }
const CREATE: Step = { path: PODS, body: pod('p', {}, undefined), status: 201 }
const NO_KUBELET = 'no preferred addresses found; known addresses: []'

function bind(body: Body, status = 201, more: Partial<Step> = {}): Step {
  const node = { target: { apiVersion: 'v1', kind: 'Node', name: 'n1' } }
  return { path: `${PODS}/p/binding`, body: { metadata: { name: 'p' }, ...node, ...body }, status, ...more }
}

function ephemeral(containers: Body, status = 200, more: Partial<Step> = {}, type = MERGE): Step {
  const path = `${PODS}/p/ephemeralcontainers`
  return { method: 'PATCH', path, type, body: { spec: { ephemeralContainers: containers } }, status, ...more }
}

const RESOURCES = { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '2', memory: '2Gi' } }
const SIZED: Step = {
  path: PODS,
  body: { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i', resources: RESOURCES }] } },
  status: 201,
}

function resize(resources: Body, status = 200, more: Partial<Step> = {}): Step {
  const body = { spec: { containers: [{ name: 'c', resources }] } }
  return { method: 'PATCH', path: `${PODS}/p/resize`, type: STRATEGIC, body, status, ...more }
}

/** The message of an invalid pod, by its lines. */
function invalid(...lines: readonly string[]): Partial<Step> {
  const list = lines.length === 1 ? lines[0] : `[${lines.join(', ')}]`
  return { reason: 'Invalid', message: `Pod "p" is invalid: ${list}` }
}

export const POD_CASES: readonly Case[] = [
  steps('a binding assigns a pod to a node', async function* () {
    yield { ...CREATE, body: { ...CREATE.body, metadata: { name: 'p', labels: { a: '1', l: 'old' } } } }
    yield bind({}, 201, { path: `${PODS}/p/binding?dryRun=All` })
    yield { path: `${PODS}/p`, status: 200, check: (body) => assert.equal(body.spec.nodeName, undefined) }
    yield bind({ metadata: { name: 'p', annotations: { x: 'y' }, labels: { l: 'new' } } }, 201, {
      check: (body) => assert.deepEqual(body, SUCCESS),
    })
    const body = yield { path: `${PODS}/p`, status: 200 }
    assert.equal(body.spec.nodeName, 'n1')
    assert.equal(body.metadata.generation, 1)
    assert.deepEqual([body.metadata.labels, body.metadata.annotations], [{ a: '1', l: 'new' }, { x: 'y' }])
    const [{ lastTransitionTime, ...condition }] = body.status.conditions
    assert.ok(lastTransitionTime)
    assert.deepEqual(condition, { type: 'PodScheduled', status: 'True', lastProbeTime: null })
    yield bind({ target: { kind: 'Node', name: 'n2' } }, 409, {
      reason: 'Conflict',
      message: 'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n1"',
      has: { details: { name: 'p', kind: 'pods/binding' } },
    })
  }),
  steps('an invalid binding is refused', [
    CREATE,
    bind({ metadata: { name: 'q' } }, 400, { message: 'name in URL does not match name in Binding object' }),
    bind({ target: { kind: 'Pod', name: 'n1' } }, 500, {
      reason: '',
      message: 'target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"',
    }),
    bind({ target: {} }, 500, { message: 'target.name: Required value' }),
    bind({ metadata: { name: 'p', uid: 'wrong' } }, 409, {
      check: (body) =>
        assert.match(
          body.message,
          /^Operation cannot be fulfilled on pods "p": StorageError: invalid object, Code: 4, Key: \/registry\/pods\/[^/]+\/p, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: wrong, UID in object meta: /,
        ),
    }),
    bind({ metadata: { name: 'p', resourceVersion: '1' } }, 409, {
      check: (body) =>
        assert.match(body.message, /ResourceVersion in precondition: 1, ResourceVersion in object meta: \d+$/),
    }),
    { path: `${PODS}/none/binding`, body: { metadata: { name: 'none' }, target: { name: 'n' } }, status: 404 },
    { path: `${PODS}/p/binding`, status: 405 },
    { path: `${PODS}/p`, status: 200, check: (body) => assert.equal(body.spec.nodeName, undefined) },
  ]),
  steps('a Binding can be created in its namespace', [
    CREATE,
    {
      path: '/api/v1/namespaces/$NS/bindings',
      body: { metadata: { name: 'p' }, target: { kind: 'Node', name: 'n1' } },
      status: 201,
    },
    { path: `${PODS}/p`, status: 200, has: { spec: { nodeName: 'n1' } } },
    {
      path: '/api/v1/namespaces/$NS/bindings',
      body: { metadata: { name: 'none' }, target: { kind: 'Node', name: 'n1' } },
      status: 404,
      message: 'pods "none" not found',
    },
    { path: '/api/v1/namespaces/$NS/bindings', status: 405 },
    { path: '/api/v1/namespaces/$NS/bindings/x', status: 404 },
  ]),
  steps('a pod with scheduling gates cannot be bound', [
    { path: PODS, body: pod('p', { schedulingGates: [{ name: 'a.b/c' }] }), status: 201 },
    bind({}, 409, {
      message: 'Operation cannot be fulfilled on pods/binding "p": pod p has non-empty .spec.schedulingGates',
    }),
  ]),
  steps('ephemeral containers are added by their subresource only', [
    CREATE,
    { path: `${PODS}/p/ephemeralcontainers`, status: 200, has: { kind: 'Pod', metadata: { name: 'p' } } },
    { path: `${PODS}/p/ephemeralcontainers`, method: 'POST', body: {}, status: 405 },
    ephemeral(
      [{ name: 'd', image: 'busybox', targetContainerName: 'c' }],
      200,
      {
        check(body) {
          assert.equal(body.metadata.generation, 2)
          assert.deepEqual(body.spec.ephemeralContainers, [{
            name: 'd',
            image: 'busybox',
            resources: {},
            terminationMessagePath: '/dev/termination-log',
            terminationMessagePolicy: 'File',
            imagePullPolicy: 'Always',
            targetContainerName: 'c',
          }])
        },
      },
      STRATEGIC,
    ),
    {
      method: 'PATCH',
      path: `${PODS}/p/ephemeralcontainers`,
      type: STRATEGIC,
      body: {
        metadata: { labels: { q: 'r' } },
        spec: { ephemeralContainers: [{ name: 'e', image: 'busybox' }], containers: [{ name: 'c', image: 'other' }] },
      },
      status: 200,
      check(body) {
        assert.deepEqual([body.metadata.labels, body.spec.containers[0].image], [{ app: 'a' }, 'i'])
        assert.deepEqual(body.spec.ephemeralContainers.map((each: Body) => each.name), ['e', 'd'])
        const { subresource, fieldsV1 } = body.metadata.managedFields.at(-1)
        assert.equal(subresource, 'ephemeralcontainers')
        assert.ok(fieldsV1['f:spec']['f:ephemeralContainers']['k:{"name":"e"}'])
      },
    },
    ephemeral(
      null,
      422,
      invalid(
        'spec.ephemeralContainers: Forbidden: existing ephemeral containers "e" may not be removed\n',
        'spec.ephemeralContainers: Forbidden: existing ephemeral containers "d" may not be removed\n',
      ),
    ),
    ephemeral([{ name: 'd', image: 'other', targetContainerName: 'c' }], 422, {
      check: (body) => assert.match(body.message, /existing ephemeral containers "d" may not be changed\n/),
    }, STRATEGIC),
    {
      path: PODS,
      body: { metadata: { name: 'q' }, spec: { ...pod('q').spec, ephemeralContainers: [{ name: 'd', image: 'b' }] } },
      status: 422,
      message: 'Pod "q" is invalid: spec.ephemeralContainers: Forbidden: cannot be set on create',
    },
    {
      method: 'PATCH',
      path: `${PODS}/p`,
      type: STRATEGIC,
      body: { spec: { ephemeralContainers: [{ name: 'g', image: 'b' }] } },
      status: 422,
      check: (body) =>
        assert.match(body.message, /^Pod "p" is invalid: spec: Forbidden: pod updates may not change fields/),
    },
  ]),
  steps('an invalid ephemeral container is refused', [
    CREATE,
    ephemeral([{ name: 'c', image: 'i' }], 422, invalid('spec.ephemeralContainers[0].name: Duplicate value: "c"')),
    ephemeral(
      [{
        name: 'f',
        image: 'i',
        targetContainerName: 'nope',
        ports: [{ containerPort: 80 }],
        resources: { limits: { cpu: '1' } },
        livenessProbe: { httpGet: { port: 80 } },
      }],
      422,
      invalid(
        'spec.ephemeralContainers[0].targetContainerName: Not found: "nope"',
        'spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container',
        'spec.ephemeralContainers[0].resources: Forbidden: cannot be set for an Ephemeral Container',
        'spec.ephemeralContainers[0].livenessProbe: Forbidden: cannot be set for an Ephemeral Container',
      ),
    ),
    { path: `${PODS}/p`, status: 200, check: (body) => assert.equal(body.spec.ephemeralContainers, undefined) },
  ]),
  steps('a resize changes only cpu and memory', [
    SIZED,
    { path: `${PODS}/p/resize`, status: 200, has: { kind: 'Pod' } },
    { path: `${PODS}/p/resize`, method: 'POST', body: {}, status: 405 },
    {
      method: 'PATCH',
      path: `${PODS}/p/resize`,
      type: STRATEGIC,
      body: {
        metadata: { labels: { a: 'b' } },
        spec: { containers: [{ name: 'c', image: 'j', resources: { requests: { cpu: '1500m' } } }] },
      },
      status: 200,
      check(body) {
        assert.equal(body.metadata.generation, 2)
        assert.deepEqual([body.metadata.labels, body.spec.containers[0].image], [undefined, 'i'])
        assert.deepEqual(body.spec.containers[0].resources, {
          requests: { cpu: '1500m', memory: '1Gi' },
          limits: { cpu: '2', memory: '2Gi' },
        })
        assert.equal(body.metadata.managedFields.at(-1).subresource, 'resize')
      },
    },
    // A missing request defaults to the limit.
    resize({ requests: { cpu: null } }, 200, {
      has: { spec: { containers: [{ resources: { requests: { cpu: '2' } } }] } },
    }),
    resize({ limits: { memory: '1500Mi' } }),
    resize(
      { requests: { cpu: '3' } },
      422,
      invalid(
        'spec.containers[0].resources.requests: Invalid value: "3": must be less than or equal to cpu limit of 2',
      ),
    ),
    resize(
      { limits: { cpu: null } },
      422,
      invalid('spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed'),
    ),
    resize(
      { requests: { 'ephemeral-storage': '1Gi' } },
      422,
      invalid('spec: Forbidden: only cpu and memory resources are mutable'),
    ),
    {
      method: 'PATCH',
      path: `${PODS}/p/resize`,
      type: STRATEGIC,
      body: { spec: { containers: [{ name: 'x', resources: {} }] } },
      status: 422,
      ...invalid(
        'spec.containers[0].image: Required value',
        'spec.containers: Forbidden: containers may not be added or removed on resize',
      ),
    },
    {
      method: 'PATCH',
      path: `${PODS}/p`,
      type: STRATEGIC,
      body: { spec: { containers: [{ name: 'c', resources: { requests: { cpu: '1700m' } } }] } },
      status: 422,
      check: (body) =>
        assert.match(body.message, /^Pod "p" is invalid: spec: Forbidden: pod updates may not change fields/),
    },
  ]),
  steps('a resize cannot change the QoS class', [
    SIZED,
    resize(
      { requests: { cpu: '2', memory: '2Gi' } },
      422,
      invalid('spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing'),
    ),
    { method: 'DELETE', path: `${PODS}/p`, status: 200 },
    CREATE,
    resize(
      { requests: { cpu: '2' } },
      422,
      invalid('spec: Invalid value: "BestEffort": Pod QOS Class may not change as a result of resizing'),
    ),
  ]),
  steps('logs without a kubelet', [
    CREATE,
    { path: `${PODS}/p/log`, status: 204 },
    { path: `${PODS}/p/log?container=c`, status: 204 },
    { path: `${PODS}/p/log?container=x`, status: 400, message: 'container x is not valid for pod p' },
    {
      path: `${PODS}/p/log?tailLines=-1`,
      status: 422,
      message: 'PodLogOptions "p" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0',
    },
    { path: `${PODS}/none/log`, status: 404, message: 'pods "none" not found' },
    { path: `${PODS}/p/log`, method: 'POST', body: {}, status: 405 },
    { path: `${PODS}/p/log/x`, status: 404, message: 'the server could not find the requested resource' },
    {
      path: PODS,
      body: pod('two', { containers: [{ name: 'c', image: 'i' }, { name: 'd', image: 'i' }] }),
      status: 201,
    },
    {
      path: `${PODS}/two/log`,
      status: 400,
      message: 'a container name must be specified for pod two, choose one of: [c d]',
    },
    { path: '/api/v1/nodes', body: { metadata: { name: '$NS-log' } }, status: 201 },
    { path: PODS, body: pod('on', { nodeName: '$NS-log' }), status: 201 },
    { path: `${PODS}/on/log`, status: 500, reason: '', message: NO_KUBELET },
    { path: PODS, body: pod('lost', { nodeName: '$NS-gone' }), status: 201 },
    { path: `${PODS}/lost/log`, status: 404, message: 'pods "$NS-gone" not found' },
    { path: `${PODS}/lost/exec`, method: 'POST', status: 404, message: 'pods "$NS-gone" not found' },
  ]),
  steps('exec, attach and portforward without a kubelet', [
    CREATE,
    { path: '/api/v1/nodes', body: { metadata: { name: '$NS-exec' } }, status: 201 },
    { path: PODS, body: pod('on', { nodeName: '$NS-exec' }), status: 201 },
    ...['exec?command=ls&stdout=true', 'attach?stdout=true', 'portforward'].flatMap((sub): Step[] => [
      { method: 'POST', path: `${PODS}/p/${sub}`, status: 400, message: 'pod p does not have a host assigned' },
      { method: 'POST', path: `${PODS}/none/${sub}`, status: 404, message: 'pods "none" not found' },
      { method: 'POST', path: `${PODS}/on/${sub}`, status: 500, message: NO_KUBELET },
      { path: `${PODS}/p/${sub}`, status: 400, message: 'pod p does not have a host assigned' },
      { method: 'DELETE', path: `${PODS}/p/${sub}`, status: 405 },
    ]),
  ]),
  steps('proxies without a kubelet', [
    CREATE,
    { path: `${PODS}/p/proxy`, status: 400, message: 'address not allowed' },
    { path: `${PODS}/p/proxy/a/b`, status: 400, message: 'address not allowed' },
    { path: `${PODS}/none/proxy/`, status: 404, message: 'pods "none" not found' },
    { path: '/api/v1/nodes', body: { metadata: { name: '$NS' } }, status: 201 },
    { path: '/api/v1/nodes/$NS/proxy/', status: 500, message: NO_KUBELET },
    { path: '/api/v1/nodes/$NS-none/proxy/', status: 404, message: 'nodes "$NS-none" not found' },
    {
      path: '/api/v1/namespaces/$NS/services',
      body: { metadata: { name: 's' }, spec: { ports: [{ port: 80 }] } },
      status: 201,
    },
    { path: '/api/v1/namespaces/$NS/services/s/proxy/x', status: 404, message: 'services "s" not found' },
    { path: '/api/v1/namespaces/$NS/services/http:s:80/proxy', status: 404, message: 'services "s" not found' },
    {
      path: '/api/v1/namespaces/$NS/services/s:81/proxy/',
      status: 503,
      reason: 'ServiceUnavailable',
      message: 'no service port 81 found for service "s"',
    },
  ]),
  steps('an unknown subresource is not found', [
    CREATE,
    { path: `${PODS}/p/foo`, status: 404, message: 'the server could not find the requested resource' },
    { path: '/api/v1/namespaces/$NS/configmaps/p/eviction', method: 'POST', body: {}, status: 404 },
  ]),
  steps('a ReplicationController can be scaled', [
    {
      path: '/api/v1/namespaces/$NS/replicationcontrollers',
      body: {
        metadata: { name: 'r' },
        spec: {
          replicas: 1,
          selector: { a: 'b' },
          template: { metadata: { labels: { a: 'b' } }, spec: pod('x').spec },
        },
      },
      status: 201,
    },
    {
      path: '/api/v1/namespaces/$NS/replicationcontrollers/r/scale',
      status: 200,
      has: { kind: 'Scale', spec: { replicas: 1 }, status: { replicas: 0, selector: 'a=b' } },
    },
    {
      method: 'PATCH',
      path: '/api/v1/namespaces/$NS/replicationcontrollers/r/scale',
      type: MERGE,
      body: { spec: { replicas: 3 } },
      status: 200,
      has: { spec: { replicas: 3 } },
    },
    { path: '/api/v1/namespaces/$NS/replicationcontrollers/r', status: 200, has: { spec: { replicas: 3 } } },
  ]),
]
