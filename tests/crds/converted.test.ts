/** CRDs of kinds whose versions are converted: which replica writes what, while old and new replicas run. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineResource } from 'kubeloop'
import { ApiServer } from 'kubeloop/apiserver'
import { FakeClock } from 'kubeloop/testing'
import * as z from 'zod'
import { nextTurn } from '../../lib/async/clock.ts'
import { Api } from '../../lib/client/api.ts'
import { CRD, type CustomResourceConversion, type DefinedResource } from '../../lib/core/resource.ts'
import { createCrds, installCrds } from '../../lib/crds/install.ts'
import { verifyCrds } from '../../lib/crds/verify.ts'
import { describeConversion } from '../../lib/schema/conversions.ts'
import { answer, type Recorder, recorder, refusal } from '../client/transports.ts'
import { only } from '../operator/starting.ts'
import { recordingLog } from '../manager/parts.ts'

const TARGET = { resource: CRD, name: 'sites.example.com' }
const never = new AbortController().signal
const common = { group: 'example.com', kind: 'Site' } as const
const old = (size = 10): DefinedResource =>
  defineResource({
    ...common,
    version: 'v1alpha1',
    spec: z.object({ size: z.int().max(size), zone: z.string().optional() }),
  })
const Old = old()
const HUB_SPEC = z.object({ sizes: z.array(z.int().max(10)), issuer: z.string().optional() })
const Hub = defineResource({ ...common, version: 'v1', spec: HUB_SPEC })
const convert = (): never => assert.fail('the installation converts nothing')
const up = (object: object) => {
  const { size } = (object as { readonly spec: { readonly size: number } }).spec
  if (size < 0) throw new Error(`${size} is no size`)
  return { spec: { sizes: [size] } }
}
const conversions = [describeConversion(Old, Hub, { up, down: convert })]

function webhook(url = 'https://127.0.0.1:9443/convert', caBundle?: string): CustomResourceConversion {
  const clientConfig = { url, ...(caBundle !== undefined && { caBundle }) }
  return { strategy: 'Webhook', webhook: { conversionReviewVersions: ['v1'], clientConfig } }
}

interface Stored {
  readonly metadata: { readonly generation: number }
  readonly spec: {
    readonly conversion: CustomResourceConversion | { readonly strategy: 'None' }
    readonly versions: {
      readonly name: string
      readonly served: boolean
      readonly storage: boolean
      readonly schema: { readonly openAPIV3Schema: Readonly<Record<string, unknown>> }
    }[]
  }
  readonly status: { readonly storedVersions: readonly string[] }
}

interface Setup {
  readonly api: Api
  readonly lines: string[]
  readonly network: Recorder
  readonly before: Parameters<typeof installCrds>[1]
  readonly after: Parameters<typeof installCrds>[1]
  stored(): Promise<Stored>
  create(name: string, size: number): Promise<unknown>
  /** Returns the versions as `v1 stored`, with `read-only` for those that refuse writes. */
  outline(): Promise<string[]>
  writes(): string[]
}

function setup(conversion: CustomResourceConversion | undefined = webhook()): Setup {
  const clock = new FakeClock()
  const server = new ApiServer({ clock })
  const network = recorder(server.handle)
  const api = new Api({ transport: server.handle })
  const lines: string[] = []
  const before = {
    api: new Api({ transport: network.transport }),
    clock,
    log: recordingLog(lines),
    fieldManager: 'test',
  }
  const stored = async (): Promise<Stored> => (await api.get(TARGET)) as unknown as Stored
  return {
    api,
    lines,
    network,
    before,
    after: { ...before, conversions, conversion },
    stored,
    async create(name, size) {
      const metadata = { namespace: 'default', name }
      await api.create({ resource: Old, namespace: 'default', name }, { metadata, spec: { size } }, {})
    },
    async outline() {
      return (await stored()).spec.versions.map(({ name, served, storage, schema }) =>
        [
          name,
          storage && 'stored',
          !served && 'unserved',
          JSON.stringify(schema).includes('read-only until') && 'read-only',
        ].filter(Boolean).join(' ')
      )
    },
    writes: () => network.take().filter((line) => !line.startsWith('GET')),
  }
}

