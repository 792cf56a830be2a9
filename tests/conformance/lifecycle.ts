/** Cases of what a CustomResourceDefinition does: columns, field selectors, warnings, names, versions and deletion. */
import assert from 'node:assert/strict'
import { Foo } from '../../examples/1_sample_controller.ts'
import { Bucket } from '../../examples/3_external_bucket.ts'
import { Claim, Pool } from '../../examples/4_pools_and_claims.ts'
import { Site } from '../../examples/8_site_webhooks.ts'
import { type Api, type Body, type Case, CRDS, MERGE } from './api.ts'

const TEXT = { type: 'string' }
const SCHEMA = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        n: { type: 'integer' },
        s: TEXT,
        b: { type: 'boolean' },
        d: { type: 'number' },
        date: { type: 'string', format: 'date-time' },
        l: { type: 'array', items: { type: 'object', properties: { k: TEXT, v: TEXT } } },
        m: { type: 'object', additionalProperties: TEXT },
      },
    },
    status: { type: 'object', default: {}, properties: { phase: { type: 'string', default: 'New' } } },
  },
}

interface Made {
  readonly name: string
  readonly path: string
  object(name: string, spec?: unknown, more?: Body): Body
}

let count = 0

async function install(api: Api, version: Body = {}, names: Body = {}): Promise<Made> {
  const plural = `lives${count++}x${api.namespace.replaceAll('-', '')}`
  const kind = `Life${plural}`
  const name = `${plural}.${api.group}`
  const versions = [{
    name: 'v1',
    served: true,
    storage: true,
    schema: { openAPIV3Schema: SCHEMA },
    subresources: { status: {} },
    ...version,
  }]
  const crd = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name },
    spec: { group: api.group, scope: 'Cluster', names: { plural, kind, ...names }, versions },
  }
  await api.expect(201, 'POST', CRDS, crd)
  const path = `/apis/${api.group}/v1/${plural}`
  const object = (named: string, spec: unknown = {}, more: Body = {}): Body => ({
    apiVersion: `${api.group}/v1`,
    kind,
    metadata: { name: named },
    spec,
    ...more,
  })
  return { name, path, object }
}

async function served(api: Api, { path, object }: Made): Promise<void> {
  for (let tries = 0; tries < 5000; tries++) {
    if ((await api.request('POST', `${path}?dryRun=All`, object('probe'))).status === 201) return
  }
  assert.fail('the kind was never served')
}

/** Returns the definition as soon as its names have been judged. */
async function judged(api: Api, { name }: Made): Promise<Body> {
  for (let tries = 0; tries < 5000; tries++) {
    const crd = await api.expect(200, 'GET', `${CRDS}/${name}`)
    if (crd.status.conditions?.length > 1) return crd
  }
  assert.fail('the names were never judged')
}

function conditionsOf(crd: Body): string[] {
  return crd.status.conditions.map((each: Body) => `${each.type}=${each.status} ${each.reason}: ${each.message}`)
    .toSorted()
}

const COLUMNS: readonly (readonly [type: string, jsonPath: string, value: unknown])[] = [
  ['integer', '.spec.n', 5],
  ['string', '.spec.n', '5'],
  ['string', '.spec.s', 'x'],
  ['integer', '.spec.s', null],
  ['boolean', '.spec.b', true],
  ['number', '.spec.d', 1.5],
  ['integer', '.spec.d', 1],
  ['string', '.spec.l[*].v', '1'],
  ['string', '.spec.l[?(@.k=="b")].v', '2'],
  ['string', '.spec.l[0].v', '1'],
  ['string', '.spec.l[-1].v', '2'],
  ['string', '.spec.l', '[{"k":"a","v":"1"},{"k":"b","v":"2"}]'],
  ['string', '.spec.m', '{"a.b":"z"}'],
  ['string', ".spec.m['a\\.b']", 'z'],
  ['string', '.spec.m.a\\.b', 'z'],
  ['string', '.spec.nope', null],
  ['string', '.metadata.labels.x', 'lab'],
]

const SELECTORS: readonly (readonly [selector: string, names: readonly string[]])[] = [
  ['spec.s=x', ['a']],
  ['spec.s!=x', ['b', 'c']],
  ['spec.s=', ['c']],
  ['spec.b=true', ['a']],
  ['spec.b=false', ['b']],
  ['spec.n=5', ['a']],
  ['spec.s=x,spec.b=true', ['a']],
  ['metadata.name=b', ['b']],
]

