/** Validation of jobs and cron jobs. */
import { jsonEqual } from '../../../core/equal.ts'
import { type Cause, fault, immutable } from '../../model/status.ts'
import { type ApiObject, at, isObject, type Json, type JsonObject, sortedByKey } from '../../model/json.ts'
import { selectorMatches } from '../../model/selectors.ts'
import { atLeast, type Check, checked, domainPath, ifSet, oneOf, unchanged } from '../common/checks.ts'
import { list } from '../common/columns.ts'
import { podSpecFaults } from '../pods/checks.ts'
import { scheduleProblem } from './schedules.ts'

const INDEXED = 'requires indexed completion mode'

/** Returns the labels that the server adds to the pods of a job, in the order in which they are checked. */
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
  return [
    ...jobSelectorFaults(job, spec),
    ...jobSpecFaults(spec, 'spec'),
    // An update checks the selector twice.
    ...(old ? [...jobSelectorFaults(job, { ...spec, manualSelector: true }), ...jobChangeFaults(job, old)] : []),
  ]
}

function jobSelectorFaults(job: ApiObject, spec: JsonObject): Cause[] {
  const { selector } = spec
  const labels = at(spec, 'template', 'metadata', 'labels')
  const faults: Cause[] = []
  if (!isObject(selector)) faults.push(fault.required('spec.selector'))
  else if (spec['manualSelector'] !== true) {
    const generated = generatedLabels(job)
    for (const [key, value] of Object.entries(generated)) {
      const path = `spec.template.metadata.labels[${key}]`
      const given = isObject(labels) ? labels[key] : undefined
      if (given === undefined) faults.push(fault.required(path, `must be '${value}'`))
      else if (given !== value) {
        faults.push(fault.invalid(path, sortedByKey(labels as JsonObject), `must be '${value}'`))
      }
    }
    if (!selectorMatches(selector, generated)) {
      faults.push(fault.invalid('spec.selector', sortedLabels(selector), '`selector` not auto-generated'))
    }
  }
  if (isObject(selector) && selectorMatches(selector, labels)) return faults
  const detail = '`selector` does not match template `labels`'
  return [
    ...faults,
    fault.invalid('spec.template.metadata.labels', isObject(labels) ? sortedByKey(labels) : null, detail),
  ]
}

/** Returns a selector with its labels in order, as Go writes maps. */
function sortedLabels(selector: JsonObject): JsonObject {
  const labels = selector['matchLabels']
  if (!isObject(labels)) return selector
  return { ...selector, matchLabels: sortedByKey(labels) }
}

function jobSpecFaults(spec: JsonObject, path: string): Cause[] {
  const isIndexed = spec['completionMode'] === 'Indexed'
  return [
    ...checked(spec, [
      ['parallelism', atLeast(0)],
      ['completions', atLeast(0)],
      ['activeDeadlineSeconds', atLeast(0)],
      ['backoffLimit', atLeast(0)],
      ['ttlSecondsAfterFinished', atLeast(0)],
      ['backoffLimitPerIndex', atLeast(0)],
      ['maxFailedIndexes', atLeast(0)],
    ], path),
    ...(spec['maxFailedIndexes'] !== undefined && spec['backoffLimitPerIndex'] === undefined
      ? [fault.required(`${path}.backoffLimitPerIndex`, 'when maxFailedIndexes is specified')]
      : []),
    ...checked(spec, [['managedBy', ifSet(domainPath)], ['completionMode', oneOf('NonIndexed', 'Indexed')]], path),
    ...(isIndexed && spec['completions'] === undefined
      ? [fault.required(`${path}.completions`, 'when completion mode is Indexed')]
      : []),
    ...(isIndexed
      ? []
      : ['backoffLimitPerIndex', 'maxFailedIndexes'].flatMap((field) =>
        spec[field] === undefined ? [] : [fault.invalid(`${path}.${field}`, spec[field], INDEXED)]
      )),
    ...policyFaults(spec['podFailurePolicy'], `${path}.podFailurePolicy`),
    ...successFaults(spec['successPolicy'], `${path}.successPolicy`, isIndexed),
    ...checked(spec, [['podReplacementPolicy', oneOf('Failed', 'TerminatingOrFailed')]], path),
    ...templateFaults(at(spec, 'template', 'spec'), `${path}.template.spec`),
  ]
}

const notZeroIn: Check = (value, path, parent) =>
  value === 0 && parent['operator'] === 'In' ? [fault.invalid(path, value, 'must not be 0 for the In operator')] : []

function policyFaults(policy: Json | undefined, path: string): Cause[] {
  return list(policy, 'rules').flatMap((rule, index) => {
    const place = `${path}.rules[${index}]`
    return checked(rule, [
      ['action', oneOf('Count', 'FailIndex', 'FailJob', 'Ignore')],
      ['onExitCodes.operator', oneOf('In', 'NotIn')],
      ['onExitCodes.values[]', notZeroIn],
    ], place)
  })
}

