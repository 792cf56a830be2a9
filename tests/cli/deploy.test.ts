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
import { describeDeployment } from '../../lib/cli/deploy/objects.ts'
import type { DeployOptions } from '../../lib/cli/deploy/options.ts'
import { ownRights, rightsOf } from '../../lib/rights/likely.ts'
import { load } from '../../lib/cli/load.ts'
import { textsOf } from './deploy_sample.ts'
import { inFolder } from './dev_command.ts'
import { goldenCases, valueLines } from './golden.ts'

const define = (kind: string, version = 'v1', more: object = {}) =>
  defineResource({ group: 'deploy.example.com', version, kind, spec: z.object({}), ...more })
const Foo = define('Foo', 'v1', { status: z.object({ ready: z.boolean() }) })
const OldFoo = define('Foo', 'v1beta1')
const Plain = define('Plain')
const Refined = define('Refined', 'v1', { refinements: 'admission', spec: z.object({}).refine(() => true, 'never') })

type OperatorOptions = Partial<Parameters<typeof operator>[0]>

/** Returns an operator with probes and a task. */
function made(options: OperatorOptions, use: (app: Operator) => unknown = () => {}): Operator {
  const app = operator({ name: 'a', health: ':8081', ...options })
  app.add('idle', async () => {}, { everyReplica: options.sharding !== undefined })
  use(app)
  return app
}

const reconcile = async (): Promise<void> => {}
const validating = (app: Operator, options: object = {}) => app.admission(Foo, { validate: () => [] }, options)
const converting = (app: Operator) =>
  app.convert(OldFoo, Foo, { up: () => ({ spec: {}, status: undefined }), down: () => ({ spec: {} }) })
const TLS = { certs: { secret: 'tls' } }
const bothAdmissions = (failurePolicy: 'Fail' | 'Ignore') => (app: Operator) => {
  validating(app, { failurePolicy })
  app.admission(Plain, { validate: () => [] }, { failurePolicy, timeout: '5s' })
}

