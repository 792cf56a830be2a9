import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigMap, Secret } from 'kubeloop/kinds'
import * as z from 'zod'
import { nextTurn } from '../../lib/async/clock.ts'
import type { Client } from '../../lib/client/client.ts'
import { ApiError } from '../../lib/core/errors.ts'
import { isExact } from '../../lib/core/exact_json.ts'
import type { ObjectOf } from '../../lib/core/resource.ts'
import { defineResource } from '../../lib/schema/define_resource.ts'
import type { Admission, AdmissionContext } from '../../lib/webhook/admission/admission.ts'
import { countedSignal } from '../async/counted_signal.ts'
import { type Answer, assertAnswer, handlersFor, patched, review, send, Site, site } from './admitting.ts'

type Site = ObjectOf<typeof Site>

const DEFAULTED = { hosts: ['a.example'], tls: { mode: 'off' } }

const causesOf = ({ status }: Answer) => status.details?.causes

test('scenario 100: default patches the object of the request, and keeps fields that the schema does not know', async () => {
  const { mutate } = handlersFor(Site, [{
    default(draft) {
      draft.spec.hosts = draft.spec.hosts.map((host) => host.toLowerCase())
      draft.spec.issuer ??= 'letsencrypt'
    },
  }])
  const object = site(
    { hosts: ['A.example'], unknown: { 'a/b': [1] }, tls: { mode: 'on', other: 1 } },
    { annotations: { kept: 'x' }, managedFields: [{ manager: 'kubectl' }] },
    { extra: true },
  )
  const answer = await send(mutate, review({ object }))
  assertAnswer(answer, { allowed: true, patchType: 'JSONPatch', status: { metadata: {}, code: 200 } })
  assert.deepEqual(JSON.parse(answer.patch!), [
    { op: 'replace', path: '/spec/hosts/0', value: 'a.example' },
    { op: 'add', path: '/spec/issuer', value: 'letsencrypt' },
  ])
})

test('scenario 100: default can remove fields, known or not; nothing to change is no patch; DELETE is skipped', async () => {
  const calls: string[] = []
  const { mutate } = handlersFor(Site, [{
    default(draft, { operation }) {
      calls.push(operation)
      delete draft.spec.issuer
      delete (draft.spec as { unknown?: unknown }).unknown
    },
  }])
  const removing = await send(mutate, review({ object: site({ ...DEFAULTED, issuer: 'x', unknown: 1 }) }))
  assert.deepEqual(JSON.parse(removing.patch!).map(({ op, path }: { op: string; path: string }) => [op, path]), [
    ['remove', '/spec/issuer'],
    ['remove', '/spec/unknown'],
  ])
  const same = await send(mutate, review({ object: site(DEFAULTED) }))
  assert.deepEqual([same.allowed, same.patch, same.patchType], [true, undefined, undefined])
  const deleting = await send(mutate, review({ operation: 'DELETE', oldObject: site() }))
  assert.deepEqual([deleting.allowed, deleting.patch], [true, undefined])
  assert.deepEqual(calls, ['CREATE', 'CREATE'])
})

