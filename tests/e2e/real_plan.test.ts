/** `kubeloop plan` of three examples on a real API server, whose audit log shows that nothing is written. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import type { Client, Operator } from 'kubeloop'
import { ConfigMap, Deployment, Namespace, Secret } from 'kubeloop/kinds'
import { sleep, systemClock } from '../../lib/async/clock.ts'
import type { Plan } from '../../lib/cli/plan/result.ts'
import type { AnyResource } from '../../lib/core/resource.ts'
import { Foo } from '../../examples/1_sample_controller.ts'
import { Claim, Pool } from '../../examples/4_pools_and_claims.ts'
import { inFolder } from '../cli/dev_command.ts'
import { silent } from '../testing/worlds.ts'
import { REPO } from './operator_process.ts'
import { noPlane, realPlane } from '../tools/real_plane.ts'

/** All requests of this user are those of plan. */
const PLANNER = 'planner'
const POLICY =
  'apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{ level: Metadata }]\n'

const plane = realPlane((folder) => {
  writeFileSync(join(folder, 'policy.yaml'), POLICY)
  const flags = [`--audit-policy-file=${folder}/policy.yaml`, `--audit-log-path=${folder}/audit.log`]
  return { extraArgs: { apiServer: flags } }
})

interface AuditEntry {
  readonly verb: string
  readonly requestURI: string
  readonly user: { readonly username: string }
}

function requestsOfPlan(): readonly AuditEntry[] {
  const lines = readFileSync(join(plane.folder, 'audit.log'), 'utf8').split('\n').filter(Boolean)
  return lines.map((line) => JSON.parse(line) as AuditEntry).filter(({ user }) => user.username === PLANNER)
}

/** Resolves with the versions of all objects of the kinds, by `Kind namespace/name`. */
async function versions(client: Client, kinds: readonly AnyResource[]): Promise<Map<string, string>> {
  const lists = await Promise.all(kinds.map((kind) => client.list(kind as typeof ConfigMap)))
  return new Map(
    lists.flat().map(({ kind, metadata: { namespace, name, resourceVersion } }) => [
      `${kind} ${namespace ? `${namespace}/` : ''}${name}`,
      resourceVersion,
    ]),
  )
}

/** Runs an operator until its controllers have had no work for a second. */
async function runUntilRest(app: Operator): Promise<void> {
  const stop = new AbortController()
  const { promise: assembled, resolve } = Promise.withResolvers<() => boolean>()
  const running = app.start(stop.signal, {
    ...{ cluster: plane.envtest.config, leaderElection: false, crds: 'install', log: silent },
    onAssembled: ({ controllers }) =>
      resolve(() => [...controllers.values()].every(({ idle, isWaiting }) => idle && !isWaiting)),
  })
  const isIdle = await assembled
  for (let quiet = 0; quiet < 100; await sleep(systemClock, 10)) quiet = isIdle() ? quiet + 1 : 0
  stop.abort()
  await running
}

interface Example {
  readonly file: string
  /** The texts that change, and what they become. */
  readonly edits: Readonly<Record<string, string>>
  readonly kinds: readonly AnyResource[]
  objects(client: Client): Promise<unknown>
  readonly planned: readonly string[]
}

const at = (name: string) => ({ namespace: 'default', name })
const labels = { 'replicator.dev/role': 'source' }

/** Which claim has no room depends on their uids if they are of one second. */
const SOME_CLAIM = 'status Claim default/'

