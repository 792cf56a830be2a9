/** Tests `kubeloop rights`: what worlds record, the least roles, and the check of written ones. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { loadAll } from 'js-yaml'
import { defineResource, type Operator, operator } from 'kubeloop'
import {
  ClusterRoleBinding,
  ConfigMap,
  Namespace,
  Node,
  Role,
  RoleBinding,
  Secret,
  ServiceAccount,
} from 'kubeloop/kinds'
import { type World, world, type WorldOptions } from 'kubeloop/testing'
import * as z from 'zod'
import { parseManifest } from '../../lib/cli/manifests.ts'
import { rightsAnswer } from '../../lib/cli/rights/answer.ts'
import { compareRoles } from '../../lib/cli/rights/compare.ts'
import { type LeastRights, leastRights } from '../../lib/cli/rights/least.ts'
import { readRecord } from '../../lib/cli/rights/record.ts'
import { writtenRules } from '../../lib/cli/rights/written_roles.ts'
import { rolesOf } from '../../lib/rights/account.ts'
import { likelyRights } from '../../lib/rights/likely.ts'
import { rulesOf, withoutIncluded } from '../../lib/rights/rules.ts'
import type { AskedRight } from '../../lib/testing/rights_recorder.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { startOperator } from '../../lib/operator/run/start.ts'
import { placeIn, RightsRecorder } from '../../lib/testing/rights_recorder.ts'
import { withFolder } from '../tools/folder.ts'
import { textsOf } from './deploy_sample.ts'
import { inFolder } from './dev_command.ts'
import { goldenCases } from './golden.ts'

const Foo = defineResource({
  group: 'rights.example.com',
  version: 'v1',
  kind: 'Foo',
  spec: z.object({ to: z.string().optional() }),
  status: z.object({ ready: z.boolean().optional() }),
})

const FOO = { metadata: { namespace: 'team-a', name: 'one' }, spec: {} }
const TEAM = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team-a' } }

/** Runs an operator in a world that records in a folder. */
async function record(
  folder: string,
  app: Operator,
  work: (w: World) => Promise<void>,
  options: WorldOptions = {},
): Promise<void> {
  process.env['KUBELOOP_RIGHTS'] = folder
  try {
    await using w = await world(app, { objects: [TEAM], ...options })
    await work(w)
  } finally {
    delete process.env['KUBELOOP_RIGHTS']
  }
}

interface Found {
  readonly least: LeastRights
  readonly rules: readonly string[]
  readonly lines: readonly AskedRight[]
}

/** Returns the least rights that follow from a run. `text`: what stands in the operator's file. */
function leastOf(
  app: Operator,
  work: (w: World) => Promise<void>,
  { text = '', ...options }: WorldOptions & { readonly text?: string } = {},
): Promise<Found> {
  return withFolder(async (folder) => {
    await record(folder, app, work, options)
    const found = await readRecord([folder], app.description.options.name, undefined)
    const least = leastRights(app.description, { namespace: 'here' }, found, (name) => text.includes(`'${name}'`))
    return { least, rules: textsOf(rulesOf(least.rights)), lines: found.rights }
  })
}

const made = (options: Partial<Parameters<typeof operator>[0]>, use: (app: Operator) => void): Operator => {
  const app = operator({ name: 'a', crds: 'ignore', ...options })
  use(app)
  return app
}
const withFoo = async (w: World): Promise<void> => {
  await w.client.create(Foo, FOO)
  await w.settle()
}

const ofMaps = made({}, (app) => app.controllerFor(ConfigMap).reconcile(async () => {}))

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

interface Case {
  readonly app: Operator
  /** Default: an operator without objects. */
  readonly work?: (w: World) => Promise<void>
  readonly replicas?: number
  /** What stands in the operator's file. */
  readonly text?: string
}

