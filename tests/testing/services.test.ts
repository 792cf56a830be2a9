/** Tests services of worlds: what a global fetch of the operator gets, and that nothing else is affected. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operator, Server } from 'kubeloop'
import { ConfigMap } from 'kubeloop/kinds'
import { type Fault, type World, world, type WorldOptions } from 'kubeloop/testing'
import { nextTurn } from '../../lib/async/clock.ts'
import { Services } from '../../lib/testing/world/services.ts'
import { collector } from '../tools/collector.ts'
import { isOurs, map, ref, silent } from './worlds.ts'

const CDN = 'https://cdn.example.com'

/** Returns an operator that stores what it gets from a service, and the errors and times of its tries. */
function fetching(name = 'x') {
  const tries: string[] = []
  let w: World | undefined
  const app = operator({ name, grace: 0 })
  app.controllerFor(ConfigMap, { when: isOurs }).reconcile(async ({ metadata }, { signal, client }) => {
    const at = w?.clock.monotonic() ?? 0
    await client.live.get(ConfigMap, ref(metadata.name))
    try {
      const response = await fetch(`${CDN}/files/${metadata.name}?token=secret`, { method: 'POST', body: 'b', signal })
      tries.push(`${at} ${response.status} ${(await response.text()).trim()}`)
      if (!response.ok) throw new Error(`status ${response.status}, wait ${response.headers.get('retry-after')}`)
    } catch (error) {
      if (error instanceof TypeError) tries.push(`${at} ${error.message}`)
      throw error
    }
  })
  const start = async (options?: WorldOptions): Promise<World> => w = await world(app, { log: silent, ...options })
  return { app, tries, start }
}

const object = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', ...map(name) })

test('beside a world with services, one without them fetches as always', async () => {
  const services = new Services({} as never, {} as never)
  const real: typeof fetch = (request) => Promise.resolve(new Response(`real ${(request as Request).url}`))
  assert.equal(await (await services.fetch(new Request(`${CDN}/a`), real, undefined)).text(), `real ${CDN}/a`)
})

test('a service answers the fetch of an operator with its method, path and body, also at the start', async () => {
  const { tries, start } = fetching()
  const asked: string[] = []
  const answer = async (request: Request): Promise<Response> => {
    asked.push(`${request.method} ${request.url} ${await request.text()}`)
    return new Response('hello')
  }
  await using w = await start({ objects: [object('a')], services: { [CDN]: answer } })
  assert.deepEqual([asked, tries], [[`POST ${CDN}/files/a?token=secret b`], ['0 200 hello']])
  w.service(CDN, () => new Response('replaced'))
  await w.client.create(ConfigMap, map('b'))
  assert.deepEqual(await w.settle(), [])
  assert.equal(tries.at(-1), '0 200 replaced')
})

/** A fault, the tries that follow after each time, and the number of requests that reach the service. */
const faults: readonly [Omit<Fault, 'service'>, readonly (readonly [string, readonly string[]])[], number][] = [
  [{ status: 503, retryAfter: '1500ms', times: 2 }, [['1s', ['0 503', '5 503', '15 200 hello']]], 1],
  [{ status: 503, skip: 1 }, [['1s', ['0 200 hello']]], 1],
  [{ delay: '30s' }, [['29s', []], ['1s', ['0 200 hello']]], 1],
  [{ delay: '30s', status: 500 }, [['29s', []], ['1s', ['0 500']], ['1s', ['0 500', '30005 200 hello']]], 1],
  [{ drop: 'request' }, [['74s', []], ['2s', ['0 fetch failed', '75005 200 hello']]], 1],
  [{ drop: 'answer' }, [['74s', []], ['2s', ['0 fetch failed', '75005 200 hello']]], 2],
  [{ cut: true }, [['1s', ['0 fetch failed', '5 200 hello']]], 1],
  [{ cut: 'answer' }, [['1s', ['0 fetch failed', '5 200 hello']]], 2],
  [{ status: 503, until: AbortSignal.abort() }, [['1s', ['0 200 hello']]], 1],
]

for (const [fault, expected, requests] of faults) {
  test(`a service with the fault ${JSON.stringify(fault)}`, async () => {
    const { tries, start } = fetching()
    let asked = 0
    await using w = await start({ services: { [CDN]: () => (asked++, new Response('hello')) } })
    w.fault({ service: CDN, ...fault })
    await w.client.create(ConfigMap, map('a'))
    for (const [time, wanted] of expected) {
      await w.advance(time as '1s')
      assert.deepEqual(
        tries.map((each) => each.replace(/ (fetch failed|50[03]) ?.*/, ' $1')),
        wanted,
        time,
      )
    }
    assert.equal(asked, requests)
  })
}

test('a request of the operator to its API server meets no fault of a service, and a service none of others', async () => {
  const { tries, start } = fetching()
  await using w = await start({ services: { [CDN]: () => new Response('hello') } })
  w.fault({ service: CDN, status: 503, times: Infinity })
  w.fault({ verb: 'get', status: 418 })
  await w.client.create(ConfigMap, map('a'))
  assert.match(String((await w.settle())[0]?.error), /the test asked for status 418/)
  assert.deepEqual(tries, [])
  await w.advance('6ms')
  assert.match(tries[0]!, /^5 503 /)
})