/** Operators and options; the golden file has their differences from the earlier case that is most like them. */
const CASES: Readonly<Record<string, readonly [app: Operator, options?: DeployOptions]>> = {
  'an operator with probes and nothing else': [made({})],
  'what is watched is read, what is owned is written, and so is the status of own kinds with one': [
    made({}, (app) => {
      app.controllerFor(Foo).owns(ConfigMap).owns(Node, { rights: ['delete', 'update'] }).watches(Secret, () => [])
        .reconcile(reconcile)
      app.cache(Plain)
    }),
  ],
  'a finalizer patches its kind; Events are in the namespaces of the objects': [
    made({ namespaces: ['east', 'west'] }, (app) => {
      app.controllerFor(Plain).finalize(reconcile).reconcile(reconcile)
      app.controllerFor(Node, { name: 'nodes' }).reconcile(reconcile)
    }),
  ],
  'the namespaces of a kind replace those of the operator': [
    made({ namespaces: ['east'], crds: 'ignore' }, (app) => {
      app.cache(ConfigMap, { namespaces: { prod: {}, '*': {} } })
      app.cache(Secret, { namespaces: ['prod'] })
    }),
  ],
  ...Object.fromEntries(
    [['prod'], { prod: { labels: 'ours' }, stage: {} }, { prod: {}, '*': {} }].map((namespaces) => [
      `the cache has the namespaces ${JSON.stringify(namespaces)}`,
      [made({ cache: { namespaces: namespaces as CacheNamespaces<KubeObject> }, crds: 'ignore' }, (app) => {
        app.cache(Secret, { namespaces: ['vault'] })
        app.controllerFor(ConfigMap).reconcile(reconcile)
      })],
    ]),
  ),
  'a cache of one name needs rights for that only, but writes of owned objects and creates have any': [
    made({ crds: 'ignore', namespaces: ['east', 'west'] }, (app) => {
      app.cache(Foo, { fields: 'status.phase!=x,metadata.name=one' })
      app.cache(ConfigMap, { namespaces: { east: { fields: 'metadata.name=kube-root-ca.crt' }, west: {} } })
      app.cache(Secret, { fields: 'metadata.name!=one' })
      app.controllerFor(Foo).owns(ConfigMap).finalize(reconcile).reconcile(reconcile)
    }),
  ],
  'what is installed is listed everywhere, as a narrower schema must fit: kinds in namespaces, and of admissions': [
    made({ crds: 'install', namespaces: ['east'], webhooks: TLS }, (app) => {
      app.controllerFor(Plain).reconcile(reconcile)
      app.cache(ConfigMap)
      validating(app)
    }),
  ],
  'profiles and servers of its own, one of them on a known port': [
    made({ profiling: ':6060', metrics: ':9090' }, (app) => app.extend(() => {})),
    { image: 'a:1', ports: ['8082', '9090', '8083', '8082'] },
  ],
  'profiles on loopback, and servers of its own on unknown ports': [
    made({ profiling: 6060 }, (app) => app.extend(() => {})),
  ],
  "Roles are in the operator's namespace and in others": [
    made({ namespaces: ['red', 'a-system', 'blue'] }, (app) => app.controllerFor(ConfigMap).reconcile(reconcile)),
  ],
  'a lease and definitions are limited by name, except their creation; definitions that it installs are not printed': [
    made({ leaderElection: { lease: 'mine' }, crds: 'install' }, (app) => app.cache(Plain)),
  ],
  'shards have a Lease each, give objects up, and are known to the sharder': [
    made({ sharding: { ring: 'r', unsharded: [Secret] }, leaderElection: { namespace: 'leases' } }, (app) => {
      app.controllerFor(Foo).owns(ConfigMap).owns(Secret).reconcile(reconcile)
      app.controllerFor(Foo, { name: 'again' }).owns(Plain).reconcile(reconcile)
    }),
  ],
  'shards in namespaces, whose certificate needs the Lease of the operator besides': [
    made({ sharding: { ring: 'r' }, namespaces: ['east', 'west'], crds: 'install', webhooks: TLS }, (app) => {
      app.cache(Foo, { namespaces: ['north', 'east'] })
      app.controllerFor(Foo).reconcile(reconcile)
      app.controllerFor(ConfigMap).reconcile(reconcile)
      validating(app)
    }),
  ],
  'replicas with buckets have Leases in one namespace, and nothing of a ring; Namespaces are followed by labels': [
    made({ sharding: { buckets: 16 }, namespaces: { labels: 'team=a' } }, (app) => {
      app.controllerFor(ConfigMap).owns(Secret).reconcile(reconcile)
    }),
  ],
  'what installs configurations of webhooks holds a lease, also without leader election': [
    made({ crds: 'install', webhooks: TLS }, validating),
  ],
  'definitions of optional kinds belong to others': [
    made({}, (app) => {
      app.cache(Plain)
      app.cache(Foo, { optional: true })
    }),
  ],
  'webhooks keep their certificate in a Secret, and its CA in configurations and definitions': [
    made(
      { webhooks: { certs: { secret: 'tls', namespace: 'there', ca: { secret: 'ca', namespace: 'pki' } } } },
      (app) => {
        validating(app)
        converting(app)
      },
    ),
  ],
  'rights in other clusters are left out': [
    made({}, (app) => {
      const west = app.cluster('west', { server: 'https://west' })
      app.controllerFor(Plain, { cluster: west }).owns(ConfigMap).reconcile(reconcile)
      app.cache(Secret, { cluster: west })
      app.clusters('members', async function* () {})
      app.cache(Node)
    }),
  ],
  'the grace of reconciles is 90s': [made({ grace: '90s' })],
  'the grace of reconciles is "forever"': [made({ grace: 'forever' })],
  'leader election': [made({ leaderElection: true })],
  'leader election with two replicas': [
    made({ leaderElection: true }),
    { image: 'a:1', replicas: 2 },
  ],
  'webhooks with leader election': [made({ webhooks: TLS, leaderElection: true }, bothAdmissions('Fail'))],
  'webhooks with leader election and one replica': [
    made({ webhooks: TLS, leaderElection: true }, bothAdmissions('Fail')),
    { image: 'a:1', replicas: 1 },
  ],
  'webhooks without leader election': [
    made({ webhooks: TLS }, bothAdmissions('Fail')),
  ],
  'webhooks that may fail': [
    made({ webhooks: TLS }, bothAdmissions('Ignore')),
  ],
  'webhooks that are called from some addresses': [
    made({ webhooks: TLS, leaderElection: true }, bothAdmissions('Fail')),
    { image: 'a:1', webhooksFrom: ['10.0.0.0/28', 'fd00::/64'] },
  ],
  'a conversion without leader election': [
    made({ webhooks: TLS }, converting),
    { image: 'a:1', webhooksFrom: ['10.0.0.0/28'] },
  ],
  'webhooks with a Service, a port and a folder of their own, in a namespace that is printed': [
    made({ webhooks: { service: { name: 'hooks', port: 8443 }, port: 9999, certs: '/certs' } }, validating),
    { image: 'a:1', createNamespace: true },
  ],
  'webhooks whose certificate cert-manager keeps': [
    made({ webhooks: { service: { name: 'hooks', namespace: 'there' }, certs: '/certs' } }, (app) => {
      validating(app)
      app.controllerFor(Plain).reconcile(reconcile)
    }),
    { image: 'a:1', namespace: 'here', certManager: true },
  ],
  'a conversion whose certificate cert-manager keeps': [
    made({}, converting),
    { image: 'a:1', namespace: 'here', certManager: true },
  ],
  'metrics with tokens, and a certificate of the process': [
    made({ metrics: { address: ':8443', tls: true, auth: true } }),
    { image: 'a:1' },
  ],
  'metrics with tokens, and a mounted certificate': [
    made({ metrics: { address: ':8443', tls: { certs: '/metrics-certs' }, auth: true } }),
    { image: 'a:1', serviceMonitor: true, namespace: 'here' },
  ],
  'metrics whose certificate cert-manager keeps, beside webhooks that make their own': [
    made({ metrics: { address: ':8443', tls: { certs: '/metrics-certs' } }, webhooks: TLS }, validating),
    { image: 'a:1', serviceMonitor: true, namespace: 'here', certManager: true },
  ],
  'plain metrics': [
    made({ metrics: '0.0.0.0:9090' }),
    { image: 'a:1', serviceMonitor: true },
  ],
  'probes and metrics on loopback': [
    made({ health: 8081, metrics: 'localhost:9090' }),
    { image: 'a:1', serviceMonitor: true },
  ],
  'ports that the system chooses': [
    made({ health: '0.0.0.0:0', metrics: ':0' }),
  ],
  ...Object.fromEntries(
    ['a', 'host:5000/a', undefined, 'host:5000/a:1', `a@sha256:abc`].map((image) => [
      `the image ${image}`,
      [made({}), { image }],
    ]),
  ),
}

