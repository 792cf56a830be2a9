/** The users of requests. */
import type { JsonObject } from './json.ts'

/** The identity that a request acts as. */
export interface User {
  readonly name: string
  readonly uid?: string
  readonly groups: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

export const MASTERS = 'system:masters'
export const AUTHENTICATED = 'system:authenticated'
export const UNAUTHENTICATED = 'system:unauthenticated'

/** The user of requests without credentials in memory, and of requests with the server's token. */
export const ADMIN: User = { name: 'kubernetes-admin', groups: [MASTERS, AUTHENTICATED] }

export const ANONYMOUS: User = { name: 'system:anonymous', groups: [UNAUTHENTICATED] }

const SERVICE_ACCOUNT_PREFIX = 'system:serviceaccount:'

export function serviceAccountName(namespace: string, name: string): string {
  return `${SERVICE_ACCOUNT_PREFIX}${namespace}:${name}`
}

export function serviceAccountGroups(namespace: string): string[] {
  return ['system:serviceaccounts', `system:serviceaccounts:${namespace}`]
}

/** Splits the name of a service account's user; undefined for other users. */
export function parseServiceAccount(user: string): { readonly namespace: string; readonly name: string } | undefined {
  if (!user.startsWith(SERVICE_ACCOUNT_PREFIX)) return undefined
  const parts = user.slice(SERVICE_ACCOUNT_PREFIX.length).split(':')
  const [namespace, name] = parts
  return parts.length === 2 && namespace && name ? { namespace, name } : undefined
}

/** Returns a user as `authentication.k8s.io/v1 UserInfo`. */
export function userInfo({ name, uid, groups, extra = {} }: User): JsonObject {
  const keys = Object.keys(extra).sort()
  return {
    ...(name && { username: name }),
    ...(uid && { uid }),
    ...(groups.length > 0 && { groups: [...groups] }),
    ...(keys.length > 0 && { extra: Object.fromEntries(keys.map((key) => [key, [...extra[key]!]])) }),
  }
}
