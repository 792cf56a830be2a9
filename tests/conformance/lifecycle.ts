/** Cases of what a CustomResourceDefinition does: columns, field selectors, warnings, names, versions and deletion. */
import assert from 'node:assert/strict'
import { Foo } from '../../examples/1_sample_controller.ts'
import { Bucket } from '../../examples/3_external_bucket.ts'
import { Claim, Pool } from '../../examples/4_pools_and_claims.ts'
import { Site } from '../../examples/8_site_webhooks.ts'
import { type Api, type Body, type Case, caseOf, CRDS, MERGE } from './api.ts'
import { definitionOf } from '../tools/definitions.ts'
import { casesOf, type Step } from './transcript.ts'

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
  const crd = definitionOf({
    ...{ kind, plural, group: api.group, schema: SCHEMA },
    version: { subresources: { status: {} }, ...version },
    spec: { names: { plural, kind, ...names } },
  })
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

/** An object of the kind of a script. */
const made = (name: string, spec: unknown = {}, more: Body = {}): Body => ({
  apiVersion: '{group}/v1',
  kind: '{kind}',
  metadata: { name },
  spec,
  ...more,
})

/** Returns the setup of a script about a kind of its own, whose objects are below `{path}`. */
const served = (version: Body) => async (api: Api) => {
  const kind = await install(api, version)
  await untilServed(api, kind)
  return { path: kind.path, kind: kind.object('').kind as string }
}