interface Printed {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels?: object }
}

/** Returns the rules, the hints, the objects in their order, and their values but those of roles and schemas. */
async function linesOf(app: Operator, options: DeployOptions = { image: 'a:1' }): Promise<string[]> {
  const { objects, notes } = await describeDeployment(app.description, options, import.meta.url)
  const printed = JSON.parse(JSON.stringify(objects)) as readonly Printed[]
  const titleOf = ({ kind, metadata: { namespace = '', name } }: Printed): string => `${kind} ${namespace}/${name}`
  const values = printed.flatMap((each) => {
    const { apiVersion: _, kind, metadata: { name, namespace: __, labels: ___, ...metadata }, ...rest } = each
    const isElsewhere = kind === 'CustomResourceDefinition' || /Role(?:Binding)?$/.test(kind)
    const shown = { ...(Object.keys(metadata).length > 0 && { metadata }), ...(!isElsewhere && rest) }
    return Object.keys(shown).length > 0 ? valueLines(shown, `${kind}/${name}`) : []
  })
  return [
    ...textsOf(rightsOf(app.description, options.namespace ?? 'a-system')).map((rule) => `rule ${rule}`),
    ...notes.map((note) => `note: ${note}`),
    `objects = ${printed.map(titleOf).join(', ')}`,
    ...values,
  ]
}

/** Returns the lines that are gone and those that were added. A changed value has its new line only. */
function changes(before: readonly string[], lines: readonly string[]): string[] {
  const added = lines.filter((line) => !before.includes(line))
  const isChanged = (line: string): boolean =>
    / = /.test(line) && added.some((each) => each.split(' = ')[0] === line.split(' = ')[0])
  return [
    ...before.filter((line) => !lines.includes(line) && !isChanged(line)).map((line) => `- ${line}`),
    ...added.map((line) => `+ ${line}`),
  ]
}

