/** Cases of LimitRanges and ResourceQuotas. */
import assert from 'node:assert/strict'
import type { Api, Body, Case } from './api.ts'
import { casesOf, cm, type Script, type Step } from './transcript.ts'

type Setup = NonNullable<Script['setup']>

/** Returns a pod with containers of these requests and limits; `init` are those of its start. */
function pod(own: readonly Body[], init: readonly Body[] = [], spec: Body = {}, name = 'p'): Body {
  const containers = (all: readonly Body[], prefix: string): Body[] =>
    all.map(({ restartPolicy, ...resources }, index) => ({
      name: `${prefix}${index}`,
      image: 'i',
      resources,
      ...(restartPolicy && { restartPolicy }),
    }))
  const initContainers = init.length > 0 ? containers(init, 'i') : undefined
  const metadata = { name, annotations: { a: 'b' } }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata,
    spec: { containers: containers(own, 'c'), initContainers, ...spec },
  }
}

const claim = (storage: string, name = 'c'): Body => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage } } },
})

/** Sends a request again until the answer contains a text: a real server reads ranges and quotas from a cache. */
async function until(api: Api, text: string, path: string, body: Body): Promise<void> {
  for (let tries = 0; tries < 5000; tries++) {
    const answer = await api.request('POST', `${path}?dryRun=All`, body)
    if (JSON.stringify(answer.body).includes(text)) return
  }
  assert.fail(`no answer had ${text}`)
}

const core = (api: Api, plural: string): string => `/api/v1/namespaces/${api.namespace}/${plural}`

/** Creates a LimitRange, and waits until `probe` meets it. */
const range = (limits: readonly Body[], probe: Body = pod([{}]), text = 'imit'): Setup => async (api) => {
  const body = { apiVersion: 'v1', kind: 'LimitRange', metadata: { name: 'r' }, spec: { limits } }
  await api.expect(201, 'POST', core(api, 'limitranges'), body)
  await until(api, text, core(api, `${probe.kind.toLowerCase()}s`), probe)
  return {}
}

const amounts = (cpu: string, memory: string): Body => ({ cpu, memory })
const both = (request: Body, limit: Body): Body => ({ requests: request, limits: limit })
const shown =
  '? metadata.annotations spec.containers.0.resources spec.containers.1.resources spec.initContainers.0.resources'
const creating = (body: Body): Step => [`POST ns/pods?dryRun=All ${shown}`, body]

const DEFAULTS: Script = {
  name: 'limits: containers get the defaults of a LimitRange, with a note',
  setup: range(
    [{ type: 'Container', default: amounts('2', '1Gi'), defaultRequest: { cpu: '1' } }],
    pod([{}]),
    'imit-ranger',
  ),
  steps: [
    creating(pod([{}])),
    creating(pod([{ requests: { memory: '10Mi' } }, { limits: { cpu: '3' } }], [{}])),
    creating(pod([both(amounts('1', '1Mi'), amounts('1', '1Mi'))])),
    ['POST ns/pods?dryRun=All ? metadata.managedFields', pod([{}])],
  ],
}

/** Creates objects that a range does not allow before it is there. */
const before = (plural: string, body: Body, setup: Setup): Setup => async (api) => {
  await api.expect(201, 'POST', core(api, plural), body)
  return setup(api)
}

const resize = (request: Body): Step => [
  'MERGE ns/pods/old/resize',
  { spec: { containers: [{ name: 'c0', resources: { requests: request } }] } },
]

