/** The hint at a start: fields that a conversion loses, where one sample shows it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineResource } from 'kubeloop'
import { FakeClock } from 'kubeloop/testing'
import * as z from 'zod'
import { turnBudgetOf } from '../../lib/async/clock.ts'
import { type ConversionDescription, describeConversion } from '../../lib/schema/conversions.ts'
import { lossWarnings, lostFields } from '../../lib/webhook/conversion/lost_fields.ts'
import { shapes } from '../schema/shapes.ts'
import { fromAlpha, fromBeta } from './sites.ts'

const budget = turnBudgetOf(new FakeClock())
const common = { group: 'example.com', kind: 'Site' } as const

/** A conversion from this spec to one of anything; what goes up and down is by the functions. */
function from(
  spec: z.ZodType,
  up: (spec: never) => unknown,
  down: (spec: never) => unknown = (spec) => spec,
  drops: readonly string[] = [],
): ConversionDescription {
  const Old = defineResource({ ...common, version: 'v1', spec })
  const Hub = defineResource({ ...common, version: 'v2', spec: z.looseObject({}) })
  return describeConversion(Old, Hub, {
    up: ({ spec }) => ({ spec: up(spec as never) as never }),
    down: ({ spec }) => ({ spec: down(spec as never) as never }),
    drops,
  })
}

const identity = (spec: never): unknown => spec

test('nothing is lost by the conversions of the samples, but for what is not carried', async () => {
  assert.deepEqual(await lostFields(fromBeta, budget), [])
  // up() throws if this field is there.
  assert.deepEqual(await lostFields(fromAlpha, budget), [])
})

test('what a conversion adds to a list is no loss; the objects have a namespace as those of a cluster', async () => {
  const spec = z.object({ list: z.array(z.string()), gone: z.string().optional() })
  const adding = from(spec, ({ list }: z.infer<typeof spec>) => ({ list: [...list, 'more'] }))
  assert.deepEqual(await lostFields(adding, budget), ['spec.gone'])
  const [Old, Hub] = ['v1', 'v2'].map((version) => defineResource({ ...common, version, spec }))
  const placed = describeConversion(Old!, Hub!, {
    up: ({ spec: { list }, metadata }) => ({ spec: { list: metadata.namespace ? list : [] } }),
    down: ({ spec }) => ({ spec }),
  })
  assert.deepEqual(await lostFields(placed, budget), ['spec.gone'])
})

test('a dropped field is named: optional, required, with a default, in lists and maps', async () => {
  const spec = z.object({
    kept: z.string(),
    gone: z.string().optional(),
    on: z.boolean().default(true),
    mode: z.enum(['a', 'b']).default('a'),
    deep: z.object({ port: z.int().optional(), host: z.string() }).optional(),
    list: z.array(z.object({ name: z.string(), weight: z.int().min(50).optional() })),
    map: z.record(z.string(), z.string()).optional(),
  })
  type Spec = z.infer<typeof spec>
  const lossy = from(spec, ({ kept, deep, list }: Spec) => ({
    kept,
    deep: deep && { host: deep.host },
    list: list.map(({ name }) => ({ name })),
  }))
  assert.deepEqual(await lostFields(lossy, budget), [
    'spec.gone',
    'spec.on',
    'spec.mode',
    'spec.deep.port',
    'spec.list[].weight',
    'spec.map',
  ])
  assert.deepEqual(await lostFields(from(spec, identity), budget), [])
  const some = from(spec, ({ kept, list }: Spec) => ({ kept, list }), identity, ['spec.gone', 'spec.deep', 'spec.m'])
  assert.deepEqual(await lostFields(some, budget), ['spec.on', 'spec.mode', 'spec.map'])
})

test('the warning says what to do, and is for each conversion that loses something', async () => {
  const lossy = from(z.object({ a: z.string().optional(), b: z.string().optional() }), () => ({}))
  const carried = from(z.object({ a: z.string() }), identity)
  assert.deepEqual(await lossWarnings([carried, lossy], budget), [
    'Converting Site from v1 to v2 and back loses spec.a, spec.b: keep it in the hub or in an annotation, ' +
    'or list it in the drops of app.convert() if it is dropped on purpose',
  ])
})

test('fields of the hub that the old version cannot hold are named, unless they are kept or dropped on purpose', async () => {
  const Old = defineResource({ ...common, version: 'v1', spec: z.object({ host: z.string() }) })
  const spec = z.object({ host: z.string(), tls: z.string().optional(), mode: z.enum(['a', 'b']).default('a') })
  const Hub = defineResource({ ...common, version: 'v2', spec, status: z.object({ ready: z.boolean().optional() }) })
  const way = (drops: readonly string[] = []) =>
    describeConversion(Old, Hub, {
      up: ({ spec }) => ({ spec }),
      down: ({ spec: { host } }) => ({ spec: { host } }),
      drops,
    })
  assert.deepEqual(await lostFields(way(), budget, 'down'), ['spec.tls', 'spec.mode', 'status'])
  assert.deepEqual(await lostFields(way(['spec.tls', 'status']), budget, 'down'), ['spec.mode'])
  assert.deepEqual(await lossWarnings([way()], budget), [
    'Converting Site from v2 to v1 and back loses spec.tls, spec.mode, status: keep it in an annotation, as a client of ' +
    'the old version drops it when it updates an object, or list it in the drops of app.convert() if it is dropped on purpose',
  ])
  const kept = describeConversion(Old, Hub, {
    up: ({ spec: { host }, metadata: { annotations = {} } }) => ({
      spec: { host, ...JSON.parse(annotations['hub'] ?? '{}') },
    }),
    down: ({ spec, metadata }) => ({
      spec: { host: spec.host },
      metadata: { annotations: { ...metadata.annotations, hub: JSON.stringify(spec) } },
    }),
  })
  assert.deepEqual(await lostFields(kept, budget, 'down'), ['status'])
})

test('a field that another one replaces is not lost', async () => {
  const spec = z.object({ replicas: z.int().optional(), autoscale: z.object({ max: z.int() }).optional() })
  const either = from(spec, (old: z.infer<typeof spec>) => old.autoscale ? { autoscale: old.autoscale } : old)
  assert.deepEqual(await lostFields(either, budget), [])
})

test('a changed value is not reported: it may be normalized', async () => {
  const spec = z.object({ host: z.string(), size: z.string().optional() })
  const lower = from(
    spec,
    ({ host, size }: z.infer<typeof spec>) => ({ host: host.toUpperCase(), size: size && '1Gi' }),
  )
  assert.deepEqual(await lostFields(lower, budget), [])
})

test('a sample is found of nearly every shape', async () => {
  const without: string[] = []
  for (const { name, schema } of shapes) {
    const found = await lostFields(from(z.object({ v: z.optional(schema as z.ZodType) }), () => ({})), budget)
    if (found.length === 0) without.push(name)
  }
  // Fields whose values need a search are left out of samples.
  assert.deepEqual(without, [
    'two patterns',
    'pattern with flags',
    'pattern with escapes',
    'unicode pattern',
    'starts, ends, includes',
    'template literal',
    'exclusive limits',
    'mini',
    'overlapping intersection',
    'refined with CEL',
    'a record of many',
    'one field of several',
  ])
})
