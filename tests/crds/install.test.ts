/** The CRDs of an operator: which replica creates, changes and checks them, and when. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AnyResource, defineResource, type Operator, operator } from 'kubeloop'
import { ApiServer } from 'kubeloop/apiserver'
import { ConfigMap } from 'kubeloop/kinds'
import { FakeClock } from 'kubeloop/testing'
import * as z from 'zod'
import { aborted } from '../../lib/async/abort.ts'
import { Latch } from '../../lib/async/latch.ts'
import { Api } from '../../lib/client/api.ts'
import { jsonEqual } from '../../lib/core/equal.ts'
import { messageOf } from '../../lib/core/errors.ts'
import type { Transport } from '../../lib/core/transport.ts'
import { createCrds, installCrds } from '../../lib/crds/install.ts'
import { verifyCrds } from '../../lib/crds/verify.ts'
import type { StartOptions } from '../../lib/operator/run/start.ts'
import { nextTurn } from '../../lib/async/clock.ts'
import { answer, bodyOf, type Recorder, recorder, refusal, silence } from '../client/transports.ts'
import { only } from '../operator/starting.ts'
import { recordingLog } from '../manager/parts.ts'
import { CRD } from '../../lib/core/resource.ts'

const TARGET = { resource: CRD, name: 'sites.example.com' }
const CRD_PATH = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const SITES = '/apis/example.com/v1/sites'
const OF_SITES = new RegExp(` ${SITES}`)
const never = new AbortController().signal
const at = (name: string) => ({ namespace: 'default', name })

type Shape = z.ZodRawShape

function site(
  spec: Shape,
  { version = 'v1', ...extra }: {
    version?: string
    cluster?: boolean
    deprecated?: boolean
    served?: boolean
    status?: z.ZodType
    shortNames?: string[]
  } = {},
): AnyResource {
  return defineResource({ group: 'example.com', version, kind: 'Site', spec: z.object(spec), ...extra })
}

const wide = site({ size: z.int().max(10) })
const narrow = site({ size: z.int().max(5) })
const ZONED = { size: z.int().max(10), zone: z.string().optional() }
const zoned = site(ZONED)
const page = defineResource({ group: 'example.com', version: 'v1', kind: 'Page', spec: z.object({}) })

interface Stored {
  readonly metadata: Record<string, unknown> & { resourceVersion: string; generation: number }
  readonly spec: Record<string, unknown> & {
    versions: (Record<string, unknown> & { name: string; schema: { openAPIV3Schema: unknown } })[]
  }
}

type Setup = ReturnType<typeof setup>

function setup(over: Partial<Parameters<typeof installCrds>[1]> = {}) {
  const clock = new FakeClock({ settle: quiet })
  const server = new ApiServer({ clock })
  const network = recorder(server.handle)
  const lines: string[] = []
  const api = new Api({ transport: server.handle })
  return {
    server,
    clock,
    network,
    lines,
    api,
    dependencies: {
      api: new Api({ transport: network.transport }),
      clock,
      log: recordingLog(lines),
      fieldManager: 'test',
      ...over,
    },
    stored: async () => (await api.get(TARGET)) as unknown as Stored,
    create: async (name: string, spec: object, finalizers: string[] = []) => {
      const metadata = { ...at(name), finalizers }
      await api.create({ resource: wide, namespace: 'default', name }, { metadata, spec }, {})
    },
  }
}

/** A cluster with installed kinds, whose requests and lines begin after that. */
async function installed(
  kinds: readonly AnyResource[] = [wide],
  over: Partial<Setup['dependencies']> = {},
): Promise<Setup> {
  const made = setup(over)
  await installCrds(kinds, made.dependencies, never)
  made.network.take()
  made.lines.length = 0
  return made
}

/** In memory, work proceeds only by promises and turns of the event loop. */
async function quiet(): Promise<void> {
  for (let turn = 0; turn < 12; turn++) await nextTurn()
}

async function within<T>(clock: FakeClock, ms: number, work: Promise<T>): Promise<T> {
  work.catch(() => {})
  await clock.advance(ms)
  return await work
}

const schemaOf = (crd: Stored, version = 'v1'): unknown =>
  crd.spec.versions.find(({ name }) => name === version)?.schema.openAPIV3Schema
const definitionOf = (resource: AnyResource): unknown =>
  resource.definition!.crd.spec.versions[0]!.schema.openAPIV3Schema
const writes = (network: Recorder): string[] => network.take().filter((line) => !line.startsWith('GET'))

