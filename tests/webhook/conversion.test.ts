/** ConversionReviews, from bytes to bytes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { defineResource } from 'kubeloop'
import * as z from 'zod'
import { nextTurn, systemClock, turnBudgetOf } from '../../lib/async/clock.ts'
import { type ConversionDescription, describeConversion } from '../../lib/schema/conversions.ts'
import { conversionHandler, convertObjects } from '../../lib/webhook/conversion/conversion.ts'
import { completed } from '../../lib/webhook/conversion/pruned_objects.ts'
import { alpha, type Answer, converter, fromAlpha, metadata, sites, V1, V1ALPHA1, V1BETA1 } from './sites.ts'
import { tries } from '../tools/fuzz.ts'

const hub = (name: string, spec: object, more: object = {}) => ({
  apiVersion: V1,
  kind: 'Site',
  metadata: metadata(name),
  spec,
  ...more,
})

const specs = ({ response }: Answer): unknown[] => response.convertedObjects.map(({ spec }) => spec)
const message = ({ response }: Answer): string | undefined => response.result.message

/** Asserts that a review failed as a whole. */
function assertFailure(answer: Answer, expected: string | RegExp, failed = false): void {
  assert.deepEqual([answer.status, answer.response.result.status, answer.response.convertedObjects], [
    200,
    'Failure',
    [],
  ])
  assert.equal(answer.response.uid, 'u1')
  if (typeof expected === 'string') assert.equal(message(answer), expected)
  else assert.match(message(answer)!, expected)
  assert.equal(answer.failed ?? false, failed)
}

const BETA = { apiVersion: V1BETA1, kind: 'Site', metadata: metadata('a') }
const secure = alpha('a', { hostname: 'a.dev', tls: true })
for (
  const [what, object, desired, expected] of [
    ['a spoke to the hub', secure, V1, hub('a', { hosts: ['a.dev'], tls: { mode: 'on', secretName: 'a-tls' } })],
    [
      'the hub to a spoke',
      hub('a', { hosts: ['a.dev', 'b.dev'], tls: { mode: 'off' } }),
      V1BETA1,
      { ...BETA, spec: { host: 'a.dev' } },
    ],
    ['a spoke to a spoke, through the hub', secure, V1BETA1, { ...BETA, spec: { host: 'a.dev', secret: 'a-tls' } }],
  ] as const
) {
  test(`scenario 101: conversion from ${what}`, async () => {
    const { convert, thrown } = converter()
    const { status, failed, apiVersion, kind, response } = await convert([object], desired)
    assert.deepEqual(response, { uid: 'u1', result: { status: 'Success' }, convertedObjects: [expected] })
    assert.deepEqual([status, failed, apiVersion, kind], [
      200,
      undefined,
      'apiextensions.k8s.io/v1',
      'ConversionReview',
    ])
    assert.deepEqual(thrown, [])
  })
}

const x = alpha('a', { hostname: 'x' })
const page = { apiVersion: V1, kind: 'Page', metadata: { name: 'p' }, spec: {} }
const deployment = { apiVersion: 'apps/v1beta1', kind: 'Deployment', metadata: { name: 'd', namespace: 'n' } }
const known = 'it has v1, v1alpha1, v1beta1'
const FAILURES: readonly [string, { apiVersion: string; kind: string }, string, name: string, string][] = [
  ['to the same version of a spoke', x, V1ALPHA1, 'default/a', 'it has that version'],
  ['to the same version of the hub', hub('a', { hosts: ['x'] }), V1, 'default/a', 'it has that version'],
  ['of a kind without a hub', page, V1ALPHA1, 'p', 'this operator does not convert Page'],
  ['of a built-in kind', deployment, 'apps/v1', 'n/d', 'this operator does not convert Deployment'],
  ['to another group', x, 'other.dev/v1', 'default/a', 'they are of different API groups'],
  ['to no version', x, '', 'default/a', 'they are of different API groups'],
  ['to an unknown version', x, 'web.example.dev/v2', 'default/a', `this operator has no version v2 of Site; ${known}`],
  [
    'from an unknown version',
    { ...x, apiVersion: 'web.example.dev/v0' },
    V1,
    'default/a',
    `this operator has no version v0 of Site; ${known}`,
  ],
]

for (const [what, object, desired, name, problem] of FAILURES) {
  test(`scenario 101: conversion ${what} fails`, async () => {
    const title = `${object.kind} "${name}" from ${object.apiVersion}`
    const answer = await converter().convert([object], desired)
    assertFailure(answer, `Cannot convert ${title} to ${desired}: ${problem}`)
  })
}

