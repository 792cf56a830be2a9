/** Regular expressions of RE2, which differ from JavaScript's. */
import { RE2JS } from 're2js'
import { BoundedMap } from '../../../async/bounded_map.ts'
import { remembered } from '../../model/remembered.ts'
import { CelError, ListValue } from '../values.ts'

const compiled = new BoundedMap<string, RE2JS>(500)

function compile(pattern: string): RE2JS {
  return remembered(compiled, pattern, () => RE2JS.compile(pattern))
}

/** Returns what is wrong with a pattern, or undefined. */
export function patternProblem(pattern: string): string | undefined {
  try {
    compile(pattern)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function regexOf(pattern: string, prefix: string): RE2JS {
  const problem = patternProblem(pattern)
  if (problem !== undefined) throw new CelError(`${prefix}${problem}`)
  return compile(pattern)
}

export function matches(text: string, pattern: string): boolean {
  return regexOf(pattern, '').matcher(text).find()
}

export function findFirst(text: string, pattern: string): string {
  const matcher = regexOf(pattern, 'Illegal regex: ').matcher(text)
  return matcher.find() ? matcher.group() ?? '' : ''
}

export function findAll(text: string, pattern: string, max = -1n): ListValue {
  const matcher = regexOf(pattern, 'Illegal regex: ').matcher(text)
  const found: string[] = []
  while ((max < 0n || BigInt(found.length) < max) && matcher.find()) found.push(matcher.group() ?? '')
  return new ListValue(found)
}
