/** The rules of admission policies and their bindings. Those of MutatingAdmissionPolicies are defaults only. */
import { RESERVED } from '../../cel/expr.ts'
import { celEngine, type Engine } from '../../cel/load.ts'
import { type ApiObject, isObject, type JsonObject, list, str } from '../../model/json.ts'
import type { Rules } from '../../model/kinds.ts'
import { qualifiedNameProblems } from '../../model/names.ts'
import { type Cause, fault } from '../../model/status.ts'
import { conditionChecks, RULE } from '../../webhooks/rules.ts'
import { fill } from '../common/fill.ts'
import {
  type Check,
  checked,
  type Checks,
  fields,
  ifSet,
  labelSelector,
  name,
  notBlank,
  oneOf,
  required,
} from '../../model/checks.ts'

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

export const VALIDATING_POLICY_RULES: Partial<Rules> = {
  ...POLICY_RULES,
  prepareRules: () => void celEngine(),
  validate: policyFaults,
}

export const VALIDATING_BINDING_RULES: Partial<Rules> = {
  ...POLICY_BINDING_RULES,
  validate: (binding) => checked(binding, BINDING),
}

type Compiler = InstanceType<Engine['PolicyCompiler']>
type Spec = ConstructorParameters<Engine['PolicyCompiler']>[0]

const MATCH: Checks = [
  ['matchPolicy', oneOf('Equivalent', 'Exact')],
  ['namespaceSelector', labelSelector],
  ['objectSelector', labelSelector],
  ['resourceRules[]', fields(RULE)],
  ['excludeResourceRules[]', fields(RULE)],
]

const POLICY: Checks = [
  ['spec.failurePolicy', oneOf('Fail', 'Ignore')],
  ['spec.paramKind.apiVersion', required()],
  ['spec.paramKind.kind', required()],
  ['spec.matchConstraints', required(), fields([...MATCH, ['resourceRules', required()]])],
]

function policyFaults(policy: ApiObject): Cause[] {
  const { variables: _, ...spec } = policy['spec'] as JsonObject
  const { PolicyCompiler } = celEngine()
  // The conditions cannot read variables, which are evaluated after them.
  const conditions = new PolicyCompiler(spec as unknown as Spec)
  const problemOf = (source: string): string | undefined => {
    const compiled = conditions.compile(source, 'bool')
    return typeof compiled === 'string' ? compiled : undefined
  }
  return checked(policy, [
    ...POLICY,
    ...conditionChecks('spec.matchConditions', problemOf),
    ...expressionChecks(new PolicyCompiler(policy['spec'] as unknown as Spec), policy.metadata.name ?? ''),
  ])
}

/** Checks that a policy has anything to evaluate. */
const somethingToCheck: Check = (_, path, parent) => {
  const isEmpty = [...list(parent['validations']), ...list(parent['auditAnnotations'])].length === 0
  return isEmpty ? [fault.required(path, 'validations or auditAnnotations must contain at least one item')] : []
}

const identifier: Check = (value, path) =>
  /^[_a-zA-Z]\w*$/.test(String(value)) && !RESERVED.has(String(value))
    ? []
    : [fault.invalid(path, value, 'must be a valid CEL identifier')]

/** Returns the checks of a policy's expressions. The compiler gets to know the variables in their order. */
function expressionChecks(compiler: Compiler, policy: string): Checks {
  const compiles = (compile: (source: string, parent: JsonObject) => unknown): Check => (value, path, parent) => {
    const problem = compile(String(value), parent)
    return typeof problem === 'string' ? [fault.invalid(path, value, problem)] : []
  }
  const key: Check = (value, path) =>
    qualifiedNameProblems(`${policy}/${value}`).map((each) => fault.invalid(path, `${policy}/${value}`, each))
  const variable = compiles((source, parent) => compiler.add(str(parent, 'name'), source))
  const value = compiles((source) => compiler.compile(source.trim(), 'string', 'null'))
  return [
    ['spec.variables[].name', notBlank, identifier],
    ['spec.variables[].expression', notBlank, variable],
    ['spec.validations[].expression', notBlank, compiles((source) => compiler.compile(source, 'bool'))],
    ['spec.validations', somethingToCheck],
    ['spec.auditAnnotations', somethingToCheck],
    ['spec.validations[].messageExpression', ifSet(compiles((source) => compiler.compile(source, 'string')))],
    ['spec.validations[].reason', oneOf('Forbidden', 'Invalid', 'RequestEntityTooLarge')],
    ['spec.auditAnnotations[].key', key],
    ['spec.auditAnnotations[].valueExpression', notBlank, value],
  ]
}

const nameOrSelector: Check = (value, path) =>
  isObject(value) && !value['name'] && !value['selector']
    ? [fault.required(path, 'one of name or selector must be specified')]
    : []
const DENY_AND_WARN = 'must not contain both Deny and Warn (repeating the same validation failure information in the ' +
  'API response and headers serves no purpose)'
const notBoth: Check = (value, path) =>
  Array.isArray(value) && value.includes('Deny') && value.includes('Warn')
    ? [fault.invalid(path, value, DENY_AND_WARN)]
    : []

const BINDING: Checks = [
  ['spec.policyName', required(), name('subdomain')],
  ['spec.paramRef', nameOrSelector],
  ['spec.paramRef.name', ifSet(name('path'))],
  ['spec.paramRef.selector', labelSelector],
  ['spec.paramRef.parameterNotFoundAction', required(), oneOf('Deny', 'Allow')],
  ['spec.matchResources', fields(MATCH)],
  ['spec.validationActions[]', oneOf('Audit', 'Deny', 'Warn')],
  ['spec.validationActions', required('at least one validation action is required'), notBoth],
]
