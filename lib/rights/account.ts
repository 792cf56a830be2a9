/** The ServiceAccount of an operator and its roles, as objects. */
import { isDomainName, isNamespace } from '../core/names.ts'
import type { OperatorDescription } from '../operator/description/description.ts'
import type { RoleRules, Rule } from './rules.ts'

export const RBAC = 'rbac.authorization.k8s.io'

export interface AccountObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels?: Readonly<Record<string, string>>
  }
  readonly [field: string]: unknown
}

export function namespaceOf(
  { options: { name } }: OperatorDescription,
  { namespace }: { readonly namespace?: string | undefined } = {},
): string {
  return namespace ?? `${name}-system`
}

export function accountObjects(name: string, namespace: string, rules: RoleRules): AccountObject[] {
  const metadata = { name, namespace, labels: labelsOf(name) }
  return [{ apiVersion: 'v1', kind: 'ServiceAccount', metadata }, ...rolesOf(name, namespace, rules)]
}

/** Returns the ClusterRole and the Roles of an operator, each with its binding. `role`: their name. */
export function rolesOf(
  name: string,
  namespace: string,
  { everywhere, inNamespaces }: RoleRules,
  role: string = name,
): AccountObject[] {
  const metadata = { name: role, labels: labelsOf(name) }
  const account = { name, namespace }
  return [
    ...(everywhere.length > 0 ? boundRole('Cluster', metadata, everywhere, account) : []),
    ...[...inNamespaces].flatMap(([place, rules]) => boundRole('', { ...metadata, namespace: place }, rules, account)),
  ]
}

/** Returns a role, and its binding of the same name to a ServiceAccount. */
export function boundRole(
  prefix: 'Cluster' | '',
  metadata: AccountObject['metadata'],
  rules: readonly Rule[],
  account: { readonly name: string; readonly namespace: string },
): AccountObject[] {
  const [apiVersion, kind] = [`${RBAC}/v1`, `${prefix}Role`]
  const roleRef = { apiGroup: RBAC, kind, name: metadata.name }
  const subjects = [{ kind: 'ServiceAccount', ...account }]
  return [{ apiVersion, kind, metadata, rules }, { apiVersion, kind: `${kind}Binding`, metadata, roleRef, subjects }]
}

function labelsOf(name: string): Readonly<Record<string, string>> {
  return { 'app.kubernetes.io/name': name }
}

/** Returns whether a text is `NAMESPACE/NAME`, or a name alone. */
export function isAccount(text: string): boolean {
  const [name = '', namespace, ...more] = text.split('/').reverse()
  return more.length === 0 && isDomainName(name) && (namespace === undefined || isNamespace(namespace))
}
