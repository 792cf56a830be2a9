/** The kinds of admissionregistration.k8s.io/v1. MutatingAdmissionPolicies are stored and do nothing. */
import { type ApiObject, at } from '../../model/json.ts'
import { selectorText } from '../../model/selectors.ts'
import type { Column } from '../../model/columns.ts'
import { WEBHOOK_RULES } from '../../webhooks/rules.ts'
import { AGE, count, NAME, size, str, text } from '../common/columns.ts'
import { type GroupTable, groupTable, kind } from '../../model/kind_table.ts'
import {
  POLICY_BINDING_RULES,
  POLICY_RULES,
  VALIDATING_BINDING_RULES,
  VALIDATING_POLICY_RULES,
} from '../rules/admission_policies.ts'

const COMMON = { scope: 'Cluster', categories: ['api-extensions'] } as const

const PARAM_KIND: Column = text('ParamKind', (policy) => {
  const kind = at(policy, 'spec', 'paramKind')
  return kind ? `${str(kind, 'apiVersion')}/${str(kind, 'kind')}` : '<unset>'
})

const WEBHOOK_COLUMNS: readonly Column[] = [NAME, count('Webhooks', (config) => size(config['webhooks'])), AGE]

function paramText(binding: ApiObject): string {
  const param = at(binding, 'spec', 'paramRef')
  if (!param) return '<unset>'
  const name = str(param, 'name')
  if (name) return `${str(param, 'namespace') || '*'}/${name}`
  const selector = at(param, 'selector')
  return selector === undefined ? '<unset>' : selectorText(selector)
}

const BINDING_COLUMNS: readonly Column[] = [
  NAME,
  text('PolicyName', 'spec.policyName'),
  text('ParamRef', paramText),
  AGE,
]

export const ADMISSIONREGISTRATION: GroupTable = groupTable('admissionregistration.k8s.io/v1', [
  kind('MutatingAdmissionPolicy mutatingadmissionpolicies', {
    ...COMMON,
    columns: [NAME, count('Mutations', (policy) => size(at(policy, 'spec', 'mutations'))), PARAM_KIND, AGE],
    rules: POLICY_RULES,
  }),
  kind('MutatingAdmissionPolicyBinding mutatingadmissionpolicybindings', {
    ...COMMON,
    columns: BINDING_COLUMNS,
    rules: POLICY_BINDING_RULES,
  }),
  kind('MutatingWebhookConfiguration mutatingwebhookconfigurations', {
    ...COMMON,
    columns: WEBHOOK_COLUMNS,
    rules: WEBHOOK_RULES['mutatingwebhookconfigurations.admissionregistration.k8s.io']!,
  }),
  kind('ValidatingAdmissionPolicy validatingadmissionpolicies', {
    ...COMMON,
    subresources: ['status'],
    columns: [NAME, count('Validations', (policy) => size(at(policy, 'spec', 'validations'))), PARAM_KIND, AGE],
    rules: VALIDATING_POLICY_RULES,
  }),
  kind('ValidatingAdmissionPolicyBinding validatingadmissionpolicybindings', {
    ...COMMON,
    columns: BINDING_COLUMNS,
    rules: VALIDATING_BINDING_RULES,
  }),
  kind('ValidatingWebhookConfiguration validatingwebhookconfigurations', {
    ...COMMON,
    columns: WEBHOOK_COLUMNS,
    rules: WEBHOOK_RULES['validatingwebhookconfigurations.admissionregistration.k8s.io']!,
  }),
])
