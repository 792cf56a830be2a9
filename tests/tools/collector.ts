/** Collects garbage on request, for tests of memory. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Returns a function that collects all garbage; undefined on Deno. */
export function collector(): (() => void) | undefined {
  const { Bun, Deno } = globalThis as { Bun?: { gc(full: boolean): void }; Deno?: object }
  if (Bun) return () => Bun.gc(true)
  if (Deno) return undefined
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as () => void
}

/** The reason to skip a test that needs it. */
export const UNCOLLECTED = 'Deno collects garbage on request with --v8-flags=--expose-gc only'
