/** Tests on a real API server that definitions and stored objects are judged as it judges them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AnyResource, Cluster, defineResource } from 'kubeloop'
import { atomic, cel, embeddedObject, entries, listMap, listSet, quantity } from 'kubeloop/schema'
import * as z from 'zod'
import { checkCommitted } from '../../lib/cli/crd/check.ts'
import { checkStored } from '../../lib/cli/crd/live.ts'
import { refusals } from '../../lib/cli/crd/refused.ts'
import { manifestText } from '../../lib/cli/manifests.ts'
import { Api } from '../../lib/client/api.ts'
import { systemClock } from '../../lib/async/clock.ts'
import { CRD, type CustomResourceDefinition } from '../../lib/core/resource.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { installCrds } from '../../lib/crds/install.ts'
import { crdOf } from '../../lib/schema/crds.ts'
import { noPlane, realPlane } from '../tools/real_plane.ts'
import { inFolder } from './dev_command.ts'

const plane = realPlane()
const never = new AbortController().signal
const apiOf = (): Api => new Api({ transport: plane.transport })
const clusterOf = (config = plane.envtest.tokenConfig): Cluster => new Cluster({ name: 'test', config })
const install = (resource: AnyResource): Promise<void> =>
  installCrds(
    [resource],
    { api: apiOf(), clock: systemClock, log: silentLog, fieldManager: 'test', narrow: true },
    never,
  )
const of = (kind: string, shape: z.ZodRawShape, ...rules: ReturnType<typeof cel>[]): AnyResource =>
  defineResource({
    group: 'crd.example.com',
    version: 'v1',
    kind,
    spec: z.object(shape).check(...rules),
  }) as AnyResource
const crd = (resource: AnyResource): CustomResourceDefinition => crdOf([resource])[0]!

test('stored objects are judged as the server judges a write of them', { skip: noPlane }, async () => {
  const old = of('Stored', {
    size: z.int32(),
    old: z.string().optional(),
    names: z.array(z.string()).optional(),
    ports: z.array(z.object({ name: z.string().optional(), n: z.int32().optional() })).optional(),
    labels: z.record(z.string(), z.string()).optional(),
    inner: z.looseObject({}).optional(),
    storage: z.union([z.int(), z.string()]).optional(),
  })
  await install(old)
  const specs: readonly object[] = [
    { size: 5, names: ['a'], ports: [{ name: 'a' }], storage: '1Gi', inner: { apiVersion: 'v1', kind: 'Pod' } },
    { size: 50 },
    { size: 5, old: 'x' },
    { size: 1 },
    { size: 5, names: ['a', 'b', 'a'] },
    { size: 5, names: ['a'.repeat(30)] },
    { size: 5, ports: [{ n: 1 }] },
    { size: 5, ports: [{ name: 'a' }, { name: 'a', n: 2 }] },
    { size: 5, labels: { a: '', b: '', c: '' } },
    { size: 5, inner: { kind: 'Pod' } },
    { size: 5, inner: { apiVersion: '', kind: 'a b' } },
    { size: 5, storage: 'much' },
  ]
  const api = apiOf()
  const key = (at: number) => ({ resource: old, namespace: 'default', name: `o${at}` })
  for (const [at, spec] of specs.entries()) {
    await api.create(key(at), { metadata: { namespace: 'default', name: `o${at}` }, spec }, {})
  }
  const changed = of(
    'Stored',
    {
      size: z.int32().max(10),
      names: z.array(z.string().max(20)).max(20).check(listSet()).optional(),
      ports: z.array(z.object({ name: z.string(), n: z.int32().optional() })).check(listMap('name')).optional(),
      labels: z.record(z.string(), z.string()).check(entries({ max: 2 }), atomic()).optional(),
      inner: z.optional(embeddedObject),
      storage: z.optional(quantity),
      mode: z.enum(['a', 'b']).default('a'),
    },
    cel("self.size > 1 || self.mode == 'b'", 'too small'),
    cel('self.size >= oldSelf.size'),
  )
  const lines: string[] = []
  const result = await checkStored(crd(changed), clusterOf(), (line) => void lines.push(line))
  assert.deepEqual(result, { name: 'storeds.crd.example.com', seen: specs.length, unfit: specs.length - 1 })

  await install(changed)
  for (const [at, spec] of specs.entries()) {
    const object = { metadata: { namespace: 'default', name: `new${at}` }, spec }
    const target = { resource: changed, namespace: 'default', name: `new${at}` }
    const said = await api.create(target, object, { dryRun: true, fieldValidation: 'Strict' })
      .then(() => '', (error: Error) => error.message)
    const ours = lines.filter((line) => line.startsWith(`Stored "default/o${at}": `))
      .map((line) => line.slice(line.indexOf(': ') + 2))
    assert.equal(said === '', ours.length === 0, `${JSON.stringify(spec)}: ${said} and ${ours.join('; ')}`)
    for (const line of ours) {
      if (line.startsWith('rules were not checked')) continue
      // Of the identity of embedded objects, the server has other sentences.
      const stated = line.replace(/: (?:must be VERSION or GROUP|may have mixed case).*$/, '')
      const expected = line.endsWith(' would be lost') ? `unknown field "${line.split(' ')[0]}"` : stated
      assert.ok(said.includes(expected), `${said}\nlacks\n${expected}`)
    }
  }
})

test(
  'a rule that is reported as too expensive, or as wrong, is refused by the server, and others are not',
  { skip: noPlane },
  async () => {
    const list = (length: number): z.ZodType =>
      z.array(z.string().max(30)).max(length).check(cel('self.all(a, self.all(b, a == b))'))
    const cases: readonly (readonly [z.ZodType, boolean])[] = [
      [z.array(z.string()).check(cel('self.all(a, self.all(b, a == b))')), true],
      [list(500), false],
      [list(2000), true],
      [z.record(z.string(), z.string()).check(cel('self.all(k, k != "x")')), false],
      [z.object({ a: z.string().max(9).optional() }).check(cel("[?self.?a].all(x, x != 'y')")), false],
      [z.string().check(cel('self.foo')), true],
      [z.string().check(cel('self.size()')), true],
      [z.int().check(cel('self > 1', { messageExpression: '"x" + string(self)' })), true],
      [z.object({ a: z.string().max(9) }).check(cel('self.a == "b"')).default({ a: 'x' }), true],
    ]
    const api = apiOf()
    for (const [index, [schema, isRefused]] of cases.entries()) {
      const definition = crd(of(`Rule${index}`, { at: schema }))
      const said = await api.create({ resource: CRD, name: definition.metadata.name }, definition as never, {
        dryRun: true,
      })
        .then(() => '', (error: Error) => error.message)
      const ours = await refusals(definition)
      assert.deepEqual([said !== '', ours.length > 0], [isRefused, isRefused], `${index}: ${said}\n${ours.join('\n')}`)
    }
  },
)

test('a definition as the server stores it means the same as the one that was sent', { skip: noPlane }, async () => {
  const resource = of('Same', { size: z.int32().default(1), storage: quantity, list: z.array(z.string()).optional() })
  await install(resource)
  const stored = await apiOf().get({ resource: CRD, name: crd(resource).metadata.name })
  await inFolder(async (folder) => {
    folder.write('crd.yaml', manifestText([stored]))
    assert.deepEqual(await checkCommitted([crd(resource)], `${folder.path}/crd.yaml`), { lines: [], breaking: 0 })
  })
})

test('without rights the check of stored objects names them', { skip: noPlane }, async () => {
  const cluster = clusterOf(await plane.envtest.addUser('without-rights'))
  await assert.rejects(
    checkStored(crd(of('Stored', {})), cluster, assert.fail),
    /^Error: Cannot check the stored objects of storeds\.crd\.example\.com: [^\n]*cannot get resource "customresourcedefinitions"[^\n]*; it needs the rights to get customresourcedefinitions and to list the kind$/,
  )
})
