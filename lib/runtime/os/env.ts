/** Reads environment variables one at a time, and checks permissions on Deno. */
import { NOT_CAPABLE } from '../../core/errors.ts'

/** A permission of Deno. */
export type Right =
  | { readonly name: 'env'; readonly variable: string }
  | { readonly name: 'read'; readonly path: string }
  /** Without a host: all. */
  | { readonly name: 'net'; readonly host?: string }
  | { readonly name: 'sys'; readonly kind: 'hostname' | 'ca' }
  | { readonly name: 'run'; readonly command: string }

/** The part of Deno's API that is used here. */
interface DenoPermissions {
  readonly permissions: {
    querySync(right: Right): { readonly state: string }
    requestSync(right: Right): { readonly state: string }
  }
}

const deno = (globalThis as { readonly Deno?: DenoPermissions }).Deno

/**
 * Returns the value of a variable; undefined if it is unset or empty.
 *
 * @throws Error on Deno if the variable may not be read: treating it as unset could select the wrong cluster.
 */
export function env(name: string): string | undefined {
  if (!mayRead(name)) throw new Error(`Cannot read environment variable ${name}: Deno needs --allow-env=${name}`)
  return process.env[name] || undefined
}

/** Returns the value of an optional variable. One that may not be read on Deno counts as unset, without a prompt. */
export function optionalEnv(name: string): string | undefined {
  return mayRead(name) ? process.env[name] || undefined : undefined
}

/** Returns those of the variables that Deno does not permit to read. */
export function unreadable(names: readonly string[]): string[] {
  return names.filter((name) => !mayRead(name))
}

function mayRead(name: string): boolean {
  return hasRight({ name: 'env', variable: name })
}

/** Returns whether a permission is granted. Never prompts: a prompt at the terminal would block the process. */
export function hasRight(right: Right): boolean {
  return !deno || deno.permissions.querySync(right).state === 'granted'
}

/** Returns those of the permissions that are not granted. */
export function lacking(rights: readonly Right[]): Right[] {
  return rights.filter((right) => !hasRight(right))
}

/** Returns the flags that grant permissions, each with its list. */
export function flagsOfRights(rights: readonly Right[]): string {
  const valueOf = ({ name: _, ...values }: Right): string => Object.values(values).join()
  return [...Map.groupBy(rights, ({ name }) => name)]
    .map(([name, some]) => `--allow-${name}=${[...new Set(some.map(valueOf))].join(',')}`).join(' ')
}

/** Returns the permissions to listen; an undefined host means all interfaces. */
export function listeningRights(host: string | undefined, port: number): Right[] {
  // Deno looks up the name and then listens on its address: both need the permission.
  return (host === 'localhost' ? [host, '127.0.0.1'] : [host ?? '::']).map((each) => {
    return { name: 'net', host: `${each.includes(':') ? `[${each}]` : each}:${port}` }
  })
}

/**
 * Requests the permission to listen; an undefined host means all interfaces. Without this, Deno throws later, where
 * nothing can catch it.
 *
 * @throws Error on Deno if it is not permitted, with the name of Deno's own error (NotCapable).
 */
export function requireListening(host: string | undefined, port: number): void {
  const needed = listeningRights(host, port)
  if (!deno || needed.every((right) => deno.permissions.requestSync(right).state === 'granted')) return
  throw Object.assign(new Error(`Deno needs ${flagsOfRights(needed)}`), { name: NOT_CAPABLE })
}

/** Whether the process runs in a Pod. */
export function isInPod(): boolean {
  return optionalEnv('KUBERNETES_SERVICE_HOST') !== undefined
}
