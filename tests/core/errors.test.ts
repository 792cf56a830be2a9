import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freePort } from '../../lib/runtime/net/loopback.ts'
import {
  ApiError,
  ConfigError,
  fileMissing,
  isExpired,
  isNotCapable,
  isReason,
  LeadershipLost,
  messageOf,
  NetworkError,
  type Reason,
  TerminalError,
} from '../../lib/core/errors.ts'

function refusal(code: number, reason?: string): ApiError {
  return new ApiError('Cannot do it', { kind: 'Status', code, ...(reason === undefined ? {} : { reason }) }, { code })
}

test('a refusal is classified by its reason, not its code', () => {
  assert.equal(isReason(refusal(409, 'AlreadyExists'), 'Conflict'), false)
  assert.equal(isReason(refusal(409, 'AlreadyExists'), 'AlreadyExists'), true)
  assert.equal(isReason(refusal(410, 'Expired'), 'Gone'), false)
  assert.equal(isReason(refusal(410, 'Expired'), 'Expired'), true)
  assert.equal(isReason(refusal(500, 'StoreReadError'), 'InternalError'), false)
  assert.equal(isReason(refusal(500, 'ServerTimeout'), 'InternalError'), false)
  assert.equal(isReason(refusal(404, 'NotFound'), 'NotFound'), true)
  // A reason of another code decides, too.
  assert.equal(isReason(refusal(409, 'NotFound'), 'Conflict'), false)
  assert.equal(isReason(refusal(404, 'NotFound'), 'Conflict', 'NotFound'), true)
  assert.equal(isReason(refusal(404, 'NotFound'), 'Conflict', 'Gone'), false)
})

test('for a missing or unknown reason the code decides', () => {
  const table: readonly (readonly [number, Reason])[] = [
    [400, 'BadRequest'],
    [401, 'Unauthorized'],
    [403, 'Forbidden'],
    [404, 'NotFound'],
    [405, 'MethodNotAllowed'],
    [406, 'NotAcceptable'],
    [409, 'Conflict'],
    [410, 'Gone'],
    [413, 'RequestEntityTooLarge'],
    [415, 'UnsupportedMediaType'],
    [422, 'Invalid'],
    [429, 'TooManyRequests'],
    [500, 'InternalError'],
    [503, 'ServiceUnavailable'],
    [504, 'Timeout'],
  ]
  for (const [code, reason] of table) {
    assert.equal(isReason(refusal(code), reason), true, reason)
    assert.equal(isReason(refusal(code, 'QuotaWebhookSaysNo'), reason), true, reason)
  }
  for (const reason of ['AlreadyExists', 'Expired', 'ServerTimeout', 'StoreReadError']) {
    for (const [code] of table) assert.equal(isReason(refusal(code), reason), false, `${reason} of ${code}`)
  }
  assert.equal(isReason(refusal(409, 'QuotaWebhookSaysNo'), 'QuotaWebhookSaysNo'), true)
})

test('413 and 429 decide, whatever the reason', () => {
  assert.equal(isReason(refusal(429, 'Timeout'), 'TooManyRequests'), true)
  assert.equal(isReason(refusal(413, 'Invalid'), 'RequestEntityTooLarge'), true)
})

test('a refusal is found in causes; other errors do not match', () => {
  assert.equal(
    isReason(new Error('outer', { cause: new Error('middle', { cause: refusal(404, 'NotFound') }) }), 'NotFound'),
    true,
  )
  for (const other of [new Error('no'), undefined, null, 'NotFound', { reason: 'NotFound', code: 404 }]) {
    assert.equal(isReason(other, 'NotFound'), false)
  }
})

test('an ApiError has the fields of its Status', () => {
  const status = {
    reason: 'Invalid',
    details: { causes: [{ field: 'spec.a', message: 'must be set', reason: 'FieldValueRequired' }, {}] },
  }
  const error = new ApiError('Cannot x', status, { code: 422, retryAfterMs: 1000 })
  assert.deepEqual(
    [error.name, error.code, error.reason, error.retryAfterMs, error.status],
    ['ApiError', 422, 'Invalid', 1000, status],
  )
  assert.deepEqual(error.causes, [{ field: 'spec.a', message: 'must be set' }, { field: '', message: '' }])
  assert.equal('cause' in error, false)
})

test('every error class has its name and keeps its cause', () => {
  const cause = new Error('why')
  for (
    const error of [
      new ApiError('x', {}, { code: 404, cause }),
      new TerminalError('x', { cause }),
      new LeadershipLost('x', { cause }),
      new ConfigError('x', { cause }),
      new NetworkError('x', { phase: 'connect', cause }),
    ]
  ) {
    assert.equal(error.cause, cause)
    assert.equal(error.name, error.constructor.name)
  }
})

test('any thrown value has a message', () => {
  const nameless = Object.assign(new Error(), { name: 'Odd' })
  const wrong = Object.defineProperty(new Error(), 'message', { get: () => assert.fail('mine') })
  const noText = 'a value that cannot be converted to text was thrown'
  for (
    const [thrown, expected] of [
      [new Error('x'), 'x'],
      [nameless, 'Odd'],
      ['text', 'text'],
      [{ code: 5, token: 'secret' }, '{ code, token } was thrown, no Error'],
      [undefined, 'undefined'],
      [Symbol('s'), 'Symbol(s)'],
      [Object.create(null), noText],
      [wrong, noText],
      [{ toString: () => assert.fail('mine') }, noText],
    ] as const
  ) {
    assert.equal(messageOf(thrown), expected)
  }
})

