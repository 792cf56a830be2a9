/** Cases of CustomResourceDefinitions: what is refused, with the causes. */
import assert from 'node:assert/strict'
import { type Body, type Case, CRDS } from './api.ts'

const INT = { type: 'integer' }
const TEXT = { type: 'string' }
const COLUMN = { name: 'C', type: 'string', jsonPath: '.spec.s' }

function object(properties: Body, more: Body = {}): Body {
  return { type: 'object', properties, ...more }
}

function paths(...given: readonly string[]): Body {
  return given.map((jsonPath) => ({ jsonPath }))
}

const SCHEMA = object({
  spec: object({
    n: INT,
    s: TEXT,
    b: { type: 'boolean' },
    d: { type: 'number' },
    l: { type: 'array', items: TEXT },
    o: object({ x: INT }),
    m: { type: 'object', additionalProperties: TEXT },
    date: { type: 'string', format: 'date-time' },
    e: { type: 'string', enum: ['a', 'b'] },
    f: { 'x-kubernetes-int-or-string': true },
  }),
  status: object({ n: INT, sel: TEXT, conditions: { type: 'array', items: object({ type: TEXT, status: TEXT }) } }),
})

/** Properties of the root of a schema, with the causes of their refusal. */
const SCHEMAS: readonly (readonly [name: string, properties: Body, causes: readonly string[]])[] = [
  ['null type', { spec: { type: 'null' } }, [
    'NotSupported spec.validation.openAPIV3Schema.properties[spec].type: Unsupported value: "null": supported values: "array", "boolean", "integer", "number", "object", "string"',
    'Forbidden spec.validation.openAPIV3Schema.properties[spec].type: Forbidden: type cannot be set to null, use nullable as an alternative',
  ]],
  ['bad type', { spec: { type: 'nope' } }, [
    'NotSupported spec.validation.openAPIV3Schema.properties[spec].type: Unsupported value: "nope": supported values: "array", "boolean", "integer", "number", "object", "string"',
  ]],
  ['array no items', { spec: { type: 'array' } }, [
    'Required spec.validation.openAPIV3Schema.properties[spec].items: Required value: must be specified',
  ]],
  ['items list', { spec: { type: 'array', items: [TEXT] } }, [
    'Forbidden spec.validation.openAPIV3Schema.properties[spec].items: Forbidden: items must be a schema object and not an array',
  ]],
  ['ref', { spec: { $ref: '#/x' } }, [
    'Forbidden spec.validation.openAPIV3Schema.properties[spec].$ref: Forbidden: $ref is not supported',
  ]],
  ['unique', { spec: { type: 'array', items: TEXT, uniqueItems: true } }, [
    'Forbidden spec.validation.openAPIV3Schema.properties[spec].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
  ]],
  ['both', { spec: object({ a: TEXT }, { additionalProperties: TEXT }) }, [
    'Forbidden spec.validation.openAPIV3Schema.properties[spec].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive',
  ]],
  ['addl false', { spec: { type: 'object', additionalProperties: false } }, []],
  ['preserve false', { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': false } }, [
    'Invalid spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined',
  ]],
  ['ios typed', { spec: { type: 'string', 'x-kubernetes-int-or-string': true } }, []],
  ['ios anyOf', { spec: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] } }, []],
  ['ios allOf', {
    spec: {
      'x-kubernetes-int-or-string': true,
      allOf: [{ anyOf: [{ type: 'integer' }, { type: 'string' }] }, { pattern: 'x' }],
    },
  }, []],
  ['anyOf typed', { spec: { type: 'string', anyOf: [{ type: 'string' }] } }, [
    'Forbidden spec.validation.openAPIV3Schema.properties[spec].anyOf[0].type: Forbidden: must be empty to be structural',
  ]],
  ['anyOf field', { spec: object({ a: TEXT }, { anyOf: [{ properties: { b: { pattern: 'x' } } }] }) }, []],
  ['pattern', { spec: { type: 'string', pattern: '[' } }, [
    'Invalid spec.validation.openAPIV3Schema.properties[spec].pattern: Invalid value: "[": must be a valid regular expression, but isn\'t: error parsing regexp: missing closing ]: `[`',
  ]],
  ['pattern re2', { spec: { type: 'string', pattern: '(?i)^a\\z' } }, []],
  ['pattern lookahead', { spec: { type: 'string', pattern: '(?=a)' } }, [
    'Invalid spec.validation.openAPIV3Schema.properties[spec].pattern: Invalid value: "(?=a)": must be a valid regular expression, but isn\'t: error parsing regexp: invalid or unsupported Perl syntax: `(?=`',
  ]],
  ['set of objects', { spec: { type: 'array', items: object({ a: TEXT }), 'x-kubernetes-list-type': 'set' } }, [
    'Invalid spec.validation.openAPIV3Schema.properties[spec].items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set',
  ]],
  ['set of lists', {
    spec: {
      type: 'array',
      items: { type: 'array', items: TEXT, 'x-kubernetes-list-type': 'set' },
      'x-kubernetes-list-type': 'set',
    },
  }, [
    'Invalid spec.validation.openAPIV3Schema.properties[spec].items.x-kubernetes-list-type: Invalid value: "set": must be atomic as item of a list with x-kubernetes-list-type=set',
  ]],
  ['map no keys', { spec: { type: 'array', items: object({ a: TEXT }), 'x-kubernetes-list-type': 'map' } }, [
    'Required spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map',
  ]],
  ['map wrong key', {
    spec: {
      type: 'array',
      items: object({ a: TEXT }),
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['b'],
    },
  }, [
    'Invalid spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-list-map-keys: Invalid value: ["b"]: entries must all be names of item properties',
  ]],
  ['map key optional', {
    spec: {
      type: 'array',
      items: object({ a: TEXT }),
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['a'],
    },
  }, [
    'Required spec.validation.openAPIV3Schema.properties[spec].items.properties[a].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
  ]],
  ['map dup', {
    spec: {
      type: 'array',
      items: object({ a: TEXT }, { required: ['a'] }),
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['a', 'a'],
    },
  }, [
    'Invalid spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-list-map-keys: Invalid value: ["a","a"]: must not contain duplicate entries',
  ]],
  ['map obj key', {
    spec: {
      type: 'array',
      items: object({ a: object({}) }, { required: ['a'] }),
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['a'],
    },
  }, [
    'Invalid spec.validation.openAPIV3Schema.properties[spec].items.properties[a].type: Invalid value: "object": must be a scalar type if parent array\'s x-kubernetes-list-type is map',
  ]],
  ['map scalar', {
    spec: { type: 'array', items: TEXT, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['a'] },
  }, [
    'Invalid spec.validation.openAPIV3Schema.properties[spec].items.type: Invalid value: "string": must be object if parent array\'s x-kubernetes-list-type is map',
  ]],
  ['list type on string', { spec: { type: 'string', 'x-kubernetes-list-type': 'set' } }, [
    'Invalid spec.validation.openAPIV3Schema.properties[spec].type: Invalid value: "string": must be array if x-kubernetes-list-type is specified',
  ]],
  ['list type nope', { spec: { type: 'array', items: TEXT, 'x-kubernetes-list-type': 'nope' } }, [
    'NotSupported spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-list-type: Unsupported value: "nope": supported values: "atomic", "set", "map"',
  ]],
  ['keys without', { spec: { type: 'array', items: object({ a: TEXT }), 'x-kubernetes-list-map-keys': ['a'] } }, [
    'Required spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-list-type: Required value: must be map if x-kubernetes-list-map-keys is non-empty',
  ]],
  ['map type', { spec: { type: 'string', 'x-kubernetes-map-type': 'atomic' } }, [
    'Invalid spec.validation.openAPIV3Schema.properties[spec].type: Invalid value: "string": must be object if x-kubernetes-map-type is specified',
  ]],
  ['map type nope', { spec: { type: 'object', 'x-kubernetes-map-type': 'nope' } }, [
    'NotSupported spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-map-type: Unsupported value: "nope": supported values: "atomic", "granular"',
  ]],
  ['nullable items', { spec: { type: 'array', items: { ...TEXT, nullable: true }, 'x-kubernetes-list-type': 'set' } }, [
    'Forbidden spec.validation.openAPIV3Schema.properties[spec].items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is set',
  ]],
  ['embedded', { spec: { type: 'object', 'x-kubernetes-embedded-resource': true } }, [
    'Required spec.validation.openAPIV3Schema.properties[spec].properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields',
  ]],
  ['embedded string', { spec: { type: 'string', 'x-kubernetes-embedded-resource': true } }, [
    'Required spec.validation.openAPIV3Schema.properties[spec].properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields',
    'Invalid spec.validation.openAPIV3Schema.properties[spec].type: Invalid value: "string": must be object if x-kubernetes-embedded-resource is true',
  ]],
  ['default type', { spec: { type: 'string', default: 1 } }, [
    'TypeInvalid spec.validation.openAPIV3Schema.properties[spec].default: Invalid value: "integer":  in body must be of type string: "integer"',
  ]],
  ['default min', { spec: { type: 'integer', minimum: 5, default: 1 } }, [
    'Invalid spec.validation.openAPIV3Schema.properties[spec].default: Invalid value: 1:  in body should be greater than or equal to 5',
  ]],
  ['default pruned', { spec: object({ a: TEXT }, { default: { b: 1 } }) }, [
    'Invalid spec.validation.openAPIV3Schema.properties[spec].default: Invalid value: {"b":1}: must not have unknown fields',
  ]],
  ['default null', { spec: { type: 'string', default: null } }, []],
  ['default null nullable', { spec: { type: 'string', nullable: true, default: null } }, []],
  ['default enum', { spec: { type: 'string', enum: ['a'], default: 'b' } }, [
    'NotSupported spec.validation.openAPIV3Schema.properties[spec].default: Unsupported value: "b": supported values: "a"',
  ]],
  ['default in items', { spec: { type: 'array', items: object({ a: { ...TEXT, default: 1 } }) } }, [
    'TypeInvalid spec.validation.openAPIV3Schema.properties[spec].items.properties[a].default: Invalid value: "integer":  in body must be of type string: "integer"',
  ]],
  ['default in addl', { spec: { type: 'object', additionalProperties: { ...TEXT, default: 1 } } }, []],
  ['meta props', { spec: TEXT, metadata: object({ name: TEXT, labels: TEXT }) }, [
    'Forbidden spec.validation.openAPIV3Schema.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified',
  ]],
  ['meta name', { spec: TEXT, metadata: object({ name: { ...TEXT, maxLength: 5 } }) }, []],
  ['kind type', { spec: TEXT, kind: INT }, [
    'Invalid spec.validation.openAPIV3Schema.properties[kind].type: Invalid value: "integer": must be string',
  ]],
]

