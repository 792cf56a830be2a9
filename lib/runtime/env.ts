/** Environment variables, one at a time: listing them all would need every permission on Deno. */
import process from 'node:process'

/** What is used of Deno's own API, where there is one. */
interface DenoPermissions {
  readonly permissions: { querySync(descriptor: { name: 'env'; variable: string }): { readonly state: string } }
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
  const deno = (globalThis as { readonly Deno?: DenoPermissions }).Deno
  return !deno || deno.permissions.querySync({ name: 'env', variable: name }).state === 'granted'
}
