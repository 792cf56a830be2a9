/** Loads big or rarely used modules at the first request that needs them. */
import { Suspension } from './suspension.ts'

/**
 * Returns a function that returns what `load` resolves with. At the first call it suspends the request, which runs
 * again then. If `load` rejects, that request fails with the reason, and the next one tries again.
 */
export function loadedLater<T>(load: () => Promise<T>): () => T {
  let loaded: { readonly value: T } | undefined
  let failed: { readonly reason: unknown } | undefined
  return () => {
    if (loaded) return loaded.value
    if (failed) {
      const { reason } = failed
      failed = undefined
      throw reason
    }
    throw new Suspension(async () => {
      try {
        loaded = { value: await load() }
      } catch (reason) {
        failed = { reason }
      }
    })
  }
}
