/** Writes lines to standard output. */
import { isatty } from 'node:tty'
import { printable } from '../../core/printable.ts'

/** Returns whether standard output is a terminal. Checks the descriptor: creating `process.stdout` on Node is slow. */
export function isTerminal(): boolean {
  return isatty(1)
}

/** The number of lines that are being written, the error of the first that was not, and what waits for them. */
const output: { open: number; error?: unknown; settled: () => void; failed: () => void } = {
  open: 0,
  settled: () => {},
  failed: () => {},
}

/** Writes a line to standard output. Drops it if that fails; see {@link outputError}. */
export function writeLine(line: string): void {
  output.open++
  write(process.stdout, line, (error) => {
    output.open--
    output.error ??= error
    if (error) output.failed()
    // Deno calls back for the first failure only.
    if (output.error || output.open === 0) output.settled()
  })
}

/**
 * Resolves when all lines of {@link writeLine} are written, with the first error, such as that of a full disk;
 * undefined if the reader of the output has gone, as after `| head`.
 */
export async function outputError(): Promise<unknown> {
  if (output.open > 0 && !output.error) await new Promise<void>((resolve) => void (output.settled = resolve))
  return isClosed(output.error) ? undefined : output.error
}

/** Calls `onClosed` when standard output cannot be written any more, as after `| head`, instead of throwing. */
export function onOutputClosed(onClosed: () => void): void {
  process.stdout.on('error', onClosed)
  // Deno has no such event for a file.
  output.failed = onClosed
}

/** Returns whether a write failed as the reader of the output has gone. EIO: the terminal was closed. */
function isClosed(error: unknown): boolean {
  return /^(?:EPIPE|EIO)$/.test(codeOf(error))
}

/** 0: standard output, 1: standard error, 2: none. */
let logOutput = 0

/** Writes a log line to standard output. After that fails, writes to standard error. Never throws. */
export function writeLogLine(line: string): void {
  const used = logOutput
  if (used > 1) return
  write(used === 0 ? process.stdout : process.stderr, line, (error) => {
    if (!error) return
    if (logOutput === used && ++logOutput === 1) {
      writeLogLine(`Cannot write to standard output (${codeOf(error)}): the log continues on standard error`)
    }
    writeLogLine(line)
  })
}

/** Makes control characters in the line visible: parts of it come from servers, plugins and files. */
function write(stream: NodeJS.WriteStream, line: string, onDone: (error: unknown) => void): void {
  // Without a listener, the stream's error would end the process. The callback gets the same error.
  if (stream.listenerCount('error') === 0) stream.on('error', () => {})
  try {
    stream.write(`${printable(line)}\n`, onDone)
  } catch (error) {
    onDone(error)
  }
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | null)?.code ?? error)
}
