/** The rules of the batch group. */
import { jsonEqual } from '../../core/equal.ts'
import { type ApiObject, at, isObject, type JsonObject } from '../json.ts'
import type { Rules } from '../kinds.ts'
import { immutable } from '../storage/objects.ts'
import { type Cause, fault } from '../http/status.ts'
import { jobStatusFaults } from './job_status.ts'
import { podSpecDefaults, podSpecFaults } from './pod_spec.ts'

export const BATCH_RULES: Readonly<Record<string, Partial<Rules>>> = {
  'jobs.batch': {
    generation: true,
    defaults: (job) => jobSpecDefaults(job),
    prepareCreate(job) {
      job['status'] = {}
      const spec = job['spec'] as JsonObject
      if (spec['manualSelector'] !== true) setSelector(job, spec)
    },
    validate: jobFaults,
    validateStatus: jobStatusFaults,
    fields: (job) => ({ 'status.successful': String(at(job, 'status', 'succeeded') ?? 0) }),
  },
  'cronjobs.batch': {
    generation: true,
    defaults(cron) {
      const spec = (isObject(cron['spec']) ? cron['spec'] : {}) as JsonObject
      cron['spec'] = spec
      spec['concurrencyPolicy'] ??= 'Allow'
      spec['suspend'] ??= false
      spec['successfulJobsHistoryLimit'] ??= 3
      spec['failedJobsHistoryLimit'] ??= 1
      const template = at(spec, 'jobTemplate', 'spec', 'template', 'spec')
      if (isObject(template)) podSpecDefaults(template)
    },
    prepareCreate: (cron) => void (cron['status'] = {}),
    validate: cronFaults,
  },
}

function jobSpecDefaults(job: ApiObject): void {
  const spec = (isObject(job['spec']) ? job['spec'] : {}) as JsonObject
  job['spec'] = spec
  // Without both numbers the job runs one pod; with only `parallelism` it is a work queue.
  if (spec['completions'] === undefined && spec['parallelism'] === undefined) {
    spec['completions'] = 1
    spec['parallelism'] = 1
  }
  spec['parallelism'] ??= 1
  spec['backoffLimit'] ??= 6
  spec['completionMode'] ??= 'NonIndexed'
  spec['suspend'] ??= false
  spec['manualSelector'] ??= false
  spec['podReplacementPolicy'] ??= spec['podFailurePolicy'] === undefined ? 'TerminatingOrFailed' : 'Failed'
  const template = at(spec, 'template', 'spec')
  if (isObject(template)) podSpecDefaults(template)
}

/** Adds labels that are unique to the job, and a selector for them. */
function setSelector(job: ApiObject, spec: JsonObject): void {
  const { name, uid } = job.metadata
  const template = spec['template'] as JsonObject
  const metadata = (isObject(template['metadata']) ? template['metadata'] : {}) as JsonObject
  const labels = isObject(metadata['labels']) ? metadata['labels'] : {}
  metadata['labels'] = {
    ...labels,
    'batch.kubernetes.io/controller-uid': uid!,
    'batch.kubernetes.io/job-name': name!,
    'controller-uid': uid!,
    'job-name': name!,
  }
  template['metadata'] = metadata
  spec['selector'] ??= { matchLabels: { 'batch.kubernetes.io/controller-uid': uid! } }
}

function jobFaults(job: ApiObject, old: ApiObject | undefined): Cause[] {
  const spec = job['spec'] as JsonObject
  const faults = templateFaults(at(spec, 'template', 'spec'), 'spec.template.spec')
  for (
    const name of ['parallelism', 'completions', 'backoffLimit', 'activeDeadlineSeconds', 'ttlSecondsAfterFinished']
  ) {
    if (Number(spec[name] ?? 0) < 0) {
      faults.push(
        fault.invalid(`spec.${name}`, spec[name], 'must be greater than or equal to 0'),
      )
    }
  }
  if (!old) return faults
  const before = old['spec'] as JsonObject
  for (const name of ['completions', 'selector', 'completionMode', 'backoffLimitPerIndex', 'podFailurePolicy']) {
    if (!jsonEqual(spec[name], before[name])) faults.push(immutable(`spec.${name}`, spec[name] ?? null))
  }
  if (before['suspend'] !== true && !jsonEqual(spec['template'], before['template'])) {
    faults.push(
      immutable('spec.template', spec['template']),
    )
  }
  return faults
}

function templateFaults(template: unknown, path: string): Cause[] {
  const spec = isObject(template) ? template : {}
  const faults = podSpecFaults({ ...spec, restartPolicy: 'Never' }, path)
  if (spec['restartPolicy'] !== 'OnFailure' && spec['restartPolicy'] !== 'Never') {
    faults.push(
      spec['restartPolicy'] === 'Always'
        ? fault.notSupported(`${path}.restartPolicy`, 'Always', ['OnFailure', 'Never'])
        : fault.required(`${path}.restartPolicy`, 'valid values: "OnFailure", "Never"'),
    )
  }
  return faults
}

function cronFaults(cron: ApiObject): Cause[] {
  const spec = cron['spec'] as JsonObject
  const faults: Cause[] = []
  if (!spec['schedule']) faults.push(fault.required('spec.schedule'))
  else if (!/^(@\w+( \S+)?|\S+( \S+){4})$/.test(String(spec['schedule']).trim().replace(/\s+/g, ' '))) {
    const fields = String(spec['schedule']).trim().split(/\s+/)
    faults.push(
      fault.invalid(
        'spec.schedule',
        spec['schedule'],
        `expected exactly 5 fields, found ${fields.length}: [${fields.join(' ')}]`,
      ),
    )
  }
  return [
    ...faults,
    ...templateFaults(at(spec, 'jobTemplate', 'spec', 'template', 'spec'), 'spec.jobTemplate.spec.template.spec'),
  ]
}
