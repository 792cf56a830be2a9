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

test('a refusal is told by its reason, not by its code', () => {
  assert.equal(isReason(refusal(409, 'AlreadyExists'), 'Conflict'), false)
  assert.equal(isReason(refusal(409, 'AlreadyExists'), 'AlreadyExists'), true)
  assert.equal(isReason(refusal(410, 'Expired'), 'Gone'), false)
  assert.equal(isReason(refusal(410, 'Expired'), 'Expired'), true)
  assert.equal(isReason(refusal(500, 'ServerTimeout'), 'InternalError'), false)
  assert.equal(isReason(refusal(404, 'NotFound'), 'NotFound'), true)
  // Another reason of a code of its own decides, too.
  assert.equal(isReason(refusal(409, 'NotFound'), 'Conflict'), false)
})

test('where the reason is missing or none that is known, the code says what happened', () => {
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

test('413 and 429 are what they are beside any reason', () => {
  assert.equal(isReason(refusal(429, 'Timeout'), 'TooManyRequests'), true)
  assert.equal(isReason(refusal(413, 'Invalid'), 'RequestEntityTooLarge'), true)
})

test('a refusal is found through causes; other errors are none', () => {
  assert.equal(
    isReason(new Error('outer', { cause: new Error('middle', { cause: refusal(404, 'NotFound') }) }), 'NotFound'),
    true,
  )
  for (const other of [new Error('no'), undefined, null, 'NotFound', { reason: 'NotFound', code: 404 }]) {
    assert.equal(isReason(other, 'NotFound'), false)
  }
})

test('an ApiError carries what its Status says', () => {
  const status = {
    reason: 'Invalid',
    details: { causes: [{ field: 'spec.a', message: 'must be set', reason: 'FieldValueRequired' }, {}] },
  }
  const error = new ApiError('Cannot x', status, { code: 422, retryAfterMs: 1000 })
  assert.deepEqual([error.name, error.code, error.reason, error.retryAfterMs, error.status], [
    'ApiError',
    422,
    'Invalid',
    1000,
    status,
  ])
  assert.deepEqual(error.causes, [{ field: 'spec.a', message: 'must be set' }, { field: '', message: '' }])
  assert.equal('cause' in error, false)
})

test('every error of ours says its name and keeps its cause', () => {
  const cause = new Error('why')
  for (
    const error of [
      new TerminalError('x', { cause }),
      new LeadershipLost('x', { cause }),
      new ConfigError('x', { cause }),
      new NetworkError('x', { phase: 'connect', cause }),
    ]
  ) {
    assert.equal(error.cause, cause)
    assert.equal(error.name, error.constructor.name)
  }
  assert.equal(messageOf(new RangeError('')), 'RangeError')
  assert.equal(messageOf('text'), 'text')
  assert.equal(messageOf(undefined), 'undefined')
})

test('whatever is thrown has a message', () => {
  const nameless = Object.assign(new Error(), { name: 'Odd' })
  const wrong = Object.defineProperty(new Error(), 'message', { get: () => assert.fail('mine') })
  const noText = 'a value that cannot be converted to text was thrown'
  for (
    const [thrown, expected] of [
      [new Error('x'), 'x'],
      [nameless, 'Odd'],
      ['text', 'text'],
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

test('a list or a watch has expired by either reason, and by the bare code', () => {
  assert.deepEqual(
    [refusal(410, 'Expired'), refusal(410, 'Gone'), refusal(410), refusal(500, 'Expired')].map(isExpired),
    [true, true, true, true],
  )
  assert.deepEqual([refusal(404, 'NotFound'), refusal(500), new Error('Expired'), undefined].map(isExpired), [
    false,
    false,
    false,
    false,
  ])
})

test('a ConfigError is known by its name, as each file beside mod.js has the class', () => {
  const foreign = Object.assign(new Error('mine'), { name: 'ConfigError' })
  assert.deepEqual([new ConfigError('mine'), foreign].map((each) => each instanceof ConfigError), [true, true])
  const others: readonly unknown[] = [
    new Error('mine'),
    new TypeError('mine'),
    refusal(404),
    { name: 'ConfigError', message: 'mine' },
    undefined,
    null,
    'ConfigError',
  ]
  for (const each of others) assert.equal(each instanceof ConfigError, false)
})

test('a file of the package that is missing is named, with where it is and why it was not loaded', async () => {
  const cause = new Error('no such file')
  await assert.rejects(
    Promise.reject(cause).catch(fileMissing('Cannot fly', 'wings.js', ', or walk')),
    (error: Error) => {
      assert.ok(error instanceof ConfigError)
      assert.equal(error.cause, cause)
      assert.equal(
        error.message,
        "Cannot fly: wings.js cannot be loaded; copy it from kubeloop's folder to beside mod.js or its bundle, or use standalone.js, which has it, or walk (no such file)",
      )
      return true
    },
  )
})

test('what Deno does not permit is named with the flag for just that', () => {
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

test('a fetch that failed says why, and an error that stands for others what they say', () => {
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
  assert.equal(messageOf(new AggregateError([refused], 'none of them')), 'none of them')
  // Others say themselves what their cause means.
  assert.equal(messageOf(new Error('outer', { cause: refused })), 'outer')
})

test('a fetch of this runtime to a server that is not there says so', async () => {
  await assert.rejects(
    fetch(`http://127.0.0.1:${await freePort()}`),
    (error) => /refused|unable to connect/i.test(messageOf(error)),
  )
})
