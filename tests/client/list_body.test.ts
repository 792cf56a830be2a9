import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { KubeObject } from '../../lib/core/objects.ts'
import type { HttpResponse } from '../../lib/core/transport.ts'
import { nextTurn, turnBudgetOf } from '../../lib/async/clock.ts'
import { type ListReading, readList } from '../../lib/client/list_body.ts'
import { SlowClock } from '../runtime/slow_clock.ts'

const idle = (): undefined => {}

/** A response whose body comes in chunks of this many bytes. */
function inChunks(text: string, size: number, status = 200, end: readonly number[] = []): HttpResponse {
  const bytes = Buffer.concat([Buffer.from(text), Uint8Array.from(end)])
  return {
    status,
    headers: {},
    body: {
      text: () => Promise.resolve(text),
      cancel() {},
      async *[Symbol.asyncIterator]() {
        for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
      },
    },
  }
}

const read = (text: string, size: number, more: Partial<ListReading> = {}) =>
  readList(inChunks(text, size), 'list secrets', { pace: idle, item: (item) => item, ...more })

const key = fc.oneof(fc.string(), fc.constantFrom('items', 'metadata', 'name', 'kind'))
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(null, true, 5, '},{"metadata":{', '"items":[', 'back\\slash\\\\', '"quo"te', ']}', 'äöü€😀'),
    fc.string({ unit: 'binary' }),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(key, tie('value'), { maxKeys: 4 }),
    // Objects that begin as the items do.
    fc.array(fc.record({ metadata: fc.record({ name: tie('value') }), spec: tie('value') }), { maxLength: 3 }),
  ),
}))
const items = fc.array(
  fc.oneof(
    fc.record({ metadata: fc.record({ name: fc.string() }), spec: value }),
    fc.record({
      apiVersion: fc.constant('v1'),
      kind: fc.constant('A'),
      metadata: fc.record({ name: value }),
      data: value,
    }),
    fc.dictionary(key, value),
  ),
  { maxLength: 12 },
)
const lists = fc.oneof(
  fc.record({ kind: fc.constant('List'), metadata: fc.constant({ resourceVersion: '5' }), items }),
  fc.record({ items, metadata: fc.record({ continue: fc.string(), a: value }) }),
  fc.record({ metadata: fc.record({ items: value, b: fc.record({ items }) }), items }),
  fc.record({ metadata: value, items: fc.constant(null) }),
  value,
)

test('any body is read as JSON.parse reads it, in any chunks and steps', async () => {
  await fc.assert(
    fc.asyncProperty(
      lists,
      fc.constantFrom(undefined, 1),
      fc.integer({ min: 1, max: 300 }),
      fc.integer({ min: 1, max: 300 }),
      async (list, indent, size, step) => {
        const text = JSON.stringify(list, undefined, indent)
        let characters = 0
        const pace = (count: number): undefined => void (characters += count)
        const whole = JSON.parse(text) as unknown
        const isObject = typeof whole === 'object' && whole !== null &&
          Array.isArray((whole as { items?: unknown }).items)
        const got = await read(text, size, { step, pace })
        assert.deepEqual(got, whole)
        assert.equal(characters, text.length)
        if (isObject) assert.deepEqual(Object.keys(got!).toSorted(), Object.keys(whole as object).toSorted())
      },
    ),
    { numRuns: 200 },
  )
})

test('a body that is cut or broken anywhere is an error that quotes nothing of it', async () => {
  const names = Array.from({ length: 8 }, (_, i) => ({ metadata: { name: `hunter${i}` }, data: { a: 'hunter' } }))
  const text = JSON.stringify({ metadata: { resourceVersion: '5' }, items: names })
  for (let at = 0; at < text.length; at++) {
    // A text that does not begin like JSON is that of a proxy, and is quoted.
    for (const broken of [text.slice(0, at), `{${text.slice(1, at)}\u0000${text.slice(at + 1)}`]) {
      await assert.rejects(
        read(broken, 16, { step: 40 }),
        (error: Error) =>
          error.name === 'SyntaxError' && error.message.startsWith('Cannot list secrets: the server answered 200') &&
          !/hunter/.test(String(error.stack)) && error.cause === undefined,
        broken,
      )
    }
  }
})

