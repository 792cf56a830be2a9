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
export const SPECS: readonly (readonly [spec: Json, causes: readonly string[]])[] = [
  [{ a: { x: 1 } }, ['Invalid spec.a: Invalid value: x must be large']],
  [{ b: { x: 1 } }, ['Invalid spec.b: Invalid value: failed rule: self.x > 1']],
  [{ c: { x: 0 } }, ['Invalid spec.c: Invalid value: a']],
  [{ c2: { x: 0, s: ' ' } }, ['Invalid spec.c2: Invalid value: failed rule: self.x > 1']],
  [{ c2: { x: 0, s: 'two\nlines' } }, ['Invalid spec.c2: Invalid value: failed rule: self.x > 1']],
  [{ c2: { x: 0 } }, ['Invalid spec.c2: Invalid value: failed rule: self.x > 1']],
  [{ d: { x: 1 } }, ['Forbidden spec.d.x: Forbidden: failed rule: self.x > 1']],
  [{ e: { x: 1 } }, ['Required spec.e.m[k.y]: Required value: needed']],
  [{ f: { x: 0 } }, ['Duplicate spec.f: Duplicate value', 'Invalid spec.f: Invalid value: failed rule: self.x > 0']],
  [{ f: {} }, [
    'Invalid spec.f: Invalid value: "object": no such key: x evaluating rule: self.x > 1',
    'Invalid spec.f: Invalid value: "object": no such key: x evaluating rule: self.x > 0',
  ]],
  [{ g: 1 }, ['Invalid spec.g: Invalid value: 1: failed rule: self > 1', 'Duplicate spec.g: Duplicate value: 1']],
  [{ h: 'a' }, ['Invalid spec.h: Invalid value: "a": failed rule: self != \'a\'']],
  [{ i: [] }, ['Invalid spec.i: Invalid value: failed rule: self.size() > 1']],
  [{ j: [1, 2, 0] }, [
    'Invalid spec.j[0]: Invalid value: 1: failed rule: self > 1',
    'Invalid spec.j[2]: Invalid value: 0: failed rule: self > 1',
  ]],
  [{ k: { a: 1 } }, [
    'Invalid spec.k: Invalid value: failed rule: self.size() > 1',
    'Invalid spec.k[a]: Invalid value: 1: failed rule: self > 1',
  ]],
  [{ l: false }, ['Invalid spec.l: Invalid value: false: failed rule: self']],
  [{ n: 1 }, ['Invalid spec.n: Invalid value: 1: failed rule: self > 1.5']],
  [{ o: 5 }, ['Invalid spec.o: Invalid value: 5: failed rule: self != 5']],
  [{ p: { 'x-y': { z: 1 }, '1x': { z: 1 } } }, [
    'Invalid spec.p.x-y.z: Invalid value: failed rule: self.z > 1',
    'Invalid spec.p.1x: Invalid value: failed rule: self.z > 1',
  ]],
  [{ q: null }, []],
  [{ q: 1 }, ['Invalid spec.q: Invalid value: 1: failed rule: self > 1']],
  [{ s: '2019-01-01T00:00:00Z' }, [
    'Invalid spec.s: Invalid value: "2019-01-01T00:00:00Z": failed rule: self > timestamp(\'2020-01-01T00:00:00Z\')',
  ]],
  [{ t: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'b' } } }, [
    "Invalid spec.t: Invalid value: failed rule: self.metadata.name.startsWith('a') && self.kind == 'Pod'",
  ]],
  [{ t: { apiVersion: 'v1', kind: 'Pod', metadata: {} } }, [
    "Invalid spec.t: Invalid value: \"object\": no such key: name evaluating rule: self.metadata.name.startsWith('a') && self.kind == 'Pod'",
  ]],
  [{ req: 1 }, ['Invalid spec.req: Invalid value: failed rule: !has(self.spec.req) || self.spec.req > 1']],
  [{ a: { x: 1 }, b: { x: 1 }, g: 1 }, [
    'Invalid spec.a: Invalid value: x must be large',
    'Invalid spec.b: Invalid value: failed rule: self.x > 1',
    'Invalid spec.g: Invalid value: 1: failed rule: self > 1',
    'Duplicate spec.g: Duplicate value: 1',
  ]],
  [{ a: { x: 'y' }, b: { x: 1 } }, [
    'TypeInvalid spec.a.x: Invalid value: "string": spec.a.x in body must be of type integer: "string"',
    'Invalid <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
  ]],
  [{ u: 'z', b: { x: 1 } }, [
    'NotSupported spec.u: Unsupported value: "z": supported values: "x", "y"',
    'Invalid <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
  ]],
  [{ u: 'x' }, ['Invalid spec.u: Invalid value: "x": failed rule: self == \'y\'']],
  [{ h: 'toolongtoolongtoolongtoolong', b: { x: 1 } }, [
    'TooLong spec.h: Too long: may not be more than 20 bytes',
    'Invalid <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
  ]],
  [{ j: [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1] }, [
    'TooMany spec.j: Too many: 12: must have at most 10 items',
    'Invalid <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
  ]],
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
        ...rules({ rule: 'oldSelf.hasValue() || self < 10', optionalOldSelf: true, message: 'starts small' }),
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
export const CHANGES: readonly (readonly [change: Json, causes: readonly string[], warnings: readonly string[]])[] = [
  [{}, [], [
    'spec.p: Invalid value: failed rule: self.x > 1',
    'spec.q[0]: Invalid value: failed rule: self.x > 1',
    'spec.r.l[0]: Invalid value: 1: failed rule: self > 1',
    'spec.w[a]: Invalid value: failed rule: self.x > 1',
  ]],
  [{ z: 1 }, [], [
    'spec.p: Invalid value: failed rule: self.x > 1',
    'spec.q[0]: Invalid value: failed rule: self.x > 1',
    'spec.r.l[0]: Invalid value: 1: failed rule: self > 1',
    'spec.w[a]: Invalid value: failed rule: self.x > 1',
  ]],
  [{ a: 4 }, ['Invalid spec.a: Invalid value: 4: may not shrink'], [
    'spec.p: Invalid value: failed rule: self.x > 1',
    'spec.q[0]: Invalid value: failed rule: self.x > 1',
    'spec.r.l[0]: Invalid value: 1: failed rule: self > 1',
    'spec.w[a]: Invalid value: failed rule: self.x > 1',
  ]],
  [{ m: [{ k: 'b', v: 4 }, { k: 'c', v: 0 }, { k: 'a', v: 2 }] }, [
    'Invalid spec.m[0]: Invalid value: failed rule: self.v >= oldSelf.v',
  ], [
    'spec.p: Invalid value: failed rule: self.x > 1',
    'spec.q[0]: Invalid value: failed rule: self.x > 1',
    'spec.r.l[0]: Invalid value: 1: failed rule: self > 1',
    'spec.w[a]: Invalid value: failed rule: self.x > 1',
  ]],
  [{ o: 20 }, [], [
    'spec.p: Invalid value: failed rule: self.x > 1',
    'spec.q[0]: Invalid value: failed rule: self.x > 1',
    'spec.r.l[0]: Invalid value: 1: failed rule: self > 1',
    'spec.w[a]: Invalid value: failed rule: self.x > 1',
  ]],
  [{ p: { x: 0 } }, ['Invalid spec.p: Invalid value: failed rule: self.x > 1'], [
    'spec.q[0]: Invalid value: failed rule: self.x > 1',
    'spec.r.l[0]: Invalid value: 1: failed rule: self > 1',
    'spec.w[a]: Invalid value: failed rule: self.x > 1',
  ]],
  [{ p: { x: 1, y: 1 } }, ['Invalid spec.p: Invalid value: failed rule: self.x > 1'], [
    'spec.q[0]: Invalid value: failed rule: self.x > 1',
    'spec.r.l[0]: Invalid value: 1: failed rule: self > 1',
    'spec.w[a]: Invalid value: failed rule: self.x > 1',
  ]],
  [{ q: [{ x: 1 }, { x: 5 }] }, ['Invalid spec.q[0]: Invalid value: failed rule: self.x > 1'], [
    'spec.p: Invalid value: failed rule: self.x > 1',
    'spec.r.l[0]: Invalid value: 1: failed rule: self > 1',
    'spec.w[a]: Invalid value: failed rule: self.x > 1',
  ]],
  [{ w: { a: { x: 1 }, b: { x: 5 } } }, [], [
    'spec.p: Invalid value: failed rule: self.x > 1',
    'spec.q[0]: Invalid value: failed rule: self.x > 1',
    'spec.r.l[0]: Invalid value: 1: failed rule: self > 1',
    'spec.w[a]: Invalid value: failed rule: self.x > 1',
  ]],
  [{ w: { a: { x: 1 }, b: { x: 1 } } }, ['Invalid spec.w[b]: Invalid value: failed rule: self.x > 1'], [
    'spec.p: Invalid value: failed rule: self.x > 1',
    'spec.q[0]: Invalid value: failed rule: self.x > 1',
    'spec.r.l[0]: Invalid value: 1: failed rule: self > 1',
    'spec.w[a]: Invalid value: failed rule: self.x > 1',
  ]],
  [{ r: { l: [2, 1, 3] } }, ['Invalid spec.r.l[1]: Invalid value: 1: failed rule: self > 1'], [
    'spec.p: Invalid value: failed rule: self.x > 1',
    'spec.q[0]: Invalid value: failed rule: self.x > 1',
    'spec.w[a]: Invalid value: failed rule: self.x > 1',
  ]],
  [{ im: 't' }, ['Invalid spec.im: Invalid value: "t": immutable'], [
    'spec.p: Invalid value: failed rule: self.x > 1',
    'spec.q[0]: Invalid value: failed rule: self.x > 1',
    'spec.r.l[0]: Invalid value: 1: failed rule: self > 1',
    'spec.w[a]: Invalid value: failed rule: self.x > 1',
  ]],
  [{ im: undefined }, [], [
    'spec.p: Invalid value: failed rule: self.x > 1',
    'spec.q[0]: Invalid value: failed rule: self.x > 1',
    'spec.r.l[0]: Invalid value: 1: failed rule: self > 1',
    'spec.w[a]: Invalid value: failed rule: self.x > 1',
  ]],
]

