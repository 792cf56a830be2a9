/** Handles POST to a pod's /eviction: deletes the pod if its PodDisruptionBudget allows it. */
import type { HttpResponse } from '../../core/transport.ts'
import { jsonEqual } from '../../core/equal.ts'
import { type Context, type KindRequest, nowIso, putObject, readObject } from '../context/context.ts'
import { readJsonBody } from '../wire/body.ts'
import { answerJson } from '../wire/respond.ts'
import { badRequest, errorWithoutReason, fault, forbidden, StatusError } from '../model/status.ts'
import { type ApiObject, at, clone, isObject, num, putAt } from '../model/json.ts'
import type { Kind } from '../model/kinds.ts'
import { selectorMatches } from '../model/selectors.ts'
import { SUCCESS } from './binding.ts'
import { conditionsOf, setCondition } from './conditions.ts'
import { checkPreconditions, deleteObject, type DeleteOptions, readDeleteOptions } from './delete.ts'
import { admitUnstored, bodyKind, readUnstored } from './unstored.ts'
import { updateObject } from './update.ts'
import { invalidOptions, isDryRun } from './write.ts'

const EVICTION = { group: 'policy', version: 'v1', kind: 'Eviction' }
const BETA = 'policy/v1beta1'

/** @see https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/registry/core/pod/storage/eviction.go */
export function evict(request: KindRequest): HttpResponse {
  const { context, kind, route, call } = request
  const given = readEviction(request)
  if ((given.metadata.name ?? '') !== route.name) throw badRequest('name in URL does not match name in Eviction object')
  const options = optionsOf(admitUnstored(request, EVICTION, given), isDryRun(call))
  const pod = readObject(request)
  // The webhooks have admitted the eviction; the deletion itself calls none.
  context.webhooks.within(undefined, () => {
    const version = isBudgetIgnored(pod) ? undefined : checkBudget(context, pod, options.dryRun)
    remove(context, kind, pod, { ...options, resourceVersion: options.resourceVersion ?? version })
  })
  return answerJson(201, SUCCESS, call.warnings)
}

/** Reads the body, whose version may be v1beta1 too. */
function readEviction(request: KindRequest): ApiObject {
  const kind = bodyKind(EVICTION)
  const value = readJsonBody(request.call, kind)
  const isBeta = isObject(value) && value['apiVersion'] === BETA
  return readUnstored({ ...request, kind: isBeta ? { ...kind, version: 'v1beta1', apiVersion: BETA } : kind })
}

function optionsOf(eviction: ApiObject, dryRun: boolean): DeleteOptions {
  const body = isObject(eviction['deleteOptions']) ? eviction['deleteOptions'] : {}
  const own = Array.isArray(body['dryRun']) ? body['dryRun'] : []
  if (own.some((each) => each !== 'All')) {
    throw invalidOptions('DeleteOptions', [fault.notSupported('dryRun', own, ['All'])])
  }
  const { dryRun: isDry, ...options } = readDeleteOptions(body, new URLSearchParams())
  return { ...options, dryRun: isDry || dryRun }
}

/** Returns whether a pod is evicted without regard to budgets: it is not running, or already being deleted. */
function isBudgetIgnored(pod: ApiObject): boolean {
  const phase = String(at(pod, 'status', 'phase') ?? '')
  return ['Succeeded', 'Failed', 'Pending'].includes(phase) || pod.metadata.deletionTimestamp !== undefined
}

function remove(context: Context, kind: Kind, pod: ApiObject, options: DeleteOptions): void {
  checkPreconditions(kind, pod, options)
  if (options.dryRun) return void deleteObject(context, kind, pod, options)
  const next = clone(pod)
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'EvictionByEvictionAPI',
    message: 'Eviction API: evicting',
  }
  setCondition(next, condition, nowIso(context))
  const marked = jsonEqual(next, pod) ? pod : putObject(context, kind, next)
  deleteObject(context, kind, marked, { ...options, resourceVersion: undefined })
}

/**
 * Counts the eviction in the budget of a pod.
 *
 * @returns The version that the pod must still have, if the budget does not count it because it is not ready.
 * @throws StatusError 429 if the budget does not allow it; 500 if there are several budgets.
 */
function checkBudget(context: Context, pod: ApiObject, dryRun: boolean): string | undefined {
  const kind = context.kinds.find('policy', 'v1', 'poddisruptionbudgets')!
  const budgets = context.store.list(kind.storage.id, `${pod.metadata.namespace}/`).filter((each) => {
    const selector = at(each, 'spec', 'selector')
    return isObject(selector) && selectorMatches(selector, pod.metadata.labels)
  })
  if (budgets.length > 1) {
    const message = 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.'
    throw errorWithoutReason(500, message)
  }
  const [budget] = budgets
  if (!budget) return undefined
  const [currentHealthy, desiredHealthy] = healthOf(budget)
  const isReady = conditionsOf(pod).some((each) => each['type'] === 'Ready' && each['status'] === 'True')
  const isAlways = at(budget, 'spec', 'unhealthyPodEvictionPolicy') === 'AlwaysAllow'
  if (!isReady && (isAlways || (currentHealthy >= desiredHealthy && desiredHealthy > 0))) {
    return pod.metadata.resourceVersion
  }
  countDown(context, kind, budget, pod.metadata.name!, dryRun)
  return undefined
}

function healthOf(budget: ApiObject): readonly [current: number, desired: number] {
  return [num(budget, 'status', 'currentHealthy'), num(budget, 'status', 'desiredHealthy')]
}

const VIOLATION = "Cannot evict pod as it would violate the pod's disruption budget."
const RETRY_SECONDS = 10

function tooMany(message: string, retryAfterSeconds?: number): StatusError {
  return new StatusError(429, 'TooManyRequests', VIOLATION, {
    causes: [{ reason: 'DisruptionBudget', message }],
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  })
}

function countDown(context: Context, kind: Kind, budget: ApiObject, podName: string, dryRun: boolean): void {
  const { name = '', generation = 0 } = budget.metadata
  const observedGeneration = num(budget, 'status', 'observedGeneration')
  const disruptionsAllowed = num(budget, 'status', 'disruptionsAllowed')
  const disrupted = at(budget, 'status', 'disruptedPods')
  if (observedGeneration < generation) {
    throw tooMany(`The disruption budget ${name} is still being processed by the server.`, RETRY_SECONDS)
  }
  if (disruptionsAllowed < 0) {
    throw forbidden({ group: 'policy', plural: 'poddisruptionbudget' }, name, 'pdb disruptions allowed is negative')
  }
  if (disruptionsAllowed === 0) {
    const [healthy, desired] = healthOf(budget)
    throw tooMany(`The disruption budget ${name} needs ${desired} healthy pods and has ${healthy} currently`)
  }
  if (dryRun) return
  const next = clone(budget)
  const now = nowIso(context)
  putAt(next, ['status', 'disruptionsAllowed'], disruptionsAllowed - 1)
  if (disruptionsAllowed === 1) {
    const condition = { type: 'DisruptionAllowed', status: 'False', observedGeneration, reason: 'InsufficientPods' }
    setCondition(next, { ...condition, message: '' }, now)
  }
  putAt(next, ['status', 'disruptedPods'], { ...(isObject(disrupted) ? disrupted : {}), [podName]: now })
  const subresource = 'status'
  const writer = { manager: 'kube-apiserver', apiVersion: kind.apiVersion, subresource, now }
  updateObject({ context, kind, subresource, writer, dryRun: false }, budget, next)
}
