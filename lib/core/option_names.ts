/** Checks the names and the values of options, as a spread and plain JavaScript get them past the types. */
import { isFields } from './clone.ts'
import { messageOf } from './errors.ts'

/** Throws for a wrong value of an option. */
type ValueRule = (value: never) => unknown

/**
 * What an option may be: 0 is anything; a shape is an object with these names (`*`: any other), or no object; a
 * list has all that is allowed, values and shapes, and `[]` for a list; a function judges what is no object of a shape.
 */
type OptionRule = 0 | ValueRule | readonly (boolean | string | OptionShape | ValueRule | readonly [])[] | OptionShape

/** The rule of each option by its name. */
export type OptionShape = { readonly [name: string]: OptionRule }

/** A shape that has every option of a type, and no other. */
export type ShapeOf<T> = { readonly [K in keyof Required<T>]: OptionRule }

/**
 * Checks options by the rule of each, and calls `refuse` with what is wrong: an unknown option, or an invalid value.
 */
export function checkOptionNames(
  given: unknown,
  shape: OptionShape,
  refuse: (problem: string) => never,
  path = '',
): void {
  if (!isFields(given)) return refuse(`its options are ${quoted(given)}, and must be an object`)
  for (const [name, value] of Object.entries(given)) {
    const rule = Object.hasOwn(shape, name) ? shape[name]! : shape['*']
    if (rule === undefined) {
      const names = Object.keys(shape)
      const advice = didYouMean(name, names, path) ?? `the options are ${names.join(', ')}`
      refuse(`there is no option "${path}${name}"; ${advice}`)
    }
    if (rule !== 0 && value !== undefined) checkValue(value, rule, refuse, path + name)
  }
}

/** Checks options as {@link checkOptionNames} does. @throws TypeError that begins with `cannot`. */
export function refuseUnknown(cannot: string, given: unknown, shape: OptionShape): void {
  checkOptionNames(given, shape, (problem) => {
    throw new TypeError(cannot + problem)
  })
}

function checkValue(
  value: unknown,
  rule: Exclude<OptionRule, 0>,
  refuse: (problem: string) => never,
  path: string,
): void {
  const allowed: readonly unknown[] = Array.isArray(rule) ? rule : [rule]
  const shape = allowed.find(isFields)
  if (shape && isFields(value)) return checkOptionNames(value, shape as OptionShape, refuse, `${path}.`)
  if (allowed.includes(value)) return
  const judge = allowed.find((each) => typeof each === 'function') as ValueRule | undefined
  if (judge) {
    try {
      return void judge(value as never)
    } catch (error) {
      return refuse(`${path}: ${messageOf(error)}`)
    }
  }
  if (allowed !== rule || allowed.some((each) => Array.isArray(each) && Array.isArray(value))) return
  const words = allowed.map((each) => isFields(each) ? 'an object' : Array.isArray(each) ? 'a list' : quoted(each))
  const strings = allowed.filter((each) => typeof each === 'string')
  refuse(`${path} is ${quoted(value)}; ${didYouMean(String(value), strings) ?? `it must be ${words.join(' or ')}`}`)
}

/** Returns the question whether the nearest name was meant, if one is near. */
export function didYouMean(word: string, names: readonly string[], path = ''): string | undefined {
  const near = nearestName(word, names)
  return near && `did you mean "${path}${near}"?`
}

/** Returns a value for a message: a text in quotes. */
export function quoted(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value)
}

/** Returns the name that differs from a word by at most a quarter of its letters, whatever their case, or undefined. */
export function nearestName(word: string, names: readonly string[]): string | undefined {
  const typed = word.toLowerCase()
  for (let steps = 0; steps < 4; steps++) {
    const near = names.find((name) => isWithin(Math.min(steps, name.length >> 2 || 1), typed, name.toLowerCase()))
    if (near) return near
  }
  return undefined
}

/** Tests whether one word becomes the other by so many letters added, removed, changed or swapped with the next. */
function isWithin(steps: number, from: string, to: string): boolean {
  if (!from || !to) return from.length + to.length <= steps
  const [rest, toRest] = [from.slice(1), to.slice(1)]
  if (from[0] === to[0]) return isWithin(steps, rest, toRest)
  return steps-- > 0 && (isWithin(steps, rest, toRest) || isWithin(steps, rest, to) || isWithin(steps, from, toRest) ||
    (from[0] === to[1] && from[1] === to[0] && isWithin(steps, from.slice(2), to.slice(2))))
}
