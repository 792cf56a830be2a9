/**
 * Writes lib/apiserver/model/builtin_schemas.ts from a real API server's /openapi/v3.
 *
 * Types, required fields, defaults, enums, list topology and strategic merge keys of the embedded API's kinds, one line
 * a version of a group. The Go sources of the same version add what OpenAPI lacks: which fields are held by value, so
 * that their zero is left out or, for times, written as null.
 *
 * Run: node tests/tools/openapi.ts GOMODCACHE/k8s.io
 */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { type ApiServer, withApiServer } from './api_server.ts'
import { protobufNumbers } from './protobuf.ts'

/** Definitions that no discovery document names; the definitions of all served kinds are kept too. */
const ROOTS: readonly string[] = ['meta.v1.DeleteOptions', 'meta.v1.Status']

/** Definitions that are written as one letter. */
const ATOMS: Readonly<Record<string, string>> = {
  'io.k8s.apimachinery.pkg.api.resource.Quantity': 'quantity',
  'io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime': 'microtime',
  'io.k8s.apimachinery.pkg.apis.meta.v1.Time': 'time',
  'io.k8s.apimachinery.pkg.util.intstr.IntOrString': 'intorstring',
  'io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1': 'fields',
  'io.k8s.apimachinery.pkg.runtime.RawExtension': 'any',
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON': 'json',
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray': 'schemaOrArray',
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool': 'schemaOrBool',
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray': 'schemaOrStrings',
}

interface Property {
  type?: string
  format?: string
  default?: unknown
  enum?: string[]
  allOf?: { $ref: string }[]
  $ref?: string
  items?: Property
  additionalProperties?: Property
  'x-kubernetes-list-type'?: string
  'x-kubernetes-map-type'?: string
  'x-kubernetes-list-map-keys'?: string[]
  'x-kubernetes-patch-merge-key'?: string
  'x-kubernetes-patch-strategy'?: string
}

interface Definition extends Property {
  required?: string[]
  properties?: Record<string, Property>
  'x-kubernetes-group-version-kind'?: Names[]
}

interface Names {
  group: string
  version: string
  kind: string
}

/** An entry of a discovery document. A subresource names the group and version of its kind if they differ. */
type Resource = Pick<Names, 'kind'> & Partial<Names>

interface Document {
  components: { schemas: Record<string, Definition> }
}

function kindKey({ group, version, kind }: Names): string {
  return `${group}/${version}/${kind}`
}

function shortName(ref: string): string {
  return ref.replace('#/components/schemas/', '').replace(
    /^io\.k8s\.(api|(apimachinery|apiextensions-apiserver|kube-aggregator)\.pkg\.apis)\./,
    '',
  )
}

function typeOf(property: Property): string {
  const ref = property.$ref ?? property.allOf?.[0]?.$ref
  if (ref) {
    const atom = ATOMS[ref.replace('#/components/schemas/', '')]
    if (atom) return atom
    const isStruct = JSON.stringify(property.default) === '{}'
    return `@${shortName(ref)}${isStruct ? '+' : ''}`
  }
  if (property.type === 'array') return `[]${typeOf(property.items!).replace(/\+$/, '')}`
  if (property.type === 'object') {
    return property.additionalProperties ? `{}${typeOf(property.additionalProperties).replace(/\+$/, '')}` : 'any'
  }
  switch (`${property.type}/${property.format ?? ''}`) {
    case 'string/':
      return 'string'
    case 'string/byte':
      return 'byte'
    case 'boolean/':
      return 'bool'
    case 'integer/int32':
      return 'int32'
    case 'integer/int64':
      return 'int64'
    case 'integer/':
      return 'int64'
    case 'number/double':
      return 'double'
    default:
      throw new Error(`Cannot write a property: ${JSON.stringify(property)} has an unknown type`)
  }
}

/** How Go declares a field, by `definition/field`. */
type Holdings = ReadonlyMap<string, { readonly type: string; readonly omits: boolean; readonly omitsZero: boolean }>

