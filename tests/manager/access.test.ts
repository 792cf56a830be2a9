/** Tests who may read an endpoint: reviews, their answers over time, many requests at once, and failures. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextTurn } from '../../lib/async/clock.ts'
import { Latch } from '../../lib/async/latch.ts'
import { ApiError, NetworkError } from '../../lib/core/errors.ts'
import type { HttpRequest } from '../../lib/core/transport.ts'
import { AccessReviews, bearerToken, type Refusal } from '../../lib/manager/servers/access.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'

interface Review {
  readonly kind: string
  readonly spec: {
    readonly token?: string
    readonly user?: string
    readonly nonResourceAttributes?: { readonly path: string; readonly verb: string }
  }
}

/** An API server that knows the token `good` of a user with the right, and `poor` of one without. */
class Reviewer {
  readonly clock = new FakeClock()
  readonly lines: string[] = []
  readonly reviews: Review[] = []
  readonly stop = new AbortController()
  /** Answers in place of the rules below. */
  answer: ((review: Review, signal: AbortSignal) => Promise<unknown>) | undefined
  readonly allowed = new Set(['get /metrics'])
  readonly tokens = new Map([['good', 'alice'], ['poor', 'bob']])
  readonly access = new AccessReviews({
    clock: this.clock,
    signal: this.stop.signal,
    log: {
      debug: (message) => void this.lines.push(`debug ${message}`),
      info() {},
      warn() {},
      error: (message) => void this.lines.push(`error ${message}`),
    },
    api: { raw: (request, _action, signal) => this.#raw(request, signal!) },
  })

  check(token: string | null, over: Partial<Parameters<AccessReviews['check']>[0]> = {}): Promise<number> {
    return this.refusal(token, over).then((refusal) => refusal?.status ?? 200)
  }

  refusal(
    token: string | null,
    over: Partial<Parameters<AccessReviews['check']>[0]> = {},
  ): Promise<Refusal | undefined> {
    const authorization = token === null ? null : `Bearer ${token}`
    const signal = new AbortController().signal
    return this.access.check({ authorization, method: 'GET', path: '/metrics', signal, ...over })
  }

  kinds(): string[] {
    return this.reviews.splice(0).map(({ kind }) => kind)
  }

  async #raw({ body, path, method }: HttpRequest, signal: AbortSignal): Promise<unknown> {
    const review = JSON.parse(body as string) as Review
    this.reviews.push(review)
    const isToken = review.kind === 'TokenReview'
    assert.equal(
      `${method} ${path}`,
      isToken
        ? 'POST /apis/authentication.k8s.io/v1/tokenreviews'
        : 'POST /apis/authorization.k8s.io/v1/subjectaccessreviews',
    )
    await nextTurn()
    if (this.answer) return await this.answer(review, signal)
    if (isToken) {
      const username = this.tokens.get(review.spec.token!)
      // As the real server answers.
      if (username === undefined) return { status: { user: {}, error: '[invalid bearer token, token lookup failed]' } }
      return { status: { authenticated: true, user: { username, uid: '1', groups: ['system:authenticated'] } } }
    }
    const { user, nonResourceAttributes } = review.spec
    const asked = `${nonResourceAttributes!.verb} ${nonResourceAttributes!.path}`
    return { status: { allowed: user === 'alice' && this.allowed.has(asked) } }
  }
}

const BOTH = ['TokenReview', 'SubjectAccessReview']

test('a token with the right passes, one without is 403, a wrong one 401, none 401 without a review', async () => {
  const server = new Reviewer()
  assert.equal(await server.check('good'), 200)
  assert.deepEqual(server.reviews.map(({ spec }) => spec), [
    { token: 'good' },
    {
      user: 'alice',
      uid: '1',
      groups: ['system:authenticated'],
      nonResourceAttributes: { path: '/metrics', verb: 'get' },
    },
  ])
  assert.deepEqual(
    [server.kinds(), await server.refusal('poor'), server.kinds()],
    [BOTH, { status: 403, text: 'Forbidden: "bob" must be allowed to get the non-resource URL "/metrics"' }, BOTH],
  )
  assert.deepEqual([await server.refusal('wrong'), server.kinds()], [{ status: 401, text: 'Unauthorized' }, [
    'TokenReview',
  ]])
  for (const authorization of [null, '', 'good', 'Basic good', 'Bearer', 'Bearer ', 'Bearer a b']) {
    assert.equal(await server.check(null, { authorization }), 401, String(authorization))
  }
  assert.deepEqual(server.kinds(), [])
  assert.ok(!server.lines.some((line) => /good|poor|wrong/.test(line)), 'a token is in a log line')
})

