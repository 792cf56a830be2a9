/** Copying JSON values: several times as fast as `structuredClone`, which asks of each value what else it might be. */

/** A deep copy of what JSON.parse made, or could have made. */
export function cloneJson<T>(value: T): T
export function cloneJson(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(cloneJson)
  const copy: Record<string, unknown> = {}
  for (const key of Object.keys(value)) set(copy, key, cloneJson((value as Record<string, unknown>)[key]))
  return copy
}

/** A ConfigMap may have a key "__proto__", which an assignment would take for something else. */
function set(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__') Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true })
  else object[key] = value
}
