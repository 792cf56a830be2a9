/** Copies, freezes and tests JSON values. Several times as fast as `structuredClone`, which handles more types. */

/** Returns a deep copy of a JSON value. Undefined fields are left out: they are absent on the wire. */
export function cloneJson<T>(value: T): T
export function cloneJson(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item: unknown) => cloneJson(item))
  const copy: Record<string, unknown> = {}
  for (const key in value) {
    const field = (value as Record<string, unknown>)[key]
    if (field !== undefined) setField(copy, key, cloneJson(field))
  }
  return copy
}

/** Tests for a JSON object: neither null nor a list. */
export function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A schema of objects with fields; `additionalProperties` is a schema, or a boolean, which says nothing. */
interface ObjectSchema<S> {
  readonly properties?: Readonly<Record<string, S>>
  readonly additionalProperties?: unknown
}

export function propertyOf<S extends ObjectSchema<S>>(schema: S | undefined, name: string): S | undefined {
  const { properties = {}, additionalProperties } = schema ?? {}
  if (Object.hasOwn(properties, name)) return properties[name]
  return isFields(additionalProperties) ? additionalProperties as unknown as S : undefined
}

/** Returns what the function returns of each item; the list itself if all are the same. */
export function mapItems(list: readonly unknown[], change: (item: unknown) => unknown): readonly unknown[] {
  const changed = list.map(change)
  return changed.some((item, at) => item !== list[at]) ? changed : list
}

/** Freezes a JSON value at any depth and returns it. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const inner of Object.values(value)) deepFreeze(inner)
  }
  return value
}

/** Sets a field of any name: `__proto__` is an ordinary key of a ConfigMap or of labels. */
export function setField(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__') {
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true })
  } else object[key] = value
}
