/** Computes the difference of two versions of an object for the page of `--ui`, without the values of Secrets. */
import { cloneJson, isFields } from '../../core/clone.ts'
import { jsonEqual } from '../../core/equal.ts'

/** One field that differs. A side without the field has no value. */
export interface Difference {
  readonly path: string
  readonly old?: string
  readonly now?: string
}

/** The maximum number of fields, and of characters of a value. */
const [MAX_FIELDS, MAX_TEXT] = [200, 300]
const HIDDEN = '(hidden)'
/** Has all values of a Secret that kubectl applied. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

type Fields = Readonly<Record<string, unknown>>

/** Returns the fields that differ; undefined stands for an object that does not exist. */
export function differenceOf(before: Fields | undefined, after: Fields | undefined): readonly Difference[] {
  const isSecret = (after ?? before)?.['kind'] === 'Secret'
  const found: Difference[] = []
  const textOf = (value: unknown, path: readonly string[]): string => {
    const text = isSecret && isHidden(path) ? HIDDEN : JSON.stringify(value)
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
  const hide = (value: unknown, path: readonly string[]): unknown =>
    isHidden(path)
      ? HIDDEN
      : isFields(value)
      ? Object.fromEntries(Object.entries(value).map(([name, each]) => [name, hide(each, [...path, name])]))
      : value
  const copy = cloneJson({ ...object, metadata })
  return object['kind'] === 'Secret' ? hide(copy, []) as Fields : copy
}

/** Whether a path of a Secret leads to a value that is secret. */
function isHidden([first, second, third]: readonly string[]): boolean {
  const isData = (first === 'data' || first === 'stringData') && second !== undefined
  return isData || (second === 'annotations' && third === LAST_APPLIED)
}
