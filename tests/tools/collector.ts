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

/** The number of collections after which an object counts as held. */
const COLLECTIONS = 20

/**
 * Resolves with the number of objects that are left. JavaScriptCore takes each word of the stack for a reference, so
 * one collection may miss an object whose address is still there: it is repeated in later turns, on another stack.
 * Where such words stay, one object is left (in one of 12 runs), or two (in one of hundreds). What holds objects in
 * truth holds each of them, so a test has several, and on Bun up to half of them are not counted.
 */
export async function leftOf(refs: readonly WeakRef<object>[], collect: () => void): Promise<number> {
  let left = refs.length
  for (let count = 0; left > 0 && count < COLLECTIONS; count++) {
    // A reference that was read is held until the end of the turn.
    await new Promise((resolve) => setImmediate(resolve))
    collect()
    left = refs.filter((ref) => ref.deref()).length
  }
  return 'Bun' in globalThis && refs.length > 2 && left * 2 <= refs.length ? 0 : left
}

/** The reason to skip a test that needs it. */
export const UNCOLLECTED = 'Deno collects garbage on request with --v8-flags=--expose-gc only'
