/** The rules of flow schemas and priority levels: their fields are not checked, as requests never queue. */
import { at, isObject, type JsonObject } from '../../model/json.ts'
import type { Rules } from '../../model/kinds.ts'
import { fill } from '../common/fill.ts'

export const FLOW_SCHEMA_RULES: Partial<Rules> = {
  generation: true,
  defaults(schema) {
    const spec = schema['spec'] as JsonObject
    spec['matchingPrecedence'] ||= 1000
  },
}

export const PRIORITY_LEVEL_RULES: Partial<Rules> = { generation: true, defaults: levelDefaults }

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
