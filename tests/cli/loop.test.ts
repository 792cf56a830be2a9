/** Tests the parts of `kubeloop dev --ui` without a browser: the state, the held runs, and the server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StoredChange } from 'kubeloop/apiserver'
import { FakeClock } from 'kubeloop/testing'
import { type HeldKey, RunGate } from '../../lib/cli/dev/child/run_gate.ts'
import { LoopModel } from '../../lib/cli/dev/loop_model.ts'
import { loopPage } from '../../lib/cli/dev/loop_page.ts'
import type { LoopBatch, LoopCommand, LoopRun } from '../../lib/cli/dev/session.ts'

// deno-lint-ignore no-explicit-any -- what the page gets is read as the page reads it
type Seen = any

let lastUid = 0
const objectOf = (kind: string, key: string, fields: object = {}, metadata: object = {}): StoredChange['object'] => {
  const [namespace = '', name = ''] = key.split('/')
  const uid = `uid-${++lastUid}`
  return {
    apiVersion: 'v1',
    kind,
    metadata: { namespace, name, uid, ...metadata },
    ...fields,
  } as StoredChange['object']
}
const storages: Record<string, string> = { Foo: 'foos.example.com', ConfigMap: 'configmaps', Secret: 'secrets' }

/** A model whose operator reconciles Foos and owns ConfigMaps, here and in the cluster west. */
function modelOf() {
  const clock = new FakeClock()
  const model = new LoopModel(() => clock.now())
  const kinds = ['example.com/v1/foos', 'v1/configmaps']
  model.started({ operator: 'op', kinds, clusters: [{ name: 'west', kinds }] })
  return {
    clock,
    model,
    write(before: StoredChange['object'] | undefined, object: StoredChange['object'], cluster?: string) {
      const storage = storages[object.kind]!
      model.changed({ type: before ? 'MODIFIED' : 'ADDED', storage, object, before }, cluster)
    },
    delete(object: StoredChange['object'], cluster?: string) {
      model.changed({ type: 'DELETED', storage: storages[object.kind]!, object, before: object }, cluster)
    },
    run(run: Partial<LoopRun> = {}, batch: Partial<LoopBatch> = {}) {
      const own = { controller: 'foo', kind: 'Foo', key: 'default/a', causes: [], count: 1, attempt: 1, writes: [] }
      const runs = [{ ...own, endedMs: clock.now(), durationMs: 10, ...run }]
      model.batch({ runs, tasks: [], dropped: 0, ...batch })
      return (model.all() as Seen).runs.at(-1)
    },
  }
}

test('a run is led back to the run that wrote its cause, in its own cluster, and else to the manager', async () => {
  const { clock, model, write, run, delete: remove } = modelOf()
  const managed = (manager: string) => ({ managedFields: [{ manager }] })
  const [here, west] = [objectOf('ConfigMap', 'default/a', {}, managed('op')), objectOf('ConfigMap', 'default/a')]
  const map = (
    verb: 'apply' | 'delete',
    result: 'created' | 'changed' | 'deleted' | 'unchanged',
    cluster?: string,
  ) => ({
    ...{ verb, group: '', kind: 'ConfigMap', key: 'default/a', result },
    ...(cluster && { cluster }),
  })
  write(undefined, west, 'west')
  await clock.advance(5)
  write(undefined, here)
  assert.equal(run({ writes: [{ ...map('apply', 'created'), group: 'example.com' }] }).writes[0].change, undefined)
  const first = run({ causes: ['added'], writes: [map('apply', 'created'), map('apply', 'unchanged')] })
  assert.deepEqual(first.writes.map(({ change }: Seen) => model.difference(change)?.title), [
    'ConfigMap default/a created by op',
  ])
  assert.deepEqual(first.causes, [{ text: 'added' }])
  const changed = { ...here, data: { a: '1' }, metadata: { ...here.metadata, ...managed('kubectl') } }
  await clock.advance(100)
  write(here, changed)
  assert.equal(run({ endedMs: clock.now() - 50, writes: [map('apply', 'changed')] }).writes[0].change, undefined)
  await clock.advance(20)
  const second = run({
    causes: ['ConfigMap default/a: added', 'ConfigMap default/a: data.a none→1', 'ConfigMap default/a in west: added'],
  })
  assert.deepEqual(second.causes.map(({ run, by }: Seen) => [run, by]), [
    [first.id, undefined],
    [undefined, 'kubectl'],
    [
      undefined,
      undefined,
    ],
  ])
  assert.equal(model.difference(second.causes[2].change)?.title, 'ConfigMap default/a created')
  // A change before or after a run is not its own, and one change is that of one run.
  await clock.advance(100)
  assert.equal(run({ writes: [map('apply', 'changed')] }).writes[0].change, undefined)
  remove(changed)
  const third = run({ writes: [map('delete', 'deleted')] })
  assert.match(model.difference(third.writes[0].change)!.title, /deleted/)
  assert.equal(run({ writes: [map('delete', 'deleted')] }).writes[0].change, undefined)
  await clock.advance(100)
  assert.equal(run({ endedMs: clock.now() - 150, writes: [map('delete', 'deleted')] }).writes[0].change, undefined)
  assert.equal(run({ causes: ['retry 3'] }).causes[0].change, undefined)
})

