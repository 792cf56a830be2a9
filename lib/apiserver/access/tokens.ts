/** Tokens of service accounts: JSON Web Tokens with the claims of a real server. */
import { BoundedMap } from '../../async/bounded_map.ts'
import { type TokenKey, tokenKey } from '../../runtime/os/token_key.ts'
import { encodeBase64 } from '../../core/base64.ts'
import { goList } from '../model/go_text.ts'
import { at, isObject, type Json, type JsonObject } from '../model/json.ts'
import type { Store } from '../storage/store.ts'
import { AUTHENTICATED, serviceAccountGroups, serviceAccountName, type User } from '../model/user.ts'

/** The issuer of tokens, and the audience of this server. */
export const ISSUER = 'https://kubernetes.default.svc.cluster.local'

/** An object by name and uid. */
export interface Ref {
  readonly name: string
  readonly uid: string
}

/** The claims of a token that its request determines. */
export interface Claims {
  readonly audiences: readonly string[]
  readonly namespace: string
  readonly account: Ref
  readonly pod?: Ref
  readonly secret?: Ref
  readonly node?: Ref
  readonly expirationSeconds: number
  /** When the token should have been replaced, for tokens that live longer than requested. */
  readonly warnAfterSeconds?: number
}

/** The identity of a token, or why it is refused. */
export type Verified = { readonly user: User; readonly audiences: readonly string[] } | { readonly error: string }

interface TokensOptions {
  readonly store: Store
  nowMs(): number
  /** Returns a new UUID. */
  uuid(): string
  /** The private key, PEM. Default: a new one, made for the first token. */
  readonly pem: string | undefined
}

/** Issues and verifies tokens. */
export class Tokens {
  readonly #options: TokensOptions
  #key: TokenKey | undefined
  /** The last tokens with a valid signature: a write has its token verified before its body, and again with it. */
  readonly #signed = new BoundedMap<string, true>(1000)

  constructor(options: TokensOptions) {
    this.#options = options
  }

  /** Returns the private key, PEM; undefined if there is none yet. */
  get pem(): string | undefined {
    return this.#key?.pem() ?? this.#options.pem
  }

  /** Returns whether a text has the form of a token of this issuer. Says nothing about its validity. */
  static isIssued(token: string): boolean {
    return parse(token)?.claims['iss'] === ISSUER
  }

  issue(claims: Claims): string {
    const { audiences, namespace, account, pod, secret, node, expirationSeconds, warnAfterSeconds } = claims
    const now = this.#nowSeconds()
    const bound = (ref: Ref): JsonObject => ({ name: ref.name, ...(ref.uid && { uid: ref.uid }) })
    const body: JsonObject = {
      aud: [...audiences],
      exp: now + expirationSeconds,
      iat: now,
      iss: ISSUER,
      jti: this.#options.uuid(),
      'kubernetes.io': {
        namespace,
        ...(node && { node: bound(node) }),
        ...(pod && { pod: bound(pod) }),
        ...(secret && { secret: bound(secret) }),
        serviceaccount: bound(account),
        ...(warnAfterSeconds !== undefined && { warnafter: now + warnAfterSeconds }),
      },
      nbf: now,
      sub: serviceAccountName(namespace, account.name),
    }
    const key = this.#usedKey()
    const text = `${encoded({ alg: 'ES256', kid: key.id })}.${encoded(body)}`
    return `${text}.${key.sign(text)}`
  }

