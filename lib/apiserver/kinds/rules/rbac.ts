/** The rules of roles and their bindings. */
import { guardBinding, guardRole } from '../../access/guards.ts'
import type { Cause } from '../../model/status.ts'
import { type ApiObject, isObject, type JsonObject, list, size, str } from '../../model/json.ts'
import type { Rules } from '../../model/kinds.ts'
import { type Check, checked, type Checks, fields, must, name, oneOf, required, unchanged } from '../../model/checks.ts'

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
  return checked(role, [['rules[]', fields(RULE)], [
    'rules[].nonResourceURLs',
    must((urls) => size(urls) === 0 || role.kind !== 'Role', 'namespaced rules cannot apply to non-resource URLs'),
  ]])
}

const isPlain = ({ nonResourceURLs }: JsonObject): boolean => size(nonResourceURLs) > 0

const ofResources: Check = (value, path, rule) => isPlain(rule) ? [] : required()(value, path, rule)

const RULE: Checks = [
  ['verbs', required('verbs must contain at least one value')],
  ['apiGroups', ofResources],
  ['resources', ofResources],
  [
    'nonResourceURLs',
    must(
      (_, rule) =>
        !isPlain(rule) || ['apiGroups', 'resources', 'resourceNames'].every((field) => size(rule[field]) === 0),
      'rules cannot apply to both regular resources and non-resource URLs',
    ),
  ],
]

function bindingDefaults(binding: ApiObject): void {
  const ref = binding['roleRef']
  if (isObject(ref)) ref['apiGroup'] ||= GROUP
  for (const subject of list(binding, 'subjects')) {
    if (subject['kind'] === 'User' || subject['kind'] === 'Group') subject['apiGroup'] ??= GROUP
  }
}

function bindingFaults(binding: ApiObject, old: ApiObject | undefined): Cause[] {
  const isNamespaced = binding.kind === 'RoleBinding'
  return [
    ...checked(binding, [
      ['roleRef.apiGroup', oneOf(GROUP)],
      ['roleRef.kind', oneOf(...(isNamespaced ? ['Role', 'ClusterRole'] : ['ClusterRole']))],
      ['roleRef.name', required(), name('path')],
      ['subjects[]', fields(SUBJECT)],
    ]),
    // In a namespace, the account is one of it.
    ...(isNamespaced ? [] : checked(binding, [['subjects[].namespace', ofAccount(required())]])),
    ...unchanged(binding, old, 'roleRef'),
  ]
}

const ofAccount = (check: Check): Check => (value, path, subject) =>
  subject['kind'] === 'ServiceAccount' ? check(value, path, subject) : []

const SUBJECT: Checks = [
  ['name', required(), ofAccount(name('subdomain'))],
  ['kind', required(), oneOf('ServiceAccount', 'User', 'Group')],
  [
    'apiGroup',
    (value, path, { kind }) =>
      oneOf(...(kind === 'ServiceAccount' ? [''] : kind === 'User' || kind === 'Group' ? [GROUP] : [str(value)]))(
        value ?? '',
        path,
        {},
      ),
  ],
]