export const LIFECYCLE_CASES: readonly Case[] = [
  {
    name: 'the definitions of the examples are accepted, with their rules',
    async run(api) {
      for (const { definition } of [Foo, Bucket, Pool, Claim, Site]) {
        const { spec } = definition!.crd
        const group = `${spec.names.plural}.${api.group}`
        const metadata = { name: `${spec.names.plural}.${group}` }
        const crd = { ...definition!.crd, metadata, spec: { ...spec, group } }
        const made = await api.expect(201, 'POST', `${CRDS}?dryRun=All`, crd)
        assert.equal(made.metadata.name, metadata.name)
      }
    },
  },
  {
    name: 'the columns of a definition show values by their type and path',
    async run(api) {
      const additionalPrinterColumns = COLUMNS.map(([type, jsonPath], index) => ({ name: `C${index}`, type, jsonPath }))
      const made = await install(api, { additionalPrinterColumns })
      await served(api, made)
      const spec = { n: 5, s: 'x', b: true, d: 1.5, l: [{ k: 'a', v: '1' }, { k: 'b', v: '2' }], m: { 'a.b': 'z' } }
      const body = made.object('a', spec, { metadata: { name: 'a', labels: { x: 'lab' } } })
      await api.expect(201, 'POST', made.path, body)
      const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'
      const { rows } = await api.expect(200, 'GET', made.path, undefined, { accept })
      assert.deepEqual(rows[0].cells, ['a', ...COLUMNS.map(([, , value]) => value)])
    },
  },
  {
    name: 'selectable fields select objects of lists',
    async run(api) {
      const made = await install(api, {
        selectableFields: ['s', 'b', 'n'].map((each) => ({ jsonPath: `.spec.${each}` })),
      })
      await served(api, made)
      await api.expect(201, 'POST', made.path, made.object('a', { s: 'x', b: true, n: 5 }))
      await api.expect(201, 'POST', made.path, made.object('b', { s: 'y', b: false }))
      await api.expect(201, 'POST', made.path, made.object('c'))
      for (const [selector, names] of SELECTORS) {
        const { items } = await api.expect(200, 'GET', `${made.path}?fieldSelector=${encodeURIComponent(selector)}`)
        assert.deepEqual(items.map((each: Body) => each.metadata.name), names, selector)
      }
    },
  },
  {
    name: 'each response of a deprecated version has a warning',
    async run(api) {
      const made = await install(api, { deprecated: true, deprecationWarning: 'use v2' })
      await served(api, made)
      const warning = '299 - "use v2"'
      const created = await api.request('POST', made.path, { ...made.object('a'), bogus: 1 })
      assert.equal(created.headers['warning'], `${warning}, 299 - "unknown field \\"bogus\\""`)
      assert.equal((await api.request('GET', made.path)).headers['warning'], warning)
      assert.equal((await api.request('GET', `${made.path}/a`)).headers['warning'], warning)
      const other = await install(api, { deprecated: true })
      await served(api, other)
      const { kind } = other.object('a')
      assert.equal(
        (await api.request('GET', other.path)).headers['warning'],
        `299 - "${api.group}/v1 ${kind} is deprecated"`,
      )
    },
  },
  {
    name: 'a name that another definition has is not accepted, the others are',
    async run(api) {
      const first = await install(api)
      const { names } = (await judged(api, first)).spec
      for (
        const [field, value, reason] of [
          ['singular', names.singular, 'SingularConflict'],
          ['listKind', names.listKind, 'ListKindConflict'],
          ['shortNames', [names.plural], 'ShortNamesConflict'],
        ]
      ) {
        const second = await install(api, {}, { [field]: value })
        const crd = await judged(api, second)
        assert.deepEqual(conditionsOf(crd), [
          'Established=False NotAccepted: not all names are accepted',
          `NamesAccepted=False ${reason}: ${JSON.stringify([value].flat()[0])} is already in use`,
        ])
        const { [field]: _, ...accepted } = crd.spec.names
        assert.deepEqual(crd.status.acceptedNames, accepted)
        await api.expect(200, 'DELETE', `${CRDS}/${second.name}`)
      }
    },
  },
  {
    name: 'a name that becomes free is taken by the definition that waits for it',
    async run(api) {
      const shortNames = [`free${count}`]
      const [first, second] = [await install(api, {}, { shortNames }), await install(api, {}, { shortNames })]
      assert.ok(conditionsOf(await judged(api, second)).some((each) => each.startsWith('NamesAccepted=False')))
      await api.expect(200, 'PATCH', `${CRDS}/${first.name}`, { spec: { names: { shortNames: null } } }, {
        type: MERGE,
      })
      await served(api, second)
      const third = await install(api, {}, { shortNames })
      await judged(api, third)
      await api.expect(200, 'DELETE', `${CRDS}/${second.name}`)
      await served(api, third)
    },
  },
  {
    name: 'a watch ends when its definition changes or goes, and not for a new label of the definition',
    async run(api) {
      const made = await install(api)
      await served(api, made)
      await api.expect(201, 'POST', made.path, made.object('first'))
      const open = async (): Promise<Awaited<ReturnType<Api['watch']>>> => {
        const watch = await api.watch(made.path)
        assert.equal((await watch.next())?.object.metadata.name, 'first')
        return watch
      }
      const kept = await open()
      await api.expect(200, 'PATCH', `${CRDS}/${made.name}`, { metadata: { labels: { a: 'b' } } }, { type: MERGE })
      await api.expect(200, 'PATCH', `${made.path}/first`, { metadata: { labels: { a: 'b' } } }, { type: MERGE })
      assert.equal((await kept.next())?.type, 'MODIFIED')
      await api.expect(200, 'PATCH', `${CRDS}/${made.name}`, {
        spec: { names: { shortNames: [`w${made.name.slice(0, 9)}`] } },
      }, {
        type: MERGE,
      })
      assert.equal(await kept.next(), undefined)
      await served(api, made)
      const last = await open()
      await api.expect(200, 'DELETE', `${CRDS}/${made.name}`)
      assert.equal((await last.next())?.type, 'DELETED')
      assert.equal(await last.next(), undefined)
    },
  },
  {
    name: 'a version in which objects may be stored cannot be removed',
    async run(api) {
      const made = await install(api)
      const crd = await judged(api, made)
      const [version] = crd.spec.versions
      const path = `${CRDS}/${made.name}?dryRun=All`
      const two = [{ ...version, storage: false }, { ...version, name: 'v2' }]
      const changed = await api.expect(200, 'PATCH', path, { spec: { versions: two } }, { type: MERGE })
      assert.deepEqual(changed.status.storedVersions, ['v1', 'v2'])
      const { details } = await api.refused(422, 'Invalid', 'PATCH', path, {
        spec: { versions: [{ ...version, name: 'v3' }] },
      }, { type: MERGE })
      assert.deepEqual(details.causes.map((each: Body) => [each.field, each.message]), [[
        'status.storedVersions[0]',
        'Invalid value: "v1": missing from spec.versions; v1 was previously a storage version, and must remain in ' +
        'spec.versions until a storage migration ensures no data remains persisted in v1 and removes v1 from ' +
        'status.storedVersions',
      ]])
    },
  },
  {
    name: 'a definition that is being deleted lets its objects go, and creates no others',
    async run(api) {
      const made = await install(api)
      await served(api, made)
      const held = made.object('held', {}, { metadata: { name: 'held', finalizers: ['x.example.com/f'] } })
      await api.expect(201, 'POST', made.path, held)
      await api.expect(200, 'DELETE', `${CRDS}/${made.name}`)
      for (let tries = 0; tries < 5000; tries++) {
        const { status } = await api.expect(200, 'GET', `${CRDS}/${made.name}`)
        if (status.conditions.some((each: Body) => each.reason === 'InstanceDeletionInProgress')) break
      }
      const crd = await api.expect(200, 'GET', `${CRDS}/${made.name}`)
      assert.ok(
        conditionsOf(crd).includes(
          'Terminating=True InstanceDeletionInProgress: CustomResource deletion is in progress',
        ),
      )
      const { message } = await api.refused(403, 'Forbidden', 'POST', made.path, made.object('new'))
      assert.equal(
        message,
        `${made.name} "new" is forbidden: create not allowed while custom resource definition is terminating`,
      )
      await api.expect(200, 'PATCH', `${made.path}/held`, { metadata: { finalizers: null } }, { type: MERGE })
      for (let tries = 0; tries < 5000; tries++) {
        if ((await api.request('GET', `${CRDS}/${made.name}`)).status === 404) return
      }
      assert.fail('the definition was never removed')
    },
  },
  {
    name: 'a status gets its defaults, whatever a creation says',
    async run(api) {
      const made = await install(api)
      await served(api, made)
      const created = await api.expect(201, 'POST', made.path, made.object('a', {}, { status: { phase: 'Old' } }))
      assert.deepEqual(created.status, { phase: 'New' })
    },
  },
]
