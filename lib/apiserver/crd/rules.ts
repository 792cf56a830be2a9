/** The rules of CustomResourceDefinition objects: defaults, validation, deletion. */
import { type ApiObject, at, isObject, type Json, type JsonObject, put } from '../json.ts'
import type { Rules } from '../kinds.ts'
import type { Schema } from '../schema/schema.ts'
import { nameProblems } from '../storage/names.ts'
import { type Cause, fault } from '../http/status.ts'
import { defaultFaults } from './defaults.ts'
import { structuralFaults } from './structural.ts'
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
        put(
          crd['status'],
          'storedVersions',
          storedVersionsOf(crd, Array.isArray(before) ? before.map(String) : []),
        )
      }
    },
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
  if (typeof names['kind'] === 'string') {
    names['singular'] ||= names['kind'].toLowerCase()
    names['listKind'] ||= `${names['kind']}List`
  }
  conversionDefaults(spec)
}

function crdFaults(crd: ApiObject, old: ApiObject | undefined): Cause[] {
  const spec = (crd['spec'] ?? {}) as JsonObject
  const names = (isObject(spec['names']) ? spec['names'] : {}) as JsonObject
  return [
    ...nameFaults(crd, spec, names),
    ...namesFaults(names),
    ...versionsFaults(spec),
    ...scopeFaults(spec),
    ...conversionFaults(spec['conversion']),
    ...(old ? changeFaults(spec, old['spec'] as JsonObject) : []),
  ]
}

function nameFaults(crd: ApiObject, spec: JsonObject, names: JsonObject): Cause[] {
  const faults: Cause[] = []
  const group = String(spec['group'] ?? '')
  const required = `${String(names['plural'] ?? '')}.${group}`
  if (!group) faults.push(fault.required('spec.group'))
  else {
    faults.push(...nameProblems(group, 'subdomain').map((message) => fault.invalid('spec.group', group, message)))
    if (!group.includes('.')) {
      faults.push(fault.invalid('spec.group', group, 'should be a domain with at least one dot'))
    }
    if (isProtected(group) && !crd.metadata.annotations?.['api-approved.kubernetes.io']) {
      faults.push(
        fault.required(
          'metadata.annotations[api-approved.kubernetes.io]',
          'protected groups must have approval annotation "api-approved.kubernetes.io", ' +
            'see https://github.com/kubernetes/enhancements/pull/1111',
        ),
      )
    }
  }
  if (crd.metadata.name !== required) {
    faults.unshift(
      fault.invalid('metadata.name', crd.metadata.name, 'must be spec.names.plural+"."+spec.group'),
    )
  }
  return faults
}

function isProtected(group: string): boolean {
  return group === 'k8s.io' || group === 'kubernetes.io' || group.endsWith('.k8s.io') ||
    group.endsWith('.kubernetes.io')
}

function namesFaults(names: JsonObject): Cause[] {
  const faults: Cause[] = []
  const check = (name: string, value: Json | undefined): void => {
    if (!value) faults.push(fault.required(`spec.names.${name}`))
    else {
      const text = String(value)
      const problems = nameProblems(text.toLowerCase(), 'label1035')
      faults.push(...problems.map((message) => fault.invalid(`spec.names.${name}`, text, message)))
      if ((name === 'plural' || name === 'singular') && text !== text.toLowerCase()) {
        faults.push(
          fault.invalid(`spec.names.${name}`, text, 'must be lower case'),
        )
      }
    }
  }
  for (const name of ['plural', 'singular', 'kind', 'listKind']) check(name, names[name])
  if (names['kind'] && names['kind'] === names['listKind']) {
    faults.push(fault.invalid('spec.names.listKind', names['listKind'], 'kind and listKind may not be the same'))
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

function versionsFaults(spec: JsonObject): Cause[] {
  const versions = Array.isArray(spec['versions']) ? spec['versions'].filter(isObject) : []
  const faults: Cause[] = []
  if (versions.length === 0) faults.push(fault.required('spec.versions', 'must have at least one version'))
  const names = versions.map((version) => String(version['name'] ?? ''))
  if (new Set(names).size < names.length) {
    faults.push(fault.invalid('spec.versions', names, 'must contain unique version names'))
  }
  const stored = versions.filter((version) => version['storage'] === true).length
  if (versions.length > 0 && stored !== 1) {
    faults.push(fault.invalid('spec.versions', names, 'must have exactly one version marked as storage version'))
  }
  for (const [index, version] of versions.entries()) {
    const path = `spec.versions[${index}]`
    // The real server keeps the schema of a single version beside the versions, and reports it under that path.
    const schemaPath = versions.length === 1 ? 'spec.validation.openAPIV3Schema' : `${path}.schema.openAPIV3Schema`
    faults.push(
      ...nameProblems(names[index]!, 'label1035').map((message) =>
        fault.invalid(`${path}.name`, names[index], message)
      ),
    )
    const schema = at(version, 'schema', 'openAPIV3Schema')
    if (!isObject(schema)) faults.push(fault.required(`${path}.schema.openAPIV3Schema`))
    else {
      const wrong = structuralFaults(schema, schemaPath)
      faults.push(...(wrong.length > 0 ? wrong : defaultFaults(schema as unknown as Schema, schemaPath)))
    }
  }
  return faults
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
