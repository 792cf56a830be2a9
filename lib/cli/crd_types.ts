/**
 * Generates TypeScript from CustomResourceDefinitions: for each served version a type to read, one to write, and the
 * Resource.
 *
 * The server fills in defaults, so a field with a default is always there when its parent is read, and optional when it
 * is written. A structural schema prunes fields that it does not name, unless it says otherwise.
 */
import { isFields } from '../core/clone.ts'
import { firstOf } from '../core/errors.ts'
import { isLabel, kindProblem, notCamelCase } from '../core/names.ts'
import { apiVersionOf, CRD } from '../core/resource.ts'
import type { ManifestObject } from './manifests.ts'

/** The fields of a structural schema that have an effect on types. */
interface Schema {
  readonly type?: string
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
  readonly required?: readonly string[]
  readonly enum?: readonly unknown[]
  readonly nullable?: boolean
  readonly default?: unknown
  readonly 'x-kubernetes-int-or-string'?: boolean
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean
}

interface Version {
  readonly name: string
  readonly served?: boolean
  readonly storage?: boolean
  readonly schema?: { readonly openAPIV3Schema?: Schema }
  readonly subresources?: { readonly status?: object }
}

interface Definition extends ManifestObject {
  readonly spec: {
    readonly group: string
    readonly scope: 'Namespaced' | 'Cluster'
    readonly names: { readonly kind: string; readonly plural: string }
    readonly versions: readonly Version[]
  }
}

type Mode = 'read' | 'write'

/**
 * Returns the text of a module with the types.
 *
 * The definitions may be others': their names are checked, and all other texts are escaped.
 *
 * @throws Error if there is no CustomResourceDefinition, or one is not of apiextensions.k8s.io/v1, has no served
 * version, or a name that an API server refuses.
 */
export function typesOf(objects: readonly ManifestObject[], source: string): string {
  const head = [
    `// Written by \`kubeloop types ${linesOf(source).join(' ')}\`: run it again rather than change this.`,
    "import { dynamicResource, type DesiredObject, type ObjectMeta, type Resource } from 'kubeloop'",
  ]
  // Webhook configurations are in the output of kubeloop crd, too, and a chart has objects of many kinds.
  const definitions = objects.filter(({ kind }) => kind === CRD.kind)
  if (definitions.length === 0) {
    const kinds = firstOf([...new Set(objects.map(({ kind }) => kind))], 5).join(', ')
    throw new Error(`Cannot make types from ${source}: it has no ${CRD.kind}, but ${kinds}`)
  }
  return `${[head.join('\n'), ...definitions.flatMap((each) => versionsOf(each as Definition))].join('\n\n')}\n`
}

/** The stored version has the kind's name, others have a suffix: `Widget`, `WidgetV1alpha1`. */
function versionsOf(definition: Definition): string[] {
  const { metadata, spec } = definition
  const { apiVersion } = definition
  const problem = apiVersion === apiVersionOf(CRD)
    ? problemOf(definition)
    : `it is of ${apiVersion}, not of ${apiVersionOf(CRD)}`
  if (problem) throw new Error(`Cannot make types from ${JSON.stringify(metadata.name)}: ${problem}`)
  const served = spec.versions.filter((version) => version.served !== false)
  if (served.length === 0) throw new Error(`Cannot make types from "${metadata.name}": no version of it is served`)
  const own = served.find(({ storage }) => storage) ?? served[0]
  return served.map((version) => {
    const suffix = version === own
      ? ''
      : version.name.replace(/(?:^|-+)(.)/g, (_, first: string) => first.toUpperCase())
    return moduleOf(spec, version, spec.names.kind + suffix)
  })
}

/** Returns why an API server would refuse the definition's names, or undefined. */
function problemOf({ spec }: Definition): string | undefined {
  const { group, scope, names, versions } = spec ?? {}
  if (!isText(group) || !group.includes('.')) {
    return `group ${JSON.stringify(group)} must be a domain, such as "example.com"`
  }
  const { kind = '', plural } = names ?? {}
  // Stricter than the API server, which accepts a dash in a kind: no type has one in its name.
  const problem = isText(kind) ? kindProblem({ group, version: 'v1', kind }) : notCamelCase(kind)
  if (problem) return problem
  if (scope !== 'Namespaced' && scope !== 'Cluster') return 'spec.scope must be Namespaced or Cluster'
  if (!Array.isArray(versions)) return 'spec.versions must be a list'
  for (const name of [plural, ...versions.map((each: Partial<Version> | null) => each?.name)]) {
    if (!isText(name) || !isLabel(name)) {
      return `${JSON.stringify(name)} must be a lower-case label, such as "foos" or "v1"`
    }
  }
  const wrong = versions.map(({ name, schema }: Version) => problemOfSchema(schema?.openAPIV3Schema ?? {}, name))
  return wrong.find((each) => each !== undefined)
}

/** What the fields of a schema must be, as far as types depend on them. */
const FIELDS: readonly (readonly [name: keyof Schema, what: string, isRight: (value: unknown) => boolean])[] = [
  ['type', 'a text', isText],
  ['description', 'a text', isText],
  ['required', 'a list', Array.isArray],
  ['enum', 'a list', Array.isArray],
  ['properties', 'an object', isFields],
]

