/** The kinds of batch/v1. */
import { type ApiObject, at } from '../../model/json.ts'
import { age, humanDuration } from '../../model/columns.ts'
import {
  AGE,
  containerColumns,
  count,
  flag,
  hasCondition,
  NAME,
  num,
  size,
  str,
  text,
  wide,
  WORKLOAD_COLUMNS,
} from '../common/columns.ts'
import { type GroupTable, groupTable, kind } from '../../model/kind_table.ts'
import { CRON_JOB_RULES, JOB_RULES } from '../jobs/rules.ts'
import { selectorText } from '../../model/selectors.ts'

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
      {
        ...flag('Suspend', 'spec.suspend'),
        value: (cron) => (at(cron, 'spec', 'suspend') === true ? 'True' : 'False'),
      },
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
