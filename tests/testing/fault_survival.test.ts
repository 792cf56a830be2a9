/** Tests that an operator survives each fault, and that each fault does what it says. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operator } from 'kubeloop'
import { ConfigMap, Secret } from 'kubeloop/kinds'
import { type Fault, type World, world } from 'kubeloop/testing'
import { isOurs, nowhere, ref, silent } from './worlds.ts'

const map = (name: string, text: string) => ({ metadata: { ...ref(name), labels: { ours: '' } }, data: { text } })

/** Returns an operator that keeps a Secret with the text of each ConfigMap, and the texts it has seen. */
function copying() {
  const seen: string[] = []
  const app = operator({ name: 'copy' })
  app.controllerFor(ConfigMap, { when: isOurs }).owns(Secret).reconcile(async (own, { client }) => {
    seen.push(own.data?.['text'] ?? '')
    await client.apply(Secret, { metadata: ref(own.metadata.name), stringData: { text: own.data?.['text'] ?? '' } }, {
      owner: own,
    })
  })
  return { app, seen }
}

async function copied(w: World, name: string): Promise<string | undefined> {
  const secret = await w.client.get(Secret, ref(name))
  return secret?.data?.['text'] === undefined ? undefined : atob(secret.data['text'])
}

const survived: readonly Fault[] = [
  ...[409, 410, 429, 500, 503].map((status): Fault => ({ verb: 'patch', resource: Secret, status, times: 3 })),
  { verb: 'patch', resource: Secret, name: 'a', status: 429, retryAfter: '20s' },
  { verb: 'patch', resource: Secret, delay: '30s' },
  { verb: 'patch', resource: Secret, cut: true, times: 2 },
  { verb: 'patch', resource: Secret, cut: 'answer', times: 2 },
  { verb: 'patch', resource: Secret, cut: 'line', times: 2 },
  { verb: 'watch', resource: ConfigMap, cut: true, times: 2 },
  { verb: 'watch', resource: ConfigMap, cut: 'answer', times: 2 },
  { verb: 'watch', resource: ConfigMap, cut: 'line', times: 3 },
  { verb: 'watch', resource: ConfigMap, status: 410, times: 2 },
  { verb: 'watch', resource: ConfigMap, status: 503, times: 2 },
  { verb: 'patch', resource: Secret, status: 503, retryAfter: '2s', times: 3 },
  { verb: 'patch', resource: Secret, drop: 'request' },
  { verb: 'patch', resource: Secret, drop: 'answer' },
  { verb: 'watch', resource: ConfigMap, drop: 'request' },
  { verb: 'watch', resource: Secret, drop: 'answer' },
  { verb: 'watch', lag: '10s', times: Infinity },
  { verb: 'watch', repeat: true, times: Infinity },
]

for (const fault of survived) {
  const what = JSON.stringify({ ...fault, resource: fault.resource?.kind })
  // Only watches begin with the operator.
  const moments = fault.verb === 'watch' ? ['from its start', 'in the middle'] as const : ['in the middle'] as const
  for (const when of moments) {
    test(`an operator survives ${what}, ${when}`, async () => {
      const { app } = copying()
      await using w = await world(app, { log: silent, ...(when === 'from its start' && { faults: [fault] }) })
      await w.client.create(ConfigMap, map('a', 'one'))
      if (when === 'in the middle') {
        await w.advance('15s')
        w.fault(fault)
        // Watches are opened again.
        w.closeWatches()
      }
      await w.client.create(ConfigMap, map('b', 'two'))
      await w.client.edit(ConfigMap, ref('a'), (draft) => void (draft.data = { text: 'three' }))
      await w.advance('6m')
      assert.deepEqual([await copied(w, 'a'), await copied(w, 'b')], ['three', 'two'])
      assert.deepEqual(await w.settle(), [])
    })
  }
}

test('a stale list shows an old state, from which the watch goes on', async () => {
  const { app, seen } = copying()
  await using w = await world(app, { log: silent })
  const { metadata: { resourceVersion } } = await w.client.create(ConfigMap, map('a', 'old'))
  await w.client.create(ConfigMap, map('late', 'new'))
  await w.client.edit(ConfigMap, ref('a'), (draft) => void (draft.data = { text: 'new' }))
  await w.advance('1s')
  seen.length = 0
  // Its next watch has to list again, and gets the state before both changes.
  w.fault({ verb: 'watch', resource: ConfigMap, status: 410 })
  w.fault({ verb: 'watch', resource: ConfigMap, stale: resourceVersion, lag: '10s' })
  w.fault({ verb: 'list', resource: ConfigMap, stale: resourceVersion })
  w.closeWatches()
  await w.advance('1m')
  assert.ok(seen.includes('old'), `it has seen ${seen.join(', ')}`)
  assert.deepEqual([await copied(w, 'a'), await copied(w, 'late')], ['new', 'new'])
})

test('a version that the server has dropped is not served, and a compaction makes all kinds list again', async () => {
  const { app, seen } = copying()
  await using w = await world(app, { log: silent })
  const { metadata: { resourceVersion } } = await w.client.create(ConfigMap, map('a', 'old'))
  await w.client.edit(ConfigMap, ref('a'), (draft) => void (draft.data = { text: 'new' }))
  await w.settle()
  w.compact()
  seen.length = 0
  w.fault({ verb: 'watch', resource: ConfigMap, status: 410 })
  w.fault({ verb: 'watch', resource: ConfigMap, stale: resourceVersion })
  w.closeWatches()
  await w.client.create(ConfigMap, map('b', 'two'))
  await w.advance('1m')
  assert.deepEqual([seen.includes('old'), await copied(w, 'a'), await copied(w, 'b')], [false, 'new', 'two'])
})

