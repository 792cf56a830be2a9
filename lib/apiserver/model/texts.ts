/** Caches the JSON of stored objects, which lists, watches and responses share. */
import type { ApiObject } from './json.ts'

const texts = new WeakMap<ApiObject, string>()

/** Returns the JSON of an object, with apiVersion, kind and metadata first. */
export function jsonOf(object: ApiObject): string {
  let text = texts.get(object)
  if (text === undefined) {
    const { apiVersion, kind, metadata, ...rest } = object
    text = JSON.stringify({ apiVersion, kind, metadata, ...rest })
    texts.set(object, text)
  }
  return text
}

/** Returns the JSON of an object without apiVersion and kind, as the items of a list of a built-in kind have it. */
export function itemJsonOf(object: ApiObject): string {
  const { apiVersion, kind } = object
  const head = `{"apiVersion":${JSON.stringify(apiVersion)},"kind":${JSON.stringify(kind)},`
  return `{${jsonOf(object).slice(head.length)}`
}

/**
 * Drops the JSON of an object that was replaced, because the history keeps the object for minutes.
 * Returns its length; 0 if it was never read.
 */
export function forgetJson(object: ApiObject): number {
  const length = texts.get(object)?.length ?? 0
  texts.delete(object)
  return length
}