test('the path and the method are judged each by its own', async () => {
  const server = new Reviewer()
  server.allowed.add('post /debug/x')
  assert.equal(await server.check('good'), 200)
  assert.equal(await server.check('good', { path: '/debug/x' }), 403)
  assert.equal(await server.check('good', { path: '/debug/x', method: 'POST' }), 200)
  assert.equal(await server.check('good', { method: 'DELETE' }), 403)
  assert.equal(server.kinds().filter((kind) => kind === 'TokenReview').length, 1)
})

test('a right is that of the whole user: a token that differs in one part is judged by its own', async () => {
  const good = { username: 'alice', uid: '1', groups: ['metrics'], extra: { scopes: ['metrics'] } }
  for (
    const [part, value] of Object.entries({
      username: 'bob',
      uid: '2',
      groups: ['metrics', 'guests'],
      extra: { scopes: ['none'] },
    })
  ) {
    const server = new Reviewer()
    const users = new Map([['good', good], ['other', { ...good, [part]: value }]])
    server.answer = async ({ kind, spec }) => {
      if (kind === 'TokenReview') return { status: { authenticated: true, user: users.get(spec.token!) } }
      const { nonResourceAttributes: _, user: username, ...rest } = spec
      return { status: { allowed: JSON.stringify({ username, ...rest }) === JSON.stringify(good) } }
    }
    const answers = [await server.check('good'), await server.check('other'), await server.check('good')]
    assert.deepEqual(answers, [200, 403, 200], part)
  }
})

test('a scheme is read in any case, as RFC 9110 says', () => {
  assert.deepEqual(['bearer a', 'BEARER  a.b-c_d ', undefined].map(bearerToken), ['a', 'a.b-c_d', undefined])
})

test('answers are kept: a token 1 minute, a right 5 minutes, a missing one 30 s, a refused token 10 s', async () => {
  const server = new Reviewer()
  const { clock } = server
  for (const token of ['good', 'poor', 'wrong']) await server.check(token)
  server.kinds()
  for (const token of ['good', 'poor', 'wrong']) await server.check(token)
  assert.deepEqual(server.kinds(), [])
  await clock.advance(9999)
  await server.check('wrong')
  assert.deepEqual(server.kinds(), [])
  await clock.advance(1)
  await server.check('wrong')
  assert.deepEqual(server.kinds(), ['TokenReview'])
  await clock.advance(20_000)
  await server.check('poor')
  assert.deepEqual(server.kinds(), ['SubjectAccessReview'])
  await clock.advance(30_000)
  await server.check('good')
  assert.deepEqual(server.kinds(), ['TokenReview'])
  await clock.advance(240_000)
  await server.check('good')
  assert.deepEqual(server.kinds(), BOTH)
})

test('a token that has ended is refused after a minute, a right that was taken after five', async () => {
  const server = new Reviewer()
  assert.equal(await server.check('good'), 200)
  server.tokens.delete('good')
  await server.clock.advance(59_999)
  assert.equal(await server.check('good'), 200)
  await server.clock.advance(1)
  assert.equal(await server.check('good'), 401)
  server.tokens.set('good', 'alice')
  server.allowed.clear()
  await server.clock.advance(239_999)
  assert.equal(await server.check('good'), 200)
  await server.clock.advance(1)
  assert.equal(await server.check('good'), 403)
})

test('many requests at once with one token share one review of each kind', async () => {
  const server = new Reviewer()
  const statuses = await Promise.all(Array.from({ length: 100 }, () => server.check('good')))
  assert.deepEqual([new Set(statuses), server.kinds()], [new Set([200]), BOTH])
})

test('a client that has gone ends its own wait, not the review of the others', async () => {
  const server = new Reviewer()
  const gone = new AbortController()
  const [first, second] = [server.check('good', { signal: gone.signal }), server.check('good')]
  gone.abort(new Error('gone'))
  await assert.rejects(first, /gone/)
  assert.equal(await second, 200)
  assert.deepEqual([server.kinds(), server.lines], [BOTH, []])
})

test('made-up tokens are 429 beyond 20 reviews at once, which a known token does not feel', async () => {
  const server = new Reviewer()
  assert.equal(await server.check('good'), 200)
  server.kinds()
  const flood = Array.from({ length: 1000 }, (_, at) => server.check(`made-up-${at}`))
  assert.equal(await server.check('good'), 200)
  const statuses = await Promise.all(flood)
  assert.deepEqual([401, 429].map((status) => statuses.filter((each) => each === status).length), [20, 980])
  assert.equal(server.kinds().length, 20)
  assert.equal(await server.check('made-up-999'), 401)
})

