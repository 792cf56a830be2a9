/** What a cache keeps of a kind, and whether two who want something of the same kind agree. */
import { jsonEqual } from '../core/equal.ts'
import type { KubeObject } from '../core/objects.ts'
import { groupResourceOf, type AnyResource } from '../core/resource.ts'
import type { SelectOptions } from '../client/requests.ts'

/** What of a kind is kept. */
export interface CacheOptions extends SelectOptions {
  /** Where it is watched, each namespace by itself. Default: those of the cache; empty: all. Of no use for cluster-scoped kinds. */
  readonly namespaces?: readonly string[] | undefined
  /** Changes an object before it is stored, to keep less of it. */
  readonly strip?: ((object: KubeObject) => void) | undefined
}

/** Where a kind is watched: each of these by itself, `undefined` for all. */
export function scopesOf(
  resource: AnyResource,
  own: readonly string[] | undefined,
  common: readonly string[] = [],
): readonly (string | undefined)[] {
  const name = groupResourceOf(resource)
  if (own?.includes('')) throw new Error(`Cannot cache ${name} in a namespace without a name: all of them are [], and contain the others`)
  if (resource.scope === 'Cluster') {
    if (own && own.length > 0) throw new Error(`Cannot cache ${name} in namespaces: it is cluster-scoped`)
    return [undefined]
  }
  const namespaces = new Set(own ?? common)
  return namespaces.size > 0 ? [...namespaces] : [undefined]
}

/** Whoever asks for nothing in particular takes what there is. */
export function isSubsumed(wanted: CacheOptions, known: CacheOptions): boolean {
  if (describeOptions(wanted) === NOTHING_IN_PARTICULAR) return true
  const sorted = ({ namespaces }: CacheOptions): readonly string[] | undefined => namespaces && [...new Set(namespaces)].sort()
  if (wanted.fields !== known.fields || wanted.strip !== known.strip) return false
  return jsonEqual(wanted.labels, known.labels) && jsonEqual(sorted(wanted), sorted(known))
}

const NOTHING_IN_PARTICULAR = 'nothing in particular'

/** For the message of an error. */
export function describeOptions({ labels, fields, namespaces, strip }: CacheOptions): string {
  const parts = [
    labels === undefined ? undefined : `labels ${JSON.stringify(labels)}`,
    fields === undefined ? undefined : `fields ${JSON.stringify(fields)}`,
    namespaces === undefined ? undefined : `namespaces ${JSON.stringify(namespaces)}`,
    strip && 'a strip function',
  ]
  return parts.filter((part) => part !== undefined).join(', ') || NOTHING_IN_PARTICULAR
}
