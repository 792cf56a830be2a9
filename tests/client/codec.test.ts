import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errorOf, isMissingKind, isMissingObject, readError, readJson, withVerbs } from '../../lib/client/codec.ts'
import { ApiError, isReason } from '../../lib/core/errors.ts'
import { answer, refusal } from './transports.ts'

const of = async (response: ReturnType<typeof answer>): Promise<ApiError> => await readError(response, 'get Pod "ns/a"')

test('the error for a response without a Status has its code and its first line', async () => {
  const proxy = await of(answer(503, '<html>upstream connect error\n<p>…'))
  assert.equal(proxy.message, 'Cannot get Pod "ns/a": the server answered 503 with "<html>upstream connect error"')
  assert.equal(isReason(proxy, 'ServiceUnavailable'), true)
  assert.match((await of(answer(502, ''))).message, /answered 502 with an empty body$/)
  assert.match((await of(answer(500, 'x'.repeat(500)))).message, /with "x{120}…"$/)
  assert.match((await of(answer(403, { kind: 'Other' }))).message, /with 16 characters that look like JSON$/)
  assert.equal((await of(answer(500, 'null'))).code, 500)
})

test('a missing object and a missing kind are distinguished, as a real server reports them', async () => {
  const object = await of(refusal(404, 'NotFound', { name: 'a', kind: 'pods' }, 'pods "a" not found'))
  assert.deepEqual([isMissingObject(object), isMissingKind(object)], [true, false])
  for (
    const kind of [
      await of(answer(404, '404 page not found\n')),
      await of(refusal(404, 'NotFound', {}, 'the server could not find the requested resource')),
    ]
  ) {
    assert.deepEqual([isMissingObject(kind), isMissingKind(kind)], [false, true])
    assert.match(kind.message, /; it does not serve this kind or subresource \(is the CRD installed\?\)$/)
  }
  assert.doesNotMatch(object.message, /CRD/)
  for (const other of [new Error('x'), undefined, await of(refusal(410, 'Gone'))]) {
    assert.deepEqual([isMissingObject(other), isMissingKind(other)], [false, false])
  }
})

test('retryAfterMs comes from the header, else from the Status', async () => {
  assert.equal((await of({ ...refusal(429, 'TooManyRequests'), headers: { 'retry-after': '3' } })).retryAfterMs, 3000)
  assert.equal((await of(refusal(504, 'ServerTimeout', { retryAfterSeconds: 2 }))).retryAfterMs, 2000)
  assert.equal((await of(refusal(500, 'InternalError'))).retryAfterMs, undefined)
})

test('a Retry-After date is relative to the Date header; without that, or if it is malformed, the Status counts', async () => {
  const retryAfter = 'Sat, 21 Nov 2026 10:00:05 GMT'
  const refused = (headers: Record<string, string>) =>
    of({ ...refusal(429, 'TooManyRequests', { retryAfterSeconds: 7 }), headers })
  for (
    const [headers, ms] of [
      [{ 'retry-after': retryAfter, date: 'Sat, 21 Nov 2026 10:00:00 GMT' }, 5000],
      [{ 'retry-after': retryAfter, date: 'Sat, 21 Nov 2026 11:00:00 GMT' }, 0],
      [{ 'retry-after': retryAfter }, 7000],
      [{ 'retry-after': '-1', date: 'Sat, 21 Nov 2026 10:00:00 GMT' }, 7000],
      [{ 'retry-after': 'soon', date: 'Sat, 21 Nov 2026 10:00:00 GMT' }, 7000],
    ] as const
  ) assert.equal((await refused(headers)).retryAfterMs, ms, JSON.stringify(headers))
})

test('the error for a Status of a watch has the code of the Status', () => {
  const error = errorOf({ code: 410, reason: 'Expired', message: 'too old' }, 'watch pods')
  assert.deepEqual([error.code, isReason(error, 'Expired'), error.message], [410, true, 'Cannot watch pods: too old'])
  assert.equal(errorOf({}, 'watch pods').message, 'Cannot watch pods: the server answered 500')
})

test('readJson resolves with JSON; the error for another body describes it', async () => {
  assert.deepEqual(await readJson(answer(200, { a: 1 }), 'get x'), { a: 1 })
  await assert.rejects(
    readJson(answer(200, '<html>login</html>'), 'get x'),
    (error: Error) =>
      error instanceof SyntaxError &&
      error.message === 'Cannot get x: the server answered 200 with "<html>login</html>" instead of JSON',
  )
  await assert.rejects(readJson(refusal(403, 'Forbidden'), 'get x'), ApiError)
  await assert.rejects(readJson(answer(302, '{}'), 'get x'), /^ApiError: Cannot get x: the server answered 302 with /)
})

