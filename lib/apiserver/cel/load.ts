/** Loads the engine for rules when it is needed first: few definitions have rules, and the engine is large. */
import { isObject, type Json, type JsonObject } from '../model/json.ts'
import { loadedLater } from '../model/loaded_later.ts'

export type Engine = typeof import('./engine.ts')

/**
 * Returns the engine. The first time in a process, it suspends the request until the engine is loaded; so it must be
 * called before a request uses time or randomness.
 */
export const celEngine: () => Engine = loadedLater(() => import('./engine.ts'))

const KEYWORD = 'x-kubernetes-validations'
const known = new WeakMap<object, boolean>()
const needing = new WeakMap<object, boolean>()

/** Returns whether a schema or a definition contains rules. */
export function hasRules(schema: object): boolean {
  return remembered(known, schema, (each) => Array.isArray(each[KEYWORD]))
}

/** Returns whether a schema or a definition has rules, or a pattern that only RE2 knows. */
export function needsEngine(schema: object): boolean {
  return hasRules(schema) || remembered(needing, schema, hasOtherPattern)
}

/** Loads the engine if a schema or a definition needs it; else does nothing. */
export function prepareEngine(schema: object): void {
  if (needsEngine(schema)) celEngine()
}

function hasOtherPattern({ pattern }: JsonObject): boolean {
  return typeof pattern === 'string' && !isPlainPattern(pattern)
}

/** What RE2 does not have: lookaround and backreferences. */
const NOT_IN_RE2 = /\(\?(?:=|!|<=|<!)|\\[1-9k]/

/** Returns whether a pattern means the same in JavaScript as in RE2, as far as its syntax shows. */
export function isPlainPattern(pattern: string): boolean {
  try {
    return !NOT_IN_RE2.test(pattern) && new RegExp(pattern, 'u') !== undefined
  } catch {
    // The caller uses the other engine.
    return false
  }
}

function remembered(results: WeakMap<object, boolean>, schema: object, test: (value: JsonObject) => boolean): boolean {
  let result = results.get(schema)
  if (result === undefined) results.set(schema, result = contains(schema as Json, test))
  return result
}

function contains(value: Json | undefined, test: (value: JsonObject) => boolean): boolean {
  if (Array.isArray(value)) return value.some((each) => contains(each, test))
  return isObject(value) && (test(value) || Object.values(value).some((each) => contains(each, test)))
}