test('scenario 100: validate allows, denies with 422, passes an ApiError on; its warnings are sent with each', async () => {
  let answer: () => ReturnType<NonNullable<Admission<Site>['validate']>> = () => undefined
  const { validate, errors } = handlersFor(Site, [{
    validate(_, { warn }) {
      warn('old field')
      return answer()
    },
  }])
  const request = review({ object: site() })
  for (const nothing of [() => undefined, () => [], () => Promise.resolve([]), () => Promise.resolve()]) {
    answer = nothing
    const status = { metadata: {}, code: 200 }
    assertAnswer(await send(validate, request), {
      allowed: true,
      status,
      warnings: ['old field'],
      patchType: undefined,
    })
  }
  answer = () => [{ field: 'spec.hosts[0]', message: '"a_b" has an underscore' }]
  const denied = await send(validate, request)
  assert.deepEqual([denied.allowed, denied.warnings, denied.failed], [false, ['old field'], false])
  assert.deepEqual(denied.status, {
    metadata: {},
    kind: 'Status',
    status: 'Failure',
    message: 'Site.web.example.dev "a" is invalid: spec.hosts[0]: "a_b" has an underscore',
    reason: 'Invalid',
    details: {
      name: 'a',
      group: 'web.example.dev',
      kind: 'Site',
      causes: [{ reason: 'FieldValueInvalid', field: 'spec.hosts[0]', message: '"a_b" has an underscore' }],
    },
    code: 422,
  })
  answer = async () => [
    { field: 'spec.a', message: 'missing', reason: 'FieldValueRequired' },
    { field: 'spec.b', message: 'no' },
  ]
  const two = await send(validate, request)
  assert.equal(two.status.message, 'Site.web.example.dev "a" is invalid: [spec.a: missing, spec.b: no]')
  assert.deepEqual(causesOf(two)!.map(({ reason }) => reason), ['FieldValueRequired', 'FieldValueInvalid'])

  const forbidden = new ApiError('only admins', { reason: 'Forbidden' }, { code: 403 })
  for (const thrown of [forbidden, new Error('wrapped', { cause: forbidden })]) {
    answer = () => Promise.reject(thrown)
    const status = { code: 403, reason: 'Forbidden', message: 'only admins' }
    assertAnswer(await send(validate, request), { allowed: false, failed: false, warnings: ['old field'], ...status })
  }
  const details = { name: 'p', kind: 'pools', retryAfterSeconds: 3 }
  answer = () => {
    throw new ApiError('Cannot get Pool "p": gone', { reason: 'NotFound', message: 'pools "p" not found', details }, {
      code: 404,
    })
  }
  assertAnswer(await send(validate, request), { code: 404, message: 'pools "p" not found', details })
  assert.deepEqual(errors, [])
})

test('scenario 100: of several, each default sees the earlier, the first denial ends them and keeps the warnings', async () => {
  const calls: string[] = []
  const step = (name: string, more: Admission<Site> = {}): Admission<Site> => ({
    default(draft, { warn }) {
      draft.spec.hosts.push(`${name}${draft.spec.hosts.length}`)
      warn(name)
    },
    validate(_, { warn }) {
      calls.push(name)
      warn(name)
      return name === 'b' ? [{ field: 'spec', message: 'b says no' }] : []
    },
    ...more,
  })
  const { mutate, validate } = handlersFor(Site, [step('a'), {}, step('b'), step('c')])
  const object = site(DEFAULTED)
  const mutated = await send(mutate, review({ object }))
  assert.deepEqual(mutated.warnings, ['a', 'b', 'c'])
  assert.deepEqual((patched(object, mutated) as Site).spec.hosts, ['a.example', 'a1', 'b2', 'c3'])
  const denied = await send(validate, review({ object }))
  assert.deepEqual([denied.allowed, denied.warnings, calls], [false, ['a', 'b'], ['a', 'b']])

  const deny: Admission<Site> = {
    default() {
      throw new ApiError('no', {}, { code: 403 })
    },
  }
  const early = await send(handlersFor(Site, [step('a'), deny, step('c')]).mutate, review({ object }))
  assert.deepEqual([early.allowed, early.patch, early.warnings], [false, undefined, ['a']])
})

test("the schema's defaults are there before the functions are called, and become part of the patch", async () => {
  const seen: unknown[] = []
  const { mutate, validate } = handlersFor(Site, [{
    default: (draft, { old }) => void seen.push(draft.spec.tls.mode, old?.spec.tls.mode),
    validate: (object, { old }) => void seen.push(object.spec.tls.mode, old?.spec.tls.mode),
  }])
  const update = review({ operation: 'UPDATE', object: site(), oldObject: site({ hosts: ['b'], tls: null }) })
  const answer = await send(mutate, update)
  assert.deepEqual(JSON.parse(answer.patch!), [{ op: 'add', path: '/spec/tls', value: { mode: 'off' } }])
  assert.equal((await send(validate, update)).allowed, true)
  assert.deepEqual(seen, ['off', 'off', 'off', 'off'])
})