test('what the page has seen is no news, and a pause is', () => {
  const { model } = modelOf()
  assert.ok(model.take())
  assert.equal(model.take(), undefined)
  model.command({ action: 'pause' })
  assert.ok(model.take())
})

test('the tree has the kinds of the operator in each cluster, and what they own; changes are sent once', () => {
  const { model, write, delete: remove } = modelOf()
  const foo = objectOf('Foo', 'default/a')
  const own = objectOf('Secret', 'default/a', {}, { ownerReferences: [{ uid: foo.metadata.uid }] })
  write(undefined, foo, 'west')
  write(undefined, own, 'west')
  write(undefined, objectOf('Secret', 'default/other'), 'west')
  const status = { replicas: 2, readyReplicas: 1 }
  write(foo, { ...foo, status }, 'west')
  const shown = (message: Seen) =>
    message.objects.map(({ kind, key, cluster, owner, state }: Seen) => [kind, key, cluster, owner, state])
  const tree = [['Secret', 'default/a', 'west', foo.metadata.uid, undefined], [
    'Foo',
    'default/a',
    'west',
    undefined,
    '1/2 ready',
  ]]
  assert.deepEqual(shown(model.all()).toSorted(), tree.toSorted())
  assert.deepEqual(shown(model.take()).toSorted(), tree.toSorted())
  assert.equal(model.take(), undefined)
  remove(own, 'west')
  assert.deepEqual([model.take()].map(({ objects, gone }: Seen) => [objects, gone]), [[[], [own.metadata.uid]]])
  // Those of another operator are shown after a save that changes the kinds.
  model.started({ operator: 'op', kinds: ['v1/secrets'], clusters: [{ name: 'west', kinds: ['v1/secrets'] }] })
  assert.deepEqual(shown(model.take()).map(([, key]: Seen) => key), ['default/other'])
})

