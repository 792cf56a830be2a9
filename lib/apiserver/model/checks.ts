/** Validates objects by tables: a path, and what the server checks there, in the order of its causes. */
import { jsonEqual } from '../../core/equal.ts'
import { ipv4, ipv6, rangeProblem } from '../../core/ip.ts'
import { type ApiObject, at, isObject, type Json, type JsonObject } from './json.ts'
import { labelFaults, nameProblems, type NameRule, qualifiedNameProblems } from './names.ts'
import { selectorFaults } from './selectors.ts'
import { type Cause, fault, immutable } from './status.ts'

/** Returns the faults of a value at a path; `parent` is the object that holds it. */
export type Check = (value: Json | undefined, path: string, parent: JsonObject) => readonly Cause[]

/** `spec.replicas`, or `spec.ports[].name` for every entry of a list. */
export type Checks = readonly (readonly [path: string, ...checks: readonly Check[]])[]

/** Returns the faults of an object by a table. Later checks of a path are skipped after a fault. */
export function checked(object: JsonObject, checks: Checks, prefix = ''): Cause[] {
  const faults: Cause[] = []
  for (const [path, ...all] of checks) {
    visit(object, stepsOf(path), 0, prefix, object, (...place) => void faults.push(...firstOf(all, ...place)))
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
  isMissing(value) || value === '' || (typeof value === 'object' && Object.keys(value).length === 0)

/** The value must not be missing or empty. */
export function required(detail = ''): Check {
  return (value, path) => (isEmpty(value) ? [fault.required(path, detail)] : [])
}

/** The text must be more than white space. */
export const notBlank: Check = (value, path) => (String(value ?? '').trim() ? [] : [fault.required(path)])

/** Entries of a list have names of their own, if they have any. */
export const uniqueNames: Check = (value, path) => {
  const names = Array.isArray(value) ? value.map((each) => at(each, 'name')) : []
  return names.flatMap((each, index) =>
    each && names.indexOf(each) < index ? [fault.duplicate(`${path}[${index}].name`, each)] : []
  )
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

/** A value, if it is set, that passes a test. */
export function must(test: (value: Json, parent: JsonObject) => boolean, detail: string): Check {
  return (value, path, parent) => isMissing(value) || test(value, parent) ? [] : [fault.invalid(path, value, detail)]
}

/** A value, if it is set, whose text has none of the problems that a function returns. */
export function without(problems: (text: string) => readonly string[]): Check {
  return (value, path) =>
    isMissing(value) ? [] : problems(String(value)).map((problem) => fault.invalid(path, value, problem))
}

/** A number, if it is set, with a minimum. */
export function atLeast(min: number, detail = `must be greater than or equal to ${min}`): Check {
  return must((value) => typeof value !== 'number' || value >= min, detail)
}

/** A number, if it is set, within limits. */
export function between(min: number, max: number, detail = `must be between ${min} and ${max}, inclusive`): Check {
  return must((value) => typeof value !== 'number' || (value >= min && value <= max), detail)
}

/** One of these values, if it is set. */
export function oneOf(...values: readonly string[]): Check {
  return (value, path) =>
    isMissing(value) || values.includes(String(value)) ? [] : [fault.notSupported(path, value, values)]
}

/** A text that satisfies a name rule, if it is set. */
export function name(rule: NameRule): Check {
  return without((text) => nameProblems(text, rule))
}

/** A label key, if it is set. */
export const qualified: Check = without(qualifiedNameProblems)

/** A domain with a path, such as `example.com/controller`, if it is set. */
export const domainPath: Check = ifSet(must((value) => {
  const [domain = '', ...rest] = String(value).split('/')
  return rest.join('/') !== '' && nameProblems(domain, 'subdomain').length === 0
}, 'must be a domain-prefixed path (such as "acme.io/foo")'))

/** A map of labels. */
export const labels: Check = (value, path) => labelFaults(isObject(value) ? value : undefined, path)

/** A label selector. */
export const labelSelector: Check = (value, path) => (isObject(value) ? selectorFaults(value, path) : [])

/** Must not be set. */
export function unset(detail: string): Check {
  return (value, path) => (isMissing(value) ? [] : [fault.forbidden(path, detail)])
}

const PERCENT = /^\d+%$/

/** A number of at least 0, or a percentage. */
export const intOrPercent: Check = must(
  (value) => typeof value === 'number' ? value >= 0 : PERCENT.test(String(value)),
  "must be a number of at least 0, or one followed by '%'",
)

/** A percentage of at most 100, or a number. */
export const atMostAll: Check = must(
  (value) => !PERCENT.test(String(value)) || Number(String(value).slice(0, -1)) <= 100,
  'must not be greater than 100%',
)

/** A port number. */
export const portNumber: Check = between(1, 65535)

/**
 * A port number, or the name of a port.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6335#section-5.1
 */
export const port: Check = (value, path, parent) => {
  if (typeof value === 'number') return portNumber(value, path, parent)
  const isName = (text: Json): boolean =>
    String(text).length <= 15 && /^(?=.*[a-z])[a-z0-9]+(?:-[a-z0-9]+)*$/.test(String(text))
  const detail = 'must be at most 15 characters: lower case letters, digits and single hyphens, with a letter'
  return must(isName, detail)(value, path, parent)
}

export const isIp = (text: string): boolean => (ipv4(text) ?? ipv6(text)) !== undefined

/** An IP address, if it is set. */
export const ip: Check = must((value) => isIp(String(value)), 'must be a valid IP address')

/** An address that other machines can reach. */
export const publicIp: Check = must(
  (value) => !/^(?:127\.|169\.254\.|0\.0\.0\.0$|::1?$)/.test(String(value)),
  'may not be loopback, link-local or unspecified',
)

/** A range of addresses, if it is set. */
export const cidr: Check = without((text) => [rangeProblem(text) ?? []].flat())

/** Returns a fault for each of these fields that an update changes. */
export function unchanged(object: ApiObject, old: ApiObject | undefined, ...paths: readonly string[]): Cause[] {
  if (!old) return []
  return paths.flatMap((path) => {
    const [value, before] = [object, old].map((each) => at(each, ...path.split('.')) ?? null)
    return jsonEqual(value!, before!) ? [] : [immutable(path, value)]
  })
}
