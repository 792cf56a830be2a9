/** Keeps the values of Secrets out of records and differences. */
import type { ApiObject } from 'kubeloop/apiserver'

/** The names of annotations with the whole object as kubectl, kapp, Rancher, kopf and others applied it. */
const COPY = /(?:^|\/)(?:(?:last-(?:applied|handled)(?:-configuration)?)|applied|original)$/

/** Shorter values may be in an annotation by chance. */
const MIN_LENGTH = 6

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
  return withValues(object, '***', (key, value) => (others[key] ?? value) === value ? '***' : `*** (${side})`, other)
}

type Fields = Readonly<Record<string, unknown>>

/** A kind of another group with this name has other fields. */
function isSecret(object: Fields | undefined): boolean {
  return object?.['kind'] === 'Secret' && object['apiVersion'] === 'v1'
}

/** Returns a test for the annotations that repeat values of one of these Secrets. */
export function repeatsValues(...secrets: readonly (Fields | undefined)[]): (name: string, text: string) => boolean {
  const data = secrets.filter(isSecret).map((each) => (each!['data'] ?? {}) as Readonly<Record<string, string>>)
  const values = data.flatMap((each) => Object.values(each)).flatMap((value) => [value, atob(value)])
    .filter(({ length }) => length >= MIN_LENGTH)
  return (name, text) => COPY.test(name) || values.some((value) => text.includes(value))
}

/** `applied` replaces each annotation that repeats a value of the object or of `other`. */
function withValues(
  object: ApiObject,
  applied: string,
  map: (key: string, value: string) => string,
  other?: ApiObject,
): ApiObject {
  if (!isSecret(object)) return object
  const { data, metadata } = object as ApiObject & { readonly data?: Readonly<Record<string, string>> }
  const { annotations } = metadata
  const mapped = data && Object.fromEntries(Object.entries(data).map(([key, value]) => [key, map(key, value)]))
  const isHidden = repeatsValues(object, other)
  const shown = Object.entries(annotations ?? {}).map(([name, text]) => [name, isHidden(name, text) ? applied : text])
  return {
    ...object,
    metadata: { ...metadata, ...(annotations && { annotations: Object.fromEntries(shown) }) },
    ...(mapped && { data: mapped }),
  }
}
