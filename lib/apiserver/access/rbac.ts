/** Decides by roles and bindings what users may do. Pure: reads the roles through an interface. */
import type { Attributes } from '../model/attributes.ts'
import { parseServiceAccount, type User } from '../model/user.ts'
import type { Binding, Decision, PolicyRule, RoleRef, Roles, Subject } from '../model/rights.ts'

interface Granted {
  readonly rule: PolicyRule
  /** Describes the binding. */
  source(): string
}

/** Decides whether any binding allows an action. */
export function decide(roles: Roles, attributes: Attributes): Decision {
  const problems = new Set<string>()
  for (const each of rulesFor(roles, attributes.user, attributes.namespace)) {
    if (typeof each === 'string') problems.add(each)
    else if (ruleAllows(each.rule, attributes)) return { allowed: true, reason: `RBAC: allowed by ${each.source()}` }
  }
  return { allowed: false, reason: problems.size > 0 ? `RBAC: ${aggregate(problems)}` : '' }
}

/** Joins messages like Go's aggregated errors. */
export function aggregate(messages: Iterable<string>): string {
  const all = [...messages]
  return all.length === 1 ? all[0]! : `[${all.join(', ')}]`
}

/** Yields the rules that apply to a user in a namespace (none: cluster-wide), and a message for each missing role. */
export function* rulesFor(roles: Roles, user: User, namespace: string): Generator<Granted | string> {
  for (const binding of roles.clusterBindings()) yield* rulesOf(roles, binding, user, '')
  if (!namespace) return
  for (const binding of roles.bindings(namespace)) yield* rulesOf(roles, binding, user, namespace)
}

function* rulesOf(roles: Roles, binding: Binding, user: User, namespace: string): Generator<Granted | string> {
  const subject = binding.subjects.find((each) => appliesTo(each, user, namespace))
  if (!subject) return
  const rules = referencedRules(roles, binding.roleRef, namespace)
  if (typeof rules === 'string') return yield rules
  for (const rule of rules) yield { rule, source: () => describe(binding, subject, namespace) }
}

/** Returns the rules of a role, or a message if it does not exist. */
export function referencedRules(roles: Roles, ref: RoleRef, namespace: string): readonly PolicyRule[] | string {
  const { kind, name } = ref
  if (kind !== 'Role' && kind !== 'ClusterRole') return `unsupported role reference kind: ${JSON.stringify(kind)}`
  const rules = kind === 'Role' ? roles.role(namespace, name) : roles.clusterRole(name)
  return rules ?? `${kind.toLowerCase()}.rbac.authorization.k8s.io ${JSON.stringify(name)} not found`
}

function appliesTo(subject: Subject, user: User, bindingNamespace: string): boolean {
  switch (subject.kind) {
    case 'User':
      return user.name === subject.name
    case 'Group':
      return user.groups.includes(subject.name)
    case 'ServiceAccount': {
      const account = parseServiceAccount(user.name)
      const namespace = subject.namespace || bindingNamespace
      return account !== undefined && account.name === subject.name && account.namespace === namespace
    }
    default:
      return false
  }
}

function describe({ name, roleRef }: Binding, subject: Subject, namespace: string): string {
  const kind = namespace ? 'RoleBinding' : 'ClusterRoleBinding'
  const own = namespace ? `${name}/${namespace}` : name
  const isAccount = subject.kind === 'ServiceAccount'
  const target = isAccount ? `${subject.name}/${subject.namespace || namespace}` : subject.name
  return `${kind} ${JSON.stringify(own)} of ${roleRef.kind} ${JSON.stringify(roleRef.name)} to ${subject.kind} ${
    JSON.stringify(target)
  }`
}

/** What one rule can allow. */
export type Right = Pick<Attributes, 'isResource' | 'verb' | 'path' | 'group' | 'resource' | 'subresource' | 'name'>

/** Returns whether a rule allows an action. */
export function ruleAllows(rule: PolicyRule, right: Right): boolean {
  const { isResource, verb, path, group, resource, subresource, name } = right
  if (!includes(rule.verbs, verb)) return false
  if (!isResource) return (rule.nonResourceURLs ?? []).some((url) => url === path || coversPath(url, path))
  const { apiGroups, resources, resourceNames } = rule
  const combined = subresource ? `${resource}/${subresource}` : resource
  return includes(apiGroups, group) &&
    (includes(resources, combined) || (subresource !== '' && !!resources?.includes(`*/${subresource}`))) &&
    (!resourceNames?.length || resourceNames.includes(name))
}

/** Returns whether a URL of a rule that ends with `*` covers a path. */
function coversPath(url: string, path: string): boolean {
  return url.endsWith('*') && path.startsWith(url.replace(/\*+$/, ''))
}

/** Returns whether a list of a rule, which may be missing, has a value or `*`. */
function includes(list: readonly string[] | null | undefined, value: string): boolean {
  return !!list && (list.includes('*') || list.includes(value))
}
