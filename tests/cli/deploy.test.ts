/** Tests the objects of `kubeloop manifests`: rights, workload and hints of an operator's description. */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { loadAll } from 'js-yaml'
import { defineResource, type KubeObject, type Operator, operator } from 'kubeloop'
import { type CacheNamespaces } from 'kubeloop/parts'
import { ConfigMap, Node, Secret } from 'kubeloop/kinds'
import { cel } from 'kubeloop/schema'
import * as z from 'zod'
import { describeDeployment } from '../../lib/cli/deploy/describe.ts'
import { type Definitions, deploymentOf } from '../../lib/cli/deploy/objects.ts'
import type { DeployOptions } from '../../lib/cli/deploy/options.ts'
import type { AnyObject } from '../../lib/cli/deploy/files.ts'
import { kustomizeCaution } from '../../lib/cli/deploy/kustomize.ts'
import { load } from '../../lib/cli/load.ts'
import { reachable } from '../../lib/cli/deploy/ports.ts'
import { ownRights, rightsOf } from '../../lib/cli/deploy/rights.ts'
import { hasWebhooks } from '../../lib/operator/description.ts'
import { describeWebhooks } from '../../lib/operator/webhooks.ts'
import { inFolder } from './dev_command.ts'
import { pageText } from '../tools/docs.ts'

const Foo = defineResource({
  group: 'deploy.example.com',
  version: 'v1',
  kind: 'Foo',
  spec: z.object({ n: z.int32() }),
  status: z.object({ ready: z.boolean() }),
})
const OldFoo = defineResource({ group: 'deploy.example.com', version: 'v1beta1', kind: 'Foo', spec: z.object({}) })
const Plain = defineResource({ group: 'deploy.example.com', version: 'v1', kind: 'Plain', spec: z.object({}) })

/** Returns the rules as `place: verbs group/resource [names]`. */
function rules(app: Operator, namespace = 'here'): string[] {
  const { everywhere, inNamespaces } = rightsOf(app.description, namespace)
  return [['*', everywhere] as const, ...inNamespaces].flatMap(([place, all]) =>
    all.map(({ apiGroups, resources, verbs, resourceNames }) =>
      `${place}: ${verbs.join(',')} ${apiGroups[0]}/${resources.join(',')}${
        resourceNames ? ` [${resourceNames.join(',')}]` : ''
      }`
    )
  )
}

const READ = 'get,list,watch'
const CRDS = 'apiextensions.k8s.io/customresourcedefinitions'

/** Of the configurations that an earlier release may have left. */
const leftovers = (verbs: string): string[] =>
  ['mutating', 'validating'].map((kind) =>
    `*: ${verbs} admissionregistration.k8s.io/${kind}webhookconfigurations [a-${kind}-webhook-configuration]`
  )

test('rights: what is watched is read, what is owned is written, and the status of own kinds with one', () => {
  const app = operator({ name: 'a' })
  app.controllerFor(Foo).owns(ConfigMap).watches(Secret, () => []).reconcile(async () => {})
  app.cache(Plain)
  assert.deepEqual(rules(app), [
    `*: ${READ},create,update,patch,delete /configmaps`,
    `*: ${READ} /secrets`,
    ...leftovers('get'),
    `*: get ${CRDS} [foos.deploy.example.com,plains.deploy.example.com]`,
    `*: ${READ} deploy.example.com/foos,plains`,
    '*: update deploy.example.com/foos/finalizers',
    '*: get,update,patch deploy.example.com/foos/status',
    '*: create,patch events.k8s.io/events',
  ])
})

test('rights: a finalizer patches its kind, and its Events are in the namespace of the objects', () => {
  const app = operator({ name: 'a', namespaces: ['east', 'west'] })
  app.controllerFor(Plain).finalize(async () => {}).reconcile(async () => {})
  app.controllerFor(Node, { name: 'nodes' }).reconcile(async () => {})
  const found = rules(app)
  for (const place of ['east', 'west']) {
    assert.ok(found.includes(`${place}: ${READ},patch deploy.example.com/plains`), found.join('\n'))
    assert.ok(found.includes(`${place}: create,patch events.k8s.io/events`), found.join('\n'))
  }
  assert.ok(found.includes(`*: ${READ} /nodes`), found.join('\n'))
  // Nodes have no namespace.
  assert.ok(found.includes('default: create,patch events.k8s.io/events'), found.join('\n'))
  assert.ok(!found.some((rule) => rule.startsWith('*') && rule.includes('plains ')), found.join('\n'))
})

