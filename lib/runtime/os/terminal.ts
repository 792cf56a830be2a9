/** Writes lines to standard output. */
import { isatty } from 'node:tty'
import { printable } from '../../core/printable.ts'

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
