/** Answers AdmissionReviews of one kind with the functions of an operator. */
import { LazyAbort, untilAborted } from '../async/abort.ts'
import { type Clock, nextTurn } from '../async/clock.ts'
import type { Client } from '../client/client.ts'
import { cloneJson, deepFreeze, isFields } from '../core/clone.ts'
import { jsonEqual } from '../core/equal.ts'
import { type ApiError, causesOf, messageOf, type Problem, type Status } from '../core/errors.ts'
import { stringifyExact } from '../core/exact_json.ts'
import { invalidStatus } from '../core/invalid_status.ts'
import { type Draft, formatKey, type KubeObject } from '../core/objects.ts'
import { copyMarks } from '../core/partial.ts'
import { apiVersionOf, type ResourceOf } from '../core/resource.ts'
import { applyDefaults, type DefaultsSchema } from '../core/schema_defaults.ts'
import { type Log, RateLimitedLog, safeLog, withFields } from '../observe/log.ts'
import type { Admission, AdmissionContext, AdmissionProblem, AdmissionRequest, AdmissionUser } from './admission.ts'
import { admissionPath, type AdmissionPhase } from './admission_path.ts'
import { readReview, type Review, type Verdict, writeReview } from './admission_review.ts'
import type { WebhookHandler } from './handler.ts'
import { jsonPatch } from './json_patch.ts'

/** What a handler needs beside the functions. */
export interface AdmissionDependencies {
  /** Returns the client for one call, whose signal ends the client's requests. */
  readonly client: (call: { readonly signal: AbortSignal }) => Client
  readonly clock: Clock
  readonly log: Log
  /** Called with each error of a function that is answered with 500, which is also logged. Must not throw. */
  readonly onFailure?: (error: unknown) => void
  /** Whether to freeze `old` and the objects that `validate` gets. Default: false. */
  readonly freeze?: boolean
}

/**
 * Returns the handler of a kind's path. Several admissions run one after the other: each `default` sees the result of
 * the earlier, and the first denial ends them, with the warnings so far. (controller-runtime loses those.)
 */
export function admissionHandler<T extends KubeObject>(
  phase: AdmissionPhase,
  resource: ResourceOf<T>,
  admissions: readonly Admission<NoInfer<T>>[],
  dependencies: AdmissionDependencies,
): WebhookHandler {
  const shared: Shared<T> = {
    phase,
    resource,
    admissions,
    dependencies: { ...dependencies, log: safeLog(dependencies.log) },
    failures: new RateLimitedLog(dependencies.clock),
    refusals: new RateLimitedLog(dependencies.clock),
    schema: schemaOf(resource),
  }
  return async (request) => {
    const review = readReview(request)
    if ('problem' in review) {
      logRefusal(shared, review.problem)
      return { status: 200, body: writeReview(review, badRequest(review.problem)) }
    }
    const call = new Call(shared, review, request.signal, request.body.length > LARGE_BODY)
    await call.yield()
    const verdict = await call.verdict()
    return { status: 200, body: call.write(verdict), failed: call.hasFailed }
  }
}

interface Shared<T extends KubeObject> {
  readonly phase: AdmissionPhase
  readonly resource: ResourceOf<T>
  readonly admissions: readonly Admission<T>[]
  readonly dependencies: AdmissionDependencies
  /** Lines about functions that failed. */
  readonly failures: RateLimitedLog
  /** Lines about reviews that are not what the API server sends to this path. */
  readonly refusals: RateLimitedLog
  /** Undefined for built-in kinds. */
  readonly schema: DefaultsSchema | undefined
}

type Fields = Record<string, unknown>

/** An object, and the stored one on UPDATE. */
interface Subject {
  readonly operation: AdmissionContext['operation']
  readonly object: Fields
  readonly old: Fields | undefined
  /** The denial of an object that does not fit its schema before `default`. */
  readonly unfit: Verdict | undefined
}

/** Bytes of a review that takes some milliseconds: each step takes about 5 ms for a mebibyte. */
const LARGE_BODY = 2 ** 18

const ALLOWED: Verdict = { allowed: true }

/** One review. */
class Call<T extends KubeObject> {
  hasFailed = false
  readonly #shared: Shared<T>
  readonly #review: Review
  readonly #signal: AbortSignal
  readonly #isLarge: boolean
  readonly #warnings = new Warnings()

  constructor(shared: Shared<T>, review: Review, signal: AbortSignal, isLarge: boolean) {
    this.#shared = shared
    this.#review = review
    this.#signal = signal
    this.#isLarge = isLarge
  }