function ruled(rule: Json): Json {
  return object({ x: INT, s: TEXT, m: { type: 'object', additionalProperties: INT }, l: list(INT) }, rules(rule))
}

/** Schemas of definitions with the causes of their refusal. */
export const FORMS: readonly (readonly [name: string, schema: Json, causes: readonly string[]])[] = [
  ['empty', object({ spec: ruled({ rule: ' ' }) }), [
    'Required spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: Required value: rule is not specified',
  ]],
  ['norule', object({ spec: ruled({ message: 'x' }) }), [
    'Required spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: Required value: rule is not specified',
  ]],
  ['blank message', object({ spec: ruled({ rule: 'self.x > 1', message: ' ' }) }), [
    'Invalid spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].message: Invalid value: " ": must be non-empty if specified',
  ]],
  ['newline', object({ spec: ruled({ rule: 'self.x > 1', message: 'a\nb' }) }), [
    'Invalid spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].message: Invalid value: "a\\nb": must not contain line breaks',
  ]],
  ['rule newline', object({ spec: ruled({ rule: 'self.x\n > 1' }) }), [
    'Required spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].message: Required value: message must be specified if rule contains line breaks',
  ]],
  ['rule newline ok', object({ spec: ruled({ rule: 'self.x\n > 1', message: 'm' }) }), []],
  ['blank expr', object({ spec: ruled({ rule: 'self.x > 1', messageExpression: ' ' }) }), [
    'Required spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].messageExpression: Required value: messageExpression must be non-empty if specified',
  ]],
  ['reason', object({ spec: ruled({ rule: 'self.x > 1', reason: 'Nope' }) }), [
    'NotSupported spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].reason: Unsupported value: "Nope": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"',
  ]],
  ['path', object({ spec: ruled({ rule: 'self.x > 1', fieldPath: '.nope' }) }), [
    'Invalid spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].fieldPath: Invalid value: ".nope": must be a valid path',
  ]],
  ['path blank', object({ spec: ruled({ rule: 'self.x > 1', fieldPath: ' ' }) }), [
    'Invalid spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].fieldPath: Invalid value: " ": must be non-empty if specified',
    'Invalid spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].fieldPath: Invalid value: " ": must be a valid path',
  ]],
  ['path nl', object({ spec: ruled({ rule: 'self.x > 1', fieldPath: '.x\n' }) }), [
    'Invalid spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].fieldPath: Invalid value: ".x\\n": must not contain line breaks',
    'Invalid spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].fieldPath: Invalid value: ".x\\n": must be a valid path',
  ]],
  ['path list', object({ spec: ruled({ rule: 'self.x > 1', fieldPath: '.l[0]' }) }), [
    'Invalid spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].fieldPath: Invalid value: ".l[0]": must be a valid path',
  ]],
  ['path map', object({ spec: ruled({ rule: 'self.x > 1', fieldPath: ".m['a']" }) }), []],
  ['path mapdot', object({ spec: ruled({ rule: 'self.x > 1', fieldPath: '.m.a' }) }), []],
  ['path nodot', object({ spec: ruled({ rule: 'self.x > 1', fieldPath: 'x' }) }), [
    'Invalid spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].fieldPath: Invalid value: "x": must be a valid path',
  ]],
  ['expr type', object({ spec: ruled({ rule: 'self.x > 1', messageExpression: 'self.x' }) }), [
    'Invalid spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].messageExpression: Invalid value: {"Rule":"self.x \\u003e 1","Message":"","MessageExpression":"self.x","Reason":null,"FieldPath":"","OptionalOldSelf":null}: messageExpression must evaluate to a string',
  ]],
  ['expr bad', object({ spec: ruled({ rule: 'self.x > 1', messageExpression: 'self.nope' }) }), [
    'Invalid spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].messageExpression: Invalid value: {"Rule":"self.x \\u003e 1","Message":"","MessageExpression":"self.nope","Reason":null,"FieldPath":"","OptionalOldSelf":null}: messageExpression compilation failed: ERROR: <input>:1:5: undefined field \'nope\'\n | self.nope\n | ....^',
  ]],
  [
    'expr cost',
    object({
      spec: object(
        { l: { type: 'array', items: { type: 'string' } } },
        rules({ rule: 'true', messageExpression: 'self.l.map(x, x).map(y, y + y).join(",")' }),
      ),
    }),
    [
      'Forbidden spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].messageExpression: Forbidden: estimated messageExpression cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
      'Forbidden spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].messageExpression: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
      'Forbidden spec.validation.openAPIV3Schema: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
    ],
  ],
  ['expr int', object({ spec: ruled({ rule: 'self.x > 1', messageExpression: 'string(self.x)' }) }), []],
  ['both bad', object({ spec: ruled({ rule: 'self.nope', messageExpression: 'self.nope2' }) }), [
    'Invalid spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {"Rule":"self.nope","Message":"","MessageExpression":"self.nope2","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:5: undefined field \'nope\'\n | self.nope\n | ....^',
  ]],
  ['unused optional', object({ spec: ruled({ rule: 'self.x > 1', optionalOldSelf: true }) }), [
    'Invalid spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule',
  ]],
  ['unused optional false', object({ spec: ruled({ rule: 'self.x > 1', optionalOldSelf: false }) }), [
    'Invalid spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].optionalOldSelf: Invalid value: false: may not be set if oldSelf is not used in rule',
  ]],
  ['optional wrong', object({ spec: ruled({ rule: 'self.x > oldSelf.x', optionalOldSelf: true }) }), [
    'Invalid spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {"Rule":"self.x \\u003e oldSelf.x","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":true}: compilation failed: ERROR: <input>:1:8: found no matching overload for \'_>_\' applied to \'(int, optional_type(int))\'\n | self.x > oldSelf.x\n | .......^',
    'Invalid spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule',
  ]],
  ['old in list', object({ spec: list({ ...INT, ...rules({ rule: 'self > oldSelf' }) }) }), [
    'Invalid spec.validation.openAPIV3Schema.properties[spec].items.x-kubernetes-validations[0].rule: Invalid value: "self > oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within spec.validation.openAPIV3Schema.properties[spec]',
  ]],
  [
    'old in set',
    object({ spec: list({ ...TEXT, ...rules({ rule: 'self > oldSelf' }) }, { 'x-kubernetes-list-type': 'set' }) }),
    ['Invalid spec.validation.openAPIV3Schema.properties[spec].items.x-kubernetes-validations[0].rule: Invalid value: "self > oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within spec.validation.openAPIV3Schema.properties[spec]'],
  ],
  [
    'old below list',
    object({
      spec: list(
        object({ m: { type: 'object', additionalProperties: { ...INT, ...rules({ rule: 'self > oldSelf' }) } } }),
      ),
    }),
    ['Invalid spec.validation.openAPIV3Schema.properties[spec].items.properties[m].additionalProperties.x-kubernetes-validations[0].rule: Invalid value: "self > oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within spec.validation.openAPIV3Schema.properties[spec]'],
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
    [],
  ],
  ['preserve no type', object({ spec: { 'x-kubernetes-preserve-unknown-fields': true, ...rules({ rule: 'true' }) } }), [
    'InternalError spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations: Internal error: internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations',
  ]],
  [
    'preserve object',
    object({
      spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, ...rules({ rule: 'has(self.x)' }) },
    }),
    ['Invalid spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {"Rule":"has(self.x)","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:4: undefined field \'x\'\n | has(self.x)\n | ...^'],
  ],
  [
    'not in anyOf',
    object({ spec: { ...ruled({ rule: 'true' }), anyOf: [{ properties: { x: rules({ rule: 'true' }) } }] } }),
    ['Forbidden spec.validation.openAPIV3Schema.properties[spec].anyOf[0].properties[x].x-kubernetes-validations: Forbidden: must be empty to be structural'],
  ],
  [
    'allOf',
    object({ spec: { ...ruled({ rule: 'true' }), allOf: [{ properties: { x: rules({ rule: 'self > 1' }) } }] } }),
    ['Forbidden spec.validation.openAPIV3Schema.properties[spec].allOf[0].properties[x].x-kubernetes-validations: Forbidden: must be empty to be structural'],
  ],
  [
    'allOf bad',
    object({ spec: { ...ruled({ rule: 'true' }), allOf: [{ properties: { x: rules({ rule: 'self.nope' }) } }] } }),
    ['Forbidden spec.validation.openAPIV3Schema.properties[spec].allOf[0].properties[x].x-kubernetes-validations: Forbidden: must be empty to be structural'],
  ],
  ['not', object({ spec: { ...ruled({ rule: 'true' }), not: rules({ rule: 'true' }) } }), [
    'Forbidden spec.validation.openAPIV3Schema.properties[spec].not.x-kubernetes-validations: Forbidden: must be empty to be structural',
  ]],
  ['root metadata', { ...object({}), ...rules({ rule: 'has(self.metadata.labels)' }) }, [
    'Invalid spec.validation.openAPIV3Schema.x-kubernetes-validations[0].rule: Invalid value: {"Rule":"has(self.metadata.labels)","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:4: undefined field \'labels\'\n | has(self.metadata.labels)\n | ...^',
  ]],
  ['root ok', {
    ...object({}),
    ...rules({ rule: "self.metadata.name.size() < 5 && self.metadata.generateName == '' && self.apiVersion == 'x'" }),
  }, []],
  [
    'list in unbounded map',
    object({
      spec: {
        type: 'object',
        additionalProperties: { type: 'array', items: { type: 'string' }, ...rules({ rule: "self.all(x, x == 'a')" }) },
      },
    }),
    [
      'Forbidden spec.validation.openAPIV3Schema.properties[spec].additionalProperties.x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
      'Forbidden spec.validation.openAPIV3Schema.properties[spec].additionalProperties.x-kubernetes-validations[0].rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
      'Forbidden spec.validation.openAPIV3Schema: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
    ],
  ],
  [
    'nested cost',
    object({
      spec: {
        type: 'array',
        items: { type: 'array', items: { type: 'string', ...rules({ rule: "self.contains('a')" }) } },
      },
    }),
    [
      'Forbidden spec.validation.openAPIV3Schema.properties[spec].items.items.x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
      'Forbidden spec.validation.openAPIV3Schema.properties[spec].items.items.x-kubernetes-validations[0].rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
      'Forbidden spec.validation.openAPIV3Schema: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
    ],
  ],
  [
    'cost 1.x',
    object({
      spec: {
        type: 'array',
        items: { type: 'string', maxLength: 40, ...rules({ rule: "self.startsWith('abc') && self.size() > 1" }) },
      },
    }),
    [],
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
    [
      'Forbidden spec.validation.openAPIV3Schema.properties[spec].properties[p6].x-kubernetes-validations[0].rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
      'Forbidden spec.validation.openAPIV3Schema.properties[spec].properties[p0].x-kubernetes-validations[0].rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
      'Forbidden spec.validation.openAPIV3Schema.properties[spec].properties[p16].x-kubernetes-validations[0].rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
      'Forbidden spec.validation.openAPIV3Schema.properties[spec].properties[p17].x-kubernetes-validations[0].rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
      'Forbidden spec.validation.openAPIV3Schema: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of 1.258290x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)',
    ],
  ],
  ['default breaks rule', object({ spec: object({ x: { ...INT, default: 1, ...rules({ rule: 'self > 1' }) } }) }), [
    'Invalid spec.validation.openAPIV3Schema.properties[spec].properties[x].default: Invalid value: 1: failed rule: self > 1',
  ]],
  [
    'default breaks rule2',
    object({ spec: object({ o: object({ x: INT }, { default: { x: 1 }, ...rules({ rule: 'self.x > 1' }) }) }) }),
    ['Invalid spec.validation.openAPIV3Schema.properties[spec].properties[o].default: Invalid value: failed rule: self.x > 1'],
  ],
  ['structural and cel', object({ spec: object({ x: {}, y: { ...INT, ...rules({ rule: 'self.nope' }) } }) }), [
    'Required spec.validation.openAPIV3Schema.properties[spec].properties[x].type: Required value: must not be empty for specified object fields',
  ]],
  ['two bad', object({ spec: object({ y: { ...INT, ...rules({ rule: 'self.nope' }, { rule: 'nope' }) } }) }), [
    'Invalid spec.validation.openAPIV3Schema.properties[spec].properties[y].x-kubernetes-validations[0].rule: Invalid value: {"Rule":"self.nope","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:5: type \'int\' does not support field selection\n | self.nope\n | ....^',
    'Invalid spec.validation.openAPIV3Schema.properties[spec].properties[y].x-kubernetes-validations[1].rule: Invalid value: {"Rule":"nope","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:1: undeclared reference to \'nope\' (in container \'\')\n | nope\n | ^',
  ]],
]
