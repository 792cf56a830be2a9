/** The rules of namespaces. */
import { type ApiObject, at, clone, isObject, type JsonObject } from '../../model/json.ts'
import { fault } from '../../model/status.ts'
import type { Rules } from '../../model/kinds.ts'
import { type Check, checked, qualified } from '../common/checks.ts'

const STANDARD = ['kubernetes', 'orphan', 'foregroundDeletion']

/** The server's path lacks the index. */
const finalizer: Check = (value, path, parent) => {
  const place = path.replace(/\[\d+\]$/, '')
  const faults = [...qualified(value, place, parent)]
  if (!STANDARD.includes(String(value)) && !String(value).includes('/')) {
    const detail = 'name is neither a standard finalizer name nor is it fully qualified'
    faults.push(fault.invalid(place, value, detail))
  }
  return faults
}

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
    const spec = isObject(namespace['spec']) ? namespace['spec'] : {}
    const finalizers = Array.isArray(spec['finalizers']) ? spec['finalizers'] : []
    namespace['spec'] = {
      ...spec,
      finalizers: finalizers.includes('kubernetes') ? finalizers : [...finalizers, 'kubernetes'],
    }
    namespace['status'] = { phase: 'Active' }
  },
  prepareUpdate(namespace, old) {
    // Only /finalize changes the finalizers of the spec.
    const spec = isObject(namespace['spec']) ? namespace['spec'] : {}
    namespace['spec'] = { ...spec, finalizers: clone(at(old, 'spec', 'finalizers') ?? []) }
  },
  isHeld(namespace) {
    const finalizers = at(namespace, 'spec', 'finalizers')
    return Array.isArray(finalizers) && finalizers.length > 0
  },
  beginDelete(namespace, nowIso) {
    namespace.metadata.deletionTimestamp = nowIso
    namespace['status'] = { phase: 'Terminating' }
  },
  validateStatus({ metadata, status }) {
    const isDeleted = metadata.deletionTimestamp !== undefined
    const [phase, only] = [at(status, 'phase'), isDeleted ? 'Terminating' : 'Active']
    if (phase === only) return []
    const detail = `may only be '${only}' if \`deletionTimestamp\` is ${isDeleted ? 'not ' : ''}empty`
    return [fault.invalid('status.Phase', phase ?? '', detail)]
  },
  validate: (namespace) => checked(namespace, [['spec.finalizers[]', finalizer]]),
  fields: (namespace) => ({ 'status.phase': String(at(namespace, 'status', 'phase') ?? '') }),
}