test('where replicas share the objects, what another release may write stays in the definition', async () => {
  const { api, dependencies, stored, create } = setup()
  const text = z.string().optional()
  const shape = (each: z.ZodType): Shape => ({ one: each, many: z.array(each), named: z.record(z.string(), each) })
  const newer = site({
    ...shape(z.object({ a: text, b: text })),
    added: text,
    changed: z.object({ a: text }).optional(),
    loose: z.looseObject({}),
    any: z.unknown(),
    map: z.record(z.string(), z.string()),
  }, { status: z.object({ ready: z.boolean() }) })
  const typed = z.object({ a: text })
  const older = site({ ...shape(typed), own: text, changed: text, loose: typed, any: typed, map: typed })
  const spec = {
    one: { a: '1', b: '2' },
    many: [{ b: '2' }],
    named: { x: { b: '2' } },
    added: '3',
    own: '4',
    changed: '5',
    loose: { b: '6' },
    any: { b: '7' },
    map: { b: '8' },
  }
  const shared = { ...dependencies, shared: true }
  await installCrds([newer], shared, never)
  await installCrds([older], shared, never)
  await create('x', spec)
  const { generation } = (await stored()).metadata
  await installCrds([older], shared, never)
  const read = await api.get({ resource: older, ...at('x') }) as unknown as { readonly spec: unknown }
  assert.deepEqual([read.spec, (await stored()).metadata.generation], [spec, generation])
  const status = { ready: true }
  await api.patch({ resource: older, ...at('x'), subresource: 'status' }, 'merge', { status }, {})
  assert.deepEqual((await api.get({ resource: older, ...at('x') }) as { readonly status?: unknown }).status, status)
})

test('a missing CRD is created as defined, by any replica and by the leader', async () => {
  const whole = defineResource({
    group: 'example.com',
    version: 'v1',
    kind: 'Site',
    cluster: true,
    shortNames: ['st'],
    categories: ['all'],
    columns: { Size: '.spec.size' },
    spec: z.object({ size: z.int().max(10) }),
    status: z.object({ ready: z.boolean().optional() }),
  })
  for (const prepare of [createCrds, installCrds]) {
    const { dependencies, stored, lines, network } = setup()
    await prepare([whole], dependencies, never)
    const { spec } = await stored()
    assert.deepEqual(spec, { ...whole.definition!.crd.spec, conversion: { strategy: 'None' } })
    assert.deepEqual(writes(network), [`POST ${CRD_PATH}`])
    assert.match(network.requests.find(({ method }) => method === 'POST')!.path, /fieldManager=test/)
    assert.deepEqual(lines, ['info Installed sites.example.com/v1'])
  }
})

test('a replica that does not lead does not change a CRD that differs, and logs the difference', async () => {
  const { dependencies, stored, lines } = await installed([zoned])
  const before = await stored()
  await createCrds([wide], dependencies, never)
  assert.deepEqual(await stored(), before)
  assert.deepEqual(lines, [
    'info CustomResourceDefinition "sites.example.com" in this cluster differs from that of this replica: spec.zone is new; the leader installs its own',
  ])
})

test('the leader updates a CRD, and keeps what others added beside the versions', async () => {
  const { dependencies, stored, lines, api } = await installed([site({ size: z.int() }, { shortNames: ['st'] })])
  const ca = {
    strategy: 'Webhook',
    webhook: { conversionReviewVersions: ['v1'], clientConfig: { url: 'https://x.example', caBundle: 'Cg==' } },
  }
  const patch = { metadata: { labels: { chart: 'x' }, annotations: { by: 'helm' } }, spec: { conversion: ca } }
  await api.patch(TARGET, 'merge', patch, {})
  await installCrds([wide], dependencies, never)
  const { metadata, spec } = await stored()
  assert.deepEqual(spec, { ...wide.definition!.crd.spec, conversion: ca })
  assert.deepEqual([metadata['labels'], metadata['annotations']], [{ chart: 'x' }, { by: 'helm' }])
  assert.deepEqual(lines, ['info Updated sites.example.com/v1'])
})

test('an annotation that the server requires for a group is kept', async () => {
  const { dependencies, api } = setup()
  const kind = defineResource({ group: 'x.k8s.io', version: 'v1', kind: 'Site', spec: z.object({ size: z.int() }) })
  const target = { resource: CRD, name: 'sites.x.k8s.io' }
  await installCrds([kind], dependencies, never)
  await api.patch(target, 'merge', {
    metadata: { annotations: { by: 'helm', 'api-approved.kubernetes.io': 'https://other' } },
  }, {})
  await installCrds([kind], dependencies, never)
  assert.deepEqual((await api.get(target)).metadata.annotations, {
    by: 'helm',
    'api-approved.kubernetes.io': 'unapproved, experimental-only',
  })
})

test('a missing version is added by any replica, with the schema of the stored one', async () => {
  const { dependencies, stored, network, api } = await installed()
  const both = [zoned, site(ZONED, { version: 'v2' })]
  await createCrds(both, dependencies, never)
  const crd = await stored()
  assert.deepEqual(crd.spec.versions.map(({ name, served, storage }) => [name, served, storage]), [['v1', true, true], [
    'v2',
    true,
    false,
  ]])
  assert.ok(jsonEqual(schemaOf(crd, 'v2'), definitionOf(wide)) && jsonEqual(schemaOf(crd), definitionOf(wide)))
  assert.ok(network.take().includes('GET /apis/example.com/v2/sites'), 'it is waited for')

  await api.patch(TARGET, 'json', [{ op: 'replace', path: '/spec/versions/1/served', value: false }], {})
  await createCrds(both, dependencies, never)
  assert.deepEqual(
    (await stored()).spec.versions.map(({ served }) => served),
    [true, true],
    'one that is switched off is served again',
  )
  await createCrds([wide], dependencies, never)
  assert.deepEqual((await stored()).spec.versions.map(({ served }) => served), [true, true], 'that of another release')

  await installCrds(both, dependencies, never)
  assert.deepEqual((await stored()).spec.versions.map(({ name, storage }) => [name, storage]), [['v2', true], [
    'v1',
    false,
  ]])
  assert.ok(jsonEqual(schemaOf(await stored()), definitionOf(both[0]!)))
})

