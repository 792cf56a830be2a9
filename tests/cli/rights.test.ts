/** Tests `kubeloop rights`: what worlds record, the least roles, and the check of written ones. */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { loadAll } from 'js-yaml'
import { defineResource, type Operator, operator } from 'kubeloop'
import { ConfigMap, Namespace, Node, Secret, ServiceAccount } from 'kubeloop/kinds'
import { type World, world, type WorldOptions } from 'kubeloop/testing'
import * as z from 'zod'
import { compareRoles } from '../../lib/cli/rights/compare.ts'
import { type LeastRights, leastRights } from '../../lib/cli/rights/least.ts'
import { readRecord } from '../../lib/cli/rights/record.ts'
import { writtenRules } from '../../lib/cli/rights/written_roles.ts'
import { likelyRights, type Rights } from '../../lib/cli/deploy/rights.ts'
import type { AskedRight } from '../../lib/testing/rights_recorder.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { startOperator } from '../../lib/operator/start.ts'
import { RightsRecorder } from '../../lib/testing/rights_recorder.ts'
import { inFolder } from './dev_command.ts'

const Foo = defineResource({
  group: 'rights.example.com',
  version: 'v1',
  kind: 'Foo',
  spec: z.object({ to: z.string().optional() }),
  status: z.object({ ready: z.boolean().optional() }),
})

const FOO = { metadata: { namespace: 'team-a', name: 'one' }, spec: {} }
const TEAM = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team-a' } }

/** Runs an operator in a world that records, and returns the folder. */
async function recorded(
  app: Operator,
  work: (w: World) => Promise<void>,
  options: WorldOptions & { readonly folder?: string } = {},
): Promise<string> {
  const { folder = mkdtempSync(join(tmpdir(), 'rights-')), ...rest } = options
  process.env['KUBELOOP_RIGHTS'] = folder
  try {
    const w = await world(app, { objects: [TEAM], ...rest })
    await work(w)
    await w.stop()
  } finally {
    delete process.env['KUBELOOP_RIGHTS']
  }
  return folder
}

interface Found {
  readonly least: LeastRights
  readonly rules: readonly string[]
  readonly lines: readonly AskedRight[]
}

