/** Builds the kinds of a CustomResourceDefinition, one per served version. */
import { applyDefaults } from '../../core/schema_defaults.ts'
import { jsonEqual } from '../../core/equal.ts'
import { compareVersions } from '../../core/names.ts'
import { type ApiObject, at, isObject, type Json, type JsonObject } from '../model/json.ts'
import { subresourceOf } from '../model/kind_table.ts'
import { celEngine, needsEngine } from '../cel/load.ts'
import type { Kind, ScalePaths } from '../model/kinds.ts'
import type { Schema } from '../model/schema.ts'
import { ageColumn, type Column, humanDuration, NAME_COLUMN } from '../model/columns.ts'
import { prune } from '../schema/prune.ts'
import { type Conversion, conversionOf } from '../webhooks/conversion.ts'
import type { Webhooks } from '../webhooks/session.ts'

export function kindsOfDefinition(crd: ApiObject, webhooks: Webhooks): readonly Kind[] {
  const spec = crd['spec'] as JsonObject
  const versions = (spec['versions'] as JsonObject[]) ?? []
  const read = readerOf(versions, `${String(spec['group'])}/`)
  const pruned = prunerOf(versions, `${String(spec['group'])}/`)
  const conversion = conversionOf(webhooks, crd, pruned)
  return versions.filter((version) => version['served'] === true)
    .map((version) => kindOf(crd, spec, version, { read, pruned, conversion }))
}

/** In the order of discovery, which differs from the order of built-in kinds. */
const VERBS = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch']

function kindOf(
  crd: ApiObject,
  spec: JsonObject,
  version: JsonObject,
  { read, pruned, conversion }: Readers,
): Kind {
  // The accepted names are served, which may be older than those of the spec.
  const names = (at(crd, 'status', 'acceptedNames') ?? spec['names']) as JsonObject
  const group = spec['group'] as string
  const kind = names['kind'] as string
  const plural = names['plural'] as string
  const apiVersion = `${group}/${String(version['name'])}`
  const stored = (spec['versions'] as JsonObject[]).find((each) => each['storage'] === true)!
  const storedVersion = `${group}/${String(stored['name'])}`
  const isStatus = isObject(at(version, 'subresources', 'status'))
  const isScale = isObject(at(version, 'subresources', 'scale'))
  const schema = schemaOf(version)
  return {
    group,
    version: version['name'] as string,
    apiVersion,
    kind,
    plural,
    singular: names['singular'] as string,
    listKind: names['listKind'] as string,
    shortNames: (names['shortNames'] as string[] | undefined) ?? [],
    categories: (names['categories'] as string[] | undefined) ?? [],
    namespaced: spec['scope'] === 'Namespaced',
    schema,
    definition: `${group.split('.').reverse().join('.')}.${String(version['name'])}.${kind}`,
    verbs: VERBS,
    subresources: [
      ...(isStatus ? [subresourceOf('status', kind)] : []),
      ...(isScale ? [subresourceOf('scale', kind)] : []),
    ],
    stored: true,
    status: isStatus,
    scale: scalePaths(at(version, 'subresources', 'scale')),
    custom: true,
    origin: originOf(crd),
    storage: { id: `${plural}.${group}`, apiVersion: storedVersion, kind },
    rules: {
      nameRule: 'subdomain',
      generation: true,
      createOnUpdate: false,
      unconditionalUpdate: false,
      ...(needsEngine(schema) && { prepareRules: () => void celEngine() }),
      ...(crd.metadata.deletionTimestamp && {
        noCreate: 'create not allowed while custom resource definition is terminating',
      }),
      fields: selectableFields(version),
      ...renamed(apiVersion, storedVersion, read, pruned),
      ...(conversion && {
        toStored: (object) => conversion.convert(object, storedVersion),
        fromStored: (stored) => conversion.convert(read(stored), apiVersion),
        prepare: (stored) => conversion.prepare(stored.map(read), apiVersion),
        convert: (objects, apiVersion) => conversion.convertAll(objects, apiVersion),
      }),
    },
    columns: customColumns(version),
    ...(version['deprecated'] === true && {
      deprecation: String(version['deprecationWarning'] ?? deprecationOf(spec, version, kind)),
    }),
  }
}

