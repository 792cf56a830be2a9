/** Admits objects in memory, through the AdmissionReviews that the API server would send. */
import type { Client } from 'kubeloop'
import { internals, type Json } from 'kubeloop/apiserver'
import { type Clock, systemClock } from '../async/clock.ts'
import { decodeBase64 } from '../config/pem.ts'
import { parseExact } from '../core/exact_json.ts'
import type { KubeObject } from '../core/objects.ts'
import { apiVersionOf, type Resource } from '../core/resource.ts'
import { type Log, silentLog } from '../observe/log.ts'
import type { Admission, AdmissionRequest, AdmissionUser } from '../webhook/admission/admission.ts'
import { admissionHandler } from '../webhook/admission/admission_handler.ts'
import type { AdmissionPhase } from '../webhook/admission/admission_path.ts'
import type { Status } from '../core/errors.ts'

/** The request around an object that {@link admit} admits. */
export interface AdmitOptions {
  /** Default: `UPDATE` if there is an old object, else `CREATE`. */
  readonly operation?: 'CREATE' | 'UPDATE' | 'DELETE'
  /** The stored object, for an UPDATE. For a DELETE, the object itself is the stored one. */
  readonly old?: object
  /** Default: `kubernetes-admin` of the group `system:masters`. */
  readonly user?: Partial<AdmissionUser>
  /** Default: the object itself. */
  readonly subresource?: string
  /** Default: false. */
  readonly dryRun?: boolean
  /** The CreateOptions, UpdateOptions or DeleteOptions. Default: none. */
  readonly options?: object
  /** The client of the functions. Default: one that throws a TypeError when it is used. */
  readonly client?: Client
  /** Default: the real clock. */
  readonly clock?: Clock
  /** Default: a silent log. */
  readonly log?: Log
  /** Stands for the time limit of the API server. Default: none. */
  readonly signal?: AbortSignal
  /** Version of the reviews. Default: `v1`. */
  readonly version?: 'v1' | 'v1beta1'
}

/** What became of an object. */
export interface Admitted<T> {
  readonly allowed: boolean
  /** The object after `default`; the given one if that denied it. For a DELETE, the deleted object. */
  readonly object: T
  /** The texts of `default` and `validate`, in order. */
  readonly warnings: readonly string[]
  /** 200 if allowed. */
  readonly code: number
  /** Why it was denied; empty if allowed. */
  readonly message: string
  /** The invalid fields of a denial. */
  readonly causes: readonly { readonly field: string; readonly message: string; readonly reason: string }[]
  /** What a function threw, other than an ApiError. Then the code is 500. */
  readonly error?: unknown
}

/**
 * Calls `default` and then `validate` of the admissions with an object, as the API server does, and resolves with the
 * result. The objects pass through the bytes of AdmissionReviews. Between the two, a server would check the schema.
 * What the functions must not change is frozen.
 *
 * @example
 * ```ts
 * import assert from 'node:assert/strict'
 * import type { Admission, ObjectOf } from 'kubeloop'
 * import { ConfigMap } from 'kubeloop/kinds'
 * import { admit } from 'kubeloop/testing'
 * const admission: Admission<ObjectOf<typeof ConfigMap>> = {
 *   validate: ({ data }) => data?.['mode'] ? [] : [{ field: 'data.mode', message: 'is missing' }],
 * }
 * const { allowed, causes } = await admit(ConfigMap, admission, { metadata: { name: 'a', namespace: 'default' } })
 * assert.deepEqual([allowed, causes[0]?.field], [false, 'data.mode'])
 * ```
 */
export async function admit<T extends KubeObject, D>(
  resource: Resource<T, D>,
  admissions: Admission<NoInfer<T>> | readonly Admission<NoInfer<T>>[],
  object: NoInfer<D> | NoInfer<T>,
  options: AdmitOptions = {},
): Promise<Admitted<T>> {
  const all = Array.isArray(admissions) ? admissions as readonly Admission<T>[] : [admissions as Admission<T>]
  const warnings: string[] = []
  let admitted: Json = complete(resource, object as object)
  for (const phase of ['mutate', 'validate'] as const) {
    const { response, error } = await answer(phase, resource, all, admitted, options)
    for (const text of response.warnings ?? []) if (!warnings.includes(text)) warnings.push(text)
    if (response.patch) {
      admitted = internals.jsonPatch(admitted, parseExact(decodeBase64(response.patch, Error)) as Json)
    }
    const { code = 200, message = '', details } = response.status ?? {}
    if (response.allowed && phase === 'mutate') continue
    const causes = (details?.causes ?? []).map(({ field = '', message = '', reason = '' }) => ({
      field,
      message,
      reason,
    }))
    const result = { allowed: response.allowed, object: admitted as unknown as T, warnings, code, message, causes }
    return error === undefined ? result : { ...result, error: error.thrown }
  }
  throw new Error('unreachable')
}

interface Response {
  readonly uid: string
  readonly allowed: boolean
  readonly status?: Status
  readonly warnings?: readonly string[]
  readonly patch?: string
}

async function answer<T extends KubeObject>(
  phase: AdmissionPhase,
  resource: Resource<T>,
  admissions: readonly Admission<T>[],
  object: Json,
  options: AdmitOptions,
): Promise<{ readonly response: Response; readonly error: { readonly thrown: unknown } | undefined }> {
  const { client, clock = systemClock, log = silentLog, signal = new AbortController().signal } = options
  let error: { readonly thrown: unknown } | undefined
  const handler = admissionHandler(phase, resource, admissions, {
    client: () => client ?? MISSING_CLIENT,
    clock,
    log,
    onFailure: (thrown) => (error = { thrown }),
    freeze: true,
  })
  const apiVersion = `admission.k8s.io/${options.version ?? 'v1'}`
  const review = { apiVersion, kind: 'AdmissionReview', request: requestOf(resource, object, options) }
  const body = new TextEncoder().encode(JSON.stringify(review))
  const { body: text } = await handler({ contentType: 'application/json', body, signal })
  return { response: (JSON.parse(text) as { readonly response: Response }).response, error }
}

function requestOf(resource: Resource, object: Json, options: AdmitOptions): AdmissionRequest {
  const { group, version, kind, plural } = resource
  const { old, operation = old ? 'UPDATE' : 'CREATE', user, subresource = '', dryRun = false } = options
  const { name, namespace } = (object as { readonly metadata?: Partial<KubeObject['metadata']> }).metadata ?? {}
  return {
    uid: '705ab4f5-6393-11e8-b7cc-42010a800002',
    kind: { group, version, kind },
    resource: { group, version, resource: plural },
    ...(subresource && { subResource: subresource }),
    ...(name && { name }),
    ...(namespace && { namespace }),
    operation,
    userInfo: { username: 'kubernetes-admin', groups: ['system:masters', 'system:authenticated'], ...user },
    object: operation === 'DELETE' ? null : object,
    oldObject: operation === 'DELETE' ? object : old ? complete(resource, old) : null,
    dryRun,
    ...(options.options && { options: options.options }),
  }
}

/** Fills in what a typed object may lack. */
function complete(resource: Resource, object: object): Json {
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata: {}, ...object } as unknown as Json
}

/** Throws when it is used, not when it is read: a function takes it from its context with everything else. */
const MISSING_CLIENT = new Proxy({}, {
  get() {
    throw new TypeError('Cannot use the client: admit() was called without one; give it { client }')
  },
}) as Client
