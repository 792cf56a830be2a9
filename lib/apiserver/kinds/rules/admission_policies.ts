/** The defaults of admission policies and their bindings, which are stored and neither checked nor evaluated. */
import { type ApiObject, isObject, type JsonObject } from '../../model/json.ts'
import type { Rules } from '../../model/kinds.ts'
import { fill } from '../common/fill.ts'

const rules: Partial<Rules> = { generation: true, unconditionalUpdate: false }

function matchDefaults(spec: JsonObject, name: string): void {
  const match = spec[name]
  if (!isObject(match)) return
  fill(match, {
    matchPolicy: 'Equivalent',
    namespaceSelector: {},
    objectSelector: {},
    'resourceRules[].scope': '*',
    'excludeResourceRules[].scope': '*',
  })
}

export const POLICY_RULES: Partial<Rules> = {
  ...rules,
  defaults(policy: ApiObject) {
    fill(policy, { 'spec.failurePolicy': 'Fail' })
    matchDefaults(policy['spec'] as JsonObject, 'matchConstraints')
  },
}

export const POLICY_BINDING_RULES: Partial<Rules> = {
  ...rules,
  defaults: (binding) => matchDefaults(binding['spec'] as JsonObject, 'matchResources'),
}