/** Returns what of a definition ends the watches of its kind when it changes. */
export function originOf({ spec, status }: ApiObject): JsonObject {
  return { spec, names: at(status, 'acceptedNames') }
}

/** How objects of a definition are read. */
interface Readers {
  /** By the schema of the version that they are stored in. */
  readonly read: (stored: ApiObject) => ApiObject
  /** Without the fields that their version does not have. */
  readonly pruned: (object: ApiObject) => ApiObject
  readonly conversion: Conversion | undefined
}

/** Returns the rules of a version without a webhook: another apiVersion, and the fields that it has. */
function renamed(
  apiVersion: string,
  storedVersion: string,
  read: Readers['read'],
  pruned: Readers['pruned'],
): Pick<Kind['rules'], 'fromStored' | 'toStored'> {
  const known = new WeakMap<ApiObject, ApiObject>()
  return {
    ...(apiVersion !== storedVersion && { toStored: (object) => pruned({ ...object, apiVersion: storedVersion }) }),
    // Also in the stored version: an object may be stored in an earlier one.
    fromStored(stored) {
      const object = read(stored)
      if (object.apiVersion === apiVersion) return object
      const renamed = known.get(object) ?? pruned({ ...object, apiVersion })
      known.set(object, renamed)
      return renamed
    },
  }
}

/** Returns the warning of a deprecated version, which names the best one that is not. */
function deprecationOf(spec: JsonObject, version: JsonObject, kind: string): string {
  const own = String(version['name'])
  const [better] = (spec['versions'] as JsonObject[]).filter(({ served, deprecated }) =>
    served === true && deprecated !== true
  )
    .map(({ name }) => String(name)).filter((name) => compareVersions(name, own) < 0).toSorted(compareVersions)
  const of = (name: string): string => `${String(spec['group'])}/${name} ${kind}`
  return `${of(own)} is deprecated${better === undefined ? '' : `; use ${of(better)}`}`
}

/**
 * Returns a function that reads stored objects by the current schema of their version, which may have changed since
 * the write: prunes unknown fields and applies defaults. Results are cached, because stored objects never change.
 */
function readerOf(versions: readonly JsonObject[], prefix: string): (stored: ApiObject) => ApiObject {
  const schemas = new Map(versions.map((version) => [`${prefix}${String(version['name'])}`, schemaOf(version)]))
  const known = new WeakMap<ApiObject, ApiObject>()
  return (stored) => {
    const before = known.get(stored)
    if (before) return before
    const { apiVersion, kind, metadata, ...rest } = stored
    const schema = schemas.get(apiVersion)
    if (!schema) return stored // the definition no longer has this version
    const object = { apiVersion, kind, metadata, ...prune(schema, rest).object } as ApiObject
    applyDefaults(schema, object)
    const result = jsonEqual(object, stored) ? stored : object
    known.set(stored, result)
    return result
  }
}

/** Returns a function that removes the fields of an object that its version does not have. */
function prunerOf(versions: readonly JsonObject[], prefix: string): (object: ApiObject) => ApiObject {
  const schemas = new Map(versions.map((version) => [`${prefix}${String(version['name'])}`, schemaOf(version)]))
  return ({ apiVersion, kind, metadata, ...rest }) =>
    ({ apiVersion, kind, metadata, ...prune(schemas.get(apiVersion)!, rest).object }) as ApiObject
}

/** Returns the schema of a version, with the fields that every object has. */
export function schemaOf(version: JsonObject): Schema {
  return rootSchema((at(version, 'schema', 'openAPIV3Schema') ?? {}) as JsonObject)
}

/** Adds the fields that every object has to a schema. */
function rootSchema(schema: JsonObject): Schema {
  const properties = isObject(schema['properties']) ? schema['properties'] : {}
  const added = { apiVersion: { type: 'string' }, kind: { type: 'string' }, metadata: { $ref: 'meta.v1.ObjectMeta' } }
  return { type: 'object', ...schema, properties: { ...properties, ...added } } as unknown as Schema
}

function scalePaths(scale: Json | undefined): ScalePaths | undefined {
  if (!isObject(scale)) return undefined
  const selector = scale['labelSelectorPath']
  return {
    specReplicas: pathOf(scale['specReplicasPath']),
    statusReplicas: pathOf(scale['statusReplicasPath']),
    selector: selector ? pathOf(selector) : undefined,
  }
}

