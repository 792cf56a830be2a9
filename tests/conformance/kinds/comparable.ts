/** What of the answers about built-in kinds is compared. */
import type { Body } from '../api.ts'

/** The fields that differ between servers and runs; the embedded API has no hashes of stored versions. */
const VOLATILE: readonly string[] = [
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'managedFields',
  'storageVersionHash',
]

/** What only the controllers of a whole cluster remove again, so that the embedded server does not set it. */
const isForControllers = (item: Body): boolean =>
  /^kubernetes\.io\/(pvc|pv|vac)-protection$/.test(item) ||
  item?.key === 'node.kubernetes.io/not-ready' && !item.operator

const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, 'TIME'],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, 'UID'],
  [/\b10\.\d+\.\d+\.\d+\b/g, 'IP'],
  [/\b(envtest-admin|kubernetes-admin)\b/g, 'ADMIN'],
  [/:3[0-2]\d{3}\//g, ':PORT/'],
]

/** Returns a copy without what differs between servers and runs: times, uids, addresses. */
export function comparable(value: Body): Body {
  if (Array.isArray(value)) {
    return value.filter((item) => !isForControllers(item)).map(comparable)
  }
  if (typeof value === 'string') {
    return PATTERNS.reduce((result, [pattern, replacement]) => result.replace(pattern, replacement), value)
  }
  if (typeof value !== 'object' || value === null) return value
  const result: Body = {}
  for (const [name, child] of Object.entries<Body>(value)) {
    if (child === undefined || name === 'managedFields') continue
    if (VOLATILE.includes(name) && typeof child !== 'object') continue
    if (Array.isArray(child) && child.length > 0 && child.every(isForControllers)) continue
    if (name === 'nodePort' || name === 'healthCheckNodePort') result[name] = 'PORT'
    else result[name] = comparable(child)
  }
  return result
}