test('rights: the namespaces of a kind replace those of the operator', () => {
  const app = operator({ name: 'a', namespaces: ['east'], crds: 'ignore' })
  app.cache(ConfigMap, { namespaces: { prod: {}, '*': {} } })
  app.cache(Secret, { namespaces: ['prod'] })
  assert.deepEqual(rules(app), [`*: ${READ} /configmaps`, `prod: ${READ} /configmaps,secrets`])
})

test('rights: each cluster has its own kinds, namespaces and finalizers', () => {
  const app = operator({ name: 'a', crds: 'ignore', cache: { namespaces: ['home'] } })
  const east = app.cluster('east', { server: 'https://127.0.0.1:1' })
  app.controllerFor(Plain, { cluster: east }).finalize(async () => {}).reconcile(async () => {})
  app.cache(Plain, { cluster: east, namespaces: ['far'] })
  app.cache(Plain)
  assert.deepEqual(rules(app), [`home: ${READ} deploy.example.com/plains`])
  const [, cluster] = [undefined, ...app.description.clusters]
  const there = ownRights(app.description, { namespace: 'here', cluster }).grants()
  assert.deepEqual(there.map(({ namespace, verb, resource }) => `${namespace}: ${verb} ${resource}`), [
    'far: list plains',
    'far: watch plains',
    'far: get plains',
    'far: patch plains',
  ])
})

test('a port that the system chooses is in no manifest', () => {
  const { description } = operator({ name: 'b', metrics: ':0', health: '0.0.0.0:0' })
  assert.deepEqual(reachable(description), [])
})

test("rights: the namespaces of the operator's cache are those of all kinds without their own, and of their Events", () => {
  for (
    const [namespaces, places] of [
      [['prod'], ['prod']],
      [{ prod: { labels: 'ours' }, stage: {} }, ['prod', 'stage']],
      [{ prod: {}, '*': {} }, ['*', 'prod']],
    ] as const
  ) {
    const app = operator({
      name: 'a',
      cache: { namespaces: namespaces as CacheNamespaces<KubeObject> },
      crds: 'ignore',
    })
    app.cache(Secret, { namespaces: ['vault'] })
    app.controllerFor(ConfigMap).reconcile(async () => {})
    assert.deepEqual(
      rules(app).sort(),
      [
        ...places.map((place) => `${place}: ${READ} /configmaps`),
        ...(places.includes('*' as never) ? ['*'] : places).map((place) =>
          `${place}: create,patch events.k8s.io/events`
        ),
        `vault: ${READ} /secrets`,
      ].sort(),
    )
  }
})

test('rights: a lease and definitions by name, which a create cannot have', () => {
  const app = operator({ name: 'a', leaderElection: { lease: 'mine' }, crds: 'install' })
  app.cache(Plain)
  assert.deepEqual(rules(app), [
    ...leftovers('get,delete'),
    `*: create ${CRDS}`,
    `*: get,update ${CRDS} [plains.deploy.example.com]`,
    `*: ${READ} deploy.example.com/plains`,
    'here: create coordination.k8s.io/leases',
    'here: get,watch,update coordination.k8s.io/leases [mine]',
  ])
})

test('rights: what installs the configurations of webhooks holds a lease, also without leader election', () => {
  for (const [crds, hasWebhooks] of [['install', true], ['install', false], ['verify', true]] as const) {
    const app = operator({ name: 'a', crds })
    if (hasWebhooks) app.admission(Plain, { validate: () => [] })
    const expected = crds === 'install' && hasWebhooks
      ? ['here: create coordination.k8s.io/leases', 'here: get,watch,update coordination.k8s.io/leases [a]']
      : []
    assert.deepEqual(rules(app).filter((rule) => rule.includes('leases')), expected, `${crds} ${hasWebhooks}`)
  }
})

