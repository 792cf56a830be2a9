/** The rules of the subresources that write a part of a pod: ephemeralcontainers and resize. */
import { jsonEqual } from '../../../core/equal.ts'
import { type ApiObject, at, clone, isObject, type Json, type JsonObject } from '../../model/json.ts'
import type { PartRules } from '../../model/kinds.ts'
import { nameProblems } from '../../model/names.ts'
import { type Cause, fault } from '../../model/status.ts'
import { podSpecFaults } from './checks.ts'

/** Returns the rules. `qosClass` computes the class of a pod from its resources. */
export function podParts(qosClass: (pod: ApiObject) => string): Readonly<Record<string, PartRules>> {
  return {
    ephemeralcontainers: {
      prepare: (pod, old) => restoreBut(pod, old, { ephemeralContainers: at(pod, 'spec', 'ephemeralContainers') }),
      validate: (pod, old) => [...ephemeralFaults(pod), ...changeFaults(pod, old)],
    },
    resize: {
      prepare(pod, old) {
        const next: JsonObject = {}
        for (const list of LISTS) next[list] = resized(pod, old, list)
        restoreBut(pod, old, next)
      },
      validate: (pod, old) => resizeFaults(pod, old, qosClass),
    },
  }
}

const LISTS = ['initContainers', 'containers'] as const

/** Restores a pod but for some fields of its spec, in place. */
function restoreBut(pod: ApiObject, old: ApiObject, spec: JsonObject): void {
  const { managedFields, resourceVersion } = pod.metadata
  pod.metadata = clone(old.metadata)
  if (managedFields) pod.metadata.managedFields = managedFields
  else delete pod.metadata.managedFields
  if (resourceVersion) pod.metadata.resourceVersion = resourceVersion
  const next = clone((old['spec'] ?? {}) as JsonObject)
  for (const [name, value] of Object.entries(spec)) {
    if (value === undefined) delete next[name]
    else next[name] = value
  }
  pod['spec'] = next
  if (old['status'] === undefined) delete pod['status']
  else pod['status'] = clone(old['status'])
}

function containersOf(pod: ApiObject, list: string): JsonObject[] {
  const value = at(pod, 'spec', list)
  return Array.isArray(value) ? (value as Json[]).filter(isObject) : []
}

function namesOf(containers: readonly JsonObject[]): string {
  return JSON.stringify(containers.map(({ name }) => name))
}

/** Returns the old containers with the new resources; if the names differ, the new ones, which validation refuses. */
function resized(pod: ApiObject, old: ApiObject, list: string): Json | undefined {
  const before = containersOf(old, list)
  const after = containersOf(pod, list)
  if (namesOf(before) !== namesOf(after)) return at(pod, 'spec', list)
  if (before.length === 0) return at(old, 'spec', list)
  return before.map((container, index) => {
    const next = clone(container)
    for (const field of ['resources', 'resizePolicy']) {
      const value = after[index]![field]
      if (value === undefined) delete next[field]
      else next[field] = clone(value)
    }
    return next
  })
}

const FORBIDDEN_FIELDS: readonly string[] =
  'ports resources resizePolicy restartPolicy livenessProbe readinessProbe startupProbe lifecycle'.split(' ')
const NOT_EPHEMERAL = 'cannot be set for an Ephemeral Container'

function ephemeralFaults(pod: ApiObject): Cause[] {
  const faults: Cause[] = []
  const others = LISTS.flatMap((list) => containersOf(pod, list).map(({ name }) => String(name)))
  const names = new Set(others)
  for (const [index, container] of containersOf(pod, 'ephemeralContainers').entries()) {
    const path = `spec.ephemeralContainers[${index}]`
    const name = String(container['name'] ?? '')
    if (!name) faults.push(fault.required(`${path}.name`))
    else faults.push(...nameProblems(name, 'label').map((message) => fault.invalid(`${path}.name`, name, message)))
    if (!container['image']) faults.push(fault.required(`${path}.image`))
    if (name && names.has(name)) faults.push(fault.duplicate(`${path}.name`, name))
    names.add(name)
    const target = container['targetContainerName']
    if (target && !others.includes(String(target))) {
      const message = `Not found: ${JSON.stringify(target)}`
      faults.push({ reason: 'FieldValueNotFound', field: `${path}.targetContainerName`, message })
    }
    for (const field of FORBIDDEN_FIELDS) {
      if (isSet(container[field])) faults.push(fault.forbidden(`${path}.${field}`, NOT_EPHEMERAL))
    }
  }
  return faults
}

function isSet(value: Json | undefined): boolean {
  return value !== undefined && (!isObject(value) || Object.keys(value).length > 0)
}

function changeFaults(pod: ApiObject, old: ApiObject): Cause[] {
  const now = containersOf(pod, 'ephemeralContainers')
  return containersOf(old, 'ephemeralContainers').flatMap((before) => {
    const after = now.find(({ name }) => name === before['name'])
    if (after && jsonEqual(after, before)) return []
    const problem = `may not be ${after ? 'changed' : 'removed'}\n`
    const container = `existing ephemeral containers ${JSON.stringify(before['name'])}`
    return [fault.forbidden('spec.ephemeralContainers', `${container} ${problem}`)]
  })
}

function resizeFaults(pod: ApiObject, old: ApiObject, qosClass: (pod: ApiObject) => string): Cause[] {
  const faults = podSpecFaults((pod['spec'] ?? {}) as JsonObject, 'spec')
  const before = String(at(old, 'status', 'qosClass') ?? qosClass(old))
  if (qosClass(pod) !== before) {
    faults.push(fault.invalid('spec', before, 'Pod QOS Class may not change as a result of resizing'))
  }
  const changed = LISTS.filter((list) => namesOf(containersOf(pod, list)) !== namesOf(containersOf(old, list)))
  return [...faults, ...changed.map((list) => fault.forbidden(`spec.${list}`, 'containers may not change on resize'))]
}