const GO_STRUCT = /^type (\w+) struct \{\n([\s\S]*?)^\}/gm
const GO_FIELD = /^\t\w+\s+(\S+)\s+`json:"([\w$-]+)([^"]*)"/gm

/** Reads the structs of the API packages. */
async function readHoldings(root: string): Promise<Holdings> {
  const holdings = new Map<string, { type: string; omits: boolean; omitsZero: boolean }>()
  const versions = await readdir(root)
  const folder = (name: string): string => `${root}/${versions.find((each) => each.startsWith(`${name}@`))}`
  const packages = new Map<string, string>([
    ['meta.v1', `${folder('apimachinery')}/pkg/apis/meta/v1`],
    ['apiextensions.v1', `${folder('apiextensions-apiserver')}/pkg/apis/apiextensions/v1`],
    ['apiregistration.v1', `${folder('kube-aggregator')}/pkg/apis/apiregistration/v1`],
  ])
  for (const group of await readdir(folder('api'))) {
    for (const version of ['v1', 'v2']) packages.set(`${group}.${version}`, `${folder('api')}/${group}/${version}`)
  }
  for (const [prefix, path] of packages) {
    for (const file of ['types.go', 'types_jsonschema.go']) {
      const text = await readFile(`${path}/${file}`, 'utf8').catch(() => '')
      for (const [, struct, body] of text.matchAll(GO_STRUCT)) {
        for (const [, type, name, options] of body!.matchAll(GO_FIELD)) {
          holdings.set(`${prefix}.${struct}/${name}`, {
            type: type!,
            omits: /omitempty|omitzero/.test(options!),
            omitsZero: options!.includes('omitzero'),
          })
        }
      }
    }
  }
  return holdings
}

/**
 * Returns `*` for a string behind a pointer, kept if empty; `-` for a number or flag by value, and for a required list,
 * left out if zero; `+`
 * for what is always written, although it is not required: times, scalars, lists and maps.
 */
function holdingOf(
  type: string,
  held: { type: string; omits: boolean; omitsZero: boolean } | undefined,
  isRequired: boolean,
): string {
  if (!held) return ''
  const isPointer = held.type.startsWith('*')
  if (type === 'time' || type === 'microtime') return isPointer || held.omitsZero ? '' : '+'
  if (!isPointer && !held.omits && !isRequired && /^(string|bool|int32|int64|double|\[\].*|\{\}.*)$/.test(type)) {
    return '+'
  }
  // A required list that Go leaves out if it is empty is not there before a create.
  if (isRequired && held.omits && /^(?:\[\]|\{\})/.test(type)) return '-'
  if (type === 'string') return isPointer ? '*' : ''
  if (['bool', 'int32', 'int64', 'double'].includes(type)) return !isPointer && held.omits ? '-' : ''
  return ''
}

/** Returns the fields of a definition. `numbers` are those of protobuf, by `definition/field`. */
function line(
  name: string,
  definition: Definition,
  holdings: Holdings,
  numbers: ReadonlyMap<string, string>,
): string {
  const required = new Set(definition.required)
  const fields = Object.entries(definition.properties ?? {}).map(([field, property]) => {
    const type = typeOf(property)
    const number = numbers.get(`${name}/${field}`) ?? ''
    // The Go struct that declares the field may be inlined.
    const struct = /(?:.*\.)?\d+(\w+)\./.exec(number)?.[1] ?? ''
    const held = holdings.get(`${name}/${field}`) ?? holdings.get(`${name.replace(/\w+$/, struct)}/${field}`)
    const holding = holdingOf(type, held, required.has(field))
    let text = `${number}${field}${required.has(field) ? '!' : ''}:${type}${holding}`
    if (property['x-kubernetes-list-type'] === 'map') {
      text += `%map(${property['x-kubernetes-list-map-keys']!.join(',')})`
    } else if (property['x-kubernetes-list-type'] === 'set') text += '%set'
    if (property['x-kubernetes-map-type'] === 'atomic') text += '%atomic'
    const strategy = property['x-kubernetes-patch-strategy']
    if (strategy) text += `~${strategy}(${property['x-kubernetes-patch-merge-key'] ?? ''})`
    if (property.enum) text += `|${property.enum.join('|')}`
    const usual = ['{}', '""', '0', 'false', 'null', undefined].includes(JSON.stringify(property.default))
    if (!usual) text += `=${JSON.stringify(property.default)}`
    return text
  })
  return (definition['x-kubernetes-map-type'] === 'atomic' ? '%atomic ' : '') + fields.join(' ')
}

function refsOf(definition: Definition): string[] {
  return [...JSON.stringify(definition).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map((match) =>
    match[1]!
  )
}

async function main({ version, ask }: ApiServer, sources: string): Promise<void> {
  const holdings = await readHoldings(sources)
  const numbers = protobufNumbers()
  const definitions = new Map<string, Definition>()
  const roots = new Set(ROOTS)
  const { paths } = await ask<{ paths: Record<string, unknown> }>('/openapi/v3')
  for (const path of Object.keys(paths).filter((each) => /^apis?\/(.+\/)?v\d/.test(each))) {
    const document = await ask<Document>(`/openapi/v3/${path}`)
    for (const [name, definition] of Object.entries(document.components.schemas)) definitions.set(name, definition)
    const { resources } = await ask<{ resources: Resource[] }>(`/${path}`)
    const [, group = '', own] = /^apis?\/(?:(.+)\/)?(.+)$/.exec(path)!
    for (const resource of resources) roots.add(kindKey({ group, version: own!, ...resource }))
  }
  const kept = new Map<string, string>()
  const queue = [...definitions].filter(([name, definition]) =>
    roots.has(shortName(name)) ||
    definition['x-kubernetes-group-version-kind']?.some((names) => roots.has(kindKey(names)))
  ).map(([name]) => name)
  for (const name of queue) {
    if (ATOMS[name] || kept.has(shortName(name))) continue
    kept.set(shortName(name), line(shortName(name), definitions.get(name)!, holdings, numbers))
    queue.push(...refsOf(definitions.get(name)!))
  }
  const versions = Map.groupBy([...kept].sort(([a], [b]) => (a < b ? -1 : 1)), ([name]) => name.replace(/\.\w+$/, ''))
  const lines = [...versions].map(([version, all]) =>
    `${version} ${all.map(([name, text]) => `${name.slice(version.length + 1)} ${text}`.trimEnd()).join('; ')}`
  )
  const text = `/**
 * The schemas of the built-in kinds, one version of a group a line: its definitions, each with its fields as
 * \`[number]name[!]:type[*+-][%topology][~patchStrategy(mergeKey)][|enum…][=default]\`. The number is that of protobuf;
 * before it are those of the messages that the field is in, with their names: \`2VolumeSource.1hostPath\`. Parsed by
 * schema.ts.
 *
 * Generated by tests/tools/openapi.ts from kube-apiserver ${version}; do not edit.
 */
export const BUILTIN_SCHEMAS: string = \`
${lines.join('\n')}
\`
`
  await writeFile(new URL('../../lib/apiserver/model/builtin_schemas.ts', import.meta.url), text)
  console.log(`${kept.size} definitions, ${text.length} bytes`)
}

const [sources] = process.argv.slice(2)
if (!sources) throw new TypeError('Cannot generate schemas: the argument is GOMODCACHE/k8s.io')
await withApiServer((server) => main(server, sources))