test('definitions of optional kinds belong to others: they are neither read nor printed', async () => {
  const app = operator({ name: 'a' })
  app.cache(Plain)
  app.cache(Foo, { optional: true })
  assert.deepEqual(rules(app), [
    ...leftovers('get'),
    `*: get ${CRDS} [plains.deploy.example.com]`,
    `*: ${READ} deploy.example.com/foos,plains`,
  ])
  app.add('idle', async () => {})
  const objects = (await describeDeployment(app.description, {}, import.meta.url)).objects as readonly {
    readonly kind: string
    readonly metadata: { readonly name: string }
  }[]
  const printed = objects.filter(({ kind }) => kind === 'CustomResourceDefinition')
  assert.deepEqual(printed.map(({ metadata }) => metadata.name), ['plains.deploy.example.com'])
})

test('rights: webhooks keep their certificates in a Secret, and the CAs in configurations and definitions', () => {
  const certs = { secret: 'tls', namespace: 'there', ca: { secret: 'ca', namespace: 'pki' } }
  const app = operator({ name: 'a', webhooks: { certs } })
  app.admission(Foo, { validate: () => [] })
  const Old = defineResource({ group: 'deploy.example.com', version: 'v1beta1', kind: 'Foo', spec: z.object({}) })
  app.convert(Old, Foo, { up: () => ({ spec: { n: 1 }, status: undefined }), down: () => ({ spec: {} }) })
  const found = rules(app)
  const configuration = (kind: string, verbs: string): string =>
    `*: ${verbs} admissionregistration.k8s.io/${kind}webhookconfigurations [a-${kind}-webhook-configuration]`
  for (
    const rule of [
      // There is none, but one of an earlier version would be found.
      configuration('mutating', 'get'),
      configuration('validating', 'get,watch,update'),
      `*: get,watch,update ${CRDS} [foos.deploy.example.com]`,
      'there: create /secrets',
      'there: get,watch,update /secrets [tls]',
      'pki: get /secrets [ca]',
    ]
  ) assert.ok(found.includes(rule), `${rule} is not in\n${found.join('\n')}`)
})

test('rights: those in another cluster are left out', () => {
  const app = operator({ name: 'a' })
  const west = app.cluster('west', { server: 'https://west' })
  app.controllerFor(Plain, { cluster: west }).owns(ConfigMap).reconcile(async () => {})
  app.cache(Secret, { cluster: west })
  app.cache(Node)
  assert.deepEqual(rules(app), [`*: ${READ} /nodes`])
  const { notes } = deploymentOf(app.description, NONE, { image: 'a:1' })
  assert.ok(notes.some((note) => note.startsWith('The rights in the cluster "west" are not printed')), notes.join('\n'))
})

const NONE: Definitions = { crds: [], configurations: [] }

// deno-lint-ignore no-explicit-any -- a test reads any path of an object
type Body = any

function deployed(app: Operator, options: DeployOptions = { image: 'a:1' }, definitions = NONE) {
  const { objects, notes } = deploymentOf(app.description, definitions, options)
  const of = (kind: string): Body => objects.find((each) => (each as Body).kind === kind)
  return { objects: objects as Body[], notes, of, pod: of('Deployment').spec.template.spec }
}

test('the pod satisfies the restricted profile, and stops after the grace of reconciles', () => {
  const { pod } = deployed(operator({ name: 'a', grace: '90s' }))
  assert.deepEqual(pod.securityContext, {
    runAsNonRoot: true,
    runAsUser: 65532,
    runAsGroup: 65532,
    seccompProfile: { type: 'RuntimeDefault' },
  })
  const [container] = pod.containers
  assert.deepEqual(container.securityContext, {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  })
  assert.equal(pod.terminationGracePeriodSeconds, 105)
  const forever = deployed(operator({ name: 'a', grace: 'forever' }))
  assert.equal(forever.pod.terminationGracePeriodSeconds, 3615)
  assert.ok(forever.notes.some((note) => note.startsWith('With grace: "forever"')))
})

test('one replica without a lease is replaced only after it has ended; more need leader election', () => {
  const alone = operator({ name: 'a' })
  assert.deepEqual(deployed(alone).of('Deployment').spec.strategy, { type: 'Recreate' })
  assert.throws(
    () => deployed(alone, { replicas: 2 }),
    /no leader election, so 2 replicas would write at the same time/,
  )
  const led = operator({ name: 'a', leaderElection: true })
  assert.equal(deployed(led).of('Deployment').spec.strategy, undefined)
  assert.equal(deployed(led).of('PodDisruptionBudget'), undefined)
  const two = deployed(led, { image: 'a:1', replicas: 2 })
  assert.equal(two.of('Deployment').spec.replicas, 2)
  assert.equal(two.pod.topologySpreadConstraints[0].topologyKey, 'kubernetes.io/hostname')
  assert.deepEqual(two.of('PodDisruptionBudget').spec, {
    maxUnavailable: 1,
    selector: { matchLabels: { 'app.kubernetes.io/name': 'a' } },
  })
})

