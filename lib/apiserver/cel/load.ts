/** Loads the engine for rules when it is needed first: few definitions have rules, and the engine is large. */
import { isObject, type Json, type JsonObject } from '../model/json.ts'
import { loadedLater } from '../model/loaded_later.ts'
import { remembered } from '../model/remembered.ts'
import { degreeOf, isPlainPattern } from './patterns.ts'

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
  return remembered(known, schema, () => contains(schema as Json, (each) => Array.isArray(each[KEYWORD])))
}

/** Returns whether a schema or a definition has rules, or a pattern for RE2. */
export function needsEngine(schema: object): boolean {
  return hasRules(schema) || remembered(needing, schema, () => contains(schema as Json, hasOtherPattern))
}

/** Loads the engine if a schema or a definition needs it; else does nothing. */
export function prepareEngine(schema: object): void {
  if (needsEngine(schema)) celEngine()
}

function hasOtherPattern({ pattern }: JsonObject): boolean {
  return typeof pattern === 'string' && (!isPlainPattern(pattern) || degreeOf(pattern) > 2)
}

function contains(value: Json | undefined, test: (value: JsonObject) => boolean): boolean {
  if (Array.isArray(value)) return value.some((each) => contains(each, test))
  return isObject(value) && (test(value) || Object.values(value).some((each) => contains(each, test)))
}