const CASES: Readonly<Record<string, Case>> = {
  'requests of kubeloop itself have no place, also in timers that the test advances': {
    app: made(
      { leaderElection: true },
      (app) =>
        app.controllerFor(ConfigMap).reconcile(async (map, { events }) =>
          void events.normal(map, 'Seen', 'It was seen')
        ),
    ),
    work: async (w) => {
      await w.client.create(ConfigMap, { metadata: FOO.metadata })
      await w.advance('1m')
    },
    replicas: 2,
  },
  'a write that would change nothing needs its right as well': {
    // An object without a status has an empty one, so nothing is sent.
    app: made(
      {},
      (app) => app.controllerFor(Foo).reconcile(async (foo, { client }) => void await client.setStatus(Foo, foo, {})),
    ),
    work: withFoo,
  },
  'a finalizer is patched, and its object is read again after a conflict': {
    app: made({}, (app) => app.controllerFor(Foo).finalize(async () => {}).reconcile(async () => {})),
  },
  'every kind of request: verbs, subresources, deletecollection, scale, generated names, updates': {
    app: made(
      { crds: 'verify' },
      (app) =>
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
        ),
    ),
  },
  'namespaces that stand in the file limit the rules, names lead to hints, and those of objects do neither': {
    app: made({}, (app) =>
      app.controllerFor(Foo).reconcile(async (foo, { client }) => {
        await client.get(Secret, { namespace: 'vault', name: 'login' })
        await client.get(ConfigMap, { namespace: 'vault', name: foo.metadata.name })
        await client.apply(Namespace, { metadata: { name: 'vault' } })
        await client.get(Node, { name: 'one' })
        await client.get(Node, { name: 'unknown' })
      })),
    work: withFoo,
    // "one" stands in the file as well, but it is the name of a reconciled object.
    text: "'vault' 'login' 'one'",
  },
  'a binding needs the right to bind its role, and no other one': {
    app: made({}, (app) =>
      app.controllerFor(Foo).owns(Role).owns(RoleBinding).reconcile(async (foo, { client }) => {
        const metadata = { namespace: foo.metadata.namespace, name: 'team' }
        const bound = (kind: string, name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name })
        await client.apply(Role, { metadata, rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }] })
        await client.apply(RoleBinding, { metadata, roleRef: bound('Role', 'team') }, { owner: foo })
        await client.create(ClusterRoleBinding, { metadata: { name: 'all' }, roleRef: bound('ClusterRole', 'view') })
        await client.delete(ClusterRoleBinding, { name: 'all' })
      })),
    work: withFoo,
  },
  'with namespaces, what was asked for in one of them is allowed in each': {
    app: made(
      { namespaces: ['team-a', 'team-b'] },
      (app) =>
        app.controllerFor(Foo).reconcile(async (foo, { client, events }) => {
          events.normal(foo, 'Seen', 'It was seen')
          await client.get(Secret, { namespace: foo.metadata.namespace, name: 'x' })
          await client.get(Secret, { namespace: `${foo.metadata.namespace}-more`, name: 'x' })
          await client.get(ConfigMap, { namespace: 'vault', name: 'x' })
        }),
    ),
    work: withFoo,
    text: "'vault' 'team-a'",
  },
}

test('the least rights are those of the golden file', async () => {
  const cases: (readonly [string, readonly string[]])[] = []
  for (const [title, { app, work = async () => {}, replicas, text }] of Object.entries(CASES)) {
    const { rules, lines, least } = await leastOf(app, work, { ...(replicas && { replicas }), ...(text && { text }) })
    const asked = Map.groupBy(lines, ({ at, resource }) => `${at === undefined ? 'kubeloop' : 'its code'}: ${resource}`)
    const verbs = [...asked].map(([what, all]) => `${what} ${[...new Set(all.map(({ verb }) => verb))].sort().join()}`)
    cases.push([title, [...rules, ...verbs.sort(), ...least.notes.map((note) => `note: ${note}`)]])
  }
  goldenCases('least_rights.txt', cases)
})

const RBAC_GROUP = 'rbac.authorization.k8s.io'
/** A write of the Role that is bound, with one part changed, and whether the right to bind it is still needed. */
const WRITTEN: readonly (readonly [change: object, isNeeded: boolean])[] = [
  ...['create', 'update', 'patch'].map((verb) => [{ verb }, false] as const),
  ...['delete', 'deletecollection', 'get', 'bind'].map((verb) => [{ verb }, true] as const),
  [{ namespace: 'b' }, true],
  [{ namespace: undefined }, true],
  [{ namespace: '*', name: '*' }, false],
  [{ name: 'other' }, true],
  [{ group: 'example.dev' }, true],
  [{ resource: 'clusterroles' }, true],
]