test('a byte after the list that begins a character is an error', async () => {
  const response = inChunks('{"items":[]}', 5, 200, [0xc3])
  await assert.rejects(readList(response, 'list pods', { pace: idle, item: (item) => item }), /instead of JSON/)
})

test('the status of a failed response is its error, not a list', async () => {
  for (const status of [403, 302]) {
    const refused = inChunks(`{"kind":"Status","reason":"Forbidden","code":${status},"message":"no"}`, 10, status)
    await assert.rejects(
      readList(refused, 'list pods', { pace: idle, item: (item) => item }),
      /^ApiError: Cannot list pods: no/,
    )
  }
})

/** Resolves with the max number of items that one turn converts. */
async function mostInATurn(text: string, size: number): Promise<number> {
  let [inTurn, most] = [0, 0]
  const item = (each: KubeObject): KubeObject => {
    most = Math.max(most, ++inTurn)
    return each
  }
  const budget = turnBudgetOf(new SlowClock(5))
  const pace = (): Promise<void> | undefined => budget.isSpent ? budget.turn() : undefined
  const reading = readList(inChunks(text, size), 'list pods', { item, pace })
  for (let turn = 0; turn < 600; turn++) {
    inTurn = 0
    await nextTurn()
  }
  assert.equal((await reading)?.items?.length, 400)
  return most
}

test('a large list is parsed over several turns of the event loop, in parts and in one chunk, whatever its items', async () => {
  const of = (spec: (i: number) => unknown): unknown[] =>
    Array.from({ length: 400 }, (_, i) => ({ metadata: { name: `a${i}` }, spec: spec(i), text: 'x'.repeat(10_000) }))
  const template = { metadata: { labels: { a: 'b' } } }
  for (
    const [what, objects] of Object.entries({
      alike: of(() => 1),
      'with lists of objects that begin alike': of(() => ({ templates: [template, template, template] })),
      different: of((i) => i).map((each, i) => ({ [`a${i}`]: 1, ...each as object })),
      'different, with quotes and backslashes': of(() => 'say "}]},{" \\').map((each, i) => ({
        [`a${i}`]: 1,
        ...each as object,
      })),
    })
  ) {
    const text = JSON.stringify({ kind: 'List', metadata: {}, items: objects })
    for (const size of [16_384, text.length]) {
      const parsing = JSON.parse
      let failures = 0
      JSON.parse = (...args: Parameters<typeof parsing>): unknown => {
        try {
          return parsing(...args)
        } catch (error) {
          failures++
          throw error
        }
      }
      const most = await mostInATurn(text, size).finally(() => (JSON.parse = parsing))
      assert.ok(failures <= 2, `${failures} texts were parsed in vain, ${what}`)
      assert.ok(most <= 100, `${most} of 400 in one turn, ${what}, in chunks of ${size}`)
    }
  }
})

test('one item that is larger than a step is not read again for each of its parts', async () => {
  const text = JSON.stringify({
    items: [{ a: 1 }, { text: 'x'.repeat(40_000), nested: [{ a: 1 }, { a: 2 }] }, { a: 3 }],
  })
  const own = String.prototype.indexOf
  let searched = 0
  String.prototype.indexOf = function (this: string, ...args: [string, number?]): number {
    const found = own.apply(this, args)
    searched += (found < 0 ? this.length : found) - (args[1] ?? 0)
    return found
  }
  try {
    assert.equal((await read(text, 100, { step: 100 }))?.items?.length, 3)
  } finally {
    String.prototype.indexOf = own
  }
  assert.ok(searched < 4 * text.length, `${searched} characters were searched of ${text.length}`)
})
