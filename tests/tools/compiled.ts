import { homedir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'

const { NODE_COMPILE_CACHE, DENO_DIR = join(homedir(), '.cache/deno') } = process.env

/**
 * The variables by which Node and Deno find sources that they have compiled before: without them a process with an
 * environment of its own compiles all of them, which takes a second.
 */
export const COMPILED: Readonly<Record<string, string>> = {
  DENO_DIR,
  ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }),
}
