/** Tests the accounts of `kubeloop dev --as-service-account`, on embedded API servers in memory. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Cluster, type Operator, operator } from 'kubeloop'
import { ApiServer } from 'kubeloop/apiserver'
import { ClusterRole, ConfigMap, Role, RoleBinding, Secret } from 'kubeloop/kinds'
import { systemClock } from '../../lib/async/clock.ts'
import { ManifestApplier } from '../../lib/cli/api/apply.ts'
import type { DevEvent } from '../../lib/cli/api/events.ts'
import { accountsOf } from '../../lib/cli/dev/accounts.ts'
import type { SessionAccount } from '../../lib/cli/dev/session.ts'
import type { Manifest } from '../../lib/cli/manifests.ts'
import { accountOf } from '../../lib/rights/trial.ts'

const name = 'copier'
const KEY = { namespace: 'team', name }

function copier(namespaces: readonly string[], use: (app: Operator) => void = () => {}): Operator {
  const app = operator({ name, namespaces: [...namespaces] })
  app.controllerFor(ConfigMap).reconcile(async () => {})
  use(app)
  return app
}

/** Returns the account of an operator, as its process sends it. */
function sent({ description }: Operator, stated?: string): SessionAccount {
  const { objectsIn, ...account } = accountOf(description, stated)
  const of = (cluster?: string): Manifest => ({ name: 'm', objects: objectsIn(cluster), ...(cluster && { cluster }) })
  return { ...account, manifests: [of(), ...description.clusters.map((each) => of(each.name))] }
}

function stage() {
  const servers = { '': new ApiServer(), west: new ApiServer() }
  const transportOf = (cluster = '') => servers[cluster as keyof typeof servers]?.handle
  const clientOf = (cluster = '', token?: string) => {
    const inner = transportOf(cluster)!
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const transport: typeof inner = (request) => inner({ ...request, headers: { ...request.headers, ...headers } })
    return new Cluster({ name: 'test', transport }).client
  }
  const events: DevEvent[] = []
  const common = { clock: systemClock, report: (event: DevEvent) => void events.push(event) }
  const apiOf = (cluster?: string) => new Cluster({ name: 'test', transport: transportOf(cluster)! }).api
  const start = (...manifests: Manifest[]) => {
    const applier = new ManifestApplier(manifests, { apiOf, ...common })
    const open = accountsOf({ transportOf, applier, ...common })
    const { signal } = new AbortController()
    return { applier, signal, open: (account: SessionAccount) => open(name, account, signal) }
  }
  return { clientOf, events, start, open: start().open }
}

test('an account has a token and the roles of its operator in each cluster; those of the last start are replaced', async () => {
  const { clientOf, events, open } = stage()
  const rulesOf = async () => (await clientOf().list(ClusterRole)).map(({ rules }) => rules?.[0]?.resources)
  /** Of the role by which definitions and configurations are installed. */
  const installs = ['mutatingwebhookconfigurations']
  const withWest = copier([], (app) => {
    const west = app.cluster('west', { server: 'https://127.0.0.1:1' })
    app.controllerFor(Secret).watches(Secret, () => [], { cluster: west }).reconcile(async () => {})
  })
  const { tokens = {} } = await open(sent(withWest))
  assert.deepEqual(await clientOf('', tokens['']).list(ConfigMap), [])
  assert.deepEqual(await clientOf('west', tokens['west']).list(Secret), [])
  await assert.rejects(clientOf('west', tokens['west']).list(ConfigMap), /copier" cannot list resource "configmaps"/)
  await assert.rejects(clientOf('', tokens['west']).list(Secret), /Unauthorized/)
  assert.deepEqual(await rulesOf(), [['configmaps', 'secrets'], installs])
  assert.deepEqual(events, [{ kind: 'account', name: 'copier-system/copier', hasOwnRoles: false }])

  await open(sent(copier([])))
  assert.deepEqual(await rulesOf(), [['configmaps'], installs])
  assert.deepEqual(events.splice(1).map((event) => 'object' in event && event.object), ['ClusterRole copier'])

  await open(sent(copier(['team'])))
  assert.deepEqual(await rulesOf(), [installs], 'those of names are everywhere')
  assert.deepEqual(await Promise.all([Role, RoleBinding].map(async (kind) => (await clientOf().list(kind)).length)), [
    1,
    1,
  ])

  // An account whose roles are the user's has none of these, even if it is the same account.
  const ofOther = { namespace: 'team', name: 'other', labels: { 'kubeloop.dev/role-of': 'other' } }
  await clientOf().create(Role, { metadata: ofOther, rules: [] })
  await open(sent(copier([]), name))
  assert.deepEqual((await clientOf().list(Role)).map(({ metadata }) => metadata.name), ['other'])
  assert.deepEqual(await clientOf().list(RoleBinding), [])
})

test("the user's roles are applied before the operator starts, take the place of those of their names, and stay", async () => {
  const { clientOf, start, events } = stage()
  const own = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: KEY, rules: [] }
  const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: KEY }
  // The operator may define these, and serves them only later.
  const namesakes = ['RoleBinding', 'Namespace'].map((kind) => ({ ...own, apiVersion: 'example.com/v1', kind }))
  const inWest = {
    name: 'role.yaml',
    cluster: 'west',
    objects: [{ ...own, kind: 'RoleBinding' }, { ...map, metadata: { name } }],
  }
  const { open, applier, signal } = start({ name: 'role.yaml', objects: [map, own, ...namesakes] }, inWest)
  await open(sent(copier(['team'])))
  assert.deepEqual(events.flatMap((event) => 'object' in event ? event.object : []), ['Role team/copier'])
  const binding = await clientOf().get(RoleBinding, KEY)
  assert.equal(binding?.subjects?.length, 1)
  const { roleRef } = binding!
  const saved = { name: 'role.yaml', objects: [own, { ...own, kind: 'RoleBinding', rules: undefined, roleRef }] }
  await applier.reapply([saved], { started: true }, signal)
  await open(sent(copier(['team'])))
  assert.equal((await clientOf().get(Role, KEY))?.rules ?? 'none', 'none')
  assert.equal((await clientOf().get(RoleBinding, KEY))?.subjects ?? 'none', 'none')
  await applier.apply(signal)
  const applied = { kind: 'applied', object: `ConfigMap default/${name}`, cluster: 'west', result: 'created' }
  assert.deepEqual(events.at(-1), { ...applied, manifest: 'role.yaml' })
})

test('an account that cannot be opened is refused', async () => {
  const { open } = stage()
  const account = sent(copier([]))
  const [manifest] = account.manifests
  const objects = manifest!.objects.filter(({ kind }) => kind !== 'ServiceAccount')
  assert.match(
    (await open({ ...account, manifests: [{ ...manifest!, objects }] })).refused!,
    /serviceaccounts "copier" not found/,
  )
})
