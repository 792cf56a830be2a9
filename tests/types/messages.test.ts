/** Tests compiler messages of mistakes in an operator, with two major versions of TypeScript. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { ensureDist } from '../tools/dist.ts'
import { ROOT } from '../tools/tree.ts'
import { complaintsOf } from './compiler.ts'

before(ensureDist)

const PREAMBLE = `
import { defineResource, metadataOf, operator, type Client, type Desired, type ObjectOf, type Result } from 'kubeloop'
import { ConfigMap, Deployment, Namespace, NetworkPolicy, Pod, Secret } from 'kubeloop/kinds'
import * as z from 'zod'
declare const client: Client
const Foo = defineResource({ group: 'example.com', version: 'v1', kind: 'Foo', spec: z.object({ size: z.int32() }), status: z.object({ ok: z.boolean() }) })
type Foo = ObjectOf<typeof Foo>
const Bare = defineResource({ group: 'example.com', version: 'v1', kind: 'Bare', spec: z.object({}) })
declare const wide: ObjectOf<typeof Namespace>
const app = operator({ name: 'x' })
export { ConfigMap, Deployment, Foo, Namespace, NetworkPolicy, Pod, Secret, Bare, app, client, metadataOf }
export type { Desired, Result }
const key = { namespace: 'a', name: 'b' }
`.trim()

const [REQUEUE, DURATION] = ['Requeue<', 'DurationLike<'].map((name) =>
  `${name}"a number and ms, s, m, h or d, as in 30s; durationMs(text) reads that of a spec">`
) as [string, string]
/** A short message has fewer. */
const MAX_CHARACTERS = 400
const NAMESPACED = '{ readonly namespace: string; readonly name: string; }'

/** A mistake, and what the first two lines must contain. */
const mistakes: readonly (readonly [string, string | readonly string[]])[] = [
  ["app.controllerFor(Foo).reconcile(async () => ({ requeueAfter: '3 s' }))", REQUEUE],
  ["app.controllerFor(Foo).reconcile(async () => ({ requeueAfter: '30 sec' }))", REQUEUE],
  [
    "app.controllerFor(Foo).reconcile(async (foo) => { if (foo.spec.size) return { requeueAfter: '3 s' }; return })",
    REQUEUE,
  ],
  ["export const result: Result = { requeueAfter: '5 minutes' }", DURATION],
  ['export const ofSpec: Result = { requeueAfter: wide.metadata.name }', DURATION],
  ["export const misspelt: Result = { requeAfter: '5m' }", "'requeAfter' does not exist"],
  ["app.controllerFor(Foo).reconcile(async () => ({ requeAfter: '5m' }))", ['{ requeAfter: string; }', REQUEUE]],
  ["app.controllerFor(Foo, { timeout: '30 sec' })", DURATION],
  ["app.controllerFor(Foo).every('1 h')", DURATION],
  ["app.controllerFor(Foo).every('-1s')", DURATION],
  ['app.controllerFor(Foo).watches(Secret, (secret) => [secret.metadata.name])', NAMESPACED],
  ['app.controllerFor(Foo).watches(Secret, (secret) => secret.metadata.name)', NAMESPACED],
  ['app.controllerFor(Foo).watches(Secret, async (secret) => [secret.metadata.name])', NAMESPACED],
  ['app.controllerFor(Foo).watches(Secret, (secret) => (secret.type ? [secret.metadata.name] : []))', NAMESPACED],
  ['app.controllerFor(Foo).watches(Secret, (secret) => [{ name: secret.metadata.name }])', NAMESPACED],
  ['app.controllerFor(Foo).watches(Secret, () => key)', NAMESPACED],
  ['app.controllerFor(Namespace).watches(Secret, (secret) => [secret.metadata.name])', '{ readonly name: string; }'],
  ["app.controllerFor(Foo).every('1h', () => ['a'])", NAMESPACED],
  ["app.controllerFor(Foo).from('x', async function* () { yield 'a' })", NAMESPACED],
  ['void client.setStatus(Bare, key, { ok: true })', 'a status, but this kind is defined without one'],
  ['void client.setStatus(ConfigMap, key, { ok: true })', 'a status, but this kind is defined without one'],
  ['void client.setStatus(Bare, key, {})', 'a status, but this kind is defined without one'],
  ['export type Wrong = ObjectOf<Foo>', 'typeof Foo'],
  ['export type WrongToo = Desired<Foo>', 'typeof Foo'],
  ['export type WrongKind = ObjectOf<Bare>', "Did you mean 'typeof Bare'?"],
  ["void client.get(ConfigMap, { name: 'b' })", NAMESPACED],
  ["void client.apply(Secret, { metadata: { name: 's' } }, { owner: wide })", "Property 'namespace' is missing"],
  ['void client.get(Namespace, { metadata: key })', "Types of property 'namespace' are incompatible"],
  [
    "void client.apply(Deployment, { metadata: { namespace: 'a', name: 'd' }, spec: { template: { spec: { containers: [{ name: 'c', imagee: 'x' }] } } } })",
    "Did you mean to write 'image'?",
  ],
  [
    "void client.apply(Deployment, { metadata: { namespace: 'a', name: 'd' }, spec: { template: { spec: { containers: [{ name: 'c', ports: [{ containerPort: '80' }] }] } } } })",
    "'string' is not assignable to type 'number'",
  ],
  [
    "void client.apply(Deployment, { metadata: { namespace: 'a', name: 'd' }, spec: { selector: { matchLabel: {} } } })",
    "Did you mean to write 'matchLabels'?",
  ],
  [
    "export const render = (): Desired<typeof Deployment> => ({ metadata: { name: 'd' }, spec: { template: { spec: { containers: [{ name: 'c', image: 3 }] } } } })",
    "'number' is not assignable to type 'string'",
  ],
  [
    "void client.edit(Deployment, key, (draft) => { draft.spec!.template.spec!.containers[0]!.imagee = 'x' })",
    "Did you mean 'image'?",
  ],
]