function successFaults(policy: Json | undefined, path: string, isIndexed: boolean): Cause[] {
  if (!isObject(policy) || isIndexed) return []
  return [fault.invalid(path, { Rules: policy['rules'] ?? null }, INDEXED)]
}

/** Returns the faults of a job's template. Without a restart policy, that of other pods is the default. */
function templateFaults(template: Json | undefined, path: string): Cause[] {
  const spec = isObject(template) ? template : {}
  const faults = podSpecFaults({ ...spec, restartPolicy: 'Never' }, path)
  const policy = spec['restartPolicy']
  if (policy === 'OnFailure' || policy === 'Never') return faults
  return [
    ...faults,
    policy === undefined || policy === 'Always'
      ? fault.required(`${path}.restartPolicy`, 'valid values: "OnFailure", "Never"')
      : fault.notSupported(`${path}.restartPolicy`, policy, ['OnFailure', 'Never']),
  ]
}

function jobChangeFaults(job: ApiObject, old: ApiObject): Cause[] {
  const spec = job['spec'] as JsonObject
  const before = old['spec'] as JsonObject
  const fixed = ['completions', 'selector', 'template', 'completionMode', 'podFailurePolicy', 'backoffLimitPerIndex']
  return fixed.flatMap((field) => {
    if (field === 'template' && before['suspend'] === true) return suspendedFaults(spec[field], before[field])
    if (field === 'completions' && spec['completionMode'] === 'Indexed' && isElastic(spec, before)) return []
    if (field !== 'selector') return unchanged(job, old, `spec.${field}`)
    if (jsonEqual(spec[field], before[field])) return []
    const value = spec[field]
    return [immutable('spec.selector', isObject(value) ? sortedLabels(value) : value ?? null)]
  })
}

/** Returns the fault of a template that changes more than where the pods of a suspended job run, and what they get. */
function suspendedFaults(template: Json | undefined, before: Json | undefined): Cause[] {
  const fixed = (from: Json | undefined): JsonObject => {
    const { nodeSelector: _, tolerations: _t, schedulingGates: _g, affinity, ...spec } = at(from, 'spec') as JsonObject
    const { nodeAffinity: _n, ...others } = (affinity ?? {}) as JsonObject
    const containers = ['containers', 'initContainers'].map((name) =>
      ((spec[name] ?? []) as JsonObject[]).map(({ resources: _r, ...rest }) => rest)
    )
    return { ...spec, containers, initContainers: null, affinity: others }
  }
  if (jsonEqual(fixed(template), fixed(before))) return []
  return [immutable('spec.template.spec', at(template, 'spec') ?? null)]
}

/** An indexed job scales by changing completions and parallelism to the same number. */
function isElastic(spec: JsonObject, before: JsonObject): boolean {
  return spec['completions'] === spec['parallelism'] && before['completions'] === before['parallelism']
}

const MAX_CRON_NAME = 52

export function cronJobFaults(cron: ApiObject, old: ApiObject | undefined): Cause[] {
  const spec = cron['spec'] as JsonObject
  const { name = '' } = cron.metadata
  const template = (at(spec, 'jobTemplate', 'spec') ?? {}) as JsonObject
  const isChanged = (field: string): boolean => !old || !jsonEqual(spec[field], at(old, 'spec', field))
  return [
    ...(spec['schedule'] ? (isChanged('schedule') ? scheduleFaults(spec) : []) : [fault.required('spec.schedule')]),
    ...checked(spec, [['startingDeadlineSeconds', atLeast(0)]], 'spec'),
    ...(isChanged('timeZone') ? timeZoneFaults(spec['timeZone']) : []),
    ...checked(spec, [['concurrencyPolicy', oneOf('Allow', 'Forbid', 'Replace')]], 'spec'),
    ...jobSpecFaults(template, 'spec.jobTemplate.spec'),
    ...checked(spec, [['successfulJobsHistoryLimit', atLeast(0)], ['failedJobsHistoryLimit', atLeast(0)]], 'spec'),
    ...(!old && name.length > MAX_CRON_NAME
      ? [fault.invalid('metadata.name', name, `must be no more than ${MAX_CRON_NAME} characters`)]
      : []),
  ]
}

function scheduleFaults({ schedule }: JsonObject): Cause[] {
  const problem = scheduleProblem(String(schedule))
  return problem === undefined ? [] : [fault.invalid('spec.schedule', schedule, problem)]
}

function timeZoneFaults(zone: Json | undefined): Cause[] {
  const path = 'spec.timeZone'
  if (typeof zone !== 'string') return []
  if (zone === '') return [fault.invalid(path, zone, 'timeZone must be nil or non-empty string')]
  const faults: Cause[] = []
  if (zone.toLowerCase() === 'local') {
    const detail = 'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones'
    faults.push(fault.invalid(path, zone, detail))
  }
  if (!isTimeZone(zone)) faults.push(fault.invalid(path, zone, `unknown time zone ${zone}`))
  return faults
}

function isTimeZone(zone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }) !== undefined
  } catch {
    return false
  }
}
