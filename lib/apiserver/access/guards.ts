/** The rights that the content of roles and bindings requires: no user may grant more than it has. */
import { jsonEqual } from '../../core/equal.ts'
import { type ApiObject, clone, type JsonObject, list } from '../model/json.ts'
import type { GuardedWrite } from '../model/kinds.ts'
import { forbidden, notFound, type StatusError } from '../model/status.ts'
import type { PolicyRule, Rights } from '../model/rights.ts'
import { type Attributes, resourceAttributes } from '../model/attributes.ts'
import { escalationProblem, FULL_AUTHORITY } from './escalation.ts'
import { referencedRules, rulesFor } from './rbac.ts'
import { roleRefOf, rulesOf } from './stored_roles.ts'

const GROUP = 'rbac.authorization.k8s.io'

/** Guards Roles and ClusterRoles. */
export function guardRole({ object, old, request }: GuardedWrite, rights: Rights): void {
  if (old && isOnlyForCollector(object, old)) return
  const { user, namespace, name, resource } = request
  const escalate = { user, verb: 'escalate', group: GROUP, version: '*', resource, namespace, name }
  if (rights.decide(resourceAttributes(escalate)).allowed) return
  const problem = problemOf(rights, request, rulesOf(object))
  if (problem) throw refusal(request, object, problem)
  if (!aggregates(object) && !(old && aggregates(old))) return
  if (problemOf(rights, request, FULL_AUTHORITY)) {
    throw refusal(request, object, 'must have cluster-admin privileges to use the aggregationRule')
  }
}

function aggregates(role: ApiObject): boolean {
  return list(role, 'aggregationRule', 'clusterRoleSelectors').length > 0
}

/** Guards RoleBindings and ClusterRoleBindings. */
export function guardBinding({ object, old, request }: GuardedWrite, rights: Rights): void {
  if (old && isOnlyForCollector(object, old)) return
  const { kind, name, apiGroup: group } = roleRefOf(object)
  const { user, namespace, resource } = request
  const bind = { user, verb: 'bind', group, version: '*', namespace, name }
  const isKnown = kind === 'Role' || kind === 'ClusterRole'
  const roles = kind === 'Role' ? 'roles' : 'clusterroles'
  if (isKnown && rights.decide(resourceAttributes({ ...bind, resource: roles })).allowed) return
  const rules = referencedRules(rights.roles, { kind, name }, namespace)
  // The real server names the resource of the request, not the role.
  if (typeof rules === 'string') throw notFound({ group: GROUP, plural: resource }, name)
  const problem = problemOf(rights, request, rules)
  if (problem) throw refusal(request, object, problem)
}

function problemOf(rights: Rights, { user, namespace }: Attributes, wanted: readonly PolicyRule[]): string | undefined {
  const granted = [...rulesFor(rights.roles, user, namespace)]
  const own = granted.flatMap((each) => typeof each === 'string' ? [] : each.rule)
  return escalationProblem(user, own, wanted)
}

function refusal({ resource }: Attributes, { metadata }: ApiObject, reason: string): StatusError {
  return forbidden({ group: GROUP, plural: resource }, metadata.name ?? '', reason)
}

/** Returns whether an update changes only what the garbage collector changes: owner references and finalizers. */
function isOnlyForCollector(object: ApiObject, old: ApiObject): boolean {
  return jsonEqual(withoutCollectorFields(object), withoutCollectorFields(old))
}

function withoutCollectorFields(object: ApiObject): JsonObject {
  const copy = clone(object)
  for (const field of ['ownerReferences', 'finalizers', 'managedFields', 'selfLink']) delete copy.metadata[field]
  return copy
}