test('an error shows no object that the server repeats, and no value of a Secret', () => {
  const dump = `"{\\"data\\":{\\"a\\":\\"VE9Q\\"},\\"bad\\":1}"`
  const message = `"" is invalid: patch: Invalid value: ${dump}: strict decoding error: unknown field "bad"`
  const status = {
    kind: 'Status',
    code: 422,
    reason: 'Invalid',
    message,
    details: { causes: [{ field: 'patch', message: `Invalid value: ${dump}: strict` }] },
  }
  for (const action of ['patch Secret "default/s"', 'patch Pod "default/p"']) {
    const error = errorOf(status, action)
    assert.equal(
      error.message,
      `Cannot ${action}: "" is invalid: patch: Invalid value: (not shown): strict decoding error: unknown field "bad"`,
    )
    assert.doesNotMatch(JSON.stringify([error.status, error.causes]), /VE9Q/)
  }
  const short = { kind: 'Status', code: 422, reason: 'Invalid', message: 'spec.n: Invalid value: "hunter2": too short' }
  assert.match(errorOf(short, 'create Foo "default/f"').message, /"hunter2": too short/)
  for (const action of ['create Secret "default/s"', 'delete all secrets']) {
    assert.match(errorOf(short, action).message, /Invalid value: \(not shown\): too short/)
  }
  const type = (got: string): object => ({
    code: 500,
    message: `failed to create typed patch object (default/s; /v1, Kind=Secret): .data.a: expected string, got ${got}`,
  })
  for (const got of ['&value.valueUnstructured{Value:7357}', '&{[a\n7357]}\n.data.b: expected string, got &{[7357]}']) {
    const { message, status } = errorOf(type(got), 'apply Secret "default/s"')
    assert.match(message, /\.data\.a: expected string, got \(not shown\)$/)
    assert.doesNotMatch(JSON.stringify([message, status]), /7357/)
    assert.match(errorOf(type(got), 'apply Foo "default/f"').message, /7357/)
  }
})

test('an error does not quote a truncated response', async () => {
  await assert.rejects(
    readJson(answer(200, '{"data":{"a":"VE9Q'), 'get Secret "default/s"'),
    (error: Error) => !/VE9Q/.test(error.message) && error.cause === undefined,
  )
})

test('a refusal by the escalation check says what permits it, in a bounded number of characters', async () => {
  const rules = Array.from({ length: 300 }, (_, at) => `{APIGroups:["g${at}"], Resources:["r"], Verbs:["get"]}`).join(
    '\n',
  )
  for (
    const [resource, rule] of [
      ['rolebindings', 'resources: ["roles", "clusterroles"], verbs: ["bind"]'],
      ['clusterrolebindings', 'resources: ["roles", "clusterroles"], verbs: ["bind"]'],
      ['roles', 'resources: ["roles"], verbs: ["escalate"]'],
      ['clusterroles', 'resources: ["clusterroles"], verbs: ["escalate"]'],
    ] as const
  ) {
    const message =
      `${resource}.rbac.authorization.k8s.io "x" is forbidden: user "u" (groups=["a" "b"]) is attempting to ` +
      `grant RBAC permissions not currently held:\n${rules}`
    const error = await of(refusal(403, 'Forbidden', {}, message))
    assert.equal(
      error.message,
      `Cannot get Pod "ns/a": ${message.slice(0, 1000)}… (${
        message.length - 1000
      } more characters); its role lacks these ` +
        `rules: add them to the operator's role, or { apiGroups: ["rbac.authorization.k8s.io"], ${rule} }`,
    )
    assert.equal(error.status.message, message)
  }
})

test('a message of 1000 characters is repeated whole', async () => {
  const message = 'x'.repeat(1000)
  assert.equal((await of(refusal(422, 'Invalid', {}, message))).message, `Cannot get Pod "ns/a": ${message}`)
  assert.match((await of(refusal(422, 'Invalid', {}, `${message}y`))).message, /x… \(1 more characters\)$/)
})

test('the error for a refusal by RBAC names the missing rule; another 403 names none', async () => {
  const forbidden = (what: string): Promise<string> =>
    of(refusal(403, 'Forbidden', {}, what)).then(({ message }) => message)
  const user = 'User "system:serviceaccount:a:b"'
  for (
    const [what, rule] of [
      [
        `configmaps is forbidden: ${user} cannot list resource "configmaps" in API group "" at the cluster scope`,
        'apiGroups: [""], resources: ["configmaps"], verbs: ["list"]',
      ],
      [
        `deployments.apps "x" is forbidden: ${user} cannot patch resource "deployments/status" in API group "apps" in the namespace "n"`,
        'apiGroups: ["apps"], resources: ["deployments/status"], verbs: ["patch"]',
      ],
    ] as const
  ) assert.equal(await forbidden(what), `Cannot get Pod "ns/a": ${what}; its role lacks { ${rule} }`)
  const finalizers =
    `configmaps "a" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: , <nil>`
  assert.equal(
    await forbidden(finalizers),
    `Cannot get Pod "ns/a": ${finalizers}; its role lacks { verbs: ["update"] } for the finalizers of the owner's kind, such as "foos/finalizers"`,
  )
  const quota = 'pods "x" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1'
  assert.equal(await forbidden(quota), `Cannot get Pod "ns/a": ${quota}`)
  const conflict = await of(refusal(409, 'Conflict', {}, `${user} cannot list resource "configmaps" in API group ""`))
  assert.doesNotMatch(conflict.message, /lacks/)
  assert.equal(
    withVerbs('a; its role lacks { apiGroups: [""], resources: ["x"], verbs: ["get"] }', 'get', 'update'),
    'a; its role lacks { apiGroups: [""], resources: ["x"], verbs: ["get", "update"] }',
  )
  assert.equal(withVerbs('no rule', 'get'), 'no rule')
})
