import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineResource } from 'kubeloop'
import { Pod } from 'kubeloop/kinds'
import * as z from 'zod'
import { type AnyResource, apiVersionOf, type DefinedResource } from '../../lib/core/resource.ts'
import { type Conversion, type ConversionDescription, describeConversion } from '../../lib/schema/conversions.ts'

const text = z.object({ a: z.string() })
const site = { group: 'example.com', kind: 'Site', spec: text } as const
const Old = defineResource({ ...site, version: 'v1alpha1' })
const Middle = defineResource({ ...site, version: 'v1beta1' })
const Hub = defineResource({ ...site, version: 'v1' })
const same = ({ spec }: { readonly spec: { readonly a: string } }): { spec: { a: string } } => ({ spec })
const both = { up: same, down: same }

test('a description has the functions, and the fields that are dropped on purpose', () => {
  assert.deepEqual(describeConversion(Old, Hub, both), { from: Old, hub: Hub, up: same, down: same, drops: [] })
  assert.deepEqual(describeConversion(Old, Hub, { ...both, drops: ['spec.b'] }).drops, ['spec.b'])
})

const old = (more: object): DefinedResource => defineResource({ ...site, version: 'v1alpha1', ...more })
const differs = (name: string, values: string): string =>
  `they are not versions of one kind, as their ${name} differs: ${values}`

const refusals: readonly [string, from: AnyResource, hub: AnyResource, unknown, string, ConversionDescription[]?][] = [
  ['a built-in kind', Pod, Hub, both, 'v1 Pod is not made by defineResource'],
  ['another group', old({ group: 'other.com' }), Hub, both, differs('group', '"other.com" and "example.com"')],
  ['another kind', old({ kind: 'Page' }), Hub, both, differs('kind', '"Page" and "Site"')],
  ['another plural', old({ plural: 'sits' }), Hub, both, differs('plural', '"sits" and "sites"')],
  ['another scope', old({ cluster: true }), Hub, both, differs('scope', '"Cluster" and "Namespaced"')],
  ['the same version', Hub, old({ version: 'v1' }), both, 'they are the same version'],
  ['a missing function', Old, Hub, { up: same }, 'down must be a function'],
  ['an unknown option', Old, Hub, { ...both, dwon: same }, 'there is no option "dwon"; did you mean "down"?'],
  ['no options', Old, Hub, undefined, 'its options are undefined, and must be an object'],
  ['a second declaration', Old, Hub, both, 'this conversion is declared already', [describeConversion(Old, Hub, both)]],
  [
    'two hubs',
    Middle,
    Hub,
    both,
    'example.com/v1alpha1 Site is converted to v1beta1; all versions of a kind convert to one hub',
    [describeConversion(Old, Middle, both)],
  ],
]

for (const [name, from, hub, options, problem, known] of refusals) {
  test(`a conversion is refused for ${name}`, () => {
    const [a, b] = [from, hub].map((each) => `${apiVersionOf(each)} ${each.kind}`)
    assert.throws(() => describeConversion(from as DefinedResource, hub as DefinedResource, options as never, known), {
      name: 'TypeError',
      message: `Cannot convert ${a} to ${b}: ${problem}`,
    })
  })
}

test('conversions of other kinds may have other hubs', () => {
  const page = { ...site, kind: 'Page' } as const
  const pages = describeConversion(
    defineResource({ ...page, version: 'v1alpha1' }),
    defineResource({ ...page, version: 'v2' }),
    both,
  )
  const known: ConversionDescription[] = [pages, describeConversion(Middle, Hub, both)]
  assert.equal(describeConversion(Old, Hub, both, known).hub, Hub)
})

test('the types of spec and status are checked', () => {
  const with_ = <S extends z.ZodType>(version: string, status: S) =>
    defineResource({ group: 'example.com', version, kind: 'Site', spec: text, status })
  const Ready = with_('v1', z.object({ ready: z.boolean() }))
  const Wider = with_('v2', z.object({ ready: z.boolean(), at: z.string().optional() }))
  const Phase = with_('v3', z.object({ phase: z.string() }))
  const spec = { a: 'x' }
  const checks = [
    // @ts-expect-error a field of the hub is missing
    { up: () => ({ spec: {} }), down: same } satisfies Conversion<typeof Old, typeof Hub>,
    // @ts-expect-error a misspelt field of the object
    { up: ({ spec }) => ({ spec: { a: spec.b } }), down: same } satisfies Conversion<typeof Old, typeof Hub>,
    // @ts-expect-error a Promise
    { up: async () => ({ spec }), down: same } satisfies Conversion<typeof Old, typeof Hub>,
    // A status of the same type is carried over.
    { up: () => ({ spec }), down: () => ({ spec }) } satisfies Conversion<typeof Ready, typeof Wider>,
    // @ts-expect-error a status of another type must be stated
    { up: () => ({ spec }), down: () => ({ spec, status: undefined }) } satisfies Conversion<
      typeof Ready,
      typeof Phase
    >,
    {
      up: ({ status }) => ({ spec, status: status && { phase: status.ready ? 'Ready' : 'Pending' } }),
      down: ({ status }) => ({ spec, status: status && { ready: status.phase === 'Ready' } }),
    } satisfies Conversion<typeof Ready, typeof Phase>,
    // @ts-expect-error a version without a status
    { up: () => ({ spec, status: { ready: true } }), down: same } satisfies Conversion<typeof Old, typeof Hub>,
    // The whole object may be spread.
    {
      up: (old) => ({ ...old, spec: { a: old.spec.a }, metadata: { ...old.metadata, labels: { b: 'c' } } }),
      down: (hub) => ({ ...hub }),
    } satisfies Conversion<typeof Ready, typeof Wider>,
    // @ts-expect-error metadata other than labels and annotations
    { up: () => ({ spec, metadata: { name: 'x' } }), down: same } satisfies Conversion<typeof Old, typeof Hub>,
  ]
  assert.equal(checks.length, 9)
})
