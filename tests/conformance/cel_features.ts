/** Rules with messages, reasons and paths, at any depth of a schema; updates; and definitions that are refused. */

// deno-lint-ignore no-explicit-any -- schemas and objects are JSON
type Json = any

const INT: Json = { type: 'integer' }
const TEXT: Json = { type: 'string', maxLength: 20 }

function rules(...given: readonly Json[]): Json {
  return { 'x-kubernetes-validations': given }
}

function object(properties: Json, more: Json = {}): Json {
  return { type: 'object', properties, ...more }
}

function list(items: Json, more: Json = {}): Json {
  return { type: 'array', maxItems: 10, items, ...more }
}

export const SCHEMA: Json = object(
  {
    spec: object({
      a: object({ x: INT }, rules({ rule: 'self.x > 1', message: '  x must be large ' })),
      b: object({ x: INT, s: TEXT }, rules({ rule: 'self.x > 1', messageExpression: "'x is ' + self.s + ' '" })),
      c: object(
        { x: INT },
        rules({ rule: 'self.x > 1', message: 'fallback', messageExpression: "self.x == 0 ? 'a\\n' : 'b'" }),
      ),
      c2: object({ x: INT, s: TEXT }, rules({ rule: 'self.x > 1', messageExpression: 'self.s' })),
      d: object({ x: INT }, rules({ rule: 'self.x > 1', reason: 'FieldValueForbidden', fieldPath: '.x' })),
      e: object(
        { x: INT, m: { type: 'object', additionalProperties: INT } },
        rules({ rule: 'self.x > 1', reason: 'FieldValueRequired', fieldPath: ".m['k.y']", message: 'needed' }),
      ),
      f: object({ x: INT }, rules({ rule: 'self.x > 1', reason: 'FieldValueDuplicate' }, { rule: 'self.x > 0' })),
      g: { ...INT, ...rules({ rule: 'self > 1' }, { rule: 'self % 2 == 0', reason: 'FieldValueDuplicate' }) },
      h: { ...TEXT, ...rules({ rule: "self != 'a'" }) },
      i: list(INT, rules({ rule: 'self.size() > 1' })),
      j: list({ ...INT, ...rules({ rule: 'self > 1' }) }),
      k: {
        type: 'object',
        maxProperties: 5,
        additionalProperties: { ...INT, ...rules({ rule: 'self > 1' }) },
        ...rules({ rule: 'self.size() > 1' }),
      },
      l: { type: 'boolean', ...rules({ rule: 'self' }) },
      n: { type: 'number', ...rules({ rule: 'self > 1.5' }) },
      o: { 'x-kubernetes-int-or-string': true, ...rules({ rule: 'self != 5' }) },
      p: object({
        'x-y': object({ z: INT }, rules({ rule: 'self.z > 1', fieldPath: '.z' })),
        '1x': object({ z: INT }, rules({ rule: 'self.z > 1' })),
      }),
      q: { ...INT, nullable: true, ...rules({ rule: 'self > 1' }) },

      s: { type: 'string', format: 'date-time', ...rules({ rule: "self > timestamp('2020-01-01T00:00:00Z')" }) },
      t: {
        type: 'object',
        'x-kubernetes-embedded-resource': true,
        'x-kubernetes-preserve-unknown-fields': true,
        ...rules({ rule: "self.metadata.name.startsWith('a') && self.kind == 'Pod'" }),
      },
      u: { type: 'string', enum: ['x', 'y'], ...rules({ rule: "self == 'y'" }) },
      req: INT,
    }),
    status: object({ n: INT }, rules({ rule: 'self.n > 1' })),
  },
  rules({ rule: "self.metadata.name != 'bad' && self.kind != 'No'", message: 'root' }, {
    rule: '!has(self.spec.req) || self.spec.req > 1',
    fieldPath: '.spec.req',
  }),
)

/** Specs with the causes of their refusal, in the real server's order but for that of the fields of an object. */
export const SPECS: readonly Json[] = [
  { a: { x: 1 } },
  { b: { x: 1 } },
  { c: { x: 0 } },
  { c2: { x: 0, s: ' ' } },
  { c2: { x: 0, s: 'two\nlines' } },
  { c2: { x: 0 } },
  { d: { x: 1 } },
  { e: { x: 1 } },
  { f: { x: 0 } },
  { f: {} },
  { g: 1 },
  { h: 'a' },
  { i: [] },
  { j: [1, 2, 0] },
  { k: { a: 1 } },
  { l: false },
  { n: 1 },
  { o: 5 },
  { p: { 'x-y': { z: 1 }, '1x': { z: 1 } } },
  { q: null },
  { q: 1 },
  { s: '2019-01-01T00:00:00Z' },
  { t: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'b' } } },
  { t: { apiVersion: 'v1', kind: 'Pod', metadata: {} } },
  { req: 1 },
  { a: { x: 1 }, b: { x: 1 }, g: 1 },
  { a: { x: 'y' }, b: { x: 1 } },
  { u: 'z', b: { x: 1 } },
  { u: 'x' },
  { h: 'toolongtoolongtoolongtoolong', b: { x: 1 } },
  { j: [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1] },
]

