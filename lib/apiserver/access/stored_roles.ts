/** Reads roles and bindings from the store. */
import { type ApiObject, list, str } from '../model/json.ts'
import { remembered } from '../model/remembered.ts'
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
  return remembered(bindings, object, () => {
    const subjects = list(object, 'subjects').map((subject) => ({
      kind: str(subject, 'kind'),
      name: str(subject, 'name'),
      namespace: str(subject, 'namespace'),
    }))
    return { name: object.metadata.name!, subjects, roleRef: roleRefOf(object) }
  })
}

/** Returns the role that a binding object names. */
export function roleRefOf({ roleRef }: ApiObject): Required<RoleRef> {
  return { kind: str(roleRef, 'kind'), name: str(roleRef, 'name'), apiGroup: str(roleRef, 'apiGroup') }
}

/** Returns the rules of a role object. */
export function rulesOf(role: ApiObject): readonly PolicyRule[] {
  return list(role, 'rules') as unknown as readonly PolicyRule[]
}
