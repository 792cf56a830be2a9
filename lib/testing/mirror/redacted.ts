/** Keeps the values of Secrets out of records and differences. */
import type { ApiObject } from 'kubeloop/apiserver'

/** Has the whole object as it was applied. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

/**
 * Returns a function that replaces the values of Secrets by others of the same lengths. Equal values stay equal, and
 * others stay different if they are long enough to hold their number.
 */
export function redactor(): (object: ApiObject) => ApiObject {
  const numbers = new Map<string, number>()
  return (object) =>
    withValues(object, '{}', (_, value) => {
      const number = numbers.get(value) ?? numbers.size
      numbers.set(value, number)
      const { length } = atob(value)
      return btoa(number.toString(36).slice(0, length).padEnd(length, '*'))
    })
}

/** Returns a Secret whose values show only which of them differ from those of the other one, as kubectl diff does. */
export function masked(object: ApiObject, other: ApiObject | undefined, side: 'before' | 'after'): ApiObject {
  const others = (other?.['data'] ?? {}) as Readonly<Record<string, string>>
  return withValues(object, '***', (key, value) => (others[key] ?? value) === value ? '***' : `*** (${side})`)
}

/** `applied`: what takes the place of the annotation that has all values. */
function withValues(object: ApiObject, applied: string, map: (key: string, value: string) => string): ApiObject {
  if (object.kind !== 'Secret' || object.apiVersion !== 'v1') return object
  const { data, metadata } = object as ApiObject & { readonly data?: Readonly<Record<string, string>> }
  const { annotations } = metadata
  const mapped = data && Object.fromEntries(Object.entries(data).map(([key, value]) => [key, map(key, value)]))
  const hidden = annotations?.[LAST_APPLIED] !== undefined && { ...annotations, [LAST_APPLIED]: applied }
  return {
    ...object,
    metadata: { ...metadata, ...(hidden && { annotations: hidden }) },
    ...(mapped && { data: mapped }),
  }
}