/** Splits `.spec.replicas` into its fields. */
function pathOf(path: Json | undefined): readonly string[] {
  return String(path).split('.').filter(Boolean)
}

function selectableFields(version: JsonObject): (object: ApiObject) => Readonly<Record<string, string>> {
  const paths = ((version['selectableFields'] as JsonObject[] | undefined) ?? []).map((field) =>
    String(field['jsonPath'])
  )
  return (object) =>
    Object.fromEntries(paths.map((path) => {
      const value = at(object, ...pathOf(path))
      return [path.replace(/^\./, ''), value === undefined || value === null ? '' : String(value)]
    }))
}

/** Returns the table columns of a version: its printer columns, or its age. */
function customColumns(version: JsonObject): readonly Column[] {
  const given = version['additionalPrinterColumns'] as JsonObject[] | undefined
  if (!given || given.length === 0) return [NAME_COLUMN, ageColumn()]
  return [NAME_COLUMN, ...given.map(columnOf)]
}

function columnOf(column: JsonObject): Column {
  const type = column['type'] as Column['type']
  const find = jsonPath(String(column['jsonPath']))
  return {
    name: String(column['name']),
    type,
    ...(column['format'] !== undefined && { format: String(column['format']) }),
    description: String(
      column['description'] ?? `Custom resource definition column (in JSONPath format): ${String(column['jsonPath'])}`,
    ),
    priority: Number(column['priority'] ?? 0),
    value: (object, nowMs) => cell(find(object), type, nowMs),
  }
}

function cell(values: readonly Json[], type: Column['type'], nowMs: number): Json {
  const [value] = values
  if (value === undefined) return null
  switch (type) {
    case 'string':
      return textOf(value)
    case 'integer':
      if (typeof value === 'string') return /^-?\d+$/.test(value) ? Number(value) : null
      return typeof value === 'number' ? Math.trunc(value) : null
    case 'number':
      return typeof value === 'number' ? value : null
    case 'boolean':
      return typeof value === 'boolean' ? value : null
    case 'date':
      return typeof value === 'string' ? ageText(value, nowMs) : '<invalid>'
  }
}

function ageText(text: string, nowMs: number): string {
  const timeMs = Date.parse(text)
  return Number.isNaN(timeMs) ? '<invalid>' : humanDuration(nowMs - timeMs)
}

function textOf(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

type Step = (values: readonly Json[]) => readonly Json[]

/** Compiles a simple JSONPath: fields, indexes, `[*]`, and filters of the form `[?(@.type=="Ready")]`. */
function jsonPath(path: string): (object: ApiObject) => readonly Json[] {
  const steps: Step[] = []
  let rest = path.replace(/^\{|\}$/g, '').replace(/^\$/, '')
  while (rest) {
    const match =
      /^\.((?:[^.[\\]|\\.)+)|^\[\?\(@\.([^=!<>]+)==["']([^"']*)["']\)\]|^\[(\*|-?\d+)\]|^\[['"]([^'"]+)['"]\]/.exec(
        rest,
      )
    if (!match) return () => []
    const [whole, name, filterPath, filterValue, index, quoted] = match
    if (name !== undefined || quoted !== undefined) {
      const key = (name ?? quoted!).replace(/\\(.)/g, '$1')
      steps.push((values) => values.flatMap((value) => nonNull(at(value, key))))
    } else if (filterPath !== undefined) {
      const keys = filterPath.split('.')
      steps.push(
        (values) =>
          values.flatMap(
            (value) => (Array.isArray(value) ? value.filter((item) => String(at(item, ...keys)) === filterValue) : []),
          ),
      )
    } else if (index === '*') {
      steps.push(
        (values) =>
          values.flatMap(
            (value) => (Array.isArray(value) ? value : isObject(value) ? Object.values(value).flatMap(nonNull) : []),
          ),
      )
    } else {
      steps.push((values) => values.flatMap((value) => (Array.isArray(value) ? nonNull(value.at(Number(index))) : [])))
    }
    rest = rest.slice(whole.length)
  }
  return (object) => steps.reduce<readonly Json[]>((values, step) => step(values), [object])
}

function nonNull(value: Json | undefined): Json[] {
  return value === undefined || value === null ? [] : [value]
}