test('default may make an object fit the schema, also by values that become others in JSON', async () => {
  const Event = defineResource({
    group: 'web.example.dev',
    version: 'v1',
    kind: 'Site',
    spec: z.object({
      host: z.string().regex(/^[a-z]+$/),
      at: z.string(),
      issuer: z.string(),
      size: z.int().optional(),
    }),
  })
  const { mutate, errors } = handlersFor(Event, [{
    default({ spec }) {
      spec.host = spec.host.toLowerCase()
      spec.at = new Date(0) as unknown as string
    },
  }, {
    default({ spec }) {
      if (spec.host === 'gone') throw new ApiError('no', { reason: 'Forbidden', message: 'no' }, { code: 403 })
      spec.issuer ??= 'letsencrypt'
    },
  }])
  const created = await send(mutate, review({ object: site({ host: 'A' }) }))
  assert.deepEqual((patched(site({ host: 'A' }), created) as { spec: unknown }).spec, {
    host: 'a',
    at: '1970-01-01T00:00:00.000Z',
    issuer: 'letsencrypt',
  })
  const stored = site({ host: 'A', size: 'big' }, { finalizers: ['x'] })
  const fields = async (request: object): Promise<unknown> => {
    const { status, failed, patch } = await send(mutate, review(request))
    assert.deepEqual([failed, patch], [false, undefined])
    return status.code === 422 ? status.details!.causes!.map(({ field }) => field) : status.code
  }
  assert.deepEqual(await fields({ object: site({ host: 'A', size: 'big' }) }), ['spec.size'])
  assert.deepEqual(await fields({ object: site({ host: 1 }) }), ['spec.host', 'spec.at', 'spec.issuer'])
  assert.deepEqual(await fields({ object: site({ host: 'Gone' }) }), 403)
  assert.deepEqual(
    await fields({ operation: 'UPDATE', object: site({ host: 'A', size: 'big' }), oldObject: stored }),
    200,
  )
  assert.deepEqual(errors, [])
  const undo = handlersFor(Site, [{ default: ({ spec }, { old }) => void Object.assign(spec, old!.spec) }])
  const oldObject = site({ hosts: [], size: 'big', tls: { mode: 'off' } })
  const undone = await send(
    undo.mutate,
    review({ operation: 'UPDATE', object: site({ hosts: [], size: 1 }), oldObject }),
  )
  assert.match(undone.patch!, /\/size","value":"big"/)
})

test('the schema is checked after default, which may fill in what is required; what it throws for other objects is no fault', async () => {
  const calls: unknown[] = []
  const { mutate, validate } = handlersFor(Site, [{
    default: () => void calls.push(1),
    validate: () => void calls.push(2),
  }])
  for (const handler of [mutate, validate]) {
    const answer = await send(handler, review({ object: site({ hosts: [''], size: 'big' }) }))
    assertAnswer(answer, { allowed: false, failed: false, code: 422, reason: 'Invalid' })
    assert.deepEqual(causesOf(answer)!.map(({ field, reason }) => [field, reason]), [
      ['spec.hosts[0]', 'FieldValueInvalid'],
      ['spec.size', 'FieldValueInvalid'],
    ])
    assert.match(
      answer.status.message!,
      /^Site\.web\.example\.dev "a" is invalid: \[spec\.hosts\[0\]: Too small.*, spec\.size: Invalid/,
    )
    assert.equal((await send(handler, review({ object: { ...site(), spec: undefined } }))).status.code, 422)
    const changed = review({ operation: 'UPDATE', object: site({ hosts: [] }), oldObject: site({ hosts: ['a'] }) })
    assert.equal((await send(handler, changed)).status.code, 422)
  }
  assert.deepEqual(calls, [1, 1, 1], 'validate gets objects that fit')
})

test('a hundred problems are sent, more are counted', async () => {
  const { validate } = handlersFor(Site, [{}])
  const answer = await send(validate, review({ object: site({ hosts: Array.from({ length: 5000 }, () => '') }) }))
  assert.equal(causesOf(answer)!.length, 100)
  assert.match(answer.status.message!, /\] \(and 4900 more\)$/)
})

test('an invalid stored object can lose its finalizers and get a status: what an update leaves as it was is not checked', async () => {
  const calls: unknown[] = []
  const { mutate, validate } = handlersFor(Site, [{
    default: () => void calls.push(1),
    validate: () => void calls.push(2),
  }])
  const invalid = (metadata: object, more: object = {}) => site({ hosts: [], size: 'big' }, metadata, more)
  const before = invalid({ finalizers: ['x'] })
  for (const handler of [mutate, validate]) {
    const unfinalized = await send(handler, review({ operation: 'UPDATE', object: invalid({}), oldObject: before }))
    assert.deepEqual([unfinalized.allowed, unfinalized.patch], [true, undefined])
  }
  assert.deepEqual(calls, [])
  const tooShort = (more: object) => site({ hosts: [], tls: { mode: 'off' }, ...more })
  const limit = { operation: 'UPDATE', oldObject: tooShort({}) }
  for (const handler of [mutate, validate]) {
    assert.equal((await send(handler, review({ ...limit, object: tooShort({ issuer: 'x' }) }))).allowed, true)
    const wrong = await send(handler, review({ ...limit, object: tooShort({ size: 'big' }) }))
    assert.deepEqual(causesOf(wrong)!.map(({ field }) => field), ['spec.size'])
    const typed = { operation: 'UPDATE', oldObject: before, object: site({ hosts: ['a'], size: 'big' }) }
    assert.deepEqual(causesOf(await send(handler, review(typed)))!.map(({ field }) => field), ['spec.size'])
  }
  assert.deepEqual(calls, [1, 1, 1, 2])
  // Only the part that is written is checked: the status of the stored object may be invalid too, and the reverse.
  for (const handler of [mutate, validate]) {
    const stale = { status: { ready: 'maybe' } }
    const spec = review({
      operation: 'UPDATE',
      object: site(DEFAULTED, {}, stale),
      oldObject: site({ hosts: ['b'] }, {}, stale),
    })
    assert.equal((await send(handler, spec)).allowed, true)
    const status = { operation: 'UPDATE', subResource: 'status', oldObject: before }
    assert.equal(
      (await send(handler, review({ ...status, object: invalid({}, { status: { ready: true } }) }))).allowed,
      true,
    )
    const wrong = await send(handler, review({ ...status, object: invalid({}, stale) }))
    assert.deepEqual(causesOf(wrong)!.map(({ field }) => field), ['status.ready'])
  }
})

test('an object in deletion whose spec stays is let go, whatever the functions say', async () => {
  const { validate, mutate, errors } = handlersFor(Site, [{
    default() {
      throw new Error('never')
    },
    validate: () => [{ field: 'metadata', message: 'never' }],
  }])
  const [deletionTimestamp, finalizers] = ['2026-01-01T00:00:00Z', ['x']]
  const oldObject = site(DEFAULTED, { deletionTimestamp, finalizers })
  for (const handler of [mutate, validate]) {
    const freed = site(DEFAULTED, { deletionTimestamp, finalizers: [] }, { status: { ready: true } })
    assert.equal((await send(handler, review({ operation: 'UPDATE', object: freed, oldObject }))).allowed, true)
    const edited = site({ ...DEFAULTED, issuer: 'x' }, { deletionTimestamp, finalizers: [] })
    assert.equal((await send(handler, review({ operation: 'UPDATE', object: edited, oldObject }))).allowed, false)
    const alive = site(DEFAULTED, { finalizers: [] })
    assert.equal(
      (await send(handler, review({ operation: 'UPDATE', object: alive, oldObject: site(DEFAULTED) }))).allowed,
      false,
    )
    const status = { operation: 'UPDATE', subResource: 'status', oldObject }
    assert.equal((await send(handler, review({ ...status, object: freed }))).allowed, false)
  }
  assert.equal(errors.length, 3)
})

const Range = defineResource({
  group: 'example.dev',
  version: 'v1',
  kind: 'Range',
  refinements: 'admission',
  spec: z.object({ min: z.int(), max: z.int().optional() })
    .refine(({ min, max }) => max !== undefined && min <= max, { message: 'max is below min', path: ['max'] }),
})

test('refinements are checked after default, by one line, but not for a spec that stays as it was', async () => {
  const { mutate, validate } = handlersFor(Range, [{
    default: (draft) => void (draft.spec.max ??= draft.spec.min),
    validate: Range.definition.validate,
  }])
  const range = (spec: object, finalizers: string[] = []) => ({
    apiVersion: 'example.dev/v1',
    kind: 'Range',
    metadata: { name: 'a', finalizers },
    spec,
  })
  const created = review({ object: range({ min: 1 }) })
  assert.deepEqual(JSON.parse((await send(mutate, created)).patch!), [{ op: 'add', path: '/spec/max', value: 1 }])
  const denied = await send(validate, created)
  assert.deepEqual(causesOf(denied), [{ reason: 'FieldValueInvalid', field: 'spec.max', message: 'max is below min' }])
  const [invalid, unfinalized] = [range({ min: 2, max: 1 }, ['x']), range({ min: 2, max: 1 })]
  const update = { operation: 'UPDATE', oldObject: invalid }
  assert.equal((await send(validate, review({ ...update, object: unfinalized }))).allowed, true)
  assert.equal((await send(validate, review({ ...update, object: range({ min: 3, max: 1 }) }))).allowed, false)
})

test('what a function throws is a 500 that is logged with its stack and counted, not a denial', async () => {
  let thrown: unknown
  const fail = (): never => {
    throw thrown
  }
  const { mutate, validate, lines, errors } = handlersFor(Site, [{ default: fail, validate: fail }])
  const request = review({ object: site() })
  thrown = new TypeError('cannot read x')
  assertAnswer(await send(mutate, request), {
    ...{ http: 200, failed: true, allowed: false, patch: undefined, code: 500, reason: 'InternalError' },
    message: 'Cannot default Site "default/a": cannot read x',
  })
  assert.match(lines[0]!, /^Cannot default Site "default\/a": cannot read x .*admission\.test\.ts/)
  for (thrown of [undefined, null, 'text', Object.create(null), new Error('x'.repeat(5000))]) {
    const { status, failed } = await send(validate, request)
    assert.deepEqual([status.code, failed], [500, true])
    assert.ok(status.message!.length < 1100)
  }
  assert.equal(errors.length, 6)
  assert.equal(lines.length, 6)
  for (let run = 0; run < 20; run++) await send(validate, request)
  assert.equal(lines.length, 6, 'lines are rate-limited')
  for (thrown of [{}, { code: 403 }, { code: '403', status: {} }, { status: 403 }]) {
    thrown = Object.assign(new Error('of another library'), { name: 'ApiError' }, thrown)
    assertAnswer(await send(validate, request), { code: 500, failed: true })
  }
  thrown = new SyntaxError('Unexpected token in "s3cret"')
  const message = `Cannot validate Site "default/a": its function failed; see the operator's log`
  assertAnswer(await send(validate, request), { message })
  const secrets = handlersFor(Secret, [{ validate: () => fail() }])
  thrown = new Error('s3cret')
  const object = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, data: {} }
  assert.doesNotMatch((await send(secrets.validate, review({ object }))).status.message!, /s3cret/)
  const others = handlersFor({ ...Secret, group: 'example.com' } as never, [{ validate: () => fail() }])
  const other = { ...object, apiVersion: 'example.com/v1' }
  assert.match((await send(others.validate, review({ object: other }))).status.message!, /: s3cret$/)
})

