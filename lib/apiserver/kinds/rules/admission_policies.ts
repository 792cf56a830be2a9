/** The rules of admission policies and their bindings. */
import { type Cause, fault } from '../../model/status.ts'
import { type ApiObject, at, isObject, type Json, type JsonObject } from '../../model/json.ts'
import type { Rules } from '../../model/kinds.ts'
import { checked, oneOf, required } from '../common/checks.ts'
import { list } from '../common/columns.ts'
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

const NO_CHECKS = 'validations or auditAnnotations must contain at least one item'

export const VALIDATING_POLICY_RULES: Partial<Rules> = {
  ...rules,
  defaults: policyDefaults,
  validate(policy) {
    const spec = (policy['spec'] ?? {}) as JsonObject
    const isEmpty = list(spec, 'validations').length + list(spec, 'auditAnnotations').length === 0
    return [
      ...checked(spec, [['failurePolicy', oneOf('Fail', 'Ignore')]], 'spec'),
      ...matchFaults(spec['matchConstraints']),
      ...(isEmpty
        ? ['validations', 'auditAnnotations'].map((field) => fault.required(`spec.${field}`, NO_CHECKS))
        : []),
    ]
  },
}

function matchFaults(match: Json | undefined): Cause[] {
  const path = 'spec.matchConstraints'
  if (!isObject(match)) return [fault.required(path)]
  return list(match, 'resourceRules').length === 0 ? [fault.required(`${path}.resourceRules`)] : []
}

const DENY_AND_WARN = 'must not contain both Deny and Warn (repeating the same validation failure information in the ' +
  'API response and headers serves no purpose)'

function actionFaults(binding: ApiObject): Cause[] {
  const actions = at(binding, 'spec', 'validationActions')
  const all = Array.isArray(actions) ? actions : []
  const path = 'spec.validationActions'
  if (all.includes('Deny') && all.includes('Warn')) return [fault.invalid(path, all, DENY_AND_WARN)]
  return checked(binding, [
    [path, required('at least one validation action is required')],
    [`${path}[]`, oneOf('Audit', 'Deny', 'Warn')],
  ])
}

export const MUTATING_POLICY_RULES: Partial<Rules> = {
  ...rules,
  defaults: policyDefaults,
  validate: (policy) => checked(policy, [['spec.failurePolicy', oneOf('Fail', 'Ignore')]]),
}

function policyDefaults(policy: ApiObject): void {
  fill(policy, { 'spec.failurePolicy': 'Fail' })
  matchDefaults(policy['spec'] as JsonObject, 'matchConstraints')
}

export const MUTATING_BINDING_RULES: Partial<Rules> = {
  ...rules,
  defaults: (binding) => matchDefaults(binding['spec'] as JsonObject, 'matchResources'),
  validate: (binding) => checked(binding, [['spec.policyName', required()]]),
}

export const VALIDATING_BINDING_RULES: Partial<Rules> = {
  ...MUTATING_BINDING_RULES,
  validate: (binding) => [...checked(binding, [['spec.policyName', required()]]), ...actionFaults(binding)],
}
