/** Builds discovery documents: per group, and aggregated. */
import type { JsonObject } from '../json.ts'
import { apiVersionOf, type Kind } from '../kinds.ts'

const OBJECT_VERBS: readonly string[] = [
  'create',
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'update',
  'watch',
]
const STATUS_VERBS: readonly string[] = ['get', 'patch', 'update']

/** The groups in the order of kubectl's lookup: built-in groups first. */
const GROUP_ORDER: readonly string[] = [
  '',
  'apps',
  'events.k8s.io',
  'batch',
  'networking.k8s.io',
  'policy',
  'rbac.authorization.k8s.io',
  'storage.k8s.io',
  'apiextensions.k8s.io',
  'scheduling.k8s.io',
  'coordination.k8s.io',
  'discovery.k8s.io',
]

interface Group {
  readonly name: string
  /** Sorted by priority: the preferred version first. */
  readonly versions: readonly string[]
}

function groupsOf(kinds: readonly Kind[]): readonly Group[] {
  const names = [...new Set(kinds.map((kind) => kind.group))]
  const rank = (name: string): number => (GROUP_ORDER.includes(name) ? GROUP_ORDER.indexOf(name) : GROUP_ORDER.length)
  return names.sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1)).map((name) => ({
    name,
    versions: [...new Set(kinds.filter((kind) => kind.group === name).map((kind) => kind.version))].sort(byPriority),
  }))
}

/** Compares versions by Kubernetes priority: v2, v1, v1beta1, v1alpha1, then all others. */
function byPriority(a: string, b: string): number {
  const left = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(a)
  const right = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(b)
  if (!left || !right) return left ? -1 : right ? 1 : a < b ? -1 : 1
  const stage = (match: RegExpExecArray): number => (match[2] === undefined ? 2 : match[2] === 'beta' ? 1 : 0)
  return stage(right) - stage(left) || Number(right[1]) - Number(left[1]) ||
    Number(right[3] ?? 0) - Number(left[3] ?? 0)
}

/** Returns the document of /api. */
export function coreVersions(address: string): JsonObject {
  return {
    kind: 'APIVersions',
    versions: ['v1'],
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: address }],
  }
}

/** Returns the document of /apis. */
export function groupList(kinds: readonly Kind[]): JsonObject {
  return {
    kind: 'APIGroupList',
    apiVersion: 'v1',
    groups: groupsOf(kinds).filter((group) => group.name !== '').map(groupJson),
  }
}

/** Returns the document of /apis/GROUP; undefined if the group is not served. */
export function apiGroup(kinds: readonly Kind[], name: string): JsonObject | undefined {
  const group = groupsOf(kinds).find((each) => each.name === name && name !== '')
  return group && { kind: 'APIGroup', apiVersion: 'v1', ...groupJson(group) }
}

function groupJson({ name, versions }: Group): JsonObject {
  const list = versions.map((version) => ({ groupVersion: `${name}/${version}`, version }))
  return { name, versions: list, preferredVersion: list[0]! }
}

/** Returns the document of /api/v1 or /apis/GROUP/VERSION; undefined if it is not served. */
export function resourceList(kinds: readonly Kind[], group: string, version: string): JsonObject | undefined {
  const served = kinds.filter((kind) => kind.group === group && kind.version === version)
  if (served.length === 0) return undefined
  return {
    kind: 'APIResourceList',
    ...(group !== '' && { apiVersion: 'v1' }),
    groupVersion: group ? `${group}/${version}` : version,
    resources: served.flatMap(resourceRows),
  }
}