/** A cluster with the definitions of a release, whose requests and lines begin after that. */
async function released(kinds: readonly DefinedResource[], conversion?: CustomResourceConversion): Promise<Setup> {
  const made = setup(conversion)
  await installCrds(kinds, kinds.includes(Hub) ? made.after : made.before, never)
  made.writes()
  made.lines.length = 0
  return made
}

const schemaOf = ({ definition }: DefinedResource): unknown => definition.crd.spec.versions[0]!.schema.openAPIV3Schema

test('a missing CRD is created with the conversion and the hub as the stored version, by any replica', async () => {
  for (const prepare of [createCrds, installCrds]) {
    const { after, outline, stored, lines } = setup()
    // The old version need not be watched.
    await prepare([Hub], after, never)
    assert.deepEqual(await outline(), ['v1 stored', 'v1alpha1'])
    assert.deepEqual((await stored()).spec.conversion, webhook())
    assert.deepEqual(lines, ['info Installed sites.example.com/v1,v1alpha1'])
  }
})

test('beside an old leader, a new replica adds the hub: readable by conversion, not writable, and not stored', async () => {
  const { after, outline, stored, writes } = await released([Old])
  await createCrds([Hub], after, never)
  assert.deepEqual(await outline(), ['v1alpha1 stored', 'v1 read-only'])
  const { spec, status } = await stored()
  assert.deepEqual([spec.conversion, status.storedVersions], [webhook(), ['v1alpha1']])
  const [, { schema }] = spec.versions as [unknown, Stored['spec']['versions'][0]]
  const { 'x-kubernetes-validations': rules, ...rest } = schema.openAPIV3Schema
  assert.deepEqual(rest, schemaOf(Hub))
  assert.deepEqual(rules, [{
    rule: 'false',
    message: "v1 is read-only until the operator's leader has installed it",
    reason: 'FieldValueForbidden',
    fieldPath: '.spec',
  }])
  writes()
  await createCrds([Hub], after, never)
  assert.deepEqual(writes(), [], 'a second replica')
})

test('the new leader stores the hub, makes it writable, and keeps the old version', async () => {
  const { after, outline, stored, writes, lines } = await released([Old])
  await createCrds([Hub], after, never)
  lines.length = 0
  await installCrds([Hub], after, never)
  assert.deepEqual(await outline(), ['v1 stored', 'v1alpha1'])
  const { spec, status } = await stored()
  assert.deepEqual([spec.conversion, status.storedVersions], [webhook(), ['v1alpha1', 'v1']])
  assert.deepEqual(spec.versions.map(({ schema }) => schema.openAPIV3Schema), [schemaOf(Hub), schemaOf(Old)])
  assert.deepEqual(lines, ['info Updated sites.example.com/v1,v1alpha1'])
  writes()
  await installCrds([Hub], after, never)
  await createCrds([Hub], after, never)
  assert.deepEqual(writes(), [], 'the next term')
})

test('an old replica that leads again cannot remove a hub in which objects may be stored', async () => {
  const { before, after, outline } = await released([Old])
  await installCrds([Hub], after, never)
  for (const prepare of [createCrds, installCrds]) {
    await assert.rejects(
      prepare([Old], before, never),
      /objects may be stored as v1, which nothing in this operator uses; name it in app\.cache\(Kind\), or in app\.convert\(\), .*, or run the newer release$/,
    )
  }
  assert.deepEqual(await outline(), ['v1 stored', 'v1alpha1'])
})