const CONTAINERS: Script = {
  name: 'limits: what a container must have',
  setup: before(
    'pods',
    pod([{ requests: { cpu: '50m', memory: '1Gi' } }], [], {}, 'old'),
    range(
      [{
        type: 'Container',
        min: { cpu: '100m' },
        max: { cpu: '2' },
        maxLimitRequestRatio: { memory: '2' },
      }],
      pod([{}]),
      ' per ',
    ),
  ),
  steps: [
    ...[
      [{ cpu: '200m' }, { cpu: '1' }],
      [{ cpu: '50m' }, { cpu: '50m' }],
      [{ cpu: '200m', memory: '1Gi' }, { cpu: '3', memory: '2Gi' }],
      [{ memory: '1Gi' }, { memory: '2.5Gi' }],
      [{ memory: '1Gi' }, { memory: '2Gi' }],
      [{ memory: '0' }, { memory: '2Gi' }],
      [{ memory: '1Gi' }, {}],
      [{ cpu: '99m', memory: '1Gi' }, { cpu: '2', memory: '3Gi' }],
    ].map(([request, limit]): Step => ['POST ns/pods?dryRun=All', pod([both(request, limit)])]),
    [
      'POST ns/pods?dryRun=All',
      pod([both(amounts('1', '1Gi'), amounts('1', '1Gi'))], [both(amounts('3', '1Gi'), amounts('3', '1Gi'))]),
    ],
    ['MERGE ns/pods/old', { metadata: { labels: { x: 'y' } } }],
    resize(amounts('60m', '1Gi')),
  ],
}

const small = both({ cpu: '600m', memory: '600Mi' }, { cpu: '600m', memory: '600Mi' })
const big = both(amounts('2', '2Gi'), amounts('2', '2Gi'))
const PODS: Script = {
  name: 'limits: what a pod must have together, with the containers of its start',
  setup: range(
    [{ type: 'Pod', min: { cpu: '500m' }, max: { memory: '1Gi' }, maxLimitRequestRatio: { cpu: '1500m' } }],
    pod([{}]),
    ' per ',
  ),
  steps: [
    pod([{}]),
    pod([small]),
    pod([small, small]),
    pod([small], [small]),
    pod([small], [{ ...small, restartPolicy: 'Always' }]),
    pod([both({ cpu: '100m' }, { cpu: '100m', memory: '1Mi' })], [{ ...small, restartPolicy: 'Always' }, small]),
    pod([small], [big]),
    pod([both({ cpu: '600m' }, { cpu: '950m', memory: '1025Mi' })]),
    pod([both({ cpu: '600m' }, { cpu: '950m', memory: '1Gi' })]),
    pod([small], [], { resources: big }),
    pod([both({ cpu: '499m', memory: '1Mi' }, { cpu: '499m', memory: '1000000000' })]),
  ].map((body): Step => ['POST ns/pods?dryRun=All', body]),
}

const CLAIMS: Script = {
  name: 'limits: what a claim must request',
  setup: before(
    'persistentvolumeclaims',
    { ...claim('3Gi', 'old'), metadata: { name: 'old', finalizers: ['a.b/c'] } },
    range([{ type: 'PersistentVolumeClaim', min: { storage: '1Gi' }, max: { storage: '2Gi' } }], claim('1Mi'), ' per '),
  ),
  steps: [
    ['POST ns/persistentvolumeclaims', claim('1000Mi')],
    ['POST ns/persistentvolumeclaims', claim('3Gi')],
    ['POST ns/persistentvolumeclaims', claim('1536Mi')],
    ['MERGE ns/persistentvolumeclaims/old', { metadata: { labels: { x: 'y' } } }],
    ['MERGE ns/persistentvolumeclaims/old/status', { status: { phase: 'Bound' } }],
    'DELETE ns/persistentvolumeclaims/old',
    ['MERGE ns/persistentvolumeclaims/old', { metadata: { labels: { x: 'y' } } }],
  ],
}