/** Returns what is wrong with a schema: a server accepts none with another type of these fields. */
function problemOfSchema(schema: unknown, path: string): string | undefined {
  if (!isFields(schema)) return `the schema at ${JSON.stringify(path)} must be an object`
  for (const [name, what, isRight] of FIELDS) {
    if (schema[name] !== undefined && !isRight(schema[name])) {
      return `${name} of the schema at ${JSON.stringify(path)} must be ${what}`
    }
  }
  const { properties = {}, items, additionalProperties: values } = schema
  const parts = [...Object.entries(properties as object), ['[]', items], [
    '{}',
    typeof values === 'boolean' ? undefined : values,
  ]]
  for (const [name, each] of parts) {
    const problem = each === undefined ? undefined : problemOfSchema(each, `${path}.${name}`)
    if (problem !== undefined) return problem
  }
  return undefined
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function moduleOf(
  { group, scope, names }: Definition['spec'],
  { name: version, schema, subresources }: Version,
  type: string,
): string {
  const root = schema?.openAPIV3Schema ?? {}
  const { metadata: _, apiVersion: __, kind: ___, ...properties } = root.properties ?? {}
  const { status: ____, ...others } = properties
  // Without the subresource, a status is written as any other field.
  const written = subresources?.status ? others : properties
  const namespace = scope === 'Namespaced' ? 'string' : 'undefined'
  const fields = (of: Readonly<Record<string, Schema>>, mode: Mode): string =>
    [
      ...fieldLines({ ...root, properties: of }, mode, '  '),
      ...(keepsUnknown(root) ? ['  readonly [field: string]: unknown'] : []),
    ].join('\n')
  return [
    comment(`${group}/${version} ${names.kind}${root.description ? `: ${root.description}` : ''}`, ''),
    `export interface ${type} {`,
    '  readonly apiVersion: string',
    '  readonly kind: string',
    `  readonly metadata: ObjectMeta<${namespace}>`,
    fields(properties, 'read'),
    '}',
    '',
    `/** A ${type} to write: fields with a default are optional. */`,
    `export interface ${type}Desired {`,
    `  readonly metadata: DesiredObject<unknown>['metadata']`,
    fields(written, 'write'),
    '}',
    '',
    `export const ${type}: Resource<${type}, ${type}Desired> = dynamicResource({`,
    `  group: ${text(group)}, version: ${text(version)}, kind: ${text(names.kind)}, plural: ${
      text(names.plural)
    }, scope: ${text(scope)},`,
    '})',
  ].join('\n').replaceAll('\n\n}', '\n}')
}

function fieldLines(schema: Schema, mode: Mode, indent: string): string[] {
  const required = new Set(schema.required)
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const isThere = mode === 'read'
      ? required.has(name) || field.default !== undefined
      : required.has(name) && field.default === undefined
    const orUndefined = !isThere && mode === 'write' ? ' | undefined' : ''
    const line = `${indent}readonly ${keyText(name)}${isThere ? '' : '?'}: ${typeOf(field, mode, indent)}${orUndefined}`
    return field.description ? [comment(field.description, indent), line] : [line]
  })
}

function typeOf(schema: Schema, mode: Mode, indent: string): string {
  const type = schema['x-kubernetes-int-or-string'] ? 'number | string' : plainType(schema, mode, indent)
  return schema.nullable ? `${type} | null` : type
}

function plainType(schema: Schema, mode: Mode, indent: string): string {
  if (schema.enum?.length) return schema.enum.map((value) => escaped(JSON.stringify(value))).join(' | ')
  switch (schema.type) {
    case 'string':
    case 'boolean':
      return schema.type
    case 'integer':
    case 'number':
      return 'number'
    case 'array':
      return `readonly ${parenthesised(typeOf(schema.items ?? {}, mode, indent))}[]`
    case 'object':
      return objectType(schema, mode, indent)
    default:
      return 'unknown'
  }
}

function objectType(schema: Schema, mode: Mode, indent: string): string {
  const { properties = {}, additionalProperties } = schema
  if (typeof additionalProperties === 'object') {
    return `{ readonly [key: string]: ${typeOf(additionalProperties, mode, indent)} }`
  }
  // The server prunes all fields of such an object, unless the schema forgot to preserve unknown fields.
  if (Object.keys(properties).length === 0) return '{ readonly [field: string]: unknown }'
  const lines = fieldLines(schema, mode, `${indent}  `)
  if (keepsUnknown(schema)) lines.push(`${indent}  readonly [field: string]: unknown`)
  return ['{', ...lines, `${indent}}`].join('\n')
}

function keepsUnknown({ additionalProperties, 'x-kubernetes-preserve-unknown-fields': preserves }: Schema): boolean {
  return preserves === true || additionalProperties === true
}

function parenthesised(type: string): string {
  return /^readonly | \| /.test(type) && !type.startsWith('{') ? `(${type})` : type
}

function keyText(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : text(name)
}

function text(value: string): string {
  return escaped(`'${value.replace(/[\\']/g, '\\$&')}'`)
}

/** Escapes what ends a line, in a literal. */
function escaped(literal: string): string {
  return literal.replace(
    // deno-lint-ignore no-control-regex -- these are what is escaped
    /[\0-\x1f\x7f\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** Returns the lines of a text, as TypeScript ends them. */
function linesOf(value: string): string[] {
  return value.split(/\r\n|[\n\r\u2028\u2029]/)
}

function comment(description: string, indent: string): string {
  const lines = linesOf(description.replaceAll('*/', '* /').trim()).map((line) => line.trimEnd())
  if (lines.length === 1) return `${indent}/** ${lines[0]} */`
  return [`${indent}/**`, ...lines.map((line) => `${indent} *${line ? ` ${line}` : ''}`), `${indent} */`].join('\n')
}