test('webhooks: two replicas by default, a hint for one, allowed callers, memory, and the time of a stop', () => {
  const app = (options: object, failurePolicy: 'Fail' | 'Ignore' = 'Fail'): Operator => {
    const made = operator({ name: 'a', health: ':8081', webhooks: { certs: { secret: 'tls' } }, ...options })
    made.admission(Foo, { validate: () => [] }, { failurePolicy })
    made.admission(Plain, { validate: () => [] }, { failurePolicy, timeout: '5s' })
    return made
  }
  const open = 'Every pod may call the webhooks: give the addresses of the API server with --webhooks-from CIDR'
  const refused = "While its only pod is replaced or down, writes of Foo, Plain are refused (failurePolicy: 'Fail')"
  const led = app({ leaderElection: true })
  const two = deployed(led)
  assert.deepEqual([two.of('Deployment').spec.replicas, two.notes], [2, [open]])
  assert.ok(two.of('PodDisruptionBudget'))
  assert.equal(two.pod.topologySpreadConstraints.length, 1)
  assert.deepEqual(two.pod.containers[0].resources.limits, { memory: '768Mi' })
  // The webhooks are served for at most half of `grace` after a stop.
  assert.equal(two.pod.terminationGracePeriodSeconds, 45)
  const one = deployed(led, { image: 'a:1', replicas: 1 })
  assert.deepEqual([one.of('Deployment').spec.replicas, one.of('PodDisruptionBudget')], [1, undefined])
  assert.deepEqual(one.notes, [open, `${refused}: for two, leave --replicas 1 out`])
  const alone = deployed(app({}))
  assert.deepEqual([alone.of('Deployment').spec.replicas, alone.notes], [1, [
    open,
    `${refused}: for two, set leaderElection: true in operator()`,
  ]])
  assert.deepEqual(deployed(app({}, 'Ignore')).notes, [open])
  const plain = deployed(operator({ name: 'a', leaderElection: true }))
  assert.deepEqual(plain.pod.containers[0].resources.limits, { memory: '256Mi' })
  assert.equal(plain.of('Deployment').spec.replicas, 1)

  const from = deployed(led, { image: 'a:1', webhooksFrom: ['10.0.0.0/28', 'fd00::/64'] })
  assert.deepEqual(from.notes, [])
  assert.deepEqual(from.of('NetworkPolicy').spec.ingress, [
    { ports: [{ port: 8081, protocol: 'TCP' }] },
    {
      from: [{ ipBlock: { cidr: '10.0.0.0/28' } }, { ipBlock: { cidr: 'fd00::/64' } }],
      ports: [{ port: 9443, protocol: 'TCP' }],
    },
  ])
  const converting = operator({ name: 'a', health: ':8081', webhooks: { certs: { secret: 'tls' } } })
  converting.convert(OldFoo, Foo, { up: () => ({ spec: { n: 1 } }), down: () => ({ spec: {} }) })
  assert.deepEqual(deployed(converting, { image: 'a:1', webhooksFrom: ['10.0.0.0/28'] }).notes, [
    'While its only pod is replaced or down, Foo cannot be read in other versions than the stored one: for two, set ' +
    'leaderElection: true in operator()',
  ])
})

