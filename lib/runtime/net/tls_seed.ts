/** Prepares the random numbers of TLS, where that takes time. */
import { thisRuntime } from '../os/this_runtime.ts'

/**
 * Seeds the random numbers of TLS on another thread. On Deno 2.9 the first connection of a process does it otherwise,
 * which holds the event loop for 25 ms. Does nothing on Node and Bun.
 */
export function seedTls(): void {
  if (thisRuntime().name !== 'deno') return
  // A failure has no effect: the first connection seeds them.
  crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign']).catch(() => {})
}
