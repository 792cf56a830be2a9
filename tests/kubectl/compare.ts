/** Compares what the commands printed on both servers, with the differences that are known. */
import type { Difference } from './differences.ts'
import type { Output } from './session.ts'

/** Returns what is wrong with one step; undefined if the outputs are equal, or differ only as is known. */
export function compareStep(
  name: string,
  real: Output,
  embedded: Output,
  differences: readonly Difference[],
): string | undefined {
  const known = differences.filter((each) => each.steps.includes(name))
  const isEqual = textOf(real) === textOf(embedded)
  if (isEqual) {
    return known.length > 0 ? `no longer differs; remove it from the differences: ${known[0]!.reason}` : undefined
  }
  if (known.some(({ cut }) => cut === undefined)) return undefined
  const without = (text: string): string => known.reduce((rest, { cut }) => rest.replace(cut!, ''), text)
  const [left, right] = [without(textOf(real)), without(textOf(embedded))]
  return left === right ? undefined : changedLines(left, right)
}

/** Returns the listed steps that the session does not have. */
export function unknownSteps(differences: readonly Difference[], names: ReadonlySet<string>): readonly string[] {
  return differences.flatMap(({ steps }) => steps).filter((name) => !names.has(name))
}

function textOf({ code, stdout, stderr }: Output): string {
  return `exit code ${code}\n${withoutSentences(stdout)}--- stderr\n${withoutSentences(stderr)}`
}

/**
 * Returns a text without the sentences of refusals, as the conformance cases compare them: what remains is the reason,
 * and of each cause its reason and field; but a strict decoding error names the fields in its sentence.
 */
function withoutSentences(text: string): string {
  return text.split('\n').map((line) => {
    if (line.includes('strict decoding error')) return line
    return line.replace(/(Error from server(?: \((?:BadRequest|InternalError|Invalid)\))?: ).*/, '$1')
      .replace(/((?:Required|Invalid|Unsupported|Duplicate) value|Forbidden|Too long): .*/, '$1')
  }).join('\n')
}

/** Returns the lines between the first and the last difference, of both. */
function changedLines(real: string, embedded: string): string {
  const [left, right] = [real.split('\n'), embedded.split('\n')]
  let start = 0
  while (start < left.length && left[start] === right[start]) start++
  let end = 0
  while (end < Math.min(left.length, right.length) - start && left.at(-1 - end) === right.at(-1 - end)) end++
  const part = (lines: readonly string[], mark: string): string[] =>
    lines.slice(start, lines.length - end).map((line) => `${mark} ${line}`)
  return ['- kube-apiserver, + embedded:', ...part(left, '-'), ...part(right, '+')].join('\n')
}
