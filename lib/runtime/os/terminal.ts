/** Writes lines and source locations to a terminal. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { isatty } from 'node:tty'
import { fileURLToPath } from 'node:url'
import { printable } from '../../core/printable.ts'
import { hasRight } from './env.ts'
import { workingFolder } from './this_runtime.ts'

/** Returns whether standard output is a terminal. Checks the descriptor: creating `process.stdout` on Node is slow. */
export function isTerminal(): boolean {
  return isatty(1)
}

/** Writes a line to standard output. Drops it if the output is closed, as after `| head`. */
export function writeLine(line: string): void {
  write(process.stdout, line, () => {})
}

/** 0: standard output, 1: standard error, 2: none. */
let logOutput = 0

/** Writes a log line to standard output. After that fails, writes to standard error. Never throws. */
export function writeLogLine(line: string): void {
  const used = logOutput
  if (used > 1) return
  write(used === 0 ? process.stdout : process.stderr, line, (error) => {
    if (logOutput === used && ++logOutput === 1) {
      writeLogLine(`Cannot write to standard output (${codeOf(error)}): the log continues on standard error`)
    }
    writeLogLine(line)
  })
}

/** Makes control characters in the line visible: parts of it come from servers, plugins and files. */
function write(stream: NodeJS.WriteStream, line: string, onError: (error: unknown) => void): void {
  // Without a listener, the stream's error would end the process. The callback gets the same error.
  if (stream.listenerCount('error') === 0) stream.on('error', () => {})
  try {
    stream.write(`${printable(line)}\n`, (error) => {
      if (error) onError(error)
    })
  } catch (error) {
    onError(error)
  }
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | null)?.code ?? error)
}

/** Returns a path below the working folder relative to it, other paths unchanged. A `:line:column` suffix is kept. */
export function shortPath(place: string): string {
  const folder = workingFolder()
  return folder !== undefined && place.startsWith(folder + path.sep) ? place.slice(folder.length + 1) : place
}

/** Returns the line below a printed error: the short path of `file:line:column` and, if readable, the source line. */
export function placeLine(place: string): string {
  return `          ${shortPath(place)}  ${sourceLine(place)?.trim() ?? ''}`.trimEnd()
}

/** Returns the source line at `file:line:column`; undefined if it cannot be read, as in a bundle. */
function sourceLine(place: string): string | undefined {
  const match = /^(.*):(\d+):\d+$/.exec(place)
  if (!match) return undefined
  try {
    const file = match[1]!.startsWith('file:') ? fileURLToPath(match[1]!) : match[1]!
    if (!hasRight({ name: 'read', path: file })) return undefined
    return readFileSync(file, 'utf8').split('\n')[Number(match[2]) - 1]
  } catch {
    return undefined // optional: the location itself is printed
  }
}
