/** The rules of jobs. */
import { jsonEqual } from '../../../core/equal.ts'
import { type ApiObject, at, isObject, type JsonObject, num } from '../../model/json.ts'
import type { Rules } from '../../model/kinds.ts'
import { child, fill, parentsOf } from '../common/fill.ts'
import { cronJobFaults, generatedLabels, jobFaults } from './checks.ts'
import { podSpecDefaults } from '../pods/defaults.ts'

export const JOB_RULES: Partial<Rules> = {
  generation: true,
  defaults: (job) => jobSpecDefaults(job),
  prepareCreate(job) {
    const spec = job['spec'] as JsonObject
    const labels = at(spec, 'template', 'metadata', 'labels')
    const hasOwnLabels = job.metadata.labels !== undefined && !jsonEqual(job.metadata.labels, labels)
    if (spec['manualSelector'] !== true) setSelector(job, spec)
    if (!hasOwnLabels) delete job.metadata.labels
    labelByTemplate(job)
  },
  validate: jobFaults,
  keepsDependents: true,
  deleteWarnings: [
    'child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or ' +
    'set propagationPolicy=Orphan to suppress this warning',
  ],
  fields: (job) => ({ 'status.successful': String(num(job, 'status', 'succeeded')) }),
}

export const CRON_JOB_RULES: Partial<Rules> = {
  generation: true,
  defaults(cron) {
    const spec = child(cron, 'spec')
    spec['concurrencyPolicy'] ??= 'Allow'
    spec['suspend'] ??= false
    spec['successfulJobsHistoryLimit'] ??= 3
    spec['failedJobsHistoryLimit'] ??= 1
    for (const template of parentsOf(spec, ['jobTemplate', 'spec', 'template', 'spec'])) podSpecDefaults(template)
  },
  validate: cronJobFaults,
}

function jobSpecDefaults(job: ApiObject): void {
  const spec = child(job, 'spec')
  // Without both numbers the job runs one pod; with only `parallelism` it is a work queue.
  if (spec['completions'] === undefined && spec['parallelism'] === undefined) {
    spec['completions'] = 1
    spec['parallelism'] = 1
  }
  spec['parallelism'] ??= 1
  spec['backoffLimit'] ??= spec['backoffLimitPerIndex'] === undefined ? 6 : MAX_INT
  spec['completionMode'] ??= 'NonIndexed'
  spec['suspend'] ??= false
  spec['manualSelector'] ??= false
  spec['podReplacementPolicy'] ??= spec['podFailurePolicy'] === undefined ? 'TerminatingOrFailed' : 'Failed'
  fill(spec, { 'podFailurePolicy.rules[].onPodConditions[].status': 'True' })
  for (const template of parentsOf(spec, ['template', 'spec'])) podSpecDefaults(template)
  labelByTemplate(job)
}

const MAX_INT = 2 ** 31 - 1

/** A job without labels has those of its template. */
function labelByTemplate(job: ApiObject): void {
  const labels = at(job, 'spec', 'template', 'metadata', 'labels')
  if (isObject(labels) && Object.keys(job.metadata.labels ?? {}).length === 0) {
    job.metadata.labels = { ...labels } as Record<string, string>
  }
}

/** Adds labels that are unique to the job, and a selector for them. Validation refuses other values of the user's. */
function setSelector(job: ApiObject, spec: JsonObject): void {
  const template = spec['template'] as JsonObject
  const metadata = (isObject(template['metadata']) ? template['metadata'] : {}) as JsonObject
  const labels = isObject(metadata['labels']) ? metadata['labels'] : {}
  metadata['labels'] = { ...generatedLabels(job), ...labels }
  template['metadata'] = metadata
  const selector = child(spec, 'selector')
  selector['matchLabels'] = {
    'batch.kubernetes.io/controller-uid': job.metadata.uid!,
    ...child(selector, 'matchLabels'),
  }
}
