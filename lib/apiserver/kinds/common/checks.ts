/** Validates built-in kinds by tables: a path, and what the server checks there, in the order of its causes. */
import { jsonEqual } from '../../../core/equal.ts'
import { ipv4, ipv6, rangeProblem } from '../../../core/ip.ts'
import { type ApiObject, at, isObject, type Json, type JsonObject } from '../../model/json.ts'
import { type Cause, fault, immutable } from '../../model/status.ts'
import { selectorFaults } from '../../model/selectors.ts'
import { labelFaults, nameProblems, type NameRule, qualifiedNameProblems } from '../../model/names.ts'

/** Returns the faults of a value at a path; `parent` is the object that holds it. */
export type Check = (value: Json | undefined, path: string, parent: JsonObject) => readonly Cause[]

/** `spec.replicas`, or `spec.ports[].name` for every entry of a list. */
export type Checks = readonly (readonly [path: string, ...checks: readonly Check[]])[]

/** Returns the faults of an object by a table. Later checks of a path are skipped after a fault. */
export function checked(object: JsonObject, checks: Checks, prefix = ''): Cause[] {
  const faults: Cause[] = []
  for (const [path, ...all] of checks) {
    visit(object, stepsOf(path), 0, prefix, object, (value, place, parent) => {
      for (const check of all) {
        const found = check(value, place, parent)
        if (found.length > 0) return void faults.push(...found)
      }
    })
  }
  return faults
}

interface Step {
  readonly name: string
  readonly isList: boolean
}

/** The paths of tables, parsed once. */
const parsed = new Map<string, readonly Step[]>()

function stepsOf(path: string): readonly Step[] {
  let steps = parsed.get(path)
  if (!steps) {
    steps = path.split('.').filter(Boolean).map((name) => ({
      name: name.replace('[]', ''),
      isList: name.endsWith('[]'),
    }))
    parsed.set(path, steps)
  }
  return steps
}

type Visitor = (value: Json | undefined, path: string, parent: JsonObject) => void

/** Calls `visitor` for the places of a path whose parents exist. */
function visit(
  value: Json | undefined,
  steps: readonly Step[],
  at: number,
  path: string,
  parent: JsonObject,
  visitor: Visitor,
): void {
  const step = steps[at]
  if (!step) return visitor(value, path, parent)
  if (!isObject(value)) return
  const next = value[step.name]
  const place = path ? `${path}.${step.name}` : step.name
  if (!step.isList) return visit(next, steps, at + 1, place, value, visitor)
  if (!Array.isArray(next)) return
  for (const [index, item] of next.entries()) visit(item, steps, at + 1, `${place}[${index}]`, value, visitor)
}

const isMissing = (value: Json | undefined): value is undefined | null => value === undefined || value === null
const isEmpty = (value: Json | undefined): boolean =>
  isMissing(value) || value === '' || (Array.isArray(value) ? value.length === 0 : isObject(value) && noKeys(value))
const noKeys = (value: JsonObject): boolean => Object.keys(value).length === 0

/** The value must not be missing or empty. */
export function required(detail = ''): Check {
  return (value, path) => (isEmpty(value) ? [fault.required(path, detail)] : [])
}

/** Checks the fields of an object: for the entries of lists, whose causes are in the order of the entries. */
export function fields(checks: Checks): Check {
  return (value, path) => (isObject(value) ? checked(value, checks, path) : [])
}

/** Like {@link required}, for a number whose zero means that it is not set. */
export const nonZero: Check = (value, path) => (value ? [] : [fault.required(path)])

/** Checks a value that is neither missing nor empty. */
export function ifSet(...checks: readonly Check[]): Check {
  return (value, path, parent) => (isEmpty(value) ? [] : firstOf(checks, value, path, parent))
}

function firstOf(checks: readonly Check[], ...args: Parameters<Check>): readonly Cause[] {
  for (const check of checks) {
    const faults = check(...args)
    if (faults.length > 0) return faults
  }
  return []
}

/** A number, if it is set, with a minimum. */
export function atLeast(min: number, detail = `must be greater than or equal to ${min}`): Check {
  return (value, path) => (typeof value === 'number' && value < min ? [fault.invalid(path, value, detail)] : [])
}

