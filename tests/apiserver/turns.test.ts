/** Tests that long requests share turns with others, and nevertheless see one state; and the forms of lists. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiServer } from 'kubeloop/apiserver'
import type { HttpResponse } from '../../lib/apiserver/mod.ts'
import { type Clock, nextTurn } from '../../lib/async/clock.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { yamlText } from '../../lib/core/yaml.ts'
import { SlowClock } from '../runtime/slow_clock.ts'

const PATH = '/api/v1/namespaces/default/configmaps'
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io'
const COUNT = 100
const START = 'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'

interface ListedObject {
  readonly metadata: Readonly<Record<string, string>>
}

interface Listed {
  readonly metadata: { readonly resourceVersion: string }
  readonly items: readonly ListedObject[]
}

interface Shown {
  readonly type: string
  readonly object: ListedObject
}

function requestsTo(api: ApiServer) {
  const handle = (
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    body?: object,
    accept = 'application/json',
  ) => api.handle({ method, path, headers: { accept }, ...(body && { body: JSON.stringify(body) }) })
  const text = async (...request: Parameters<typeof handle>): Promise<string> => {
    const { status, body } = await handle(...request)
    const all = await body.text()
    assert.ok(status < 300, `${request.join(' ')}: ${status} ${all}`)
    return all
  }
  return { handle, text }
}

const named = (i: number, more: object = {}): object => ({
  metadata: { name: `c${String(i).padStart(3, '0')}`, labels: { app: `a${i % 2}` }, ...more },
  data: { i: String(i) },
})

async function filled(clock: Clock) {
  const requests = requestsTo(new ApiServer({ clock }))
  for (let i = 0; i < COUNT; i++) await requests.text('POST', PATH, named(i))
  // Loads the writer of YAML, which takes a turn.
  await requests.text('GET', `${PATH}/c000`, undefined, 'application/yaml')
  return requests
}

/** Reads the lines of a watch until one of them satisfies `isLast`. */
async function linesOf({ body }: HttpResponse, isLast: (event: Shown) => boolean): Promise<Shown[]> {
  const decoder = new TextDecoder()
  const events: Shown[] = []
  for await (const chunk of body) {
    events.push(...decoder.decode(chunk).trim().split('\n').map((line) => JSON.parse(line) as Shown))
    if (isLast(events.at(-1)!)) break
  }
  return events
}

type Requests = Awaited<ReturnType<typeof filled>>

/** Requests that concern all objects, or select from all of them. */
const LONG: Readonly<Record<string, (requests: Requests) => Promise<unknown>>> = {
  'a list': ({ text }) => text('GET', PATH),
  'a list as YAML': ({ text }) => text('GET', PATH, undefined, 'application/yaml'),
  'an indented list': ({ text }) => text('GET', `${PATH}?pretty=true`),
  'a table': ({ text }) => text('GET', PATH, undefined, TABLE),
  'a list with a label selector': ({ text }) => text('GET', `${PATH}?labelSelector=app%3Dnone`),
  'a list with a field selector': ({ text }) => text('GET', `${PATH}?fieldSelector=metadata.name!%3Dx&limit=1000`),
  'the deletion of a collection': ({ text }) => text('DELETE', PATH),
  'the start of a watch': async ({ handle }) =>
    await linesOf(await handle('GET', `${PATH}?${START}`), ({ type }) => type === 'BOOKMARK'),
}

for (const [what, send] of Object.entries(LONG)) {
  for (const isStopped of [false, true]) {
    test(`${what} ${isStopped ? 'takes no turn of its own on a stopped clock' : 'lets other requests run'}`, async () => {
      const clock = new SlowClock(0)
      const requests = await filled(clock)
      clock.lookMs = isStopped ? 0 : 1
      const ended: string[] = []
      const long = send(requests).then(() => ended.push('long'))
      const other = nextTurn().then(() => requests.text('GET', `${PATH}/c000`)).then(() => ended.push('other'))
      await Promise.all([long, other.catch(() => ended.push('other'))])
      assert.deepEqual(ended, isStopped ? ['long', 'other'] : ['other', 'long'])
    })
  }
}