test('the right to bind a Role is left out only if the operator gives its rules, in the same namespace', () => {
  const bind = { operator: 'a', verb: 'bind', group: RBAC_GROUP, resource: 'roles', namespace: 'a', name: 'team' }
  const binds = (bound: AskedRight, written: AskedRight): boolean =>
    leastRights(ofMaps.description, { namespace: 'here' }, {
      rights: [bound, written],
      paths: [],
      reconciled: new Set(),
    }, () => false).rights.some(({ verb, resource, name }) =>
      verb === 'bind' && resource === bound.resource && name === 'team'
    )
  for (const [change, isNeeded] of WRITTEN) {
    const written = { ...bind, verb: 'create', ...change } as AskedRight
    assert.equal(binds(bind, written), isNeeded, JSON.stringify(change))
    if ('namespace' in change || 'resource' in change) continue
    // A ClusterRole has no namespace, and its RoleBinding may be in any.
    const role = { ...written, resource: 'clusterroles', namespace: undefined } as unknown as AskedRight
    assert.equal(binds({ ...bind, resource: 'clusterroles' }, role), isNeeded, `ClusterRole ${JSON.stringify(change)}`)
  }
})

test('a right is left out only beside one that includes it', () => {
  const right = { namespace: 'a', group: 'g', resource: 'r', verb: 'get', name: 'n' }
  for (const part of ['namespace', 'group', 'resource', 'verb', 'name'] as const) {
    assert.equal(withoutIncluded([right, { ...right, [part]: 'x' }]).length, 2, part)
    if (part === 'namespace' || part === 'name') {
      assert.deepEqual(withoutIncluded([right, { ...right, [part]: undefined }]), [{ ...right, [part]: undefined }])
    }
  }
})