/** A mistake, and what its message must contain, which is short as a whole. */
const short: readonly (readonly [string, string])[] = [
  [
    "void client.apply(Deployment, { metadata: { namespace: 'a', name: 'd' }, spec: { replica: 3 } })",
    "'replica' does not exist",
  ],
  [
    "void client.create(Deployment, { metadata: { namespace: 'a', name: 'd' }, spec: { template: { spec: { containers: [{ nam: 'c' }] } } } })",
    "'nam' does not exist",
  ],
  [
    "export const wrong = (): Desired<typeof Deployment> => ({ metadata: { name: 'd' }, spec: { replica: 3 } })",
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

/** Code that must compile. */
const RIGHT = `
export const results: Result[] = [
  undefined, { requeueAfter: 0 }, { requeueAfter: '0s' }, { requeueAfter: '500ms' }, { requeueAfter: '1.5h' }, { requeueAfter: '0.25s' },
  { requeueAfter: '1.05s' }, { requeueAfter: '1d' }, { requeueAfter: '90m', priority: 3 }, { requeue: true }, { requeue: false, requeueAfter: '1s' },
]
app.controllerFor(Foo)
  .watches(Secret, function* (secret) { yield secret; yield { namespace: 'a', name: 'b' } })
  .watches(Secret, async ({ metadata: { namespace, name } }) => new Set([{ namespace, name }]))
  .watches(Namespace, async (_, { client }) => client.list(Foo))
  .every('5m', () => [key])
  .from('x', async function* () { yield key })
app.controllerFor(Namespace).watches(Secret, ({ metadata }) => [{ name: metadata.namespace }])
void client.setStatus(Foo, key, { ok: true })
void client.get(Namespace, { metadata: { name: 'a' } })
void client.apply(Secret, { metadata: { namespace: 'a', name: 's' } }, { owner: wide })
`.trim()

const TEXT = [PREAMBLE, ...[...mistakes, ...short].map(([mistake]) => mistake), RIGHT].join('\n')
const FIRST = PREAMBLE.split('\n').length + 1
for (const [compiler, major] of [['typescript', '6'], ['typescript7', '7']] as const) {
  test(`${compiler} explains mistakes in two lines, or briefly, and correct code compiles`, async () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'node_modules', compiler, 'package.json'), 'utf8'))
    assert.equal(version.split('.')[0], major)
    const complaints = await complaintsOf({ 'mistakes.ts': TEXT }, compiler)
    const messages = Map.groupBy(complaints, ({ line }) => line)
    for (const [i, [mistake, wanted]] of [...mistakes, ...short].entries()) {
      const found = (messages.get(FIRST + i) ?? []).map(({ message }) => message)
      assert.equal(found.length, 1, `one message for ${mistake}:\n${found.join('\n')}`)
      const isShort = i >= mistakes.length
      const shown = isShort ? found[0]! : found[0]!.split('\n').slice(0, 2).join('\n')
      for (const part of [wanted].flat()) assert.ok(shown.includes(part), `${mistake}\n${found[0]}`)
      assert.ok(!isShort || shown.length < MAX_CHARACTERS, `${shown.length} characters: ${shown}`)
      messages.delete(FIRST + i)
    }
    assert.deepEqual([...messages.values()].flat(), [])
  })
}