test('scenario 101: a function that throws fails the conversion, is reported, and the next conversion works', async () => {
  const { convert, thrown } = converter()
  const text = `Cannot convert Site "default/b" from ${V1ALPHA1} to ${V1BETA1}: up() of v1alpha1 failed: no such zone`
  const objects = [alpha('a', { hostname: 'x' }), alpha('b', { hostname: 'x', fail: 'no such zone' })]
  assertFailure(await convert(objects, V1BETA1), text, true)
  assert.deepEqual(thrown, [`${text} <- Error: no such zone`])
  assert.equal((await convert([objects[0]], V1)).response.result.status, 'Success')
})

test('all objects are converted, in order, whatever their versions', async () => {
  const beta = { apiVersion: V1BETA1, kind: 'Site', metadata: metadata('b'), spec: { host: 'b' } }
  const answer = await converter().convert([alpha('c', { hostname: 'c' }), beta, alpha('a', { hostname: 'a' })], V1)
  assert.deepEqual(specs(answer), ['c', 'b', 'a'].map((host) => ({ hosts: [host], tls: { mode: 'off' } })))
})

test('what is no object of the API fails, and is named by its position', async () => {
  const { convert } = converter()
  const good = alpha('a', { hostname: 'x' })
  for (
    const bad of [null, 7, 'x', [], {}, { ...good, apiVersion: undefined }, { ...good, kind: '' }, {
      ...good,
      metadata: [],
    }]
  ) {
    assertFailure(
      await convert([good, bad], V1),
      `Cannot convert item 1 to ${V1}: it has no apiVersion, kind or metadata`,
    )
  }
})

test('an object without a name is converted: it may be created with generateName', async () => {
  const object = { ...alpha('x', { hostname: 'h' }), metadata: { generateName: 'x-' } }
  const { convertedObjects } = (await converter().convert([object], V1)).response
  assert.deepEqual(convertedObjects[0]!.metadata, { generateName: 'x-' })
  assertFailure(await converter().convert([object], V1ALPHA1), /^Cannot convert Site "x-" /)
})

test('what cannot be read is answered with 400 and a line of text', async () => {
  const { send, thrown } = converter()
  const bad: readonly [string | Uint8Array, string][] = [
    ['', 'the body is empty'],
    ['{', 'the body is not JSON'],
    [Uint8Array.of(0xff, 0xfe, 0), 'the body is not JSON'],
    ['{"request":{"objects":[12345678901234567,}]}', 'the body is not JSON'],
    ['null', 'it is not an object'],
    ['[]', 'it is not an object'],
    ['"x"', 'it is not an object'],
    ['{}', 'it has no request'],
    ['{"request":null}', 'it has no request'],
    ['{"request":[]}', 'it has no request'],
    ['{"request":{"uid":7}}', 'request.uid is not a string'],
    ['{"request":{"desiredAPIVersion":{}}}', 'request.desiredAPIVersion is not a string'],
    ['{"request":{"objects":{}}}', 'request.objects is not a list'],
  ]
  for (const [body, problem] of bad) {
    const { status, text, failed } = await send(body)
    assert.deepEqual([status, text, failed], [400, `Cannot read the ConversionReview: ${problem}`, undefined])
  }
  assert.deepEqual(thrown, [])
})

test('a review without objects succeeds', async () => {
  for (const objects of [[], null, undefined]) {
    const { response } = await converter().convert(objects as never, V1)
    assert.deepEqual(response, { uid: 'u1', result: { status: 'Success' }, convertedObjects: [] })
  }
})

/** A converter whose `up` returns this. */
function returning(result: unknown): ReturnType<typeof converter> {
  return converter([{ ...fromAlpha, up: typeof result === 'function' ? result as () => unknown : () => result }])
}

const spec = { hosts: ['x'], tls: { mode: 'off' } }

test('metadata stays, except for labels and annotations that are stated', async () => {
  const own = metadata('a', {
    labels: { a: '1' },
    annotations: { b: '2' },
    finalizers: ['x.dev/y'],
    managedFields: [{ manager: 'm', fieldsV1: { 'f:spec': {} } }],
  })
  const cases: readonly [unknown, object][] = [
    [undefined, {}],
    [{}, {}],
    [{ labels: undefined, annotations: undefined }, {}],
    [{ labels: { c: '3' } }, { labels: { c: '3' } }],
    [{ annotations: {} }, { annotations: {} }],
    [{ ...own, annotations: { b: '4' } }, { annotations: { b: '4' } }],
    [structuredClone(own), {}],
  ]
  for (const [stated, changed] of cases) {
    const { response } = await returning({ spec, metadata: stated }).convert([
      alpha('a', { hostname: 'x' }, { metadata: own }),
    ], V1)
    assert.deepEqual(response.convertedObjects[0]?.metadata, { ...own, ...changed })
  }
})