test('an abort of the operator ends a request, also one that its service never answers', async () => {
  const ends: unknown[] = []
  const app = operator({ name: 'x' })
  app.controllerFor(ConfigMap, { when: isOurs, timeout: '10s' }).reconcile(async (_, { signal }) => {
    await fetch(CDN, { signal }).catch((error: unknown) => ends.push((error as Error).name))
  })
  for (const answer of [() => new Response(), () => new Promise<never>(() => {})]) {
    await using w = await world(app, { log: silent, services: { [CDN]: answer }, realTimeout: '10ms' })
    w.fault({ service: CDN, delay: '1h' })
    await w.client.create(ConfigMap, map('a'))
    await w.advance('11s')
    assert.deepEqual(ends.splice(0), ['TimeoutError'])
  }
})

test('an abort ends the body of an answer, and the wait for one', async () => {
  const ends: unknown[] = []
  const app = operator({ name: 'x' })
  app.controllerFor(ConfigMap, { when: isOurs })
    .from('changes', async function* ({ signal }) {
      const { body, url } = await fetch(`${CDN}/changes`, { signal })
      ends.push(url)
      for await (const _ of body!) yield ref('a')
    })
    .reconcile(async () => {
      const mine = new AbortController()
      const never = fetch(`${CDN}/never`, { signal: mine.signal }).catch((error: unknown) => ends.push(error))
      await nextTurn()
      // Node forgets the signal of a request that is garbage.
      collector()?.()
      mine.abort('mine')
      await never
    })
  const lines: string[] = []
  const note = (line: string): void => void lines.push(line)
  const log = { ...silent, warn: note, error: note }
  const w = await world(app, {
    log,
    realTimeout: '100ms',
    services: {
      [CDN]: ({ url }) =>
        url.endsWith('never') ? new Promise(() => {}) : new Response(new ReadableStream({ start() {} })),
    },
  })
  await w.client.create(ConfigMap, map('a'))
  await w.settle()
  assert.deepEqual(ends, [`${CDN}/changes`, 'mine'])
  await w.stop()
  assert.deepEqual(lines, [])
})

test('a service that answers with no Response is named', async () => {
  const { tries, start } = fetching()
  await using w = await start({ services: { [CDN]: () => 'text' as never } })
  await w.client.create(ConfigMap, map('a'))
  await w.settle()
  assert.match(tries[0]!, /The service of .* answered with a value of type string; it must be a Response$/)
})

test('hosts without a service are refused, this machine is not, and without services nothing changes', async () => {
  const { tries, start } = fetching()
  const real = globalThis.fetch
  const reached: string[] = []
  globalThis.fetch = (async (input: Request | string) => {
    reached.push(input instanceof Request ? input.url : String(input))
    return new Response('real')
  }) as typeof fetch
  try {
    {
      await using w = await start()
      await w.client.create(ConfigMap, map('a'))
      await w.settle()
      assert.deepEqual([tries.splice(0), reached.splice(0)], [['0 200 real'], [`${CDN}/files/a?token=secret`]])
      w.service('http://other.example', () => new Response())
      await w.client.create(ConfigMap, map('b'))
      await w.settle()
      assert.deepEqual([tries, reached], [[
        `0 Cannot fetch ${CDN}/files/b: no service of the world answers; add w.service('${CDN}', (request) => …)`,
      ], []])
    }
    const app = operator({ name: 'local' })
    const urls = ['http://localhost:1/', 'http://127.0.0.1:1/', 'http://[::1]:1/']
    app.controllerFor(ConfigMap, { when: isOurs }).reconcile(async () => {
      for (const url of urls) await fetch(url)
    })
    await using w = await world(app, { services: { [CDN]: () => new Response() } })
    await w.client.create(ConfigMap, map('a'))
    assert.deepEqual([await w.settle(), reached.splice(0)], [[], urls])
    await fetch(`${CDN}/`)
    assert.deepEqual(reached, [`${CDN}/`], 'a test has the real fetch')
  } finally {
    globalThis.fetch = real
  }
})

test('two worlds at once have their own services, and the last one that ends gives fetch back', async () => {
  const real = globalThis.fetch
  const [one, two] = [fetching('one'), fetching('two')]
  const first = await one.start({ services: { [CDN]: () => new Response('one') } })
  const second = await two.start({ services: { [CDN]: () => new Response('two') } })
  assert.notEqual(globalThis.fetch, real)
  // The second try of each is begun by a timer, which the clock of its world fires.
  for (const w of [first, second]) w.fault({ service: CDN, status: 500 })
  await Promise.all([first, second].map((w) => w.client.create(ConfigMap, map('a'))))
  await Promise.all([first, second].map((w) => w.advance('1s')))
  assert.deepEqual([one.tries.slice(1), two.tries.slice(1)], [['5 200 one'], ['5 200 two']])
  await first.stop()
  await first.stop()
  await second.client.create(ConfigMap, map('b'))
  await second.settle()
  assert.equal(two.tries.at(-1)?.split(' ')[2], 'two')
  await second.stop()
  assert.equal(globalThis.fetch, real)
  assert.throws(() => first.service(CDN, () => new Response()), /Cannot add the service .*: the world has stopped/)
})

