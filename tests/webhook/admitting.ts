/** Sends AdmissionReviews to handlers. */
import assert from 'node:assert/strict'
import * as z from 'zod'
import type { Client } from '../../lib/client/client.ts'
import type { Json } from '../../lib/apiserver/model/json.ts'
import { jsonPatch as apply } from '../../lib/apiserver/patch/json_patch.ts'
import type { Status } from '../../lib/core/errors.ts'
import { parseExact } from '../../lib/core/exact_json.ts'
import type { KubeObject } from '../../lib/core/objects.ts'
import type { ResourceOf } from '../../lib/core/resource.ts'
import type { Log } from '../../lib/observe/log.ts'
import { defineResource } from '../../lib/schema/define_resource.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import type { Admission } from '../../lib/webhook/admission/admission.ts'
import type { AdmissionDependencies } from '../../lib/webhook/admission/admission_dependencies.ts'
import { admissionHandler } from '../../lib/webhook/admission/admission_handler.ts'
import type { AdmissionPhase } from '../../lib/webhook/admission/admission_path.ts'
import type { WebhookHandler } from '../../lib/webhook/common/handler.ts'

export const Site = defineResource({
  group: 'web.example.dev',
  version: 'v1',
  kind: 'Site',
  spec: z.object({
    hosts: z.array(z.string().min(1)).min(1),
    issuer: z.string().optional(),
    tls: z.object({ mode: z.enum(['on', 'off']).default('off') }).prefault({}),
    size: z.int().optional(),
  }),
  status: z.object({ ready: z.boolean() }),
})

export const UID = '705ab4f5-6393-11e8-b7cc-42010a800002'

/** Returns a Site as the API server sends it. */
export function site(spec: object = { hosts: ['a.example'] }, metadata: object = {}, more: object = {}): object {
  return {
    apiVersion: 'web.example.dev/v1',
    kind: 'Site',
    metadata: { name: 'a', namespace: 'default', ...metadata },
    spec,
    ...more,
  }
}

/** Returns a request of an AdmissionReview. */
export function requestOf(fields: object): object {
  return {
    uid: UID,
    kind: { group: 'web.example.dev', version: 'v1', kind: 'Site' },
    resource: { group: 'web.example.dev', version: 'v1', resource: 'sites' },
    name: 'a',
    namespace: 'default',
    operation: 'CREATE',
    userInfo: { username: 'jane', uid: '7', groups: ['devs'], extra: { scopes: ['a', 'b'] } },
    object: null,
    oldObject: null,
    dryRun: false,
    ...fields,
  }
}

export interface Answer {
  readonly http: number
  readonly failed: boolean
  readonly apiVersion: string
  readonly kind: string
  readonly uid: string
  readonly allowed: boolean
  readonly status: Status
  readonly warnings: readonly string[] | undefined
  readonly patchType: string | undefined
  /** The text of the patch. */
  readonly patch: string | undefined
}

export interface Sent {
  readonly contentType?: string
  readonly signal?: AbortSignal
}

/** Sends bytes, or an object as JSON. */
export async function send(handler: WebhookHandler, body: unknown, sent: Sent = {}): Promise<Answer> {
  const { contentType = 'application/json', signal = new AbortController().signal } = sent
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const bytes = body instanceof Uint8Array ? body : new TextEncoder().encode(text)
  const { status: http, body: answer, failed } = await handler({ contentType, body: bytes, signal })
  const { apiVersion, kind, response } = JSON.parse(answer) as {
    readonly apiVersion: string
    readonly kind: string
    readonly response: Pick<Answer, 'uid' | 'allowed' | 'status' | 'warnings' | 'patchType' | 'patch'>
  }
  const { uid, allowed, status, warnings, patchType, patch } = response
  return {
    http,
    failed: failed === true,
    apiVersion,
    kind,
    uid,
    allowed,
    status,
    warnings,
    patchType,
    patch: patch === undefined
      ? undefined
      : new TextDecoder().decode(Uint8Array.from(atob(patch), (c) => c.charCodeAt(0))),
  }
}

/** Asserts fields of an answer; a name that it lacks, such as `code`, is one of its status. */
export function assertAnswer(
  answer: Answer,
  expected: Partial<Answer> & Omit<Partial<Status>, 'status' | 'kind'>,
): void {
  const all: Readonly<Record<string, unknown>> = { ...answer.status, ...answer }
  assert.deepEqual(Object.fromEntries(Object.keys(expected).map((name) => [name, all[name]])), expected)
}

/** Returns an object with an answer's patch. */
export function patched(object: object, { patch }: Answer): unknown {
  return patch === undefined ? object : apply(object as unknown as Json, parseExact(patch) as Json)
}

export function review(fields: object, apiVersion = 'admission.k8s.io/v1'): object {
  return { apiVersion, kind: 'AdmissionReview', request: requestOf(fields) }
}

/** Handlers, and what they log. */
export interface Handlers {
  readonly mutate: WebhookHandler
  readonly validate: WebhookHandler
  readonly lines: string[]
  readonly errors: unknown[]
}

export function handlersFor<T extends KubeObject>(
  resource: ResourceOf<T>,
  admissions: readonly Admission<NoInfer<T>>[],
  more: Partial<AdmissionDependencies> = {},
): Handlers {
  const [lines, errors]: [string[], unknown[]] = [[], []]
  const write = (message: string, fields: object = {}): void => {
    const text = JSON.stringify(fields, (_, value: unknown) => value instanceof Error ? value.stack : value)
    lines.push(`${message} ${text}`)
  }
  const log: Log = { debug: write, info: write, warn: write, error: write }
  const dependencies: AdmissionDependencies = {
    client: () => ({}) as Client,
    clock: new FakeClock(),
    log,
    onFailure: (error) => errors.push(error),
    ...more,
  }
  const handler = (phase: AdmissionPhase): WebhookHandler => admissionHandler(phase, resource, admissions, dependencies)
  return { mutate: handler('mutate'), validate: handler('validate'), lines, errors }
}