/** Versions of a definition, with the causes of their refusal. */
const VERSIONS: readonly (readonly [name: string, versions: readonly Body[], causes: readonly string[]])[] = [
  ['col ok', [{ name: 'v1', storage: true, ...{ additionalPrinterColumns: [{ ...COLUMN, ...{} }] } }], []],
  ['col type', [{ name: 'v1', storage: true, ...{ additionalPrinterColumns: [{ ...COLUMN, ...{ type: 'nope' } }] } }], [
    'Invalid spec.additionalPrinterColumns[0].type: Invalid value: "nope": must be one of boolean,date,integer,number,string',
  ]],
  ['col no type', [{
    name: 'v1',
    storage: true,
    ...{ additionalPrinterColumns: [{ ...COLUMN, ...{ type: undefined } }] },
  }], [
    'Required spec.additionalPrinterColumns[0].type: Required value: must be one of boolean,date,integer,number,string',
  ]],
  ['col no name', [{
    name: 'v1',
    storage: true,
    ...{ additionalPrinterColumns: [{ ...COLUMN, ...{ name: undefined } }] },
  }], ['Required spec.additionalPrinterColumns[0].name: Required value']],
  ['col no path', [{
    name: 'v1',
    storage: true,
    ...{ additionalPrinterColumns: [{ ...COLUMN, ...{ jsonPath: undefined } }] },
  }], ['Required spec.additionalPrinterColumns[0].JSONPath: Required value']],
  ['col path', [{
    name: 'v1',
    storage: true,
    ...{ additionalPrinterColumns: [{ ...COLUMN, ...{ jsonPath: 'spec.s' } }] },
  }], [
    'Invalid spec.additionalPrinterColumns[0].JSONPath: Invalid value: "spec.s": must be a simple json path starting with .',
  ]],
  ['col path2', [{
    name: 'v1',
    storage: true,
    ...{ additionalPrinterColumns: [{ ...COLUMN, ...{ jsonPath: '.spec[' } }] },
  }], []],
  ['col format', [{
    name: 'v1',
    storage: true,
    ...{ additionalPrinterColumns: [{ ...COLUMN, ...{ type: 'integer', format: 'int64' } }] },
  }], []],
  ['col format bad', [{
    name: 'v1',
    storage: true,
    ...{ additionalPrinterColumns: [{ ...COLUMN, ...{ format: 'nope' } }] },
  }], [
    'Invalid spec.additionalPrinterColumns[0].format: Invalid value: "nope": must be one of byte,date,date-time,double,float,int32,int64,password',
  ]],
  ['col cel', [{
    name: 'v1',
    storage: true,
    ...{ additionalPrinterColumns: [{ ...COLUMN, ...{ jsonPath: '{.spec.s}' } }] },
  }], [
    'Invalid spec.additionalPrinterColumns[0].JSONPath: Invalid value: "{.spec.s}": must be a simple json path starting with .',
  ]],
  ['sel ok', [{ name: 'v1', storage: true, ...{ selectableFields: paths('.spec.s', '.spec.n', '.spec.b') } }], []],
  ['sel dup', [{ name: 'v1', storage: true, ...{ selectableFields: paths('.spec.s', '.spec.s') } }], [
    'Duplicate spec.selectableFields[1].jsonPath: Duplicate value: ".spec.s"',
  ]],
  ['sel nodot', [{ name: 'v1', storage: true, ...{ selectableFields: paths('spec.s') } }], [
    'Invalid spec.selectableFields[0].jsonPath: Invalid value: "spec.s": is an invalid path: expected [ or . but got: spec',
  ]],
  ['sel missing', [{ name: 'v1', storage: true, ...{ selectableFields: paths('.spec.nope') } }], [
    'Invalid spec.selectableFields[0].jsonPath: Invalid value: ".spec.nope": is an invalid path: does not refer to a valid field',
  ]],
  ['sel array', [{ name: 'v1', storage: true, ...{ selectableFields: paths('.spec.l') } }], [
    'Invalid spec.selectableFields[0].jsonPath: Invalid value: ".spec.l": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
  ]],
  ['sel item', [{ name: 'v1', storage: true, ...{ selectableFields: paths('.spec.l[0]') } }], [
    'Invalid spec.selectableFields[0].jsonPath: Invalid value: ".spec.l[0]": is an invalid path: array notation is not allowed',
  ]],
  ['sel object', [{ name: 'v1', storage: true, ...{ selectableFields: paths('.spec.o') } }], [
    'Invalid spec.selectableFields[0].jsonPath: Invalid value: ".spec.o": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
  ]],
  ['sel number', [{ name: 'v1', storage: true, ...{ selectableFields: paths('.spec.d') } }], [
    'Invalid spec.selectableFields[0].jsonPath: Invalid value: ".spec.d": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
  ]],
  ['sel meta', [{ name: 'v1', storage: true, ...{ selectableFields: paths('.metadata.name') } }], [
    'Invalid spec.selectableFields[0].jsonPath: Invalid value: ".metadata.name": is an invalid path: does not refer to a valid field',
  ]],
  ['sel map', [{ name: 'v1', storage: true, ...{ selectableFields: paths('.spec.m.x') } }], []],
  ['sel many', [{
    name: 'v1',
    storage: true,
    ...{ selectableFields: paths(...Array.from({ length: 9 }, (_, i) => `.spec.${i}`)) },
  }], [
    'Invalid spec.selectableFields[0].jsonPath: Invalid value: ".spec.0": is an invalid path: does not refer to a valid field',
    'Invalid spec.selectableFields[1].jsonPath: Invalid value: ".spec.1": is an invalid path: does not refer to a valid field',
    'Invalid spec.selectableFields[2].jsonPath: Invalid value: ".spec.2": is an invalid path: does not refer to a valid field',
    'Invalid spec.selectableFields[3].jsonPath: Invalid value: ".spec.3": is an invalid path: does not refer to a valid field',
    'Invalid spec.selectableFields[4].jsonPath: Invalid value: ".spec.4": is an invalid path: does not refer to a valid field',
    'Invalid spec.selectableFields[5].jsonPath: Invalid value: ".spec.5": is an invalid path: does not refer to a valid field',
    'Invalid spec.selectableFields[6].jsonPath: Invalid value: ".spec.6": is an invalid path: does not refer to a valid field',
    'Invalid spec.selectableFields[7].jsonPath: Invalid value: ".spec.7": is an invalid path: does not refer to a valid field',
    'Invalid spec.selectableFields[8].jsonPath: Invalid value: ".spec.8": is an invalid path: does not refer to a valid field',
  ]],
  ['sel empty', [{ name: 'v1', storage: true, ...{ selectableFields: paths('') } }], [
    'Required spec.selectableFields[0].jsonPath: Required value',
  ]],
  ['sel enum', [{ name: 'v1', storage: true, ...{ selectableFields: paths('.spec.e') } }], []],
  ['sel ios', [{ name: 'v1', storage: true, ...{ selectableFields: paths('.spec.f') } }], [
    'Invalid spec.selectableFields[0].jsonPath: Invalid value: ".spec.f": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
  ]],
  ['sel date', [{ name: 'v1', storage: true, ...{ selectableFields: paths('.spec.date') } }], []],
  ['sel status', [{ name: 'v1', storage: true, ...{ selectableFields: paths('.status.n') } }], []],
  ['scale ok', [{
    name: 'v1',
    storage: true,
    ...{
      subresources: {
        scale: { specReplicasPath: '.spec.n', statusReplicasPath: '.status.n', labelSelectorPath: '.status.sel' },
      },
    },
  }], []],
  ['scale none', [{ name: 'v1', storage: true, ...{ subresources: { scale: {} } } }], [
    'Required spec.subresources.scale.specReplicasPath: Required value',
    'Required spec.subresources.scale.statusReplicasPath: Required value',
  ]],
  ['scale nodot', [{
    name: 'v1',
    storage: true,
    ...{ subresources: { scale: { specReplicasPath: 'spec.n', statusReplicasPath: '.status.n' } } },
  }], [
    'Invalid spec.subresources.scale.specReplicasPath: Invalid value: "spec.n": must be a simple json path starting with .',
  ]],
  ['scale under', [{
    name: 'v1',
    storage: true,
    ...{
      subresources: {
        scale: { specReplicasPath: '.status.n', statusReplicasPath: '.spec.n', labelSelectorPath: '.meta' },
      },
    },
  }], [
    'Invalid spec.subresources.scale.specReplicasPath: Invalid value: ".status.n": should be a json path under .spec',
    'Invalid spec.subresources.scale.statusReplicasPath: Invalid value: ".spec.n": should be a json path under .status',
    'Invalid spec.subresources.scale.labelSelectorPath: Invalid value: ".meta": should be a json path under either .spec or .status',
  ]],
  ['two storage', [{ name: 'v1', storage: true }, { name: 'v2', storage: true }], [
    'Invalid spec.versions: Invalid value: [{"Name":"v1","Served":true,"Storage":true,"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null},{"Name":"v2","Served":true,"Storage":true,"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null}]: must have exactly one version marked as storage version',
    'Invalid status.storedVersions: Invalid value: ["v1"]: must have the storage version v2',
  ]],
  ['no storage', [{ name: 'v1' }, { name: 'v2' }], [
    'Invalid spec.versions: Invalid value: [{"Name":"v1","Served":true,"Storage":false,"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null},{"Name":"v2","Served":true,"Storage":false,"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null}]: must have exactly one version marked as storage version',
    'Invalid status.storedVersions: Invalid value: null: must have at least one stored version',
  ]],
  ['dup version', [{ name: 'v1', storage: true }, { name: 'v1' }], [
    'Invalid spec.versions: Invalid value: [{"Name":"v1","Served":true,"Storage":true,"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null},{"Name":"v1","Served":true,"Storage":false,"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null}]: must contain unique version names',
  ]],
  ['version name', [{ name: 'V_1', storage: true }], [
    "Invalid spec.versions[0].name: Invalid value: \"V_1\": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
    "Invalid spec.version: Invalid value: \"V_1\": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
  ]],
  ['two ok', [{ name: 'v1', storage: true }, { name: 'v2' }], []],
  ['none served', [{ name: 'v1', storage: true, served: false }], []],
  ['no schema', [{ name: 'v1', storage: true, schema: undefined }], [
    'Required spec.versions[0].schema.openAPIV3Schema: Required value',
  ]],
  ['no schema in 2', [{ name: 'v1', storage: true }, { name: 'v2', schema: undefined }], [
    'Required spec.versions[1].schema.openAPIV3Schema: Required value',
  ]],
  ['deprecation', [{ name: 'v1', storage: true, deprecated: false, deprecationWarning: 'x' }], [
    'Invalid spec.versions[0].deprecationWarning: Invalid value: "x": can only be set for deprecated versions',
  ]],
  ['deprecation empty', [{ name: 'v1', storage: true, deprecated: true, deprecationWarning: '' }], [
    'Invalid spec.versions[0].deprecationWarning: Invalid value: "": must not be an empty string',
  ]],
  ['deprecation long', [{ name: 'v1', storage: true, deprecated: true, deprecationWarning: 'x'.repeat(300) }], [
    'Invalid spec.versions[0].deprecationWarning: Invalid value: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx": must be <= 256 characters long',
  ]],
  ['deprecation nl', [{ name: 'v1', storage: true, deprecated: true, deprecationWarning: 'x\ny' }], [
    'Invalid spec.versions[0].deprecationWarning: Invalid value: "x\\ny": must only contain printable UTF-8 characters; non-printable character found at index 1',
  ]],
]

