/** Environment variables, one at a time: listing them all would need every permission on Deno. */
import process from 'node:process'

/** A right that Deno may have been given. */
type Right = { readonly name: 'env'; readonly variable: string } | { readonly name: 'read'; readonly path: string }

/** What is used of Deno's own API, where there is one. */
interface DenoPermissions {
  readonly permissions: { querySync(right: Right): { readonly state: string } }
}

/**
 * The value of a variable, or undefined when it is not set or empty.
 *
 * @throws Error on Deno when the variable may not be read: taking it for unset could reach the wrong cluster.
 */
export function env(name: string): string | undefined {
  if (!mayRead(name)) throw new Error(`Cannot read environment variable ${name}: Deno needs --allow-env=${name}`)
  return process.env[name] || undefined
}

/** The same for a variable that is only a refinement: one that may not be read counts as unset, and Deno does not ask. */
export function optionalEnv(name: string): string | undefined {
  return mayRead(name) ? process.env[name] || undefined : undefined
}

function mayRead(name: string): boolean {
  return hasRight({ name: 'env', variable: name })
}

/** Whether something may be done without that Deno asks the person at the terminal, for whose answer everything would wait. */
export function hasRight(right: Right): boolean {
  const deno = (globalThis as { readonly Deno?: DenoPermissions }).Deno
  return !deno || deno.permissions.querySync(right).state === 'granted'
}
