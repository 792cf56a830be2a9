/** The rules of CustomResourceDefinition objects: defaults, validation, deletion. */
import { prepareEngine } from '../cel/load.ts'
import { type ApiObject, at, isObject, type Json, type JsonObject, objectAt, put, str } from '../model/json.ts'
import type { Rules } from '../model/kinds.ts'
import { nameProblems } from '../model/names.ts'
import { type Cause, fault } from '../model/status.ts'
import { approvalFaults } from './approval.ts'
import { versionsFaults } from './versions.ts'
import { conversionDefaults, conversionFaults } from '../webhooks/rules.ts'
import { type Check, checked, type Checks, must, name, oneOf, required, unchanged, without } from '../model/checks.ts'

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

const label: Check = name('label1035')
const kindName: Check = without((text) => nameProblems(text.toLowerCase(), 'label1035'))

const SPEC: Checks = [
  [
    'group',
    required(),
    name('subdomain'),
    must((group) => String(group).includes('.'), 'should be a domain with at least one dot'),
  ],
  ['scope', required(), oneOf('Cluster', 'Namespaced')],
  ['names.plural', required(), label],
  ['names.singular', required(), label],
  ['names.kind', required(), kindName],
  [
    'names.listKind',
    required(),
    kindName,
    must((value, { kind }) => value !== kind, 'kind and listKind may not be the same'),
  ],
  ['names.shortNames[]', label],
  ['names.categories[]', label],
  ['preserveUnknownFields', must((value) => value !== true, 'set x-kubernetes-preserve-unknown-fields in the schema')],
]

function crdFaults(crd: ApiObject, old: ApiObject | undefined): Cause[] {
  const spec = objectAt(crd['spec'])
  const names = objectAt(spec['names'])
  const isNamed = old || crd.metadata.name === `${str(names, 'plural')}.${str(spec, 'group')}`
  return [
    ...(isNamed ? [] : [fault.invalid('metadata.name', crd.metadata.name, 'must be spec.names.plural+"."+spec.group')]),
    ...checked({ ...spec, names }, SPEC, 'spec'),
    ...versionsFaults(spec, old && (old['spec'] as JsonObject)),
    ...conversionFaults(spec['conversion']),
    ...storedVersionsFaults(crd, spec),
    ...approvalFaults(crd, old),
    ...unchanged(crd, old, 'spec.group', 'spec.scope', 'spec.names.plural', 'spec.names.kind'),
  ]
}
