/** Manifests that are applied again: what is pending, of which file and cluster, and what is reported. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiServer } from 'kubeloop/apiserver'
import { FakeClock } from 'kubeloop/testing'
import { ManifestApplier } from '../../lib/cli/api/apply.ts'
import type { DevEvent } from '../../lib/cli/api/events.ts'
import { Api } from '../../lib/client/api.ts'

const map = (name: string, namespace = 'default', data = '1') => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data: { data } },
})
const { signal } = new AbortController()

test('a saved manifest takes the place of its own objects alone, and the others stay pending', async () => {
  const apis = new Map(['', 'west'].map((name) => [name, new Api({ transport: new ApiServer().handle })]))
  const events: DevEvent[] = []
  const applier = new ManifestApplier([
    { name: 'a.yaml', objects: [map('a'), map('lost', 'none')] },
    { name: 'a.yaml', cluster: 'west', objects: [map('west', 'none')] },
    { name: 'b.yaml', objects: [map('b', 'none')] },
  ], { apiOf: (cluster = '') => apis.get(cluster), clock: new FakeClock(), report: (event) => void events.push(event) })
  const taken = (): string[] =>
    events.splice(0).map((event) =>
      event.kind === 'applied'
        ? `${event.result} ${event.object}`
        : `problem ${/ConfigMap "?(?:\w+\/)?(\w+)/.exec('message' in event ? event.message : '')?.[1]}`
    )
  const save = async (started: boolean, ...objects: ReturnType<typeof map>[]): Promise<string[]> => {
    await applier.reapply([{ name: 'a.yaml', objects }], { started }, signal)
    return taken()
  }
  assert.deepEqual(await save(false, map('a'), map('lost', 'none')), [])
  await applier.apply(signal)
  assert.deepEqual(taken(), ['problem west', 'problem b', 'created ConfigMap default/a', 'problem lost'])
  assert.deepEqual(await save(true, map('a', 'default', '2'), map('c')), [
    ...['changed ConfigMap default/a', 'created ConfigMap default/c'],
  ])
  assert.deepEqual(await save(true, map('a', 'default', '3'), map('c')), ['changed ConfigMap default/a'])
  const unchanged = ['unchanged ConfigMap default/a', 'unchanged ConfigMap default/c']
  assert.deepEqual(await save(true, map('a', 'default', '3'), map('c')), unchanged)
  await applier.apply(signal)
  assert.deepEqual(taken(), ['problem west', 'problem b'])
  assert.deepEqual(applier.manifests.map(({ name, cluster }) => `${cluster}/${name}`), [
    ...['west/a.yaml', 'undefined/b.yaml', 'undefined/a.yaml'],
  ])
})

test('a saved manifest ends the tries of its last version, and no other ones', async () => {
  const unknown = { apiVersion: 'example.com/v1', kind: 'Unknown', metadata: { name: 'a' } }
  const clock = new FakeClock()
  const events: string[] = []
  const applier = new ManifestApplier([
    { name: 'a.yaml', objects: [unknown, map('old')] },
    { name: 'b.yaml', objects: [map('b')] },
  ], {
    apiOf: () => new Api({ transport: new ApiServer().handle }),
    clock,
    report: (event) => void events.push(event.kind === 'applied' ? event.object : event.kind),
  })
  const first = applier.apply(signal)
  await clock.advance(5000)
  const second = applier.reapply([{ name: 'a.yaml', objects: [map('new')] }], { started: true }, signal)
  await clock.advance(250)
  assert.deepEqual(events, ['ConfigMap default/b', 'ConfigMap default/new'])
  await Promise.all([first, second])
})

test('unknown kinds wait for ten seconds together, and one more each', async () => {
  const unknown = (name: string) => ({ apiVersion: 'example.com/v1', kind: 'Unknown', metadata: { name } })
  const clock = new FakeClock()
  const at: string[] = []
  const applier = new ManifestApplier([{
    name: 'a.yaml',
    objects: [unknown('a'), unknown('b'), unknown('c'), map('d')],
  }], {
    apiOf: () => new Api({ transport: new ApiServer().handle }),
    clock,
    report: ({ kind }) => void at.push(`${kind} after ${Math.round(clock.monotonic() / 1000)} s`),
  })
  const applied = applier.apply(signal)
  await clock.advance(20_000)
  assert.deepEqual(at, ['problem after 10 s', 'problem after 11 s', 'problem after 12 s', 'applied after 12 s'])
  await applied
})
