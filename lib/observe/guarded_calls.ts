/** Calls whose failure must not end the work beside them. */

/**
 * Returns the same functions, none of which throws: `failed` is called with what one of them throws. A meter, or a metric of a
 * user's registry, that fails must not end the work that it measures.
 */
export function guardedCalls<T extends { readonly [N in keyof T]: (...args: never[]) => void }>(
  calls: T,
  failed: (error: unknown) => void,
): T {
  const guarded = (call: (...args: unknown[]) => void) => (a: unknown, b: unknown, c: unknown): void => {
    try {
      call(a, b, c)
    } catch (error) {
      failed(error)
    }
  }
  return Object.fromEntries(Object.entries(calls).map(([name, call]) => [name, guarded(call as never)])) as unknown as T
}
