/** The kinds of autoscaling/v2, and the same kinds in their older form, autoscaling/v1. */
import type { Column } from '../../model/columns.ts'
import { metricsText } from '../autoscalers/columns.ts'
import { AGE, NAME, num, str, text } from '../common/columns.ts'
import { type GroupTable, groupTable, kind } from '../../model/kind_table.ts'
import { AUTOSCALER_RULES, AUTOSCALER_V1_RULES, fromV1 } from '../autoscalers/rules.ts'

const COLUMNS: readonly Column[] = [
  NAME,
  text(
    'Reference',
    (scaler) => `${str(scaler, 'spec', 'scaleTargetRef', 'kind')}/${str(scaler, 'spec', 'scaleTargetRef', 'name')}`,
  ),
  text('Targets', metricsText),
  text('MinPods', (scaler) => String(num(scaler, 'spec', 'minReplicas') || '<unset>')),
  text('MaxPods', (scaler) => num(scaler, 'spec', 'maxReplicas')),
  text('Replicas', (scaler) => num(scaler, 'status', 'currentReplicas')),
  AGE,
]

const AUTOSCALER = 'HorizontalPodAutoscaler horizontalpodautoscalers hpa | all'

export const AUTOSCALING_V2: GroupTable = groupTable('autoscaling/v2', [
  kind(AUTOSCALER, { subresources: ['status'], columns: COLUMNS, rules: AUTOSCALER_RULES }),
])

export const AUTOSCALING_V1: GroupTable = groupTable('autoscaling/v1', [
  kind(AUTOSCALER, {
    subresources: ['status'],
    storedAs: { group: 'autoscaling', version: 'v2', plural: 'horizontalpodautoscalers' },
    columns: COLUMNS.map((column) => ({ ...column, value: (scaler, nowMs) => column.value(fromV1(scaler), nowMs) })),
    rules: AUTOSCALER_V1_RULES,
  }),
])
