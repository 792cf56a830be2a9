/** Authenticates and authorizes requests. */
import type { Call } from '../model/routes.ts'
import { StatusError } from '../model/status.ts'
import type { Store } from '../storage/store.ts'
import { type Attributes, attributesOf, notAllowed } from '../model/attributes.ts'
import { impersonated } from './impersonation.ts'
import { decide } from './rbac.ts'
import type { Decision, Rights, Roles } from '../model/rights.ts'
import { storedRoles } from './stored_roles.ts'
import { ISSUER, Tokens, type Verified } from './tokens.ts'
import { ADMIN, ANONYMOUS, MASTERS, type User } from '../model/user.ts'

/**
 * Which requests are allowed. `rbac`: those that the stored roles and bindings allow, as on a real server;
 * administrators (`system:masters`) may do everything. `allow`: all requests, except those of anonymous users.
 */
export type AuthorizationMode = 'allow' | 'rbac'

interface AccessOptions {
  readonly store: Store
  readonly mode: AuthorizationMode
  /** The bearer token of the administrator. Undefined: requests without a token are the administrator's. */
  readonly token: string | undefined
  nowMs(): number
  uuid(): string
  /** The key of service account tokens, PEM. */
  readonly tokenKey: string | undefined
}

/** The users and rights of a server. */
export class Access implements Rights {
  readonly tokens: Tokens
  readonly roles: Roles
  readonly mode: AuthorizationMode
  readonly #token: string | undefined

  constructor({ store, mode, token, nowMs, uuid, tokenKey }: AccessOptions) {
    this.tokens = new Tokens({ store, nowMs, uuid, pem: tokenKey })
    this.roles = storedRoles(store)
    this.mode = mode
    this.#token = token
  }

  /**
   * Sets the user of a request, and checks that the user may send it.
   *
   * @throws StatusError 401 for an invalid token, 400 and 403 for impersonation and missing rights.
   */
  admit(call: Call): void {
    call.user = this.#authenticate(call)
    const isImpersonating = Object.keys(call.headers).some((name) => name.startsWith('impersonate-'))
    if (isImpersonating) call.user = impersonated(call, (action) => this.check(action))
    if (this.#mayAll(call.user)) return
    this.check(attributesOf(call, call.user))
  }

  /** Throws 403 if the user of a request may not do something. */
  check(attributes: Attributes): void {
    const { allowed, reason } = this.decideByMode(attributes)
    if (!allowed) throw notAllowed(attributes, reason)
  }

  /** Returns whether an action is allowed by the stored roles, in either mode. */
  decide(attributes: Attributes): Decision {
    return attributes.user.groups.includes(MASTERS) ? { allowed: true, reason: '' } : decide(this.roles, attributes)
  }

  /** Returns whether the rights of a user are checked. */
  isChecked(user: User): boolean {
    return !this.#mayAll(user)
  }

  /** Returns the user and audiences of a token. The error is empty if no authenticator knows the token. */
  review(token: string, audiences: readonly string[] = [ISSUER]): Verified {
    if (this.#token === undefined || !isSame(token, this.#token)) return this.tokens.verify(token, audiences)
    return audiences.includes(ISSUER) ? { user: ADMIN, audiences: [ISSUER] } : { error: '' }
  }

  /** Returns whether an action is allowed by the mode. */
  decideByMode(attributes: Attributes): Decision {
    return this.#mayAll(attributes.user) ? { allowed: true, reason: '' } : this.decide(attributes)
  }

  /** Anonymous users have only the rights that roles give them, in both modes. */
  #mayAll({ name, groups }: User): boolean {
    return groups.includes(MASTERS) || (this.mode === 'allow' && name !== ANONYMOUS.name)
  }

  #authenticate({ headers }: Call): User {
    const header = headers['authorization']
    if (header === undefined) return this.#token === undefined ? ADMIN : ANONYMOUS
    const token = /^bearer +(\S+) *$/i.exec(header)?.[1]
    if (token === undefined) return ANONYMOUS
    if (Tokens.isIssued(token)) {
      const verified = this.tokens.verify(token)
      if ('user' in verified) return verified.user
    } else if (this.#token === undefined || isSame(token, this.#token)) {
      return ADMIN
    }
    throw new StatusError(401, 'Unauthorized', 'Unauthorized')
  }
}

/** Compares secrets. The time depends only on the lengths. */
export function isSame(a: string, b: string): boolean {
  const encoder = new TextEncoder()
  const left = encoder.encode(a)
  const right = encoder.encode(b)
  let difference = left.length ^ right.length
  for (let i = 0; i < left.length; i++) difference |= left[i]! ^ (right[i % right.length] ?? 0)
  return difference === 0
}
