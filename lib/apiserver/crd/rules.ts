/** The rules of CustomResourceDefinition objects: defaults, validation, deletion. */
import { prepareEngine } from '../cel/load.ts'
import { type ApiObject, at, isObject, type Json, type JsonObject, put } from '../model/json.ts'
import type { Rules } from '../model/kinds.ts'
import { nameProblems } from '../model/names.ts'
import { type Cause, fault } from '../model/status.ts'
import { approvalFaults } from './approval.ts'
import { namesFaults } from './names.ts'
import { versionsFaults } from './versions.ts'
import { conversionDefaults, conversionFaults } from '../webhooks/rules.ts'

export const CLEANUP_FINALIZER = 'customresourcecleanup.apiextensions.k8s.io'

export const CRD_RULES: Readonly<Record<string, Partial<Rules>>> = {
  'customresourcedefinitions.apiextensions.k8s.io': {
    generation: true,
    defaults,
    prepareCreate(crd) {
      crd['status'] = {
        conditions: null,
        acceptedNames: { plural: '', kind: '' },
        storedVersions: storedVersionsOf(crd, []),
      }
    },
    prepareUpdate(crd, old) {
      const before = at(old, 'status', 'storedVersions')
      if (isObject(crd['status'])) {
        put(crd['status'], 'storedVersions', storedVersionsOf(crd, Array.isArray(before) ? before.map(String) : []))
      }
    },
    prepareRules: prepareEngine,
    validate: crdFaults,
    beginDelete(crd, nowIso) {
      crd.metadata.deletionTimestamp = nowIso
      crd.metadata.finalizers = [...new Set([...(crd.metadata.finalizers ?? []), CLEANUP_FINALIZER])]
      const status = isObject(crd['status']) ? crd['status'] : {}
      const conditions = Array.isArray(status['conditions']) ? status['conditions'] : []
      const message = 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon'
      const terminating = {
        type: 'Terminating',
        status: 'True',
        lastTransitionTime: nowIso,
        reason: 'InstanceDeletionPending',
        message,
      }
      crd['status'] = { ...status, conditions: [...conditions, terminating] }
    },
  },
}

/** Returns all versions that objects may be stored in. */
function storedVersionsOf(crd: ApiObject, before: readonly string[]): string[] {
  const storage = ((at(crd, 'spec', 'versions') ?? []) as JsonObject[]).find((version) => version['storage'] === true)
    ?.['name']
  return typeof storage === 'string' && !before.includes(storage) ? [...before, storage] : [...before]
}

function defaults(crd: ApiObject): void {
  const spec = crd['spec']
  if (!isObject(spec)) return
  const names = isObject(spec['names']) ? spec['names'] : {}
  if (typeof names['kind'] === 'string' && names['kind'] !== '') {
    names['singular'] ||= names['kind'].toLowerCase()
    names['listKind'] ||= `${names['kind']}List`
  }
  conversionDefaults(spec)
}

const PRESERVE = 'spec.preserveUnknownFields'
const PRESERVED =
  'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead'

/** Versions in which objects may be stored cannot be removed. */
function storedVersionsFaults(crd: ApiObject, spec: JsonObject): Cause[] {
  const path = 'status.storedVersions'
  const stored = ((at(crd, 'status', 'storedVersions') ?? []) as Json[]).map(String)
  if (stored.length === 0) return [fault.invalid(path, null, 'must have at least one stored version')]
  const versions = (Array.isArray(spec['versions']) ? spec['versions'] : []) as JsonObject[]
  const faults = versions.filter(({ name, storage }) => storage === true && !stored.includes(String(name)))
    .map(({ name }) => fault.invalid(path, stored, `must have the storage version ${String(name)}`))
  for (const [index, name] of stored.entries()) {
    if (versions.some((version) => version['name'] === name)) continue
    const detail = `missing from spec.versions; ${name} was previously a storage version, and must remain in ` +
      `spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from ` +
      path
    faults.push(fault.invalid(`${path}[${index}]`, name, detail))
  }
  return faults
}

function crdFaults(crd: ApiObject, old: ApiObject | undefined): Cause[] {
  const spec = (crd['spec'] ?? {}) as JsonObject
  const names = (isObject(spec['names']) ? spec['names'] : {}) as JsonObject
  return [
    ...nameFaults(crd, spec, names, old === undefined),
    ...scopeFaults(spec),
    ...versionsFaults(spec, old && (old['spec'] as JsonObject)),
    ...namesFaults(names),
    ...conversionFaults(spec['conversion']),
    ...(spec['preserveUnknownFields'] === true ? [fault.invalid(PRESERVE, true, PRESERVED)] : []),
    ...storedVersionsFaults(crd, spec),
    ...approvalFaults(crd, old),
    ...(old ? changeFaults(spec, old['spec'] as JsonObject) : []),
  ]
}

function nameFaults(crd: ApiObject, spec: JsonObject, names: JsonObject, isNew: boolean): Cause[] {
  const faults: Cause[] = []
  const group = String(spec['group'] ?? '')
  const required = `${String(names['plural'] ?? '')}.${group}`
  if (!group) faults.push(fault.required('spec.group'))
  else {
    faults.push(...nameProblems(group, 'subdomain').map((message) => fault.invalid('spec.group', group, message)))
    if (!group.includes('.')) {
      faults.push(fault.invalid('spec.group', group, 'should be a domain with at least one dot'))
    }
  }
  if (isNew && crd.metadata.name !== required) {
    faults.unshift(fault.invalid('metadata.name', crd.metadata.name, 'must be spec.names.plural+"."+spec.group'))
  }
  return faults
}

function scopeFaults(spec: JsonObject): Cause[] {
  const { scope } = spec
  if (!scope) return [fault.required('spec.scope')]
  return scope === 'Namespaced' || scope === 'Cluster'
    ? []
    : [fault.notSupported('spec.scope', scope, ['Cluster', 'Namespaced'])]
}

/** Returns faults for changes of immutable fields. */
function changeFaults(spec: JsonObject, old: JsonObject): Cause[] {
  const faults: Cause[] = []
  const fixed = (path: readonly string[]): void => {
    if (at(spec, ...path) !== at(old, ...path)) {
      faults.push(fault.invalid(`spec.${path.join('.')}`, at(spec, ...path), 'field is immutable'))
    }
  }
  fixed(['group'])
  fixed(['scope'])
  fixed(['names', 'plural'])
  fixed(['names', 'kind'])
  return faults
}
