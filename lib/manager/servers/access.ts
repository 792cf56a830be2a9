/** Decides by reviews of the API server whether a request to an endpoint of the operator is allowed. */
import { BoundedMap } from '../../async/bounded_map.ts'
import { untilAborted } from '../../async/abort.ts'
import { type Clock, within } from '../../async/clock.ts'
import type { Api } from '../../client/api.ts'
import { isReason, messageOf } from '../../core/errors.ts'
import { printable } from '../../core/printable.ts'
import type { PartEnvironment } from '../../observe/environment.ts'
import { RateLimitedLog } from '../../observe/log.ts'
import { secretHash } from '../../runtime/os/secret_hash.ts'

// The times of controller-runtime's filter, which does not keep refused tokens.
const KNOWN_TOKEN_MS = 60_000
const ALLOWED_MS = 300_000
const DENIED_MS = 30_000
const REVIEW_TIMEOUT_MS = 10_000
/** Short, as the API server may know the token soon. It saves a review for each try of a client that never succeeds. */
const REFUSED_TOKEN_MS = 10_000
/** How many answers of each kind are kept; the oldest are dropped. */
const MAX_ANSWERS = 1000
/** How many reviews run at once: tokens that are made up must not become as many requests to the API server. */
const MAX_REVIEWS = 20
/** How much of a user's name is in an answer. */
const MAX_NAME = 200

/** A request, as it is judged. */
export interface AccessRequest {
  /** The header `authorization`. */
  readonly authorization: string | null
  readonly method: string
  readonly path: string
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal
}

/** Why a request is not answered. */
export interface Refusal {
  readonly status: 401 | 403 | 429 | 500
  readonly text: string
}

export interface AccessOptions extends PartEnvironment {
  readonly api: Pick<Api, 'raw'>
  /** Aborts running reviews. */
  readonly signal: AbortSignal
}

/** The user of a token, as a TokenReview names it. */
interface User {
  readonly username?: string
  readonly uid?: string
  readonly groups?: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

const UNAUTHORIZED: Refusal = { status: 401, text: 'Unauthorized' }
const BUSY: Refusal = { status: 429, text: 'Too many tokens are being reviewed; try again' }

/**
 * Checks bearer tokens by a TokenReview, then their users by a SubjectAccessReview of the path and the method.
 *
 * Answers are kept for a while. Equal requests at the same time share one review. A token is kept as a hash only.
 *
 * @see https://kubernetes.io/docs/reference/access-authn-authz/authentication/#webhook-token-authentication
 */
export class AccessReviews {
  readonly #options: AccessOptions
  readonly #hash = secretHash()
  readonly #users: Answers<User | undefined>
  readonly #rights: Answers<boolean>
  readonly #failureLog: RateLimitedLog
  readonly #refusals: RateLimitedLog
  #running = 0

  constructor(options: AccessOptions) {
    const { clock } = options
    this.#options = options
    this.#users = new Answers(clock, (user) => user ? KNOWN_TOKEN_MS : REFUSED_TOKEN_MS)
    this.#rights = new Answers(clock, (isAllowed) => isAllowed ? ALLOWED_MS : DENIED_MS)
    this.#failureLog = new RateLimitedLog(clock, options.log)
    this.#refusals = new RateLimitedLog(clock)
  }

