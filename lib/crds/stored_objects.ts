/** Reads the stored objects of a kind, to check whether they fit the schema of a new definition. */
import type { KubeObject } from '../core/objects.ts'
import type { AnyResource, CustomResourceDefinition, CustomResourceVersion } from '../core/resource.ts'
import { nextTurn } from '../async/clock.ts'
import { isNarrowing, type SchemaChange, schemaChanges } from '../schema/schema_changes.ts'
import { schemaOf } from './definition.ts'

/** The number of objects checked in one turn of the event loop, which must also renew the lease. */
const CHECKED_PER_TURN = 50

/** A version in the cluster, and the new version whose schema its objects must fit. */
export interface StoredVersion<Theirs> {
  readonly theirs: Theirs
  readonly ours: CustomResourceVersion
  /** The version in which the server returns the objects. Undefined if it serves none. */
  readonly served: Theirs | undefined
}

interface Live<Theirs> {
  readonly spec: {
    readonly versions: readonly Theirs[]
    readonly conversion?: { readonly strategy?: string } | undefined
  }
  readonly status?: { readonly storedVersions?: readonly string[] | undefined } | undefined
}

/** Tests whether versions are converted, by us or until our definition is installed. */
export function isConverted(ours: CustomResourceDefinition, theirs: Pick<Live<unknown>, 'spec'>): boolean {
  return ours.spec.conversion !== undefined || theirs.spec.conversion?.strategy === 'Webhook'
}

/**
 * Returns the versions to compare. The server keeps each object in the version in which it was written, so with a
 * conversion, each version has its own schema; without one, all versions have the schema of the stored one. Where a
 * conversion ends, objects must fit as they are stored: read in another version, they are converted.
 */
export function storedVersions<Theirs extends { readonly name: string; readonly served: boolean }>(
  crd: CustomResourceDefinition,
  live: Live<Theirs>,
): readonly StoredVersion<Theirs>[] {
  const { conversion, versions } = crd.spec
  const converted = isConverted(crd, live)
  const first = live.spec.versions.find(({ served }) => served)
  return live.spec.versions.flatMap((theirs) => {
    const ours = versions.find(({ name, storage }) => conversion ? name === theirs.name : storage)
    const isStored = live.status?.storedVersions?.includes(theirs.name) ?? true
    if (!ours || (converted && !conversion && !isStored)) return []
    return [{ theirs, ours, served: !converted ? first : theirs.served ? theirs : undefined }]
  })
}

/** Returns the first change by which objects of a version may not fit the new schema; undefined if all fit. */
export function narrowingOf(
  { theirs, ours }: Pick<StoredVersion<Parameters<typeof schemaOf>[0]>, 'theirs' | 'ours'>,
): SchemaChange | undefined {
  return schemaChanges(schemaOf(theirs), schemaOf(ours)).find(isNarrowing)
}

/**
 * Returns the version in which a field owner of an object has written, if the definition does not have it: then the API
 * server refuses each apply of the object with 500, and other writes drop all its field owners.
 */
export function goneVersion(
  { metadata }: KubeObject,
  { spec: { group, versions } }: CustomResourceDefinition,
): string | undefined {
  const { managedFields = [] } = metadata as { readonly managedFields?: readonly { readonly apiVersion?: string }[] }
  const written = managedFields.flatMap(({ apiVersion = '' }) => apiVersion.startsWith(`${group}/`) ? apiVersion : [])
  return written.map((apiVersion) => apiVersion.slice(group.length + 1))
    .find((version) => !versions.some(({ name }) => name === version))
}

/** Calls `check` with each object of pages, in turns. Resolves with their number. */
export async function forEachStored(
  pages: AsyncIterable<{ readonly items: readonly KubeObject[] }>,
  check: (object: KubeObject) => void,
): Promise<number> {
  let seen = 0
  for await (const { items } of pages) {
    for (const object of items) {
      if (++seen % CHECKED_PER_TURN === 0) await nextTurn()
      check(object)
    }
  }
  return seen
}

export function resourceOf(
  { spec: { group, scope, names: { kind, plural } } }: CustomResourceDefinition,
  version: string,
): AnyResource {
  return { group, version, kind, plural, scope }
}
