/** Finds the places of errors in the user's files. */

/**
 * Returns the place of an error that ended a process or the loading of a file: the user's innermost frame, or a
 * compiler's position. Bun has it in `position`, Node in the first line of a SyntaxError's stack.
 *
 * @param framesOf `userFrames`, of the file that knows which frames are ours.
 */
export function placeOfError(error: unknown, framesOf: (stack: string) => readonly string[]): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const { position, stack } = error as { position?: unknown; stack?: unknown }
  if (isPosition(position) && position.file) return `${position.file}:${position.line}:${position.column}`
  if (typeof stack !== 'string') return undefined
  const compiled = /^(?:file:\/\/)?(\/[^\n]*?):(\d+)\n/.exec(stack)
  const [place] = compiled ? framesOf(`at ${compiled[1]}:${compiled[2]}:1`) : []
  return place?.replace(/:1$/, '') ?? framesOf(stack)[0]
}

/** Returns the separate errors of a compiler. Bun throws several as one error without their messages and positions. */
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