function definitionCase(name: string, versions: readonly Body[], causes: readonly string[]): Case {
  return {
    name: `a definition is ${causes.length > 0 ? 'refused' : 'accepted'}: ${name}`,
    async run(api) {
      const { body } = await api.request('POST', `${CRDS}?dryRun=All`, {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: `defineds.${api.group}` },
        spec: { group: api.group, scope: 'Cluster', names: { plural: 'defineds', kind: 'Defined' }, versions },
      })
      const given = (body.details?.causes ?? []) as Body[]
      const texts = given.map(({ reason, field, message }) =>
        `${String(reason).replace('FieldValue', '')} ${field}: ${message}`
      )
      assert.deepEqual(texts, causes)
    },
  }
}

export const DEFINITION_CASES: readonly Case[] = [
  ...SCHEMAS.map(([name, properties, causes]) => {
    const version = { name: 'v1', served: true, storage: true, subresources: { status: {} } }
    return definitionCase(`schema ${name}`, [{ ...version, schema: { openAPIV3Schema: object(properties) } }], causes)
  }),
  ...VERSIONS.map(([name, versions, causes]) =>
    definitionCase(
      name,
      versions.map((each) => ({ served: true, storage: false, schema: { openAPIV3Schema: SCHEMA }, ...each })),
      causes,
    )
  ),
]
