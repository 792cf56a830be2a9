/** The rules of flow schemas and priority levels. */
import { type Cause, fault } from '../../model/status.ts'
import { type ApiObject, at, isObject, type JsonObject } from '../../model/json.ts'
import type { Rules } from '../../model/kinds.ts'
import { checked, oneOf, required } from '../common/checks.ts'
import { str } from '../common/columns.ts'
import { fill } from '../common/fill.ts'

const MAX_PRECEDENCE = 10000

export const FLOW_SCHEMA_RULES: Partial<Rules> = {
  generation: true,
  defaults(schema) {
    const spec = schema['spec'] as JsonObject
    spec['matchingPrecedence'] ||= 1000
  },
  validate(schema) {
    const spec = (schema['spec'] ?? {}) as JsonObject
    const precedence = Number(spec['matchingPrecedence'])
    const method = str(spec, 'distinguisherMethod', 'type')
    return [
      ...(precedence > MAX_PRECEDENCE
        ? [fault.invalid('spec.matchingPrecedence', precedence, `must not be greater than ${MAX_PRECEDENCE}`)]
        : []),
      ...checked({ ...spec, priorityLevelConfiguration: at(spec, 'priorityLevelConfiguration') ?? {} }, [
        ['priorityLevelConfiguration.name', required('must reference a priority level')],
      ], 'spec'),
      ...(method && !['ByNamespace', 'ByUser'].includes(method)
        ? [fault.notSupported('spec.distinguisherMethod.type', { Type: method }, ['ByNamespace', 'ByUser'])]
        : []),
    ]
  },
}

export const PRIORITY_LEVEL_RULES: Partial<Rules> = {
  generation: true,
  defaults: levelDefaults,
  validate: levelFaults,
}

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

function levelFaults({ metadata, spec: given }: ApiObject): Cause[] {
  const spec = (given ?? {}) as JsonObject
  const type = str(spec, 'type')
  const faults: Cause[] = []
  if (type && (type === 'Exempt') !== (metadata.name === 'exempt') && type === 'Exempt') {
    faults.push(fault.invalid('spec.type', type, "must be 'Exempt' if and only if `name` is 'exempt'"))
  }
  const { limited } = spec
  if (type === 'Exempt' && limited !== undefined) {
    faults.push(fault.forbidden('spec.limited', 'must be nil if the type is not Limited'))
  }
  if (type === 'Limited' && limited === undefined) {
    faults.push(fault.required('spec.limited', 'must not be empty when type is Limited'))
  }
  return [...faults, ...checked(spec, [['type', required(), oneOf('Exempt', 'Limited')]], 'spec')]
}
