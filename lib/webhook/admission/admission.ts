/** The functions of an operator that default and validate objects before the API server stores them. */
import type { Clock } from '../../async/clock.ts'
import type { Client } from '../../client/client.ts'
import type { Problem } from '../../core/errors.ts'
import type { Draft, KubeObject } from '../../core/objects.ts'
import type { Log } from '../../observe/log.ts'

/**
 * What admission does with the objects of a kind. The API server calls it for each matching write, before it stores
 * anything; it calls `default` first, then checks the schema, then calls `validate`.
 *
 * - Objects of a kind made by `defineResource` reach the functions with the defaults of its schema. An object that its
 *   schema refuses after `default` is denied with the schema's problems; for built-in kinds there is no such check.
 *   So `default` may get an object without required fields. If it throws for one, the problems are the answer.
 * - The part that the request writes is checked: `spec`, or `status` for the subresource. An update that does not
 *   change an invalid part is allowed without a call, so that a stored object that an earlier schema accepted can lose
 *   its finalizers. Nor does an unchanged field that breaks a limit (a size, a pattern, a format) deny an update.
 *   `old`, and the object of a DELETE, are as they were stored, and are not checked.
 * - An update of an object in deletion that changes only metadata is allowed without a call, so that no rule can keep
 *   the object from going. (controller-runtime calls the functions.)
 * - CONNECT, which no admission can declare, is denied.
 * - A thrown `ApiError` is the answer. Anything else that is thrown is a fault of the function: the answer is 500, the
 *   error is logged and counted. (controller-runtime answers 403 for an error, and 500 for a panic.)
 *
 * @example
 * ```ts
 * import { type Admission, defineResource, type ObjectOf } from 'kubeloop'
 * import * as z from 'zod'
 * const Site = defineResource({
 *   group: 'web.example.dev', version: 'v1', kind: 'Site',
 *   spec: z.object({ hosts: z.array(z.string()), issuer: z.string().optional() }),
 * })
 * export const admission: Admission<ObjectOf<typeof Site>> = {
 *   default(site) {
 *     site.spec.issuer ??= 'letsencrypt'
 *   },
 *   validate(site, { old, warn }) {
 *     if (old && site.spec.issuer !== old.spec.issuer) warn('the certificates will be issued again')
 *     return site.spec.hosts.flatMap((host, i) =>
 *       host.includes('_') ? [{ field: `spec.hosts[${i}]`, message: `"${host}" has an underscore` }] : []
 *     )
 *   },
 * }
 * ```
 */
export interface Admission<T extends KubeObject> {
  /**
   * Changes the draft of an object that is created or updated. The change is sent as a JSON Patch against the object of
   * the request, so fields that the schema does not know are kept. Not called for DELETE. The API server may call it
   * several times for one write: called with its own result, it must change nothing. An integer beyond 2^53 that equals
   * one of the object, as JavaScript has it, is taken for a copy, and written as that was read.
   *
   * On CREATE the metadata has no `uid`, `resourceVersion` and `creationTimestamp` yet, and no `name` if the API server
   * generates it. (`validate` gets them, except `resourceVersion`.)
   *
   * @throws TypeError (a 500 result) if it returns another object: what counts is the draft.
   */
  default?(draft: Draft<T>, context: AdmissionContext<T>): unknown
  /**
   * Returns the problems of an object that is created, updated or deleted. With at least one the write is denied:
   * `422 Invalid`, with a cause for each. Nothing, or an empty list, allows it. The object must not be changed. For
   * another answer, such as 403, throw an `ApiError`.
   */
  validate?(object: T, context: AdmissionContext<T>): AdmissionAnswer | Promise<AdmissionAnswer>
}

/** What {@link Admission.validate} returns. */
export type AdmissionAnswer = readonly AdmissionProblem[] | false | null | undefined | void

/** A field and what is wrong with it. kubectl prints `spec.hosts[0]: the message`. */
export interface AdmissionProblem extends Problem {
  /** The reason of the cause in the response. Default: `FieldValueInvalid`. */
  readonly reason?:
    | 'FieldValueDuplicate'
    | 'FieldValueForbidden'
    | 'FieldValueInvalid'
    | 'FieldValueNotFound'
    | 'FieldValueNotSupported'
    | 'FieldValueRequired'
    | 'FieldValueTooLong'
    | 'FieldValueTooMany'
    | 'FieldValueTypeInvalid'
    // deno-lint-ignore ban-types -- `string & {}` keeps the names above in the editor's completions
    | (string & {})
}

/** What is known about a request beside its object. */
export interface AdmissionContext<T extends KubeObject = KubeObject> {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE'
  /** The stored object, on UPDATE. Undefined on CREATE, and on DELETE, whose object is the stored one. */
  readonly old: T | undefined
  /** The name; undefined for `default` if the API server will generate it. */
  readonly name: string | undefined
  /** Undefined for a cluster-scoped kind. */
  readonly namespace: string | undefined
  /** The subresource that is written, such as `status`; empty for the object itself. */
  readonly subresource: string
  /** Whether nothing will be stored: then there must be no side effects. */
  readonly dryRun: boolean
  readonly user: AdmissionUser
  /** The whole request. For `validate`, its objects have the schema's defaults, too. */
  readonly request: AdmissionRequest
  /**
   * Adds a warning for the user, which kubectl prints. It is sent with an approval and with a denial. The API server
   * ignores repeated texts. If all together have more than 4,096 characters, it cuts each to 256, and drops what then
   * exceeds 4,096.
   */
  warn(message: string): void
  /** Its calls end with this one. */
  readonly client: Client
  readonly clock: Clock
  /** Adds the object, the operation and the user to each line. */
  readonly log: Log
  /**
   * Aborted when the API server stops waiting (its timeout, 10 s by default, or a lost connection), when the webhook
   * server stops, and when the call has ended.
   */
  readonly signal: AbortSignal
}

/** The user whose request is admitted. A field is empty if the API server sent none. */
export interface AdmissionUser {
  readonly username: string
  readonly uid: string
  readonly groups: readonly string[]
  readonly extra: Readonly<Record<string, readonly string[]>>
}

/** A kind, as an {@link AdmissionRequest} names it. */
export interface AdmissionKind {
  /** Empty for the core group. */
  readonly group: string
  readonly version: string
  readonly kind: string
}

/** A resource, as an {@link AdmissionRequest} names it. */
export interface AdmissionResource {
  /** Empty for the core group. */
  readonly group: string
  readonly version: string
  /** The plural, such as `deployments`. */
  readonly resource: string
}

/**
 * The request of an AdmissionReview. Fields are not checked before the functions are called, except those that they
 * get through the context.
 *
 * @see https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#request
 */
export interface AdmissionRequest {
  readonly uid: string
  /** The kind of the object, after conversion to the version that the webhook's rule names. */
  readonly kind: AdmissionKind
  readonly resource: AdmissionResource
  readonly subResource?: string
  /** The kind of the user's request, which may have another version. */
  readonly requestKind?: AdmissionKind
  readonly requestResource?: AdmissionResource
  readonly requestSubResource?: string
  readonly name?: string
  readonly namespace?: string
  readonly operation: string
  readonly userInfo: {
    readonly username?: string
    readonly uid?: string
    readonly groups?: readonly string[]
    readonly extra?: Readonly<Record<string, readonly string[]>>
  }
  readonly object?: unknown
  readonly oldObject?: unknown
  readonly dryRun?: boolean
  /** CreateOptions, UpdateOptions or DeleteOptions of the user's request. */
  readonly options?: unknown
}
