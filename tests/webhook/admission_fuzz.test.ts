/** Random reviews. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { collector, UNCOLLECTED } from '../tools/collector.ts'
import { type Handlers, handlersFor, review, Site, site, UID } from './admitting.ts'
import { tries } from '../tools/fuzz.ts'

// A hundredth of the answers is a 500, and one of them must occur.
const RUNS = tries(1000, 'everywhere')

/** Functions that read, change and refuse what they can get at. */
function handlers(): Handlers {
  return handlersFor(Site, [{
    default(draft, { warn, user, old }) {
      draft.spec.hosts = draft.spec.hosts.toReversed()
      draft.spec.issuer ??= user.groups.join()
      draft.metadata.labels = { ...draft.metadata.labels, old: String(old?.spec.hosts) }
      if (draft.spec.size === 1) throw new Error('one')
      warn(draft.spec.hosts[0]!)
    },
    validate(object, { warn, old }) {
      warn(String(object.spec?.issuer))
      return old && object.spec.size === 2 ? [{ field: 'spec.size', message: 'two' }] : []
    },
  }])
}

/** Values that parsers and recursions trip over. */
const odd = fc.oneof(
  { maxDepth: 3 },
  fc.constantFrom<unknown>(null, true, 0, -1, 1e308, 9007199254740993, '', 'a', '\ud800', '__proto__', 'x'.repeat(300)),
  fc.constantFrom<unknown>([], {}, [null], { metadata: {} }, { spec: null }, { toJSON: 1 }, { length: 3 }),
  fc.jsonValue({ maxDepth: 3 }),
  fc.dictionary(
    fc.constantFrom('__proto__', 'constructor', 'toJSON', 'spec', 'metadata', 'uid', 'a/b~'),
    fc.jsonValue(),
  ),
)
const maybe = <T>(good: fc.Arbitrary<T>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 9, arbitrary: good as fc.Arbitrary<unknown> }, { weight: 1, arbitrary: odd })

const object = maybe(
  fc.record({
    apiVersion: maybe(fc.constant('web.example.dev/v1')),
    kind: maybe(fc.constant('Site')),
    metadata: maybe(fc.record({
      name: maybe(fc.constant('a')),
      deletionTimestamp: maybe(fc.constant('2026-01-01T00:00:00Z')),
      labels: odd,
    }, { requiredKeys: [] })),
    spec: maybe(fc.record({
      hosts: maybe(fc.array(maybe(fc.constant('a.example')), { maxLength: 3 })),
      issuer: maybe(fc.constant('x')),
      tls: maybe(fc.record({ mode: maybe(fc.constantFrom('on', 'off')) }, { requiredKeys: [] })),
      size: maybe(fc.constantFrom(0, 1, 1, 2)),
      more: odd,
    }, { requiredKeys: ['hosts'] })),
    status: odd,
  }, { requiredKeys: ['apiVersion', 'kind', 'metadata', 'spec'] }),
)
const request = maybe(
  fc.record({
    uid: maybe(fc.constant(UID)),
    operation: maybe(fc.constantFrom('CREATE', 'UPDATE', 'DELETE', 'CONNECT')),
    name: maybe(fc.constant('a')),
    namespace: maybe(fc.constant('default')),
    subResource: maybe(fc.constantFrom('', 'status')),
    userInfo: maybe(fc.record({ username: odd, groups: odd, extra: odd }, { requiredKeys: [] })),
    object,
    oldObject: object,
    dryRun: odd,
    options: odd,
  }, { requiredKeys: ['uid', 'operation', 'object'] }),
)
const json = maybe(fc.record({
  apiVersion: maybe(fc.constantFrom('admission.k8s.io/v1', 'admission.k8s.io/v1beta1')),
  kind: maybe(fc.constant('AdmissionReview')),
  request,
}, { requiredKeys: ['request'] }))

const encoder = new TextEncoder()
const body: fc.Arbitrary<Uint8Array> = fc.oneof(
  { weight: 8, arbitrary: json.map((value) => encoder.encode(JSON.stringify(value))) },
  {
    weight: 1,
    arbitrary: fc.tuple(json, fc.nat(), fc.uint8Array({ maxLength: 4 })).map(([value, at, bytes]) => {
      // A few wrong bytes in the middle, or the end is missing.
      const good = encoder.encode(JSON.stringify(value))
      const place = good.length === 0 ? 0 : at % good.length
      if (bytes.length === 0) return good.subarray(0, place)
      good.set(bytes.subarray(0, good.length - place), place)
      return good
    }),
  },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }) },
)

/** Returns the UID that a decoder finds, or undefined. */
function uidIn(bytes: Uint8Array): string | undefined {
  try {
    const { request } = JSON.parse(new TextDecoder().decode(bytes)) as { readonly request?: { readonly uid?: unknown } }
    return typeof request?.uid === 'string' && !Array.isArray(request) ? request.uid : undefined
  } catch {
    return undefined
  }
}

test('fuzz: random reviews are answered with valid JSON and their UID', async () => {
  const { mutate, validate, lines } = handlers()
  const codes = new Map<number, number>()
  const { signal } = new AbortController()
  await fc.assert(
    fc.asyncProperty(body, fc.constantFrom(mutate, validate), async (bytes, handler) => {
      const answer = await handler({ contentType: 'application/json', body: bytes, signal })
      assert.equal(answer.status, 200)
      const { kind, apiVersion, response } = JSON.parse(answer.body) as {
        readonly kind: string
        readonly apiVersion: string
        readonly response: {
          readonly uid: string
          readonly allowed: boolean
          readonly status: { readonly code: number; readonly message?: string }
          readonly patch?: string
          readonly patchType?: string
        }
      }
      const { uid, allowed, status, patch, patchType } = response
      assert.equal(kind, 'AdmissionReview')
      assert.match(apiVersion, /^admission\.k8s\.io\/v1(beta1)?$/)
      assert.equal(uid, uidIn(bytes) ?? '')
      assert.equal(allowed, status.code === 200)
      assert.equal(typeof status.message, allowed ? 'undefined' : 'string')
      assert.equal(patchType, patch === undefined ? undefined : 'JSONPatch')
      if (patch !== undefined) assert.ok((JSON.parse(atob(patch)) as unknown[]).length > 0)
      codes.set(status.code, (codes.get(status.code) ?? 0) + 1)
    }),
    { numRuns: RUNS },
  )
  // Every kind of answer occurred, so that the generator reaches all parts.
  assert.deepEqual([...codes.keys()].sort(), [200, 400, 422, 500])
  assert.ok(lines.length <= 20, 'the log does not grow with the failures')
})

const collect = collector()

test('many reviews leave nothing behind', { skip: collect ? false : UNCOLLECTED }, async () => {
  const { mutate, validate } = handlers()
  const { signal } = new AbortController()
  const bytes = encoder.encode(JSON.stringify(review({ object: site({ hosts: ['a'], more: 'x'.repeat(1000) }) })))
  const run = async (count: number): Promise<number> => {
    for (let at = 0; at < count; at++) {
      for (const handler of [mutate, validate]) await handler({ contentType: 'application/json', body: bytes, signal })
    }
    collect!()
    return process.memoryUsage().heapUsed
  }
  await run(3000)
  const before = await run(3000)
  const growth = await run(6000) - before
  assert.ok(growth < 2 ** 20, `${growth} bytes`)
})
