/** Standard output, and what a person at a terminal sees. */
import { readFileSync } from 'node:fs'
import { isatty } from 'node:tty'
import { fileURLToPath } from 'node:url'
import { printable } from '../../core/printable.ts'
import { hasRight } from './env.ts'
import { shortPath } from './short_path.ts'

/** Asked of the descriptor: on Node `process.stdout` is made when it is first touched, and a start has nothing to write yet. */
export function isTerminal(): boolean {
  return isatty(1)
}

/** Writes a line to standard output. One that is closed, as after `| head`, takes nothing more, and that is no error. */
export function writeLine(line: string): void {
  write(process.stdout, line, () => {})
}

/** 0: standard output, 1: standard error, 2: nowhere. */
let logOutput = 0

/** Writes a line of a log: to standard output until that cannot be written, from then on to standard error. Never throws. */
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

/** Control characters in the line are made visible: parts of it come from servers, plugins and files. */
function write(stream: NodeJS.WriteStream, line: string, onError: (error: unknown) => void): void {
  // Without a listener an error of the stream would end the process; the callback has it, too.
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

/** A place in the user's file as it is shown below an error: its path from here and, where it can be read, its line of source. */
export function placeLine(place: string): string {
  return `          ${shortPath(place)}  ${sourceLine(place)?.trim() ?? ''}`.trimEnd()
}

/** The line of source at `file:line:column`; undefined where it cannot be read, as in a bundle or without the right to. */
function sourceLine(place: string): string | undefined {
  const match = /^(.*):(\d+):\d+$/.exec(place)
  if (!match) return undefined
  try {
    const file = match[1]!.startsWith('file:') ? fileURLToPath(match[1]!) : match[1]!
    if (!hasRight({ name: 'read', path: file })) return undefined
    return readFileSync(file, 'utf8').split('\n')[Number(match[2]) - 1]
  } catch {
    return undefined // a nicety: the place itself was printed
  }
}
