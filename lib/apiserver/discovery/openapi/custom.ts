/** Describes custom kinds in OpenAPI v3, as apiextensions-apiserver does. */
import { isObject, type Json, type JsonObject, sortedByKey } from '../../model/json.ts'
import type { Kind } from '../../model/kinds.ts'
import type { RealDocument, RealDocuments } from './load.ts'
import { CLUSTER_TEMPLATE, NAMESPACED_TEMPLATE, TEMPLATE_NAMES } from './template.ts'

/**
 * Adds the paths and schemas of a kind. Returns the template, whose other schemas they refer to.
 *
 * @param fields The selectable fields, such as `spec.mode`.
 */
export function addCustomKind(
  real: RealDocuments,
  kind: Kind,
  fields: readonly string[],
  paths: Record<string, JsonObject>,
  schemas: JsonObject,
): RealDocument {
  const group = kind.namespaced ? NAMESPACED_TEMPLATE : CLUSTER_TEMPLATE
  const { version } = TEMPLATE_NAMES
  const template = real.document(`apis/${group}/${version}`)
  const kindName = modelName({ ...TEMPLATE_NAMES, group }, TEMPLATE_NAMES.kind)
  const listName = modelName({ ...TEMPLATE_NAMES, group }, TEMPLATE_NAMES.listKind)
  const sample = real.schemas[kindName]!
  const list = named(real.schemas[listName]!, kind, group) as JsonObject
  for (const [path, item] of Object.entries(template.paths)) {
    if (path.endsWith('/status') && !kind.status || path.endsWith('/scale') && !kind.scale) continue
    paths[named(path, kind, group) as string] = named(item, kind, group) as JsonObject
  }
  const extensions = fields.length > 0 &&
    { 'x-kubernetes-selectable-fields': fields.map((fieldPath) => ({ fieldPath })) }
  schemas[modelName(kind, kind.kind)] = {
    ...schemaOf(kind, sample),
    'x-kubernetes-group-version-kind': [{ group: kind.group, kind: kind.kind, version: kind.version }],
    ...extensions,
  }
  schemas[modelName(kind, kind.listKind)] = { ...list, ...extensions }
  return template
}

function modelName({ group, version }: { readonly group: string; readonly version: string }, kind: string): string {
  return `${group.split('.').reverse().join('.')}.${version}.${kind}`
}

/** Returns the template's part with the names of the kind. */
function named(part: Json, kind: Kind, template: string): Json {
  const { group, version } = kind
  const names: readonly (readonly [string, string])[] = [
    [template, group],
    [template.split('.').reverse().join('.'), group.split('.').reverse().join('.')],
    [identifier(template, true), identifier(group.replace(/\.k8s\.io$/, ''), true)],
    [identifier(template, false), identifier(group.replace(/\.k8s\.io$/, ''), false)],
    [TEMPLATE_NAMES.version, version],
    [identifier(TEMPLATE_NAMES.version, true), identifier(version, true)],
    [` a ${TEMPLATE_NAMES.kind}`, ` ${articleFor(kind.kind)}${kind.kind}`],
    [TEMPLATE_NAMES.kind, kind.kind],
    [TEMPLATE_NAMES.listKind, kind.listKind],
    [TEMPLATE_NAMES.plural, kind.plural],
  ]
  let text = JSON.stringify(part)
  for (const [from, to] of names) text = text.replaceAll(from, to)
  return JSON.parse(text) as Json
}

/** Returns a name without dots and dashes, with a capital after each. */
function identifier(name: string, capital: boolean): string {
  const joined = name.replace(/[^\p{L}\d_]+(.?)/gu, (_, next: string) => next.toUpperCase())
  return capital ? joined.charAt(0).toUpperCase() + joined.slice(1) : joined
}

/** The rule of the real server: plurals have no article. */
function articleFor(noun: string): string {
  if (/[^s]s$/.test(noun)) return ''
  return /^[aeiou]/i.test(noun) ? 'an ' : 'a '
}

/** @param sample The schema of the template. */
function schemaOf(kind: Kind, sample: JsonObject): JsonObject {
  const schema = published(kind.schema as unknown as JsonObject, sample['properties'] as JsonObject)
  const { apiVersion, kind: kindField, metadata } = sample['properties'] as Record<string, JsonObject>
  const properties = {
    ...schema['properties'] as JsonObject,
    apiVersion: apiVersion!,
    kind: kindField!,
    metadata: metadata!,
  }
  return { ...schema, properties: sortedByKey(properties) }
}

const INT_OR_STRING: readonly JsonObject[] = [{ type: 'integer' }, { type: 'string' }]

/** Returns a schema as it is published: int-or-string expanded, embedded objects with their metadata. */
function published(schema: JsonObject, sample: JsonObject): JsonObject {
  const result: JsonObject = {}
  for (const [keyword, value] of Object.entries(schema)) {
    // Flags that are off are not published; defaults and enums may be false.
    const isOff = (value ?? false) === false && !(keyword === 'example' && value === false)
    if (!isOff || keyword === 'default') result[keyword] = value
  }
  const { properties, items, additionalProperties } = schema
  if (isObject(properties)) {
    result['properties'] = sortedByKey(Object.fromEntries(
      Object.entries(properties).map(([name, child]) => [name, published(child as JsonObject, sample)]),
    ))
  }
  if (isObject(items)) result['items'] = published(items, sample)
  if (isObject(additionalProperties)) result['additionalProperties'] = published(additionalProperties, sample)
  if (schema['x-kubernetes-int-or-string'] === true) addTypes(result)
  if (schema['x-kubernetes-embedded-resource'] === true) addEmbedded(result, sample)
  return result
}

function addTypes(schema: JsonObject): void {
  const { anyOf, allOf } = schema
  if (anyOf === undefined) schema['anyOf'] = [...INT_OR_STRING]
  else if (!isTypes(anyOf) && !(Array.isArray(allOf) && isObject(allOf[0]) && isTypes(allOf[0]['anyOf']))) {
    schema['allOf'] = [{ anyOf: [...INT_OR_STRING] }, ...(Array.isArray(allOf) ? allOf : [])]
  }
}

function isTypes(anyOf: Json | undefined): boolean {
  return Array.isArray(anyOf) && anyOf.length === 2 && isObject(anyOf[0]) && isObject(anyOf[1]) &&
    anyOf[0]['type'] === 'integer' && anyOf[1]['type'] === 'string'
}

function addEmbedded(schema: JsonObject, sample: JsonObject): void {
  const { properties, required } = sample['embedded'] as { properties: JsonObject; required: string[] }
  const own = (schema['required'] ?? []) as string[]
  schema['properties'] = sortedByKey({ ...schema['properties'] as JsonObject | undefined, ...properties })
  schema['required'] = [...own, ...required.filter((name) => !own.includes(name))]
}
