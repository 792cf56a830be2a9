/** Admits writes: finds the webhooks of a request and calls them, first the mutating ones, then the validating ones. */
import { jsonEqual } from '../../core/equal.ts'
import { celEngine } from '../cel/load.ts'
import { type Context, decodeObject, type KindRequest, setDefaults } from '../context/context.ts'
import {
  type ApiObject,
  clone,
  isObject,
  type Json,
  type JsonObject,
  type ManagedFieldsEntry,
  newUid,
} from '../model/json.ts'
import { unregistered } from '../model/go_text.ts'
import { type Kind } from '../model/kinds.ts'
import { routeOf } from '../model/routes.ts'
import { badRequest, fault, forbidden, internal, invalid, StatusError } from '../model/status.ts'
import { jsonPatch } from '../patch/json_patch.ts'
import { CallError } from '../webhooks/call.ts'
import type { Session } from '../webhooks/session.ts'
import { readOptions } from '../wire/body.ts'
import { type Hook, hooksOf, isExempt, MUTATING, targetOf, VALIDATING } from './hooks.ts'
import { checkPolicies, policiesOf, type PolicyRequest } from './policies.ts'
import {
  type Admission,
  type AdmissionResponse,
  admissionResponse,
  admissionReview,
  denial,
  reviewOptions,
} from './review.ts'

/** What identifies a write among those of a session, and the state that it starts from. */
function stepOf({ operation, old }: Admission): [subject: string, version: string] {
  // Only the deletion of a collection writes more than one object.
  return [operation === 'DELETE' ? old!.metadata.uid! : operation, old?.metadata.resourceVersion ?? '']
}

/**
 * Returns the object after all mutating webhooks. Suspends the request if any of them matches; without a match, and
 * for writes of the server itself, the object is returned as it is.
 *
 * `prepare` sets the managedFields, which the webhooks see. Changes of a webhook are not in them.
 */
export function mutated(context: Context, admission: Admission, prepare: (object: ApiObject) => void): ApiObject {
  const { object } = admission
  const session = context.webhooks.current
  if (!session?.call || isExempt(admission.kind)) return object!
  const hooks = hooksOf(context, MUTATING)
  if (!hooks.some((hook) => targetOf(context, hook, admission))) return object!
  const result = session.step(...stepOf(admission), 'mutate', async (warnings) => {
    const sent = object && clone(object)
    if (sent) prepare(sent)
    const changed = await dispatchMutating(context, session, { ...admission, object: sent }, hooks, warnings)
    if (sent && changed) checkMutated(admission, sent, changed, warnings)
    return changed
  })
  return clone(result)!
}

/** Throws if webhooks have changed the identity of an object; restores managedFields that they have broken. */
function checkMutated(
  { kind, operation, namespace }: Admission,
  sent: ApiObject,
  object: ApiObject,
  warnings: string[],
): void {
  const { metadata } = object
  if (kind.namespaced && metadata.namespace !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  }
  if (operation === 'UPDATE' && metadata.name !== sent.metadata.name) {
    throw invalid(kind, metadata.name ?? '', [fault.invalid('metadata.name', metadata.name, 'field is immutable')])
  }
  const problem = managedFieldsProblem(metadata.managedFields)
  if (problem === undefined) return
  warnings.push(
    '.metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating ' +
      `admission controller; please fix your requests: ${problem}`,
  )
  metadata.managedFields = clone(sent.metadata.managedFields as unknown as Json) as unknown as ManagedFieldsEntry[]
}

function managedFieldsProblem(entries: readonly ManagedFieldsEntry[] | undefined): string | undefined {
  for (const { operation, fieldsType } of entries ?? []) {
    if (operation !== 'Apply' && operation !== 'Update') return 'operation must be `Apply` or `Update`'
    if (fieldsType !== 'FieldsV1') return 'fieldsType must be `FieldsV1`'
  }
  return undefined
}

/** Calls the matching mutating webhooks in order; those with `IfNeeded` again if a later one has changed the object. */
async function dispatchMutating(
  context: Context,
  session: Session,
  admission: Admission,
  hooks: readonly Hook[],
  warnings: string[],
): Promise<ApiObject | undefined> {
  let { object } = admission
  let at = admission.kind
  const reinvocable = new Set<Hook>()
  const again = new Set<Hook>()
  let isChanged = false
  for (const isReinvocation of [false, true]) {
    if (isReinvocation && !isChanged) break
    for (const hook of hooks) {
      const target = targetOf(context, hook, { ...admission, object })
      if (!target || (isReinvocation && !again.has(hook))) continue
      object = await converted(object, at, target, admission)
      at = target
      const before = object
      await ignoring(context, hook, async () => {
        const response = await callHook(context, session, hook, target, { ...admission, object }, true)
        if (!response) return
        warnings.push(...response.warnings)
        if (!response.allowed) throw denial(hook.name, response.status)
        object = patched(hook, response, object, target, admission)
      })
      if (object !== before && !jsonEqual(object, before)) {
        isChanged = true
        for (const each of reinvocable) again.add(each)
      }
      if (hook.reinvocationPolicy === 'IfNeeded') reinvocable.add(hook)
    }
  }
  return converted(object, at, admission.kind, admission)
}