/** Creates a quota of the case's namespace whose status is as in a new namespace, and waits until it is used. */
const quota = (given: Body): Setup => async (api) => {
  const hard = { 'count/leases.coordination.k8s.io': '0', ...given }
  const body = { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'q' }, spec: { hard } }
  await api.expect(201, 'POST', core(api, 'resourcequotas'), body)
  const used = Object.fromEntries(Object.keys(hard).map((name) => [name, name.includes('resourcequotas') ? '1' : '0']))
  // No controller of a real server of the suite does it.
  const path = `${core(api, 'resourcequotas')}/q/status`
  await api.expect(200, 'PATCH', path, { status: { hard, used } }, { type: 'application/merge-patch+json' })
  const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'probe' }, spec: {} }
  await until(api, 'exceeded quota', api.leases, lease)
  return {}
}

const service = (name: string, spec: Body): Body => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec: { ports: [{ name: 'a', port: 80 }, { name: 'b', port: 81 }], ...spec },
})
const USED = 'GET ns/resourcequotas/q ? status.used'

const COUNTS: Script = {
  name: 'limits: a quota counts objects, in either form, and custom ones',
  setup: (api) =>
    quota({
      configmaps: '2',
      'count/configmaps': '2',
      'count/deployments.apps': '1',
      [`count/foos.${api.group}`]: '1',
      secrets: '0',
      resourcequotas: '1',
    })(api),
  steps: [
    ...['a', 'b'].map((name): Step => ['POST cm', cm(name)]),
    ['POST cm?dryRun=All', cm('c')],
    ['POST cm', cm('c')],
    ['MERGE cm/a', { data: { x: 'y' } }],
    ['APPLY cm/d?fieldManager=m', cm('d')],
    ...['a', 'b'].map((
      name,
    ): Step => ['POST foos', { apiVersion: '{group}/v1', kind: 'Foo', metadata: { name }, spec: { size: 1 } }]),
    ['POST ns/secrets', { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' } }],
    ['POST ns/secrets', { apiVersion: 'v1', kind: 'Secret', metadata: { generateName: 'gen-' } }],
    ['POST ns/resourcequotas', { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'other' } }],
    USED,
  ],
}

const SERVICES: Script = {
  name: 'limits: a quota counts services, their balancers and node ports, also when they change',
  setup: quota({ services: '3', 'services.loadbalancers': '1', 'services.nodeports': '4' }),
  steps: [
    ['POST ns/services', service('plain', {})],
    ['POST ns/services', service('ports', { type: 'NodePort' })],
    ['POST ns/services', service('balanced', { type: 'LoadBalancer', allocateLoadBalancerNodePorts: false })],
    ['MERGE ns/services/plain', { spec: { type: 'LoadBalancer' } }],
    USED,
    ['MERGE ns/services/plain', { spec: { type: 'NodePort' } }],
    ['MERGE ns/services/balanced', { spec: { allocateLoadBalancerNodePorts: true } }],
    ['POST ns/services', service('more', { type: 'LoadBalancer' })],
    USED,
  ],
}

/** Sets the status of a quota as its controller does. No controller of a real server of the suite does it. */
async function scopedQuota(api: Api, name: string, hard: Body, scope: Body): Promise<void> {
  const body = { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name }, spec: { hard, ...scope } }
  await api.expect(201, 'POST', core(api, 'resourcequotas'), body)
  const used = Object.fromEntries(Object.keys(hard).map((each) => [each, '0']))
  const path = `${core(api, 'resourcequotas')}/${name}/status`
  await api.expect(200, 'PATCH', path, { status: { hard, used } }, { type: 'application/merge-patch+json' })
}

const scopedPod = (name: string, own: Body, spec: Body = {}): Step => ['POST ns/pods', pod([own], [], spec, name)]
const burstable = { requests: { cpu: '1' } }