test('what is returned must be an object of the version', async () => {
  const cases: readonly [unknown, RegExp][] = [
    [undefined, /failed: it returned no object; it must return \{ spec \}$/],
    [null, /it returned no object/],
    ['x', /it returned no object/],
    [[], /it returned no object/],
    [{}, /failed: it returned no spec$/],
    [{ spec: null }, /it returned no spec/],
    [{ spec: [] }, /it returned no spec/],
    [Promise.resolve({ spec }), /it returned a Promise; a conversion must be synchronous$/],
    [{ spec, metadata: 7 }, /it returned metadata that is no object$/],
    [{ spec, metadata: { labels: { a: 1 } } }, /it returned metadata\.labels that are not strings by name$/],
    [{ spec, metadata: { annotations: null } }, /it returned metadata\.annotations that are not strings by name$/],
    [{ spec, metadata: { name: 'b' } }, /it changed metadata\.name; a conversion may change labels and annotations/],
    [{ spec, metadata: { finalizers: [] } }, /it changed metadata\.finalizers; /],
    [{ spec: { hosts: ['x', undefined] } }, /it returned spec\.hosts\[1\] as undefined, for which JSON has no form$/],
    [{ spec: { size: NaN } }, /it returned spec\.size as NaN, /],
    [{ spec: { a: { b: [{ c: -Infinity }] } } }, /it returned spec\.a\.b\[0\]\.c as -Infinity, /],
    [{ spec: { at: new Date(0) } }, /it returned spec\.at as a Date, /],
    [{ spec: { n: 1n } }, /it returned spec\.n as a bigint, /],
    [{ spec: { f: () => 0 } }, /it returned spec\.f as a function, /],
    [{ spec, status: { ready: Symbol('x') } }, /it returned status\.ready as a symbol, /],
  ]
  for (const [result, expected] of cases) {
    const one = returning(result)
    assertFailure(await one.convert([alpha('a', { hostname: 'x' })], V1), expected, true)
    assert.match(message(await one.convert([alpha('a', { hostname: 'x' })], V1))!, /^Cannot convert Site "default\/a" /)
    assert.equal(one.thrown.length, 2)
  }
})

test('an object without a spec is converted to versions that need none', async () => {
  const version = (name: string, spec: z.ZodType) =>
    defineResource({ group: 'example.com', version: name, kind: 'Bare', spec: spec as z.ZodType<{ a?: string }> })
  const spec = z.object({ a: z.string().optional() })
  const [old, hub] = [version('v1', spec.optional()), version('v2', spec.optional())]
  const handler = (up: (object: { readonly spec?: object }) => unknown, to = hub) =>
    conversionHandler({
      conversions: [describeConversion(old, to, { up, down: up } as never)],
      budget: { isSpent: false, turn: () => Promise.resolve() },
      onThrow() {},
    })
  const bare = { apiVersion: 'example.com/v1', kind: 'Bare', metadata: { name: 'a' } }
  const same = handler(({ spec }) => ({ spec }))
  assert.deepEqual(await convertObjects(same, [bare], 'example.com/v2'), [{ ...bare, apiVersion: 'example.com/v2' }])
  // What loses the spec, or a version that needs it, fails.
  const losing = convertObjects(handler(() => ({})), [{ ...bare, spec: { a: 'b' } }], 'example.com/v2')
  await assert.rejects(losing, /it returned no spec/)
  const needing = handler(({ spec }) => ({ spec }), version('v2', spec))
  await assert.rejects(convertObjects(needing, [bare], 'example.com/v2'), /it returned no spec/)
})

