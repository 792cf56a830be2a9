/** Random discriminated unions at any place in a schema, with values that often break one condition. */
import fc from 'fast-check'
import * as z from 'zod'
import type { Node } from './random_schemas.ts'

/**
 * A field has one type in all alternatives, and limits may differ. Some names need escapes in CEL, one has no CEL name.
 */
const FIELDS: Readonly<Record<string, fc.Arbitrary<Node>>> = {
  a: fc.nat(3).map((max) => ({
    schema: z.string().max(max),
    values: fc.string({ unit: fc.constantFrom('x', 'y'), maxLength: 4 }),
  })),
  'a-b': fc.nat(3).map((max) => ({ schema: z.int32().min(0).max(max), values: fc.integer({ min: -1, max: 4 }) })),
  namespace: fc.constantFrom(['p'], ['p', 'q']).map((of) => ({
    schema: z.enum(of),
    values: fc.constantFrom('p', 'q'),
  })),
  c__d: fc.nat(2).map((max) => ({ schema: z.string().max(max), values: fc.constantFrom('', 'xx') })),
  n: fc.nat(2).map((max) => ({ schema: z.string().max(max).nullable(), values: fc.constantFrom(null, '', 'xx') })),
  'e.f/g': fc.nat(2).map((max) => ({
    schema: z.array(z.string().max(2)).max(max),
    values: fc.array(fc.constantFrom('x', 'yyy'), { maxLength: 2 }),
  })),
  'ü': fc.constant({ schema: z.boolean(), values: fc.boolean() }),
  // CEL has no type of these.
  m: fc.constant({ schema: z.record(z.string(), z.unknown()), values: fc.constantFrom({}, { k: [1] }, 'no') }),
  l: fc.constant({ schema: z.array(z.array(z.unknown())), values: fc.constantFrom([], [[1, 'x']], [1]) }),
  h: fc.boolean().map((isB) => ({
    schema: z.object({ i: z.string(), ...(isB && { j: z.string() }) }),
    values: fc.record({ i: fc.constant('x'), j: fc.constant('y') }, { requiredKeys: [], noNullPrototype: true }),
  })),
}

const TAGS: readonly (readonly (readonly (string | number | boolean)[])[])[] = [
  [['copy'], ['merge'], ['a "quoted" \\ one', 'two']],
  [[1], [2, -3], [4]],
  [[true], [false]],
  [[1.5], [2], [-0.25, 3]],
  [['x.y'], ['']],
]

const NAMES = Object.keys(FIELDS)