test('a value that a function must not return is a fault that says what to return', async () => {
  const cases: readonly (readonly ['mutate' | 'validate', unknown, RegExp])[] = [
    ['mutate', { ...site() }, /default returned another object, which is not used; change the draft/],
    ['validate', true, /validate returned a value of type boolean; return a list of \{ field, message \}, or nothing/],
    ['validate', 'wrong', /validate returned a value of type string/],
    ['validate', [{ message: 'wrong' }], /validate returned a list with an item that is no problem/],
    ['validate', [null], /validate returned a list with an item that is no problem/],
  ]
  for (const [phase, value, text] of cases) {
    const wrong = { default: () => value, validate: () => Promise.resolve(value) } as unknown as Admission<Site>
    const { status, failed } = await send(handlersFor(Site, [wrong])[phase], review({ object: site() }))
    assert.deepEqual([status.code, failed], [500, true])
    assert.match(status.message!, text)
  }
  const arrows: Admission<Site> = { default: (draft) => void Object.assign(draft.spec, { issuer: 'x' }) }
  assert.equal((await send(handlersFor(Site, [arrows]).mutate, review({ object: site() }))).allowed, true)
  const returned = { default: (draft: unknown) => draft } as Admission<Site>
  assert.equal((await send(handlersFor(Site, [returned]).mutate, review({ object: site() }))).allowed, true)
})