/** Runs a call. If the webhook could not be called, logs it for `failurePolicy: Ignore`, otherwise throws a 500. */
async function ignoring(context: Context, hook: Hook, call: () => Promise<void>): Promise<void> {
  try {
    await call()
  } catch (error) {
    if (!(error instanceof CallError)) throw error
    const message = `failed calling webhook ${JSON.stringify(hook.name)}: ${error.message}`
    if (hook.failurePolicy !== 'Ignore') throw internal(message)
    context.log.warn('Ignoring a webhook that could not be called', { webhook: hook.name, error })
  }
}

/** Converts an object of a review to an equivalent kind. */
async function converted(
  object: ApiObject | undefined,
  from: Kind,
  to: Kind,
  { objectKind }: Admission,
): Promise<ApiObject | undefined> {
  if (!object || from === to || objectKind) return object
  if (to.rules.convert) return (await to.rules.convert([object], to.apiVersion))[0]
  const stored = from.rules.toStored ? from.rules.toStored(object) : object
  return { ...(to.rules.fromStored && !to.custom ? to.rules.fromStored(stored) : stored), apiVersion: to.apiVersion }
}

/** Returns the review of a request, whose object has been converted to the target. */
async function reviewOf(session: Session, target: Kind, admission: Admission, uid: string): Promise<JsonObject> {
  const { kind, object, old, operation } = admission
  const call = session.call!
  const options = reviewOptions(admission, call, operation === 'DELETE' ? readOptions(call) : {})
  const oldObject = await converted(old, kind, target, admission)
  return admissionReview(uid, admission, target, object, oldObject, options, call.user)
}

/** Calls a webhook. Returns undefined if the request does not meet its conditions. */
async function callHook(
  context: Context,
  session: Session,
  hook: Hook,
  target: Kind,
  admission: Admission,
  mutating: boolean,
): Promise<AdmissionResponse | undefined> {
  const { dryRun } = admission
  const uid = newUid(context.random)
  const review = await reviewOf(session, target, admission, uid)
  if (!meetsConditions(hook, admission, review['request'] as JsonObject)) {
    return undefined
  }
  if (dryRun && hook.sideEffects !== 'None' && hook.sideEffects !== 'NoneOnDryRun') {
    throw badRequest(`admission webhook ${JSON.stringify(hook.name)} does not support dry run`)
  }
  if (!hook.admissionReviewVersions.includes('v1')) {
    throw new CallError('could not create admission objects: the embedded API sends AdmissionReview v1 only')
  }
  const answer = await post(context, hook, review, session.signal)
  return admissionResponse(answer, uid, mutating)
}

/**
 * Returns whether a request meets all conditions of a webhook.
 *
 * @throws StatusError 403 if a condition fails, none is false, and the policy is `Fail`.
 */
function meetsConditions(
  { matchConditions = [], failurePolicy }: Hook,
  { kind, name }: Admission,
  { object = null, oldObject = null, ...request }: JsonObject,
): boolean {
  if (matchConditions.length === 0) return true
  const expressions = matchConditions.map(({ expression }) => expression.trim())
  const result = celEngine().evaluateConditions(expressions, { object, oldObject, request })
  if (typeof result === 'boolean') return result
  if (failurePolicy === 'Ignore') return false
  throw forbidden(kind, name, result.length === 1 ? result[0]! : `[${result.join(', ')}]`)
}

async function post(
  context: Context,
  hook: Hook,
  review: JsonObject,
  signal: AbortSignal | undefined,
): Promise<JsonObject> {
  try {
    return await context.webhooks.post(hook.clientConfig, review, hook.timeoutSeconds * 1000, signal)
  } catch (error) {
    throw error instanceof CallError
      ? new CallError(`failed to call webhook: ${error.message}`, { cause: error })
      : error
  }
}

/** Returns the object with the patch of a response, decoded and with defaults. */
function patched(
  hook: Hook,
  { patch, patchType }: AdmissionResponse,
  object: ApiObject | undefined,
  kind: Kind,
  { objectKind }: Admission,
): ApiObject | undefined {
  if (patch === undefined) return object
  const operations = parsePatch(patch)
  if (operations.length === 0) return object
  if (!object) {
    const name = JSON.stringify(hook.name)
    throw internal(
      `admission webhook ${name} attempted to modify the object, which is not supported for this operation`,
    )
  }
  if (patchType !== 'JSONPatch') throw new CallError(`unsupported patch type ${JSON.stringify(patchType)}`)
  try {
    const result = jsonPatch(object, operations)
    if (!isObject(result)) throw internal('the patched document is not an object')
    if (result['apiVersion'] !== object.apiVersion || result['kind'] !== object.kind) {
      const { apiVersion, kind: given } = result
      throw internal(unregistered(given, apiVersion))
    }
    if (objectKind) return result as ApiObject
    const { object: decoded } = decodeObject(kind, result)
    setDefaults(kind, decoded)
    return decoded
  } catch (error) {
    if (!(error instanceof StatusError) || error.code === 500) throw error
    const reason = error.cause instanceof Error ? error.cause.message : error.message
    throw internal(reason.replace(/^.* cannot be handled as a \w+: /, ''))
  }
}

