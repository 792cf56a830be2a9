/** The kinds of flowcontrol.apiserver.k8s.io/v1: stored, unchecked, and without effect on requests. */
import { type ApiObject, at, isObject, type Json, type JsonObject } from '../../model/json.ts'
import { AGE, list, NAME, num, str, text } from '../common/columns.ts'
import { type GroupTable, groupTable, kind } from '../../model/kind_table.ts'
import type { Rules } from '../../model/kinds.ts'
import { fill } from '../common/fill.ts'

const limit = (...path: readonly string[]) => (level: ApiObject): Json =>
  at(level, 'spec', 'limited', ...path) ?? '<none>'

const FLOW_SCHEMA_RULES: Partial<Rules> = {
  generation: true,
  defaults(schema) {
    const spec = schema['spec'] as JsonObject
    spec['matchingPrecedence'] ||= 1000
  },
}

const PRIORITY_LEVEL_RULES: Partial<Rules> = { generation: true, defaults: levelDefaults }

function levelDefaults(level: JsonObject): void {
  fill(level, {
    'spec.exempt.nominalConcurrencyShares': 0,
    'spec.exempt.lendablePercent': 0,
    'spec.limited.nominalConcurrencyShares': 30,
    'spec.limited.lendablePercent': 0,
  })
  const queuing = at(level, 'spec', 'limited', 'limitResponse', 'queuing')
  if (!isObject(queuing)) return
  queuing['handSize'] ||= 8
  queuing['queues'] ||= 64
  queuing['queueLengthLimit'] ||= 50
}

export const FLOWCONTROL: GroupTable = groupTable('flowcontrol.apiserver.k8s.io/v1', [
  kind('FlowSchema flowschemas | Cluster', {
    subresources: ['status'],
    columns: [
      NAME,
      text('PriorityLevel', 'spec.priorityLevelConfiguration.name'),
      text('MatchingPrecedence', (schema) => num(schema, 'spec', 'matchingPrecedence')),
      text('DistinguisherMethod', 'spec.distinguisherMethod.type', '<none>'),
      AGE,
      text(
        'MissingPL',
        (schema) =>
          str(list(schema, 'status', 'conditions').find((each) => each['type'] === 'Dangling'), 'status') || '?',
      ),
    ],
    rules: FLOW_SCHEMA_RULES,
  }),
  kind('PriorityLevelConfiguration prioritylevelconfigurations | Cluster', {
    subresources: ['status'],
    columns: [
      NAME,
      text('Type', 'spec.type'),
      text('NominalConcurrencyShares', limit('nominalConcurrencyShares')),
      text('Queues', limit('limitResponse', 'queuing', 'queues')),
      text('HandSize', limit('limitResponse', 'queuing', 'handSize')),
      text('QueueLengthLimit', limit('limitResponse', 'queuing', 'queueLengthLimit')),
      AGE,
    ],
    rules: PRIORITY_LEVEL_RULES,
  }),
])