test('the end of a lag delivers the rest at once, and what follows without a delay', async () => {
  const { app, seen } = copying()
  const lag = new AbortController()
  await using w = await world(app, {
    log: silent,
    faults: [{ verb: 'watch', resource: ConfigMap, lag: '1h', times: Infinity, until: lag.signal }],
  })
  await w.advance('1h')
  await w.client.create(ConfigMap, map('a', 'one'))
  await w.advance('10s')
  assert.deepEqual(seen, [])
  lag.abort()
  await w.advance(0)
  assert.deepEqual([...new Set(seen)], ['one'])
  await w.client.create(ConfigMap, map('b', 'two'))
  await w.advance(0)
  assert.deepEqual([...new Set(seen)], ['one', 'two'])
})

test('compactions and closed watches are of one cluster, and unknown clusters are refused', async () => {
  const { app } = copying()
  await using w = await world(app, { log: silent })
  const unknown = operator({ name: 'x' }).cluster('nowhere', nowhere)
  for (const act of [() => w.compact(unknown), () => w.closeWatches(unknown)]) {
    assert.throws(act, /^TypeError: Cannot use the cluster "nowhere": the operator has no cluster of that name$/)
  }
})

/** A fault that begins while the watches are open, and when a change is seen: after 0 s, 9 s, 10 s, 21 s and 11 min. */
const reached: readonly [Fault, readonly boolean[]][] = [
  [{ verb: 'watch', resource: ConfigMap, lag: '10s' }, [false, false, true, true, true]],
  [{ lag: '10s', resource: ConfigMap }, [false, false, true, true, true]],
  [{ verb: 'watch', resource: Secret, lag: '10s' }, [true, true, true, true, true]],
  [{ verb: 'watch', resource: ConfigMap, lag: '10s', cluster: null }, [false, false, true, true, true]],
  [{ verb: 'watch', resource: ConfigMap, delay: '20s' }, [false, false, false, true, true]],
  [{ verb: 'watch', resource: ConfigMap, drop: 'request' }, [false, false, false, false, true]],
  [{ verb: 'watch', resource: ConfigMap, status: 429, retryAfter: '20s' }, [false, false, false, true, true]],
  [{ resource: ConfigMap, cut: 'answer', times: Infinity }, [false, false, false, false, false]],
  [{ cut: true, times: Infinity, until: AbortSignal.abort() }, [true, true, true, true, true]],
  // For the next request of any verb.
  [{ resource: ConfigMap, cut: 'answer' }, [true, true, true, true, true]],
  // The watch after the next one.
  [{ verb: 'watch', resource: ConfigMap, lag: '10s', skip: 1 }, [true, true, true, true, true]],
]

for (const [fault, expected] of reached) {
  test(`open watches meet ${JSON.stringify({ ...fault, resource: fault.resource?.kind })}`, async () => {
    const { app, seen } = copying()
    await using w = await world(app, { log: silent })
    w.fault(fault)
    await w.client.create(ConfigMap, map('a', 'one'))
    await w.settle()
    const found: boolean[] = []
    for (const time of ['0s', '9s', '1s', '11s', '11m'] as const) {
      await w.advance(time)
      found.push(seen.includes('one'))
    }
    assert.deepEqual(found, expected)
  })
}

for (const fault of [{ lag: '10s' }, { lag: '10s', skip: 1 }, { repeat: true }, { cut: true, times: 3 }] as Fault[]) {
  test(`watches with ${JSON.stringify(fault)} end at their time, are not silent meanwhile, and are free of it after`, async () => {
    const { app, seen } = copying()
    const lines: string[] = []
    const line = (message: string): void => void lines.push(message)
    await using w = await world(app, { log: { ...silent, info: line, warn: line, error: line } })
    w.fault({ verb: 'watch', resource: ConfigMap, ...fault })
    if (fault.skip) {
      // The first watch passes and ends within ten minutes; then the next one is late, for as long.
      await w.advance('10m')
      await w.client.create(ConfigMap, map('late', 'late'))
      await w.advance('9s')
      assert.deepEqual(seen, [])
    }
    await w.advance('21m')
    assert.deepEqual(lines.filter((each) => !/cut, as the test asked/.test(each)), [])
    await w.client.create(ConfigMap, map('a', 'one'))
    await w.settle()
    assert.deepEqual(seen.filter((text) => text === 'one').length > 0, true)
    const pending = w.clock.pending
    await w.advance('2160h')
    assert.ok(w.clock.pending <= pending, 'nothing is renewed any more')
  })
}

const late: readonly (readonly [string, (w: World) => void])[] = [
  ['has a lag', (w) => w.fault({ verb: 'watch', resource: ConfigMap, lag: '10s' })],
  ['is dropped', (w) => {
    w.fault({ verb: 'watch', resource: ConfigMap, drop: 'request' })
    w.closeWatches()
  }],
]
for (const [how, begin] of late) {
  test(`an owner is deleted while its watch ${how}: its object stays away in the end, and the world comes to rest`, async () => {
    const { app } = copying()
    await using w = await world(app, { log: silent })
    await w.client.create(ConfigMap, map('a', 'x'))
    await w.settle()
    begin(w)
    await w.client.delete(ConfigMap, ref('a'))
    await w.settle()
    assert.notEqual(await copied(w, 'a'), undefined)
    await w.advance('5m')
    assert.equal(await copied(w, 'a'), undefined)
  })
}
