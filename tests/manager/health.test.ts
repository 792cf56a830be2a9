import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError, messageOf, NetworkError } from '../../lib/core/errors.ts'
import { cachesSynced, leaderHealthy, ping } from '../../lib/manager/servers/health.ts'
import { type HealthServer, healthServer } from '../../lib/manager/servers/health.ts'
import { Server } from '../../lib/manager/servers/server.ts'
import type { Cache } from '../../lib/cache/cache.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { countedSignal } from '../async/counted_signal.ts'
import { recordingLog } from './parts.ts'

interface Setup {
  readonly health: HealthServer
  readonly clock: FakeClock
  readonly lines: string[]
  /** Returns `code body` of a path. */
  get(path: string): Promise<string>
}

function setup(): Setup {
  const clock = new FakeClock(), lines: string[] = []
  const health = healthServer(Server, { clock, log: recordingLog(lines) })
  return {
    health,
    clock,
    lines,
    async get(path) {
      const response = await health.fetch(new Request(`http://localhost${path}`))
      return `${response.status} ${await response.text()}`
    },
  }
}

const fails = (message: string) => (): never => {
  throw new Error(message)
}

test('scenario 103: passing checks give 200 and ok; with ?verbose a line per check', async () => {
  const { health, get } = setup()
  health.addReadiness('b', async () => {})
  health.addReadiness('a', ping)
  assert.equal(await get('/readyz'), '200 ok')
  assert.equal(await get('/readyz/'), '200 ok')
  assert.equal(await get('/readyz?verbose'), '200 [+]a ok\n[+]b ok\nhealthz check passed\n')
})

test('scenario 103: a failing check gives 500 with a line per check, and without the reason', async () => {
  const { health, get } = setup()
  health.addLiveness('well', ping)
  health.addLiveness('at once', fails('the password is 1234'))
  health.addLiveness('later', () => Promise.reject(new Error('the password is 1234')))
  assert.equal(
    await get('/healthz'),
    '500 [-]at once failed: reason withheld\n[-]later failed: reason withheld\n[+]well ok\nhealthz check failed\n',
  )
  assert.equal(await get('/readyz'), '200 ok') // the two have nothing to do with each other
})

test('scenario 103: an excluded check is not called; an exclude that matches nothing is reported without effect', async () => {
  const { health, get } = setup()
  let asked = 0
  health.addReadiness('a', ping)
  health.addReadiness('b', () => {
    asked++
    throw new Error('no')
  })
  assert.equal(await get('/readyz?exclude=b'), '200 ok')
  assert.equal(await get('/readyz?exclude=b&verbose'), '200 [+]a ok\n[+]b excluded: ok\nhealthz check passed\n')
  assert.equal(asked, 0)
  assert.equal(
    await get('/readyz?exclude=b&exclude=c&exclude=d&verbose=true'),
    '200 [+]a ok\n[+]b excluded: ok\nwarn: some health checks cannot be excluded: no matches for "c","d"\nhealthz check passed\n',
  )
  assert.match(await get('/readyz?exclude=c'), /^500 .*\[-\]b failed/s)
})

test('scenario 103: a check has its own path, with the reason of its failure', async () => {
  const { health, get } = setup()
  health.addReadiness('well', ping)
  health.addReadiness('ill', fails('no route'))
  health.addReadiness('a/b c', ping)
  assert.equal(await get('/readyz/well'), '200 ok')
  assert.equal(await get('/readyz/ill'), '500 internal server error: no route\n')
  assert.equal(await get('/readyz/a/b%20c'), '200 ok')
  for (const path of ['/readyz/none', '/healthz/well', '/', '/readyzz', '/readyz/%zz']) {
    assert.match(await get(path), /^404 /, path)
  }
})

test('scenario 103: without checks there is ping', async () => {
  const { get } = setup()
  assert.equal(await get('/healthz'), '200 ok')
  assert.equal(await get('/healthz?verbose'), '200 [+]ping ok\nhealthz check passed\n')
  assert.equal(await get('/readyz/ping'), '200 ok')
})

test('responses are plain text with nosniff', async () => {
  const { health } = setup()
  health.addReadiness('ill', fails('no'))
  for (const path of ['/healthz', '/readyz', '/readyz/ill', '/none']) {
    const { headers } = await health.fetch(new Request(`http://localhost${path}`))
    assert.deepEqual([headers.get('content-type'), headers.get('x-content-type-options')], [
      'text/plain; charset=utf-8',
      'nosniff',
    ])
  }
})

