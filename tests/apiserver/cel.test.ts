/** Tests of the engine for rules: when it is loaded, and what it does with bad input. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiServer } from '../../lib/apiserver/mod.ts'
import { celEngine } from '../../lib/apiserver/cel/load.ts'
import { Suspension } from '../../lib/apiserver/model/suspension.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { type Body, send } from './requests.ts'
import { CRDS, definitionOf } from '../tools/definitions.ts'

const WIDGETS = '/apis/example.com/v1/widgets'

function definition(rules: readonly Body[], properties: Body = { a: { type: 'integer' } }): Body {
  const spec = { type: 'object', properties, ...(rules.length > 0 && { 'x-kubernetes-validations': rules }) }
  return definitionOf({ kind: 'Widget', properties: { spec } })
}

function widget(spec: Body): Body {
  return { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w' }, spec }
}

function server(): ApiServer {
  let count = 0
  return new ApiServer({ clock: new FakeClock(), random: () => (count++ % 97) / 97 })
}

function isLoaded(): boolean {
  try {
    return celEngine() !== undefined
  } catch (error) {
    assert.ok(error instanceof Suspension)
    return false
  }
}

test('the engine is loaded by the first definition with rules, which changes nothing else', async () => {
  await send(server(), 'POST', CRDS, definition([]))
  assert.equal(isLoaded(), false)
  const rules = [{ rule: 'self.a > 1' }]
  const first = await send(server(), 'POST', CRDS, definition(rules))
  assert.equal(isLoaded(), true)
  const second = await send(server(), 'POST', CRDS, definition(rules))
  assert.deepEqual(first, second, 'the request that waits for the engine gets the same uid')
})

test('a restored server evaluates rules', async () => {
  const first = server()
  await send(first, 'POST', CRDS, definition([{ rule: 'self.a > 1' }]))
  const restored = new ApiServer({ clock: new FakeClock(), state: first.save() })
  assert.equal((await send(restored, 'POST', WIDGETS, widget({ a: 1 }))).status, 422)
  assert.equal((await send(restored, 'POST', WIDGETS, widget({ a: 2 }))).status, 201)
})

test('a pattern that only RE2 knows is checked', async () => {
  const one = server()
  await send(one, 'POST', CRDS, definition([], { s: { type: 'string', pattern: '(?i)^[[:alpha:]]+\\z' } }))
  assert.equal((await send(one, 'POST', WIDGETS, widget({ s: 'a1' }))).status, 422)
  assert.equal((await send(one, 'POST', WIDGETS, widget({ s: 'aB' }))).status, 201)
})

const TOO_DEEP = 'compilation failed: ERROR: <input>:-1:0: max recursion depth exceeded'

for (
  const [name, rule, message] of [
    ['long sums', `${Array(20_000).fill('1').join('+')} > 1`, TOO_DEEP],
    ['long disjunctions', Array(20_000).fill('self.a > 1').join(' || '), 'compilation failed: ERROR: <input>:-1:0: '],
    ['many parentheses', `${'('.repeat(300)}true${')'.repeat(300)}`, 'expression recursion limit exceeded: 250'],
    [
      'long texts',
      `'${'x'.repeat(120_000)}' == ''`,
      'expression code point size exceeds limit: size: 120008, limit 100000',
    ],
  ] as const
) {
  test(`a definition is refused for ${name}`, async () => {
    const one = server()
    const { status, body } = await send(one, 'POST', CRDS, definition([{ rule }]))
    assert.equal(status, 422)
    assert.ok(body.details.causes[0].message.includes(message), body.details.causes[0].message.slice(-200))
    assert.equal((await send(one, 'GET', `${CRDS}/widgets.example.com`)).status, 404)
  })
}

test('long expressions below the limits are compiled in time', async () => {
  const chain = Array(6000).fill('self.a > 1').join(' || ')
  for (
    const rule of [
      `self.s == '${'é'.repeat(90_000)}'`,
      `self.s == r"""${'\\'.repeat(90_000)}"""`,
      `b'${String.raw`\xff`.repeat(20_000)}' == b''`,
      chain,
      `${'[1].all(x, '.repeat(240)}true${')'.repeat(240)}`,
      `${'!'.repeat(90_000)}true`,
    ]
  ) {
    const properties = { a: { type: 'integer' }, s: { type: 'string' } }
    const { status, body } = await send(server(), 'POST', CRDS, definition([{ rule }], properties))
    assert.equal(status, 201, JSON.stringify(body).slice(-200))
  }
})