test('an object without required fields, as the server makes one for an apply, is converted with empty ones', async () => {
  const converted = async (object: object, desired: string): Promise<unknown> => {
    const { convert, thrown } = converter()
    const answer = await convert([object], desired)
    assert.deepEqual([thrown, message(answer)], [[], undefined])
    return specs(answer)[0]
  }
  const { spec: _spec, ...bare } = hub('a', {})
  for (const none of [bare, { ...bare, spec: null }]) {
    assert.deepEqual(await converted(none, V1ALPHA1), { hostname: '', tls: false })
  }
  assert.deepEqual(await converted({ ...bare, apiVersion: V1ALPHA1 }, V1), { hosts: [''], tls: { mode: 'off' } })
  assert.deepEqual(await converted(hub('a', { tls: { mode: 'on', secretName: 's' } }), V1BETA1), {
    host: '',
    secret: 's',
  })
  // A failure for another reason is that of the object itself.
  const failing = await converter().convert([alpha('a', { fail: 'no such zone' })], V1)
  assertFailure(failing, /failed: no such zone$/, true)
})

test('required fields that are missing are empty, at any depth, and nothing else is added', () => {
  const text = { type: 'string' }
  const item = {
    type: 'object',
    required: ['n', 'kind', 'any', 'ref', 'list', 'map', 'on', 'none'],
    properties: {
      n: { type: 'integer', minimum: 2 },
      kind: { type: 'string', enum: ['a', 'b'] },
      ref: { type: 'object', required: ['name'], properties: { name: text, other: text } },
      list: { type: 'array', items: text },
      map: { type: 'object', additionalProperties: text },
      on: { type: 'boolean' },
      none: { type: 'string', nullable: true },
      other: text,
    },
  }
  const empty = { n: 2, kind: 'a', any: {}, ref: { name: '' }, list: [], map: {}, on: false, none: null }
  const schema = {
    type: 'object',
    properties: { items: { type: 'array', items: item }, by: { type: 'object', additionalProperties: item } },
  }
  const whole = { items: [empty], by: { x: empty } }
  assert.deepEqual(completed(schema, { items: [{ kind: 'a', none: null, ref: null }], by: { x: {} } }), whole)
  assert.equal(completed(schema, whole), whole)
})

test('a constant of the user is not changed, and unknown fields stay for the server to prune', async () => {
  const constant = { spec: { hosts: ['x'], more: 1 } }
  const frozen = Object.freeze({ spec: Object.freeze(constant.spec) })
  assert.deepEqual(specs(await returning(frozen).convert([alpha('a', { hostname: 'x' })], V1)), [
    { hosts: ['x'], more: 1, tls: { mode: 'off' } },
  ])
  assert.deepEqual(constant, { spec: { hosts: ['x'], more: 1 } })
})

test('integers beyond 2^53 survive, also in a list where two become the same double', async () => {
  const numbers = ['9007199254740993', '9007199254740992', '-1234567890123456789', '12']
  const objects = numbers.map((n, at) =>
    `{"apiVersion":"${V1ALPHA1}","kind":"Site","metadata":{"name":"n${at}"},` +
    `"spec":{"hostname":"x","data":{"deep":[[${n}]]}}}`
  )
  const request = `{"uid":"u1","desiredAPIVersion":"${V1}","objects":[${objects.join(',')}]}`
  const { text, response } = await converter().send(`{"request":${request}}`)
  assert.equal(response.result.status, 'Success')
  assert.deepEqual([...text.matchAll(/"deep":\[\[(-?\d+)\]\]/g)].map(([, n]) => n), numbers)
  const twice = objects[0]!.replace('[[', '[9007199254740992,[')
  const bad = await converter().send(`{"request":${request.replace(objects[0]!, twice)}}`)
  assert.match(
    message(bad)!,
    /^Cannot convert Site "default\/n0"|^Cannot convert Site "n0" from .*: .* is an integer beyond 2\^53/,
  )
})

test('deeply nested values, and a field named __proto__, are converted', async () => {
  for (const data of [`${'{"a":'.repeat(3000)}1${'}'.repeat(3000)}`, '{"__proto__":{"b":1}}']) {
    const object = JSON.stringify(x).replace('"hostname"', `"data":${data},"hostname"`)
    const { text } = await converter().send(
      `{"request":{"uid":"u1","desiredAPIVersion":"${V1}","objects":[${object}]}}`,
    )
    assert.ok(text.includes(`"data":${data}`))
  }
})

test('an aborted request converts no more objects', async () => {
  const abort = new AbortController()
  let calls = 0
  const { send } = returning(() => {
    if (++calls === 2) abort.abort()
    return { spec }
  })
  const objects = Array.from({ length: 5 }, (_, at) => alpha(`n${at}`, { hostname: 'x' }))
  const body = JSON.stringify({ request: { uid: 'u1', desiredAPIVersion: V1, objects } })
  assertFailure(await send(body, abort.signal), 'the request was aborted')
  assert.equal(calls, 2)
})