function parsePatch(patch: string): Json[] {
  const undecodable = 'received undecodable patch in webhook response: it is not a list of operations as JSON'
  try {
    const value = JSON.parse(patch) as Json
    if (Array.isArray(value)) return value
  } catch (cause) {
    throw new CallError(undecodable, { cause })
  }
  throw new CallError(undecodable)
}

/**
 * Checks the policies, then calls the matching validating webhooks together. Suspends the request until all have
 * answered.
 *
 * Returns the object to store, which is that of the run that the webhooks saw: uid, time and generated name of later
 * runs differ.
 *
 * @throws StatusError of the first policy or webhook, in their order, that denies the request or cannot be called.
 */
export function validated(context: Context, admission: Admission): ApiObject {
  const { object } = admission
  const session = context.webhooks.current
  if (!session?.call) return object!
  const hooks = isExempt(admission.kind) ? [] : hooksOf(context, VALIDATING)
  const policies = policiesOf(context, admission)
  if (hooks.length === 0 && policies.length === 0 && !admission.kind.rules.convert) return object!
  const [subject, version] = stepOf(admission)
  const kept = session.keep(subject, version, 'object', object)
  const sent = { ...admission, object: kept }
  const called = hooks.flatMap((hook) => {
    const target = targetOf(context, hook, sent)
    return target ? [{ hook, target }] : []
  })
  if (called.length === 0 && policies.length === 0) return kept!
  session.step(subject, version, 'validate', async (warnings) => {
    await checkPolicies(
      context,
      policies,
      sent,
      warnings,
      async (target): Promise<PolicyRequest> => {
        const inVersion = { ...sent, object: await converted(kept, admission.kind, target, admission) }
        const review = await reviewOf(session, target, inVersion, '')
        const { object = null, oldObject = null, ...request } = review['request'] as JsonObject
        return { object, oldObject, request }
      },
    )
    const results = await Promise.allSettled(called.map(({ hook, target }) =>
      ignoring(context, hook, async () => {
        const inVersion = { ...sent, object: await converted(kept, admission.kind, target, admission) }
        const response = await callHook(context, session, hook, target, inVersion, false)
        if (!response) return
        warnings.push(...response.warnings)
        if (!response.allowed) throw denial(hook.name, response.status)
      })
    ))
    for (const result of results) if (result.status === 'rejected') throw result.reason
  })
  return kept!
}

/** Calls the webhooks for a deletion, mutating and validating. */
export function admitDelete(context: Context, kind: Kind, old: ApiObject, dryRun: boolean): void {
  const call = context.webhooks.current?.call
  if (!call) return
  const route = routeOf(call.path)
  const name = route.type === 'resource' ? route.name : ''
  const admission: Admission = {
    ...placeOf(kind, old),
    operation: 'DELETE',
    name,
    subresource: '',
    object: undefined,
    old,
    dryRun,
  }
  mutated(context, admission, () => {})
  validated(context, admission)
}

/** Checks a request to a kubelet, a pod or a service by the policies and validating webhooks. */
export function admitConnect({ context, kind, route, call: { query } }: KindRequest): void {
  const [subresource = '', ...path] = route.subresource.split('/')
  const name = subresource === 'proxy' ? `${kind.kind}ProxyOptions` : CONNECT_OPTIONS[subresource]!
  const options: JsonObject = { kind: name, apiVersion: 'v1' }
  if (path.length > 0) options['path'] = `/${path.join('/')}`
  for (const field of ['stdin', 'stdout', 'stderr', 'tty']) if (query.get(field) === 'true') options[field] = true
  if (query.has('container')) options['container'] = query.get('container')
  if (query.has('command')) options['command'] = query.getAll('command')
  validated(context, {
    kind,
    operation: 'CONNECT',
    subresource,
    namespace: route.namespace,
    name: route.name,
    object: options as ApiObject,
    old: undefined,
    dryRun: false,
    objectKind: { group: '', version: 'v1', kind: name },
  })
}

const CONNECT_OPTIONS: Readonly<Record<string, string>> = {
  attach: 'PodAttachOptions',
  exec: 'PodExecOptions',
  portforward: 'PodPortForwardOptions',
}

/** Returns the part of an admission that the kind and the object determine. */
export function placeOf(kind: Kind, { metadata }: ApiObject): Pick<Admission, 'kind' | 'namespace' | 'name'> {
  const { name = '', namespace = '' } = metadata
  return { kind, namespace: kind.storage.id === 'namespaces' ? name : namespace, name }
}