test('the rights, objects and hints of operators are those of the golden file', async () => {
  const earlier: (readonly [title: string, lines: readonly string[]])[] = []
  const cases: (readonly [string, readonly string[]])[] = []
  for (const [title, [app, options]] of Object.entries(CASES)) {
    const lines = await linesOf(app, options)
    const differences = earlier.map(([other, before]) => [other, changes(before, lines)] as const)
    const [like, least] = differences.toSorted(([, a], [, b]) => a.length - b.length)[0] ??
      ['nothing', changes([], lines)]
    cases.push([`${title} (like: ${like})`, least])
    earlier.push([title, lines])
  }
  goldenCases('deployments.txt', cases)
})

test('rights in another cluster: its own kinds, namespaces and finalizers', () => {
  const app = operator({ name: 'a', crds: 'ignore', cache: { namespaces: ['home'] } })
  const east = app.cluster('east', { server: 'https://127.0.0.1:1' })
  app.controllerFor(Plain, { cluster: east }).finalize(reconcile).reconcile(reconcile)
  app.cache(Plain, { cluster: east, namespaces: ['far'] })
  app.cache(Plain)
  const [cluster] = app.description.clusters
  const there = ownRights(app.description, { namespace: 'here', cluster })
  assert.deepEqual(
    there.map(({ namespace, verb, resource }) => `${namespace}: ${verb} ${resource}`),
    ['list', 'watch', 'get', 'patch'].map((verb) => `far: ${verb} plains`),
  )
})

const sized = { spec: z.object({ size: z.int32() }).check(cel('self.sized > 0')) }
const withMetrics = (tls: true | { certs: string }, more: OperatorOptions = {}, auth?: boolean): Operator =>
  made({ metrics: { address: ':8080', tls, ...(auth !== undefined && { auth }) }, ...more })
const scheduled = (sharding: NonNullable<OperatorOptions['sharding']>): Operator =>
  made({ sharding }, (app) => {
    app.controllerFor(ConfigMap).reconcile(reconcile)
    app.schedule('daily', '@daily', async () => {})
  })

/** Operators and options that are refused; the golden file has the errors. */
const REFUSED: Readonly<Record<string, readonly [app: Operator, options?: DeployOptions]>> = {
  'two replicas without a lease': [made({}), { replicas: 2 }],
  'a definition that an API server would refuse': [made({}, (each) => each.cache(define('Size', 'v1', sized)))],
  'an operator that could not start': [operator({ name: 'idle' })],
  // As in a file without types.
  'a kind without a scope': [
    made({}, (each) => each.cache({ group: '', version: 'v1', kind: 'Pod', plural: 'pods' } as never)),
  ],
  'a Service with a wrong name': [made({ webhooks: { service: 'Hooks' } })],
  'webhooks and metrics with one Service': [made({ metrics: ':8080', webhooks: { service: 'a-metrics' } })],
  'webhooks and metrics with certificates in one folder': [
    withMetrics({ certs: '/certs/' }, { webhooks: { certs: '/certs' } }),
  ],
  'certificates in /tmp': [made({ webhooks: { certs: '/tmp' } })],
  'certificates of metrics in /tmp': [withMetrics({ certs: '/tmp' }, { webhooks: { certs: '/certs' } })],
  'webhooks on any port': [made({ webhooks: { port: 0 } })],
  'webhooks on loopback': [made({ webhooks: { host: '127.0.0.1' } })],
  'a name that is no label': [made({ name: '1a' })],
  'a long name': [made({ name: 'a'.repeat(56) })],
  ...Object.fromEntries(
    ['default', 'kube-node-lease', 'kube-public', 'kube-system'].map((namespace) => [
      `the namespace ${namespace} of the cluster`,
      [made({}), { namespace, createNamespace: true }],
    ]),
  ),
  'cert-manager without webhooks': [withMetrics(true), { certManager: true }],
  ...Object.fromEntries(
    [true, false].map((auth) => [
      `a ServiceMonitor that cannot verify the metrics, with auth: ${auth}`,
      [withMetrics(true, {}, auth), { serviceMonitor: true }],
    ]),
  ),
  'a kind with refinements that nothing admits': [made({}, (app) => app.cache(Refined))],
  'lives of certificates that cannot be kept': [made({ webhooks: { certs: { secret: 'a', duration: '59m' } } })],
  'a schedule of buckets': [scheduled({ buckets: 4 })],
  'a schedule of shards': [scheduled({ ring: 'r' })],
  'cert-manager for a Secret': [made({ webhooks: TLS }, validating), { certManager: true }],
}