test('metrics with tokens: the rights of reviews, a role for the reader, and a ServiceMonitor over TLS', () => {
  const secure = operator({ name: 'a', metrics: { address: ':8443', tls: true, auth: true } })
  assert.deepEqual(rules(secure), [
    '*: create authentication.k8s.io/tokenreviews',
    '*: create authorization.k8s.io/subjectaccessreviews',
  ])
  const { of, objects, pod, notes } = deployed(secure, { image: 'a:1', serviceMonitor: true })
  const roles = objects.filter(({ kind }) => kind === 'ClusterRole')
  assert.deepEqual(roles.map(({ metadata }) => metadata.name), ['a', 'a-metrics-reader'])
  assert.deepEqual(roles[1].rules, [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }])
  assert.deepEqual(of('Service').spec.ports, [
    { name: 'metrics', port: 8443, protocol: 'TCP', targetPort: 'metrics' },
  ])
  assert.deepEqual(of('ServiceMonitor').spec.endpoints, [{
    port: 'metrics',
    scheme: 'https',
    bearerTokenFile: '/var/run/secrets/kubernetes.io/serviceaccount/token',
    tlsConfig: { insecureSkipVerify: true },
  }])
  assert.deepEqual(pod.volumes, [{ name: 'tmp', emptyDir: {} }])
  assert.ok(notes.some((note) => note.startsWith('The metrics need a token: bind the ClusterRole "a-metrics-reader"')))

  const mounted = operator({ name: 'a', metrics: { address: ':8443', tls: { certs: '/metrics-certs' } } })
  const own = deployed(mounted, { image: 'a:1', serviceMonitor: true, namespace: 'here' })
  assert.deepEqual(rules(mounted), [])
  assert.deepEqual(own.of('ClusterRole'), undefined)
  assert.deepEqual(own.of('ServiceMonitor').spec.endpoints, [{
    port: 'metrics',
    scheme: 'https',
    tlsConfig: { ca: { secret: { name: 'a-metrics-certs', key: 'ca.crt' } }, serverName: 'a-metrics.here.svc' },
  }])
  assert.deepEqual(own.pod.volumes[1], { name: 'metrics-certs', secret: { secretName: 'a-metrics-certs' } })
  assert.deepEqual(own.pod.containers[0].volumeMounts[1], {
    name: 'metrics-certs',
    mountPath: '/metrics-certs',
    readOnly: true,
  })
})

test('with cert-manager: a CA, a certificate of it for the Service, its mount, and the CA in what is printed', async () => {
  const webhooks = { service: { name: 'hooks', namespace: 'there' }, certs: '/certs' }
  const app = operator({ name: 'a', health: ':8081', webhooks })
  app.admission(Foo, { validate: () => [] })
  app.controllerFor(Plain).reconcile(async () => {})
  const options = { image: 'a:1', namespace: 'here', certManager: true }
  const { objects, notes } = await describeDeployment(app.description, options, import.meta.url)
  const all = objects as Body[]
  const named = (kind: string): Body[] => all.filter((each) => each.kind === kind)
  const [root, issuer] = named('Issuer')
  const [ca, leaf] = named('Certificate')
  assert.deepEqual([root, ca, issuer, leaf].map(({ metadata }) => `${metadata.namespace}/${metadata.name}`), [
    'here/a-webhook-root',
    'here/a-webhook-ca',
    'here/a-webhook-ca',
    'here/a-webhook-certs',
  ])
  assert.deepEqual([root.spec, issuer.spec], [{ selfSigned: {} }, { ca: { secretName: 'a-webhook-ca' } }])
  assert.deepEqual([ca, leaf].map(({ spec }) => [spec.isCA, spec.secretName, spec.issuerRef.name]), [
    [true, 'a-webhook-ca', 'a-webhook-root'],
    [undefined, 'a-webhook-certs', 'a-webhook-ca'],
  ])
  assert.deepEqual(leaf.spec.dnsNames, ['hooks.there.svc', 'hooks.there.svc.cluster.local', 'hooks.there'])
  assert.deepEqual(named('Deployment')[0].spec.template.spec.volumes[1].secret, { secretName: leaf.spec.secretName })
  const injected = all.filter(({ metadata }) => metadata.annotations?.['cert-manager.io/inject-ca-from'])
  assert.deepEqual(injected.map(({ kind }) => kind), ['ValidatingWebhookConfiguration'])
  assert.equal(injected[0].metadata.annotations['cert-manager.io/inject-ca-from'], 'here/a-webhook-certs')
  assert.deepEqual(notes.filter((note) => /certificate|cert-manager|CA/.test(note)), [])

  const converted = operator({ name: 'a' })
  const Old = defineResource({ group: 'deploy.example.com', version: 'v1beta1', kind: 'Foo', spec: z.object({}) })
  converted.convert(Old, Foo, { up: () => ({ spec: { n: 1 } }), down: () => ({ spec: {} }) })
  const both = await describeDeployment(converted.description, options, import.meta.url)
  const crd = both.objects.find((each) => (each as Body).kind === 'CustomResourceDefinition') as Body
  assert.deepEqual(crd.metadata.annotations, { 'cert-manager.io/inject-ca-from': 'here/a-webhook-certs' })
  assert.match(kustomizeCaution(both.objects as AnyObject[])!, /the Certificate has its name/)

  for (
    const [given, why] of [
      [undefined, 'is for webhooks, and it has none'],
      [{ certs: { secret: 's' } }, 'needs a folder: with certs: { secret } the operator makes the certificate itself'],
    ] as const
  ) {
    const refused = operator({ name: 'a', ...(given && { webhooks: given }) })
    refused.controllerFor(Plain).reconcile(async () => {})
    await assert.rejects(describeDeployment(refused.description, options, import.meta.url), {
      message: `Cannot write manifests of operator "a": --cert-manager ${why}`,
    })
  }
})

