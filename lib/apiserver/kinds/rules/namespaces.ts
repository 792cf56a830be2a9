/** The rules of namespaces. */
import { type ApiObject, at, clone, type Json, type JsonObject, size } from '../../model/json.ts'
import type { Rules } from '../../model/kinds.ts'
import { selectable } from '../../model/selectors.ts'

function labelByName({ metadata }: ApiObject): void {
  if (metadata.name) metadata.labels = { ...metadata.labels, 'kubernetes.io/metadata.name': metadata.name }
}

export const NAMESPACE_RULES: Partial<Rules> = {
  nameRule: 'label',
  defaults(namespace) {
    labelByName(namespace)
    const status = (namespace['status'] ??= {}) as JsonObject
    status['phase'] ||= 'Active'
  },
  prepareCreate(namespace) {
    // The defaults do not know a generated name.
    labelByName(namespace)
    const finalizers = (at(namespace, 'spec', 'finalizers') ?? []) as Json[]
    namespace['spec'] = { finalizers: [...new Set([...finalizers, 'kubernetes'])] }
    namespace['status'] = { phase: 'Active' }
  },
  prepareUpdate(namespace, old) {
    // Only /finalize changes the finalizers of the spec.
    namespace['spec'] = { finalizers: clone(at(old, 'spec', 'finalizers') ?? []) }
  },
  isHeld: (namespace) => size(at(namespace, 'spec', 'finalizers')) > 0,
  beginDelete(namespace, nowIso) {
    namespace.metadata.deletionTimestamp = nowIso
    namespace['status'] = { phase: 'Terminating' }
  },
  fields: selectable('status.phase'),
}