test('a world that cannot start leaves fetch as it was', async () => {
  const real = globalThis.fetch
  const app = operator({ name: 'x' }).add('broken', () => Promise.reject(new Error('no disk')), { restart: false })
  await assert.rejects(world(app, { services: { [CDN]: () => new Response() } }), /no disk/)
  assert.equal(globalThis.fetch, real)
  for (const [objects, url] of [[[{}], CDN], [[], `${CDN}/v1`]] as const) {
    const starting = world(fetching().app, { objects, services: { [url]: () => new Response() } })
    await assert.rejects(starting, TypeError)
    assert.equal(globalThis.fetch, real)
  }
})

test('tasks, schedules, servers and streams reach services too; a killed replica does not', async () => {
  const app = operator({ name: 'x', grace: 0 })
  const get = async (path: string): Promise<string> => await (await fetch(`${CDN}/${path}`)).text()
  const got: string[] = []
  app.add('task', async ({ signal }) => {
    got.push(await get('task'))
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
  })
  app.schedule('nightly', '0 0 * * *', async () => void got.push(await get('schedule')))
  app.controllerFor(ConfigMap, { when: isOurs, everyReplica: true })
    .from('stream', async function* () {
      yield ref(await get('stream'))
      await new Promise(() => {})
    })
    .reconcile(async ({ metadata }, { sleep }) => {
      await sleep('1h')
      got.push(await get(`late-${metadata.name}`))
    })
  app.extend(({ manager }) =>
    manager.add(new Server({ name: 'front', fetch: async () => new Response(await get('server')) }))
  )
  const asked: string[] = []
  const answer = ({ url }: Request): Response => {
    const name = new URL(url).pathname.slice(1)
    asked.push(name)
    return new Response(name)
  }
  await using w = await world(app, { log: silent, objects: [object('stream')], services: { [CDN]: answer } })
  assert.equal(await (await w.fetch('front', '/')).text(), 'server')
  await w.advance('24h')
  assert.deepEqual([...new Set(got)].toSorted(), ['late-stream', 'schedule', 'task'])
  await w.client.create(ConfigMap, map('killed'))
  await w.settle()
  w.kill(0)
  asked.length = 0
  await w.advance('2h')
  assert.deepEqual(asked, [])
})

test('a service of 200 ms in real time is waited for, and one that takes too long is named', async () => {
  const app = operator({ name: 'x', grace: 0 })
  const done: string[] = []
  let turns = 0
  let finish = (): void => {}
  app.controllerFor(ConfigMap, { when: isOurs }).reconcile(async ({ metadata }) => {
    // More turns than a fast machine has in 200 ms.
    if (metadata.name === 'a') { for (; turns < 30_000; turns++) await nextTurn() }
    else await new Promise<void>((resolve) => (finish = resolve))
    done.push(metadata.name)
  })
  await using w = await world(app, { realTimeout: '1m' })
  await w.client.create(ConfigMap, map('a'))
  await w.settle()
  assert.deepEqual([turns, done], [30_000, ['a']])
  await using impatient = await world(app, { log: silent, realTimeout: '1ms' })
  await impatient.client.create(ConfigMap, map('b'))
  await assert.rejects(
    impatient.settle(),
    /Cannot settle: after 1 ms of real time there is still work: the controller "configmap" reconciles "default\/b"; .* w\.service\(url, /,
  )
  finish()
  await assert.rejects(world(app, { realTimeout: 'soon' as never }), /Cannot read duration "soon"/)
})

const REFUSED: readonly (readonly [unknown, RegExp])[] = [
  [{ service: 'cdn.example.com', status: 500 }, /to the service "cdn\.example\.com": give its origin, such as/],
  [{ service: `${CDN}/v1`, status: 500 }, /give its origin/],
  [{ service: 'ftp://cdn.example.com', status: 500 }, /give its origin/],
  ...['verb', 'resource', 'namespace', 'name', 'cluster', 'reason', 'stale', 'lag', 'repeat'].map((field) =>
    [{ service: CDN, status: 500, [field]: 'get' }, new RegExp(`"${CDN}": it has no ${field}$`)] as const
  ),
  [{ service: CDN, cut: 'line' }, /it has no cut: 'line'$/],
]

test('faults and handlers that a service cannot have are refused', async () => {
  await using w = await fetching().start()
  for (const [fault, text] of REFUSED) assert.throws(() => w.fault(fault as Fault), text)
  assert.throws(() => w.service(CDN, undefined as never), /^TypeError: .* needs a function of a Request .* undefined$/)
  assert.throws(
    () => w.service('cdn', () => new Response()),
    /^TypeError: Cannot add the service "cdn": give its origin/,
  )
})
