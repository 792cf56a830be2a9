/** Stacks with the user's own frames only: ours and the runtime's say nothing to who has to mend something. */

/** The frames of a stack that are in the user's files, innermost first, each as `file:line:column`. */
export function userFrames(stack: string | undefined): string[] {
  return (stack ?? '')
    .split('\n')
    .filter((line) => /^\s*at /.test(line))
    .map((line) => /\(?((?:file:\/\/)?[^\s()]+:\d+:\d+)\)?$/.exec(line)?.[1])
    .filter((place): place is string => place !== undefined && !isOurs(place))
    .map((place) => place.replace(/^file:\/\//, ''))
}

/** Where in the user's code the caller of our public function is: found when somebody wants to know, as it takes a while. */
export function callerFrame(): () => string | undefined {
  // Deno takes ten milliseconds of an operator's start to look at the stack in a bundle, where nothing is to be found.
  if (IS_BUNDLED) return () => undefined
  const called = new Error()
  return () => userFrames(called.stack)[0]
}

/**
 * Where an error that ended a file's loading or a process points: the user's innermost frame, or the place a compiler
 * names — Bun in `position`, Node on the first line of the stack of a SyntaxError.
 */
export function placeOfError(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const { position, stack } = error as { position?: unknown; stack?: unknown }
  if (isPosition(position) && position.file) return `${position.file}:${position.line}:${position.column}`
  if (typeof stack !== 'string') return undefined
  const compiled = /^(?:file:\/\/)?(\/[^\n]*?):(\d+)\n/.exec(stack)
  if (compiled && !isOurs(`${compiled[1]}:${compiled[2]}:1`)) return `${compiled[1]}:${compiled[2]}`
  return userFrames(stack)[0]
}

/** The mistakes that a compiler found, each by itself: Bun throws several of them as one error, which has neither their words nor places. */
export function compileErrors(error: unknown): readonly unknown[] {
  const { errors } = (typeof error === 'object' && error !== null ? error : {}) as { errors?: unknown }
  const isCompilers = Array.isArray(errors) && errors.length > 0 &&
    errors.every((each) => isPosition((each as { position?: unknown } | null)?.position))
  return isCompilers ? errors : [error]
}

interface Position {
  readonly file?: string
  readonly line: number
  readonly column: number
}

function isPosition(value: unknown): value is Position {
  return typeof value === 'object' && value !== null && 'line' in value && 'column' in value
}

/** Whether our code is in the user's file, so that nothing tells their frames from ours. */
const IS_BUNDLED = !/\/(?:mod\.js|stack\.ts)$/.test(import.meta.url)

/** Our own folder, whether it is the source tree or the built package. */
const OWN_FOLDER = new URL('..', import.meta.url).href

function isOurs(place: string): boolean {
  if (/^(node|bun|deno|ext|native|internal):/.test(place) || place.includes('/node_modules/')) return true
  const url = place.startsWith('file://') ? place : `file://${place}`
  return OWN_FOLDER.endsWith('/lib/') ? url.startsWith(OWN_FOLDER) : url.startsWith(import.meta.url)
}
