/** CRDs on the embedded and on a real API server are stored as they were defined. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type AnyResource, defineResource } from 'kubeloop'
import { conditionList, labelSelector } from 'kubeloop/schema'
import { ApiServer } from 'kubeloop/apiserver'
import * as z from 'zod'
import { systemClock } from '../../lib/async/clock.ts'
import { Api } from '../../lib/client/api.ts'
import { CRD, type CustomResourceDefinition } from '../../lib/core/resource.ts'
import type { Transport } from '../../lib/core/transport.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { createCrds, installCrds } from '../../lib/crds/install.ts'
import { verifyCrds } from '../../lib/crds/verify.ts'
import { schemaChanges } from '../../lib/schema/schema_changes.ts'
import { recorder } from '../client/transports.ts'
import { stored as storedBy } from '../schema/json_schema.ts'
import { anyNode, withDefaults } from '../schema/random_schemas.ts'
import { isWhole, unionNode } from '../schema/random_unions.ts'
import { helperShapes, ruleShapes, shapes } from '../schema/shapes.ts'
import { noPlane, withPlane } from '../tools/real_plane.ts'

const never = new AbortController().signal

type Setup = ReturnType<typeof setup>

function setup(transport: Transport) {
  const network = recorder(transport)
  const api = new Api({ transport: network.transport })
  return {
    api,
    writes: () => network.take().filter((line) => !line.startsWith('GET')),
    dependencies: { api, clock: systemClock, log: silentLog, fieldManager: 'test' },
  }
}

const stored = async (
  { api }: Setup,
  resource: AnyResource,
): Promise<CustomResourceDefinition & { metadata: { generation: number } }> =>
  (await api.get({ resource: CRD, name: resource.definition!.crd.metadata.name })) as unknown as
    & CustomResourceDefinition
    & { metadata: { generation: number } }

const create = ({ api }: Setup, resource: AnyResource, name: string, spec: object, options: object = {}) =>
  api.create({ resource, namespace: 'default', name }, { metadata: { namespace: 'default', name }, spec }, options)

const problemOf = async (one: Setup, resource: AnyResource, spec: object): Promise<string | undefined> =>
  await create(one, resource, 'x', spec, { dryRun: true }).then(() => undefined, (error: Error) => error.message)

/** Asserts that an installed CRD verifies, has lost nothing, and is not written a second time. */
async function staysWhole(one: Setup, resource: AnyResource): Promise<void> {
  await installCrds([resource], one.dependencies, never)
  await verifyCrds([resource], one.dependencies, never)
  const { metadata: { generation }, spec } = await stored(one, resource)
  const ours = resource.definition!.crd.spec
  const roots = [ours, spec].map(({ versions }) => versions[0]!.schema.openAPIV3Schema)
  assert.deepEqual(schemaChanges(roots[0]!, roots[1]!), [])
  assert.deepEqual({ ...spec, versions: undefined, conversion: undefined }, {
    ...ours,
    versions: undefined,
    conversion: undefined,
  })
  one.writes()
  await createCrds([resource], one.dependencies, never)
  assert.deepEqual(one.writes(), [])
  await installCrds([resource], one.dependencies, never)
  assert.equal((await stored(one, resource)).metadata.generation, generation)
}