test('a narrower schema is refused, and the objects that do not fit are named', async () => {
  const { dependencies, stored, create } = await installed()
  for (const [name, size] of Object.entries({ a: 7, b: 5, c: 10 })) await create(name, { size })
  const before = await stored()
  // A kind with the same version has another schema.
  await assert.rejects(installCrds([page, narrow], dependencies, never), (error: Error) => {
    assert.match(
      error.message,
      /^Cannot install CustomResourceDefinition "sites\.example\.com": its schema becomes narrower \(maximum of spec\.size is 5, not 10\), and 2 of 3 stored objects don't fit it: /,
    )
    assert.match(error.message, /Site "default\/a" \(spec\.size: Too big: [^)]*\), Site "default\/c" \(spec\.size: /)
    assert.match(error.message, /crds: \{ mode: 'install', narrow: true \}$/)
    return true
  })
  assert.deepEqual(await stored(), before)
})

test('objects that may not be listed are named as the reason of a refused definition', async () => {
  const { dependencies, network } = await installed()
  network.intercept = only(OF_SITES, () => Promise.resolve(refusal(403, 'Forbidden')))
  for (const narrowing of [false, true]) {
    await assert.rejects(
      installCrds([narrow], { ...dependencies, narrow: narrowing }, never),
      /^Error: Cannot install .*sites\.example\.com": its schema becomes narrower \(maximum of spec\.size is 5, not 10\), so all objects must be read: Cannot list sites/,
    )
  }
})

test('an object would lose a field that the new schema does not have, at any depth', async () => {
  const host = (more: Shape) => ({ size: z.int(), hosts: z.array(z.object({ name: z.string(), ...more })).optional() })
  const { dependencies, create } = setup()
  await installCrds([site(host({ port: z.int().optional() }))], dependencies, never)
  await create('a', { size: 1, hosts: [{ name: 'x' }] })
  await installCrds([site(host({ port: z.int().optional() }))], dependencies, never)
  await create('b', { size: 1, hosts: [{ name: 'x' }, { name: 'y', port: 80 }] })
  await assert.rejects(
    installCrds([site(host({}))], dependencies, never),
    /1 of 2 stored objects don't fit it: Site "default\/b" \(spec\.hosts\[1\]\.port would be lost\)/,
  )
})

test('with narrow, a narrower schema is installed, with a warning about the objects', async () => {
  const { dependencies, stored, create, lines } = await installed([wide], { narrow: true })
  await create('a', { size: 7 })
  await installCrds([narrow], dependencies, never)
  assert.ok(jsonEqual(schemaOf(await stored()), definitionOf(narrow)))
  assert.match(
    lines[0]!,
    /^warn CustomResourceDefinition "sites\.example\.com": its schema becomes narrower .* 1 of 1 stored objects .*"default\/a"/,
  )
  assert.equal(lines[1], 'info Updated sites.example.com/v1')
})

test('a version that goes is warned of if objects were written in it: the API server refuses each apply of them', async () => {
  const [old, next] = [wide, site({ size: z.int().max(10) }, { version: 'v2' })]
  const { dependencies, create, lines, api, network } = await installed([old, next])
  await create('a', { size: 3 })
  const metadata = at('b')
  await api.create({ resource: next, ...metadata }, { metadata, spec: { size: 3 } }, {})
  network.requests.length = 0
  await installCrds([old, next], dependencies, never)
  assert.ok(network.requests.every(({ path }) => !path.includes('limit=500')), 'objects are read without a reason')
  lines.length = 0
  await installCrds([next], dependencies, never)
  assert.deepEqual(lines.filter((line) => line.startsWith('warn')), [
    'warn CustomResourceDefinition "sites.example.com": v1 goes, in which fields of 1 of 2 stored objects were written ' +
    '(metadata.managedFields), so each apply of these will fail: define it with served: false',
  ])
  const object = { apiVersion: 'example.com/v2', kind: 'Site', metadata: at('a'), spec: { size: 4 } }
  const apply = api.patch({ resource: next, ...at('a') }, 'apply', object, { fieldManager: 'x' })
  await assert.rejects(apply, /request to convert CR to an invalid group\/version: example\.com\/v1/)
  const other = await installed([old, next])
  await other.api.create({ resource: next, ...metadata }, { metadata, spec: { size: 3 } }, {})
  await installCrds([next], other.dependencies, never)
  assert.deepEqual(other.lines.filter((line) => line.startsWith('warn')), [])
  // The stored version is not served, so the objects are read in another one.
  const hidden = await installed([old, next])
  await hidden.create('a', { size: 3 })
  const index = (await hidden.stored()).spec.versions.findIndex(({ name }) => name === 'v2')
  await hidden.api.patch(TARGET, 'json', [{ op: 'replace', path: `/spec/versions/${index}/served`, value: false }], {})
  await installCrds([next], hidden.dependencies, never)
  assert.match(hidden.lines.join(), /v1 goes, in which fields of 1 of 1 stored objects were written/)
})