  /** Lets other work run between the steps of a large review. */
  yield(): Promise<void> | undefined {
    return this.#isLarge ? nextTurn() : undefined
  }

  async verdict(): Promise<Verdict> {
    const ended = new LazyAbort(this.#signal)
    try {
      const subject = subjectOf(this.#shared, this.#review)
      if ('allowed' in subject) {
        if (subject.status?.code === 400) logRefusal(this.#shared, subject.status.message ?? '')
        return subject
      }
      const verdict = await untilAborted(this.#run(subject, this.#context(subject, ended)), this.#signal)
      return { ...verdict, warnings: this.#warnings.texts }
    } catch (error) {
      return { ...this.#denialOf(error), warnings: this.#warnings.texts }
    } finally {
      ended.abort(callEnded())
    }
  }

  write(verdict: Verdict): string {
    try {
      return writeReview(this.#review, verdict)
    } catch (error) {
      // For example the details of an ApiError of the user's, which contain themselves.
      return writeReview(this.#review, this.#failed(error))
    }
  }

  async #run(subject: Subject, context: AdmissionContext<T>): Promise<Verdict> {
    const { phase, resource, admissions } = this.#shared
    const { object } = subject
    if (phase === 'mutate') return await this.#default(subject, context)
    for (const admission of admissions) {
      const problems = problemsFrom(await admission.validate?.(object as object as T, context))
      if (problems.length > 0) return invalid(resource, nameOf(context.request, object), problems)
    }
    return ALLOWED
  }

  async #default({ object: draft, old, unfit }: Subject, context: AdmissionContext<T>): Promise<Verdict> {
    const { resource, admissions } = this.#shared
    for (const admission of admissions) {
      let returned: unknown
      try {
        returned = await admission.default?.(draft as object as Draft<T>, context)
      } catch (error) {
        // Its types promise what the object lacks, so what it lacks is the answer.
        if (!unfit || [...causesOf(error)].some(isApiError)) throw error
        return unfit
      }
      if (isFields(returned) && returned !== draft && 'metadata' in returned) {
        throw new TypeError('default returned another object, which is not used; change the draft that it is given')
      }
    }
    await this.yield()
    const operations = jsonPatch(this.#review.request.object, draft)
    const still = unfit && checked(resource, context.request, JSON.parse(JSON.stringify(draft)) as Fields, old)
    if (still && !still.allowed) return still
    if (operations.length === 0) return ALLOWED
    return { allowed: true, patch: stringifyExact(operations, 'write the JSON Patch', this.#review.whole) }
  }

  #context({ operation, object, old }: Subject, ended: LazyAbort): AdmissionContext<T> {
    const { dependencies, resource } = this.#shared
    const { request } = this.#review
    const name = nameOf(request, object)
    const { clock } = dependencies
    const user = userOf(request.userInfo)
    let [client, log]: [Client | undefined, Log | undefined] = [undefined, undefined]
    return {
      operation,
      old: old as T | undefined,
      name: name || undefined,
      namespace: textOf(request.namespace) || undefined,
      subresource: textOf(request.subResource),
      dryRun: request.dryRun === true,
      user,
      request,
      warn: (message) => this.#warnings.add(message),
      clock,
      get client() {
        return (client ??= dependencies.client(ended))
      },
      get log() {
        return (log ??= withFields(dependencies.log, {
          kind: resource.kind,
          object: formatKey({ namespace: textOf(request.namespace), name }),
          operation,
          user: user.username,
          request: request.uid,
        }))
      },
      get signal() {
        return ended.signal
      },
    }
  }

  #denialOf(error: unknown): Verdict {
    if (this.#signal.aborted) {
      const why = `Cannot ${this.#action}: the API server stopped waiting, or the webhook server stops`
      logRefusal(this.#shared, why)
      return denied(504, 'Timeout', why)
    }
    for (const at of causesOf(error)) {
      if (!isApiError(at)) continue
      // It may be a refusal of the function's own request, which is no fault of the user's.
      logRefusal(this.#shared, `${this.#action} threw an ApiError, which is the answer: ${at.message}`)
      return answerOf(at)
    }
    return this.#failed(error)
  }

  /** Reports a fault of a function, which is not a denial. */
  #failed(error: unknown): Verdict {
    const { dependencies, failures, resource } = this.#shared
    this.hasFailed = true
    const action = this.#action
    failures.line((more) => dependencies.log.error(`Cannot ${action}${more}: ${messageOf(error)}`, { error }))
    dependencies.onFailure?.(error)
    // A syntax error of JSON.parse quotes its text. Any error about a Secret may quote it.
    const isSecret = error instanceof SyntaxError || (resource.kind === 'Secret' && resource.group === '')
    const message = isSecret ? `its function failed; see the operator's log` : shortened(messageOf(error))
    return denied(500, 'InternalError', `Cannot ${action}: ${message}`)
  }

  get #action(): string {
    const { phase, resource } = this.#shared
    const { request } = this.#review
    const name = nameOf(request, request.object)
    const verb = phase === 'mutate' ? 'default' : 'validate'
    return `${verb} ${resource.kind} "${formatKey({ namespace: textOf(request.namespace), name })}"`
  }
}

function logRefusal<T extends KubeObject>(shared: Shared<T>, problem: string): void {
  const { phase, resource, dependencies, refusals } = shared
  refusals.line((more) => dependencies.log.warn(`${problem}${more}`, { path: admissionPath(phase, resource) }))
}

/** Decides whether the functions are called, and prepares what they get. */
function subjectOf<T extends KubeObject>(
  { phase, resource, schema, dependencies: { freeze = false } }: Shared<T>,
  { request, whole }: Review,
): Verdict | Subject {
  const operation: string = textOf(request.operation)
  if (phase === 'mutate' && operation === 'DELETE') return ALLOWED
  if (operation !== 'CREATE' && operation !== 'UPDATE' && operation !== 'DELETE') {
    return badRequest(
      `Cannot admit ${resource.kind}: the operation is ${JSON.stringify(operation)}, and must be CREATE, UPDATE or ` +
        "DELETE; mend the webhook configuration's rules",
    )
  }
  const [given, before] = operation === 'DELETE' ? [request.oldObject] : [request.object, request.oldObject]
  const mismatch = mismatchOf(resource, given, operation === 'DELETE' ? 'oldObject' : 'object') ??
    (operation === 'UPDATE' ? mismatchOf(resource, before, 'oldObject') : undefined)
  // With subresources: ['*'] the API server also sends objects of other kinds, such as a Scale.
  if (mismatch && request.subResource) return ALLOWED
  if (mismatch) return badRequest(`Cannot admit ${resource.kind}: ${mismatch}`)
  const old = operation === 'UPDATE' ? before as Fields : undefined
  // The JSON Patch is made from the object of the request, so a draft is a copy.
  const object = phase === 'mutate' ? cloneJson(given as Fields) : given as Fields
  for (const each of old ? [object, old] : [object]) {
    if (schema) applyDefaults(schema, each)
    copyMarks(whole, each)
  }
  const settled = operation === 'DELETE' ? undefined : checked(resource, request, object, old)
  // The API server checks the schema after `default`, too, which may fill in a required field.
  if (settled && (settled.allowed || phase === 'validate')) return settled
  if (freeze && phase === 'validate') deepFreeze(object)
  if (freeze) deepFreeze(old)
  return { operation, object, old, unfit: settled }
}

/** Returns why an object is not one of the kind, or undefined. */
function mismatchOf(resource: ResourceOf<KubeObject>, object: unknown, field: string): string | undefined {
  if (!isFields(object) || !isFields(object['metadata'])) return `the review's ${field} is not an object with metadata`
  const { apiVersion, kind } = object
  if (apiVersion === apiVersionOf(resource) && kind === resource.kind) return undefined
  const given = `${textOf(kind) || 'an object without a kind'} of ${textOf(apiVersion)}`
  const path = `${resource.kind} of ${apiVersionOf(resource)}`
  return `the review's ${field} is ${given}, but this path is for ${path}; mend the webhook configuration's rules`
}

/** Returns the verdict on a created or updated object for which no function is called, or undefined. */
function checked(
  resource: ResourceOf<KubeObject>,
  request: AdmissionRequest,
  object: Fields,
  old: Fields | undefined,
): Verdict | undefined {
  const part = request.subResource === 'status' ? 'status' : 'spec'
  const isInDeletion = isFields(old?.['metadata']) && Boolean(old['metadata']['deletionTimestamp'])
  if (isInDeletion && isUnchanged(object, old, part === 'status' ? IDENTITY : MAIN_IGNORED)) return ALLOWED
  // Refinements are rules of validation: a default may be what makes an object fulfil them.
  const problemsOf = (stored?: Fields): readonly Problem[] =>
    resource.definition?.validate(object, { refinements: false, old: stored })
      .filter(({ field }) => field.split(/[.[]/, 1)[0] === part) ?? []
  if (problemsOf().length === 0) return undefined
  if (old && jsonEqual(object[part], old[part])) return ALLOWED
  const problems = problemsOf(old)
  return problems.length === 0 ? undefined : invalid(resource, nameOf(request, object), problems)
}

const IDENTITY: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata'])
/** The status is not written through the main resource. */
const MAIN_IGNORED: ReadonlySet<string> = new Set([...IDENTITY, 'status'])

function isUnchanged(object: Fields, old: Fields | undefined, ignored: ReadonlySet<string>): boolean {
  const names = new Set([...Object.keys(object), ...Object.keys(old ?? {})])
  return [...names].every((name) => ignored.has(name) || jsonEqual(object[name], old?.[name]))
}

function schemaOf({ version, definition }: ResourceOf<KubeObject>): DefaultsSchema | undefined {
  return definition?.crd.spec.versions.find(({ name }) => name === version)?.schema.openAPIV3Schema as DefaultsSchema
}

/** Checks what `validate` returned. */
function problemsFrom(answer: unknown): readonly AdmissionProblem[] {
  if (answer === undefined || answer === null || answer === false) return []
  const expected = 'return a list of { field, message }, or nothing'
  if (!Array.isArray(answer)) throw new TypeError(`validate returned a value of type ${typeof answer}; ${expected}`)
  const isProblem = (each: unknown): boolean =>
    isFields(each) && typeof each['field'] === 'string' && typeof each['message'] === 'string'
  if (!answer.every(isProblem)) {
    throw new TypeError(`validate returned a list with an item that is no problem; ${expected}`)
  }
  return answer as readonly AdmissionProblem[]
}

/** More problems are counted in the message: an object of 3 MiB may have a hundred thousand. */
const MAX_CAUSES = 100

function invalid(
  resource: ResourceOf<KubeObject>,
  name: string,
  problems: readonly AdmissionProblem[],
): Verdict {
  const causes = problems.slice(0, MAX_CAUSES)
    .map(({ field, message, reason = 'FieldValueInvalid' }) => ({ reason, field, message }))
  const { message, ...status } = invalidStatus(resource, name, causes)
  const more = problems.length > MAX_CAUSES ? ` (and ${problems.length - MAX_CAUSES} more)` : ''
  return { allowed: false, status: { ...status, message: message + more } }
}

/** Compares names and fields: an operator's errors are of the class in mod.js; this file is in another bundle. */
function isApiError(error: unknown): error is ApiError {
  if (!(error instanceof Error) || error.name !== 'ApiError') return false
  const { code, status } = error as Partial<ApiError>
  return typeof code === 'number' && isFields(status)
}

/** Returns an ApiError as it is. */
function answerOf({ status, code, reason, message }: ApiError): Verdict {
  const { details } = status
  // The API server reads a lower code as 400.
  return denied(Math.max(400, code), reason, status.message || message, details)
}

function badRequest(message: string): Verdict {
  return denied(400, 'BadRequest', message)
}

function denied(code: number, reason: string, message: string, details?: Status['details']): Verdict {
  const status = { kind: 'Status', status: 'Failure', message, ...(reason && { reason }), ...(details && { details }) }
  return { allowed: false, status: { ...status, code } }
}

/** Characters of an error's message in a response. */
const MAX_MESSAGE = 1000

function shortened(message: string): string {
  return message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE)}…` : message
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function nameOf(request: AdmissionRequest, object: unknown): string {
  const metadata = isFields(object) ? object['metadata'] : undefined
  return textOf(request.name) || (isFields(metadata) ? textOf(metadata['name']) : '')
}

function userOf(info: unknown): AdmissionUser {
  const { username, uid, groups, extra } = isFields(info) ? info : {}
  return {
    username: textOf(username),
    uid: textOf(uid),
    groups: Array.isArray(groups) ? groups as string[] : [],
    extra: isFields(extra) ? extra as Record<string, string[]> : {},
  }
}

/** The API server's limits in characters: of all texts, and of each if all exceed theirs. */
const MAX_WARNINGS_TEXT = 4096
const MAX_CUT_WARNING = 256

/** Keeps the warnings that the API server may send. */
class Warnings {
  readonly #texts = new Set<string>()
  #shown = 0

  get texts(): readonly string[] {
    return [...this.#texts]
  }

  add(message: unknown): void {
    const text = String(message).slice(0, MAX_WARNINGS_TEXT)
    if (text === '' || this.#shown >= MAX_WARNINGS_TEXT || this.#texts.has(text)) return
    this.#texts.add(text)
    this.#shown += Math.min(text.length, MAX_CUT_WARNING)
  }
}

let ended: DOMException | undefined

/** Shared by all calls, because creating one is slow. */
function callEnded(): DOMException {
  return (ended ??= new DOMException('The call has ended', 'AbortError'))
}