test('a record has the rights and the paths of each cluster, and the reconciled names of all', () =>
  withFolder(async (folder) => {
    const lines = [undefined, 'west'].flatMap((cluster) => [
      { operator: 'a', cluster, verb: 'get', group: '', resource: `pods-${cluster}` },
      { operator: 'a', cluster, verb: 'get', path: `/${cluster}` },
      { operator: 'a', cluster, reconciled: `ns/of-${cluster}` },
    ])
    writeFileSync(join(folder, 'a.jsonl'), lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    for (const cluster of [undefined, 'west']) {
      const { rights, paths, reconciled } = await readRecord([folder], 'a', cluster)
      assert.deepEqual(rights.map(({ resource }) => resource), [`pods-${cluster}`])
      assert.deepEqual(paths.map(({ path }) => path), [`/${cluster}`])
      assert.deepEqual([...reconciled], ['ns', 'of-undefined', 'of-west'])
    }
  }))

test("the Secrets of the webhooks' certificates are kubeloop's own, if it asked for them", () => {
  const certs = { secret: 'own', ca: { secret: 'issuer', namespace: 'vault' } }
  const app = made({ webhooks: { certs } }, (each) => each.controllerFor(ConfigMap).reconcile(async () => {}))
  const get = (name: string, at?: string): AskedRight => ({
    ...{ operator: 'a', verb: 'get', group: '', resource: 'secrets', namespace: 'vault', name },
    ...(at !== undefined && { at }),
  })
  const asked = (right: AskedRight): number =>
    leastRights(
      app.description,
      { namespace: 'here' },
      { rights: [right], paths: [], reconciled: new Set() },
      () => true,
    )
      .asked.length
  assert.deepEqual([get('own'), get('issuer'), get('other'), get('issuer', '/op.ts:1:1')].map(asked), [0, 0, 1, 1])
})

test('rights that exceed for different names have a line each', () => {
  const rule = (...names: string[]) => ({
    ...{ role: 'Role "a"', namespaces: ['here'], apiGroups: [''], resources: ['secrets'], verbs: ['get'] },
    ...{ resourceNames: names, nonResourceURLs: [] },
  })
  const expected = { limited: [], needed: [], likely: [], asked: [], namespace: 'here', isRecorded: true }
  const { problems } = compareRoles([rule('x', 'y')], expected)
  assert.deepEqual(
    problems,
    ['x', 'y'].map((name) =>
      `exceeds: get of secrets (core) "${name}" in here (Role "a"): not asked for in the record`
    ),
  )
  const given = { ...rule(), resources: ['*/log'] }
  const log = { namespace: 'here', group: '', resource: 'pods/log', verb: 'get', name: undefined }
  assert.deepEqual(compareRoles([given], { ...expected, limited: [log], isRecorded: false }).problems, [])
})

test('a Role is bound in its own namespace; one that is not stated is the same', () => {
  for (const [own, of, places] of [[undefined, 'x', [undefined]], ['x', undefined, ['x']], ['x', 'y', []]] as const) {
    const role = { ...roleOf('Role', [maps('get')]), metadata: { name: 'a', namespace: own } }
    const binding = { ...bound('x'), metadata: { name: 'a', namespace: of }, roleRef: { kind: 'Role', name: 'a' } }
    assert.deepEqual(writtenRules([role, binding] as never, 'a.yaml')[0]!.namespaces, places)
  }
})

test('other clusters have rights of their own', async () => {
  const app = operator({ name: 'a', leaderElection: true })
  const west = app.cluster('west', { server: 'https://west' }, { namespaces: ['w'] })
  app.controllerFor(ConfigMap, { when: ({ metadata }) => metadata.namespace === 'team-a' }).reconcile(
    async ({ metadata: { name } }, { client, clientOf }) => {
      for (const each of [client, clientOf(west)]) await each.apply(Secret, { metadata: { namespace: 'w', name } })
    },
  )
  await withFolder(async (folder) => {
    await record(folder, app, async (w) => {
      for (const each of [w.client, w.clientOf(west)]) await each.create(Namespace, { metadata: { name: 'w' } })
      await w.client.create(ConfigMap, { metadata: FOO.metadata })
      await w.settle()
    })
    const [cluster] = app.description.clusters
    const found = await readRecord([folder], 'a', 'west')
    const { rights } = leastRights(app.description, { namespace: 'here', cluster }, found, () => false)
    assert.deepEqual(textsOf(rulesOf(rights)), ['w: create,patch /secrets'])
    // A ClusterRole without rules would only be there to be widened.
    assert.deepEqual(rolesOf('a', 'here', rulesOf(rights)).map(({ kind }) => kind), ['Role', 'RoleBinding'])
  })
  // What its caches select is that of no other cluster.
  app.cache(ConfigMap, { cluster: west, namespaces: ['w'] })
  const lists = likelyRights(app.description, { namespace: 'here' }).filter(({ verb, resource }) =>
    verb === 'list' && resource === 'configmaps'
  )
  assert.deepEqual(lists.map(({ namespace }) => namespace), [undefined])
})

/** Returns a transport that records, and its lines. Nothing is sent. */
function recording(cluster: string | null, onLine = () => {}) {
  const lines: AskedRight[] = []
  const write = (line: object): void => {
    lines.push(line as AskedRight)
    onLine()
  }
  const recorder = new RightsRecorder({ operator: 'a', resources: [], write })
  const transport = recorder.around(() => Promise.reject(new Error('not sent')), cluster)
  const get = (path: string, headers: Readonly<Record<string, string>> = {}): Promise<unknown> =>
    transport({ method: 'GET', path, headers }).catch(() => {})
  return { lines, transport, get }
}

test('events about objects that are in no namespace are in default', () => {
  const app = made({ namespaces: ['a'] }, (app) => {
    app.controllerFor(Namespace).reconcile(async () => {})
    app.controllerFor(ConfigMap).reconcile(async () => {})
  })
  const events = likelyRights(app.description, { namespace: 'here' }).filter(({ resource }) => resource === 'events')
  assert.deepEqual(new Set(events.map(({ namespace }) => namespace)), new Set(['default', 'a']))
})

test('an impersonated request needs the right to impersonate, and not its own', async () => {
  const { lines, get } = recording('west')
  await get('/api/v1/pods', { 'impersonate-user': 'system:serviceaccount:x:y', 'impersonate-group': 'g' })
  await get('/api/v1/pods', { 'Impersonate-User': 'u' })
  // Every user may read this one.
  await get('/apis/apps/v1')
  for (let count = 0; count < 2; count++) await get('/metrics')
  const origin = { operator: 'a', cluster: 'west', at: '' }
  assert.deepEqual(lines.map((line) => ({ ...line, at: '' })), [
    { ...origin, verb: 'impersonate', group: '', resource: 'serviceaccounts', namespace: 'x', name: 'y' },
    { ...origin, verb: 'impersonate', group: '', resource: 'groups', name: 'g' },
    { ...origin, verb: 'impersonate', group: '', resource: 'users', name: 'u' },
    { ...origin, verb: 'get', path: '/metrics' },
  ])
})

test('a write that is not sent needs the right on its own kind, not on one of its name', () => {
  const lines: AskedRight[] = []
  const resources = ['a', 'b'].map((
    group,
  ) => ({ group, version: 'v1', kind: 'Foo', plural: 'foos', scope: 'Namespaced' } as const))
  const recorder = new RightsRecorder({ operator: 'a', resources, write: (line) => lines.push(line as AskedRight) })
  const write = { verb: 'apply', result: 'unchanged', group: 'b', kind: 'Foo', key: 'n/x', cluster: 'west' } as const
  recorder.reconciled({ key: 'n/x', writes: [write] })
  assert.deepEqual(
    new Set(lines.map(({ group, cluster }) => group && `${group} ${cluster}`)),
    new Set([undefined, 'b west']),
  )
})

test('the right on an owner is in its namespace, or in none', async () => {
  const lines: AskedRight[] = []
  const resources = (['Namespaced', 'Cluster'] as const).map((scope) => (
    { group: 'g', version: 'v1', kind: scope, plural: scope.toLowerCase(), scope }
  ))
  const recorder = new RightsRecorder({ operator: 'a', resources, write: (line) => lines.push(line as AskedRight) })
  const ownerReferences = resources.map(({ kind }) => (
    { apiVersion: 'g/v1', kind, name: 'x', uid: 'u', blockOwnerDeletion: true }
  ))
  const body = JSON.stringify({ metadata: { name: 'm', ownerReferences } })
  const transport = recorder.around(() => Promise.reject(new Error('not sent')), null)
  await assert.rejects(transport({ method: 'POST', path: '/api/v1/namespaces/n/configmaps', body }), /not sent/)
  assert.deepEqual(lines.map(({ resource, namespace }) => `${resource} ${namespace}`), [
    'configmaps n',
    'namespaced/finalizers n',
    'cluster/finalizers undefined',
  ])
})

test('many names are recorded as any name', async () => {
  const { lines, get } = recording(null)
  for (let at = 0; at < 300; at++) await get(`/api/v1/namespaces/n/secrets/s${at}`)
  assert.equal(lines.length, 201)
  const { namespace, name } = lines.at(-1)!
  assert.deepEqual([namespace, name], ['*', '*'])
})

test('worlds that run at the same time lose nothing, and a world without the variable writes nothing', () =>
  withFolder(async (folder) => {
    const app = made({}, (each) => each.controllerFor(Foo).reconcile(async () => {}))
    await Promise.all([1, 2, 3].map(() => record(folder, app, withFoo)))
    assert.equal(readdirSync(folder).length, 3)
    const { rights } = await readRecord([folder], 'a', undefined)
    assert.equal(rights.filter(({ verb, resource }) => verb === 'watch' && resource === 'foos').length, 3)
    await withFoo(await world(app, { objects: [TEAM] }))
    assert.equal(readdirSync(folder).length, 3)
  }))

test('what awaits the whole operator is not the place of its requests', async () => {
  const stopping = new AbortController()
  const { lines, transport } = recording(null, () => stopping.abort())
  // As `await app.run(import.meta)` does in the operator's file.
  await startOperator(ofMaps.description, stopping.signal, { transport, log: silentLog })
  assert.ok(lines.length > 0)
  assert.deepEqual(lines.filter(({ at }) => at !== undefined), [])
})

test('a record that cannot be written is an error of the world', () =>
  withFolder(async (folder) => {
    const file = join(folder, 'file')
    writeFileSync(file, '')
    const recorded = record(file, ofMaps, async () => {})
    await assert.rejects(recorded, /Cannot record the rights of operator "a" in .*file: /)
  }))

/** Bun's `expect` runs turns of the event loop, and so the operator, within its call. */
async function rejects(promise: Promise<unknown>): Promise<void> {
  if (process.versions['bun'] === undefined) return await assert.rejects(promise, /after the advance/)
  const tests: string = 'bun:test'
  const { expect } = await import(tests) as {
    expect: (promise: Promise<unknown>) => { rejects: { toThrow(text: string): Promise<void> } }
  }
  await expect(promise).rejects.toThrow('after the advance')
}

test('a request that a test makes possible, but no code of the operator asks for, has no place', async () => {
  const app = made({ leaderElection: true }, (each) =>
    each.controllerFor(Foo).reconcile(async (foo, { client }) => {
      await client.apply(ConfigMap, { metadata: { namespace: 'team-a', name: foo.metadata.name } })
    }))
  const { lines } = await leastOf(app, async (w) => {
    await rejects((async () => {
      await withFoo(w)
      await w.advance('1m')
      throw new Error('after the advance')
    })())
  }, { replicas: 2 })
  const asked = lines.filter(({ at }) => at !== undefined)
  assert.deepEqual(asked.map(({ verb, resource }) => `${verb} ${resource}`), ['patch configmaps', 'create configmaps'])
  assert.ok(lines.some(({ verb, resource }) => verb === 'update' && resource === 'leases'))
})

test('the place of a request is in the turn of the event loop that made it', () => {
  const [own, user, test] = [
    '    at send (/kubeloop/node_modules/x.js:1:1)',
    '    at f (/w/op.ts:1:1)',
    '    at /w/t.ts:9:9',
  ]
  const cases: readonly (readonly [string | undefined, ...string[]])[] = [
    ['/w/op.ts:1:1', own!, user!],
    ['/w/op.ts:1:1', own!, '    at async g (/kubeloop/node_modules/y.js:1:1)', user!.replace('at', 'at async'), test!],
    ['/w/op.ts:1:1', own!, '    at map (native:1:11)', user!],
    [undefined, own!, '    at toThrow (unknown)', test!],
    [undefined, own!, '    at async run (/kubeloop/node_modules/y.js:1:1)', test!],
    [undefined, own!, '    at startOperator2 (/kubeloop/node_modules/y.js:1:1)', test!],
  ]
  for (const [place, ...frames] of cases) {
    assert.equal(placeIn(['Error', ...frames].join('\n')), place, frames.join('\n'))
  }
})

function checked(found: Found, app: Operator, roles: readonly object[], isRecorded = true) {
  return compareRoles(writtenRules(roles as never, 'role.yaml'), {
    needed: found.least.rights,
    limited: found.least.limited,
    likely: likelyRights(app.description, { namespace: 'here' }),
    asked: found.least.asked,
    namespace: 'here',
    isRecorded,
  })
}

const RBAC = { apiVersion: 'rbac.authorization.k8s.io/v1' }

const ROLE_REF = { kind: 'ClusterRole', name: 'a' }
const roleOf = (kind: 'Role' | 'ClusterRole', rules: readonly object[]): object => ({
  ...RBAC,
  kind,
  metadata: { name: 'a' },
  rules,
})
const bound = (namespace?: string): object => ({
  ...RBAC,
  kind: namespace === undefined ? 'ClusterRoleBinding' : 'RoleBinding',
  metadata: { name: 'a', ...(namespace !== undefined && { namespace }) },
  roleRef: ROLE_REF,
})
const ruleOn = (group: string, resource: string, verbs: string, more: object = {}): object => ({
  apiGroups: [group],
  resources: [resource],
  verbs: verbs.split(' '),
  ...more,
})
const maps = (verbs: string): object => ruleOn('', 'configmaps', verbs)
const leases = (verbs: string, ...names: string[]): object =>
  roleOf('Role', [
    ruleOn('coordination.k8s.io', 'leases', 'create'),
    ruleOn('coordination.k8s.io', 'leases', verbs, names.length > 0 ? { resourceNames: names } : {}),
  ])
const WIDE = [
  roleOf('ClusterRole', [
    maps('get list watch update delete'),
    ruleOn('*', '*', '*'),
    { nonResourceURLs: ['/metrics'], verbs: ['get'] },
    ruleOn('events.k8s.io', 'events', 'create'),
    ruleOn('coordination.k8s.io', 'leases', 'create'),
  ]),
  leases('get update delete'),
]

test('written roles lack and exceed what the golden file says', async () => {
  const updating = made(
    { leaderElection: true },
    (app) =>
      app.controllerFor(ConfigMap, { when: ({ metadata }) => metadata.name === 'one' }).reconcile(
        async (map, { client }) => void await client.update(ConfigMap, { ...map, data: { a: 'b' } }),
      ),
  )
  const one = await leastOf(updating, async (w) => {
    await w.client.create(ConfigMap, { metadata: FOO.metadata })
    await w.settle()
  })
  const inTeams = made(
    { namespaces: ['team-a', 'team-b'] },
    (app) => app.controllerFor(ConfigMap).reconcile(async () => {}),
  )
  const teams = await leastOf(inTeams, async () => {})
  const [read, wider] = ['list watch', 'list watch delete'].map((verbs) => roleOf('ClusterRole', [maps(verbs)])) as [
    object,
    object,
  ]
  const compared = {
    'equal roles': checked(one, updating, [
      roleOf('ClusterRole', [maps('get list watch update')]),
      leases('get watch update', 'a'),
    ]),
    'roles that lack rights': checked(one, updating, [
      roleOf('ClusterRole', [maps('list watch')]),
      leases('get watch', 'a'),
    ]),
    'roles that are too wide': checked(one, updating, WIDE),
    'a kind of the same name in another group': checked(one, updating, [
      roleOf('ClusterRole', [maps('get list watch update'), ruleOn('example.dev', 'configmaps', 'update')]),
      leases('get watch update', 'a'),
    ]),
    'the same without a record': checked(one, updating, WIDE, false),
    'a role with all rights': checked(one, updating, [roleOf('ClusterRole', [ruleOn('*', '*', '*')])]),
    'a ClusterRole that is bound in both namespaces': checked(teams, inTeams, [read, bound('team-a'), bound('team-b')]),
    'a ClusterRole that is bound in one of them': checked(teams, inTeams, [read, bound('team-a')]),
    'a wider one': checked(teams, inTeams, [wider, bound('team-a'), bound('team-b')]),
    'one that other bindings than its own are beside': checked(teams, inTeams, [
      read,
      { ...wider, metadata: { name: 'editor' } },
      { ...bound(), roleRef: { kind: 'ClusterRole', name: 'b' } },
    ]),
    'one that is bound everywhere as well': checked(teams, inTeams, [read, bound('team-a'), bound()]),
  }
  goldenCases(
    'compared_roles.txt',
    Object.entries(compared).map(([title, { problems, notes }]) => [title, [
      ...problems.map((line) => line.replace(/: [^ ]*rights\.test\.ts:\d+:\d+$/, ': its place')),
      ...notes.map((note) => `note: ${note}`),
    ]]),
  )
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
    const printed = await folder.call('rights', 'op.ts', '--record', 'record')
    assert.equal(printed.code, 0, printed.err)
    assert.match(printed.err, /a right that no test exercised is missing here/)
    assert.match(printed.err, /^get of secrets was asked for "login" only, .*resourceNames: \[login\] if/m)
    const roles = loadAll(printed.out) as { kind: string; metadata: object; rules: object[] }[]
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
        rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }],
      },
    ])
    // As it is, and as the hint says.
    for (const names of ['', '$1resourceNames: [login]\n']) {
      folder.write('role.yaml', printed.out.replace(/^( *)verbs:\n *- get$/m, `${names}$&`))
      const fits = await folder.call('rights', 'op.ts', '--record', 'record', '--check', 'role.yaml')
      assert.deepEqual([fits.code, fits.out], [0, ''], fits.err)
    }
    const [clusterRole, role] = printed.out.split('---\n') as [string, string]
    folder.write('roles/a.yaml', clusterRole)
    folder.write('roles/b/role.yml', role)
    folder.write('roles/template.yaml', 'a: {{ b }}')
    for (const paths of [['roles'], ['roles/a.yaml', 'roles/b/role.yml'], ['roles/b', 'roles/a.yaml']]) {
      const checks = paths.flatMap((path) => ['--check', path])
      const fits = await folder.call('rights', 'op.ts', '--record', 'record', ...checks)
      assert.deepEqual([fits.code, fits.out], [0, ''], fits.err)
    }
    const requests = await folder.call('rights', 'op.ts', '--record', 'record', '--requests')
    assert.deepEqual(requests.out.split('\n').map((each) => each.replace(/:\d+$/, '')), [
      'right    watch of configmaps (core)   kubeloop itself',
      'right    create, patch of secrets (core) in default   op.ts:6',
      'right    get of secrets (core) in vault   op.ts:7',
    ])
    for (
      const [args, error] of [[['--check', 'role.yaml', '--record', 'record'], /not both$/], [
        [],
        /add --record/,
      ]] as const
    ) {
      assert.match((await folder.call('rights', 'op.ts', '--requests', ...args)).err, error)
    }
    const half = await folder.call('rights', 'op.ts', '--record', 'record', '--check', 'roles/a.yaml')
    assert.match(half.out, /^lacks: get of secrets \(core\) "login" in vault: op\.ts:\d+:\d+$/)
    folder.write('more/a.jsonl', '{"operator":"copier","verb":"get","group":"","resource":"pods"}\n')
    for (const command of ['rights', 'manifests']) {
      const { out } = await folder.call(command, 'op.ts', '--record', 'record', '--record', 'more')
      assert.match(out, /\n {2}- pods\n/)
      assert.match(out, /\n {2}- configmaps\n/)
    }
    folder.write('role.yaml', printed.out.replace(/^ *- patch\n/m, ''))
    // As a process: the exit code, the result and the hints each go their own way.
    const lacks = folder.run('rights', 'op.ts', '--record', 'record', '--check', 'role.yaml')
    assert.equal(await lacks.ended, 1, lacks.output())
    assert.match(lacks.printed(), /^lacks: patch of secrets \(core\): op\.ts:6:\d+$/)
    assert.match(lacks.errors(), /a right that no test exercised is missing here/)
    const unknown = await folder.call('rights', 'op.ts', '--record', 'none')
    assert.deepEqual([unknown.code, unknown.out], [1, ''])
    assert.match(unknown.err, /^Cannot read the record in [^\n]*none: there is no such folder; [^\n]*$/)
    const manifests = await folder.call('manifests', 'op.ts', '--record', 'record', '--image', 'a:1')
    const all = loadAll(manifests.out) as { kind: string; rules?: object[] }[]
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

