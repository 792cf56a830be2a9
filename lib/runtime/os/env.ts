/** What Deno permits one thing at a time: environment variables, as listing them all would need every permission, and addresses. */
import process from 'node:process'
import { NOT_CAPABLE } from '../../core/errors.ts'

/** A right that Deno may have been given. */
type Right = { readonly name: 'env'; readonly variable: string } | { readonly name: 'read'; readonly path: string }

/** What is used of Deno's own API, where there is one. */
interface DenoPermissions {
  readonly permissions: {
    querySync(right: Right): { readonly state: string }
    requestSync(descriptor: { name: 'net'; host: string }): { readonly state: string }
  }
}

const deno = (globalThis as { readonly Deno?: DenoPermissions }).Deno

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
  return !deno || deno.permissions.querySync(right).state === 'granted'
}

/**
 * Asks for the permission to listen; undefined is all interfaces. Deno itself refuses it later, and throws where nothing catches it.
 *
 * @throws Error on Deno when it is not permitted. Its name is that of Deno's own.
 */
export function requireListening(host: string | undefined, port: number): void {
  // The name is looked up first, the address of it is listened on then.
  const needed = (host === 'localhost' ? [host, '127.0.0.1'] : [host ?? '::']).map((each) =>
    `${each.includes(':') ? `[${each}]` : each}:${port}`
  )
  if (!deno || needed.every((each) => deno.permissions.requestSync({ name: 'net', host: each }).state === 'granted')) {
    return
  }
  throw Object.assign(new Error(`Deno needs --allow-net=${needed.join(',')}`), { name: NOT_CAPABLE })
}
