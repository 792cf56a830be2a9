/** Answers AdmissionReviews of one kind with the functions of an operator. */
import { isFields } from '../../core/clone.ts'
import { type ApiError, causesOf, messageOf } from '../../core/errors.ts'
import { stringifyExact } from '../../core/exact_json.ts'
import { type Draft, formatKey, type KubeObject } from '../../core/objects.ts'
import type { ResourceOf } from '../../core/resource.ts'
import type { DefaultsSchema } from '../../core/schema_defaults.ts'
import { LazyAbort, untilAborted } from '../../async/abort.ts'
import { nextTurn } from '../../async/clock.ts'
import { type Log, RateLimitedLog, safeLog, withFields } from '../../observe/log.ts'
import type { Client } from '../../client/client.ts'
import type { Admission, AdmissionContext, AdmissionProblem, AdmissionUser } from './admission.ts'
import type { AdmissionDependencies } from './admission_dependencies.ts'
import { admissionPath, type AdmissionPhase } from './admission_path.ts'
import { readReview, type Review, type Verdict, writeReview } from './admission_review.ts'
import { ALLOWED, checked, type Fields, type Shared, type Subject, subjectOf } from './admission_subject.ts'
import { badRequest, denied, invalid, nameOf, textOf } from './admission_verdict.ts'
import type { WebhookHandler } from '../common/handler.ts'
import { jsonPatch } from './json_patch.ts'

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

/** Bytes of a review that takes some milliseconds: each step takes about 5 ms for a mebibyte. */
const LARGE_BODY = 2 ** 18

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
      ended.end()
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

/** Characters of an error's message in a response. */
const MAX_MESSAGE = 1000

function shortened(message: string): string {
  return message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE)}…` : message
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
