/** Builds discovery documents: per group, and aggregated. */
import { compareVersions } from '../../core/names.ts'
import type { JsonObject } from '../model/json.ts'
import type { Kind } from '../model/kinds.ts'

interface Group {
  readonly name: string
  /** Sorted by priority: the preferred version first. */
  readonly versions: readonly string[]
}

function groupsOf(kinds: readonly Kind[]): readonly Group[] {
  const builtin = [...new Set(kinds.filter((kind) => !kind.custom).map((kind) => kind.group))]
  const custom = [...new Set(kinds.filter((kind) => kind.custom).map((kind) => kind.group))].sort()
  return [...new Set([...builtin, ...custom])].map((name) => ({
    name,
    versions: [...new Set(kinds.filter((kind) => kind.group === name).map((kind) => kind.version))].sort(
      compareVersions,
    ),
  }))
}

/** Returns the kinds of a group version, sorted by name. */
function kindsOf(kinds: readonly Kind[], group: string, version: string): readonly Kind[] {
  return kinds.filter((kind) => kind.group === group && kind.version === version)
    .sort((a, b) => (a.plural < b.plural ? -1 : 1))
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
  const served = kindsOf(kinds, group, version)
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
    verbs: [...kind.verbs],
    ...(shortNames.length > 0 && { shortNames: [...shortNames] }),
    ...(categories.length > 0 && { categories: [...categories] }),
  }
  return [
    row,
    ...kind.subresources.map((sub) => ({
      name: `${plural}/${sub.name}`,
      singularName: '',
      namespaced,
      ...(sub.group !== undefined && { group: sub.group, version: sub.version! }),
      kind: sub.kind,
      verbs: [...sub.verbs],
    })),
  ]
}

/** Returns /api or /apis as one aggregated document (apidiscovery.k8s.io/v2). */
export function aggregatedDiscovery(kinds: readonly Kind[], core: boolean): JsonObject {
  const groups = groupsOf(kinds).filter((group) => (group.name === '') === core)
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items: groups.map(({ name, versions }) => ({
      metadata: { ...(name !== '' && { name }) },
      versions: versions.map((version) => ({
        version,
        freshness: 'Current',
        resources: kindsOf(kinds, name, version).map(aggregatedResource),
      })),
    })),
  }
}

function aggregatedResource(kind: Kind): JsonObject {
  // Built-in kinds leave them empty: clients take those of the document.
  const own = kind.custom ? { group: kind.group, version: kind.version } : { group: '', version: '' }
  const subresources = kind.subresources.map((sub) => ({
    subresource: sub.name,
    responseKind: { ...(sub.group === undefined ? own : { group: sub.group, version: sub.version! }), kind: sub.kind },
    verbs: [...sub.verbs],
  }))
  return {
    resource: kind.plural,
    responseKind: { ...own, kind: kind.kind },
    scope: kind.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: kind.singular,
    verbs: [...kind.verbs],
    ...(kind.shortNames.length > 0 && { shortNames: [...kind.shortNames] }),
    ...(kind.categories.length > 0 && { categories: [...kind.categories] }),
    ...(subresources.length > 0 && { subresources }),
  }
}
