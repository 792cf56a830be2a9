/** The same test of an operator in a world and on a real control plane. */
import assert from 'node:assert/strict'
import process from 'node:process'
import { test } from 'node:test'
import { defineResource, operator } from 'kubeloop'
import { ConfigMap, Deployment, Pod } from 'kubeloop/kinds'
import { testCluster } from 'kubeloop/testing'
import * as z from 'zod'
import { ref, silent } from './worlds.ts'
import { noPlane } from '../tools/real_plane.ts'

const COPY = { group: 'c.example', kind: 'Copy' }
const Copy = defineResource({ ...COPY, version: 'v1', spec: z.object({ text: z.string() }) })
const Old = defineResource({ ...COPY, version: 'v1beta1', spec: z.object({ body: z.string() }) })

function copier() {
  const app = operator({ name: 'copier', leaderElection: true, log: silent })
  app.admission(Copy, {
    validate: ({ spec: { text } }) => text === 'bad' ? [{ field: 'spec.text', message: text }] : [],
  })
  app.convert(Old, Copy, {
    up: ({ spec }) => ({ spec: { text: spec.body } }),
    down: ({ spec }) => ({ spec: { body: spec.text } }),
  })
  app.controllerFor(Copy).reconcile(async ({ metadata, spec }, { client }) => {
    await client.apply(ConfigMap, { metadata: ref(metadata.name), data: { text: spec.text } })
  })
  return app
}

/** What passes on both. */
async function theTest(): Promise<void> {
  const first = { apiVersion: 'c.example/v1beta1', kind: 'Copy', metadata: ref('a'), spec: { body: 'one' } }
  await using c = await testCluster(copier(), { objects: [first], replicas: 2, workloads: true })
  const textOf = async (name: string) => (await c.client.get(ConfigMap, ref(name)))?.data?.['text']
  await c.eventually(async () => assert.equal(await textOf('a'), 'one'))
  await assert.rejects(c.client.create(Copy, { metadata: ref('bad'), spec: { text: 'bad' } }), /spec\.text: .*bad/)
  await assert.rejects(
    c.client.create(Copy, { metadata: ref('c'), spec: { text: '', txt: '' } as never }),
    /"spec\.txt"/,
  )
  await c.client.create(Copy, { metadata: ref('b'), spec: { text: 'two' } })
  assert.equal(await c.eventually(async () => await textOf('b') ?? assert.fail('not yet')), 'two')
  const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'a', image: 'a:1' }] } }
  await c.client.create(Deployment, { metadata: ref('d'), spec: { selector: { matchLabels: { a: 'b' } }, template } })
  await c.eventually(async () => assert.equal((await c.client.list(Pod, { namespace: 'default' })).length, 1))
  await assert.rejects(c.eventually(() => assert.fail('never'), '1s'), /never/)
}

async function at(where: string | undefined, work: () => Promise<void>): Promise<void> {
  const before = process.env['KUBELOOP_TEST_CLUSTER']
  const set = (value: string | undefined): void => {
    if (value === undefined) delete process.env['KUBELOOP_TEST_CLUSTER']
    else process.env['KUBELOOP_TEST_CLUSTER'] = value
  }
  set(where)
  await work().finally(() => set(before))
}

test('a test cluster is a world, whose time passes until a check succeeds', () =>
  at(undefined, async () => {
    await theTest()
    await using c = await testCluster(copier())
    const beganMs = c.world.clock.monotonic()
    await assert.rejects(c.eventually(() => assert.fail('never'), '5s'), /never/)
    assert.equal(c.world.clock.monotonic() - beganMs, 5000)
    await assert.rejects(testCluster(copier(), { seed: 1 } as object), /Cannot start a test cluster: .*seed/)
  }))

test('a context that does not exist is an error, and so are other clusters, which would be real ones', () =>
  at('nowhere', async () => {
    await assert.rejects(testCluster(copier()), /^ConfigError: .*(nowhere|KUBECONFIG)/)
    const [west, members] = [copier(), copier()]
    west.cluster('west', () => Promise.reject(new Error('asked for')))
    members.clusters('members', () => assert.fail('called'))
    for (const [app, name] of [[west, 'west'], [members, 'members']] as const) {
      await assert.rejects(testCluster(app), new RegExp(`several clusters: the operator would write to "${name}"`))
    }
  }))

test(
  'the same test on a real control plane; what only a world has is an error',
  { skip: noPlane, timeout: 100_000 },
  () =>
    at('envtest', async () => {
      await theTest()
      const failing = operator({ name: 'x', log: silent })
      failing.controllerFor(ConfigMap).reconcile(() => Promise.resolve())
      failing.extend(({ manager }) => manager.add({ name: 'disk', start: () => Promise.reject(new Error('no disk')) }))
      const c = await testCluster(failing)
      try {
        assert.throws(() => c.world, /needs the clock, the faults or the pods of a world, and runs on .* "envtest"/)
        await assert.rejects(c.eventually(() => assert.fail('never')), /no disk/)
      } finally {
        await assert.rejects(c.stop(), /no disk/)
      }
      const [printed, exitCode] = [console.error, process.exitCode ?? 0]
      const lines: unknown[] = []
      console.error = (line) => void lines.push(line)
      const failed = async () => {
        await using c = await testCluster(failing)
        await assert.rejects(c.eventually(() => assert.fail('never')), /no disk/)
        throw new Error('the test has failed')
      }
      try {
        await assert.rejects(failed, /^Error: the test has failed$/)
        assert.deepEqual([process.exitCode, /no disk/.test(String(lines))], [1, true])
      } finally {
        process.exitCode = exitCode
        console.error = printed
      }
    }),
)
