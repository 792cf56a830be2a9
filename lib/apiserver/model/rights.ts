/** What roles allow, as far as the kinds of roles need to know. */
import type { Attributes } from './attributes.ts'

/** A rule of a role. */
export interface PolicyRule {
  readonly verbs: readonly string[]
  readonly apiGroups?: readonly string[]
  readonly resources?: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly nonResourceURLs?: readonly string[]
}

export interface Subject {
  readonly kind: string
  readonly name: string
  readonly namespace?: string
}

export interface RoleRef {
  readonly kind: string
  readonly name: string
  readonly apiGroup?: string
}

/** A binding of a role to subjects. */
export interface Binding {
  readonly name: string
  readonly subjects: readonly Subject[]
  readonly roleRef: RoleRef
}

/** The roles and bindings of a cluster. */
export interface Roles {
  clusterBindings(): readonly Binding[]
  bindings(namespace: string): readonly Binding[]
  /** Returns undefined if the role does not exist. */
  clusterRole(name: string): readonly PolicyRule[] | undefined
  role(namespace: string, name: string): readonly PolicyRule[] | undefined
}

/** Whether an action is allowed, and why. */
export interface Decision {
  readonly allowed: boolean
  /** The text of a real server: the binding that allows the action, or bindings of missing roles. May be empty. */
  readonly reason: string
}

/** The rights of users, as an object's rules ask for them. */
export interface Rights {
  readonly roles: Roles
  /** Returns whether an action is allowed by the stored roles. */
  decide(attributes: Attributes): Decision
}