/** Reads the record or the roles in a file. */
const readingRecord = (text?: string) => (folder: string): Promise<unknown> => {
  if (text !== undefined) writeFileSync(join(folder, 'a.jsonl'), text)
  return readRecord([text === undefined ? join(folder, 'none') : folder], 'copier', undefined)
}
const readingRoles = (text: string) => async (): Promise<unknown> =>
  writtenRules(parseManifest(text, 'role.yaml'), 'role.yaml')
const readingRule = (fields: string) => readingRoles(`${ROLE}rules: [{ ${fields}, verbs: [get] }]\n`)
const WRONG: Readonly<Record<string, (folder: string) => Promise<unknown>>> = {
  'a record that is missing': readingRecord(),
  'a record of another operator': readingRecord('{"operator":"other","reconciled":"a"}\n'),
  'a record that is damaged': readingRecord('{"operator":"copier"}\n{"verb":"get"}'),
  'a file without a role': readingRoles(ROLE.replace('ClusterRole', 'ServiceAccount')),
  'an aggregated role': readingRoles(`${ROLE}aggregationRule: { clusterRoleSelectors: [] }\n`),
  'a rule with a text for a list': readingRule("apiGroups: [''], resources: pods"),
  'a misspelled field of a rule': readingRule("apiGroup: [''], resources: [pods]"),
  'an unknown cluster': () => rightsAnswer(ofMaps.description, { cluster: 'west' }, import.meta.url),
}

test('what cannot be read or computed is one line, as in the golden file', () =>
  withFolder(async (folder) => {
    const cases: (readonly [string, readonly string[]])[] = []
    for (const [title, read] of Object.entries(WRONG)) {
      await assert.rejects(read(folder), ({ message }: Error) => {
        cases.push([title, [message.replaceAll(folder, 'FOLDER')]])
        return true
      }, title)
    }
    goldenCases('wrong_rights.txt', cases)
  }))