test('probes and metrics that others can reach have ports; those on loopback get a hint', () => {
  const open = deployed(operator({ name: 'a', health: ':8081', metrics: '0.0.0.0:9090' }), {
    image: 'a:1',
    serviceMonitor: true,
  })
  const [container] = open.pod.containers
  assert.deepEqual(container.ports, [{ name: 'health', containerPort: 8081 }, { name: 'metrics', containerPort: 9090 }])
  assert.deepEqual(container.livenessProbe.httpGet, { path: '/healthz', port: 'health' })
  assert.deepEqual(container.readinessProbe.httpGet, { path: '/readyz', port: 'health' })
  assert.equal(open.of('Service').metadata.name, 'a-metrics')
  assert.equal(open.of('Service').spec.ports[0].port, 9090)
  assert.deepEqual(open.of('ServiceMonitor').spec.endpoints, [{ port: 'metrics' }])
  assert.deepEqual(open.of('NetworkPolicy').spec.ingress, [{
    ports: [{ port: 8081, protocol: 'TCP' }, { port: 9090, protocol: 'TCP' }],
  }])
  assert.deepEqual(open.notes, [])

  const closed = deployed(operator({ name: 'a', health: 8081, metrics: 'localhost:9090' }), {
    image: 'a:1',
    serviceMonitor: true,
  })
  assert.equal(closed.pod.containers[0].ports, undefined)
  assert.equal(closed.pod.containers[0].livenessProbe, undefined)
  assert.equal(closed.of('ServiceMonitor'), undefined)
  assert.deepEqual(closed.notes, [
    "The pod has no probes, as the kubelet cannot reach 127.0.0.1:8081: set health: ':8081' in operator()",
    "Prometheus cannot reach the metrics on localhost:9090: set metrics: ':9090' in operator()",
    'There is no ServiceMonitor, as no metrics can be reached',
  ])
})

for (
  const [image, note] of [
    ['site', /^The image "site" has no tag/],
    ['host:5000/site', /has no tag/],
    [undefined, /^The image is "a": give the one/],
    ['site:1', undefined],
    ['host:5000/site:1', undefined],
    ['site@sha256:abc', undefined],
  ] as const
) {
  test(`image ${image}: ${note ? 'a hint' : 'no hint'}`, () => {
    const { notes } = deployed(operator({ name: 'a', health: ':1' }), { image })
    if (note) assert.match(notes.join('\n'), note)
    else assert.deepEqual(notes, [])
  })
}

test("namespaces that Roles are in, besides the operator's own, are named", () => {
  const app = operator({ name: 'a', health: ':1', namespaces: ['red', 'a-system', 'blue'] })
  app.controllerFor(ConfigMap).reconcile(() => Promise.resolve())
  assert.deepEqual(deployed(app, { image: 'a:1' }).notes, [
    'Roles are in other namespaces, which must exist: blue, red',
  ])
})

