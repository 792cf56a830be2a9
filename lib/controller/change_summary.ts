/** Describes a change of an object in a few words: why a key runs, in `kubeloop dev` and in warnings. */
import { formatKey, keyOf, type KubeObject } from '../core/objects.ts'
import { isFields } from '../core/clone.ts'
import { jsonEqual } from '../core/equal.ts'
import type { Delta } from '../cache/store.ts'

/** Returns ` in west` for the cluster `west`, and an empty text for the operator's own cluster. */
export function inCluster(name: string | undefined): string {
  return name === undefined ? '' : ` in ${name}`
}

/**
 * Returns `added`, `deleted`, `spec.replicas 1→3`. For kinds other than the controller's own, the object comes first:
 * `Deployment default/web: spec.replicas 1→3`, `Deployment default/web in west: added`.
 */
export function changeSummary(delta: Delta, own: boolean, cluster?: string): string {
  const { kind, object } = delta
  const what = kind === 'updated' ? describeChange(delta.old, object) : kind
  return own ? what : `${object.kind} ${formatKey(keyOf(object))}${inCluster(cluster)}: ${what}`
}

/** Returns a summary without values, so that all changes of a field have the same summary. */
export function withoutValues(summary: string): string {
  return summary.replace(/^((?:.*?: )?\S+) .*→.*?( \(\+\d+\))?$/s, '$1 changed$2')
}

/** Returns the first field that differs, with its values if they are short and not of a Secret. */
function describeChange(old: KubeObject, now: KubeObject): string {
  if (old.metadata.deletionTimestamp !== now.metadata.deletionTimestamp) return 'deletion began'
  const [first, ...others] = changedFields(withoutServerFields(old), withoutServerFields(now), '')
  if (!first) return 'metadata changed'
  const isPrintable = now.kind !== 'Secret' && isShort(first.old) && isShort(first.now)
  const values = isPrintable ? ` ${format(first.old)}→${format(first.now)}` : ' changed'
  return `${first.path}${values}${others.length > 0 ? ` (+${others.length})` : ''}`
}

interface Change {
  readonly path: string
  readonly old: unknown
  readonly now: unknown
}

/** Returns the differences of two objects. Lists are compared as a whole. */
function changedFields(old: unknown, now: unknown, path: string): Change[] {
  if (jsonEqual(old, now)) return []
  if (!isFields(old) || !isFields(now)) return [{ path, old, now }]
  const keys = new Set([...Object.keys(old), ...Object.keys(now)])
  return [...keys].flatMap((key) => changedFields(old[key], now[key], path ? `${path}.${key}` : key))
}

/** Returns the object without what every write changes, and what a cluster writes with a Deployment's status. */
function withoutServerFields(object: KubeObject): Record<string, unknown> {
  const { metadata, ...rest } = object
  const { labels, finalizers, ownerReferences } = metadata
  const { 'deployment.kubernetes.io/revision': _revision, ...annotations } = metadata.annotations ?? {}
  return { ...rest, metadata: { labels, annotations, finalizers, ownerReferences } }
}

function isShort(value: unknown): boolean {
  return value === undefined || typeof value === 'number' || typeof value === 'boolean' ||
    (typeof value === 'string' && value.length <= 24)
}

function format(value: unknown): string {
  return value === undefined ? 'none' : value === '' ? '""' : String(value)
}
