/** The rules of roles and their bindings. */
import { jsonEqual } from '../../../core/equal.ts'
import { guardBinding, guardRole } from '../../access/guards.ts'
import { type Cause, fault } from '../../model/status.ts'
import { type ApiObject, at, isObject, type Json, type JsonObject } from '../../model/json.ts'
import type { Rules } from '../../model/kinds.ts'
import { checked, name, oneOf, required } from '../common/checks.ts'
import { list } from '../common/columns.ts'

const GROUP = 'rbac.authorization.k8s.io'

export const ROLE_RULES: Partial<Rules> = {
  nameRule: 'path',
  createOnUpdate: true,
  validate: roleFaults,
  guard: guardRole,
}

export const BINDING_RULES: Partial<Rules> = {
  nameRule: 'path',
  createOnUpdate: true,
  defaults: bindingDefaults,
  validate: bindingFaults,
  guard: guardBinding,
}

function roleFaults(role: ApiObject): Cause[] {
  const faults = list(role, 'rules').flatMap((rule, index) => ruleFaults(rule, `rules[${index}]`, role.kind === 'Role'))
  const { aggregationRule } = role
  if (!isObject(aggregationRule)) return faults
  const why = 'at least one clusterRoleSelector required if aggregationRule is non-nil'
  return [...faults, ...checked(aggregationRule, [['clusterRoleSelectors', required(why)]], 'aggregationRule')]
}

const isFilled = (value: Json | undefined): boolean => Array.isArray(value) && value.length > 0

function ruleFaults(rule: JsonObject, path: string, isNamespaced: boolean): Cause[] {
  const faults = checked(rule, [['verbs', required('verbs must contain at least one value')]], path)
  const urls = rule['nonResourceURLs']
  if (isFilled(urls)) {
    const detail = isNamespaced
      ? 'namespaced rules cannot apply to non-resource URLs'
      : 'rules cannot apply to both regular resources and non-resource URLs'
    const isMixed = ['apiGroups', 'resources', 'resourceNames'].some((field) => isFilled(rule[field]))
    return isNamespaced || isMixed ? [...faults, fault.invalid(`${path}.nonResourceURLs`, urls, detail)] : faults
  }
  return [
    ...faults,
    ...checked(rule, [
      ['apiGroups', required('resource rules must supply at least one api group')],
      ['resources', required('resource rules must supply at least one resource')],
    ], path),
  ]
}

function bindingDefaults(binding: ApiObject): void {
  const ref = binding['roleRef']
  if (isObject(ref)) ref['apiGroup'] ||= GROUP
  for (const subject of list(binding, 'subjects')) {
    if (subject['kind'] === 'User' || subject['kind'] === 'Group') subject['apiGroup'] ??= GROUP
  }
}

function bindingFaults(binding: ApiObject, old: ApiObject | undefined): Cause[] {
  const ref = (binding['roleRef'] ?? {}) as JsonObject
  const kinds = binding.kind === 'RoleBinding' ? ['Role', 'ClusterRole'] : ['ClusterRole']
  const shown = { APIGroup: ref['apiGroup'] ?? '', Kind: ref['kind'] ?? '', Name: ref['name'] ?? '' }
  return [
    ...checked(ref, [
      ['apiGroup', oneOf(GROUP)],
      ['kind', oneOf(...kinds)],
      ['name', required(), name('path')],
    ], 'roleRef'),
    ...list(binding, 'subjects').flatMap((subject, index) =>
      subjectFaults(subject, `subjects[${index}]`, binding.kind === 'RoleBinding')
    ),
    ...(old && !jsonEqual(ref, at(old, 'roleRef')) ? [fault.invalid('roleRef', shown, 'cannot change roleRef')] : []),
  ]
}

function subjectFaults(subject: JsonObject, path: string, isNamespaced: boolean): Cause[] {
  const faults = checked(subject, [['name', required()]], path)
  const apiGroup = subject['apiGroup'] ?? ''
  switch (subject['kind']) {
    case 'ServiceAccount':
      return [
        ...faults,
        ...(subject['name'] ? checked(subject, [['name', name('subdomain')]], path) : []),
        ...(apiGroup ? [fault.notSupported(`${path}.apiGroup`, apiGroup, [''])] : []),
        // In a namespace, the account is one of it.
        ...(subject['namespace'] || isNamespaced ? [] : [fault.required(`${path}.namespace`)]),
      ]
    case 'User':
    case 'Group':
      return apiGroup === GROUP ? faults : [...faults, fault.notSupported(`${path}.apiGroup`, apiGroup, [GROUP])]
    default:
      return [
        ...faults,
        fault.notSupported(`${path}.kind`, subject['kind'] ?? '', ['ServiceAccount', 'User', 'Group']),
      ]
  }
}
