/** Impersonation: a request that acts as another user. */
import type { Call } from '../model/routes.ts'
import { badRequest, type StatusError } from '../model/status.ts'
import { type Attributes, notAllowed, resourceAttributes } from '../model/attributes.ts'
import type { Decision } from '../model/rights.ts'
import {
  ANONYMOUS,
  AUTHENTICATED,
  MASTERS,
  parseServiceAccount,
  serviceAccountGroups,
  UNAUTHENTICATED,
  type User,
} from '../model/user.ts'

const EXTRA_PREFIX = 'impersonate-extra-'

/**
 * Returns the user that the headers of a request name; undefined without such headers. Values of repeated headers are
 * joined by a comma, so a comma separates values.
 *
 * @throws StatusError 400 if there are headers, but none for the name.
 */
export function wantedUser({ headers }: Call): User | undefined {
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
  const goExtra = Object.keys(extra).sort().map((key) => `${JSON.stringify(key)}:${goStrings(extra[key]!)}`)
  throw badRequest(
    `requested &user.DefaultInfo{Name:"", UID:${JSON.stringify(uid)}, Groups:${goStrings(groups)}, ` +
      `Extra:map[string][]string${hasExtra ? `{${goExtra.join(', ')}}` : '(nil)'}} without impersonating a user name`,
  )
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

function goStrings(values: readonly string[]): string {
  if (values.length === 0) return '[]string(nil)'
  return `[]string{${values.map((value) => JSON.stringify(value)).join(', ')}}`
}

const NODE_PREFIX = 'system:node:'

/** A way to be allowed to impersonate. The constrained ones also need the right to act on behalf of the user. */
interface Mode {
  readonly name: string
  /** Returns whether the mode can impersonate a user. */
  applies(wanted: User): boolean
}

const isNode = ({ name }: User): boolean => name.startsWith(NODE_PREFIX) && name.length > NODE_PREFIX.length
const isAccount = ({ name }: User): boolean => parseServiceAccount(name) !== undefined
const isOnlyName = ({ uid, groups, extra }: User): boolean => !uid && groups.length === 0 && !extra

/** In the order in which they are tried; then the plain verb `impersonate` is. */
const CONSTRAINED_MODES: readonly Mode[] = [
  { name: 'arbitrary-node', applies: (wanted) => isOnlyName(wanted) && isNode(wanted) },
  { name: 'serviceaccount', applies: (wanted) => isOnlyName(wanted) && isAccount(wanted) },
  { name: 'user-info', applies: (wanted) => !isNode(wanted) && !isAccount(wanted) },
]

/**
 * Returns the user that a request acts as.
 *
 * @param request What the request does, as its own user.
 * @throws StatusError 403 if the user may not impersonate the other one: the error of the first mode that applies.
 * @see https://kep.k8s.io/5284
 */
export function impersonated(wanted: User, request: Attributes, decide: (action: Attributes) => Decision): User {
  let first: StatusError | undefined
  const isRefused = (actions: readonly Attributes[]): boolean => {
    for (const action of actions) {
      const { allowed, reason } = decide(action)
      if (allowed) continue
      first ??= notAllowed(action, reason)
      return true
    }
    return false
  }
  for (const mode of CONSTRAINED_MODES) {
    if (!mode.applies(wanted)) continue
    const onBehalf = { ...request, verb: `impersonate-on:${mode.name}:${request.verb}` }
    if (isRefused([onBehalf, ...impersonations(wanted, request.user, mode)])) continue
    const problem = constrainedProblem(wanted)
    if (!problem) return completed(wanted, mode)
    const { user } = request
    first ??= notAllowed(resourceAttributes({ user, verb: `impersonate:${mode.name}`, ...problem.of }), problem.reason)
  }
  if (isRefused(impersonations(wanted, request.user, undefined))) throw first!
  return completed(wanted, undefined)
}

/** Returns what the constrained modes refuse to all users. */
function constrainedProblem(
  { groups, extra = {} }: User,
): { readonly of: Pick<Attributes, 'group' | 'resource' | 'name'>; readonly reason: string } | undefined {
  if (groups.includes(MASTERS)) {
    return {
      of: { group: 'authentication.k8s.io', resource: 'groups', name: MASTERS },
      reason: `impersonating the ${MASTERS} group is not allowed`,
    }
  }
  const key = Object.keys(extra).find((each) => !/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?\/./.test(each))
  return key === undefined ? undefined : {
    of: { group: 'authentication.k8s.io', resource: 'userextras', name: '' },
    reason: `impersonating an invalid key in extra is not allowed: ${JSON.stringify(key)}`,
  }
}

/** Returns the actions that impersonate a user: one for its name, and one for each other part. */
function impersonations(wanted: User, user: User, mode: Mode | undefined): Attributes[] {
  const verb = mode ? `impersonate:${mode.name}` : 'impersonate'
  const group = mode ? 'authentication.k8s.io' : ''
  const of = (given: Partial<Attributes> & { resource: string }): Attributes =>
    resourceAttributes({ user, verb, group: 'authentication.k8s.io', version: 'v1', ...given })
  const { name, uid, groups, extra = {} } = wanted
  const account = parseServiceAccount(name)
  const isModeNode = mode !== undefined && isNode(wanted)
  return [
    account
      ? of({ group, resource: 'serviceaccounts', ...account })
      : isModeNode
      ? of({ group, resource: 'nodes', name: name.slice(NODE_PREFIX.length) })
      : of({ group, resource: 'users', name }),
    ...(uid ? [of({ resource: 'uids', name: uid })] : []),
    ...groups.map((each) => of({ group, resource: 'groups', name: each })),
    ...Object.entries(extra).flatMap(([key, values]) =>
      values.map((value) => of({ resource: 'userextras', subresource: key, name: value }))
    ),
  ]
}

/** Adds the groups that a user always has. */
function completed(wanted: User, mode: Mode | undefined): User {
  const account = parseServiceAccount(wanted.name)
  const known = wanted.groups.length > 0
    ? wanted.groups
    : account
    ? serviceAccountGroups(account.namespace)
    : mode && isNode(wanted)
    ? ['system:nodes']
    : []
  const added = wanted.name === ANONYMOUS.name
    ? UNAUTHENTICATED
    : known.includes(UNAUTHENTICATED)
    ? undefined
    : AUTHENTICATED
  return { ...wanted, groups: added && !known.includes(added) ? [...known, added] : known }
}
