/** The kinds of autoscaling/v2, and the same kinds in their older form, autoscaling/v1. */
import type { Column } from '../../model/columns.ts'
import { metricsText } from '../autoscalers/columns.ts'
import { AGE, NAME, num, str, text } from '../common/columns.ts'
import type { GroupTable } from '../../model/kind_table.ts'
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

const AUTOSCALER = {
  kind: 'HorizontalPodAutoscaler',
  plural: 'horizontalpodautoscalers',
  shortNames: ['hpa'],
  categories: ['all'],
  subresources: ['status'],
} as const

export const AUTOSCALING_V2: GroupTable = {
  group: 'autoscaling',
  version: 'v2',
  definitions: 'autoscaling.v2',
  kinds: [{ ...AUTOSCALER, columns: COLUMNS, rules: AUTOSCALER_RULES }],
}

export const AUTOSCALING_V1: GroupTable = {
  group: 'autoscaling',
  version: 'v1',
  definitions: 'autoscaling.v1',
  kinds: [
    {
      ...AUTOSCALER,
      storedAs: { group: 'autoscaling', version: 'v2', plural: 'horizontalpodautoscalers' },
      columns: COLUMNS.map((column) => ({ ...column, value: (scaler, nowMs) => column.value(fromV1(scaler), nowMs) })),
      rules: AUTOSCALER_V1_RULES,
    },
  ],
}
