/** Standard output, and what a person at a terminal sees. */
import { readFileSync } from 'node:fs'
import { isatty } from 'node:tty'
import { fileURLToPath } from 'node:url'
import { printable } from '../core/printable.ts'

/** Asked of the descriptor: on Node `process.stdout` is made when it is first touched, and a start has nothing to write yet. */
export function isTerminal(): boolean {
  return isatty(1)
}

/** Control characters in it are made visible: parts of it come from servers, plugins and files. */
export function writeLine(line: string): void {
  process.stdout.write(`${printable(line)}\n`)
}

/** The line of source at `file:line:column`; undefined where it cannot be read, as in a bundle or without the right to. */
export function sourceLine(place: string): string | undefined {
  const match = /^(.*):(\d+):\d+$/.exec(place)
  if (!match) return undefined
  try {
    const file = match[1]!.startsWith('file:') ? fileURLToPath(match[1]!) : match[1]!
    return readFileSync(file, 'utf8').split('\n')[Number(match[2]) - 1]
  } catch {
    return undefined // a nicety: the place itself was printed
  }
}