test('a check without an answer fails after 5 s, and its signal is aborted', async () => {
  const { health, get, clock, lines } = setup()
  let signal: AbortSignal | undefined
  health.addReadiness('hanging', (given) => (signal = given, new Promise(() => {})))
  let answer: string | undefined
  void get('/readyz').then((given) => (answer = given))
  await clock.advance(4999)
  assert.deepEqual([answer, signal?.aborted], [undefined, false])
  await clock.advance(1)
  assert.match(answer ?? '', /^500 \[-\]hanging failed/)
  assert.deepEqual([signal?.aborted, clock.pending], [true, 0])
  assert.deepEqual(lines, ['warn The check "hanging" of /readyz fails: it did not answer within 5 s'])
})

test('a check whose client disconnects is aborted, and nothing is logged', async () => {
  const { health, clock, lines } = setup()
  let isHanging = false
  const seen: AbortSignal[] = []
  health.addReadiness('a', (signal) => (seen.push(signal), isHanging ? new Promise(() => {}) : undefined))
  const ask = async (signal?: AbortSignal): Promise<number> =>
    (await health.fetch(new Request('http://localhost/readyz', signal ? { signal } : {}))).status
  assert.equal(await ask(), 200)
  isHanging = true
  const gone = new AbortController()
  const answer = ask(gone.signal)
  await clock.advance(1000)
  gone.abort()
  assert.equal(await answer, 500)
  assert.deepEqual([seen.at(-1)!.aborted, lines, clock.pending], [true, [], 0])
  isHanging = false
  assert.equal(await ask(), 200)
  assert.deepEqual(lines, [], 'what had not failed is not well again')
  isHanging = true
  const late = ask()
  await clock.advance(5000)
  assert.equal(await late, 500)
  assert.equal(lines.length, 1)
  const again = new AbortController()
  const other = ask(again.signal)
  await clock.advance(0)
  again.abort()
  await other
  isHanging = false
  assert.equal(await ask(), 200)
  assert.deepEqual(
    lines.slice(1),
    ['info The check "a" of /readyz passes again'],
    'what had failed is still known to have',
  )
})

test('a new failure is logged with its causes, and so is its end', async () => {
  const { health, get, lines } = setup()
  let failure: Error | undefined = new Error('not synced: foos', { cause: new Error('forbidden') })
  health.addReadiness('a', () => {
    if (failure) throw failure
  })
  await get('/readyz')
  await get('/readyz/a')
  assert.deepEqual(lines, ['warn The check "a" of /readyz fails: not synced: foos: forbidden'])
  failure = new Error('something else')
  await get('/readyz')
  failure = undefined
  await get('/readyz')
  await get('/readyz')
  assert.deepEqual(lines.slice(1), [
    'warn The check "a" of /readyz fails: something else',
    'info The check "a" of /readyz passes again',
  ])
})

test('a check leaves no listener on the signal of its request, and no timer', async () => {
  const { health, clock } = setup()
  const { controller, listeners } = countedSignal()
  health.addReadiness('a', ping)
  health.addReadiness('b', fails('no'))
  // A Request has its own signal, which follows the given one.
  await health.fetch({ url: 'http://localhost/readyz', signal: controller.signal } as Request)
  assert.deepEqual([listeners(), clock.pending], [0, 0])
})

test('a name is unique, and added before the start', async () => {
  const { health } = setup()
  health.addLiveness('a', ping)
  health.addReadiness('a', ping)
  assert.throws(
    () => health.addLiveness('a', ping),
    /^Error: Cannot add the check "a" to \/healthz: the name is taken$/,
  )
  assert.throws(() => health.addLiveness('', ping), /^TypeError: Cannot add a check to \/healthz: it has no name$/)
  const stop = AbortSignal.abort()
  const ended = health.start(stop)
  assert.throws(
    () => health.addReadiness('b', ping),
    /^Error: Cannot add the check "b" to \/readyz: the server was started already$/,
  )
  await ended
})

/** What the check reads of an informer. */
function informer(plural: string, isSynced: boolean, failure?: unknown, { namespace = '', optional = false } = {}) {
  return {
    title: `${plural}.example.dev${namespace && ` in namespace "${namespace}"`}`,
    resource: { group: 'example.dev', plural },
    isSynced,
    failure,
    optional,
    problem: failure && messageOf(failure),
  }
}