function unionOf(inner: fc.Arbitrary<Node> | undefined): fc.Arbitrary<Node> {
  const fields = fc.record({ ...FIELDS, ...(inner && { inner }) }, { noNullPrototype: true })
  const alternative = fc.record({
    names: fc.subarray(inner ? [...NAMES, 'inner'] : NAMES, { maxLength: 4 }),
    optional: fc.subarray([...NAMES, 'inner']),
    fields,
    isStrict: fc.boolean(),
  })
  return fc.tuple(
    fc.constantFrom(...TAGS),
    fc.constantFrom('type', 'if', 'k-d'),
    fc.array(alternative, { minLength: 3, maxLength: 3 }),
    fields,
    fc.nat(2),
  ).map(([tags, tag, alternatives, shared, form]): Node => {
    const options = tags.map((values, at) => {
      const { names, optional, fields, isStrict } = alternatives[at]!
      const shape = Object.fromEntries(names.map((name) => {
        // An inner union has the same structure in all alternatives.
        const { schema } = (name === 'inner' || name === 'h' ? shared : fields)[name as keyof typeof fields] as Node
        return [name, optional.includes(name) ? schema.optional() : schema]
      }))
      return (isStrict ? z.strictObject : z.object)({ [tag]: z.literal([...values]), ...shape })
    }) as unknown as [z.ZodObject, z.ZodObject]
    const [first, ...others] = options
    // A union inside a union counts as one union.
    const schema = form === 0
      ? z.union(options)
      : form === 1 && others.length > 1
      ? z.discriminatedUnion(tag, [first, z.discriminatedUnion(tag, others as [z.ZodObject])])
      : z.discriminatedUnion(tag, options)
    const one = (name: string): fc.Arbitrary<unknown> => (shared[name as keyof typeof shared] as Node).values
    const values = tags.flat().length
    const whole = fc.nat(options.length - 1).chain((at) => {
      const { names, optional } = alternatives[at]!
      const required = names.filter((name) => !optional.includes(name))
      const wanted = fc.record<Record<string, unknown>, string>(
        { [tag]: fc.constantFrom(...tags[at]!), ...Object.fromEntries(names.map((name) => [name, one(name)])) },
        { requiredKeys: [tag, ...required], noNullPrototype: true },
      )
      const more = fc.constantFrom(...NAMES).chain((name) =>
        fc.tuple(wanted, one(name)).map(([value, field]) => ({ ...value, [name]: field }))
      )
      const less = fc.tuple(wanted, fc.constantFrom(tag, ...names)).map(([value, name]) =>
        Object.fromEntries(Object.entries(value).filter(([key]) => key !== name))
      )
      return fc.oneof({ weight: 2, arbitrary: wanted }, more, less)
    })
    const any = fc.record<Record<string, unknown>, string>(
      {
        [tag]: fc.constantFrom<unknown>(...tags.flat(), 'no', 7),
        ...Object.fromEntries(NAMES.map((name) => [name, one(name)])),
        unknown: fc.constant(1),
      },
      { requiredKeys: values % 2 ? [tag] : [], noNullPrototype: true },
    )
    return { schema, values: fc.oneof({ weight: 3, arbitrary: whole }, any) }
  })
}

const wrappers: readonly ((node: Node) => Node)[] = [
  (node) => node,
  (node) => node,
  ({ schema, values }) => ({ schema: schema.nullable(), values: fc.option(values) }),
  ({ schema, values }) => ({ schema: z.array(schema), values: fc.array(values, { maxLength: 2 }) }),
  ({ schema, values }) => ({ schema: z.array(schema).max(1000), values: fc.array(values, { maxLength: 2 }) }),
  ({ schema, values }) => ({
    schema: z.array(z.array(z.array(schema).max(1000)).max(1000)).max(1000),
    values: fc.array(fc.array(fc.array(values, { maxLength: 1 }), { maxLength: 1 }), { maxLength: 2 }),
  }),
  ({ schema, values }) => ({
    schema: z.record(z.string(), z.array(schema)),
    values: fc.dictionary(fc.constantFrom('k', 'l'), fc.array(values, { maxLength: 2 }), { noNullPrototype: true }),
  }),
  ({ schema, values }) => ({
    schema: z.object({ name: z.string() }).and(schema as z.ZodObject),
    values: values.map((value) => ({ name: 'n', ...value as object })),
  }),
]

const wrapped = (node: fc.Arbitrary<Node>): fc.Arbitrary<Node> =>
  fc.tuple(node, fc.constantFrom(...wrappers)).map(([inner, wrap]) => wrap(inner))

/** A union at any place in a schema; some contain another in a field. */
export const unionNode: fc.Arbitrary<Node> = wrapped(
  fc.oneof({ weight: 2, arbitrary: unionOf(undefined) }, unionOf(wrapped(unionOf(undefined)))),
)

/** Tests whether zod accepts a value and strips nothing. */
export function isWhole(schema: z.ZodType, value: unknown): boolean {
  const { success, data } = schema.safeParse(value)
  return success && holds(data, value)
}

function holds(read: unknown, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true
  return Object.entries(value).every(([name, inner]) =>
    Object.hasOwn(read as object, name) && holds((read as Record<string, unknown>)[name], inner)
  )
}
