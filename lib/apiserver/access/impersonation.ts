/** Impersonation: a request that acts as another user. */
import type { Call } from '../model/routes.ts'
import { badRequest } from '../model/status.ts'
import { type Attributes, resourceAttributes } from '../model/attributes.ts'
import {
  ANONYMOUS,
  AUTHENTICATED,
  parseServiceAccount,
  serviceAccountGroups,
  UNAUTHENTICATED,
  type User,
} from '../model/user.ts'

const EXTRA_PREFIX = 'impersonate-extra-'

/**
 * Returns the user that a request acts as: its own without headers that name another one. `check` throws 403 if an
 * action is not allowed.
 *
 * @throws StatusError 400 if there are headers, but none for the name.
 */
export function impersonated(call: Call, check: (action: Attributes) => void): User {
  const wanted = wantedUser(call)
  if (!wanted) return call.user
  for (const action of impersonations(wanted, call.user)) check(action)
  return completed(wanted)
}

/** Values of repeated headers are joined by a comma, so a comma separates values. */
function wantedUser({ headers }: Call): User | undefined {
  const name = headers['impersonate-user'] ?? ''
  const uid = headers['impersonate-uid'] ?? ''
  const groups = valuesOf(headers['impersonate-group'])
  const extras = new Map<string, readonly string[]>()
  for (const [header, value] of Object.entries(headers)) {
    if (!header.startsWith(EXTRA_PREFIX)) continue
    const key = unescaped(header.slice(EXTRA_PREFIX.length))
    extras.set(key, [...(extras.get(key) ?? []), ...valuesOf(value)])
  }
  const hasExtra = extras.size > 0
  const extra = Object.fromEntries(extras)
  if (name) return { name, groups, ...(uid && { uid }), ...(hasExtra && { extra }) }
  if (!uid && groups.length === 0 && !hasExtra) return undefined
  throw badRequest('the request impersonates a group, a uid or an extra value without impersonating a user name')
}

function valuesOf(header: string | undefined): string[] {
  return (header ?? '').split(',').map((value) => value.trim()).filter(Boolean)
}

function unescaped(key: string): string {
  try {
    return decodeURIComponent(key)
  } catch {
    return key
  }
}

/** Returns the actions that impersonate a user: one for its name, and one for each other part. */
function impersonations({ name, uid, groups, extra = {} }: User, user: User): Attributes[] {
  const of = (given: Partial<Attributes> & { resource: string }): Attributes =>
    resourceAttributes({ user, verb: 'impersonate', group: 'authentication.k8s.io', version: 'v1', ...given })
  const account = parseServiceAccount(name)
  return [
    account ? of({ group: '', resource: 'serviceaccounts', ...account }) : of({ group: '', resource: 'users', name }),
    ...(uid ? [of({ resource: 'uids', name: uid })] : []),
    ...groups.map((each) => of({ group: '', resource: 'groups', name: each })),
    ...Object.entries(extra).flatMap(([key, values]) =>
      values.map((value) => of({ resource: 'userextras', subresource: key, name: value }))
    ),
  ]
}

/** Adds the groups that a user always has. */
function completed(wanted: User): User {
  const account = parseServiceAccount(wanted.name)
  const known = wanted.groups.length === 0 && account ? serviceAccountGroups(account.namespace) : wanted.groups
  const added = wanted.name === ANONYMOUS.name
    ? UNAUTHENTICATED
    : known.includes(UNAUTHENTICATED)
    ? undefined
    : AUTHENTICATED
  return { ...wanted, groups: added && !known.includes(added) ? [...known, added] : known }
}