test('a draft with a value that JSON lacks is a fault that names the field', async () => {
  const { mutate } = handlersFor(Site, [{ default: (draft) => void (draft.spec.size = NaN) }])
  const { status, failed } = await send(mutate, review({ object: site({ ...DEFAULTED, size: 1 }) }))
  assert.deepEqual([status.code, failed], [500, true])
  assert.match(status.message!, /Cannot write \/spec\/size as JSON: JSON has no value for NaN/)
})

test('integers beyond 2^53 survive: unchanged ones are not written, moved ones are written as they were read', async () => {
  const { mutate } = handlersFor(ConfigMap, [{
    default(draft) {
      const { list } = draft as unknown as { list: unknown[] }
      list.reverse()
      ;(draft as unknown as { copy: unknown }).copy = list[0]
    },
  }])
  const text = JSON.stringify(review({
    object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, list: ['A', 'B'], kept: 'C' },
  }))
  const answer = await send(
    mutate,
    text.replace('"A"', '-9223372036854775807').replace('"B"', '9007199254740993').replace(
      '"C"',
      '9223372036854775806',
    ),
  )
  assert.deepEqual(
    answer.patch,
    '[{"op":"replace","path":"/list/0","value":9007199254740993},' +
      '{"op":"replace","path":"/list/1","value":-9223372036854775807},' +
      '{"op":"add","path":"/copy","value":9007199254740993}]',
  )
  const rounded = await send(mutate, text.replace('"A"', '9007199254740992').replace('"B"', '9007199254740993'))
  assert.deepEqual([rounded.allowed, rounded.status.code], [false, 500])
  assert.match(rounded.status.message!, /is an integer beyond 2\^53/)
})

