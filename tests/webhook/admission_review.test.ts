import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NetworkPolicy, Pod } from 'kubeloop/kinds'
import { admissionPath } from '../../lib/webhook/admission/admission_path.ts'
import { assertAnswer, handlersFor, requestOf, review, send, Site, site, UID } from './admitting.ts'

const V1 = 'admission.k8s.io/v1'

function counting() {
  const calls: string[] = []
  const handlers = handlersFor(Site, [{
    default: (draft) => void calls.push(`default ${draft.metadata.name}`),
    validate: (object) => void calls.push(`validate ${object.metadata.name}`),
  }])
  return { ...handlers, calls }
}

test('paths are those of controller-runtime', () => {
  assert.equal(admissionPath('mutate', Site), '/mutate-web-example-dev-v1-site')
  assert.equal(admissionPath('validate', NetworkPolicy), '/validate-networking-k8s-io-v1-networkpolicy')
  assert.equal(admissionPath('validate', Pod), '/validate--v1-pod')
})

test('scenario 99: an empty body, another type and what is not a review are denied with 400, over HTTP 200', async () => {
  const { mutate, validate, calls, lines } = counting()
  const good = JSON.stringify(review({ object: site() }))
  const cases: readonly (readonly [unknown, string, string, string?])[] = [
    ['', '', 'the body is empty'],
    [good, '', 'its content type is "text/plain", and must be "application/json"', 'text/plain'],
    [good, '', 'its content type is "", and must be "application/json"', ''],
    ['{"request":{"uid":"1"', '', 'it is not JSON'],
    [new Uint8Array([0xff, 0xfe, 0, 1]), '', 'it is not JSON'],
    ['[]', '', 'it is not a JSON object'],
    ['null', '', 'it is not a JSON object'],
    ['9007199254740993', '', 'it is not a JSON object'],
    [{ apiVersion: V1, kind: 'AdmissionReview' }, '', 'it has no request'],
    [{ apiVersion: V1, kind: 'AdmissionReview', request: null }, '', 'it has no request'],
    [{ apiVersion: V1, kind: 'AdmissionReview', request: 'x' }, '', 'it has no request'],
    [
      { apiVersion: 'admission.k8s.io/v2', kind: 'AdmissionReview', request: { uid: UID } },
      UID,
      'it is a "AdmissionReview" of "admission.k8s.io/v2", not an AdmissionReview of admission.k8s.io/v1 or admission.k8s.io/v1beta1',
    ],
    [
      { apiVersion: 'apiextensions.k8s.io/v1', kind: 'ConversionReview', request: { uid: UID } },
      UID,
      'it is a "ConversionReview" of "apiextensions.k8s.io/v1", not an AdmissionReview of admission.k8s.io/v1 or admission.k8s.io/v1beta1',
    ],
  ]
  for (const handler of [mutate, validate]) {
    for (const [body, uid, problem, contentType = 'application/json'] of cases) {
      assertAnswer(await send(handler, body, { contentType }), {
        ...{ http: 200, failed: false, apiVersion: V1, kind: 'AdmissionReview', uid, allowed: false },
        status: {
          metadata: {},
          kind: 'Status',
          status: 'Failure',
          message: `Cannot read the AdmissionReview: ${problem}`,
          reason: 'BadRequest',
          code: 400,
        },
      })
    }
  }
  assert.deepEqual(calls, [])
  assert.equal(
    lines[0],
    'Cannot read the AdmissionReview: the body is empty {"path":"/mutate-web-example-dev-v1-site"}',
  )
  assert.equal(lines.length, 10, 'five for each path')
})

test('scenario 99: v1 and v1beta1 are answered in their version, and v1 where there is none', async () => {
  const { mutate, validate } = counting()
  for (
    const [given, answered] of [[V1, V1], ['admission.k8s.io/v1beta1', 'admission.k8s.io/v1beta1'], [undefined, V1]]
  ) {
    const body = {
      ...(given && { apiVersion: given, kind: 'AdmissionReview' }),
      request: requestOf({ object: site() }),
    }
    for (const handler of [mutate, validate]) {
      const { apiVersion, kind, uid, allowed, status, http } = await send(handler, body)
      assert.deepEqual([apiVersion, kind, uid, allowed, http], [answered, 'AdmissionReview', UID, true, 200])
      assert.deepEqual(status, { metadata: {}, code: 200 })
    }
  }
})