async function untilServed(api: Api, { path, object }: Made): Promise<void> {
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

const COLUMNS: readonly (readonly [type: string, jsonPath: string])[] = [
  ['integer', '.spec.n'],
  ['string', '.spec.n'],
  ['string', '.spec.s'],
  ['integer', '.spec.s'],
  ['boolean', '.spec.b'],
  ['number', '.spec.d'],
  ['integer', '.spec.d'],
  ['string', '.spec.l[*].v'],
  ['string', '.spec.l[?(@.k=="b")].v'],
  ['string', '.spec.l[0].v'],
  ['string', '.spec.l[-1].v'],
  ['string', '.spec.l'],
  ['string', '.spec.m'],
  ['string', ".spec.m['a\\.b']"],
  ['string', '.spec.m.a\\.b'],
  ['string', '.spec.nope'],
  ['string', '.metadata.labels.x'],
]

const SELECTORS = [
  'spec.s=x',
  'spec.s!=x',
  'spec.s=',
  'spec.b=true',
  'spec.b=false',
  'spec.n=5',
  'spec.s=x,spec.b=true',
  'metadata.name=b',
]

export const LIFECYCLE_CASES: readonly Case[] = casesOf('definitions', [
  {
    name: 'the scale of an object that states no replicas',
    setup: served({
      subresources: { status: {}, scale: { specReplicasPath: '.spec.n', statusReplicasPath: '.status.n' } },
    }),
    steps: [
      ['POST {path}', made('a')],
      'GET {path}/a/scale',
      ['MERGE {path}/a/scale ? spec', {}],
      ['PUT {path}/a/scale ? spec', { metadata: { name: 'a' } }],
      ['MERGE {path}/a ? spec', { spec: { n: null } }],
      ['MERGE {path}/a/scale ? spec', { spec: { replicas: 0 } }],
      ['MERGE {path}/a ? spec', { spec: { n: null } }],
      ['MERGE {path}/a/scale ? spec', { spec: { replicas: 2 } }],
      'GET {path}/a/scale ? spec',
    ],
  },
  {
    name: 'the definitions of the examples are accepted, with their rules',
    steps: [Foo, Bucket, Pool, Claim, Site].map(({ definition }): Step => {
      const { spec, ...crd } = definition!.crd
      const group = `${spec.names.plural}.{group}`
      const metadata = { name: `${spec.names.plural}.${group}` }
      return [`POST ${CRDS}?dryRun=All`, { ...crd, metadata, spec: { ...spec, group } }]
    }),
  },
  {
    name: 'the columns of a definition show values by their type and path',
    setup: served({
      additionalPrinterColumns: COLUMNS.map(([type, jsonPath], index) => ({ name: `C${index}`, type, jsonPath })),
    }),
    steps: [
      [
        'POST {path}',
        made(
          'a',
          { n: 5, s: 'x', b: true, d: 1.5, l: [{ k: 'a', v: '1' }, { k: 'b', v: '2' }], m: { 'a.b': 'z' } },
          { metadata: { name: 'a', labels: { x: 'lab' } } },
        ),
      ],
      [
        'GET {path} ? rows.0.cells',
        undefined,
        { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' },
      ],
    ],
  },
  {
    name: 'selectable fields select objects of lists',
    setup: served({ selectableFields: ['s', 'b', 'n'].map((each) => ({ jsonPath: `.spec.${each}` })) }),
    steps: [
      ['POST {path}', made('a', { s: 'x', b: true, n: 5 })],
      ['POST {path}', made('b', { s: 'y', b: false })],
      ['POST {path}', made('c')],
      ...SELECTORS.map((selector) => `GET {path}?fieldSelector=${encodeURIComponent(selector)}`),
    ],
  },
  caseOf('a name that another definition has is not accepted, the others are', async (api) => {
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
  }),
  caseOf('a name that becomes free is taken by the definition that waits for it', async (api) => {
    const shortNames = [`free${count}`]
    const [first, second] = [await install(api, {}, { shortNames }), await install(api, {}, { shortNames })]
    assert.ok(conditionsOf(await judged(api, second)).some((each) => each.startsWith('NamesAccepted=False')))
    await api.expect(200, 'PATCH', `${CRDS}/${first.name}`, { spec: { names: { shortNames: null } } }, {
      type: MERGE,
    })
    await untilServed(api, second)
    const third = await install(api, {}, { shortNames })
    await judged(api, third)
    await api.expect(200, 'DELETE', `${CRDS}/${second.name}`)
    await untilServed(api, third)
  }),
  caseOf('a version in which objects may be stored cannot be removed', async (api) => {
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
  }),
  caseOf(
    'an object that is stored in an earlier version is served in that of the request, without fields that it lacks',
    async (api) => {
      const made = await install(api)
      await untilServed(api, made)
      await api.expect(201, 'POST', made.path, made.object('old', { n: 1 }))
      const { spec: { versions: [version] } } = await judged(api, made)
      const spec = { type: 'object', properties: { m: { type: 'integer' } } }
      const next = { ...version, name: 'v2', schema: { openAPIV3Schema: { type: 'object', properties: { spec } } } }
      const versions = [{ ...version, storage: false }, next]
      await api.expect(200, 'PATCH', `${CRDS}/${made.name}`, { spec: { versions } }, { type: MERGE })
      const v2 = { ...made, path: made.path.replace('/v1/', '/v2/') }
      await untilServed(api, {
        ...v2,
        object: (name) => ({ ...made.object(name), apiVersion: made.object(name).apiVersion.replace('/v1', '/v2') }),
      })
      for (const [{ path }, name, wanted] of [[made, 'v1', { n: 1 }], [v2, 'v2', {}]] as const) {
        const old = await api.expect(200, 'GET', `${path}/old`)
        const { items: [listed] } = await api.expect(200, 'GET', `${path}?fieldSelector=metadata.name%3Dold`)
        for (const { apiVersion, spec } of [old, listed]) {
          assert.deepEqual([apiVersion, spec], [`${api.group}/${name}`, wanted])
        }
      }
      const patched = await api.expect(200, 'PATCH', `${v2.path}/old`, { spec: { m: 2 } }, { type: MERGE })
      assert.deepEqual([patched.apiVersion, patched.spec], [`${api.group}/v2`, { m: 2 }])
    },
  ),
  caseOf('a definition that is being deleted lets its objects go, and creates no others', async (api) => {
    const made = await install(api)
    await untilServed(api, made)
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
    const labels = { changed: 'while-it-ends' }
    const changed = await api.expect(200, 'PATCH', `${CRDS}/${made.name}`, { metadata: { labels } }, { type: MERGE })
    assert.deepEqual(await api.expect(200, 'GET', `${CRDS}/${made.name}`), changed)
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
  }),
])