test('webhooks: the Service that the API server calls, the certificate in a folder, and definitions in order', () => {
  const app = operator({ name: 'a', webhooks: { service: { name: 'hooks', port: 8443 }, port: 9999, certs: '/certs' } })
  app.admission(Foo, { validate: () => [] })
  const { target } = describeWebhooks(app.description, 'a-system')
  const definitions = { crds: [{ kind: 'CustomResourceDefinition' }], configurations: [{ kind: 'Validating' }], target }
  const { objects, of, pod, notes } = deployed(app, { image: 'a:1', createNamespace: true }, definitions)
  assert.deepEqual(objects.map(({ kind }) => kind), [
    'Namespace',
    'CustomResourceDefinition',
    'ServiceAccount',
    'ClusterRole',
    'ClusterRoleBinding',
    'Service',
    'Deployment',
    'NetworkPolicy',
    'Validating',
  ])
  assert.equal(of('Service').metadata.name, 'hooks')
  assert.equal(of('Service').metadata.namespace, 'a-system')
  assert.deepEqual(of('Service').spec.ports, [{
    name: 'webhooks',
    port: 8443,
    protocol: 'TCP',
    targetPort: 'webhooks',
  }])
  assert.deepEqual(pod.containers[0].ports, [{ name: 'webhooks', containerPort: 9999 }])
  assert.deepEqual(pod.volumes[1], { name: 'certs', secret: { secretName: 'a-webhook-certs' } })
  assert.deepEqual(pod.containers[0].volumeMounts[1], { name: 'certs', mountPath: '/certs', readOnly: true })
  assert.match(notes.join('\n'), /from the Secret "a-webhook-certs" at \/certs/)
})

test('definitions that the operator installs are not printed', () => {
  const app = operator({ name: 'a', crds: 'install' })
  app.cache(Foo)
  const { objects, notes } = deployed(app, { image: 'a:1' }, { crds: [{ kind: 'Crd' }], configurations: [] })
  assert.ok(!objects.some(({ kind }) => kind === 'Crd'))
  assert.match(notes.join('\n'), /the operator installs them itself/)
})

test('a definition that an API server would refuse is refused', async () => {
  const spec = z.object({ size: z.int32() }).check(cel('self.sized > 0'))
  const app = operator({ name: 'sizes' })
  app.controllerFor(defineResource({ group: 'example.com', version: 'v1', kind: 'Size', spec })).reconcile(
    async () => {},
  )
  await assert.rejects(
    describeDeployment(app.description, {}, import.meta.url),
    /^Error: An API server would refuse these definitions:\nsizes\.example\.com v1 spec: the rule "self\.sized > 0" is refused/,
  )
})

test('an operator that could not start is refused', async () => {
  await assert.rejects(
    describeDeployment(operator({ name: 'idle' }).description, {}, import.meta.url),
    /^TypeError: Cannot start operator "idle": it has no controller and no task/,
  )
})

test('a kind without a scope is refused', () => {
  const app = operator({ name: 'a' })
  // As in a file without types.
  app.cache({ group: '', version: 'v1', kind: 'Pod', plural: 'pods' } as unknown as typeof ConfigMap)
  assert.throws(() => deployed(app), {
    message: 'Cannot write manifests of operator "a": the kind Pod has no scope, which is "Namespaced" or "Cluster"',
  })
})

test('names that do not fit are refused', () => {
  assert.throws(
    () => deployed(operator({ name: 'a', webhooks: { service: 'Hooks' } })),
    /the Service of its webhooks is called "Hooks"; a name has at most 63 lower-case letters/,
  )
  assert.throws(() => deployed(operator({ name: '1a' })), /its name also names a Service and a label: at most 55/)
  assert.throws(() => deployed(operator({ name: 'a'.repeat(56) })), /at most 55/)
  assert.throws(() => deployed(operator({ name: 'a' }), { namespace: 'A.b' }), /the namespace "A\.b" is not a name/)
})

const OPERATOR = `import { operator } from 'kubeloop'
import { ConfigMap } from 'kubeloop/kinds'
const app = operator({ name: 'copier', health: ':8081' })
app.controllerFor(ConfigMap).reconcile(async () => { throw new Error('it ran') })
`

for (
  const [title, text, args, code, problem] of [
    [
      'a file without an operator',
      'export const x = 1\n',
      [],
      1,
      /^Cannot write manifests of op\.ts: it calls no operator\(\)$/,
    ],
    [
      'two operators',
      OPERATOR + OPERATOR.split('\n')[2]!.replace('app', 'b').replace('copier', 'other') + '\n',
      [],
      1,
      /it has the operators "copier" and "other"; write one file for each$/,
    ],
    [
      'two default exports',
      `${OPERATOR}export default app\nexport default app\n`,
      [],
      1,
      /^Cannot load op\.ts: .*default/,
    ],
    [
      'replicas without a lease',
      OPERATOR,
      ['--replicas', '3'],
      1,
      /^Cannot write manifests of operator "copier": it has no leader election, so 3 replicas/,
    ],
    [
      'a folder that is a file',
      OPERATOR,
      ['--out', 'op.ts'],
      1,
      /Cannot write to op\.ts: it is a file; choose a folder$/,
    ],
  ] as const
) {
  test(`kubeloop manifests: ${title} is one clear line`, () =>
    inFolder(async (folder) => {
      folder.write('op.ts', text)
      const command = folder.run('manifests', 'op.ts', ...args)
      assert.equal(await command.ended, code, command.output())
      // Hints come first, and the place in the file last.
      const lines = command.errors().split('\n').filter((line) => !/^The (?:image|pod)|^ +op\.ts:\d/.test(line))
      assert.equal(lines.length, 1, command.errors())
      assert.match(lines[0]!, problem)
      assert.equal(command.printed(), '')
      assert.deepEqual(readdirSync(folder.path).sort(), ['node_modules', 'op.ts', 'package.json'])
    }))
}