test('what the functions get can be written with its integers', async () => {
  const exact: boolean[] = []
  const note = (object: object, { old }: AdmissionContext): void => void exact.push(isExact(object), isExact(old!))
  const { mutate, validate } = handlersFor(Site, [{ default: note, validate: note }])
  const text = JSON.stringify(
    review({ operation: 'UPDATE', object: site({ ...DEFAULTED, n: 'N' }), oldObject: site({ n: 'N' }) }),
  )
  for (const handler of [mutate, validate]) await send(handler, text.replaceAll('"N"', '9007199254740993'))
  assert.deepEqual(exact, [true, true, true, true])
})

test('the context has the request, the user, and a client and a signal that end with the call', async () => {
  let context: AdmissionContext<Site> | undefined
  let bound: AbortSignal | undefined
  const client = {} as Client
  const { validate, lines } = handlersFor(Site, [{
    validate(_, given) {
      context = given
      assert.equal(given.client, client)
      assert.equal(given.client, client)
      assert.equal(given.signal.aborted, false)
      given.log.info('checked')
    },
  }], { client: (call) => (bound = call.signal, client) })
  const options = { kind: 'UpdateOptions', fieldManager: 'kubectl' }
  const update = {
    operation: 'UPDATE',
    object: site(DEFAULTED),
    oldObject: site({ hosts: ['b'] }),
    dryRun: true,
    options,
  }
  await send(validate, review({ ...update, subResource: 'status' }))
  const { operation, old, name, namespace, subresource, dryRun, user, request, signal, clock } = context!
  const [ref, expected] = [{ name, namespace, subresource }, { name: 'a', namespace: 'default', subresource: 'status' }]
  assert.deepEqual([operation, old!.spec.hosts, ref, dryRun], ['UPDATE', ['b'], expected, true])
  assert.deepEqual(user, { username: 'jane', uid: '7', groups: ['devs'], extra: { scopes: ['a', 'b'] } })
  assert.deepEqual([request.options, typeof clock.now()], [options, 'number'])
  assert.deepEqual([signal.aborted, bound!.aborted], [true, true])
  assert.match(
    lines[0]!,
    /^checked \{"kind":"Site","object":"default\/a","operation":"UPDATE","user":"jane","request":"705/,
  )
  await send(validate, review({ object: site(), name: '', namespace: undefined, userInfo: { groups: 'x' } }))
  const { old: none, name: own, namespace: nowhere, subresource: main } = context!
  assert.deepEqual([none, own, nowhere, main], [undefined, 'a', undefined, ''])
  assert.deepEqual(context!.user, { username: '', uid: '', groups: [], extra: {} })
})

test('when the API server stops waiting, the answer is a 504 that is not counted as a fault', async () => {
  const entered = Promise.withResolvers<AbortSignal>()
  const wait = (_: unknown, { signal }: AdmissionContext): Promise<never> => {
    entered.resolve(signal)
    return new Promise(() => {})
  }
  const stop = new AbortController()
  const { mutate, lines, errors } = handlersFor(Site, [{ default: wait }])
  const answer = send(mutate, review({ object: site() }), { signal: stop.signal })
  const signal = await entered.promise
  stop.abort(new Error('timeout'))
  const { status, failed } = await answer
  assert.deepEqual([status.code, status.reason, failed, errors, signal.aborted], [504, 'Timeout', false, [], true])
  // The API server tells its user alone.
  assert.equal(lines.length, 1)
  assert.match(lines[0]!, /Cannot default Site "default\/a": the API server stopped waiting/)
  assert.match(status.message!, /^Cannot default Site "default\/a": the API server stopped waiting/)
})

test('a call leaves no listener behind on the signal of the request', async () => {
  const { validate } = handlersFor(Site, [{ validate: async (_, { signal }) => void await Promise.resolve(signal) }])
  const { controller: { signal }, listeners } = countedSignal()
  for (let run = 0; run < 10; run++) await send(validate, review({ object: site() }), { signal })
  assert.equal(listeners(), 0)
})

test('warnings are sent once each, and no more than the API server may show', async () => {
  let texts: readonly unknown[] = []
  const { validate } = handlersFor(Site, [{
    validate: (_, { warn }) => void texts.forEach((text) => warn(text as string)),
  }])
  const warningsOf = async (given: readonly unknown[]) => {
    texts = given
    return (await send(validate, review({ object: site() }))).warnings
  }
  assert.deepEqual(await warningsOf(['a', '', 'b', 'a', 7]), ['a', 'b', '7'])
  assert.equal(await warningsOf(['']), undefined)
  const many = await warningsOf(Array.from({ length: 100_000 }, (_, at) => `${at} ${'x'.repeat(300)}`))
  assert.equal(many!.length, 16)
  assert.equal((await warningsOf(['x'.repeat(1_000_000)]))![0]!.length, 4096)
})

test('a large review lets other work run between its steps', async () => {
  const { mutate } = handlersFor(Site, [{ default: (draft) => void (draft.spec.issuer = 'x') }])
  for (const [length, expected] of [[1000, ['answered', 'turn']], [300_000, ['turn', 'answered']]] as const) {
    const order: string[] = []
    const answered = send(mutate, review({ object: site({ hosts: ['x'.repeat(length)] }) })).then(() =>
      order.push('answered')
    )
    await Promise.all([nextTurn().then(() => order.push('turn')), answered])
    assert.deepEqual(order, expected)
  }
})

test('a failing log does not fail the call', async () => {
  const fail = (): never => {
    throw new Error('disk full')
  }
  const { validate } = handlersFor(Site, [{
    validate(_, { log }) {
      log.info('x')
      throw new Error('boom')
    },
  }], { log: { debug: fail, info: fail, warn: fail, error: fail } })
  assert.match((await send(validate, review({ object: site() }))).status.message!, /boom/)
})
