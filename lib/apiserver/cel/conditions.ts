/** Compiles and evaluates expressions about a request, whose objects have no schema. */
import { isObject, type Json, type JsonObject } from '../model/json.ts'
import type { Scope } from './checker.ts'
import type { Program } from './evaluate.ts'
import { declOf, type RuleSchema, structsOf } from './schema.ts'
import { type CelType, DYN } from './types.ts'
import { CelError, Entries, ListValue, outcomeOf, type Value } from './values.ts'

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

const fields = (properties: NonNullable<RuleSchema['properties']>): RuleSchema => ({ type: 'object', properties })
const TIME: RuleSchema = { type: 'string', format: 'date-time' }
const INT: RuleSchema = { type: 'integer' }
const MAP: RuleSchema = { type: 'object', additionalProperties: TEXT }
const CONDITION = fields({ status: TEXT, type: TEXT, lastTransitionTime: TIME, message: TEXT, reason: TEXT })

/** What expressions can read of the namespace of an object. */
const NAMESPACE = fields({
  metadata: fields({
    ...{ name: TEXT, generateName: TEXT, namespace: TEXT, labels: MAP, annotations: MAP, UID: TEXT },
    ...{ creationTimestamp: TIME, deletionGracePeriodSeconds: INT, deletionTimestamp: TIME, generation: INT },
    ...{ resourceVersion: TEXT, finalizers: TEXTS },
  }),
  spec: fields({ finalizers: TEXTS }),
  status: fields({ phase: TEXT, conditions: { type: 'array', items: CONDITION } }),
})

const request = declOf(REQUEST, 'kubernetes.AdmissionRequest', false)!
const namespaceObject = declOf(NAMESPACE, 'kubernetes.Namespace', false)!
const structs = structsOf(namespaceObject, structsOf(request))

/** The variables that all expressions about a request have. */
export const REQUEST_SCOPE: Scope = {
  variables: new Map<string, CelType>([
    ['object', DYN],
    ['oldObject', DYN],
    ['request', request.type],
    ['namespaceObject', namespaceObject.type],
  ]),
  fieldsOf: (name) => structs.get(name),
}

/** The variables of an expression about a request; an object that a request does not have is null. */
export interface RequestInput {
  readonly object: Json
  readonly oldObject: Json
  readonly request: JsonObject
}

/** Returns the values of the variables. Conditions do not see the namespace. */
export function requestVariables({ object, oldObject, request }: RequestInput): Readonly<Record<string, Value>> {
  return { object: dynamic(object), oldObject: dynamic(oldObject), request: dynamic(request), namespaceObject: null }
}

/** Evaluates expressions with their programs. Returns whether all hold, or the failures if none is false. */
export function evaluateAll(
  expressions: readonly string[],
  programOf: (expression: string) => Program | string,
  variables: Readonly<Record<string, Value>>,
): boolean | readonly string[] {
  const failures: string[] = []
  for (const expression of expressions) {
    const result = evaluated(expression, programOf(expression), variables)
    if (result instanceof CelError) failures.push(result.message)
    else if (result === false) return false
  }
  return failures.length === 0 || failures
}

/** Returns the result of a program, or its failure. */
export function outcomeOfProgram(
  program: Program | string,
  variables: Readonly<Record<string, Value>>,
): Value | CelError {
  return typeof program === 'string' ? new CelError(program) : outcomeOf(() => program.evaluate(variables))
}

/** Returns the value of an expression, or the error in the words of the real server. */
export function evaluated(
  expression: string,
  program: Program | string,
  variables: Readonly<Record<string, Value>>,
): Value | CelError {
  const outcome = outcomeOfProgram(program, variables)
  if (!(outcome instanceof CelError)) return outcome
  return new CelError(`expression '${expression}' resulted in error: ${outcome.message}`)
}

/** Returns the value of JSON without a schema. */
export function dynamic(json: Json): Value {
  if (Array.isArray(json)) return new ListValue(json.map(dynamic))
  if (typeof json === 'number') return Number.isInteger(json) ? BigInt(json) : json
  if (!isObject(json)) return json
  const entries = new Entries()
  for (const [key, value] of Object.entries(json)) if (value !== undefined) entries.set(key, dynamic(value))
  return entries
}