function resourceRows(kind: Kind): JsonObject[] {
  const { plural, singular, namespaced, shortNames, categories } = kind
  const row: JsonObject = {
    name: plural,
    singularName: singular,
    namespaced,
    kind: kind.kind,
    verbs: verbsOf(kind),
    ...(shortNames.length > 0 && { shortNames: [...shortNames] }),
    ...(categories.length > 0 && { categories: [...categories] }),
    storageVersionHash: hash(`${kind.storage.apiVersion}/${kind.storage.kind}`),
  }
  return [
    row,
    ...subresourcesOf(kind).map((sub) => ({
      name: `${plural}/${sub.name}`,
      singularName: '',
      namespaced,
      ...(sub.group !== undefined && { group: sub.group, version: sub.version! }),
      kind: sub.kind,
      verbs: [...sub.verbs],
    })),
  ]
}

const CUSTOM_VERBS: readonly string[] = [
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'create',
  'update',
  'watch',
]

function verbsOf({ plural, group, custom }: Kind): string[] {
  if (custom) return [...CUSTOM_VERBS]
  return group === '' && plural === 'namespaces'
    ? OBJECT_VERBS.filter((verb) => verb !== 'deletecollection')
    : [...OBJECT_VERBS]
}

interface Subresource {
  readonly name: string
  readonly kind: string
  readonly group?: string
  readonly version?: string
  readonly verbs: readonly string[]
}

function subresourcesOf(kind: Kind): readonly Subresource[] {
  const all: Subresource[] = [
    ...(kind.group === '' && kind.plural === 'namespaces'
      ? [{ name: 'finalize', kind: 'Namespace', verbs: ['update'] }]
      : []),
    ...(kind.scale ? [{ name: 'scale', kind: 'Scale', group: 'autoscaling', version: 'v1', verbs: STATUS_VERBS }] : []),
    ...(kind.status ? [{ name: 'status', kind: kind.kind, verbs: STATUS_VERBS }] : []),
  ]
  return kind.custom ? all.reverse() : all
}

/** Hashes a storage version to eight bytes (FNV-1a) in base64, the form of the real server. */
function hash(text: string): string {
  let state = 0xcbf29ce484222325n
  for (let i = 0; i < text.length; i++) {
    state = ((state ^ BigInt(text.charCodeAt(i))) * 0x100000001b3n) & 0xffffffffffffffffn
  }
  return btoa(
    Array.from({ length: 8 }, (_, i) => String.fromCharCode(Number((state >> BigInt(8 * i)) & 0xffn))).join(''),
  )
}

/** Returns /api or /apis as one aggregated document (apidiscovery.k8s.io/v2). */
export function aggregatedDiscovery(kinds: readonly Kind[], core: boolean): JsonObject {
  const groups = groupsOf(kinds).filter((group) => (group.name === '') === core)
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items: groups.map(({ name, versions }) => ({
      metadata: { ...(name !== '' && { name }), creationTimestamp: null },
      versions: versions.map((version) => ({
        version,
        freshness: 'Current',
        resources: kinds.filter((kind) => kind.group === name && kind.version === version).map(aggregatedResource),
      })),
    })),
  }
}

function aggregatedResource(kind: Kind): JsonObject {
  const subresources = subresourcesOf(kind).map((sub) => ({
    subresource: sub.name,
    responseKind: {
      group: sub.group ?? kind.group,
      version: sub.version ?? kind.version,
      kind: sub.kind,
    },
    verbs: [...sub.verbs],
  }))
  return {
    resource: kind.plural,
    responseKind: {
      group: kind.group,
      version: kind.version,
      kind: kind.kind,
    },
    scope: kind.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: kind.singular,
    verbs: verbsOf(kind),
    ...(kind.shortNames.length > 0 && {
      shortNames: [...kind.shortNames],
    }),
    ...(kind.categories.length > 0 && { categories: [...kind.categories] }),
    ...(subresources.length > 0 && { subresources }),
  }
}

/** Returns the names of the OpenAPI documents of the kinds, such as `apis/apps/v1`. */
export function documentNames(kinds: readonly Kind[]): readonly string[] {
  return [...new Set(kinds.map((kind) => (kind.group === '' ? `api/${kind.version}` : `apis/${apiVersionOf(kind)}`)))]
}