test('a new replica adds a hub again that an old leader removed before anything was stored in it', async () => {
  const { before, after, outline } = await released([Old])
  await createCrds([Hub], after, never)
  await installCrds([Old], before, never)
  assert.deepEqual(await outline(), ['v1alpha1 stored'])
  await createCrds([Hub], after, never)
  assert.deepEqual(await outline(), ['v1alpha1 stored', 'v1 read-only'])
})

test('a replica that does not lead leaves the address of a webhook, and the leader replaces it', async () => {
  const { before, after, stored } = setup(webhook('https://new.example/convert', 'bmV3'))
  await installCrds([Hub], { ...after, conversion: webhook('https://old.example/convert', 'b2xk') }, never)
  await createCrds([Hub], after, never)
  assert.deepEqual((await stored()).spec.conversion, webhook('https://old.example/convert', 'b2xk'))
  await installCrds([Hub], after, never)
  assert.deepEqual((await stored()).spec.conversion, webhook('https://new.example/convert', 'bmV3'))
  await installCrds([defineResource({ ...common, kind: 'Page', version: 'v1', spec: z.object({}) })], before, never)
})

test('a webhook that does not convert is replaced by any replica: without a cache, no leader could be elected', async () => {
  for (const [code, reason] of [[500, ''], [429, 'TooManyRequests']] as const) {
    const { after, stored, network, writes } = setup(webhook('https://new.example/convert'))
    await installCrds([Hub], { ...after, conversion: webhook('https://gone.example/convert', 'Y2E=') }, never)
    network.intercept = async (request, next) => {
      const { spec } = await stored()
      const isGone = JSON.stringify(spec.conversion).includes('gone.example')
      return isGone && request.path.startsWith('/apis/example.com/v1/')
        ? refusal(code, reason, {}, 'conversion webhook for example.com/v1alpha1, Kind=Site failed: no such host')
        : await next(request)
    }
    writes()
    await createCrds([Hub], after, never)
    assert.deepEqual((await stored()).spec.conversion, webhook('https://new.example/convert', 'Y2E='))
    assert.equal(writes().length, 1)
    await createCrds([Hub], after, never)
    assert.deepEqual(writes(), [])
  }
})