const EXAMPLES: readonly Example[] = [
  {
    ...{ file: '1_sample_controller.ts', edits: { 'nginx:1': 'nginx:2' }, kinds: [Foo, Deployment] },
    objects: async (client) => {
      for (const name of ['a', 'b']) {
        await client.create(Foo, { metadata: at(name), spec: { deploymentName: `d-${name}`, replicas: 2 } })
      }
    },
    planned: ['change Deployment default/d-a', 'change Deployment default/d-b'],
  },
  {
    ...{ file: '2_secret_replicator.ts', kinds: [Secret] },
    edits: {
      "[role]: 'copy',": "[role]: 'copy', version: '2',",
      'wanted.test(': "ns.metadata.name !== 'to-b' && wanted.test(",
    },
    objects: async (client) => {
      for (const name of ['to-a', 'to-b', 'not']) await client.create(Namespace, { metadata: { name } })
      const annotations = { 'replicator.dev/to': 'to-.*' }
      await client.create(Secret, { metadata: { ...at('s'), labels, annotations }, data: { key: btoa('very secret') } })
    },
    planned: ['change Secret to-a/s', 'delete Secret to-b/s'],
  },
  {
    ...{ file: '4_pools_and_claims.ts', edits: { 'is full': 'has no room' }, kinds: [Pool, Claim] },
    objects: async (client) => {
      await client.create(Pool, { metadata: { name: 'small' }, spec: { size: 1 } })
      for (const name of ['first', 'second']) {
        await client.create(Claim, { metadata: at(name), spec: { pool: 'small' } })
      }
    },
    planned: [SOME_CLAIM],
  },
]

for (const { file, edits, kinds, objects, planned } of EXAMPLES) {
  test(
    `${file}: nothing to do after it ran, then exactly what a change of it changes`,
    { skip: noPlane },
    () =>
      inFolder(async (project) => {
        const text = readFileSync(join(REPO, 'examples', file), 'utf8')
        let edited = text
        for (const [from, to] of Object.entries(edits)) {
          assert.ok(text.includes(from))
          edited = edited.replace(from, to)
        }
        project.write('old.ts', text)
        project.write('new.ts', edited)
        project.write('kubeconfig', plane.envtest.kubeconfig(await plane.envtest.addUser(PLANNER, ['system:masters'])))
        const load = async (name: string): Promise<Operator> =>
          (await import(pathToFileURL(join(project.path, name)).href) as { default: Operator }).default
        const plan = async (name: string): Promise<Plan & { readonly code: number }> => {
          const { code, out, err } = await project.call('plan', name, '--kubeconfig', 'kubeconfig', '--json')
          assert.ok(code !== 1, err + out)
          return { ...JSON.parse(out) as Plan, code }
        }
        const { client } = plane.envtest
        // Their definitions come first.
        await runUntilRest(await load('old.ts'))
        await objects(client)
        await runUntilRest(await load('old.ts'))
        const before = await versions(client, kinds)
        const { code, changes, notes } = await plan('old.ts')
        assert.deepEqual([code, changes, notes], [0, [], []])
        const next = await plan('new.ts')
        const found = next.changes.map(({ action, kind, namespace, name }) => `${action} ${kind} ${namespace}/${name}`)
        assert.deepEqual(
          found.map((each) => each.startsWith(SOME_CLAIM) ? SOME_CLAIM : each).toSorted(),
          planned,
        )
        assert.deepEqual(next.changes.filter(({ dryRun }) => dryRun.outcome !== 'accepted'), [])
        assert.equal(JSON.stringify(next).includes(btoa('very secret')), false)
        assert.deepEqual(await versions(client, kinds), before)
        await runUntilRest(await load('new.ts'))
        const after = await versions(client, kinds)
        const changed = [...new Set([...before.keys(), ...after.keys()])].filter((key) =>
          before.get(key) !== after.get(key)
        )
        assert.deepEqual(
          changed.toSorted(),
          found.map((each) => each.replace(/^\w+ /, '')).toSorted(),
        )
        const requests = requestsOfPlan()
        assert.ok(requests.some(({ requestURI }) => requestURI.includes('dryRun=All')), 'the log has no dry run')
        const writes = requests.filter(({ verb, requestURI }) =>
          !['get', 'list'].includes(verb) && !/[?&]dryRun=All(&|$)/.test(requestURI)
        )
        assert.deepEqual(writes, [])
      }),
  )
}
