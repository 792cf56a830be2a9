/** Compiles and evaluates the conditions of webhooks, whose objects have no schema. */
import { isObject, type Json, type JsonObject } from '../model/json.ts'
import { compileExpression } from './expressions.ts'
import type { Program } from './evaluate.ts'
import { declOf, type RuleSchema, structsOf } from './schema.ts'
import { type CelType, DYN, typeName } from './types.ts'
import { CelError, Entries, ListValue, type Value } from './values.ts'

const TEXT: RuleSchema = { type: 'string' }
const GROUP_VERSION = { group: TEXT, version: TEXT }
const KIND: RuleSchema = { type: 'object', properties: { ...GROUP_VERSION, kind: TEXT } }
const RESOURCE: RuleSchema = { type: 'object', properties: { ...GROUP_VERSION, resource: TEXT } }
const TEXTS: RuleSchema = { type: 'array', items: TEXT }

/** What conditions can read of a request. */
const REQUEST: RuleSchema = {
  type: 'object',
  properties: {
    kind: KIND,
    resource: RESOURCE,
    subResource: TEXT,
    requestKind: KIND,
    requestResource: RESOURCE,
    requestSubResource: TEXT,
    name: TEXT,
    namespace: TEXT,
    operation: TEXT,
    userInfo: {
      type: 'object',
      properties: { username: TEXT, uid: TEXT, groups: TEXTS, extra: { type: 'object', additionalProperties: TEXTS } },
    },
    dryRun: { type: 'boolean' },
    // Of any type.
    options: { 'x-kubernetes-int-or-string': true },
  },
}

const request = declOf(REQUEST, 'kubernetes.AdmissionRequest', false)!
const structs = structsOf(request)
const SCOPE = {
  variables: new Map<string, CelType>([['object', DYN], ['oldObject', DYN], ['request', request.type]]),
  fieldsOf: (name: string): ReadonlyMap<string, CelType> | undefined => structs.get(name),
}

const programs = new Map<string, Program | string>()

function programOf(expression: string): Program | string {
  let program = programs.get(expression)
  if (program === undefined) {
    const compiled = compileExpression(expression, SCOPE)
    if (typeof compiled === 'string') program = `compilation failed: ${compiled}`
    else {program = compiled.type.kind === 'bool'
        ? compiled.program
        : `must evaluate to bool but got ${typeName(compiled.type)}`}
    programs.set(expression, program)
  }
  return program
}

/** Returns what is wrong with a condition, or undefined. */
export function conditionProblem(expression: string): string | undefined {
  const program = programOf(expression)
  return typeof program === 'string' ? program : undefined
}

/** The variables of a condition; an object that a request does not have is null. */
export interface ConditionInput {
  readonly object: Json
  readonly oldObject: Json
  readonly request: JsonObject
}

/** Evaluates conditions. Returns whether all hold, or the failures if none is false. */
export function evaluateConditions(
  expressions: readonly string[],
  { object, oldObject, request }: ConditionInput,
): boolean | readonly string[] {
  const variables = { object: dynamic(object), oldObject: dynamic(oldObject), request: dynamic(request) }
  const failures: string[] = []
  for (const expression of expressions) {
    const program = programOf(expression)
    try {
      if (typeof program === 'string') throw new CelError(program)
      if (program.evaluate(variables) === false) return false
    } catch (error) {
      if (!(error instanceof CelError)) throw error
      failures.push(`expression '${expression}' resulted in error: ${error.message}`)
    }
  }
  return failures.length === 0 || failures
}

/** Returns the value of JSON without a schema. */
function dynamic(json: Json): Value {
  if (Array.isArray(json)) return new ListValue(json.map(dynamic))
  if (typeof json === 'number') return Number.isInteger(json) ? BigInt(json) : json
  if (!isObject(json)) return json
  const entries = new Entries()
  for (const [key, value] of Object.entries(json)) if (value !== undefined) entries.set(key, dynamic(value))
  return entries
}
