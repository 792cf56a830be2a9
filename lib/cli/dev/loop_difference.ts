/** Computes the difference of two versions of an object for the page of `--ui`, without the values of Secrets. */
import { cloneJson, isFields } from '../../core/clone.ts'
import { jsonEqual } from '../../core/equal.ts'
import { repeatsValues } from '../../testing/mirror/redacted.ts'

/** One field that differs. A side without the field has no value. */
export interface Difference {
  readonly path: string
  readonly old?: string
  readonly now?: string
}

/** The maximum number of fields, and of characters of a value. */
const [MAX_FIELDS, MAX_TEXT] = [200, 300]
const HIDDEN = '(hidden)'

type Fields = Readonly<Record<string, unknown>>

/** Returns the fields that differ; undefined stands for an object that does not exist. */
export function differenceOf(before: Fields | undefined, after: Fields | undefined): readonly Difference[] {
  const isHidden = hiding(before, after)
  const found: Difference[] = []
  const textOf = (value: unknown, path: readonly string[]): string => {
    const text = isHidden(path, value) ? HIDDEN : JSON.stringify(value)
    return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text
  }
  const compare = (old: unknown, now: unknown, path: readonly string[]): void => {
    const isNoise = path[0] === 'metadata' && (path[1] === 'managedFields' || path[1] === 'resourceVersion')
    if (found.length >= MAX_FIELDS || isNoise || jsonEqual(old, now)) return
    const sides = [old, now].filter((each) => each !== undefined)
    const names = new Set(sides.flatMap((each) => Object.keys(Object(each))))
    if (sides.every((each) => typeof each === 'object' && each !== null) && names.size > 0) {
      const [a, b] = [old, now] as (Fields | undefined)[]
      return names.forEach((name) => compare(a?.[name], b?.[name], [...path, name]))
    }
    const texts = {
      ...(old !== undefined && { old: textOf(old, path) }),
      ...(now !== undefined && { now: textOf(now, path) }),
    }
    found.push({ path: path.join('.'), ...texts })
  }
  compare(before, after, [])
  return found
}

/** Returns a copy of an object without managed fields, and without the values of a Secret. */
export function shownObject(object: Fields): Fields {
  const { managedFields: _, ...metadata } = object['metadata'] as Fields
  const isHidden = hiding(object)
  const hide = (value: unknown, path: readonly string[]): unknown =>
    isHidden(path, value)
      ? HIDDEN
      : isFields(value)
      ? Object.fromEntries(Object.entries(value).map(([name, each]) => [name, hide(each, [...path, name])]))
      : value
  return hide(cloneJson({ ...object, metadata }), []) as Fields
}

/** Returns whether a path leads to a value of these Secrets, or to an annotation that repeats one. */
function hiding(...objects: readonly (Fields | undefined)[]): (path: readonly string[], value: unknown) => boolean {
  if (!objects.some((each) => each?.['kind'] === 'Secret')) return () => false
  const repeats = repeatsValues(...objects)
  return ([first, second, third], value) => {
    if (first === 'data' || first === 'stringData') return second !== undefined
    return second === 'annotations' && third !== undefined && repeats(third, String(value))
  }
}