  /** Resolves with the reason if the request is refused. Rejects only with the reason of the request's signal. */
  async check({ authorization, method, path, signal }: AccessRequest): Promise<Refusal | undefined> {
    const token = bearerToken(authorization)
    if (token === undefined) return UNAUTHORIZED
    try {
      const user = await untilAborted(this.#users.of(this.#hash(token), () => this.#userOf(token)), signal)
      if (!user) return this.#refused(path, 'its token is not valid', UNAUTHORIZED)
      const attributes = { path, verb: method.toLowerCase() }
      const key = this.#hash(JSON.stringify([user, attributes]))
      const isAllowed = await untilAborted(this.#rights.of(key, () => this.#isAllowed(user, attributes)), signal)
      if (isAllowed) return undefined
      const name = printable(user.username ?? '').slice(0, MAX_NAME)
      const text = `Forbidden: "${name}" must be allowed to ${attributes.verb} the non-resource URL "${path}"`
      return this.#refused(path, text, { status: 403, text })
    } catch (error) {
      if (error === BUSY) return BUSY
      if (signal.aborted) throw error
      this.#failed(error)
      return { status: 500, text: 'The request cannot be authorized now; see the log of the operator' }
    }
  }

  #refused(path: string, why: string, refusal: Refusal): Refusal {
    this.#refusals.line((more) =>
      this.#options.log.debug(`Refused a request to an endpoint: ${why}${more}`, {
        path: printable(path).slice(0, MAX_NAME),
        status: refusal.status,
      })
    )
    return refusal
  }

  #failed(error: unknown): void {
    const hint = isReason(error, 'Forbidden')
      ? '; its ServiceAccount needs the right to create tokenreviews.authentication.k8s.io and ' +
        'subjectaccessreviews.authorization.k8s.io: kubeloop manifests prints the rule'
      : ''
    this.#failureLog.error(`Cannot authorize a request to an endpoint: ${messageOf(error)}${hint}`)
  }

  /** Resolves with the user of a token; undefined if the API server does not accept it. */
  async #userOf(token: string): Promise<User | undefined> {
    const status = await this.#review('authentication.k8s.io', 'TokenReview', { token }) as {
      readonly authenticated?: boolean
      readonly user?: User
    }
    return status.authenticated === true && status.user ? status.user : undefined
  }

  async #isAllowed(user: User, nonResourceAttributes: object): Promise<boolean> {
    const { username, uid, groups, extra } = user
    const spec = { user: username, uid, groups, extra, nonResourceAttributes }
    const status = await this.#review('authorization.k8s.io', 'SubjectAccessReview', spec) as {
      readonly allowed?: boolean
      readonly denied?: boolean
    }
    return status.allowed === true && status.denied !== true
  }

  /** Sends a review, once more if the connection is lost: a review changes nothing. */
  async #review(group: string, kind: string, spec: object): Promise<object> {
    if (this.#running >= MAX_REVIEWS) throw BUSY
    const { api, clock, signal } = this.#options
    const request = {
      method: 'POST',
      path: `/apis/${group}/v1/${kind.toLowerCase()}s`,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ apiVersion: `${group}/v1`, kind, spec }),
    } as const
    const doing = `create a ${kind}`
    const late = (): Error => new Error(`Cannot ${doing}: no answer within ${REVIEW_TIMEOUT_MS / 1000} s`)
    this.#running++
    try {
      const answer = await within(clock, REVIEW_TIMEOUT_MS, late, async (limited) => {
        const send = (): Promise<unknown> => untilAborted(api.raw(request, doing, limited), limited)
        return await send().catch((error: unknown) => {
          // By its name: this file may be a bundle of its own.
          if ((error as Partial<Error> | null)?.name !== 'NetworkError') throw error
          return send()
        })
      }, signal)
      const status = (answer as { readonly status?: unknown } | null)?.status
      if (typeof status !== 'object' || status === null) throw new Error(`Cannot ${doing}: the answer has no status`)
      return status
    } finally {
      this.#running--
    }
  }
}

/** Returns the token of a header `Bearer TOKEN`, undefined if there is none. */
export function bearerToken(authorization: string | null | undefined): string | undefined {
  return /^bearer +([^\s]+) *$/i.exec(authorization ?? '')?.[1]
}

/** Answers of reviews by key, each kept for its time. Failures are not kept. */
class Answers<T> {
  readonly #clock: Clock
  readonly #keptMs: (answer: T) => number
  readonly #known = new BoundedMap<string, { readonly answer: T; readonly untilMs: number }>(MAX_ANSWERS)
  readonly #open = new Map<string, Promise<T>>()

  constructor(clock: Clock, keptMs: (answer: T) => number) {
    this.#clock = clock
    this.#keptMs = keptMs
  }

  /** Returns a known answer, that of a running review, or that of a new one. */
  of(key: string, review: () => Promise<T>): Promise<T> {
    const known = this.#known.get(key)
    if (known && this.#clock.monotonic() < known.untilMs) return Promise.resolve(known.answer)
    let open = this.#open.get(key)
    if (!open) {
      open = review().then((answer) => {
        // The time counts from the answer, so an answer that took long is not kept for less.
        this.#known.set(key, { answer, untilMs: this.#clock.monotonic() + this.#keptMs(answer) })
        return answer
      }).finally(() => this.#open.delete(key))
      this.#open.set(key, open)
    }
    return open
  }
}
