/** The kinds of workloads: apps/v1, batch/v1, autoscaling and policy/v1. */
import { AUTOSCALER_RULES, AUTOSCALER_V1_RULES, fromV1 } from '../autoscalers/rules.ts'
import { age, type Column, humanDuration } from '../../model/columns.ts'
import { type ApiObject, at, num, size, str } from '../../model/json.ts'
import { type GroupTable, groupTable, kind } from '../../model/kind_table.ts'
import { selectorText } from '../../model/selectors.ts'
import { metricsText } from '../autoscalers/columns.ts'
import {
  AGE,
  containerColumns,
  count,
  flag,
  hasCondition,
  labelsText,
  NAME,
  REPLICA_COLUMNS,
  text,
  wide,
  WORKLOAD_COLUMNS,
} from '../common/columns.ts'
import { CRON_JOB_RULES, JOB_RULES } from '../jobs/rules.ts'
import { DISRUPTION_BUDGET_RULES } from '../rules/small.ts'
import {
  DAEMON_SET_RULES,
  DEPLOYMENT_RULES,
  REPLICA_SET_RULES,
  REVISION_RULES,
  STATEFUL_SET_RULES,
} from '../workloads/rules.ts'

const READY: Column = text(
  'Ready',
  (workload) => `${num(workload, 'status', 'readyReplicas')}/${num(workload, 'spec', 'replicas')}`,
)

export const APPS: GroupTable = groupTable('apps/v1', [
  kind('ControllerRevision controllerrevisions', { rules: REVISION_RULES }),
  kind('DaemonSet daemonsets ds | all', {
    subresources: ['status'],
    columns: [
      NAME,
      count('Desired', 'status.desiredNumberScheduled'),
      count('Current', 'status.currentNumberScheduled'),
      count('Ready', 'status.numberReady'),
      count('Up-to-date', 'status.updatedNumberScheduled'),
      count('Available', 'status.numberAvailable'),
      text('Node Selector', (set) => labelsText(at(set, 'spec', 'template', 'spec', 'nodeSelector'))),
      AGE,
      ...WORKLOAD_COLUMNS,
    ],
    rules: DAEMON_SET_RULES,
  }),
  kind('Deployment deployments deploy | all', {
    subresources: ['scale', 'status'],
    columns: [
      NAME,
      READY,
      // Numbers in string columns, as on the real server.
      text('Up-to-date', (deployment) => num(deployment, 'status', 'updatedReplicas')),
      text('Available', (deployment) => num(deployment, 'status', 'availableReplicas')),
      AGE,
      ...WORKLOAD_COLUMNS,
    ],
    rules: DEPLOYMENT_RULES,
  }),
  kind('ReplicaSet replicasets rs | all', {
    subresources: ['scale', 'status'],
    columns: [...REPLICA_COLUMNS, ...WORKLOAD_COLUMNS],
    rules: REPLICA_SET_RULES,
  }),
  kind('StatefulSet statefulsets sts | all', {
    subresources: ['scale', 'status'],
    columns: [NAME, READY, AGE, ...containerColumns('spec', 'template').map(wide)],
    rules: STATEFUL_SET_RULES,
  }),
])

const BEFORE_DELETION = ['Complete', 'Failed']
const AFTER_DELETION = ['Suspended', 'FailureTarget', 'SuccessCriteriaMet']

function jobStatus(job: ApiObject): string {
  const first = (types: readonly string[]): string | undefined => types.find((type) => hasCondition(job, type))
  return first(BEFORE_DELETION) ?? (job.metadata.deletionTimestamp ? 'Terminating' : first(AFTER_DELETION) ?? 'Running')
}

function completions(job: ApiObject): string {
  const done = num(job, 'status', 'succeeded')
  const wanted = at(job, 'spec', 'completions')
  if (wanted !== undefined) return `${done}/${String(wanted)}`
  const parallelism = num(job, 'spec', 'parallelism')
  return parallelism > 1 ? `${done}/1 of ${parallelism}` : `${done}/1`
}

function jobDuration(job: ApiObject, nowMs: number): string {
  const [start, end] = [str(job, 'status', 'startTime'), str(job, 'status', 'completionTime')]
  return start ? humanDuration((end ? Date.parse(end) : nowMs) - Date.parse(start)) : ''
}

export const BATCH: GroupTable = groupTable('batch/v1', [
  kind('CronJob cronjobs cj | all', {
    subresources: ['status'],
    columns: [
      NAME,
      text('Schedule', 'spec.schedule'),
      text('Timezone', 'spec.timeZone', '<none>'),
      { ...flag('Suspend', ''), value: (cron) => (at(cron, 'spec', 'suspend') === true ? 'True' : 'False') },
      count('Active', (cron) => size(at(cron, 'status', 'active'))),
      text('Last Schedule', (cron, nowMs) => {
        const last = str(cron, 'status', 'lastScheduleTime')
        return last ? age(last, nowMs) : '<none>'
      }),
      AGE,
      ...containerColumns('spec', 'jobTemplate', 'spec', 'template').map(wide),
      wide(text('Selector', (cron) => selectorText(at(cron, 'spec', 'jobTemplate', 'spec', 'selector')) || '<none>')),
    ],
    rules: CRON_JOB_RULES,
  }),
  kind('Job jobs | all', {
    subresources: ['status'],
    columns: [
      NAME,
      text('Status', jobStatus),
      text('Completions', completions),
      text('Duration', jobDuration),
      AGE,
      ...WORKLOAD_COLUMNS,
    ],
    rules: JOB_RULES,
  }),
])

const AUTOSCALER = 'HorizontalPodAutoscaler horizontalpodautoscalers hpa | all'

const AUTOSCALER_COLUMNS: readonly Column[] = [
  NAME,
  text('Reference', ({ spec }) => `${str(spec, 'scaleTargetRef', 'kind')}/${str(spec, 'scaleTargetRef', 'name')}`),
  text('Targets', metricsText),
  text('MinPods', (scaler) => String(num(scaler, 'spec', 'minReplicas') || '<unset>')),
  text('MaxPods', (scaler) => num(scaler, 'spec', 'maxReplicas')),
  text('Replicas', (scaler) => num(scaler, 'status', 'currentReplicas')),
  AGE,
]

export const AUTOSCALING_V2: GroupTable = groupTable('autoscaling/v2', [
  kind(AUTOSCALER, { subresources: ['status'], columns: AUTOSCALER_COLUMNS, rules: AUTOSCALER_RULES }),
])

/** The same kind in its older form. */
export const AUTOSCALING_V1: GroupTable = groupTable('autoscaling/v1', [
  kind(AUTOSCALER, {
    subresources: ['status'],
    storedAs: { group: 'autoscaling', version: 'v2', plural: 'horizontalpodautoscalers' },
    columns: AUTOSCALER_COLUMNS.map((column) => ({
      ...column,
      value: (scaler, nowMs) => column.value(fromV1(scaler), nowMs),
    })),
    rules: AUTOSCALER_V1_RULES,
  }),
])

export const POLICY: GroupTable = groupTable('policy/v1', [
  kind('PodDisruptionBudget poddisruptionbudgets pdb', {
    subresources: ['status'],
    columns: [
      NAME,
      text('Min Available', ({ spec }) => String(at(spec, 'minAvailable') ?? 'N/A')),
      text('Max Unavailable', ({ spec }) => String(at(spec, 'maxUnavailable') ?? 'N/A')),
      count('Allowed Disruptions', 'status.disruptionsAllowed'),
      AGE,
    ],
    rules: DISRUPTION_BUDGET_RULES,
  }),
])
