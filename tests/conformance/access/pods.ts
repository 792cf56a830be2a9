/** Cases of bindings, of the parts of a pod with their own subresource, and of what a kubelet would answer. */
import type { Body } from '../api.ts'
import { type Script, script, type Step } from '../transcript.ts'
import { pod } from './granting.ts'

const CREATE: Step = ['POST ns/pods', pod('p')]
const NODE = { target: { apiVersion: 'v1', kind: 'Node', name: 'n1' } }
const METADATA = 'metadata.generation metadata.labels metadata.annotations'

const bind = (body: Body = {}, line = 'POST ns/pods/p/binding'): Step => [
  line,
  { metadata: { name: 'p' }, ...NODE, ...body },
]
const ephemeral = (ephemeralContainers: Body, method = 'MERGE', shows = ''): Step => [
  `${method} ns/pods/p/ephemeralcontainers${shows}`,
  { spec: { ephemeralContainers } },
]
const resize = (resources: Body, shows = '', name = 'c'): Step => [
  `STRATEGIC ns/pods/p/resize${shows}`,
  { spec: { containers: [{ name, resources }] } },
]
const RESOURCES = { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '2', memory: '2Gi' } }

export const POD_CASES: readonly Script[] = [
  script('a binding assigns a pod to a node', [
    ['POST ns/pods', {
      ...pod('p'),
      metadata: { name: 'p', labels: { a: '1', l: 'old' }, annotations: { b: '2', x: 'old' } },
    }],
    ['MERGE ns/pods/p/status ? status.nominatedNodeName', { status: { nominatedNodeName: 'n0' } }],
    bind({}, 'POST ns/pods/p/binding?dryRun=All'),
    'GET ns/pods/p ? spec.nodeName',
    bind({ metadata: { name: 'p', annotations: { x: 'y' }, labels: { l: 'new' } } }, 'POST ns/pods/p/binding ? .'),
    `GET ns/pods/p ? spec.nodeName status.nominatedNodeName status.conditions ${METADATA}`,
    bind({ target: { kind: 'Node', name: 'n2' } }),
  ]),
  script('an invalid binding is refused', [
    CREATE,
    bind({ metadata: { name: 'q' } }),
    bind({ target: { kind: 'Pod', name: 'n1' } }),
    bind({ target: {} }),
    bind({ metadata: { name: 'p', uid: 'wrong' } }),
    bind({ metadata: { name: 'p', resourceVersion: '1' } }),
    ['POST ns/pods/none/binding', { metadata: { name: 'none' }, target: { name: 'n' } }],
    'GET ns/pods/p/binding',
    'GET ns/pods/p ? spec.nodeName',
  ]),
  script('a Binding can be created in its namespace', [
    CREATE,
    bind({}, 'POST ns/bindings'),
    'GET ns/pods/p ? spec.nodeName',
    bind({ metadata: { name: 'none' } }, 'POST ns/bindings'),
    'GET ns/bindings',
    'GET ns/bindings/x',
  ]),
  script('a pod with scheduling gates cannot be bound', [
    ['POST ns/pods', pod('p', { schedulingGates: [{ name: 'a.b/c' }] })],
    bind(),
  ]),
  script('ephemeral containers are added by their subresource only', [
    CREATE,
    'GET ns/pods/p/ephemeralcontainers ? kind metadata.name',
    ['POST ns/pods/p/ephemeralcontainers', {}],
    ephemeral(
      [{ name: 'd', image: 'busybox', targetContainerName: 'c' }],
      'STRATEGIC',
      ' ? metadata.generation spec.ephemeralContainers',
    ),
    [
      'STRATEGIC ns/pods/p/ephemeralcontainers ? metadata.labels spec.containers.0.image spec.ephemeralContainers metadata.managedFields',
      {
        metadata: { labels: { q: 'r' } },
        spec: { ephemeralContainers: [{ name: 'e', image: 'busybox' }], containers: [{ name: 'c', image: 'other' }] },
      },
    ],
    ephemeral(null),
    ephemeral([{ name: 'd', image: 'other', targetContainerName: 'c' }], 'STRATEGIC'),
    ['POST ns/pods', pod('q', { ephemeralContainers: [{ name: 'd', image: 'b' }] })],
    ['STRATEGIC ns/pods/p', { spec: { ephemeralContainers: [{ name: 'g', image: 'b' }] } }],
  ]),
  script('an invalid ephemeral container is refused', [
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
    'GET ns/pods/p ? spec.ephemeralContainers',
  ]),
  script('a resize changes only cpu and memory', [
    ['POST ns/pods', {
      metadata: { name: 'p' },
      spec: { containers: [{ name: 'c', image: 'i', resources: RESOURCES }] },
    }],
    'GET ns/pods/p/resize ? kind',
    ['POST ns/pods/p/resize', {}],
    [
      'STRATEGIC ns/pods/p/resize ? metadata.generation metadata.labels spec.containers.0.image spec.containers.0.resources metadata.managedFields',
      {
        metadata: { labels: { a: 'b' } },
        spec: { containers: [{ name: 'c', image: 'j', resources: { requests: { cpu: '1500m' } } }] },
      },
    ],
    // A missing request defaults to the limit.
    resize({ requests: { cpu: null } }, ' ? spec.containers'),
    resize({ limits: { memory: '1500Mi' } }),
    resize({ requests: { cpu: '3' } }),
    resize({}, '', 'x'),
    ['STRATEGIC ns/pods/p', { spec: { containers: [{ name: 'c', resources: { requests: { cpu: '1700m' } } }] } }],
  ]),
  script('logs without a kubelet', [
    CREATE,
    'GET ns/pods/p/log',
    'GET ns/pods/p/log?container=c',
    'GET ns/pods/p/log?container=x',
    'GET ns/pods/p/log?tailLines=-1',
    'GET ns/pods/none/log',
    ['POST ns/pods/p/log', {}],
    'GET ns/pods/p/log/x',
    ['POST ns/pods', pod('two', { containers: [{ name: 'c', image: 'i' }, { name: 'd', image: 'i' }] })],
    'GET ns/pods/two/log',
    ['POST /api/v1/nodes', { metadata: { name: '{ns}-log' } }],
    ['POST ns/pods', pod('on', { nodeName: '{ns}-log' })],
    'GET ns/pods/on/log',
  ]),
  script('exec, attach, portforward and proxies without a kubelet', [
    CREATE,
    ['POST /api/v1/nodes', { metadata: { name: '{ns}-exec' } }],
    ['POST ns/pods', pod('on', { nodeName: '{ns}-exec' })],
    ...['exec?command=ls&stdout=true', 'attach?stdout=true', 'portforward'].flatMap((part) =>
      ['p', 'none', 'on'].map((name) => `POST ns/pods/${name}/${part}`)
    ),
    'GET ns/pods/none/proxy/',
    'GET /api/v1/nodes/{ns}-exec/proxy/',
    'GET /api/v1/nodes/{ns}-none/proxy/',
  ]),
]
