/** The names, bodies and responses of subresources. */
import type { Status } from '../core/errors.ts'
import { formatKey, keyOf, type ObjectMeta, type StatusOf } from '../core/objects.ts'
import { apiVersionOf } from '../core/resource.ts'
import type { NamedTarget } from './target.ts'

/** The desired and actual number of replicas of any scalable kind. */
export interface Scale {
  readonly metadata: ObjectMeta
  readonly spec: { readonly replicas?: number }
  readonly status?: { readonly replicas: number; readonly selector?: string }
}

/** A token for a service account. The token is only in `status.token` of the response, never in errors or logs. */
export interface TokenRequest {
  readonly spec: TokenRequestSpec
  readonly status: { readonly token: string; readonly expirationTimestamp: string }
}

/** What a request for a token of a ServiceAccount may state. */
export interface TokenRequestSpec {
  /** The audiences that accept the token. Default: the API server. */
  readonly audiences?: readonly string[]
  /** Its lifetime in seconds, at least 600; the server may change it. Default: 3600. */
  readonly expirationSeconds?: number
  /** The token becomes invalid when this object is deleted. */
  readonly boundObjectRef?: {
    readonly kind: string
    readonly apiVersion: string
    readonly name: string
    readonly uid?: string
  }
}

/** @internal The subresources with types of their own. All others take and return an object. */
interface Known {
  scale: { body: { readonly spec: { readonly replicas: number } }; answer: Scale }
  eviction: { body: { readonly deleteOptions?: EvictionOptions }; answer: Status }
  token: { body: { readonly spec?: TokenRequestSpec }; answer: TokenRequest }
  binding: {
    body: { readonly target: { readonly apiVersion: 'v1'; readonly kind: 'Node'; readonly name: string } }
    answer: Status
  }
}

/** What an eviction may state: the options of the deletion that it asks for. */
export interface EvictionOptions {
  readonly gracePeriodSeconds?: number
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string }
}

/** The name of a subresource: a known one, or any other. */
// deno-lint-ignore ban-types -- `string & {}` keeps the names above in the editor's completions
export type SubresourceName = keyof Known | (string & {})
/** What is sent to a subresource. */
export type SubresourceBody<N extends SubresourceName, T = unknown> = N extends keyof Known ? Known[N]['body']
  : N extends 'status' ? { readonly status: Part<StatusOf<T>>; readonly [field: string]: unknown }
  : object
/** What a subresource answers with. */
export type SubresourceAnswer<N extends SubresourceName, T = unknown> = N extends keyof Known ? Known[N]['answer']
  : N extends 'status' ? T
  : { readonly [field: string]: unknown }

/** @internal Makes fields optional at any depth; lists stay complete. */
type Part<T> = T extends readonly unknown[] ? T
  : T extends object ? { readonly [K in keyof T]?: Part<T[K]> | undefined }
  : T

/** Subresources whose body has another kind than the object. */
const KIND_OF: Readonly<Record<keyof Known, { readonly apiVersion: string; readonly kind: string }>> = {
  scale: { apiVersion: 'autoscaling/v1', kind: 'Scale' },
  eviction: { apiVersion: 'policy/v1', kind: 'Eviction' },
  token: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest' },
  binding: { apiVersion: 'v1', kind: 'Binding' },
}

/** Returns the body to send, with apiVersion, kind, name and namespace of the target. */
export function subresourceBody({ resource, subresource, ...key }: SubresourceTarget, body: object): object {
  const own = { apiVersion: apiVersionOf(resource), kind: resource.kind }
  const { apiVersion, kind } = Object.hasOwn(KIND_OF, subresource) ? KIND_OF[subresource as keyof Known] : own
  const { metadata, spec } = body as Partial<Scale>
  // The server takes a missing number for 0.
  if (kind === 'Scale' && spec?.replicas === undefined) {
    throw new TypeError(`Cannot scale "${formatKey(key)}": it needs spec.replicas`)
  }
  return { ...body, apiVersion, kind, metadata: { ...metadata, ...keyOf(key) } }
}

export interface SubresourceTarget extends NamedTarget {
  readonly subresource: string
}