test('objects are read only if the schema became narrower, page by page, and few are named', async () => {
  const { dependencies, create, network } = await installed()
  for (let i = 0; i < 1001; i++) await create(`n${String(i).padStart(4, '0')}`, { size: 6 })
  const lists = (): string[] =>
    network.requests.map(({ path }) => path).filter((path) =>
      path.startsWith(SITES) && !path.includes('limit=1') || path.includes('limit=500')
    )
  await installCrds([site({ ...ZONED, size: z.int().max(20) })], dependencies, never)
  assert.deepEqual(lists(), [])
  let turns = 0
  let isDone = false
  const turning = (async () => {
    for (; !isDone; turns++) await nextTurn()
  })()
  await assert.rejects(installCrds([narrow], dependencies, never), (error: Error) => {
    assert.match(error.message, /1001 of 1001 stored objects/)
    assert.equal(error.message.match(/Site "default\//g)?.length, 5)
    assert.match(error.message, /n0004" \([^)]*\), …; /)
    return true
  })
  isDone = true
  await turning
  assert.ok(turns >= 20, `the event loop had ${turns} turns`)
  assert.equal(lists().length, 3)
  assert.ok(lists().every((path) => path.includes('limit=500')))
})

test('another scope is refused on every replica', async () => {
  const { dependencies } = await installed()
  const other = site({ size: z.int() }, { cluster: true })
  for (const prepare of [createCrds, installCrds]) {
    await assert.rejects(
      prepare([other], dependencies, never),
      /its scope is Namespaced, not Cluster, and cannot change/,
    )
  }
})

test('versions with different schemas are refused by every mode, unless the cluster converts between them', async () => {
  const versions = [wide, site({ size: z.int().max(5) }, { version: 'v1beta1' })]
  const { dependencies, api, network } = setup()
  const expected =
    /^TypeError: Cannot serve versions v1 and v1beta1 of "sites\.example\.com": their schemas differ \(in v1beta1, maximum of spec\.size is 5, not 10\), so the server would drop fields without a conversion; declare one with app\.convert\(\), or give all versions one schema$/
  for (const prepare of [createCrds, installCrds]) {
    await assert.rejects(prepare(versions, dependencies, never), expected)
  }
  assert.deepEqual(network.take(), [])
  const { crd } = wide.definition!
  const [first] = crd.spec.versions
  const second = { ...versions[1]!.definition!.crd.spec.versions[0]!, storage: false }
  await api.create(TARGET, { ...crd, spec: { ...crd.spec, versions: [first, second] } }, {})
  await assert.rejects(verifyCrds(versions, dependencies, never), expected)
  const webhook = {
    strategy: 'Webhook',
    webhook: { conversionReviewVersions: ['v1'], clientConfig: { url: 'https://x.example' } },
  }
  await api.patch(TARGET, 'merge', { spec: { conversion: webhook } }, {})
  await verifyCrds(versions, dependencies, never)
})

test('versions with equal schemas pass, with any descriptions', async () => {
  const { dependencies, stored } = setup()
  await installCrds(
    [wide, site({ size: z.int().max(10).describe('How large.') }, { version: 'v2' })],
    dependencies,
    never,
  )
  assert.deepEqual((await stored()).spec.versions.map(({ name }) => name), ['v2', 'v1'])
})

test('a CRD that another writer changes meanwhile is read again, and that change is kept', async () => {
  const { dependencies, stored, api, network } = await installed()
  let meddled = 0
  network.intercept = async (request, next) => {
    if (request.method === 'PUT' && meddled++ === 0) {
      await api.patch(TARGET, 'merge', { metadata: { labels: { chart: 'x' } } }, {})
    }
    return await next(request)
  }
  await installCrds([narrow], dependencies, never)
  const { metadata, spec } = await stored()
  assert.deepEqual([metadata['labels'], meddled], [{ chart: 'x' }, 2])
  assert.ok(jsonEqual(spec.versions[0]!.schema.openAPIV3Schema, definitionOf(narrow)))
})

test('a CRD that is deleted between read and write is created again', async () => {
  const { dependencies, stored, api, network } = await installed()
  let deleted = 0
  network.intercept = async (request, next) => {
    if (request.method === 'PUT' && deleted++ === 0) await api.delete(TARGET, {})
    return await next(request)
  }
  await installCrds([narrow], dependencies, never)
  assert.equal(deleted, 1)
  assert.ok(jsonEqual(schemaOf(await stored()), definitionOf(narrow)))
})

test('the installation fails after five conflicts', async () => {
  const { dependencies, network } = await installed()
  network.intercept = only(/^PUT /, () => Promise.resolve(refusal(409, 'Conflict')))
  await assert.rejects(installCrds([narrow], dependencies, never), /Conflict/)
  assert.equal(writes(network).length, 5)
})

test('two replicas that create a CRD at the same time both continue, and the second changes nothing', async () => {
  const { dependencies, stored, api, network } = setup()
  network.intercept = async (request, next) => {
    if (request.method === 'POST') await api.create(TARGET, narrow.definition!.crd, {})
    network.intercept = request.method === 'POST' ? undefined : network.intercept
    return await next(request)
  }
  await createCrds([wide], dependencies, never)
  assert.ok(jsonEqual(schemaOf(await stored()), definitionOf(narrow)))
})

test('a CRD that is being deleted is created again when it is gone', async () => {
  for (const prepare of [createCrds, installCrds]) {
    const { dependencies, stored, api, clock, create, lines } = await installed()
    await create('held', { size: 1 }, ['x/y'])
    await api.delete(TARGET, {})
    const prepared = prepare([wide], dependencies, never)
    await clock.advance(5000)
    await api.patch({ resource: wide, ...at('held') }, 'merge', { metadata: { finalizers: null } }, {})
    await within(clock, 1000, prepared)
    assert.equal((await stored()).metadata['deletionTimestamp'], undefined)
    await create('a', { size: 1 })
    assert.deepEqual(lines, [WAITS, 'info Installed sites.example.com/v1'])
  }
})

const WAITS = 'info Waiting up to 10 s for the deletion of CustomResourceDefinition "sites.example.com"'

test('a CRD whose objects wait for a finalizer is waited for 10 s, then the operator starts to remove it', async () => {
  const { dependencies, stored, api, clock, lines, network, create } = await installed()
  await create('held', { size: 1 }, ['x/y'])
  await api.delete(TARGET, {})
  let done = false
  const prepared = installCrds([narrow], dependencies, never).then(() => (done = true))
  await clock.advance(9_000)
  assert.equal(done, false)
  await within(clock, 2000, prepared)
  assert.deepEqual(writes(network), [])
  assert.deepEqual(lines, [
    WAITS,
    'warn CustomResourceDefinition "sites.example.com" is being deleted, and objects hold it by their finalizers; starting anyway',
  ])
  assert.ok((await stored()).metadata['deletionTimestamp'])
})

/** A server whose CRD is established, and then served, under the test's control. */
function reluctant(network: Recorder): { established: boolean; served: boolean; listed: number } {
  const self = { established: false, served: false, listed: 0 }
  network.intercept = async (request, next) => {
    const response = await next(request)
    if (request.path.startsWith(SITES)) {
      self.listed++
      return self.served ? response : refusal(404, 'NotFound')
    }
    if (
      request.method !== 'GET' || !request.path.startsWith(`${CRD_PATH}/`) || response.status !== 200 ||
      self.established
    ) return response
    const crd = JSON.parse(await response.body.text()) as { status: { conditions: { status: string }[] } }
    for (const condition of crd.status.conditions) Object.assign(condition, { status: 'False', message: 'not yet' })
    return answer(200, crd)
  }
  return self
}

for (const prepare of [createCrds, installCrds]) {
  test(`${prepare.name} waits until the CRD is established and its kind is served`, async () => {
    const { dependencies, clock, network } = setup()
    const server = reluctant(network)
    let done = false
    const prepared = prepare([wide], dependencies, never).then(() => (done = true))
    await clock.advance(10_000)
    assert.deepEqual([done, server.listed], [false, 0], 'it is not asked for what is not established')
    server.established = true
    await clock.advance(10_000)
    assert.ok(!done && server.listed > 3 && server.listed < 20)
    server.served = true
    await within(clock, 1000, prepared)
    assert.equal(clock.pending, 0)
  })
}

test("a CRD that is not served within 30 s is an error with the server's reason", async () => {
  const { dependencies, clock, network } = setup()
  reluctant(network)
  let error: unknown
  installCrds([wide], dependencies, never).catch((thrown: unknown) => (error = thrown))
  await clock.advance(29_000)
  assert.equal(error, undefined)
  await clock.advance(2_000)
  assert.equal(
    messageOf(error),
    'Cannot install CustomResourceDefinition "sites.example.com": it is not served after 30 s: not yet',
  )
})

test('a stop ends the wait for a CRD, and for the answer whether its kind is served', async () => {
  for (const delay of [reluctant, (network: Recorder): void => void (network.intercept = only(OF_SITES, silence))]) {
    const { dependencies, clock, network } = setup()
    delay(network)
    const stop = new AbortController()
    const prepared = installCrds([wide], dependencies, stop.signal)
    await clock.advance(1000)
    stop.abort(new Error('stopping'))
    await assert.rejects(prepared, { message: 'stopping' })
    assert.equal(clock.pending, 0)
  }
})

test('a busy server is retried; a missing right to list is ignored; any other refusal is an error', async () => {
  for (const [status, reason] of [[503, 'ServiceUnavailable'], [429, 'TooManyRequests']] as const) {
    const { dependencies, clock, network } = setup()
    let refusals = 2
    network.intercept = (
      request,
      next,
    ) => (request.path.startsWith(SITES) && refusals-- > 0 ? Promise.resolve(refusal(status, reason)) : next(request))
    await within(clock, 1000, installCrds([wide], dependencies, never))
    assert.equal(refusals, -1)
  }
  const { dependencies, network } = setup()
  network.intercept = only(OF_SITES, () => Promise.resolve(refusal(403, 'Forbidden')))
  await installCrds([wide], dependencies, never)
  network.intercept = only(OF_SITES, () => Promise.resolve(refusal(500, 'InternalError')))
  await assert.rejects(installCrds([wide], dependencies, never), /Cannot install sites\.example\.com: /)
})

test('every served version is waited for', async () => {
  const { dependencies, network } = setup()
  await installCrds([wide, site({ size: z.int().max(10) }, { version: 'v2' })], dependencies, never)
  assert.deepEqual(network.take().slice(-2).toSorted(), [
    'GET /apis/example.com/v1/sites',
    'GET /apis/example.com/v2/sites',
  ])
  const old = setup()
  await installCrds([site({}, { deprecated: true })], old.dependencies, never)
  assert.equal(old.network.requests.at(-1)!.quiet, true, 'the warning is not of a request of the user')
  assert.equal(old.network.take().at(-1), 'GET /apis/example.com/v1/sites', 'no other version could be asked')
})

test('a kind is served when one object is read', async () => {
  const { dependencies, network, create } = await installed()
  for (const name of ['a', 'b']) await create(name, { size: 1 })
  await installCrds([zoned], dependencies, never)
  assert.deepEqual(network.take().filter((line) => OF_SITES.test(line)), [`GET ${SITES}`])
})

test('a replica that does not lead serves no version that its own definition does not serve', async () => {
  const [v1, v2] = [{ served: false }, { version: 'v2' }].map((each) => site({ size: z.int().max(10) }, each))
  const { dependencies, network } = await installed([v1!, v2!])
  await createCrds([v1!, v2!], dependencies, never)
  assert.deepEqual(writes(network), [])
  await createCrds([wide, v2!], dependencies, never)
  assert.deepEqual(writes(network), [`PUT ${CRD_PATH}/sites.example.com`])
})

test('verify fails without a CRD that fits, and changes nothing', async () => {
  const { dependencies, network, lines } = setup()
  await assert.rejects(
    verifyCrds([wide], dependencies, never),
    /^Error: Cannot start: CustomResourceDefinition "sites\.example\.com" is not installed in this cluster; install it/,
  )
  await installCrds([wide], dependencies, never)
  network.take()
  await verifyCrds([wide], dependencies, never)
  await assert.rejects(verifyCrds([site({ zone: z.string() })], dependencies, never), {
    message:
      'Cannot start: CustomResourceDefinition "sites.example.com" in this cluster does not fit this operator: v1: spec.zone is missing; ' +
      'v1: required of spec lacks "zone"; v1: required of spec has "size"; ' +
      "install it: `kubeloop crd FILE | kubectl apply -f -` (crds: 'install' does that at start)",
  })
  await assert.rejects(
    verifyCrds([narrow], dependencies, never),
    /fit this operator: v1: maximum of spec\.size is 10, not 5; install it/,
  )
  const many = Object.fromEntries(['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => [name, z.string().optional()]))
  await assert.rejects(
    verifyCrds([site({ size: z.int().max(10), ...many })], dependencies, never),
    /v1: spec\.e is missing; and 2 more; install it/,
  )
  await assert.rejects(
    verifyCrds([wide, site({ zone: z.string() }, { version: 'v1' })], dependencies, never),
    /its version "v1" is defined twice/,
  )
  assert.deepEqual(writes(network), [])
  lines.length = 0
  network.intercept = () => Promise.resolve(refusal(403, 'Forbidden'))
  await verifyCrds([wide], dependencies, never)
  assert.match(lines.join(), /^warn Cannot verify CustomResourceDefinition "sites\.example\.com": .*; starting anyway$/)
  network.intercept = only(/sites\.example\.com/, () => Promise.resolve(refusal(403, 'Forbidden')))
  await assert.rejects(verifyCrds([wide, page], dependencies, never), /"pages\.example\.com" is not installed/)
  network.intercept = () => Promise.resolve(refusal(500, 'InternalError'))
  await assert.rejects(verifyCrds([wide], dependencies, never), /refused: InternalError/)
})

interface Replica {
  readonly lines: string[]
  readonly network: Recorder
  readonly stop: AbortController
  readonly running: Promise<void>
  outcome: unknown
}

/** Starts a replica of an operator in the setup's cluster. */
function replica({ server, clock }: Setup, instance: string, app: Operator, options: StartOptions = {}): Replica {
  const network = recorder(options.transport ?? server.handle)
  const lines: string[] = []
  const stop = new AbortController()
  const running = app.start(stop.signal, {
    clock,
    instance,
    random: () => 0.5,
    log: recordingLog(lines),
    crds: 'install',
    serves: false,
    ...options,
    transport: network.transport,
  })
  const self: Replica = { lines, network, stop, running, outcome: undefined }
  running.then(() => (self.outcome = 'resolved'), (error: unknown) => (self.outcome = error))
  return self
}

function appOf(kind: AnyResource, leaderElection: boolean | object = true): Operator {
  const app = operator({ name: 'sites', leaderElection }).controllerFor(kind).reconcile(async () => {})
  return app
}

async function end({ clock }: Setup, ...replicas: readonly Replica[]): Promise<void> {
  for (const { stop } of replicas) stop.abort()
  await clock.advance(60_000)
  await Promise.allSettled(replicas.map(({ running }) => running))
}

test('during a rollout a restarted old replica does not restore the old schema', async () => {
  const world = setup()
  const old = replica(world, 'old', appOf(wide))
  await world.clock.advance(1000)
  const next = replica(world, 'new', appOf(zoned))
  await world.clock.advance(1000)
  assert.ok(jsonEqual(schemaOf(await world.stored()), definitionOf(wide)), 'the new replica waits for the lease')
  assert.match(
    next.lines.join('\n'),
    /info CustomResourceDefinition .* differs from that of this replica: spec\.zone is missing/,
  )
  await end(world, old)
  assert.ok(jsonEqual(schemaOf(await world.stored()), definitionOf(zoned)), 'the new one leads')
  const again = replica(world, 'old again', appOf(wide))
  await world.clock.advance(60_000)
  assert.ok(jsonEqual(schemaOf(await world.stored()), definitionOf(zoned)))
  assert.deepEqual([again.outcome, writes(again.network).filter((line) => line.includes(CRD_PATH))], [undefined, []])
  assert.equal(next.outcome, undefined)
  await end(world, next, again)
})

const second = site({ size: z.int().max(10) }, { version: 'v2' })

for (
  const [what, newer, spec, expected] of [
    [
      'a field that objects have',
      [zoned],
      { size: 1, zone: 'x' },
      /^Cannot install .* its schema becomes narrower \(spec\.zone is missing\), and 1 of 1 stored objects don't fit it: Site "default\/a" \(spec\.zone would be lost\)/,
    ],
    ['a stored version', [wide, second], { size: 1 }, /^Cannot install .*: objects may be stored as v2, which/],
  ] as const
) {
  test(`a replica without ${what} ends before it is ready, and the replica that has it goes on`, async () => {
    const world = setup()
    const app = operator({ name: 'sites', leaderElection: true })
    for (const kind of newer) app.controllerFor(kind, { name: kind.version }).reconcile(async () => {})
    const good = replica(world, 'good', app)
    await world.clock.advance(3000)
    await world.create('a', spec)
    const before = await world.stored()
    for (const leads of [false, true]) {
      if (leads) await end(world, good)
      const back = replica(world, 'back', appOf(wide))
      await world.clock.advance(3000)
      assert.match(messageOf(back.outcome), expected)
      assert.deepEqual([writes(back.network), good.outcome], [[], leads ? 'resolved' : undefined])
      assert.equal(back.network.requests.some(({ path }) => path.includes('/leases')), false, 'it is no candidate')
    }
    assert.deepEqual(await world.stored(), before)
    const verified = replica(world, 'verified', appOf(wide), { crds: 'verify' })
    await world.clock.advance(3000)
    assert.equal(verified.outcome, undefined, 'the definitions have all that it needs')
    await end(world, verified)
  })
}

test('a replica reads stored objects before it is ready only if it could refuse them', async () => {
  const lists = async (ours: AnyResource, over: object, answer?: Transport): Promise<number> => {
    const { dependencies, create, network, stored } = await installed([wide], over)
    await create('a', { size: 7 })
    const before = await stored()
    let count = 0
    network.intercept = async (request, next) => {
      if (!request.path.includes('limit=500')) return await next(request)
      count++
      return await (answer ?? next)(request)
    }
    await createCrds([ours], dependencies, never)
    assert.deepEqual(await stored(), before)
    return count
  }
  assert.equal(await lists(zoned, {}), 0)
  assert.equal(await lists(narrow, { narrow: true }), 0)
  assert.equal(await lists(narrow, { optional: true }), 0)
  await assert.rejects(lists(narrow, {}), /1 of 1 stored objects don't fit it/)
  await assert.rejects(lists(narrow, {}, () => Promise.resolve(refusal(403, 'Forbidden'))), /Forbidden/)
  assert.equal(await lists(narrow, {}, () => Promise.resolve(refusal(404, 'NotFound'))), 1, 'not served yet')
})

test('an optional cluster whose definition would be refused stops neither the replica nor its caches', async () => {
  const [world, far] = [setup(), await installed()]
  await far.create('a', { size: 7 })
  const app = operator({ name: 'sites', leaderElection: true })
  const west = app.cluster('west', { server: 'https://127.0.0.1:1' }, { optional: true })
  const seen: string[] = []
  const map = ({ metadata }: { metadata: { name: string } }): [] => (seen.push(metadata.name), [])
  app.controllerFor(ConfigMap, { everyReplica: true }).watches(narrow, map, { cluster: west }).reconcile(async () => {})
  const one = replica(world, 'one', app, { transports: { west: far.network.transport } })
  await world.clock.advance(5000)
  assert.deepEqual([seen, one.outcome], [['a'], undefined])
  assert.match(
    one.lines.join('\n'),
    /warn The controllers of the cluster "west" wait for its definitions: Cannot install/,
  )
  await end(world, one)
})

test("the CRDs are installed before the leader's work starts; work on every replica does not wait", async () => {
  const world = await installed()
  await world.create('a', { size: 1 })
  const told: string[] = []
  const tell = async (what: string): Promise<void> =>
    void told.push(`${what}: ${jsonEqual(schemaOf(await world.stored()), definitionOf(zoned)) ? 'new' : 'old'}`)
  const app = operator({ name: 'sites', leaderElection: true }).controllerFor(zoned).reconcile(() => tell('controller'))
  app.controllerFor(zoned, { name: 'everywhere', everyReplica: true }).reconcile(() => tell('everywhere'))
  app.add('task', async ({ signal }) => {
    await tell('task')
    await aborted(signal)
  })
  app.extend(({ manager }) =>
    manager.add({
      name: 'own',
      start: async (signal) => {
        await tell('runnable')
        await aborted(signal)
      },
    })
  )
  const gate = new Latch()
  const slow: Transport = async (request) => {
    if (request.method === 'PUT' && request.path.startsWith(CRD_PATH)) await gate.opened
    return await world.server.handle(request)
  }
  const one = replica(world, 'one', app, { transport: slow })
  await world.clock.advance(5000)
  assert.deepEqual(told, ['everywhere: old'])
  gate.open()
  await world.clock.advance(5000)
  assert.deepEqual(told.filter((line) => !line.startsWith('everywhere')).toSorted(), [
    'controller: new',
    'runnable: new',
    'task: new',
  ])
  assert.equal(one.outcome, undefined)
  await end(world, one)
  assert.equal(one.outcome, 'resolved')
})

test('without an election the CRDs are changed before anything starts, also the caches', async () => {
  const world = await installed()
  const one = replica(world, 'one', appOf(site({ size: z.int() }), false))
  await world.clock.advance(1000)
  const sent = one.network.take()
  const put = sent.indexOf(`PUT ${CRD_PATH}/sites.example.com`)
  const watch = one.network.requests.findIndex(({ path }) => path.includes('watch='))
  assert.ok(put >= 0 && watch > put, sent.join('\n'))
  await end(world, one)
})

test('a leader that loses the lease while it checks stored objects does not change the CRD', async () => {
  const world = await installed()
  await world.create('a', { size: 1 })
  let [isLeading, isCut] = [false, false]
  const gate = new Latch()
  const transport: Transport = async (request) => {
    if (isCut && request.path.includes('/leases')) return await silence(request)
    isLeading ||= request.path.includes('/leases')
    // A request of the leader's check, not of the earlier one or of a cache.
    if (isLeading && request.path.includes('limit=500') && !request.path.includes('resourceVersion')) {
      const response = await world.server.handle({ ...request, signal: undefined })
      await gate.opened
      return response
    }
    return await world.server.handle(request)
  }
  const one = replica(world, 'one', appOf(narrow), { transport })
  await world.clock.advance(3000)
  assert.match(one.lines.join('\n'), /Leading/)
  isCut = true
  await world.clock.advance(20_000)
  gate.open()
  await world.clock.advance(1000)
  assert.match(messageOf(one.outcome), /lease/i)
  assert.deepEqual(writes(one.network).filter((line) => line.includes(CRD_PATH)), [])
  assert.ok(jsonEqual(schemaOf(await world.stored()), definitionOf(wide)))
})

test('a leader that cannot install its CRDs any more ends with the reason, before its work starts', async () => {
  const world = setup()
  const other = replica(world, 'other', appOf(wide))
  await world.clock.advance(3000)
  const runs: string[] = []
  const app = operator({ name: 'sites', leaderElection: true })
  app.controllerFor(narrow).reconcile(async ({ metadata }) => void runs.push(metadata.name))
  const one = replica(world, 'one', app)
  await world.clock.advance(3000)
  // It was ready when all objects fitted its schema.
  assert.match(one.lines.join('\n'), /Waiting for the lease/)
  await world.create('a', { size: 7 })
  await end(world, other)
  assert.match(messageOf(one.outcome), /1 of 1 stored objects don't fit it: Site "default\/a"/)
  assert.deepEqual(runs, [])
  const told = replica(world, 'two', app, { crds: { mode: 'install', narrow: true } })
  await world.clock.advance(60_000)
  assert.deepEqual([told.outcome, runs], [undefined, ['a']])
  await end(world, told)
})

test("the operator's option crds applies unless the start overrides it", async () => {
  for (const leaderElection of [false, true]) {
    const world = await installed()
    await world.create('a', { size: 7 })
    const app = operator({ name: 'sites', leaderElection, crds: { mode: 'install', narrow: true } })
    app.controllerFor(narrow).reconcile(async () => {})
    const one = replica(world, 'one', app, { crds: undefined } as StartOptions)
    await world.clock.advance(5000)
    assert.ok(jsonEqual(schemaOf(await world.stored()), definitionOf(narrow)))
    await end(world, one)
  }
})

test('in every cluster the CRDs of the watched kinds are installed, and changed only by the leader', async () => {
  const [world, far] = [setup(), await installed()]
  const later = site({ size: z.int() })
  const make = (): Operator => {
    const app = operator({ name: 'sites', leaderElection: true })
    const west = app.cluster('west', { server: 'https://127.0.0.1:1' })
    app.controllerFor(ConfigMap).watches(later, () => [], { cluster: west }).reconcile(async () => {})
    return app
  }
  const other = replica(world, 'other', appOf(wide))
  await world.clock.advance(1000)
  const one = replica(world, 'one', make(), { transports: { west: far.network.transport } })
  far.network.take()
  await world.clock.advance(5000)
  assert.deepEqual(writes(far.network), [])
  await end(world, other)
  assert.deepEqual(writes(far.network), [`PUT ${CRD_PATH}/sites.example.com`])
  assert.ok(jsonEqual(schemaOf(await far.stored()), definitionOf(later)))
  const put = far.network.requests.find(({ method }) => method === 'PUT')!
  assert.ok(put.beforeSend, 'fenced by the lease, which is elsewhere')
  assert.notEqual((bodyOf(put) as Stored).metadata.resourceVersion, undefined)
  await end(world, one)
})
