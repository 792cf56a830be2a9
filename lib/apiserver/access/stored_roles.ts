/** Reads roles and bindings from the store. */
import { type ApiObject, isObject, type Json, type JsonObject } from '../model/json.ts'
import type { Store } from '../storage/store.ts'
import { DEFAULT_BINDINGS, DEFAULT_ROLES } from './default_roles.ts'
import type { Binding, PolicyRule, RoleRef, Roles } from '../model/rights.ts'

const GROUP = 'rbac.authorization.k8s.io'

/** Returns the stored roles and bindings, and the default ones that the store does not have. */
export function storedRoles(store: Store): Roles {
  return {
    clusterBindings() {
      const stored = store.list(`clusterrolebindings.${GROUP}`, '').map(bindingOf)
      const missing = DEFAULT_BINDINGS.filter(({ name }) => !store.get(`clusterrolebindings.${GROUP}`, name))
      return [...stored, ...missing]
    },
    bindings: (namespace) => store.list(`rolebindings.${GROUP}`, `${namespace}/`).map(bindingOf),
    clusterRole(name) {
      const stored = store.get(`clusterroles.${GROUP}`, name)
      return stored ? rulesOf(stored) : DEFAULT_ROLES.get(name)
    },
    role(namespace, name) {
      const stored = store.get(`roles.${GROUP}`, `${namespace}/${name}`)
      return stored && rulesOf(stored)
    },
  }
}

const bindings = new WeakMap<ApiObject, Binding>()

/** Returns a stored binding, parsed once. */
function bindingOf(object: ApiObject): Binding {
  let binding = bindings.get(object)
  if (!binding) {
    const ref = isObject(object['roleRef']) ? object['roleRef'] : {}
    const subjects = list(object['subjects']).map(({ kind, name, namespace }) => ({
      kind: text(kind),
      name: text(name),
      namespace: text(namespace),
    }))
    const roleRef: RoleRef = { kind: text(ref['kind']), name: text(ref['name']), apiGroup: text(ref['apiGroup']) }
    binding = { name: object.metadata.name!, subjects, roleRef }
    bindings.set(object, binding)
  }
  return binding
}

/** Returns the rules of a role object. */
export function rulesOf(role: ApiObject): readonly PolicyRule[] {
  return list(role['rules']) as unknown as readonly PolicyRule[]
}

function list(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

function text(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}
