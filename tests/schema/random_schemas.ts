/** Random zod schemas from a small grammar, each with mostly valid values. */
import fc from 'fast-check'
import * as z from 'zod'

export interface Node {
  readonly schema: z.ZodType
  readonly values: fc.Arbitrary<unknown>
}

const word = fc.stringMatching(/^[a-c.-]{0,4}$/)
const fieldName = fc.constantFrom('a', 'b', 'c', 'd')

const leaf: fc.Arbitrary<Node> = fc.oneof(
  fc.tuple(fc.nat(2), fc.nat(3)).map(([low, more]): Node => ({
    schema: z.string().min(low).max(low + more),
    values: word,
  })),
  fc.constantFrom(/^a/, /b$/, /^[a-c]*$/, /[.-]/).map((regex): Node => ({
    schema: z.string().regex(regex),
    values: word,
  })),
  fc.constantFrom(['a'], ['a', 'b.c'], ['', 'a|b']).map((values): Node => ({
    schema: z.enum(values),
    values: fc.constantFrom(...values),
  })),
  fc.tuple(fc.integer({ min: -3, max: 3 }), fc.nat(4), fc.boolean()).map(([low, more, strict]): Node => ({
    schema: strict ? z.int32().gt(low).lt(low + more + 2) : z.int().min(low).max(low + more),
    values: fc.integer({ min: -5, max: 9 }),
  })),
  fc.integer({ min: 1, max: 4 }).map((divisor): Node => ({
    schema: z.number().multipleOf(divisor),
    values: fc.integer({ min: -9, max: 9 }),
  })),
  fc.constant<Node>({ schema: z.number(), values: fc.constantFrom(0, 0.5, -1.25) }),
  fc.constant<Node>({ schema: z.boolean(), values: fc.boolean() }),
  fc.constant<Node>({ schema: z.literal(true), values: fc.boolean() }),
  fc.uniqueArray(fc.integer({ min: 0, max: 3 }), { minLength: 1 }).map((values): Node => {
    return { schema: z.literal(values), values: fc.constantFrom(...values) }
  }),
  fc.constant<Node>({
    schema: z.union([z.int().min(0), z.string().regex(/^a/)]),
    values: fc.oneof(fc.integer({ min: -1, max: 3 }), word),
  }),
)

/**
 * Any JSON in ASCII, as lengths differ beyond it. No tiny fractions: zod ignores them in multipleOf, a server does not.
 */
const json = fc.anything({
  key: fieldName,
  values: [word, fc.integer(), fc.constantFrom(0.5, -1.25), fc.boolean(), fc.constant(null)],
  maxDepth: 2,
})

export const anyNode: fc.Arbitrary<Node> = nodes(true)

/** A schema without alternatives, of which zod keeps less than a server. */
export const plainNode: fc.Arbitrary<Node> = nodes(false)

function nodes(alternatives: boolean): fc.Arbitrary<Node> {
  const depth = { maxDepth: 3, withCrossShrink: true }
  return fc.letrec<{ node: Node }>((tie) => ({ node: fc.oneof(depth, leaf, containerOf(tie('node'), alternatives)) }))
    .node
}

function containerOf(inner: fc.Arbitrary<Node>, alternatives: boolean): fc.Arbitrary<Node> {
  const fields = fc.dictionary(fieldName, inner.chain(withDefaults), { maxKeys: 3, noNullPrototype: true })
  const containers = [
    fields.map(objectOf),
    fc.tuple(inner, fc.nat(1), fc.nat(2)).map(([item, low, more]): Node => ({
      schema: z.array(item.schema).min(low).max(low + more),
      values: fc.array(item.values, { maxLength: 3 }),
    })),
    inner.map((value): Node => {
      return {
        schema: z.record(z.string(), value.schema),
        values: fc.dictionary(fieldName, value.values, { noNullPrototype: true }),
      }
    }),
    inner.map((value): Node => ({ schema: value.schema.nullable(), values: fc.option(value.values) })),
  ]
  const choice = fc.tuple(fields, fields, fc.option(inner, { nil: undefined })).map(([left, right, shared]): Node => {
    // A field of both alternatives must have one type: use different names, and sometimes a shared field.
    const both = shared && { shared }
    const [a, b] = [left, right].map((side, i) => {
      return Object.fromEntries(Object.entries(side).map(([name, node]) => [`${name}${i}`, withoutDefault(node)]))
    })
    const options = [{ ...a, ...both, kind: constant('a') }, { ...b, ...both, kind: constant('b') }].map(objectOf)
    const schemas = options.map(({ schema }) => schema) as [Alternative, Alternative]
    return { schema: z.discriminatedUnion('kind', schemas), values: fc.oneof(...options.map(({ values }) => values)) }
  })
  return fc.oneof(...containers, ...(alternatives ? [choice] : []))
}

type Alternative = z.ZodObject<{ kind: z.ZodLiteral<string> }>

function constant(value: string): Node {
  return { schema: z.literal(value), values: fc.constant(value) }
}

function objectOf(fields: Record<string, Node>): Node {
  const schema = z.object(Object.fromEntries(Object.entries(fields).map(([name, node]) => [name, node.schema])))
  const values = Object.fromEntries(Object.entries(fields).map(([name, node]) => [name, node.values]))
  const required = Object.keys(fields).filter((name) => fields[name]!.schema._zod.optin === undefined)
  const whole = fc.record(values, { requiredKeys: required, noNullPrototype: true })
  const partial = fc.record(values, { requiredKeys: [], noNullPrototype: true })
  const withUnknown = fc.tuple(whole, json).map(([value, unknown]) => ({ ...value as object, unknown }))
  // Mostly complete; sometimes a field is missing or unknown.
  return { schema, values: fc.oneof({ weight: 3, arbitrary: whole }, partial, withUnknown) }
}

/** Removes the default: a field of one alternative only may not have one. */
function withoutDefault(node: Node): Node {
  const { type } = node.schema._zod.def
  return type === 'default' || type === 'prefault'
    ? { ...node, schema: (node.schema as z.ZodDefault).unwrap() as z.ZodType }
    : node
}

/** Returns a field: unchanged, optional, or with a valid default. */
export function withDefaults(node: Node): fc.Arbitrary<Node> {
  const withDefault = node.values.map((value): Node => {
    const parsed = node.schema.safeParse(value)
    // A default of null is refused.
    return parsed.success && parsed.data !== null ? { ...node, schema: node.schema.default(parsed.data) } : node
  })
  return fc.oneof(fc.constant(node), fc.constant({ ...node, schema: node.schema.optional() }), withDefault)
}

/** The schema of an object with the field v, and a value for it. */
export function cases(node: fc.Arbitrary<Node>): fc.Arbitrary<readonly [z.ZodType, unknown]> {
  const whole = node.chain(withDefaults).map((v) => objectOf({ v }))
  const others = fc.record({ v: json }, { noNullPrototype: true })
  return whole.chain(({ schema, values }) =>
    fc.tuple(fc.constant(schema), fc.oneof({ weight: 5, arbitrary: values }, others))
  )
}
