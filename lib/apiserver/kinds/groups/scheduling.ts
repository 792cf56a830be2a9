/** The kinds of scheduling.k8s.io/v1. */
import { AGE, count, flag, NAME, text } from '../common/columns.ts'
import { type GroupTable, groupTable, kind } from '../../model/kind_table.ts'
import { type Cause, fault } from '../../model/status.ts'
import type { ApiObject } from '../../model/json.ts'
import type { Rules } from '../../model/kinds.ts'
import { checked, oneOf, unchanged } from '../common/checks.ts'
import { filling } from '../common/fill.ts'

const MAX_USER_VALUE = 1_000_000_000
const SYSTEM_PREFIX = 'system-'
const SYSTEM_CLASSES = ['system-cluster-critical', 'system-node-critical']

const PRIORITY_CLASS_RULES: Partial<Rules> = {
  defaults: filling({ preemptionPolicy: 'PreemptLowerPriority' }),
  // Updates do not count.
  prepareCreate: ({ metadata }) => void (metadata.generation = 1),
  validate: (priorityClass, old) => [
    ...nameFaults(priorityClass),
    ...checked(priorityClass, [['preemptionPolicy', oneOf('PreemptLowerPriority', 'Never')]]),
    ...(old && priorityClass['value'] !== old['value']
      ? [fault.forbidden('value', 'may not be changed in an update.')]
      : []),
    ...unchanged(priorityClass, old, 'preemptionPolicy'),
  ],
}

function nameFaults({ metadata, value }: ApiObject): Cause[] {
  const { name = '' } = metadata
  if (SYSTEM_CLASSES.includes(name)) return []
  if (name.startsWith(SYSTEM_PREFIX)) {
    const detail = `priority class names with '${SYSTEM_PREFIX}' prefix are reserved for system use only. ` +
      `error: ${name} is not a known system priority class`
    return [fault.forbidden('metadata.name', detail)]
  }
  return Number(value ?? 0) > MAX_USER_VALUE
    ? [fault.forbidden('value', `maximum allowed value of a user defined priority is ${MAX_USER_VALUE}`)]
    : []
}

export const SCHEDULING: GroupTable = groupTable('scheduling.k8s.io/v1', [
  kind('PriorityClass priorityclasses pc | Cluster', {
    columns: [
      NAME,
      count('Value', 'value'),
      flag('Global-Default', 'globalDefault'),
      AGE,
      text('PreemptionPolicy', 'preemptionPolicy'),
    ],
    rules: PRIORITY_CLASS_RULES,
  }),
])