  /**
   * Verifies a token for at least one of the audiences.
   *
   * @see https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/serviceaccount/claims.go Validate
   */
  verify(token: string, audiences: readonly string[] = [ISSUER]): Verified {
    const parsed = parse(token)
    const hasKey = this.#key !== undefined || this.#options.pem !== undefined
    if (!parsed || parsed.claims['iss'] !== ISSUER || !hasKey || !this.#isSigned(token, parsed)) return { error: '' }
    const { claims } = parsed
    const own = Array.isArray(claims['aud']) ? claims['aud'].map(String) : []
    const common = audiences.filter((each) => own.includes(each))
    if (common.length === 0) {
      return { error: `token audiences ${goList(own)} is invalid for the target audiences ${goList(audiences)}` }
    }
    const problem = this.#problemOf(claims)
    return problem === undefined ? { user: userOf(claims), audiences: common } : { error: problem }
  }

  #isSigned(token: string, { text, signature }: Parsed): boolean {
    if (this.#signed.has(token)) return true
    const isSigned = this.#usedKey().verify(text, signature)
    if (isSigned) this.#signed.set(token, true)
    return isSigned
  }

  #problemOf(claims: JsonObject): string | undefined {
    if (this.#nowSeconds() > Number(claims['exp']) + LEEWAY_SECONDS) return 'service account token has expired'
    if (this.#nowSeconds() + LEEWAY_SECONDS < Number(claims['nbf'])) return 'service account token is not valid yet'
    const own = claims['kubernetes.io']!
    const namespace = String(at(own, 'namespace'))
    const account = refOf(at(own, 'serviceaccount'))!
    const stored = this.#options.store.get('serviceaccounts', `${namespace}/${account.name}`)
    if (!stored) return `serviceaccounts ${JSON.stringify(account.name)} not found`
    if (stored.metadata.uid !== account.uid) {
      return `service account UID (${stored.metadata.uid}) does not match claim (${account.uid})`
    }
    if (isLongDeleted(stored.metadata.deletionTimestamp, this.#nowSeconds())) {
      return `service account ${namespace}/${account.name} has been deleted`
    }
    const pod = refOf(at(own, 'pod'))
    return this.#boundProblem('secrets', `${namespace}/`, 'secret', refOf(at(own, 'secret'))) ??
      this.#boundProblem('pods', `${namespace}/`, 'pod', pod) ??
      // The node of a pod is only information.
      (pod ? undefined : this.#boundProblem('nodes', '', 'node', refOf(at(own, 'node'))))
  }

  #boundProblem(storage: string, prefix: string, kind: string, ref: Ref | undefined): string | undefined {
    if (!ref) return undefined
    const stored = this.#options.store.get(storage, `${prefix}${ref.name}`)
    if (!stored || isLongDeleted(stored.metadata.deletionTimestamp, this.#nowSeconds())) {
      return 'service account token has been invalidated'
    }
    if (stored.metadata.uid === ref.uid) return undefined
    const name = kind === 'secret' ? 'Secret' : kind
    const claim = kind === 'secret' ? 'service account secret' : `service account ${kind}`
    return `${name} UID (${stored.metadata.uid}) does not match ${claim} ref claim (${ref.uid})`
  }

  #usedKey(): TokenKey {
    return this.#key ??= tokenKey(this.#options.pem)
  }

  #nowSeconds(): number {
    return Math.floor(this.#options.nowMs() / 1000)
  }
}

const LEEWAY_SECONDS = 60

function isLongDeleted(deletionTimestamp: string | undefined, nowSeconds: number): boolean {
  return deletionTimestamp !== undefined && Date.parse(deletionTimestamp) / 1000 < nowSeconds - LEEWAY_SECONDS
}

function userOf(claims: JsonObject): User {
  const own = claims['kubernetes.io']!
  const namespace = String(at(own, 'namespace'))
  const account = refOf(at(own, 'serviceaccount'))!
  const pod = refOf(at(own, 'pod'))
  const node = refOf(at(own, 'node'))
  const extra = {
    'credential-id': `JTI=${String(claims['jti'])}`,
    ...(node && { 'node-name': node.name }),
    ...(node?.uid && { 'node-uid': node.uid }),
    ...(pod && { 'pod-name': pod.name, 'pod-uid': pod.uid }),
  }
  return {
    name: serviceAccountName(namespace, account.name),
    uid: account.uid,
    groups: [...serviceAccountGroups(namespace), AUTHENTICATED],
    extra: Object.fromEntries(
      Object.entries(extra).map(([key, value]) => [`authentication.kubernetes.io/${key}`, [value]]),
    ),
  }
}

function refOf(value: Json | undefined): Ref | undefined {
  return isObject(value) ? { name: String(value['name'] ?? ''), uid: String(value['uid'] ?? '') } : undefined
}

interface Parsed {
  /** The part that is signed. */
  readonly text: string
  readonly claims: JsonObject
  readonly signature: string
}

function parse(token: string): Parsed | undefined {
  const match = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/.exec(token)
  if (!match) return undefined
  try {
    const claims = decoded(match[2]!)
    return isObject(claims) ? { text: `${match[1]}.${match[2]}`, claims, signature: match[3]! } : undefined
  } catch {
    return undefined
  }
}

function encoded(value: JsonObject): string {
  return encodeBase64(JSON.stringify(value)).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '')
}

function decoded(text: string): Json {
  const binary = atob(text.replace(/-/g, '+').replace(/_/g, '/'))
  // Far faster than Uint8Array.from with a function.
  const bytes = new Uint8Array(binary.length)
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at)
  return JSON.parse(new TextDecoder().decode(bytes)) as Json
}