test('what is refused has the errors of the golden file', async () => {
  const cases: (readonly [string, readonly string[]])[] = []
  for (const [title, [app, options = {}]] of Object.entries(REFUSED)) {
    const described = describeDeployment(app.description, options, import.meta.url)
    const text = await described.then(() => 'it is not refused', String)
    cases.push([title, [text.replace(/ \([^ ]*deploy\.test\.ts:\d+:\d+\)$/, '')]])
  }
  goldenCases('refused_deployments.txt', cases)
})

const OPERATOR = `import { operator } from 'kubeloop'
import { ConfigMap } from 'kubeloop/kinds'
const app = operator({ name: 'copier', health: ':8081' })
app.controllerFor(ConfigMap).reconcile(async () => { throw new Error('it ran') })
`

for (
  const [title, text, problem] of [
    [
      'a file without an operator',
      'export const x = 1\n',
      /^Cannot write manifests of op\.ts: it calls no operator/,
    ],
    [
      'two operators',
      `${OPERATOR}${OPERATOR.split('\n')[2]!.replace('app', 'b').replace('copier', 'other')}\n`,
      /it has the operators "copier" and "other"; write one file for each$/,
    ],
  ] as const
) {
  test(`kubeloop manifests: ${title} is one clear line`, () =>
    inFolder(async (folder) => {
      folder.write('op.ts', text)
      const { code, out, err } = await folder.call('manifests', 'op.ts')
      // Hints come first, and the place in the file last.
      const lines = err.split('\n').filter((line) => !/^The (?:image|pod)|^ +op\.ts:\d/.test(line))
      assert.deepEqual([code, out, lines.length], [1, '', 1], err)
      assert.match(lines[0]!, problem)
      assert.deepEqual(readdirSync(folder.path).sort(), ['node_modules', 'op.ts', 'package.json'])
    }))
}

test('a file that waits for the network at its top level is reported after a time limit', () =>
  inFolder(async (folder) => {
    folder.write('op.ts', `await new Promise(() => {})\n${OPERATOR}`)
    const file = join(folder.path, 'op.ts')
    const runtime = { file, runtime: undefined, passed: [] }
    const request = { kind: 'deployment', options: {} } as const
    await assert.rejects(load(runtime, request, assert.fail, { limitMs: 700 }), {
      message:
        `Cannot load ${file}: it still waits at its top level after 0.7 s; a file that describes an operator must ` +
        'not wait for a cluster or the network: connect in a reconcile, or in a task of app.add()',
    })
  }))

test('kubeloop manifests prints YAML, with hints beside it, or writes a base with the next command', () =>
  inFolder(async (folder) => {
    folder.write('op.ts', `${OPERATOR}await app.run(import.meta)\n`)
    const printed = await folder.call('manifests', 'op.ts', '--namespace', 'tools', '--image', 'copier')
    assert.equal(printed.code, 0, printed.err)
    const objects = loadAll(printed.out) as readonly { kind: string; metadata: { name: string; namespace?: string } }[]
    assert.deepEqual(objects.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`), [
      'ServiceAccount tools/copier',
      'ClusterRole /copier',
      'ClusterRoleBinding /copier',
      'Deployment tools/copier',
      'NetworkPolicy tools/copier',
    ])
    assert.match(printed.err, /^The image "copier" has no tag/)
    const written = async (...args: string[]): Promise<string[]> => {
      const { code, out, err } = await folder.call('manifests', 'op.ts', '--image', 'copier:1', '--out', ...args)
      assert.equal(code, 0)
      assert.match(err, /^What the operator's own code requests .* is not known without --record; .*$/)
      return out.split('\n')
    }
    assert.deepEqual(await written('base', '--create-namespace'), [
      ...['kustomization', 'namespace', 'rbac', 'deployment', 'networkpolicy'].map((each) => `wrote base/${each}.yaml`),
      'apply  kubectl apply -k base',
    ])
    assert.deepEqual(await written('base/'), [
      'wrote base/kustomization.yaml',
      'removed base/namespace.yaml',
      'apply  kubectl apply -k base',
    ])
    assert.deepEqual((await written('base'))[0], 'base is up to date')
  }))
