/** Operators with the rights of a ServiceAccount in worlds: what `kubeloop manifests` grants is enough, and needed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Log, type Operator, operator } from 'kubeloop'
import { ClusterRole, ConfigMap, Namespace, Secret, ServiceAccount } from 'kubeloop/kinds'
import { world, type WorldOptions } from 'kubeloop/testing'
import { messageOf } from '../../lib/core/errors.ts'
import { leastRights } from '../../lib/cli/rights/least.ts'
import { readRecord } from '../../lib/cli/rights/record.ts'
import { startOperator } from '../../lib/operator/run/start.ts'
import { rolesOf } from '../../lib/rights/account.ts'
import { type Rule, rulesOf } from '../../lib/rights/rules.ts'
import { accountOf } from '../../lib/rights/trial.ts'
import type { Scenario } from '../e2e/least_rights.ts'
import { SAMPLE, SITES, TEAMS } from '../e2e/rights_scenarios.ts'
import { missingNamespace } from '../../lib/testing/world/world_account.ts'
import { withFolder } from '../tools/folder.ts'
import { map, nowhere, ref, silent } from './worlds.ts'

/** Runs the first phase of a scenario, and returns what was refused. */
async function refusedIn(scenario: Scenario, options: WorldOptions): Promise<string[]> {
  const { description, phases: [phase] } = scenario
  const refused: string[] = []
  const note = (error: unknown): void => void (/forbidden/.test(messageOf(error)) && refused.push(messageOf(error)))
  const line: Log['warn'] = (message, { error } = {}) => note(error ?? message)
  const start: Operator['start'] = (signal, started) => startOperator(description, signal, started ?? {})
  try {
    const log = { ...silent, warn: line, error: line }
    await using w = await world({ description, start } as Operator, { log, ...options })
    await phase!.prepare?.(w.client)
    await phase!.work(w.client, async (resource, key, condition) => {
      for (const { error } of await w.settle()) note(error)
      // A candidate waits before it leads.
      await w.advance('20s')
      const [name, namespace] = key.split('/').reverse()
      const object = await w.client.get(resource as typeof Secret, { namespace: namespace!, name: name! })
      assert.ok(condition(object), `${key} is not as expected`)
    })
  } catch (error) {
    note(error)
    if (refused.length === 0) throw error
  }
  return refused
}

/** What a world does not ask for, and why. */
const UNUSED: Readonly<Record<string, string>> = {
  events: 'these operators record none',
  'foos/finalizers': 'the embedded API has no OwnerReferencesPermissionEnforcement; real_rights.test.ts has it',
  'sites/finalizers': 'the same',
  secrets: 'the certificate of webhooks is in memory',
}

for (const [title, scenario] of Object.entries({ sample: SAMPLE, webhooks: SITES })) {
  const { name } = scenario.description.options
  test(`${title}: the roles of manifests are enough, and without any rule of them the error names it`, async () => {
    for (const crds of ['install', 'verify', 'ignore'] as const) {
      const description = { ...scenario.description, options: { ...scenario.description.options, crds } }
      assert.deepEqual(await refusedIn({ ...scenario, description }, { as: 'service-account', replicas: 2 }), [])
    }
    const all = accountOf(scenario.description, undefined).objectsIn(undefined)
    const unnamed: string[] = []
    for (const [at, role] of all.entries()) {
      const rules = (role['rules'] ?? []) as readonly Rule[]
      for (const rule of rules) {
        const objects = all.toSpliced(at, 1, { ...role, rules: rules.filter((each) => each !== rule) })
        const refused = await refusedIn(scenario, { as: `${name}-system/${name}`, objects, replicas: 2 })
        const { apiGroups, resources, verbs } = rule
        const lacks = new RegExp(
          `cannot (${verbs.join('|')}) resource "(${resources.join('|')})" .*` +
            `; its role lacks \\{ apiGroups: \\["${apiGroups}"\\], resources: \\["(${resources.join('|')})"\\]`,
        )
        if (!refused.some((each) => lacks.test(each))) unnamed.push(...resources)
      }
    }
    assert.deepEqual(unnamed.filter((each) => !UNUSED[each]), [])
    assert.ok(unnamed.length < 5, `${unnamed}`)
  })
}

test("what the operator's own code asks for of other kinds is refused, until it has the roles of a record", () =>
  withFolder(async (folder) => {
    const refused = await refusedIn(TEAMS, { as: 'service-account' })
    assert.match(
      refused[0]!,
      /Cannot get ConfigMap "vault\/teams-config": .*its role lacks .*\["configmaps"\].*\["get"\]/,
    )
    process.env['KUBELOOP_RIGHTS'] = folder
    assert.deepEqual(await refusedIn(TEAMS, {}), [])
    delete process.env['KUBELOOP_RIGHTS']
    const place = { namespace: 'here' }
    const { description, stands } = TEAMS
    const { rights } = leastRights(description, place, await readRecord([folder], 'teams', undefined), stands!)
    const spaces = ['vault', 'team-a', 'team-b'].map((name) => ({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name },
    }))
    const objects = [...spaces, ...rolesOf('op', 'here', rulesOf(rights))]
    assert.deepEqual(await refusedIn(TEAMS, { as: 'here/op', objects }), [])
  }))

