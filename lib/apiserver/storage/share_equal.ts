/** Shares the equal parts of two versions of an object, and estimates sizes. */
import { isObject, type Json, put } from '../model/json.ts'

/**
 * Replaces the parts of `next` that equal those of `before` by them, in place. Most writes change little, and the
 * history keeps both objects. Returns whether both are equal.
 */
export function shareEqual(next: Json | undefined, before: Json | undefined): boolean {
  if (next === before) return true
  if (Array.isArray(next)) {
    if (!Array.isArray(before)) return false
    let isEqual = next.length === before.length
    const length = Math.min(next.length, before.length)
    for (let i = 0; i < length; i++) {
      if (shareEqual(next[i], before[i])) next[i] = before[i]!
      else isEqual = false
    }
    return isEqual
  }
  if (!isObject(next) || !isObject(before)) return false
  let fields = 0
  let isEqual = true
  for (const name in next) {
    fields++
    const value = Object.hasOwn(before, name) ? before[name] : undefined
    if (!shareEqual(next[name], value)) isEqual = false
    else if (typeof value === 'object') put(next, name, value)
  }
  return isEqual && fields === Object.keys(before).length
}

/** Returns about how long the JSON of a value is. */
export function sizeOf(value: Json | undefined): number {
  if (typeof value === 'string') return value.length + 2
  let size = 4
  if (Array.isArray(value)) { for (const item of value) size += sizeOf(item) }
  else if (isObject(value)) { for (const name in value) size += name.length + 4 + sizeOf(value[name]) }
  return size
}