function refusal(reason: string, code = 403): ApiError {
  return new ApiError(`Cannot list: ${reason}`, { reason }, { code })
}

/** Returns the error of the check; undefined if it passes. */
function checkOf(own: readonly unknown[], others: readonly unknown[] = [], converted: readonly string[] = []) {
  const cache = (informers: readonly unknown[]): Cache => ({ informers: () => informers }) as unknown as Cache
  const check = cachesSynced(own.map((each) => cache([each])), new Set(converted), [cache([]), cache(others)])
  try {
    return void check(new AbortController().signal)
  } catch (error) {
    return error as Error
  }
}

test('the check of the caches fails without a first list or on a refusal, with the names; the reasons are only in the cause', () => {
  assert.equal(checkOf([informer('foos', true)]), undefined)
  // It mends itself, and what there is is served.
  assert.equal(checkOf([informer('foos', true, new NetworkError('reset', { phase: 'body' }))]), undefined)
  for (const [reason, code] of [['Forbidden', 403], ['Unauthorized', 401], ['NotFound', 404]] as const) {
    assert.ok(checkOf([informer('foos', true, refusal(reason, code))]), reason)
  }
  assert.equal(checkOf([informer('foos', true, refusal('InternalError', 500))]), undefined)
  const error = checkOf([
    informer('foos', true),
    informer('bars', false, refusal('Forbidden'), { namespace: 'a' }),
    informer('bazes', false),
    informer('quxes', true, refusal('Forbidden')),
  ])
  assert.equal(error?.message, 'not synced: bars.example.dev in namespace "a", bazes.example.dev, quxes.example.dev')
  assert.match(String(error?.cause), /bars.example.dev in namespace "a": Cannot list: Forbidden; quxes/)
  // A kind may be watched in a thousand namespaces.
  const many = checkOf(
    ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((plural) => informer(plural, false, refusal('Forbidden'))),
  )
  assert.match(many!.message, /^not synced: a.example.dev, .*, e.example.dev, and 2 more$/)
  assert.match(String(many!.cause), /; e.example.dev: Cannot list: Forbidden; and 2 more$/)
})

test('the first list of a converted kind does not count, as it may wait for this process; a refusal does', () => {
  const check = (failure?: unknown) => checkOf([informer('foos', false, failure)], [], ['foos.example.dev'])
  assert.equal(check(), undefined)
  assert.equal(check(refusal('InternalError', 500)), undefined)
  assert.equal(check(refusal('Forbidden'))?.message, 'not synced: foos.example.dev')
})

test('the kinds of other clusters count until their first list; those of the own cluster also when they are refused', () => {
  for (const refused of ['Forbidden', 'Unauthorized', 'NotFound'].map((reason) => refusal(reason))) {
    assert.equal(checkOf([], [informer('foos', true, refused)]), undefined)
    assert.ok(checkOf([], [informer('foos', false, refused)]))
    assert.equal(checkOf([], [informer('foos', false, refused, { optional: true })]), undefined)
    assert.ok(checkOf([informer('foos', true, refused)], [informer('foos', true)]))
  }
  assert.ok(checkOf([informer('foos', true)], [informer('foos', false)]))
  // A kind that the operator converts in its own cluster is needed from another one.
  assert.ok(checkOf([], [informer('foos', false)], ['foos.example.dev']))
})

test('the check of the leader asks the elector', () => {
  let ill = false
  const check = leaderHealthy({
    checkHealthy: () => {
      if (ill) throw new Error('not renewed')
    },
  })
  const never = new AbortController().signal
  assert.equal(check(never), undefined)
  ill = true
  assert.throws(() => void check(never), /not renewed/)
})

test('a check whose message is another one at each probe is logged at a limited rate', async () => {
  const { health, clock, lines, get } = setup()
  let probes = 0
  health.addReadiness('db', () => Promise.reject(new Error(`no answer for ${probes++} s`)))
  for (let count = 0; count < 10; count++) await get('/readyz')
  assert.equal(lines.length, 5)
  await clock.advance(60_000)
  await get('/readyz')
  assert.equal(lines.at(-1), 'warn The check "db" of /readyz fails: no answer for 10 s (and 5 more like it)')
  await clock.advance(60_000)
  await get('/readyz')
  assert.match(lines.at(-1)!, /no answer for 11 s$/)
})
