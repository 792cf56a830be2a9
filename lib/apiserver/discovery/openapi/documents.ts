/** Builds the OpenAPI v3 documents of the served kinds. Loaded at the first request for one of them. */
import { nodeCrypto } from '../../../runtime/os/builtins.ts'
import { resourceList } from '../discovery.ts'
import { type Json, type JsonObject, sortedByKey } from '../../model/json.ts'
import type { Kind } from '../../model/kinds.ts'
import { remembered } from '../../model/remembered.ts'
import type { Kinds } from '../../model/routes.ts'
import { addCustomKind } from './custom.ts'
import { loadDocuments, type RealDocument, type RealDocuments } from './load.ts'

/** A document by its name, with a hash that changes with its content. */
export interface Listed {
  readonly name: string
  readonly hash: string
}

/** The documents of paths that are not for kinds. */
const PLAIN: readonly string[] = ['.well-known/openid-configuration', 'api', 'apis', 'openid/v1/jwks', 'version']

export interface Index {
  readonly list: readonly Listed[]
  /** Changes with the list. */
  readonly etag: string
}

/** The documents of an API server. */
export interface Documents {
  /** Returns the documents of the served kinds, groups and other paths, in the order of their names. */
  index(kinds: Kinds): Index
  /** Returns a document as JSON; undefined if it is not listed. */
  text(kinds: Kinds, name: string): string | undefined
}

export async function openDocuments(): Promise<Documents> {
  const real = await loadDocuments()
  const indexes = new WeakMap<Kinds, Index & { readonly kinds: readonly Kind[] }>()
  return {
    index(kinds) {
      const all = kinds.all()
      const before = indexes.get(kinds)
      if (before && isSame(before.kinds, all)) return before
      const list = listDocuments(real, kinds)
      const index = { kinds: all, list, etag: sha512(JSON.stringify(list)) }
      indexes.set(kinds, index)
      return index
    },
    text: (kinds, name) => documentText(real, kinds, name),
  }
}

function isSame(a: readonly Kind[], b: readonly Kind[]): boolean {
  return a.length === b.length && a.every((kind, index) => kind === b[index])
}

function listDocuments(real: RealDocuments, kinds: Kinds): readonly Listed[] {
  const byName = new Map<string, Kind[]>()
  const groups = new Set<string>()
  for (const kind of kinds.all()) {
    const name = documentName(kind)
    const own = byName.get(name)
    if (own) own.push(kind)
    else byName.set(name, [kind])
    groups.add(`apis/${kind.group}`)
  }
  const plain = [...PLAIN, ...groups].filter((name) => real.names.has(name))
  const ofKinds = [...byName].filter(([name, own]) => real.names.has(name) || own.some((kind) => kind.custom))
  return [
    ...plain.map((name) => ({ name, hash: sha512(`${real.digest} ${name}`) })),
    ...ofKinds.map(([name, own]) => ({ name, hash: hashOf(real, name, own) })),
  ].sort((a, b) => (a.name < b.name ? -1 : 1))
}

function documentText(real: RealDocuments, kinds: Kinds, name: string): string | undefined {
  const all = kinds.all()
  const own = all.filter((kind) => documentName(kind) === name)
  const isPlain = PLAIN.includes(name) || all.some((kind) => `apis/${kind.group}` === name)
  if (real.names.has(name) && (own.length > 0 || isPlain)) return JSON.stringify(builtinDocument(real, name, own))
  const custom = own.filter((kind) => kind.custom)
  return custom.length > 0 ? JSON.stringify(customDocument(real, custom)) : undefined
}

function documentName(kind: Kind): string {
  return kind.group === '' ? `api/${kind.version}` : `apis/${kind.apiVersion}`
}

/** A hash of what the document is made of: cheaper than one of the document. */
function hashOf(real: RealDocuments, name: string, kinds: readonly Kind[]): string {
  const parts = kinds.map((kind) =>
    kind.custom
      ? [kind.kind, kind.listKind, kind.plural, kind.namespaced, kind.status, !!kind.scale, kind.schema, fieldsOf(kind)]
      : servedNames([kind])
  )
  return sha512(JSON.stringify([real.digest, name, parts]))
}

/** Returns the selectable fields of a custom kind. */
function fieldsOf(kind: Kind): readonly string[] {
  return Object.keys(kind.rules.fields?.({ apiVersion: '', kind: '', metadata: {} }) ?? {})
}

function sha512(text: string): string {
  return nodeCrypto().createHash('sha512').update(text).digest('hex').toUpperCase()
}

/** Returns the resources and subresources of discovery, such as `pods` and `pods/status`. */
function servedNames(kinds: readonly Kind[]): readonly string[] {
  const { group, version } = kinds[0]!
  return (resourceList(kinds, group, version)!['resources'] as JsonObject[]).map((row) => String(row['name']))
}

/** Returns the real document without the paths that this server does not serve, and without their schemas. */
function builtinDocument(real: RealDocuments, name: string, kinds: readonly Kind[]): JsonObject {
  const known = real.document(name)
  let { paths } = known
  if (kinds.length > 0) {
    const names = new Set(servedNames(kinds))
    paths = Object.fromEntries(Object.entries(paths).filter(([path]) => isServed(path, name, names)))
  }
  return documentOf(real, known, paths, new Set(known.schemas), {})
}

/** `/api/v1/watch/namespaces/{namespace}/pods/{name}/proxy/{path}` is served if `pods/proxy` is. */
function isServed(path: string, document: string, names: ReadonlySet<string>): boolean {
  const rest = path.slice(document.length + 2).replace(/^watch\//, '').replace(/^namespaces\/\{namespace\}\/(?=\w)/, '')
  const [plural, , subresource] = rest.split('/')
  return plural === '' || names.has(subresource ? `${plural}/${subresource}` : plural!)
}

function customDocument(real: RealDocuments, kinds: readonly Kind[]): JsonObject {
  const paths: Record<string, JsonObject> = {}
  const own: JsonObject = {}
  let template: RealDocument | undefined
  for (const kind of kinds) template = addCustomKind(real, kind, fieldsOf(kind), paths, own)
  return documentOf(real, template!, sortedByKey(paths), new Set([...template!.schemas, ...Object.keys(own)]), own)
}

/** @param own The schemas that no document of the real server has. */
function documentOf(
  real: RealDocuments,
  known: RealDocument,
  paths: Readonly<Record<string, JsonObject>>,
  names: ReadonlySet<string>,
  own: JsonObject,
): JsonObject {
  const find = (name: string): JsonObject | undefined =>
    (own[name] ?? known.own[name] ?? real.schemas[name]) as JsonObject | undefined
  const reached = new Set<string>()
  addReferences(paths, reached)
  // A set visits what is added meanwhile.
  for (const name of reached) addReferences(find(name), reached)
  const schemas = sortedByKey(
    Object.fromEntries([...reached].filter((name) => names.has(name)).map((name) => [name, find(name)!] as const)),
  )
  return { openapi: known.openapi, info: known.info, paths, components: { schemas, ...known.components } }
}

const PREFIX = '#/components/schemas/'

const referencesOf = new WeakMap<object, ReadonlySet<string>>()

/** Adds the names of the schemas to which a value refers. */
function addReferences(value: Json | undefined, into: Set<string>): void {
  if (typeof value !== 'object' || value === null) return
  const found = remembered(referencesOf, value, () => {
    const names = new Set<string>()
    for (const [key, child] of Object.entries(value)) {
      if (key === '$ref' && typeof child === 'string') names.add(child.slice(PREFIX.length))
      else addReferences(child, names)
    }
    return names
  })
  for (const name of found) into.add(name)
}
