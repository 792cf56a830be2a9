/** Validation of jobs and cron jobs. */
import { podSpecFaults } from '../pods/checks.ts'
import { jsonEqual } from '../../../core/equal.ts'
import {
  atLeast,
  checked,
  type Checks,
  domainPath,
  must,
  oneOf,
  required,
  unchanged,
  without,
} from '../../model/checks.ts'
import { type ApiObject, at, isObject, type Json, type JsonObject, objectAt } from '../../model/json.ts'
import { selectorMatches } from '../../model/selectors.ts'
import { type Cause, fault } from '../../model/status.ts'
import { scheduleProblem } from './schedules.ts'

/** Returns the labels that the server adds to the pods of a job. */
export function generatedLabels({ metadata: { name, uid } }: ApiObject): Readonly<Record<string, string>> {
  return {
    'controller-uid': uid ?? '',
    'job-name': name ?? '',
    'batch.kubernetes.io/controller-uid': uid ?? '',
    'batch.kubernetes.io/job-name': name ?? '',
  }
}

export function jobFaults(job: ApiObject, old: ApiObject | undefined): Cause[] {
  const spec = job['spec'] as JsonObject
  return [...selectorFaults(spec), ...jobSpecFaults(spec, 'spec'), ...(old ? changeFaults(job, old) : [])]
}

function selectorFaults({ selector, template }: JsonObject): Cause[] {
  const labels = at(template, 'metadata', 'labels')
  const path = 'spec.template.metadata.labels'
  return [
    ...(isObject(selector) ? [] : [fault.required('spec.selector')]),
    ...(isObject(selector) && selectorMatches(selector, labels)
      ? []
      : [fault.invalid(path, labels ?? null, '`selector` does not match template `labels`')]),
  ]
}

const INDEXED = 'requires indexed completion mode'
const isIndexed = (_: Json, { completionMode }: JsonObject): boolean => completionMode === 'Indexed'

const SPEC: Checks = [
  ...['parallelism', 'completions', 'activeDeadlineSeconds', 'backoffLimit', 'ttlSecondsAfterFinished'].map((field) =>
    [field, atLeast(0)] as const
  ),
  ['backoffLimitPerIndex', atLeast(0), must(isIndexed, INDEXED)],
  ['maxFailedIndexes', atLeast(0), must(isIndexed, INDEXED)],
  ['managedBy', domainPath],
  ['completionMode', oneOf('NonIndexed', 'Indexed')],
  ['podFailurePolicy.rules[].action', oneOf('Count', 'FailIndex', 'FailJob', 'Ignore')],
  ['podFailurePolicy.rules[].onExitCodes.operator', oneOf('In', 'NotIn')],
  ['successPolicy', must(isIndexed, INDEXED)],
  ['podReplacementPolicy', oneOf('Failed', 'TerminatingOrFailed')],
]

function jobSpecFaults(spec: JsonObject, path: string): Cause[] {
  const needed = [
    ...(spec['maxFailedIndexes'] === undefined ? [] : ['backoffLimitPerIndex']),
    ...(spec['completionMode'] === 'Indexed' ? ['completions'] : []),
  ]
  return [
    ...checked(spec, SPEC, path),
    ...needed.filter((field) => spec[field] === undefined).map((field) => fault.required(`${path}.${field}`)),
    ...templateFaults(objectAt(spec, 'template', 'spec'), `${path}.template.spec`),
  ]
}

/** Returns the faults of a job's template. Without a restart policy, that of other pods is the default. */
function templateFaults(spec: JsonObject, path: string): Cause[] {
  const { restartPolicy: policy = 'Always' } = spec
  const place = `${path}.restartPolicy`
  return [
    ...podSpecFaults({ ...spec, restartPolicy: 'Never' }, path),
    ...(policy === 'Always'
      ? [fault.required(place, 'valid values: "OnFailure", "Never"')]
      : oneOf('OnFailure', 'Never')(policy, place, spec)),
  ]
}

const FIXED = ['selector', 'completionMode', 'podFailurePolicy', 'backoffLimitPerIndex']

/** A suspended job may get another template. An indexed one scales: completions and parallelism stay equal. */
function changeFaults(job: ApiObject, old: ApiObject): Cause[] {
  const [spec, before] = [objectAt(job['spec']), objectAt(old['spec'])]
  const isElastic = [spec, before].every((each) =>
    each['completionMode'] === 'Indexed' && each['completions'] === each['parallelism']
  )
  const fixed = [...FIXED, ...(before['suspend'] ? [] : ['template']), ...(isElastic ? [] : ['completions'])]
  return unchanged(job, old, ...fixed.map((field) => `spec.${field}`))
}

const MAX_CRON_NAME = 52

const CRON: Checks = [
  ['startingDeadlineSeconds', atLeast(0)],
  ['concurrencyPolicy', oneOf('Allow', 'Forbid', 'Replace')],
  ['successfulJobsHistoryLimit', atLeast(0)],
  ['failedJobsHistoryLimit', atLeast(0)],
]

/** An update may keep a schedule or a time zone that an earlier server has accepted. */
export function cronJobFaults(cron: ApiObject, old: ApiObject | undefined): Cause[] {
  const spec = cron['spec'] as JsonObject
  const { name = '' } = cron.metadata
  const changing: Checks = [
    ['schedule', required(), without((text) => [scheduleProblem(text) ?? []].flat())],
    ['timeZone', must((zone) => isTimeZone(String(zone)), 'unknown time zone')],
  ]
  return [
    ...checked(spec, changing.filter(([field]) => !old || !jsonEqual(spec[field], at(old, 'spec', field))), 'spec'),
    ...checked(spec, CRON, 'spec'),
    ...jobSpecFaults(objectAt(spec, 'jobTemplate', 'spec'), 'spec.jobTemplate.spec'),
    ...(!old && name.length > MAX_CRON_NAME
      ? [fault.invalid('metadata.name', name, `must be no more than ${MAX_CRON_NAME} characters`)]
      : []),
  ]
}

function isTimeZone(zone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }) !== undefined && zone !== ''
  } catch {
    return false
  }
}