/** A number, if it is set, within limits. */
export function between(min: number, max: number, detail = `must be between ${min} and ${max}, inclusive`): Check {
  return (value, path) =>
    typeof value === 'number' && (value < min || value > max) ? [fault.invalid(path, value, detail)] : []
}

/** One of these values, if it is set. */
export function oneOf(...values: readonly string[]): Check {
  return (value, path) =>
    isMissing(value) || values.includes(String(value)) ? [] : [fault.notSupported(path, value, values)]
}

/** A text that satisfies a name rule, if it is set. */
export function name(rule: NameRule): Check {
  return (value, path) =>
    isMissing(value) ? [] : nameProblems(String(value), rule).map((problem) => fault.invalid(path, value, problem))
}

/** A label key, if it is set. */
export const qualified: Check = (value, path) =>
  isMissing(value) ? [] : qualifiedNameProblems(String(value)).map((problem) => fault.invalid(path, value, problem))

/** A domain with a path, such as `example.com/controller`, if it is set. */
export const domainPath: Check = (value, path) => {
  const [domain = '', ...rest] = String(value ?? '').split('/')
  const isPath = rest.length > 0 && rest.join('/') !== '' && nameProblems(domain, 'subdomain').length === 0
  const detail = 'must be a domain-prefixed path (such as "acme.io/foo")'
  return isEmpty(value) || isPath ? [] : [fault.invalid(path, value, detail)]
}

/** A map of labels. */
export const labels: Check = (value, path) => labelFaults(isObject(value) ? value : undefined, path)

/** A label selector. */
export const labelSelector: Check = (value, path) => (isObject(value) ? selectorFaults(value, path) : [])

/** Must not be set. */
export function forbidden(detail: string): Check {
  return (value, path) => (isMissing(value) ? [] : [fault.forbidden(path, detail)])
}

const PERCENT = /^\d+%$/
const PERCENT_MESSAGE = "a valid percent string must be a numeric string followed by an ending '%' " +
  "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"

/** A number of at least 0, or a percentage. */
export const intOrPercent: Check = (value, path) => {
  if (typeof value === 'number') return atLeast(0)(value, path, {})
  return typeof value === 'string' && !PERCENT.test(value) ? [fault.invalid(path, value, PERCENT_MESSAGE)] : []
}

/** A percentage of at most 100, or a number. */
export const atMostAll: Check = (value, path) =>
  typeof value === 'string' && PERCENT.test(value) && Number(value.slice(0, -1)) > 100
    ? [fault.invalid(path, value, 'must not be greater than 100%')]
    : []

/** A port number. */
export const portNumber: Check = between(1, 65535)

/** A port number, or the name of a port. */
export const port: Check = (value, path) => {
  if (typeof value === 'number') return portNumber(value, path, {})
  return typeof value === 'string' ? portNameProblems(value).map((problem) => fault.invalid(path, value, problem)) : []
}

/** @see https://www.rfc-editor.org/rfc/rfc6335#section-5.1 */
function portNameProblems(text: string): string[] {
  const isName = text.length <= 15 && /^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(text) && /[a-z]/.test(text)
  return isName ? [] : ['must be at most 15 characters: lower case letters, digits and single hyphens, with a letter']
}

export const isIp = (text: string): boolean => (ipv4(text) ?? ipv6(text)) !== undefined

/** An IP address, if it is set. */
export const ip: Check = (value, path) =>
  isMissing(value) || isIp(String(value))
    ? []
    : [fault.invalid(path, value, 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)')]

/** An address that other machines can reach. */
export const publicIp: Check = (value, path) => {
  const isLocal = /^(?:127\.|169\.254\.|0\.0\.0\.0$|::1?$)/.test(String(value ?? ''))
  return isLocal ? [fault.invalid(path, value, 'may not be loopback, link-local or unspecified')] : []
}

/** A range of addresses, if it is set. */
export const cidr: Check = (value, path) => {
  const problem = isMissing(value) ? undefined : rangeProblem(String(value))
  return problem === undefined ? [] : [fault.invalid(path, value, problem)]
}

/** Returns a fault for each of these fields that an update changes. */
export function unchanged(object: ApiObject, old: ApiObject | undefined, ...paths: readonly string[]): Cause[] {
  if (!old) return []
  return paths.flatMap((path) => {
    const [value, before] = [object, old].map((each) => at(each, ...path.split('.')) ?? null)
    return jsonEqual(value!, before!) ? [] : [immutable(path, value)]
  })
}