test('a long list leaves turns of the event loop to others', async () => {
  let now = 0
  const clock = { ...systemClock, monotonic: () => now }
  const one: ConversionDescription = {
    ...fromAlpha,
    up() {
      now += 1
      return { spec }
    },
  }
  const { convert } = converter([one], clock)
  let turns = 0
  let isDone = false
  const turning = (async () => {
    for (; !isDone; turns++) await nextTurn()
  })()
  const objects = Array.from({ length: 400 }, (_, at) => alpha(`n${at}`, { hostname: 'x' }))
  const { response } = await convert(objects, V1)
  isDone = true
  await turning
  assert.equal(response.convertedObjects.length, 400)
  assert.ok(turns >= 400 / 8 - 2, `${turns} turns`)
})

test('objects are converted through bytes for tests, and a failure is thrown', async () => {
  const handler = conversionHandler({ conversions: sites, budget: turnBudgetOf(systemClock), onThrow: () => {} })
  const [converted] = await convertObjects(handler, [alpha('a', { hostname: 'x' })], V1)
  assert.deepEqual((converted as { spec?: unknown }).spec, spec)
  await assert.rejects(convertObjects(handler, [alpha('a', { hostname: 'x' })], 'other.dev/v1'), {
    message: `Cannot convert Site "default/a" from ${V1ALPHA1} to other.dev/v1: they are of different API groups`,
  })
})

test('random reviews are answered: valid JSON with the uid, or 400', { timeout: 600_000 }, async () => {
  const { send } = converter()
  const version = fc.constantFrom<unknown>(V1, V1ALPHA1, V1BETA1, 'web.example.dev/v9', 'v1', '', '/', 'a/b/c', 7, null)
  const anything = fc.anything({ maxDepth: 3, values: [fc.string(), fc.integer(), fc.double(), fc.constant(null)] })
  const field = <T>(arb: fc.Arbitrary<T>) => fc.oneof({ weight: 9, arbitrary: arb as fc.Arbitrary<unknown> }, anything)
  const object = fc.record({
    apiVersion: version,
    kind: field(fc.constantFrom('Site', 'Page', '')),
    metadata: field(fc.record({ name: fc.string(), labels: anything }, { requiredKeys: [] })),
    spec: field(fc.record({
      hostname: field(fc.string()),
      hosts: field(fc.array(field(fc.string()))),
      host: field(fc.string()),
      tls: field(fc.constantFrom<unknown>(true, false, { mode: 'on' }, { mode: 'off' })),
      fail: fc.constant('failed'),
    }, { requiredKeys: [] })),
    status: anything,
  }, { requiredKeys: ['apiVersion', 'kind', 'metadata', 'spec'] })
  const review = fc.record({
    apiVersion: fc.constantFrom<unknown>('apiextensions.k8s.io/v1', 'apiextensions.k8s.io/v1beta1', 'v1', 7),
    kind: fc.constant('ConversionReview'),
    request: field(fc.record({
      uid: field(fc.string()),
      desiredAPIVersion: version,
      objects: field(fc.array(field(object), { maxLength: 3 })),
    }, { requiredKeys: [] })),
  }, { requiredKeys: [] })
  const counts: Record<string, number> = {}
  await fc.assert(
    fc.asyncProperty(field(review), fc.option(fc.nat(), { freq: 4 }), async (value, cut) => {
      const text = JSON.stringify(value) ?? ''
      const body = cut === null ? text : text.slice(0, cut % (text.length + 1))
      const answer = await send(body)
      const outcome = answer.status === 200 ? answer.response.result.status : String(answer.status)
      counts[outcome] = (counts[outcome] ?? 0) + 1
      if (answer.status !== 200) {
        assert.equal(answer.status, 400)
        assert.match(answer.text, /^Cannot read the ConversionReview: [^\n]+$/)
        return
      }
      const { request } = JSON.parse(body) as { request: { uid?: string; objects?: unknown[] | null } }
      assert.equal(answer.response.uid, request.uid ?? '')
      const isDone = answer.response.result.status === 'Success'
      assert.equal(answer.response.convertedObjects.length, isDone ? request.objects?.length ?? 0 : 0)
      assert.equal(typeof answer.response.result.message, isDone ? 'undefined' : 'string')
    }),
    { numRuns: tries(1000, 'everywhere') },
  )
  for (const outcome of ['Success', 'Failure', '400']) {
    assert.ok((counts[outcome] ?? 0) > 10, JSON.stringify(counts))
  }
})