/** Changes objects at both ends of the collection. */
async function change({ text }: Requests): Promise<void> {
  await text('DELETE', `${PATH}/c000`)
  await text('PUT', `${PATH}/c099`, named(99, { annotations: { is: 'changed' } }))
  await text('POST', PATH, named(100))
}

test('a list that takes many turns is that of one version, and a watch sends each later change once', async () => {
  const clock = new SlowClock(0)
  const requests = await filled(clock)
  const before = JSON.parse(await requests.text('GET', `${PATH}?labelSelector=app`)) as Listed
  clock.lookMs = 1
  const watching = requests.handle('GET', `${PATH}?${START}`).then((watch) =>
    linesOf(watch, ({ object }) => object.metadata['name'] === 'c100')
  )
  const listing = requests.text('GET', `${PATH}?labelSelector=app`)
  await nextTurn()
  await change(requests)
  assert.deepEqual(JSON.parse(await listing), before)
  const events = (await watching).map(({ type, object }) => `${type} ${object.metadata['name'] ?? ''}`)
  const added = before.items.map(({ metadata }) => `ADDED ${metadata['name']}`)
  assert.deepEqual(events, [...added, 'BOOKMARK ', 'DELETED c000', 'MODIFIED c099', 'ADDED c100'])
  let tookMs = 0
  for (let times = 0; times < 3; times++) {
    const beganMs = clock.now()
    await requests.text('GET', `${PATH}?labelSelector=app%3Dnone`)
    tookMs = clock.now() - beganMs
  }
  assert.ok(tookMs < 10, `objects are not found by their label: ${tookMs} ms`)
})

test('a deletion goes on when it has deleted the right to it', async () => {
  const clock = new SlowClock(0)
  const api = new ApiServer({ clock, authorization: 'rbac' })
  const { text } = requestsTo(api)
  const group = 'rbac.authorization.k8s.io'
  const path = `/apis/${group}/v1/namespaces/default`
  const rules = [{ apiGroups: [group], resources: ['rolebindings'], verbs: ['deletecollection'] }]
  await text('POST', `${path}/roles`, { metadata: { name: 'r' }, rules })
  for (let i = 0; i < COUNT; i++) {
    const subjects = i === 0 ? [{ kind: 'User', name: 'someone', apiGroup: group }] : []
    const roleRef = { apiGroup: group, kind: 'Role', name: 'r' }
    await text('POST', `${path}/rolebindings`, { ...named(i), roleRef, subjects })
  }
  clock.lookMs = 1
  const headers = { 'impersonate-user': 'someone' }
  const { status } = await api.handle({ method: 'DELETE', path: `${path}/rolebindings`, headers })
  assert.equal(status, 200)
  assert.deepEqual((JSON.parse(await text('GET', `${path}/rolebindings`)) as Listed).items, [])
})

test('a list is the same in all forms, with any number of objects', async () => {
  const { text } = requestsTo(new ApiServer({ clock: new FakeClock() }))
  for (let count = 0; count < 3; count++) {
    for (const as of ['', TABLE.replace('application/json', '')]) {
      const of = (media: string, query = ''): Promise<string> => text('GET', PATH + query, undefined, media + as)
      const value: unknown = JSON.parse(await of('application/json'))
      assert.equal(await of('application/yaml'), yamlText(value))
      assert.equal(await of('application/json', '?pretty=true'), JSON.stringify(value, null, 2))
    }
    await text('POST', PATH, { metadata: { name: `a${count}` }, data: { text: 'a\n"b": é\u2028', empty: '' } })
  }
})

test('old changes are dropped with any request, also if nothing is written', async () => {
  const clock = new FakeClock()
  const { text, handle } = await filled(clock)
  const { metadata: { resourceVersion } } = JSON.parse(await text('GET', PATH)) as Listed
  await text('DELETE', PATH)
  await text('POST', PATH, named(0))
  const from = `${PATH}?watch=true&resourceVersion=${Number(resourceVersion) - 1}`
  assert.equal((await linesOf(await handle('GET', from), () => true))[0]!.type, 'ADDED')
  await clock.advance(6 * 60_000)
  assert.equal((await linesOf(await handle('GET', from), () => true))[0]!.type, 'ERROR')
})