const SCOPED: Script = {
  name: 'limits: a quota with scopes counts what is in all of them',
  async setup(api) {
    await scopedQuota(api, 'best-effort', { pods: '1' }, { scopes: ['BestEffort'] })
    await scopedQuota(api, 'ending', { pods: '1', cpu: '3' }, { scopes: ['Terminating', 'NotBestEffort'] })
    return quota({})(api)
  },
  steps: [
    scopedPod('a', burstable),
    scopedPod('b', burstable, { activeDeadlineSeconds: 9 }),
    scopedPod('c', burstable, { activeDeadlineSeconds: 9 }),
    ...['best-effort', 'ending'].map((name): Step => `GET ns/resourcequotas/${name} ? status.used`),
    ['MERGE ns/resourcequotas/ending', { spec: { scopes: ['Terminating'] } }],
  ],
}

const COMPUTE: Script = {
  name: 'limits: a quota counts what pods request and are limited to, and requires that they say it',
  setup: quota({
    pods: '3',
    'count/pods': '4',
    cpu: '2',
    'requests.memory': '2Gi',
    'limits.cpu': '3',
    'requests.example.com/gpu': '1',
    'requests.storage': '3Gi',
    persistentvolumeclaims: '2',
  }),
  steps: [
    ['POST ns/pods', pod([{}, { requests: { cpu: '1' } }], [{}])],
    ['POST ns/pods', pod([both({ cpu: '500m', memory: '1536Mi' }, { cpu: '1' })], [], {}, 'a')],
    USED,
    ['POST ns/pods', pod([both({ cpu: '1600m', memory: '1Gi' }, { cpu: '2100m' })], [], {}, 'b')],
    [
      'POST ns/pods',
      pod(
        [both({ cpu: '1', memory: '1Mi', 'example.com/gpu': '2' }, { cpu: '1', 'example.com/gpu': '2' })],
        [],
        {},
        'b',
      ),
    ],
    ['POST ns/pods', pod([both({ cpu: '250m', memory: '1Mi' }, { cpu: '1' })], [], {}, 'c')],
    USED,
    ['POST ns/pods', pod([{}], [], { resources: both({ cpu: '100m', memory: '1Mi' }, { cpu: '200m' }) }, 'd')],
    ['POST ns/pods', pod([both({ cpu: '1m', memory: '1' }, { cpu: '1m' })], [], {}, 'e')],
    ['MERGE ns/pods/a', { metadata: { labels: { x: 'y' } } }],
    ['MERGE ns/pods/a/resize', {
      spec: { containers: [{ name: 'c0', resources: both({ cpu: '2', memory: '1536Mi' }, { cpu: '2' }) }] },
    }],
    ['POST ns/persistentvolumeclaims', claim('2Gi', 'a')],
    ['POST ns/persistentvolumeclaims', claim('1536Mi', 'b')],
    ['POST ns/persistentvolumeclaims', claim('1Gi', 'b')],
    ['POST ns/persistentvolumeclaims', claim('1', 'c')],
    USED,
  ],
}

/** Labels the namespace, and waits until the server uses that. */
const secured = (labels: Readonly<Record<string, string>>, text = 'PodSecurity'): Setup => async (api) => {
  await api.expect(201, 'POST', core(api, 'pods'), pod([{}], [], {}, 'old'))
  const named = Object.fromEntries(
    Object.entries(labels).map(([key, value]) => [`pod-security.kubernetes.io/${key}`, value]),
  )
  const path = `/api/v1/namespaces/${api.namespace}`
  await api.expect(200, 'PATCH', path, { metadata: { labels: named } }, { type: 'application/merge-patch+json' })
  const probe = pod([{}], [], { hostNetwork: true })
  for (let tries = 0; tries < 5000; tries++) {
    const answer = await api.request('POST', `${core(api, 'pods')}?dryRun=All`, probe)
    if (`${answer.body.message} ${answer.headers['warning']}`.includes(text)) return {}
  }
  assert.fail('Pod Security was never used')
}

const c = (name: string, securityContext: Body = {}, more: Body = {}): Body => ({
  name,
  image: 'i',
  securityContext,
  ...more,
})
const spec = (own: readonly Body[], more: Body = {}): Body => ({ containers: own, ...more })
const safe = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  runAsNonRoot: true,
  seccompProfile: { type: 'RuntimeDefault' },
}
const CAPABILITIES =
  'AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID SETPCAP ' +
  'SETUID SYS_CHROOT'