test('a file that waits for the network at its top level is reported after a time limit', () =>
  inFolder(async (folder) => {
    folder.write('op.ts', `await new Promise(() => {})\n${OPERATOR}`)
    const file = join(folder.path, 'op.ts')
    const runtime = { file, runtime: undefined, passed: [] }
    const request = { kind: 'deployment', options: {} } as const
    await assert.rejects(load(runtime, request, 700), {
      message:
        `Cannot load ${file}: it still waits at its top level after 0.7 s; a file that describes an operator must ` +
        'not wait for a cluster or the network: connect in a reconcile, or in a task of app.add()',
    })
  }))

test('kubeloop manifests: the objects are YAML, and hints are beside them', () =>
  inFolder(async (folder) => {
    folder.write('op.ts', `${OPERATOR}await app.run(import.meta)\n`)
    const command = folder.run('manifests', 'op.ts', '--image', 'copier', '--namespace', 'tools', '--create-namespace')
    assert.equal(await command.ended, 0, command.output())
    const objects = loadAll(command.printed()) as Body[]
    assert.deepEqual(objects.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`), [
      'Namespace /tools',
      'ServiceAccount tools/copier',
      'ClusterRole /copier',
      'ClusterRoleBinding /copier',
      'Deployment tools/copier',
      'NetworkPolicy tools/copier',
    ])
    assert.match(command.errors(), /^The image "copier" has no tag/)
  }))

test('kubeloop manifests: a base and a chart in folders, with the next command', () =>
  inFolder(async (folder) => {
    folder.write('op.ts', OPERATOR)
    const written = async (...args: string[]): Promise<string[]> => {
      const command = folder.run('manifests', 'op.ts', '--image', 'copier:1', ...args)
      assert.equal(await command.ended, 0, command.output())
      assert.equal(command.errors(), '')
      return command.printed().split('\n')
    }
    assert.deepEqual(await written('--out', 'base', '--create-namespace'), [
      ...['kustomization', 'namespace', 'rbac', 'deployment', 'networkpolicy'].map((each) => `wrote base/${each}.yaml`),
      'apply  kubectl apply -k base',
    ])
    assert.deepEqual(await written('--out', 'base'), [
      'wrote base/kustomization.yaml',
      'removed base/namespace.yaml',
      'apply  kubectl apply -k base',
    ])
    assert.deepEqual((await written('--out', 'base'))[0], 'base is up to date')
    const chart = await written('--helm', 'chart', '--replicas', '1')
    assert.equal(
      chart.at(-1),
      'install  helm upgrade --install copier chart --namespace copier-system --create-namespace',
    )
    assert.match(folder.read('chart/values.yaml'), /^ {2}repository: copier$/m)
  }))

for (const name of ['1_sample_controller', '8_site_webhooks']) {
  test(`the manifests of examples/${name}.ts are those of the golden file`, async () => {
    const app = ((await import(`../../examples/${name}.ts`)) as { default: Operator }).default
    const target = hasWebhooks(app.description)
      ? describeWebhooks(app.description, `${app.description.options.name}-system`).target
      : undefined
    const image = 'registry.example.com/operator:1.0.0'
    const { objects } = deploymentOf(app.description, { ...NONE, target }, { image })
    // Written anew with: node lib/cli/bin.js manifests examples/NAME.ts --image registry.example.com/operator:1.0.0
    assert.deepEqual(loadAll(pageText(`tests/cli/golden/${name}.yaml`)), JSON.parse(JSON.stringify(objects)))
  })
}