test('no value of a Secret is sent, but which ones have changed', () => {
  const { model, write } = modelOf()
  const applied = 'kubectl.kubernetes.io/last-applied-configuration'
  const secret = (data: string): StoredChange['object'] =>
    objectOf('Secret', 'default/a', {
      data: { [data]: data, same: 'c3VyZQ==' },
      stringData: { x: data },
      type: 'Opaque',
    }, {
      uid: 'secret',
      annotations: { [applied]: data, note: 'kept', 'kapp.k14s.io/original': data, more: 'with c3VyZQ==' },
    })
  const [old, now] = [secret('b2xk'), {
    ...secret('b2xk'),
    data: { b2xk: 'bmV3', same: 'c3VyZQ==' },
    stringData: { x: 'bmV3' },
  }]
  write(undefined, old)
  write(old, { ...now, metadata: { ...now.metadata, annotations: { [applied]: 'bmV3', more: 'with c3VyZQ==' } } })
  const changes = [1, 2].map((id) => JSON.stringify(model.difference(id)!.fields))
  const texts = [...changes, JSON.stringify(model.object('secret'))]
  for (const text of texts) assert.doesNotMatch(text, /bmV3|c3VyZQ|:"\\"b2xk|:"b2xk/)
  assert.deepEqual(model.difference(2)?.fields, [
    { path: `metadata.annotations.${applied}`, old: '(hidden)', now: '(hidden)' },
    { path: 'metadata.annotations.note', old: '"kept"' },
    { path: 'metadata.annotations.kapp.k14s.io/original', old: '(hidden)' },
    { path: 'data.b2xk', old: '(hidden)', now: '(hidden)' },
    { path: 'stringData.x', old: '(hidden)', now: '(hidden)' },
  ])
})

test('a Secret of another group is shown, whatever its data are', () => {
  const { model, write } = modelOf()
  const data = { text: 'not base64', more: { a: 1 } }
  write(undefined, objectOf('Secret', 'default/b', { apiVersion: 'example.com/v1', data }, { uid: 'other' }))
  assert.ok(model.difference(1)!.fields.length > 0)
  assert.ok(model.object('other'))
})

test('equal failures of a key are one, which is over when the key works; tasks fail by their name', () => {
  const { clock, model, run } = modelOf()
  const error = { message: 'no', frames: ['a.ts:1:2'] }
  run({ error, againMs: 5 })
  run({ error, againMs: 50, attempt: 2 })
  run({ key: 'default/b', againMs: 20 })
  run({ controller: 'other', error })
  run({}, { runs: [], tasks: [{ name: 'sync', error }] })
  const failures = () => (model.all() as Seen).failures.map(({ title, count, isOver }: Seen) => [title, count, isOver])
  assert.deepEqual(failures(), [['Foo default/a', 2, false], ['Foo default/a', 1, false], ['task sync', 1, false]])
  const atMs = clock.now()
  assert.deepEqual((model.all() as Seen).waiting, [
    { controller: 'foo', key: 'default/b', dueMs: atMs + 20 },
    { controller: 'foo', key: 'default/a', dueMs: atMs + 50, attempt: 2 },
  ])
  run({ error: { ...error, message: 'another' } })
  run()
  run({}, { runs: [], tasks: [{ name: 'sync' }] })
  assert.deepEqual(failures().map(([, , isOver]: Seen) => isOver), [false, true, true, true])
  assert.deepEqual((model.all() as Seen).waiting.map(({ key }: Seen) => key), ['default/b'])
  model.started({ operator: 'op', kinds: [], clusters: [] })
  assert.deepEqual((model.all() as Seen).waiting, [])
})

test('runs, changes and failures are bounded, also without a page', () => {
  const { model, write, run } = modelOf()
  const own = run()
  for (let at = 0; at < 2500; at++) {
    write(undefined, objectOf('Foo', `default/${at}`))
    const failed = { ...own, key: `default/${at}`, error: { message: 'no', frames: [] } }
    model.batch({ runs: [failed], tasks: [], dropped: 0 })
  }
  const { runs, failures, objects } = model.all() as Seen
  assert.deepEqual([runs.length, failures.length, objects.length], [500, 200, 2500])
  assert.equal((model.take() as Seen).runs.length <= 2000, true)
  assert.equal(model.difference(1), undefined)
})

test('a held run is queued again with its causes; a step is one run, and a pause outlives a restart', () => {
  const queued: string[] = []
  const gate = (paused = { all: false, keys: [] as string[] }) =>
    new RunGate(
      paused,
      (keys) => queued.push(...keys.map(({ controller, key, causes }) => `${controller} ${key}: ${causes}`)),
    )
  const own = (key: string, causes: readonly string[] = []): HeldKey => ({ controller: 'foo', key, causes })
  const attempt = (gate: RunGate, key: string, ...causes: string[]) => {
    const held = gate.begins('foo', key)
    assert.equal(gate.ended(own(key, causes)), held)
    return held
  }
  const news = () => queued.splice(0)
  const first = gate()
  assert.equal(attempt(first, 'a', 'added'), false)
  first.command({ action: 'pause', controller: 'foo', key: 'a' })
  assert.deepEqual([attempt(first, 'a', 'added'), attempt(first, 'a', 'changed'), attempt(first, 'b')], [
    true,
    true,
    false,
  ])
  assert.equal(first.begins('other', 'a'), false)
  assert.deepEqual([first.held('foo'), first.held('other')], [['a'], []])
  first.command({ action: 'step', controller: 'foo', key: 'a' })
  assert.deepEqual([news(), attempt(first, 'a'), attempt(first, 'a', 'again')], [['foo a: added,changed'], false, true])
  first.command({ action: 'replay', controller: 'foo', key: 'a' })
  assert.deepEqual([news(), attempt(first, 'a'), attempt(first, 'a')], [['foo a: replay'], false, true])
  first.command({ action: 'resume', controller: 'foo', key: 'a' })
  assert.deepEqual([news().length, attempt(first, 'a')], [1, false])
  first.command({ action: 'replay', controller: 'foo', key: 'b' })
  assert.deepEqual(news(), ['foo b: replay'])
  const restarted = gate({ all: true, keys: ['foo b'] })
  assert.deepEqual([attempt(restarted, 'c', 'x'), attempt(restarted, 'b', 'y')], [true, true])
  restarted.command({ action: 'step' })
  assert.deepEqual([news(), attempt(restarted, 'c')], [['foo c: x'], false])
  // Released while its run ends: the causes are known only then.
  assert.equal(restarted.begins('foo', 'c'), true)
  restarted.command({ action: 'resume' })
  assert.deepEqual([news(), restarted.ended(own('c', ['late'])), news()], [[], true, ['foo c: late']])
  assert.deepEqual([attempt(restarted, 'b'), attempt(restarted, 'c')], [true, false])
})

function pageOf() {
  const { clock, model, run, write } = modelOf()
  const sent: LoopCommand[] = []
  const read = (file: string): Promise<string> => Promise.resolve(file)
  const page = loopPage({ model, token: 't', clock, read, send: (command) => void sent.push(command) })
  const get = async (path: string, init?: RequestInit, host = '127.0.0.1:8080') =>
    await page.fetch(new Request(`http://${host}${path}`, init))
  return { clock, model, run, write, sent, page, get }
}

test('the page, its files and its data are behind the token, on this machine, without a script of another origin', async () => {
  const { get } = pageOf()
  const status = async (path: string, host?: string) => (await get(path, undefined, host)).status
  for (const path of ['/', '/x/', '/tt/', '/t/x/', '/x/events', '/t/../t', '/t/__proto__', '/t/page.ts']) {
    assert.equal(await status(path), 404, path)
  }
  for (const host of ['evil.example', '127.0.0.1.evil.example', '10.0.0.1']) {
    assert.equal(await status('/t/', host), 403)
  }
  for (
    const [path, text, type] of [['/t/', 'page.html', 'text/html'], [
      '/t/page.js',
      'page.js',
      'text/javascript',
    ]] as const
  ) {
    const response = await get(path, undefined, 'localhost:8080')
    assert.deepEqual([response.status, await response.text()], [200, text])
    assert.match(response.headers.get('content-type')!, new RegExp(`^${type}`))
    assert.match(
      response.headers.get('content-security-policy')!,
      /^default-src 'none'; script-src 'self'; style-src 'self';/,
    )
    assert.doesNotMatch(response.headers.get('content-security-policy')!, /unsafe|\*|http/)
    assert.equal(response.headers.get('referrer-policy'), 'no-referrer')
  }
  assert.deepEqual([await status('/t/object?id=x'), await status('/t/change?id=x')], [404, 404])
})

test('a command needs the token in a header, the own origin, and a controller that runs', async () => {
  const { get, sent, model, run } = pageOf()
  const queue = { controller: 'foo', kind: 'Foo', queued: 0, running: [], held: [], heldCount: 0 }
  run({}, { queues: [queue] })
  const token = { 'x-kubeloop-token': 't' }
  const post = async (command: unknown, headers: Record<string, string> = token) =>
    (await get('/t/command', { method: 'POST', headers, body: JSON.stringify(command) })).status
  const pause = { action: 'pause', controller: 'foo', key: 'default/a' }
  for (const headers of [{}, { 'x-kubeloop-token': 'x' }, { ...token, origin: 'http://evil.example' }]) {
    assert.equal(await post(pause, headers as Record<string, string>), 403)
  }
  for (
    const bad of [
      null,
      'pause',
      {},
      { action: 'delete' },
      { action: 'replay' },
      { action: 'pause', controller: 'foo' },
      {
        ...pause,
        controller: 'bar',
      },
      { ...pause, key: '' },
      { ...pause, key: 1 },
    ]
  ) assert.equal(await post(bad), 400, JSON.stringify(bad))
  assert.equal((await get('/t/command')).status, 405)
  assert.equal((await get('/t/', { method: 'POST' })).status, 405)
  assert.deepEqual([sent, model.paused], [[], { all: false, keys: [] }])
  assert.equal(await post({ ...pause, other: 1 }, { ...token, origin: 'http://127.0.0.1:8080' }), 204)
  assert.deepEqual([sent, model.paused.keys], [[pause], ['foo default/a']])
  assert.deepEqual([await post({ action: 'pause' }), model.paused.all], [204, true])
  assert.deepEqual([await post({ action: 'resume' }), model.paused], [204, { all: false, keys: ['foo default/a'] }])
  assert.deepEqual([await post({ ...pause, action: 'resume' }), model.paused.keys], [204, []])
})

test('a page gets all, then what changes every 100 ms; the ninth is refused, and a slow one is dropped', async () => {
  const { get, clock, model, write, page } = pageOf()
  const reader = (response: Response) => response.body!.getReader()
  const next = async (from: ReadableStreamDefaultReader<Uint8Array>) => {
    const { value, done } = await from.read()
    return done ? undefined : new TextDecoder().decode(value).replace(/^data: /, '')
  }
  const opened = await get('/t/events')
  assert.equal(opened.headers.get('content-type'), 'text/event-stream')
  const first = reader(opened)
  assert.equal(JSON.parse((await next(first))!).isFirst, true)
  write(undefined, objectOf('Foo', 'default/a'))
  write(undefined, objectOf('Foo', 'default/b'))
  await clock.advance(100)
  assert.deepEqual([JSON.parse((await next(first))!)].map(({ isFirst, objects }) => [isFirst, objects.length]), [[
    false,
    2,
  ]])
  // Without news, a comment keeps the connection.
  await clock.advance(15_100)
  assert.equal(await next(first), ':\n\n')
  const left = new AbortController()
  const others = await Promise.all(Array.from({ length: 7 }, () => get('/t/events', { signal: left.signal })))
  assert.deepEqual([others.map(({ status }) => status), (await get('/t/events')).status], [Array(7).fill(200), 503])
  left.abort()
  const slow = reader(await get('/t/events'))
  assert.match((await next(slow))!, /"isFirst":true/)
  for (let at = 0; at < 3; at++) {
    write(undefined, objectOf('Foo', `default/${'x'.repeat(3_000_000)}`))
    await clock.advance(100)
  }
  model.command({ action: 'pause' })
  await clock.advance(100)
  const rest: (number | undefined)[] = []
  for (let text = await next(slow); text !== undefined; text = await next(slow)) rest.push(text.length)
  assert.ok(rest.length < 4, `a page that took nothing had ${rest.length} events`)
  page.close()
})
