/** The kinds of flowcontrol.apiserver.k8s.io/v1. They are stored; requests are not limited by them. */
import { type ApiObject, at, type Json } from '../../model/json.ts'
import { AGE, list, NAME, num, str, text } from '../common/columns.ts'
import type { GroupTable } from '../../model/kind_table.ts'
import { FLOW_SCHEMA_RULES, PRIORITY_LEVEL_RULES } from '../rules/flow_control.ts'

const limit = (...path: readonly string[]) => (level: ApiObject): Json =>
  at(level, 'spec', 'limited', ...path) ?? '<none>'

export const FLOWCONTROL: GroupTable = {
  group: 'flowcontrol.apiserver.k8s.io',
  version: 'v1',
  definitions: 'flowcontrol.v1',
  kinds: [
    {
      kind: 'FlowSchema',
      plural: 'flowschemas',
      scope: 'Cluster',
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
    },
    {
      kind: 'PriorityLevelConfiguration',
      plural: 'prioritylevelconfigurations',
      scope: 'Cluster',
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
    },
  ],
}