test('what is owned is created and patched; what else is done to it must be stated, in each namespace', async () => {
  const stated = ['update', 'delete', 'deletecollection'] as const
  for (const rights of [[], stated]) {
    const app = operator({ name: 'owner', namespaces: ['default'] })
    const refused: string[] = []
    let runs = 0
    app.controllerFor(ConfigMap, { when: ({ metadata }) => metadata.name === 'a' }).owns(Secret, { rights })
      .reconcile(async (owner, { client }) => {
        // Its own writes are events.
        if (runs++ > 0) return
        const metadata = { name: 'b', namespace: 'default' }
        const note = ({ message }: Error): void =>
          void refused.push(/cannot (\w+) resource/.exec(message)?.[1] ?? message)
        await client.apply(Secret, { metadata, stringData: { a: '1' } }, { owner })
        await client.edit(Secret, metadata, (draft) => void (draft.metadata.labels = { own: 'yes' })).catch(note)
        await client.deleteAll(Secret, { namespace: 'default', labels: 'a' }).catch(note)
        await client.delete(Secret, metadata).catch(note)
      })
    await using w = await world(app, { as: 'service-account', log: silent })
    await w.client.create(ConfigMap, map('a'))
    await w.settle()
    assert.deepEqual(refused, rights.length > 0 ? [] : ['update', 'deletecollection', 'delete'])
  }
})

test('an account has rights of its own in each cluster, and roles in objects take the place of those of manifests', async () => {
  const app = operator({ name: 'copier' })
  const west = app.cluster('west', nowhere)
  const members = app.clusters('members', async function* () {
    yield await Promise.resolve({ add: 'east', config: nowhere })
  })
  app.controllerFor(Secret, { clusters: members }).reconcile(async () => {})
  app.controllerFor(ConfigMap).watches(Secret, () => [], { cluster: west })
    .reconcile(async (_, { clientOf }) => void (await clientOf(west).get(ConfigMap, ref('a'))))
  await using w = await world(app, { as: 'service-account', log: silent })
  for (const [cluster, resources] of [[west, [['secrets']]], [{ name: 'east' }, [['secrets'], ['events']]]] as const) {
    const role = await w.clientOf(cluster).get(ClusterRole, { name: 'copier' })
    assert.deepEqual(role?.rules?.map((rule) => rule.resources), resources)
  }
  await w.client.create(ConfigMap, map('a'))
  const [failing] = await w.settle()
  assert.match(messageOf(failing?.error), /copier-system:copier" cannot get resource "configmaps"/)
  assert.ok(await w.clientOf(west).get(ServiceAccount, { namespace: 'copier-system', name: 'copier' }))

  const none = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'copier' } }
  await using poor = await world(app, { as: 'service-account', objects: [none], log: silent })
  await assert.rejects(poor.settle(), /Cannot settle: .* the operator may not list configmaps \(Cannot list .*its role/)
})

test('a world refuses an invalid account', async () => {
  for (const as of ['admin', 'a/b/c', 'A/b', 'a/', '/b'] as const) {
    await assert.rejects(world(operator({ name: 'a' }), { as: as as 'a/b' }), {
      name: 'TypeError',
      message: `Cannot create a world: as is "${as}", and must be "service-account" or "NAMESPACE/NAME"`,
    })
  }
})

test('roles of the user need no rights on definitions and configurations, unless the operator installs them', async () => {
  const { description } = SAMPLE
  for (const crds of ['verify', 'install'] as const) {
    const stated = { ...description, options: { ...description.options, crds } }
    const { name } = stated.options
    const objects = accountOf(stated, undefined).objectsIn(undefined)
      .filter(({ metadata }) => metadata.name !== `${name}-installs`)
    for (const as of ['service-account', `${name}-system/${name}`] as const) {
      assert.deepEqual(await refusedIn({ ...SAMPLE, description: stated }, { as, objects }), [])
    }
    const roles = objects.map((each) =>
      each.kind === 'ClusterRole' ? { ...each, rules: withoutDefinitions(each) } : each
    )
    const refused = await refusedIn({ ...SAMPLE, description: stated }, { as: 'service-account', objects: roles })
    assert.equal(refused.length > 0, crds === 'install', `${crds}: ${refused}`)
  }
})

/** Returns the rules without those by which definitions and configurations are installed. */
function withoutDefinitions({ rules }: { readonly [field: string]: unknown }): readonly Rule[] {
  const isOfInstall = ({ apiGroups, verbs }: Rule): boolean =>
    /apiextensions|admissionregistration/.test(String(apiGroups)) && verbs.includes('create')
  return (rules as readonly Rule[]).filter((rule) => !isOfInstall(rule))
}

test('objects may be in the namespace of the account, which is created before them unless they have it', async () => {
  const app = operator({ name: 'own' })
  app.controllerFor(ConfigMap).reconcile(async () => {})
  const pull = { apiVersion: 'v1', kind: 'Secret', metadata: { namespace: 'own-system', name: 'pull' } }
  const place = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'own-system', labels: { own: 'yes' } } }
  for (const objects of [[pull], [place, pull]]) {
    await using w = await world(app, { as: 'service-account', objects })
    assert.deepEqual(await w.settle(), [])
    assert.equal((await w.client.get(Secret, pull.metadata))?.metadata.name, 'pull')
    const { labels } = (await w.client.get(Namespace, { name: 'own-system' }))!.metadata
    assert.equal(labels?.['own'], objects.length > 1 ? 'yes' : undefined)
  }
})

test('the Namespace of an account is missing unless an object of the test is it', () => {
  const account = accountOf(operator({ name: 'a' }).description, undefined)
  const of = (kind: string, name = account.namespace): object => ({ apiVersion: 'v1', kind, metadata: { name } })
  assert.deepEqual(missingNamespace(account, [of('ConfigMap'), of('Namespace', 'other')]), [of('Namespace')])
  assert.deepEqual([missingNamespace(account, [of('Namespace')]), missingNamespace(undefined, [])], [[], []])
})