test('scenario 99: an answer that cannot be written becomes a 500 once', async () => {
  const details: Record<string, unknown> = {}
  details['details'] = details
  const { validate, errors } = handlersFor(Site, [{
    validate() {
      throw Object.assign(new Error('no'), { name: 'ApiError', code: 403, reason: 'Forbidden', status: { details } })
    },
  }])
  const { status, uid, failed } = await send(validate, review({ object: site() }))
  assert.deepEqual([status.code, uid, failed, errors.length], [500, UID, true, 1])
  assert.match(status.message!, /^Cannot validate Site "default\/a": /)
})

test('an unknown operation and CONNECT are a 400: what no function was asked about is not allowed', async () => {
  const { mutate, validate, calls } = counting()
  for (const handler of [mutate, validate]) {
    for (const operation of ['PATCH', 'CONNECT', '']) {
      const { allowed, status, uid } = await send(handler, review({ operation, subResource: 'exec', object: site() }))
      assert.deepEqual([allowed, status.code, status.reason, uid], [false, 400, 'BadRequest', UID])
      assert.equal(
        status.message,
        `Cannot admit Site: the operation is "${operation}", and must be CREATE, UPDATE or DELETE; mend the webhook ` +
          "configuration's rules",
      )
    }
    assert.equal((await send(handler, review({ operation: undefined }))).status.code, 400)
  }
  assert.deepEqual(calls, [])
})

test('an object of another kind of a subresource passes without a call', async () => {
  const { mutate, validate, calls } = counting()
  const scale = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'a' } }
  for (const handler of [mutate, validate]) {
    const fields = { operation: 'UPDATE', subResource: 'scale', object: scale, oldObject: scale }
    const { allowed, status } = await send(handler, review(fields))
    assert.deepEqual([allowed, status.code], [true, 200])
  }
  assert.deepEqual(calls, [])
})

test('an object that is missing or of another kind or version is a 400 that names the rules', async () => {
  const { mutate, validate, calls, lines } = counting()
  const cases: readonly (readonly [object, string])[] = [
    [{ object: null }, `the review's object is not an object with metadata`],
    [{ object: { ...site(), metadata: null } }, `the review's object is not an object with metadata`],
    [{ object: [] }, `the review's object is not an object with metadata`],
    [{ operation: 'UPDATE', object: site() }, `the review's oldObject is not an object with metadata`],
    [
      { object: { ...site(), apiVersion: 'web.example.dev/v2' } },
      `the review's object is Site of web.example.dev/v2, but this path is for Site of web.example.dev/v1; mend the webhook configuration's rules`,
    ],
  ]
  for (const handler of [mutate, validate]) {
    for (const [fields, problem] of cases) {
      const { status, uid, failed } = await send(handler, review(fields))
      assert.deepEqual([status.code, uid, failed], [400, UID, false])
      assert.equal(status.message, `Cannot admit Site: ${problem}`)
    }
  }
  assert.match(
    lines.at(-1)!,
    /^Cannot admit Site: the review's object is Site of web\.example\.dev\/v2.*"path":"\/validate-web/,
  )
  const deleted = await send(validate, review({ operation: 'DELETE', object: site() }))
  assert.equal(deleted.status.message, `Cannot admit Site: the review's oldObject is not an object with metadata`)
  assert.deepEqual(calls, [])
})

/** Returns the JSON of an object with this many levels. */
const nested = (levels: number, leaf: string): string => '{"a":'.repeat(levels) + leaf + '}'.repeat(levels)

test('10,000 levels are a 400 on any stack, with the UID where it can be read', async () => {
  const { mutate, validate } = counting()
  const text = (levels: number, leaf: string): string =>
    JSON.stringify(review({ object: site({ hosts: ['a'], more: '?' }) })).replace('"?"', nested(levels, leaf))
  for (const handler of [mutate, validate]) {
    assert.equal((await send(handler, text(900, '1'))).allowed, true)
    assert.equal((await send(handler, text(900, '9007199254740993'))).allowed, true)
    const deep = await send(handler, text(10_000, '1'))
    assert.deepEqual([deep.status.code, deep.uid], [400, UID])
    assert.equal(deep.status.message, 'Cannot read the AdmissionReview: it is nested deeper than 1000 levels')
    const exact = await send(handler, text(10_000, '9007199254740993'))
    assert.equal(exact.status.code, 400)
    assert.match(exact.status.message!, /nested/)
  }
})