test('memory is bounded: after 1,000 other tokens the first is reviewed again', async () => {
  const server = new Reviewer()
  await server.check('good')
  for (let at = 0; at < 1000; at++) await server.check(`t${at}`)
  server.kinds()
  await server.check('t999')
  assert.deepEqual(server.kinds(), [])
  await server.check('good')
  assert.deepEqual(server.kinds(), ['TokenReview'])
})

test('without reviews the answer is 500, is not kept, and one line names the remedy, not the token', async () => {
  const server = new Reviewer()
  const forbidden = (): Promise<never> =>
    Promise.reject(new ApiError('tokenreviews is forbidden', { reason: 'Forbidden' }, { code: 403 }))
  server.answer = forbidden
  for (let at = 0; at < 100; at++) {
    assert.deepEqual(await server.refusal('good'), {
      status: 500,
      text: 'The request cannot be authorized now; see the log of the operator',
    })
  }
  assert.equal(server.lines.length, 5)
  assert.match(
    server.lines[0]!,
    /^error Cannot authorize a request to an endpoint: .*forbidden; its ServiceAccount needs the right to create tokenreviews\.authentication\.k8s\.io and subjectaccessreviews/,
  )
  assert.ok(!server.lines.join().includes('good'))
  server.answer = undefined
  assert.equal(await server.check('good'), 200)
})

test('a lost connection is tried once more; a server that is down is 500', async () => {
  const server = new Reviewer()
  const lost = new NetworkError('Cannot get an answer from 127.0.0.1', { phase: 'response', code: 'ECONNRESET' })
  let failures = 1
  server.answer = (review) => {
    if (failures-- > 0) return Promise.reject(lost)
    return Promise.resolve(
      review.kind === 'TokenReview'
        ? { status: { authenticated: true, user: { username: 'alice' } } }
        : { status: { allowed: true } },
    )
  }
  assert.equal(await server.check('good'), 200)
  assert.deepEqual(server.kinds(), ['TokenReview', ...BOTH])
  server.answer = () => Promise.reject(lost)
  assert.equal(await server.check('poor'), 500)
  assert.deepEqual(server.kinds(), ['TokenReview', 'TokenReview'])
})

test('a review has 10 s, and ends with the server', async () => {
  const server = new Reviewer()
  const signals: AbortSignal[] = []
  const asked = new Latch()
  server.answer = (_, signal) => {
    signals.push(signal)
    asked.open()
    return new Promise(() => {})
  }
  const first = server.check('good')
  await asked.opened
  await server.clock.advance(10_000)
  assert.equal(await first, 500)
  assert.match(server.lines[0]!, /Cannot create a TokenReview: no answer within 10 s$/)
  const second = server.check('good')
  await nextTurn()
  await nextTurn()
  server.stop.abort()
  assert.equal(await second, 500)
  assert.deepEqual(signals.map(({ aborted }) => aborted), [true, true])
})

test('answers that are no reviews are 500, and nothing but a clear yes passes', async () => {
  const server = new Reviewer()
  for (const answer of [null, 'x', {}, { status: null }]) {
    server.answer = () => Promise.resolve(answer)
    assert.equal(await server.check('good'), 500)
  }
  const user = { username: 'alice' }
  const cases: readonly [object, object, number][] = [
    [{ authenticated: 'yes', user }, { allowed: true }, 401],
    [{ authenticated: true }, { allowed: true }, 401],
    [{ user }, { allowed: true }, 401],
    [{ authenticated: true, user }, { allowed: 'true' }, 403],
    [{ authenticated: true, user }, { allowed: true, denied: true }, 403],
    [{ authenticated: true, user }, {}, 403],
    [{ authenticated: true, user }, { allowed: true }, 200],
  ]
  for (const [token, access, status] of cases) {
    const fresh = new Reviewer()
    fresh.answer = ({ kind }) => Promise.resolve({ status: kind === 'TokenReview' ? token : access })
    assert.equal(await fresh.check('good'), status, JSON.stringify([token, access]))
  }
})

test('control characters of a name do not reach the answer', async () => {
  const server = new Reviewer()
  server.tokens.set('odd', `a\u001b[2J${'b'.repeat(1000)}`)
  const { text } = (await server.refusal('odd'))!
  assert.ok(text.length < 300 && !text.includes('\u001b'), text)
})
