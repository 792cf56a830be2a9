/**
 * Validates the status of a Job.
 *
 * @see https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/registry/batch/job/strategy.go getStatusValidationOptions
 */
import { jsonEqual } from '../../../core/equal.ts'
import { type ApiObject, at, isObject, type JsonObject } from '../../model/json.ts'
import { type Cause, fault } from '../../model/status.ts'

/**
 * Returns the faults of a new status. Most rules apply only if their fields change, so a status that was stored before
 * a rule existed can still be written.
 */
export function jobStatusFaults(job: ApiObject, old: ApiObject): Cause[] {
  const [status, before] = [statusOf(job), statusOf(old)]
  return [
    ...countFaults(status),
    ...podFaults(status),
    ...stateFaults(job, status, before),
    ...changeFaults(job, status, before),
  ]
}

const statusOf = (job: ApiObject): JsonObject => (isObject(job['status']) ? job['status'] : {})

const COUNTS = ['active', 'succeeded', 'failed', 'ready', 'terminating'] as const

const count = (status: JsonObject, name: string): number => Number(status[name] ?? 0)

function countFaults(status: JsonObject): Cause[] {
  return COUNTS.filter((name) => count(status, name) < 0)
    .map((name) => fault.invalid(`status.${name}`, status[name], 'must be greater than or equal to 0'))
}

/** Returns faults for pods that are counted twice. */
function podFaults(status: JsonObject): Cause[] {
  const seen = new Set<string>()
  return (['succeeded', 'failed'] as const).flatMap((list) =>
    uncounted(status, list).flatMap((uid, index) => {
      const path = `status.uncountedTerminatedPods.${list}[${index}]`
      if (uid === '') return [fault.invalid(path, uid, 'must not be empty')]
      if (seen.has(uid)) return [fault.duplicate(path, uid)]
      seen.add(uid)
      return []
    })
  )
}

function uncounted(status: JsonObject, list: 'succeeded' | 'failed'): string[] {
  const uids = at(status, 'uncountedTerminatedPods', list)
  return Array.isArray(uids) ? uids.map(String) : []
}

function has(status: JsonObject, type: string, value = 'True'): boolean {
  const { conditions } = status
  return Array.isArray(conditions) &&
    conditions.some((each) => isObject(each) && each['type'] === type && each['status'] === value)
}

const isFinished = (status: JsonObject): boolean => has(status, 'Complete') || has(status, 'Failed')

/** Returns a fault of the conditions; the server's message contains no value. */
const conditionFault = (problem: string): Cause => ({
  ...fault.invalid('status.conditions', '', ''),
  message: `Invalid value: ${problem}`,
})