/** Returns the least rights that follow from a run. `text`: what stands in the operator's file. */
async function leastOf(
  app: Operator,
  work: (w: World) => Promise<void>,
  options: WorldOptions & { readonly text?: string } = {},
): Promise<Found> {
  const { text = '', ...rest } = options
  const folder = await recorded(app, work, rest)
  try {
    const record = await readRecord(folder, app.description.options.name, undefined)
    const least = leastRights(app.description, { namespace: 'here' }, record, (name) => text.includes(`'${name}'`))
    return { least, rules: rulesOf(least.rights.rights()), lines: record.rights }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Returns the rules as `place: verbs group/resource [names]`. */
function rulesOf({ everywhere, inNamespaces }: Rights): string[] {
  return [['*', everywhere] as const, ...inNamespaces].flatMap(([place, all]) =>
    all.map(({ apiGroups, resources, verbs, resourceNames }) =>
      `${place}: ${verbs.join(',')} ${apiGroups[0]}/${resources.join(',')}${
        resourceNames ? ` [${resourceNames.join(',')}]` : ''
      }`
    )
  )
}

const FOOS = 'rights.example.com/foos'
const CRD = '*: get apiextensions.k8s.io/customresourcedefinitions [foos.rights.example.com]'

test('the least role has what was asked for, and none of what the description only suggests', async () => {
  const app = operator({ name: 'a' })
  app.controllerFor(Foo).owns(ConfigMap).reconcile(async (foo, { client }) => {
    await client.apply(ConfigMap, { metadata: { name: foo.metadata.name } }, { owner: foo })
    await client.setStatus(Foo, foo, { ready: true })
  })
  const { rules, lines } = await leastOf(app, async (w) => {
    await w.client.create(Foo, FOO)
    await w.settle()
    // Requests of the test itself are not the operator's.
    await w.client.delete(ConfigMap, FOO.metadata)
  })
  assert.deepEqual(rules, [
    // An apply creates a missing object.
    '*: list,watch,create,patch /configmaps',
    ...['mutating', 'validating'].map((kind) =>
      `*: get admissionregistration.k8s.io/${kind}webhookconfigurations [a-${kind}-webhook-configuration]`
    ),
    CRD,
    `*: list,watch ${FOOS}`,
    // Owner references that block deletion need it.
    `*: update ${FOOS}/finalizers`,
    `*: patch ${FOOS}/status`,
  ])
  const patch = lines.find(({ verb, resource }) => verb === 'patch' && resource === 'configmaps')!
  assert.match(patch.at ?? '', /tests\/cli\/rights\.test\.ts:\d+:\d+$/)
  // The line of the operator, not that of the test that advances it.
  assert.match(
    readFileSync(patch.at!.replace(/:\d+:\d+$/, ''), 'utf8').split('\n')[lineOf(patch.at!) - 1]!,
    /client\.apply/,
  )
  assert.equal(lines.find(({ resource }) => resource === 'customresourcedefinitions')?.at, undefined)
})

function lineOf(place: string): number {
  return Number(/:(\d+):\d+$/.exec(place)![1])
}

test('requests of kubeloop itself have no place, also in timers that the test advances', async () => {
  const app = operator({ name: 'a', leaderElection: true, crds: 'ignore' })
  app.controllerFor(ConfigMap).reconcile(async (map, { events }) => void events.normal(map, 'Seen', 'It was seen'))
  const { lines, rules } = await leastOf(app, async (w) => {
    await w.client.create(ConfigMap, { metadata: FOO.metadata })
    await w.advance('1m')
  }, { replicas: 2 })
  assert.deepEqual(lines.filter(({ at }) => at !== undefined), [])
  assert.ok(lines.some(({ resource, verb }) => resource === 'leases' && verb === 'update'))
  assert.deepEqual(rules, [
    '*: list,watch /configmaps',
    // The same Event again is a patch.
    '*: create,patch events.k8s.io/events',
    'here: create coordination.k8s.io/leases',
    'here: get,watch,update coordination.k8s.io/leases [a]',
  ])
})

test('a write that would change nothing needs its right as well', async () => {
  const app = operator({ name: 'a', crds: 'ignore' })
  // An object without a status has an empty one, so nothing is sent.
  app.controllerFor(Foo).reconcile(async (foo, { client }) => void await client.setStatus(Foo, foo, {}))
  const { rules, lines } = await leastOf(app, async (w) => {
    await w.client.create(Foo, FOO)
    await w.settle()
  })
  assert.deepEqual(rules, [`*: list,watch ${FOOS}`, `*: patch ${FOOS}/status`])
  assert.equal(lines.find(({ verb }) => verb === 'patch')!.at, undefined)
})

test('a finalizer is patched, and its object is read again after a conflict', async () => {
  const app = operator({ name: 'a', crds: 'ignore' })
  app.controllerFor(Foo).finalize(async () => {}).reconcile(async () => {})
  const { rules } = await leastOf(app, async () => {})
  assert.deepEqual(rules, [`*: get,list,watch,patch ${FOOS}`])
})

test('every kind of request: verbs, subresources, deletecollection, scale, generated names, updates', async () => {
  const app = operator({ name: 'a' })
  app.controllerFor(Namespace, { when: ({ metadata }) => metadata.name === 'team-a' }).reconcile(
    async (_namespace, { client }) => {
      const namespace = 'team-a'
      await client.create(Secret, { metadata: { namespace, generateName: 'made-' } })
      for (const each of await client.list(Secret, { namespace })) await client.delete(Secret, each)
      await client.deleteAll(ConfigMap, { namespace })
      await client.createOrUpdate(ServiceAccount, { namespace, name: 'runner' }, (draft) => {
        draft.automountServiceAccountToken = false
      })
      await client.edit(ServiceAccount, { namespace, name: 'runner' }, (draft) => {
        draft.automountServiceAccountToken = true
      })
      await client.subresource(ServiceAccount, { namespace, name: 'runner' }, 'token').create({
        spec: { audiences: [], expirationSeconds: 3600 },
      })
    },
  )
  const { rules } = await leastOf(app, async () => {})
  assert.deepEqual(rules, [
    '*: deletecollection /configmaps',
    '*: list,watch /namespaces',
    '*: list,create,delete /secrets',
    '*: get,create,update /serviceaccounts',
    '*: create /serviceaccounts/token',
  ])
})

test('names and namespaces that stand in the file limit the rules; those of objects do not', async () => {
  const app = operator({ name: 'a', crds: 'ignore' })
  app.controllerFor(Foo).reconcile(async (foo, { client }) => {
    await client.get(Secret, { namespace: 'vault', name: 'login' })
    await client.get(ConfigMap, { namespace: 'vault', name: foo.metadata.name })
    await client.apply(Namespace, { metadata: { name: 'vault' } })
    await client.get(Node, { name: 'one' })
    await client.get(Node, { name: 'unknown' })
  })
  const { rules, least } = await leastOf(app, async (w) => {
    await w.client.create(Foo, FOO)
    await w.settle()
    // "one" stands in the file as well, but it is the name of a reconciled object.
  }, { text: "'vault' 'login' 'one'" })
  assert.deepEqual(rules, [
    '*: create /namespaces',
    '*: patch /namespaces [vault]',
    '*: get /nodes',
    `*: list,watch ${FOOS}`,
    'vault: get /configmaps',
    'vault: get /secrets [login]',
  ])
  assert.ok(least.notes.some((note) => note.startsWith('get of secrets is limited to "login"')), least.notes.join('\n'))
})

test('with namespaces, what was asked for in one of them is allowed in each', async () => {
  const app = operator({ name: 'a', crds: 'ignore', namespaces: ['team-a', 'team-b'] })
  app.controllerFor(Foo).reconcile(async (foo, { client, events }) => {
    events.normal(foo, 'Seen', 'It was seen')
    await client.get(Secret, { namespace: foo.metadata.namespace, name: 'x' })
    await client.get(Secret, { namespace: `${foo.metadata.namespace}-more`, name: 'x' })
    await client.get(ConfigMap, { namespace: 'vault', name: 'x' })
  })
  const { rules, least } = await leastOf(app, async (w) => {
    await w.client.create(Foo, FOO)
    await w.settle()
  }, { text: "'vault' 'team-a'" })
  const inEach = (place: string): string[] => [
    `${place}: create,patch events.k8s.io/events`,
    `${place}: list,watch ${FOOS}`,
  ]
  assert.deepEqual(rules, [
    '*: get /secrets',
    ...inEach('team-a'),
    ...inEach('team-b'),
    'vault: get /configmaps',
  ])
  assert.match(least.notes.join('\n'), /get of secrets is allowed in all namespaces: it was asked for in "team-a-more"/)
})

test('other clusters have rights of their own', async () => {
  const app = operator({ name: 'a', leaderElection: true })
  const west = app.cluster('west', { server: 'https://west' }, { namespaces: ['w'] })
  app.controllerFor(ConfigMap, { when: ({ metadata }) => metadata.namespace === 'team-a' }).reconcile(
    async ({ metadata: { name } }, { clientOf }) => {
      await clientOf(west).apply(Secret, { metadata: { namespace: 'w', name } })
    },
  )
  const folder = await recorded(app, async (w) => {
    await w.clientOf(west).create(Namespace, { metadata: { name: 'w' } })
    await w.client.create(ConfigMap, { metadata: FOO.metadata })
    await w.settle()
  })
  const [cluster] = app.description.clusters
  const { rights } = leastRights(
    app.description,
    { namespace: 'here', cluster },
    await readRecord(folder, 'a', 'west'),
    () => false,
  )
  assert.deepEqual(rulesOf(rights.rights()), ['w: create,patch /secrets'])
  rmSync(folder, { recursive: true })
})

test('an impersonated request needs the right to impersonate, and not its own', async () => {
  const lines: unknown[] = []
  const recorder = new RightsRecorder({ operator: 'a', resources: [], write: (line) => lines.push(line) })
  const send = recorder.around(() => Promise.reject(new Error('not sent')), 'west')
  const headers = { 'impersonate-user': 'system:serviceaccount:x:y', 'impersonate-group': 'g' }
  await send({ method: 'GET', path: '/api/v1/pods', headers }).catch(() => {})
  await send({ method: 'GET', path: '/api/v1/pods', headers: { 'Impersonate-User': 'u' } }).catch(() => {})
  // Every user may read these.
  await send({ method: 'GET', path: '/apis/apps/v1' }).catch(() => {})
  await send({ method: 'GET', path: '/metrics' }).catch(() => {})
  await send({ method: 'GET', path: '/metrics' }).catch(() => {})
  const origin = { operator: 'a', cluster: 'west' }
  const at = { at: (lines[0] as AskedRight).at! }
  assert.deepEqual(lines.map((line) => ({ ...(line as object), ...at })), [
    { ...origin, verb: 'impersonate', group: '', resource: 'serviceaccounts', namespace: 'x', name: 'y', ...at },
    { ...origin, verb: 'impersonate', group: '', resource: 'groups', name: 'g', ...at },
    { ...origin, verb: 'impersonate', group: '', resource: 'users', name: 'u', ...at },
    { ...origin, verb: 'get', path: '/metrics', ...at },
  ])
})

test('many names are recorded as any name', async () => {
  const lines: AskedRight[] = []
  const recorder = new RightsRecorder({ operator: 'a', resources: [], write: (line) => lines.push(line as AskedRight) })
  const send = recorder.around(() => Promise.reject(new Error('not sent')), null)
  for (let at = 0; at < 300; at++) {
    await send({ method: 'GET', path: `/api/v1/namespaces/n/secrets/s${at}` }).catch(() => {})
  }
  assert.equal(lines.length, 201)
  assert.deepEqual({ ...lines.at(-1)!, at: '' }, {
    operator: 'a',
    verb: 'get',
    group: '',
    resource: 'secrets',
    namespace: '*',
    name: '*',
    at: '',
  })
})

test('worlds that run at the same time lose nothing, and a world without the variable writes nothing', async () => {
  const app = operator({ name: 'a', crds: 'ignore' })
  app.controllerFor(Foo).reconcile(async () => {})
  const folder = mkdtempSync(join(tmpdir(), 'rights-'))
  const work = async (w: World): Promise<void> => {
    await w.client.create(Foo, FOO)
    await w.settle()
  }
  await Promise.all([1, 2, 3].map(() => recorded(app, work, { folder })))
  assert.equal(readdirSync(folder).length, 3)
  const { rights } = await readRecord(folder, 'a', undefined)
  assert.equal(rights.filter(({ verb, resource }) => verb === 'watch' && resource === 'foos').length, 3)
  await work(await world(app, { objects: [TEAM] }))
  assert.equal(readdirSync(folder).length, 3)
  rmSync(folder, { recursive: true })
})

test('what awaits the whole operator is not the place of its requests', async () => {
  const app = operator({ name: 'a', crds: 'ignore' })
  app.controllerFor(ConfigMap).reconcile(async () => {})
  const lines: AskedRight[] = []
  const stopping = new AbortController()
  const write = (line: object): void => {
    lines.push(line as AskedRight)
    stopping.abort()
  }
  const recorder = new RightsRecorder({ operator: 'a', resources: [], write })
  // As `await app.run(import.meta)` does in the operator's file.
  await startOperator(app.description, stopping.signal, {
    transport: recorder.around(() => Promise.reject(new Error('not sent')), null),
    log: silentLog,
  })
  assert.ok(lines.length > 0)
  assert.deepEqual(lines.filter(({ at }) => at !== undefined), [])
})

test('a record that cannot be written is an error of the world', async () => {
  const app = operator({ name: 'a', crds: 'ignore' })
  app.controllerFor(ConfigMap).reconcile(async () => {})
  const folder = mkdtempSync(join(tmpdir(), 'rights-'))
  const file = join(folder, 'file')
  writeFileSync(file, '')
  await assert.rejects(
    recorded(app, async () => {}, { folder: file }),
    /Cannot record the rights of operator "a" in .*file: /,
  )
  rmSync(folder, { recursive: true })
})

/** Returns what a written role lacks and exceeds. */
function checked(found: Found, app: Operator, roles: readonly object[], isRecorded = true) {
  return compareRoles(writtenRules(roles as never, 'role.yaml'), {
    needed: found.least.rights.grants(),
    likely: likelyRights(app.description, { namespace: 'here' }).grants(),
    asked: found.least.asked,
    namespace: 'here',
    isRecorded,
  })
}

const RBAC = { apiVersion: 'rbac.authorization.k8s.io/v1' }

test('a written role is compared right by right', async () => {
  const app = operator({ name: 'a', crds: 'ignore', leaderElection: true })
  app.controllerFor(ConfigMap, { when: ({ metadata }) => metadata.name === 'one' }).reconcile(
    async (map, { client }) => void await client.update(ConfigMap, { ...map, data: { a: 'b' } }),
  )
  const found = await leastOf(app, async (w) => {
    await w.client.create(ConfigMap, { metadata: FOO.metadata })
    await w.settle()
  })
  const role = (rules: readonly object[]): object => ({ ...RBAC, kind: 'ClusterRole', metadata: { name: 'a' }, rules })
  const lease = (verbs: readonly string[], more: object = {}): object => ({
    ...RBAC,
    kind: 'Role',
    metadata: { name: 'a' },
    rules: [
      { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create'] },
      { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs, ...more },
    ],
  })
  const maps = { apiGroups: [''], resources: ['configmaps'] }
  const named = { resourceNames: ['a'] }
  const equal = [
    role([{ ...maps, verbs: ['get', 'list', 'watch', 'update'] }]),
    lease(['get', 'watch', 'update'], named),
  ]
  assert.deepEqual(checked(found, app, equal), { problems: [], notes: [] })

  const { problems: lacks } = checked(found, app, [
    role([{ ...maps, verbs: ['list', 'watch'] }]),
    lease(['get', 'watch'], named),
  ])
  assert.equal(lacks.length, 3, lacks.join('\n'))
  assert.match(lacks[0]!, /^lacks: update of configmaps \(core\): .*rights\.test\.ts:\d+:\d+$/)
  assert.match(lacks[1]!, /^lacks: get of configmaps \(core\): .*rights\.test\.ts:\d+:\d+$/)
  assert.match(
    lacks[2]!,
    /^lacks: update of leases \(coordination\.k8s\.io\) "a" in here: kubeloop itself requests it$/,
  )

  const wide = [
    role([
      { ...maps, verbs: ['get', 'list', 'watch', 'update', 'delete'] },
      { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
      { nonResourceURLs: ['/metrics'], verbs: ['get'] },
      { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create'] },
      { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create'] },
    ]),
    lease(['get', 'update', 'delete']),
  ]
  assert.deepEqual(checked(found, app, wide), {
    problems: [
      'exceeds: delete of configmaps (core) (ClusterRole "a"): not asked for in the record',
      'exceeds: * of * (*) (ClusterRole "a"): not asked for in the record',
      'exceeds: get of the path /metrics (ClusterRole "a"): not asked for in the record',
      'exceeds: create of leases (coordination.k8s.io) (ClusterRole "a"): needed only in here',
      'exceeds: get, update of leases (coordination.k8s.io) in here (Role "a"): needed only for "a"',
      'exceeds: delete of leases (coordination.k8s.io) in here (Role "a"): not asked for in the record',
    ],
    notes: [
      'create of events (events.k8s.io) (ClusterRole "a"): not asked for in the record, but kinds of the ' +
      "operator's description suggest it",
    ],
  })
  // Wildcards allow what is needed.
  assert.deepEqual(
    checked(found, app, [role([{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }])]).problems.map((line) =>
      line.split(':')[0]
    ),
    ['exceeds'],
  )
  // Without a record, only what kubeloop itself needs is known.
  const unknown = checked(found, app, wide, false)
  assert.deepEqual(unknown.problems, [])
  assert.match(unknown.notes.join('\n'), /without --record, nothing is known/)
})

test('a ClusterRole holds where the file binds it', async () => {
  const app = operator({ name: 'a', crds: 'ignore', namespaces: ['team-a', 'team-b'] })
  app.controllerFor(ConfigMap).reconcile(async () => {})
  const found = await leastOf(app, async () => {})
  const role = {
    ...RBAC,
    kind: 'ClusterRole',
    metadata: { name: 'a' },
    rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list', 'watch'] }],
  }
  const roleRef = { kind: 'ClusterRole', name: 'a' }
  const bound = (namespace: string): object => ({
    ...RBAC,
    kind: 'RoleBinding',
    metadata: { name: 'a', namespace },
    roleRef,
  })
  assert.deepEqual(checked(found, app, [role, bound('team-a'), bound('team-b')]).problems, [])
  assert.deepEqual(checked(found, app, [role, bound('team-a')]).problems.map((line) => line.split(': k')[0]), [
    'lacks: list of configmaps (core) in team-b',
    'lacks: watch of configmaps (core) in team-b',
  ])
  const wider = { ...role, rules: role.rules.map((rule) => ({ ...rule, verbs: [...rule.verbs, 'delete'] })) }
  assert.deepEqual(
    checked(found, app, [wider, bound('team-a'), bound('team-b')]).problems.map((line) => line.split(' (Cl')[0]),
    ['team-a', 'team-b'].map((place) => `exceeds: delete of configmaps (core) in ${place}`),
  )
  const everywhere = { ...RBAC, kind: 'ClusterRoleBinding', metadata: { name: 'a' }, roleRef }
  assert.deepEqual(checked(found, app, [role, bound('team-a'), everywhere]).problems, [
    'exceeds: list, watch of configmaps (core) (ClusterRole "a"): needed only in team-a, team-b',
  ])
})

const FILE = `import { operator } from 'kubeloop'
import { ConfigMap, Secret } from 'kubeloop/kinds'
const app = operator({ name: 'copier', crds: 'ignore' })
app.controllerFor(ConfigMap, { when: ({ metadata }) => metadata.namespace === 'default' }).reconcile(
  async (map, { client }) => {
    await client.apply(Secret, { metadata: { namespace: 'default', name: 'copy-' + map.metadata.name } })
    await client.get(Secret, { namespace: 'vault', name: 'login' })
  },
)
export default app
`

const TEST = `import { ConfigMap } from 'kubeloop/kinds'
import { world } from 'kubeloop/testing'
import app from './op.ts'
const w = await world(app)
await w.client.create(ConfigMap, { metadata: { namespace: 'default', name: 'one' } })
await w.settle()
await w.stop()
`

test('kubeloop rights: the roles, a check that fits, one that does not, and manifests with the record', () =>
  inFolder(async (folder) => {
    folder.write('op.ts', FILE)
    process.env['KUBELOOP_RIGHTS'] = join(folder.path, 'record')
    try {
      folder.write('try.ts', TEST)
      await import(join(folder.path, 'try.ts'))
    } finally {
      delete process.env['KUBELOOP_RIGHTS']
    }
    const run = async (...args: string[]) => {
      const command = folder.run(...args)
      const code = await command.ended
      return { code, printed: command.printed(), errors: command.errors() }
    }
    const printed = await run('rights', 'op.ts', '--record', 'record')
    assert.equal(printed.code, 0, printed.errors)
    assert.match(printed.errors, /a right that no test exercised is missing here/)
    const roles = loadAll(printed.printed) as { kind: string; metadata: object; rules: object[] }[]
    assert.deepEqual(roles.map(({ kind, metadata, rules }) => ({ kind, metadata, rules })), [
      {
        kind: 'ClusterRole',
        metadata: { name: 'copier', labels: { 'app.kubernetes.io/name': 'copier' } },
        rules: [
          { apiGroups: [''], resources: ['configmaps'], verbs: ['list', 'watch'] },
          { apiGroups: [''], resources: ['secrets'], verbs: ['create', 'patch'] },
        ],
      },
      {
        kind: 'Role',
        metadata: { name: 'copier', namespace: 'vault', labels: { 'app.kubernetes.io/name': 'copier' } },
        rules: [{ apiGroups: [''], resources: ['secrets'], resourceNames: ['login'], verbs: ['get'] }],
      },
    ])
    folder.write('role.yaml', printed.printed)
    const fits = await run('rights', 'op.ts', '--record', 'record', '--check', 'role.yaml')
    assert.deepEqual([fits.code, fits.printed], [0, ''], fits.errors)
    folder.write('role.yaml', printed.printed.replace(/^ *- patch\n/m, ''))
    const lacks = await run('rights', 'op.ts', '--record', 'record', '--check', 'role.yaml')
    assert.equal(lacks.code, 1, lacks.errors)
    assert.match(lacks.printed, /^lacks: patch of secrets \(core\): op\.ts:6:\d+$/)
    const manifests = await run('manifests', 'op.ts', '--record', 'record', '--image', 'a:1')
    const all = loadAll(manifests.printed) as { kind: string; rules?: object[] }[]
    assert.deepEqual(
      all.filter(({ kind }) => /Role$/.test(kind)).map(({ rules }) => rules),
      roles.map(({ rules }) => rules),
    )
  }))

const ROLE = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: copier
`

for (
  const [title, args, files, code, problem] of [
    [
      'a record that is missing',
      ['--record', 'none'],
      {},
      1,
      /^Cannot read the record in .*none: there is no such folder; run/,
    ],
    [
      'a record of another operator',
      ['--record', 'record'],
      { 'record/a.jsonl': '{"operator":"other","reconciled":"a"}\n' },
      1,
      /^Cannot read the record in .*record: it has no request of the operator "copier", but of "other"; run the/,
    ],
    [
      'a record that is damaged',
      ['--record', 'record'],
      { 'record/a.jsonl': '{"operator":"copier"}\n{"operator"' },
      1,
      /^Cannot read .*record\/a\.jsonl: line 2 is not one of a record/,
    ],
    ['a role that is missing', ['--check', 'role.yaml'], {}, 1, /^Cannot read role\.yaml: there is no such file/],
    [
      'a file without a role',
      ['--check', 'role.yaml'],
      { 'role.yaml': ROLE.replace('ClusterRole', 'ServiceAccount') },
      1,
      /^Cannot check role\.yaml: it has no Role and no ClusterRole$/,
    ],
    [
      'an aggregated role',
      ['--check', 'role.yaml'],
      { 'role.yaml': `${ROLE}aggregationRule: { clusterRoleSelectors: [] }\n` },
      1,
      /^Cannot check role\.yaml: ClusterRole "copier" is aggregated: its rules are those of other ClusterRoles/,
    ],
    [
      'a rule with a text for a list',
      ['--check', 'role.yaml'],
      { 'role.yaml': `${ROLE}rules: [{ apiGroups: [''], resources: pods, verbs: [get] }]\n` },
      1,
      /^Cannot check role\.yaml: ClusterRole "copier" has a rule 1 whose resources is not a list of strings$/,
    ],
    [
      'a misspelled field of a rule',
      ['--check', 'role.yaml'],
      { 'role.yaml': `${ROLE}rules: [{ apiGroup: [''], resources: [pods], verbs: [get] }]\n` },
      1,
      /^Cannot check role\.yaml: ClusterRole "copier" has a rule 1 with "apiGroup"; the fields are apiGroups,/,
    ],
    ['an unknown cluster', ['--cluster', 'west'], {}, 1, /in the cluster "west": the operator "copier" has no other/],
    ['an unknown option', ['--recrd', 'x'], {}, 2, /^Cannot understand "--recrd": kubeloop rights knows --record,/],
    ['an option without its value', ['--check'], {}, 2, /^Cannot understand "--check": --check needs a value$/],
  ] as const
) {
  test(`kubeloop rights: ${title} is one clear line`, () =>
    inFolder(async (folder) => {
      folder.write('op.ts', FILE)
      for (const [name, text] of Object.entries(files)) folder.write(name, text)
      const command = folder.run('rights', 'op.ts', ...args)
      assert.equal(await command.ended, code, command.output())
      assert.match(command.errors(), problem)
      assert.equal(command.errors().split('\n').length, 1, command.errors())
      assert.equal(command.printed(), '')
    }))
}