const SYSCTLS =
  'kernel.shm_rmid_forced net.ipv4.ip_local_port_range net.ipv4.tcp_syncookies net.ipv4.ping_group_range ' +
  'net.ipv4.ip_unprivileged_port_start net.ipv4.ip_local_reserved_ports net.ipv4.tcp_keepalive_time net.ipv4.tcp_wmem ' +
  'net.ipv4.tcp_fin_timeout net.ipv4.tcp_keepalive_intvl net.ipv4.tcp_keepalive_probes net.ipv4.tcp_rmem'
const VOLUMES = {
  ...{ configMap: { name: 'x' }, csi: { driver: 'x' }, downwardAPI: {}, emptyDir: {}, image: { reference: 'x' } },
  ...{ ephemeral: { volumeClaimTemplate: { spec: claim('1Gi').spec } }, persistentVolumeClaim: { claimName: 'x' } },
  ...{ projected: {}, secret: { secretName: 'x' } },
}
/** What is allowed, all of it. */
const ALLOWED = {
  volumes: Object.entries(VOLUMES).map(([type, source], index) => ({ name: `v${index}`, [type]: source })),
  securityContext: { sysctls: SYSCTLS.split(' ').map((name) => ({ name, value: '1' })) },
}

const SPECS: readonly Body[] = [
  spec([c('a', { ...safe, capabilities: { drop: ['ALL'], add: CAPABILITIES.split(' ') } })], ALLOWED),
  spec([c('a', safe)]),
  spec([c('a', { runAsUser: 0 })], { hostUsers: false }),
  spec([c('a'), c('b', safe)], { initContainers: [c('i')] }),
  spec([c('a', safe)], { hostNetwork: true, hostPID: true, hostIPC: true }),
  spec([c('a', { ...safe, capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE', 'CHOWN', 'SYS_ADMIN'] } })]),
  spec([c('a', { ...safe, capabilities: { drop: ['X'], add: ['KILL'] } }), c('b', { ...safe, capabilities: {} })]),
  spec([c('a', safe)], {
    volumes: [{ name: 'h', hostPath: { path: '/' } }, { name: 'n', nfs: { server: 's', path: '/' } }, {
      name: 'e',
      emptyDir: {},
    }],
  }),
  spec([c('a', safe, { ports: [{ containerPort: 80, hostPort: 80 }, { containerPort: 81, hostPort: 81 }] })]),
  spec([c('a', safe, {
    livenessProbe: { httpGet: { port: 80, host: 'h' } },
    lifecycle: {
      preStop: { tcpSocket: { port: 80, host: 'g' } },
      postStart: { httpGet: { port: 80, host: 'f' } },
    },
  })]),
  spec([c('a', { ...safe, allowPrivilegeEscalation: true, privileged: true })]),
  spec([c('a', { ...safe, procMount: 'Unmasked' })], { hostUsers: false, securityContext: { runAsNonRoot: true } }),
  spec([c('a', { ...safe, seLinuxOptions: { type: 'spc_t', role: 'r' } })], {
    securityContext: { seLinuxOptions: { user: 'u' } },
  }),
  spec([c('a', { ...safe, seccompProfile: { type: 'Unconfined' }, appArmorProfile: { type: 'Unconfined' } })]),
  spec([c('a', { ...safe, seccompProfile: undefined })], {
    securityContext: { seccompProfile: { type: 'Unconfined' } },
  }),
  spec([c('a', { ...safe, seccompProfile: undefined, runAsNonRoot: undefined })], {
    securityContext: { seccompProfile: { type: 'Localhost', localhostProfile: 'x' }, runAsNonRoot: true },
  }),
  spec([c('a', safe)], {
    securityContext: { sysctls: [{ name: 'net.ipv4.tcp_rmem', value: '1' }, { name: 'a.b', value: '1' }] },
  }),
  spec([c('a', { ...safe, runAsNonRoot: false, runAsUser: 0 }), c('b', { ...safe, runAsNonRoot: undefined })], {
    securityContext: { runAsUser: 0, runAsNonRoot: false },
  }),
]

const SECURITY: readonly Script[] = ['baseline', 'restricted'].map((level) => ({
  name: `limits: what pods must not have at the level ${level}`,
  setup: secured({ enforce: level }),
  steps: SPECS.map((each): Step => ['POST ns/pods?dryRun=All', { metadata: { name: 'p' }, spec: each }]),
}))

const template = { metadata: { labels: { app: 'x' } }, spec: spec([c('a')]) }
const selector = { matchLabels: { app: 'x' } }
const job = { template: { spec: { ...spec([c('a')]), restartPolicy: 'Never' } } }
const MODES: readonly Script[] = [
  {
    name: 'limits: pods are refused, and templates get warnings',
    setup: secured({ enforce: 'restricted', 'enforce-version': 'v1.36' }),
    steps: [
      ['POST ns/pods', { metadata: { generateName: 'gen-' }, spec: spec([c('a')]) }],
      ['POST deploy', { metadata: { name: 'd' }, spec: { selector, template } }],
      ...['statefulsets', 'daemonsets', 'replicasets'].map((plural): Step => [
        `POST /apis/apps/v1/namespaces/{ns}/${plural}`,
        {
          metadata: { name: 'd' },
          spec: { selector, template, ...(plural === 'statefulsets' && { serviceName: 's' }) },
        },
      ]),
      ['POST ns/replicationcontrollers', { metadata: { name: 'r' }, spec: { selector: { app: 'x' }, template } }],
      ['MERGE deploy/d', { spec: { replicas: 2 } }],
      ['MERGE deploy/d/scale', { spec: { replicas: 3 } }],
      ['POST /apis/batch/v1/namespaces/{ns}/jobs', { metadata: { name: 'j' }, spec: job }],
      ['POST /apis/batch/v1/namespaces/{ns}/cronjobs', {
        metadata: { name: 'c' },
        spec: { schedule: '0 0 * * *', jobTemplate: { spec: job } },
      }],
      ['POST ns/podtemplates', { metadata: { name: 't' }, template }],
      ['MERGE ns/pods/old', { metadata: { labels: { x: 'y' } } }],
      ['MERGE ns/pods/old', { spec: { containers: [{ name: 'c0', image: 'j' }] } }],
      ['MERGE ns/pods/old/status', { status: { phase: 'Running' } }],
      ['MERGE ns/pods/old/ephemeralcontainers', { spec: { ephemeralContainers: [{ name: 'd', image: 'i' }] } }],
    ],
  },
  {
    name: 'limits: a namespace can warn of pods that it allows',
    setup: secured(
      { enforce: 'privileged', warn: 'restricted', 'warn-version': 'latest', audit: 'baseline' },
      'restricted',
    ),
    steps: [
      ['POST ns/pods?dryRun=All', { metadata: { name: 'p' }, spec: spec([c('a')]) }],
      ...['enforce', 'warn-version', 'audit'].map((key): Step => [
        'MERGE /api/v1/namespaces/{ns}?dryRun=All',
        { metadata: { labels: { [`pod-security.kubernetes.io/${key}`]: 'x' } } },
      ]),
      ['POST /api/v1/namespaces?dryRun=All', {
        metadata: { name: 'x', labels: { 'pod-security.kubernetes.io/warn': 'all' } },
      }],
    ],
  },
]

export const LIMIT_CASES: readonly Case[] = casesOf('limits', [
  ...[DEFAULTS, CONTAINERS, PODS, CLAIMS, COUNTS, SERVICES, COMPUTE, SCOPED],
  ...SECURITY,
  ...MODES,
])