test('isExpired matches both reasons and the code alone', () => {
  assert.deepEqual(
    [refusal(410, 'Expired'), refusal(410, 'Gone'), refusal(410), refusal(500, 'Expired')].map(isExpired),
    [true, true, true, true],
  )
  assert.deepEqual(
    [refusal(404, 'NotFound'), refusal(500), new Error('Expired'), undefined].map(isExpired),
    [false, false, false, false],
  )
})

test('a missing file of the package is named, with the cause, what to do, and what a bundle needs', async () => {
  const cause = new Error('no such file')
  const copy =
    "copy it from kubeloop's folder to beside mod.js or its bundle, or use standalone.js, which has it, or walk"
  const bundled = `for a bundle, add import 'kubeloop/flight' to the operator's file; else ${copy}`
  for (const [entry, remedy] of [[undefined, copy], ['flight', bundled]] as const) {
    await assert.rejects(
      Promise.reject(cause).catch(fileMissing('fly', 'wings.js', entry, ', or walk')),
      (error: Error) => {
        assert.ok(error instanceof ConfigError)
        assert.equal(error.cause, cause)
        assert.equal(error.message, `Cannot fly: wings.js cannot be loaded; ${remedy} (no such file)`)
        return true
      },
    )
  }
})

test('a permission that Deno refuses is named with the exact flag', () => {
  const denied = (message: string): Error => Object.assign(new Error(message), { name: 'NotCapable' })
  for (
    const [message, expected] of [
      [
        'Requires net access to "127.0.0.1:8081", run again with the --allow-net flag',
        'Deno needs --allow-net=127.0.0.1:8081',
      ],
      ['Requires net access to "[::]:8081", run again with the --allow-net flag', 'Deno needs --allow-net=[::]:8081'],
      ['Requires sys access to "hostname", run again with the --allow-sys flag', 'Deno needs --allow-sys=hostname'],
      ['Requires read access to "/a "b"/c", run again with the --allow-read flag', 'Deno needs --allow-read=/a "b"/c'],
      [
        'Requires all access, run again with the --allow-all flag',
        'Requires all access, run again with the --allow-all flag',
      ],
    ] as const
  ) assert.equal(messageOf(denied(message)), expected)
  assert.equal(isNotCapable(denied('x')), true)
  assert.equal(isNotCapable(new Error('outer', { cause: new Error('inner', { cause: denied('x') }) })), true)
  assert.equal(
    isNotCapable(new Error('outer', { cause: new NetworkError('x', { phase: 'connect', code: 'NotCapable' }) })),
    true,
  )
  const circle = new Error('circle')
  circle.cause = new Error('back', { cause: circle })
  for (
    const other of [
      new Error('NotCapable'),
      circle,
      new NetworkError('x', { phase: 'connect', code: 'ECONNREFUSED' }),
      'NotCapable',
      undefined,
    ]
  ) assert.equal(isNotCapable(other), false)
})

test('messageOf a failed fetch has its cause, and of an AggregateError its errors', () => {
  const refused = new Error('connect ECONNREFUSED 127.0.0.1:1')
  const failed = (cause: unknown): string => messageOf(new TypeError('fetch failed', { cause }))
  assert.equal(failed(refused), 'fetch failed: connect ECONNREFUSED 127.0.0.1:1')
  assert.equal(failed(undefined), 'fetch failed')
  assert.equal(
    messageOf(new TypeError('terminated', { cause: new Error('other side closed') })),
    'terminated: other side closed',
  )
  // Node connects to every address of a name: that is an error without a message.
  assert.equal(
    failed(new AggregateError([new Error('connect ECONNREFUSED ::1:1'), refused])),
    'fetch failed: connect ECONNREFUSED ::1:1; connect ECONNREFUSED 127.0.0.1:1',
  )
  assert.equal(messageOf(new AggregateError([])), 'AggregateError')
  assert.equal(messageOf(new AggregateError([refused], 'none of them')), `none of them: ${messageOf(refused)}`)
  assert.equal(messageOf(new AggregateError([new Error('a')], 'both: a')), 'both: a')
  assert.match(messageOf(new AggregateError(Array.from({ length: 7 }, (_, i) => i))), /^0; 1; 2; 3; 4; and 2 more$/)
  // The messages of other errors explain their cause themselves.
  assert.equal(messageOf(new Error('outer', { cause: refused })), 'outer')
})

test('a failed fetch of this runtime reports the refused connection', async () => {
  await assert.rejects(
    fetch(`http://127.0.0.1:${await freePort()}`),
    (error) => /refused|unable to connect/i.test(messageOf(error)),
  )
})

test('errors of the copies of these classes in files beside mod.js count, and classes of users stay apart', () => {
  const copy = (name: string): Error => Object.assign(new Error('from a copy'), { name })
  for (const known of [ApiError, LeadershipLost, ConfigError]) {
    assert.ok(copy(known.name) instanceof known, known.name)
    assert.ok(!(copy('Other') instanceof known), known.name)
    for (const other of ['text', undefined, null, { name: known.name }, new TypeError('mine')] as unknown[]) {
      assert.ok(!(other instanceof known), known.name)
    }
  }
  class Own extends LeadershipLost {}
  assert.ok(new Own('mine') instanceof LeadershipLost)
  assert.ok(new Own('mine') instanceof Own)
  assert.ok(!(new LeadershipLost('theirs') instanceof Own))
})