test('objects are read until one needs the webhook, if the version in which it is stored is not read itself', async () => {
  for (const over of [{ deprecated: true }, { served: false }]) {
    const From = defineResource({ ...common, version: 'v1alpha1', ...over, spec: z.object({ size: z.int().max(10) }) })
    const { before, after, api, stored, network } = setup(webhook('https://new.example/convert'))
    const site = (version: string, name: string, spec: object) =>
      api.create({ resource: { ...Hub, version }, namespace: 'default' }, {
        metadata: { namespace: 'default', name },
        spec,
      }, {})
    await installCrds([Old], before, never)
    await site('v1alpha1', 'b', { size: 1 })
    const mixed = { ...after, conversions: [describeConversion(From, Hub, { up, down: convert })] }
    await installCrds([Hub], { ...mixed, conversion: webhook('https://gone.example/convert') }, never)
    network.take()
    await site('v1', 'a', { sizes: [1] })
    network.intercept = async (request, next) => {
      const isGone = JSON.stringify((await stored()).spec.conversion).includes('gone.example')
      if (!request.path.startsWith('/apis/example.com/')) return await next(request)
      assert.match(request.path, /^\/apis\/example\.com\/v1\//)
      if (request.path.includes('continue=')) {
        return refusal(500, '', {}, 'conversion webhook for example.com/v1alpha1, Kind=Site failed: no such host')
      }
      const metadata = isGone ? { continue: 'next' } : {}
      return answer(200, { kind: 'SiteList', apiVersion: 'example.com/v1', metadata, items: [] })
    }
    await createCrds([Hub], mixed, never)
    assert.deepEqual((await stored()).spec.conversion, webhook('https://new.example/convert'))
  }
})

test('certificates that another writer injected are kept', async () => {
  const { after, stored, api, writes } = await released([Hub])
  await api.patch(TARGET, 'merge', { spec: { conversion: webhook(undefined, 'Y2E=') } }, {})
  await installCrds([Hub], after, never)
  assert.deepEqual([(await stored()).spec.conversion, writes()], [webhook(undefined, 'Y2E='), []])
  await installCrds([Hub], { ...after, conversion: webhook('https://moved.example/convert') }, never)
  assert.deepEqual((await stored()).spec.conversion, webhook('https://moved.example/convert', 'Y2E='))
  // CAs of replicas that are called at another address are not ours to add to.
  const mergeCas = (stored: string, ours: string): string => ours + stored
  for (const [url, ca] of [['https://moved.example/convert', 'b3VyY2E='], ['https://next.example/convert', 'b3Vy']]) {
    await installCrds([Hub], { ...after, mergeCas, conversion: webhook(url, 'b3Vy') }, never)
    assert.deepEqual((await stored()).spec.conversion, webhook(url, ca))
    await api.patch(TARGET, 'merge', { spec: { conversion: webhook('https://moved.example/convert', 'Y2E=') } }, {})
  }
  // Pods of both releases are behind a Service, whatever its port is.
  const at = (port: number, caBundle: string): CustomResourceConversion => {
    const clientConfig = { service: { namespace: 'here', name: 'hooks', port, path: '/convert' }, caBundle }
    return { strategy: 'Webhook', webhook: { conversionReviewVersions: ['v1'], clientConfig } }
  }
  const { webhook: { clientConfig } } = at(443, 'Y2E=')
  await api.patch(TARGET, 'merge', {
    spec: { conversion: { webhook: { clientConfig: { ...clientConfig, url: null } } } },
  }, {})
  await installCrds([Hub], { ...after, mergeCas, conversion: at(8443, 'b3Vy') }, never)
  assert.deepEqual((await stored()).spec.conversion, at(8443, 'b3VyY2E='))
})

test('a version that is switched off is served again, unless it is defined as not served', async () => {
  const hidden = defineResource({ ...common, version: 'v1alpha1', served: false, spec: z.object({ size: z.int() }) })
  const { after, outline, api } = setup()
  const own = { ...after, conversions: [describeConversion(hidden, Hub, { up: convert, down: convert })] }
  await installCrds([Hub], own, never)
  assert.deepEqual(await outline(), ['v1 stored', 'v1alpha1 unserved'])
  await api.patch(TARGET, 'json', [{ op: 'replace', path: '/spec/versions/0/served', value: false }], {})
  await createCrds([Hub], own, never)
  assert.deepEqual(await outline(), ['v1 stored', 'v1alpha1 unserved'])
  await api.patch(TARGET, 'json', [{ op: 'replace', path: '/spec/versions/1/served', value: true }], {})
  await createCrds([Hub], own, never)
  assert.deepEqual(await outline(), ['v1 stored', 'v1alpha1'], 'another replica may need it')
})

test('a replica that does not lead serves again only what its own caches need', async () => {
  const { after, outline, api } = await released([Hub])
  const Page = defineResource({ ...common, kind: 'Page', version: 'v1alpha1', spec: z.object({}) })
  const takeOut = (at: number) =>
    api.patch(TARGET, 'json', [{ op: 'replace', path: `/spec/versions/${at}/served`, value: false }], {})
  await takeOut(1)
  await createCrds([Hub, Old], { ...after, watched: [Hub, Page] }, never)
  assert.deepEqual(await outline(), ['v1 stored', 'v1alpha1 unserved'])
  await api.patch(TARGET, 'json', [{ op: 'remove', path: '/spec/versions/1' }], {})
  await createCrds([Hub, Old], { ...after, watched: [Hub] }, never)
  assert.deepEqual(await outline(), ['v1 stored'])
  await createCrds([Hub, Old], { ...after, watched: [Old] }, never)
  assert.deepEqual(await outline(), ['v1 stored', 'v1alpha1 read-only'])
  await takeOut(1)
  await createCrds([Hub, Old], { ...after, watched: [Old] }, never)
  assert.deepEqual(await outline(), ['v1 stored', 'v1alpha1 read-only'])
})

test('an installation that is refused leaves the address of the conversion, whether that converts or not', async () => {
  const text = 'conversion webhook for example.com/v1alpha1, Kind=Site failed: no such host'
  for (const converts of [true, false]) {
    const { after, create, stored, network, writes } = await released(
      [Old],
      webhook('https://new.example/convert'),
    )
    await create('a', 7)
    await installCrds([Hub], { ...after, conversion: webhook('https://old.example/convert', 'Y2E=') }, never)
    const { spec } = await stored()
    const isOld = async (): Promise<boolean> => JSON.stringify((await stored()).spec.conversion).includes('old.example')
    network.intercept = async (request, next) =>
      !converts && request.path.startsWith('/apis/example.com/v1alpha1/') && await isOld()
        ? refusal(500, '', {}, text)
        : await next(request)
    writes()
    const narrower = { ...after, conversions: [describeConversion(old(5), Hub, { up: convert, down: convert })] }
    await assert.rejects(installCrds([Hub], narrower, never), /the schema of v1alpha1 becomes narrower/)
    assert.deepEqual((await stored()).spec, spec)
    assert.equal(writes().length, converts ? 0 : 2)
    const updates = network.requests.filter(({ method }) => method === 'PUT')
    assert.ok(updates.every(({ path }) => path.includes('fieldManager=test')))
  }
})

/** A release that has no conversion any more, in the namespace `here`. */
const unconverted = (dependencies: Setup['before']): Setup['before'] => ({
  ...dependencies,
  leftovers: { namespace: 'here', hasWebhooks: true },
})
const byService = (namespace: string, name: string): CustomResourceConversion => ({
  strategy: 'Webhook',
  webhook: {
    conversionReviewVersions: ['v1'],
    clientConfig: { service: { namespace, name, port: 443, path: '/convert' } },
  },
})

const LEFT: readonly (readonly [string, CustomResourceConversion, string, boolean])[] = [
  ['its own, by the field manager', webhook(), 'test', true],
  ['its own, by the field manager, at any of its Services', byService('here', 'hooks'), 'test', true],
  ['its own, by the address, which others applied', byService('here', 'test'), 'kubectl', true],
  ['that of another writer', webhook(), 'other', false],
  ['that of another Service', byService('here', 'other'), 'other', false],
  ['that of an instance of the same name in another namespace', byService('there', 'test'), 'test', false],
]

for (const [whose, conversion, fieldManager, isOwn] of LEFT) {
  test(`a release without a conversion ${isOwn ? 'takes away' : 'leaves'} ${whose}`, async () => {
    const { before, after, stored, lines } = setup(conversion)
    await installCrds([Hub], { ...after, fieldManager }, never)
    lines.length = 0
    await verifyCrds([Hub], unconverted(before), never)
    const command =
      `kubectl patch crd sites.example.com --type json -p '[{"op":"replace","path":"/spec/conversion","value":{"strategy":"None"}}]'`
    assert.deepEqual(lines.map((line) => line.includes(command)), isOwn ? [true] : [])
    await createCrds([Hub], unconverted(before), never)
    assert.deepEqual((await stored()).spec.conversion, conversion, 'it converts')
    await installCrds([Hub], { ...before }, never)
    assert.deepEqual((await stored()).spec.conversion, conversion, 'in another cluster, nothing is its own')
    await installCrds([Hub], unconverted(before), never)
    assert.deepEqual((await stored()).spec.conversion, isOwn ? { strategy: 'None' } : conversion)
  })
}

test('the release that first served a version can be rolled back, whether its conversion answers or not', async () => {
  for (const answers of [true, false]) {
    const { before, after, create, outline, stored, network, lines } = await released([Old])
    await create('a', 7)
    // The version of the higher priority is not stored yet.
    const introduced = describeConversion(Hub, Old, { up: convert, down: convert })
    await installCrds([Old], { ...after, conversions: [introduced] }, never)
    assert.deepEqual(await outline(), ['v1', 'v1alpha1 stored'])
    network.intercept = async (request, next) => {
      if (!request.path.startsWith('/apis/example.com/v1/')) return await next(request)
      if ((await stored()).spec.conversion.strategy === 'None') return await next(request)
      if (!answers) return refusal(500, '', {}, 'conversion webhook for example.com/v1, Kind=Site failed: refused')
      const metadata = { namespace: 'default', name: 'a' }
      return answer(200, { metadata: {}, items: [{ metadata, spec: { sizes: [7] } }] })
    }
    lines.length = 0
    await createCrds([Old], unconverted(before), never)
    await installCrds([Old], unconverted(before), never)
    assert.deepEqual(await outline(), ['v1alpha1 stored'])
    assert.deepEqual((await stored()).spec.conversion, { strategy: 'None' })
  }
})

test('any replica of a release without a conversion removes one that does not answer, with the versions that need it', async () => {
  const { before, after, outline, stored, network } = setup()
  const Next = defineResource({ ...common, version: 'v2', spec: HUB_SPEC })
  await installCrds([Hub], after, never)
  const text = 'conversion webhook for example.com/v1, Kind=Site failed: connection refused'
  network.intercept = async (request, next) =>
    request.path.startsWith('/apis/example.com/') && (await stored()).spec.conversion?.strategy === 'Webhook'
      ? refusal(500, '', {}, text)
      : await next(request)
  await createCrds([Hub, Next], unconverted(before), never)
  assert.deepEqual(await outline(), ['v1 stored', 'v1alpha1 unserved', 'v2'])
  assert.deepEqual((await stored()).spec.conversion, { strategy: 'None' })
})

test('conversions without a webhook server are refused before anything is written', async () => {
  for (const prepare of [createCrds, installCrds]) {
    const { after, network } = setup()
    await assert.rejects(prepare([Hub], { ...after, conversion: undefined }, never), {
      message:
        'Cannot install CustomResourceDefinition "sites.example.com": its versions are converted, and the operator serves no webhooks',
    })
    assert.deepEqual(network.take(), [])
  }
})

test('each version is checked for stored objects that its own new schema does not fit', async () => {
  const { after, create, stored } = await released([Old])
  await create('a', 7)
  await installCrds([Hub], after, never)
  const narrower = { ...after, conversions: [describeConversion(old(5), Hub, { up, down: convert })] }
  const { spec } = await stored()
  for (const prepare of [createCrds, installCrds]) {
    await assert.rejects(
      prepare([Hub], narrower, never),
      /^Error: Cannot install .*: the schema of v1alpha1 becomes narrower \(maximum of spec\.size is 5, not 10\), and 1 of 1 stored objects don't fit it: Site "default\/a" \(spec\.size: /,
    )
  }
  assert.deepEqual((await stored()).spec, spec)
  await installCrds([Hub], { ...narrower, narrow: true }, never)
  assert.notDeepEqual((await stored()).spec, spec)
})

test('a version that is not served keeps its schema while objects may be stored in it: they cannot be checked', async () => {
  const hidden = (spec: z.ZodObject) => ({
    conversions: [
      describeConversion(defineResource({ ...common, version: 'v1alpha1', served: false, spec }), Hub, {
        up,
        down: convert,
      }),
    ],
  })
  const wide = z.object({ size: z.int().max(10), zone: z.string().optional() })
  const narrow = z.object({ size: z.int().max(10) })
  const { after, create, stored, lines, api } = await released([Old])
  await create('a', 7)
  await installCrds([Hub], { ...after, ...hidden(wide) }, never)
  const { spec } = await stored()
  for (const prepare of [createCrds, installCrds]) {
    await assert.rejects(
      prepare([Hub], { ...after, ...hidden(narrow) }, never),
      /the schema of v1alpha1 becomes narrower \(spec\.zone is missing\), and objects may be stored as v1alpha1, which must be served to check them;/,
    )
  }
  assert.deepEqual((await stored()).spec, spec)
  lines.length = 0
  await installCrds([Hub], { ...after, ...hidden(narrow), narrow: true }, never)
  assert.match(lines[0]!, /^warn .* objects may be stored as v1alpha1, which must be served to check them$/)
  await installCrds([Hub], { ...after, ...hidden(wide) }, never)
  await api.patch({ ...TARGET, subresource: 'status' }, 'merge', { status: { storedVersions: ['v1'] } }, {})
  await installCrds([Hub], { ...after, ...hidden(narrow) }, never)
})

test('a hub is not added or stored while up() fails for a stored object; the first are named', async () => {
  const make = async (): Promise<Setup> => {
    const made = setup()
    await installCrds([Old], made.before, never)
    return made
  }
  for (const prepare of [createCrds, installCrds]) {
    const { after, create, stored, network } = await make()
    const { spec } = await stored()
    for (let at = 1; at <= 7; at++) await create(`bad-${at}`, -at)
    await create('good', 1)
    const named = [1, 2, 3, 4, 5].map((at) => `Site "default/bad-${at}" (-${at} is no size)`).join(', ')
    for (const narrow of [false, true]) {
      await assert.rejects(prepare([Hub], { ...after, narrow }, never), {
        message:
          'Cannot install CustomResourceDefinition "sites.example.com": up() of v1alpha1 fails for 7 of 8 stored ' +
          `objects, and no list in v1 could show any: ${named}, …; change or delete them, or mend up()`,
      })
    }
    assert.deepEqual((await stored()).spec, spec)
    network.intercept = only(/ \/apis\/example\.com\/v1alpha1\//, () => Promise.resolve(refusal(403, 'Forbidden')))
    await prepare([Hub], after, never)
    assert.deepEqual((await stored()).spec.versions.length, 2, 'a role may lack the right to list in all namespaces')
  }
  // The old leader goes on with its version, so the next leader checks again, and others do until the hub is stored.
  const { after, create, outline } = await make()
  await createCrds([Hub], after, never)
  await create('late', -1)
  for (const prepare of [createCrds, installCrds]) {
    await assert.rejects(
      prepare([Hub], after, never),
      /1 of 1 stored objects.*"default\/late" \(-1 is no size\); change/,
    )
  }
  assert.deepEqual(await outline(), ['v1alpha1 stored', 'v1 read-only'])
  const by = (up: (object: never) => never) => [describeConversion(Old, Hub, { up, down: convert })]
  await installCrds([Hub], { ...after, conversions: by(() => ({ spec: { sizes: [] } }) as never) }, never)
  // Once the hub is stored, refusing would end the only replicas that can convert.
  for (const prepare of [createCrds, installCrds]) await prepare([Hub], { ...after, conversions: by(convert) }, never)
})

test('only versions are converted in which objects may be stored, by the conversions of their own kind', async () => {
  const { before, after, outline, create, network } = setup()
  const Beta = defineResource({ ...common, version: 'v1beta1', spec: Old.definition.schemas!.spec as z.ZodObject })
  const [Other, OtherHub] = [Beta, Hub].map(({ version }) =>
    defineResource({ ...common, kind: 'Other', version, spec: z.object({}) })
  ) as unknown as [DefinedResource, DefinedResource]
  await installCrds([Old, Beta], before, never)
  await create('a', 1)
  const own = [
    describeConversion(Other, OtherHub, { up: convert, down: convert }),
    describeConversion(Old, Hub, { up: convert, down: convert }),
    describeConversion(Beta, Hub, { up, down: convert }),
  ]
  network.intercept = only(/ \/apis\/example\.com\/v1beta1\//, () => Promise.resolve(refusal(500, '')))
  await assert.rejects(createCrds([Hub], { ...after, conversions: own }, never), { code: 500 })
  network.intercept = undefined
  await createCrds([Hub], { ...after, conversions: own }, never)
  assert.deepEqual(await outline(), ['v1beta1 stored', 'v1alpha1', 'v1 read-only'])
})

test('the check of stored objects waits 10 s for the conversion; one before the lease is left to the leader', async () => {
  const { before, after, network } = await released([Hub])
  const text = 'conversion webhook for example.com/v1alpha1, Kind=Site failed: no endpoints available'
  network.intercept = only(/ \/apis\/example\.com\/v1alpha1\//, () => Promise.resolve(refusal(500, '', {}, text)))
  const narrower = { ...after, conversions: [describeConversion(old(5), Hub, { up, down: convert })] }
  const clock = before.clock as FakeClock
  const beganMs = clock.monotonic()
  await createCrds([Hub], { ...narrower, conversion: webhook('https://new.example') }, never)
  assert.equal(clock.monotonic(), beganMs, 'the webhook may be its own, which the server calls only when it is ready')
  let failed: Error | undefined
  installCrds([Hub], narrower, never).catch((error: Error) => (failed = error))
  while (!failed) await (clock.pending > 0 ? clock.advance(250) : nextTurn())
  assert.match(failed.message, /no endpoints available/)
  assert.equal(clock.monotonic() - beganMs, 10_000)
})

test('verify requires the conversion, and not its address', async () => {
  const { after, api } = await released([Old])
  await createCrds([Hub], after, never)
  await installCrds([Hub], after, never)
  await verifyCrds([Hub], { ...after, conversion: webhook('https://other.example') }, never)
  await verifyCrds([Hub], { ...after, conversion: undefined }, never)
  await api.patch(TARGET, 'merge', { spec: { conversion: { strategy: 'None', webhook: null } } }, {})
  await assert.rejects(verifyCrds([Hub], { ...after, serviceNamespace: 'there' }, never), {
    message: 'Cannot start: CustomResourceDefinition "sites.example.com" in this cluster does not fit this operator: ' +
      'its conversion strategy is None, not Webhook; install it: `kubeloop crd FILE --namespace there | kubectl apply -f -` ' +
      `(crds: 'install' does that at start)`,
  })
})

test('a kind is served although its conversion does not answer yet', async () => {
  for (const [code, reason] of [[500, ''], [429, 'TooManyRequests']] as const) {
    const { after, network, outline } = setup()
    const text = 'conversion webhook for example.com/v1alpha1, Kind=Site failed: Post "https://127.0.0.1:9443": refused'
    network.intercept = only(/ \/apis\/example\.com\/v1\//, () => Promise.resolve(refusal(code, reason, {}, text)))
    await installCrds([Hub], after, never)
    assert.deepEqual(await outline(), ['v1 stored', 'v1alpha1'])
    network.take()
    await createCrds([Hub], after, never)
    const lists = network.take().filter((line) => line.startsWith('GET /apis/example.com/v1/'))
    assert.equal(lists.length, 1, 'a server may take 3 s for each')
  }
})

test('a difference to the installed version of the same name is logged by a replica that does not lead', async () => {
  const { before, after, lines } = setup()
  await installCrds([old(9)], before, never)
  lines.length = 0
  await createCrds([Hub], after, never)
  assert.deepEqual(lines, [
    'info CustomResourceDefinition "sites.example.com" in this cluster differs from that of this replica: maximum of spec.size is 9, not 10; the leader installs its own',
    'info Updated sites.example.com/v1,v1alpha1',
  ])
})
