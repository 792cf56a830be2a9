/** Tests that a mistake in an operator gives a short message of the compiler. */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { check } from './virtual_program.ts'

const MAX_CHARACTERS = 400

const PREAMBLE = `
import { defineResource, metadataOf, operator, type Client, type Desired } from 'kubeloop'
import { ConfigMap, Deployment, NetworkPolicy, Pod } from 'kubeloop/kinds'
import * as z from 'zod'
declare const client: Client
const Foo = defineResource({ group: 'example.com', version: 'v1', kind: 'Foo', spec: z.object({ size: z.int32() }),
  status: z.object({ ok: z.boolean() }) })
const app = operator({ name: 'x' })
export { ConfigMap, Deployment, Foo, NetworkPolicy, Pod, app, client, metadataOf }
export type { Desired }
`

/** A mistake, and a text that its message must contain. */
const mistakes: readonly (readonly [string, string])[] = [
  [
    "void client.apply(Deployment, { metadata: { namespace: 'a', name: 'd' }, spec: { replica: 3 } })",
    "'replica' does not exist",
  ],
  [
    "void client.create(Deployment, { metadata: { namespace: 'a', name: 'd' }, spec: { template: { spec: { containers: [{ nam: 'c' }] } } } })",
    "'nam' does not exist",
  ],
  [
    "export const render = (): Desired<typeof Deployment> => ({ metadata: { name: 'd' }, spec: { replica: 3 } })",
    "'replica' does not exist",
  ],
  [
    "void client.apply(NetworkPolicy, { metadata: { namespace: 'a', name: 'n' }, spec: { ingress: [{ _from: [] }] } })",
    "'_from' does not exist",
  ],
  ["void client.apply(Foo, { metadata: { namespace: 'a', name: 'f' }, spec: { sise: 3 } })", "'sise' does not exist"],
  [
    "void client.apply(Foo, { metadata: { namespace: 'a', name: 'f' }, spec: { size: '3' } })",
    "'string' is not assignable to type 'number'",
  ],
  [
    "void client.edit(Deployment, { namespace: 'a', name: 'b' }, (d) => { d.spec!.replica = 3 })",
    "'replica' does not exist",
  ],
  ["void client.get(ConfigMap, { name: 'b' })", "'{ name: string; }' is not assignable"],
  [
    "void client.apply(ConfigMap, { metadata: { name: 'b' } })",
    "'{ name: string; }' is not assignable to type 'DesiredMeta & { readonly namespace: string; }'",
  ],
  ["void client.setStatus(Foo, { namespace: 'a', name: 'b' }, { okay: true })", "'okay' does not exist"],
  [
    "void client.edit(metadataOf(Pod), { namespace: 'a', name: 'b' }, () => {})",
    'a kind that can be written, not its metadata alone',
  ],
  ["app.controllerFor(Pod).reconcile(async (pod) => { pod.spec!.containers[0]!.image = 'x' })", 'read-only property'],
]

const messages = messagesByMistake()

for (const [i, [mistake, mention]] of mistakes.entries()) {
  test(`a short message for ${mistake}`, () => {
    const [message = '', ...others] = messages.get(i) ?? []
    assert.deepEqual(others, [], 'one mistake, one message')
    assert.ok(message.includes(mention), message)
    assert.ok(message.length < MAX_CHARACTERS, `${message.length} characters: ${message}`)
  })
}

test('only the mistakes have messages', () => {
  assert.deepEqual(messages.get(-1) ?? [], [])
})

/** Returns the compiler's messages by mistake, and those of other lines at -1. */
function messagesByMistake(): ReadonlyMap<number, readonly string[]> {
  const preamble = PREAMBLE.trim()
  const text = [preamble, ...mistakes.map(([mistake]) => mistake)].join('\n')
  const first = preamble.split('\n').length
  const found = new Map<number, string[]>()
  for (const { line, message } of check(new Map([['tests/types/mistake.ts', text]]))) {
    const mistake = Math.max(line - first, -1)
    found.set(mistake, [...found.get(mistake) ?? [], message])
  }
  return found
}