const CASES: readonly (readonly [string, (one: Setup) => Promise<void>])[] = [
  ['a definition of every shape stays whole', async (one) => {
    const fields = Object.fromEntries(
      shapes.map(({ schema }, index) => [`s${index}`, z.object({ v: schema }).optional()]),
    )
    await staysWhole(
      one,
      defineResource({ group: 'shapes.example.com', version: 'v1', kind: 'Shape', spec: z.object(fields) }),
    )
  }],
  ['definitions of random schemas stay whole', async (one) => {
    const nodes = fc.sample(anyNode.chain(withDefaults), { numRuns: 120, seed: 12 })
    for (let at = 0; at < nodes.length; at += 30) {
      const fields = Object.fromEntries(nodes.slice(at, at + 30).map(({ schema }, index) => [`s${index}`, schema]))
      const kind = `Random${at}`
      await staysWhole(
        one,
        defineResource({
          group: 'random.example.com',
          version: 'v1',
          kind,
          spec: z.object(fields).describe('Any.'),
          status: z.object({}),
        }),
      )
    }
  }],
  ['random unions are taken as they are, and judged as zod does', async (one) => {
    const seeds = { numRuns: 42, seed: 26 }
    const nodes = fc.sample(unionNode, seeds)
    const wrong: string[] = []
    const counts = { taken: 0, refused: 0 }
    for (let at = 0; at < nodes.length; at += 6) {
      const fields = Object.fromEntries(
        nodes.slice(at, at + 6).map(({ schema }, index) => [`u${index}`, schema.optional()]),
      )
      const resource = defineResource({
        group: 'unions.example.com',
        version: 'v1',
        kind: `Union${at}`,
        spec: z.object(fields),
      })
      await staysWhole(one, resource)
      for (const [index, { schema, values }] of nodes.slice(at, at + 6).entries()) {
        for (const value of fc.sample(values, { numRuns: 12, seed: at + index })) {
          const crd = resource.definition!.crd.spec.versions[0]!.schema.openAPIV3Schema as {
            properties: { spec: Record<string, unknown> }
          }
          const kept = (storedBy(crd.properties.spec, { [`u${index}`]: value }) as Record<string, unknown>)[`u${index}`]
          const expected = kept === undefined || isWhole(schema, kept)
          const problem = await problemOf(one, resource, { [`u${index}`]: value })
          counts[expected ? 'taken' : 'refused']++
          if (expected !== (problem === undefined)) {
            wrong.push(
              `${JSON.stringify(value)} is ${problem ?? 'taken'} by ${
                JSON.stringify((crd.properties.spec['properties'] as Record<string, unknown>)[`u${index}`])
              }`,
            )
          }
        }
      }
    }
    assert.deepEqual(wrong, [])
    assert.ok(counts.taken > 100 && counts.refused > 100, JSON.stringify(counts))
  }],
  ['the values of all helpers are judged as zod does', async (one) => {
    const all = [...helperShapes, ...ruleShapes]
    const fields = Object.fromEntries(all.map(({ schema }, index) => [`s${index}`, z.object({ v: schema }).optional()]))
    const names = { group: 'helpers.example.com', version: 'v1', kind: 'Helper' }
    const resource = defineResource({ ...names, spec: z.object(fields) })
    await staysWhole(one, resource)
    const wrong: string[] = []
    for (const [index, { name, accepts, refuses }] of all.entries()) {
      for (const [at, v] of [...accepts, ...refuses].entries()) {
        const problem = await problemOf(one, resource, { [`s${index}`]: { v } })
        if ((problem === undefined) !== at < accepts.length) wrong.push(`${name}: ${JSON.stringify(v)}: ${problem}`)
      }
    }
    assert.deepEqual(wrong, [])
  }],
  ['objects are scaled, and selected by their fields', async (one) => {
    const resource = defineResource({
      group: 'scaled.example.com',
      version: 'v1',
      kind: 'Scaled',
      scale: { specReplicas: '.spec.n', statusReplicas: '.status.n', labelSelector: '.status.pods' },
      selectableFields: ['.spec.color', '.spec.n'],
      columns: { Color: { path: '.spec.color', priority: 1 } },
      spec: z.object({ n: z.int32().max(3).default(1), color: z.enum(['red', 'blue']) }),
      status: z.object({ n: z.int32(), pods: z.string() }),
    })
    await staysWhole(one, resource)
    await create(one, resource, 'a', { color: 'red' })
    await create(one, resource, 'b', { color: 'blue' })
    const target = { resource, namespace: 'default', name: 'b' }
    await one.api.patch({ ...target, subresource: 'status' }, 'merge', { status: { n: 1, pods: 'app=b' } }, {})
    const { object } = await one.api.patch({ ...target, subresource: 'scale' }, 'merge', { spec: { replicas: 3 } }, {})
    const { spec, status } = object as unknown as { spec: object; status: object }
    assert.deepEqual([spec, status], [{ replicas: 3 }, { replicas: 1, selector: 'app=b' }])
    await assert.rejects(
      one.api.patch({ ...target, subresource: 'scale' }, 'merge', { spec: { replicas: 4 } }, {}),
      /less than or equal to 3/,
    )
    const selected = async (fields: string): Promise<string[]> =>
      (await one.api.list({ resource }, { fields })).items.map(({ metadata }) => metadata.name)
    assert.deepEqual(await selected('spec.color=red'), ['a'])
    assert.deepEqual(await selected('spec.n=3,spec.color=blue'), ['b'])
    await assert.rejects(selected('spec.other=1'), /field label not supported: spec\.other/)
  }],
  ['what a union refuses is said by the field, with the reason', async (one) => {
    const sink = z.discriminatedUnion('type', [
      z.object({ type: z.literal('copy'), maxSize: z.int().optional() }),
      z.object({ type: z.literal('merge'), into: z.string(), at: z.object({ x: z.int() }) }),
    ])
    const resource = defineResource({
      group: 'said.example.com',
      version: 'v1',
      kind: 'Said',
      spec: z.object({ sink: sink.optional(), more: z.array(sink).optional() }),
    })
    await staysWhole(one, resource)
    const reasonOf = async (spec: object): Promise<string | undefined> =>
      (await problemOf(one, resource, spec))?.split(' is invalid: ')[1]
    assert.equal(
      await reasonOf({ sink: { type: 'merge', at: { x: 1 } } }),
      'spec.sink.into: Required value: into is required when type is merge',
    )
    assert.equal(
      await reasonOf({ sink: { type: 'copy', into: 'x' } }),
      'spec.sink.into: Forbidden: into is allowed only when type is merge',
    )
    assert.equal(
      await reasonOf({ more: [{ type: 'copy' }, { type: 'merge', into: 'x', at: { x: 1 }, maxSize: 3 }] }),
      'spec.more[1].maxSize: Forbidden: maxSize is allowed only when type is copy',
    )
    assert.equal(
      await reasonOf({ sink: { type: 'merge' } }),
      '[spec.sink.into: Required value: into is required when type is merge, spec.sink.at: Required value: at is required when type is merge]',
    )
    // CEL rules are not evaluated if a required field is missing.
    const more = (await reasonOf({ sink: { type: 'merge', at: {} } })) ?? ''
    assert.ok(more.includes('spec.sink.at.x: Required value') && !more.includes('spec.sink.into'), more)
    assert.equal(
      await reasonOf({ sink: { type: 'merge', into: 'x', at: { x: 1 } }, more: [{ type: 'copy', maxSize: 3 }] }),
      undefined,
    )
  }],
  ['an object that was stored before a rule can be changed beside it, and not where it is broken', async (one) => {
    const of = (sink: z.ZodType): AnyResource =>
      defineResource({
        group: 'before.example.com',
        version: 'v1',
        kind: 'Before',
        spec: z.object({ size: z.int(), sink }),
      })
    const before = of(
      z.object({ type: z.enum(['copy', 'merge']), into: z.string().optional(), note: z.string().optional() }),
    )
    const after = of(z.discriminatedUnion('type', [
      z.object({ type: z.literal('copy'), note: z.string().optional() }),
      z.object({ type: z.literal('merge'), into: z.string(), note: z.string().optional() }),
    ]))
    await installCrds([before], one.dependencies, never)
    const target = { resource: after, namespace: 'default', name: 'a' }
    await create(one, after, 'a', { size: 1, sink: { type: 'merge' } })
    await installCrds([after], { ...one.dependencies, narrow: true }, never)
    await one.api.patch(target, 'merge', { spec: { size: 2 } }, {})
    await assert.rejects(
      one.api.patch(target, 'merge', { spec: { sink: { note: 'x' } } }, {}),
      /spec\.sink\.into: Required value: into is required when type is merge/,
    )
    await one.api.patch(target, 'merge', { spec: { sink: { into: 'x' } } }, {})
  }],
  ['a large union in lists without limits is within the costs that a server allows', async (one) => {
    const alternatives = Array.from({ length: 12 }, (_, at) =>
      z.object({
        type: z.literal([`alternative-number-${at}`, `another-name-of-${at}`]),
        ...Object.fromEntries(Array.from({ length: 4 }, (_, field) => [`field${(at * 3 + field) % 37}`, z.string()])),
      })) as unknown as [z.ZodObject]
    const large = z.discriminatedUnion('type', alternatives)
    const spec = z.object({
      one: large,
      list: z.array(large),
      lists: z.array(z.array(large)),
      map: z.record(z.string(), large),
      some: z.array(large).max(64),
      many: z.array(z.object({ each: z.array(large).max(500) })).max(500),
      deep: z.array(z.object({ map: z.record(z.string(), z.array(large)) })),
    })
    const resource = defineResource({ group: 'large.example.com', version: 'v1', kind: 'Large', spec, status: spec })
    const text = JSON.stringify(resource.definition!.crd)
    assert.ok(text.includes('FieldValueRequired') && text.includes('{"not":{"required":["field'))
    await staysWhole(one, resource)
  }],
  ['a definition with everything beside a schema stays whole', (one) =>
    staysWhole(
      one,
      defineResource({
        group: 'whole.example.com',
        version: 'v1beta1',
        kind: 'Whole',
        plural: 'wholesome',
        cluster: true,
        shortNames: ['wh'],
        categories: ['all'],
        columns: {
          Size: '.spec.size',
          Ready: { path: '.status.ready', priority: 1, description: 'Whether it is.', type: 'string', format: 'byte' },
        },
        scale: { specReplicas: '.spec.size', statusReplicas: '.status.size', labelSelector: '.status.pods' },
        selectableFields: ['.spec.size', '.status.ready', '.status.pods'],
        spec: z.object({ size: z.int32().describe('How large.').default(1), selector: z.optional(labelSelector) }),
        status: z.object({
          ready: z.boolean(),
          size: z.int32().meta({ example: 3 }),
          pods: z.string(),
          conditions: conditionList,
        }),
      }),
    )],
  ['a schema that narrows is refused while an object would break, and installed when none would', async (one) => {
    const of = (max: number): AnyResource =>
      defineResource({
        group: 'narrow.example.com',
        version: 'v1',
        kind: 'Narrow',
        spec: z.object({ size: z.int().max(max) }),
      })
    await installCrds([of(10)], one.dependencies, never)
    const target = { resource: of(10), namespace: 'default', name: 'a' }
    await create(one, of(10), 'a', { size: 7 })
    for (const prepare of [createCrds, installCrds]) {
      await assert.rejects(
        prepare([of(5)], one.dependencies, never),
        /1 of 1 stored objects don't fit it: Narrow "default\/a" \(spec\.size: /,
      )
    }
    await one.api.patch(target, 'merge', { spec: { size: 3 } }, {})
    await installCrds([of(5)], one.dependencies, never)
    await verifyCrds([of(5)], one.dependencies, never)
    assert.deepEqual(
      schemaChanges(
        of(5).definition!.crd.spec.versions[0]!.schema.openAPIV3Schema,
        (await stored(one, of(5))).spec.versions[0]!.schema.openAPIV3Schema,
      ),
      [],
    )
  }],
  ['a version is added beside the stored one, becomes the stored one, and objects go on', async (one) => {
    const of = (version: string): AnyResource =>
      defineResource({ group: 'version.example.com', version, kind: 'Version', spec: z.object({ size: z.int() }) })
    await installCrds([of('v1')], one.dependencies, never)
    await create(one, of('v1'), 'a', { size: 7 })
    await createCrds([of('v2'), of('v1')], one.dependencies, never)
    const read = async (): Promise<unknown> =>
      (await one.api.get({ resource: of('v2'), namespace: 'default', name: 'a' }) as unknown as { spec: unknown }).spec
    assert.deepEqual([
      await read(),
      (await stored(one, of('v1'))).spec.versions.map(({ name, storage }) => [name, storage]),
    ], [{ size: 7 }, [['v1', true], ['v2', false]]])
    await installCrds([of('v2'), of('v1')], one.dependencies, never)
    assert.deepEqual([
      await read(),
      (await stored(one, of('v1'))).spec.versions.map(({ name, storage }) => [name, storage]),
    ], [{ size: 7 }, [['v2', true], ['v1', false]]])
    for (const prepare of [createCrds, installCrds]) {
      await assert.rejects(prepare([of('v2')], one.dependencies, never), /objects may be stored as v1/)
    }
  }],
  ['a definition that is deleted with all its objects is made anew', async (one) => {
    const kind = defineResource({ group: 'anew.example.com', version: 'v1', kind: 'Anew', spec: z.object({}) })
    await installCrds([kind], one.dependencies, never)
    await create(one, kind, 'a', {})
    await one.api.delete({ resource: CRD, name: kind.definition!.crd.metadata.name }, {})
    await createCrds([kind], one.dependencies, never)
    const { items } = await one.api.list({ resource: kind })
    assert.deepEqual(items, [])
  }],
]

for (const [name, run] of CASES) {
  test(`embedded: ${name}`, () => run(setup(new ApiServer().handle)))
}

test(
  'real: the same, and a default of null is dropped',
  { skip: noPlane, timeout: 110_000 },
  () =>
    withPlane(async (_, transport) => {
      const failures: string[] = []
      for (const [name, run] of CASES) {
        await run(setup(transport)).catch((error: Error) => failures.push(`${name}: ${error.message}`))
      }
      const { crd } = defineResource({
        group: 'null.example.com',
        version: 'v1',
        kind: 'Null',
        spec: z.object({ a: z.string().nullable().default('x') }),
      }).definition!
      const text = JSON.stringify(crd).replace('"default":"x"', '"default":null')
      await setup(transport).api.create({ resource: CRD }, JSON.parse(text) as object, {})
      const there = JSON.stringify(await setup(transport).api.get({ resource: CRD, name: crd.metadata.name }))
      assert.ok(text.includes('"default":null') && !there.includes('"default":'))
      assert.deepEqual(failures, [])
    }),
)