/** Returns the violations of the rules between the fields of a status. */
function stateFaults(job: ApiObject, status: JsonObject, before: JsonObject): Cause[] {
  const faults: Cause[] = []
  const changed = (...names: readonly string[]): boolean => names.some((name) => !jsonEqual(status[name], before[name]))
  const switched = (...types: readonly string[]): boolean =>
    types.some((type) => has(status, type) !== has(before, type))
  const [complete, failed, finished] = [has(status, 'Complete'), has(status, 'Failed'), isFinished(status)]
  const [criteriaMet, failureTarget] = [has(status, 'SuccessCriteriaMet'), has(status, 'FailureTarget')]
  const finishes = finished !== isFinished(before)
  const { completionTime, startTime, completedIndexes, failedIndexes } = status
  if (switched('Complete', 'Failed') && complete && failed) {
    faults.push(conditionFault('cannot set Complete=True and Failed=true conditions'))
  }
  if (switched('Complete', 'FailureTarget') && complete && failureTarget) {
    faults.push(conditionFault('cannot set Complete=True and FailureTarget=true conditions'))
  }
  if (switched('Complete') || changed('completionTime')) {
    if (completionTime !== undefined && !complete) {
      faults.push(
        fault.invalid(
          'status.completionTime',
          completionTime,
          'cannot set completionTime when there is no Complete=True condition',
        ),
      )
    }
    if (completionTime === undefined && complete) {
      faults.push(fault.required('status.completionTime', 'completionTime is required for Complete jobs'))
    }
  }
  if (changed('startTime', 'completionTime') && isBefore(completionTime, startTime)) {
    faults.push(fault.invalid('status.completionTime', completionTime, 'must be equal to or after `startTime`'))
  }
  if ((switched('Failed') || changed('failedIndexes')) && failed && !failureTarget) {
    faults.push(conditionFault('cannot set Failed=True condition without the FailureTarget=true condition'))
  }
  if (switched('Complete', 'SuccessCriteriaMet') && complete && !criteriaMet) {
    faults.push(conditionFault('cannot set Complete=True condition without the SuccessCriteriaMet=true condition'))
  }
  if ((finishes || changed('active')) && finished && count(status, 'active') > 0) {
    faults.push(fault.invalid('status.active', status['active'], 'active>0 is invalid for finished job'))
  }
  if ((finishes || changed('startTime')) && finished && startTime === undefined && !isSuspendedEmpty(job)) {
    faults.push(fault.required('status.startTime', 'startTime is required for finished job'))
  }
  if (
    (finishes || changed('uncountedTerminatedPods')) && finished &&
    (['succeeded', 'failed'] as const).some((list) => uncounted(status, list).length > 0)
  ) {
    const value = {
      Succeeded: at(status, 'uncountedTerminatedPods', 'succeeded') ?? null,
      Failed: at(status, 'uncountedTerminatedPods', 'failed') ?? null,
    }
    faults.push(fault.invalid('status.uncountedTerminatedPods', value, 'must be empty for finished job'))
  }
  if (
    changed('completedIndexes') && completedIndexes !== undefined && at(job, 'spec', 'completionMode') !== 'Indexed'
  ) {
    faults.push(
      fault.invalid(
        'status.completedIndexes',
        completedIndexes,
        'cannot set non-empty completedIndexes when non-indexed completion mode',
      ),
    )
  }
  if (
    changed('failedIndexes') && failedIndexes !== undefined && at(job, 'spec', 'backoffLimitPerIndex') === undefined
  ) {
    faults.push(
      fault.invalid(
        'status.failedIndexes',
        failedIndexes,
        'cannot set non-null failedIndexes when backoffLimitPerIndex is null',
      ),
    )
  }
  if ((finishes || changed('terminating')) && finished && count(status, 'terminating') > 0) {
    faults.push(fault.invalid('status.terminating', status['terminating'], 'terminating>0 is invalid for finished job'))
  }
  if (changed('ready', 'active') && status['ready'] !== undefined && count(status, 'ready') > count(status, 'active')) {
    faults.push(fault.invalid('status.ready', status['ready'], 'cannot set more ready pods than active'))
  }
  if (criteriaMet && failed) {
    faults.push(conditionFault('cannot set SuccessCriteriaMet=True and Failed=true conditions'))
  }
  if (criteriaMet && failureTarget) {
    faults.push(conditionFault('cannot set SuccessCriteriaMet=True and FailureTarget=true conditions'))
  }
  return faults
}

/** Returns whether a job is suspended with 0 completions: it may finish without a start time. */
function isSuspendedEmpty(job: ApiObject): boolean {
  return at(job, 'spec', 'suspend') === true && at(job, 'spec', 'completions') === 0
}

function isBefore(time: unknown, other: unknown): boolean {
  return typeof time === 'string' && typeof other === 'string' && Date.parse(time) < Date.parse(other)
}

/** Returns faults for changes that must not be reverted. */
function changeFaults(job: ApiObject, status: JsonObject, before: JsonObject): Cause[] {
  const faults: Cause[] = []
  for (const type of ['Failed', 'Complete', 'FailureTarget']) {
    if (has(before, type) && !has(status, type)) {
      faults.push(conditionFault(`cannot disable the terminal ${type}=True condition`))
    }
  }
  const decreases = (name: string): boolean => count(status, name) < count(before, name)
  if (decreases('failed')) {
    faults.push(fault.invalid('status.failed', count(status, 'failed'), 'cannot decrease the failed counter'))
  }
  if (decreases('succeeded') && !canShrink(job)) {
    faults.push(fault.invalid('status.succeeded', count(status, 'succeeded'), 'cannot decrease the succeeded counter'))
  }
  const { completionTime, startTime } = status
  if (
    completionTime !== undefined && before['completionTime'] !== undefined &&
    completionTime !== before['completionTime']
  ) {
    faults.push(fault.invalid('status.completionTime', completionTime, 'field is immutable'))
  }
  const resumes = has(before, 'Suspended') && has(status, 'Suspended', 'False')
  if (
    before['startTime'] !== undefined && startTime !== before['startTime'] && at(job, 'spec', 'suspend') !== true &&
    !resumes
  ) {
    faults.push(fault.invalid('status.startTime', startTime ?? null, 'field is immutable for unsuspended job once set'))
  }
  if (has(before, 'SuccessCriteriaMet') && !has(status, 'SuccessCriteriaMet')) {
    faults.push(conditionFault('cannot disable the SuccessCriteriaMet=True condition'))
  }
  if (has(before, 'Complete') && !has(before, 'SuccessCriteriaMet') && has(status, 'SuccessCriteriaMet')) {
    faults.push(conditionFault('cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions'))
  }
  return faults
}

/** Returns whether `succeeded` may decrease: an indexed job with completions equal to parallelism can scale down. */
function canShrink(job: ApiObject): boolean {
  return at(job, 'spec', 'completionMode') === 'Indexed' &&
    at(job, 'spec', 'completions') === at(job, 'spec', 'parallelism')
}
