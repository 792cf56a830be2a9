/** What is particular to CustomResourceDefinitions as objects. */
import { type ApiObject, at, isObject, type JsonObject, put } from '../json.ts'
import type { Rules } from '../kinds.ts'
import { crdFaults } from './check.ts'

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

/** Every version that objects may have been stored at. */
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
  spec['conversion'] ??= { strategy: 'None' }
}