const ITEM = object({ k: TEXT, v: INT }, { required: ['k'], ...rules({ rule: 'self.v >= oldSelf.v' }) })

/** Returns a schema; `strict` adds rules that {@link OLD} breaks. */
export function changingSchema(strict: boolean): Json {
  return object({
    spec: object({
      a: { ...INT, ...rules({ rule: 'self >= oldSelf', message: 'may not shrink' }) },
      m: list(ITEM, { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'] }),
      o: {
        ...INT,
        ...rules({
          rule: 'oldSelf.hasValue() || self < 10',
          optionalOldSelf: true,
          messageExpression: "oldSelf.hasValue() ? 'grew' : 'starts small'",
        }),
      },
      p: object({ x: INT, y: INT }, strict ? rules({ rule: 'self.x > 1' }) : {}),
      q: list(object({ x: INT }, strict ? rules({ rule: 'self.x > 1' }) : {})),
      w: {
        type: 'object',
        maxProperties: 5,
        additionalProperties: object({ x: INT }, strict ? rules({ rule: 'self.x > 1' }) : {}),
      },
      r: object({
        l: list({ ...INT, ...(strict ? rules({ rule: 'self > 1' }) : {}) }, { 'x-kubernetes-list-type': 'set' }),
      }),
      im: { ...TEXT, ...rules({ rule: 'self == oldSelf', message: 'immutable' }) },
      z: INT,
    }),
  })
}

export const OLD: Json = {
  a: 5,
  m: [{ k: 'a', v: 1 }, { k: 'b', v: 5 }],
  o: 5,
  p: { x: 1 },
  q: [{ x: 1 }],
  w: { a: { x: 1 } },
  r: { l: [1, 2] },
  im: 's',
}

/** Changes of {@link OLD}, with their causes and warnings. */
export const CHANGES: readonly Json[] = [
  {},
  { z: 1 },
  { a: 4 },
  { m: [{ k: 'b', v: 4 }, { k: 'c', v: 0 }, { k: 'a', v: 2 }] },
  { o: 20 },
  { p: { x: 0 } },
  { p: { x: 1, y: 1 } },
  { q: [{ x: 1 }, { x: 5 }] },
  { w: { a: { x: 1 }, b: { x: 5 } } },
  { w: { a: { x: 1 }, b: { x: 1 } } },
  { r: { l: [2, 1, 3] } },
  { im: 't' },
  { im: undefined },
]

function ruled(rule: Json): Json {
  return object({ x: INT, s: TEXT, m: { type: 'object', additionalProperties: INT }, l: list(INT) }, rules(rule))
}

/** Schemas of definitions with the causes of their refusal. */
export const FORMS: readonly (readonly [name: string, schema: Json])[] = [
  ['empty', object({ spec: ruled({ rule: ' ' }) })],
  ['norule', object({ spec: ruled({ message: 'x' }) })],
  ['blank message', object({ spec: ruled({ rule: 'self.x > 1', message: ' ' }) })],
  ['newline', object({ spec: ruled({ rule: 'self.x > 1', message: 'a\nb' }) })],
  ['rule newline', object({ spec: ruled({ rule: 'self.x\n > 1' }) })],
  ['rule newline ok', object({ spec: ruled({ rule: 'self.x\n > 1', message: 'm' }) })],
  ['blank expr', object({ spec: ruled({ rule: 'self.x > 1', messageExpression: ' ' }) })],
  ['reason', object({ spec: ruled({ rule: 'self.x > 1', reason: 'Nope' }) })],
  ['path', object({ spec: ruled({ rule: 'self.x > 1', fieldPath: '.nope' }) })],
  ['path blank', object({ spec: ruled({ rule: 'self.x > 1', fieldPath: ' ' }) })],
  ['path nl', object({ spec: ruled({ rule: 'self.x > 1', fieldPath: '.x\n' }) })],
  ['path list', object({ spec: ruled({ rule: 'self.x > 1', fieldPath: '.l[0]' }) })],
  ['path map', object({ spec: ruled({ rule: 'self.x > 1', fieldPath: ".m['a']" }) })],
  ['path mapdot', object({ spec: ruled({ rule: 'self.x > 1', fieldPath: '.m.a' }) })],
  ['path nodot', object({ spec: ruled({ rule: 'self.x > 1', fieldPath: 'x' }) })],
  ['expr type', object({ spec: ruled({ rule: 'self.x > 1', messageExpression: 'self.x' }) })],
  ['expr bad', object({ spec: ruled({ rule: 'self.x > 1', messageExpression: 'self.nope' }) })],
  [
    'expr cost',
    object({
      spec: object(
        { l: { type: 'array', items: { type: 'string' } } },
        rules({ rule: 'true', messageExpression: 'self.l.map(x, x).map(y, y + y).join(",")' }),
      ),
    }),
  ],
  ['expr int', object({ spec: ruled({ rule: 'self.x > 1', messageExpression: 'string(self.x)' }) })],
  ['both bad', object({ spec: ruled({ rule: 'self.nope', messageExpression: 'self.nope2' }) })],
  ['unused optional', object({ spec: ruled({ rule: 'self.x > 1', optionalOldSelf: true }) })],
  ['unused optional false', object({ spec: ruled({ rule: 'self.x > 1', optionalOldSelf: false }) })],
  ['optional wrong', object({ spec: ruled({ rule: 'self.x > oldSelf.x', optionalOldSelf: true }) })],
  ['old in list', object({ spec: list({ ...INT, ...rules({ rule: 'self > oldSelf' }) }) })],
  [
    'old in set',
    object({ spec: list({ ...TEXT, ...rules({ rule: 'self > oldSelf' }) }, { 'x-kubernetes-list-type': 'set' }) }),
  ],
  [
    'old below list',
    object({
      spec: list(
        object({ m: { type: 'object', additionalProperties: { ...INT, ...rules({ rule: 'self > oldSelf' }) } } }),
      ),
    }),
  ],
  [
    'old in map',
    object({
      spec: {
        type: 'object',
        maxProperties: 5,
        additionalProperties: { ...INT, ...rules({ rule: 'self > oldSelf' }) },
      },
    }),
  ],
  ['preserve no type', object({ spec: { 'x-kubernetes-preserve-unknown-fields': true, ...rules({ rule: 'true' }) } })],
  [
    'preserve object',
    object({
      spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, ...rules({ rule: 'has(self.x)' }) },
    }),
  ],
  [
    'not in anyOf',
    object({ spec: { ...ruled({ rule: 'true' }), anyOf: [{ properties: { x: rules({ rule: 'true' }) } }] } }),
  ],
  [
    'allOf',
    object({ spec: { ...ruled({ rule: 'true' }), allOf: [{ properties: { x: rules({ rule: 'self > 1' }) } }] } }),
  ],
  [
    'allOf bad',
    object({ spec: { ...ruled({ rule: 'true' }), allOf: [{ properties: { x: rules({ rule: 'self.nope' }) } }] } }),
  ],
  ['not', object({ spec: { ...ruled({ rule: 'true' }), not: rules({ rule: 'true' }) } })],
  ['root metadata', { ...object({}), ...rules({ rule: 'has(self.metadata.labels)' }) }],
  ['root ok', {
    ...object({}),
    ...rules({ rule: "self.metadata.name.size() < 5 && self.metadata.generateName == '' && self.apiVersion == 'x'" }),
  }],
  [
    'list in unbounded map',
    object({
      spec: {
        type: 'object',
        additionalProperties: { type: 'array', items: { type: 'string' }, ...rules({ rule: "self.all(x, x == 'a')" }) },
      },
    }),
  ],
  [
    'nested cost',
    object({
      spec: {
        type: 'array',
        items: { type: 'array', items: { type: 'string', ...rules({ rule: "self.contains('a')" }) } },
      },
    }),
  ],
  [
    'cost 1.x',
    object({
      spec: {
        type: 'array',
        items: { type: 'string', maxLength: 40, ...rules({ rule: "self.startsWith('abc') && self.size() > 1" }) },
      },
    }),
  ],
  [
    'cost of characters',
    object({
      spec: {
        type: 'array',
        maxItems: 1000,
        items: { type: 'string', maxLength: 100_000 },
        ...rules({ rule: "self.all(x, x.contains('abc'))" }),
      },
    }),
  ],
  [
    'total',
    object({
      spec: object(
        Object.fromEntries(
          Array.from(
            { length: 20 },
            (
              _,
              i,
            ) => [`p${i}`, {
              type: 'array',
              items: { type: 'string' },
              ...rules({ rule: 'self.all(x, x.size() > 1)' }),
            }],
          ),
        ),
      ),
    }),
  ],
  [
    'cost of keys',
    object({
      spec: {
        type: 'object',
        maxProperties: 10_000_000,
        additionalProperties: INT,
        ...rules({ rule: "self.all(k, k.contains('abc'))" }),
      },
    }),
  ],
  [
    'cost of times',
    object({
      spec: object(
        { s: { type: 'string', maxLength: 30 } },
        rules({ rule: "timestamp(self.s) == timestamp('2020-01-01T00:00:00Z')" }),
      ),
    }),
  ],
  ['path escapes', object({ spec: object({ 'a\fb': INT }, rules({ rule: 'true', fieldPath: "['a\\fb']" })) })],
  [
    'carriage returns',
    object({
      spec: object({
        s: { type: 'string', default: 'x', ...rules({ rule: '"""\r\r\n""" + self == "\\n\\nx"', message: 'm' }) },
      }),
    }),
  ],
  ['default breaks rule', object({ spec: object({ x: { ...INT, default: 1, ...rules({ rule: 'self > 1' }) } }) })],
  [
    'default breaks rule2',
    object({ spec: object({ o: object({ x: INT }, { default: { x: 1 }, ...rules({ rule: 'self.x > 1' }) }) }) }),
  ],
  ['structural and cel', object({ spec: object({ x: {}, y: { ...INT, ...rules({ rule: 'self.nope' }) } }) })],
  ['two bad', object({ spec: object({ y: { ...INT, ...rules({ rule: 'self.nope' }, { rule: 'nope' }) } }) })],
]
