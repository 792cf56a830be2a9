/** The rules of the subresources that write a part of a pod: ephemeralcontainers and resize. */
import { jsonEqual } from '../../../core/equal.ts'
import { type ApiObject, at, clone, isObject, type Json, type JsonObject } from '../../model/json.ts'
import type { PartRules } from '../../model/kinds.ts'
import { nameProblems } from '../../model/names.ts'
import { type Cause, fault } from '../../model/status.ts'
import { amountOf } from '../common/resources.ts'
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
type List = typeof LISTS[number]

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
function resized(pod: ApiObject, old: ApiObject, list: List): Json | undefined {
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

/** In the order of Go's type. */
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

const RESIZABLE: readonly string[] = ['cpu', 'memory']

function resizeFaults(pod: ApiObject, old: ApiObject, qosClass: (pod: ApiObject) => string): Cause[] {
  const faults = [...podSpecFaults((pod['spec'] ?? {}) as JsonObject, 'spec'), ...limitFaults(pod)]
  const before = String(at(old, 'status', 'qosClass') ?? qosClass(old))
  if (qosClass(pod) !== before) {
    faults.push(fault.invalid('spec', before, 'Pod QOS Class may not change as a result of resizing'))
  }
  const order = ['containers', 'initContainers'].flatMap((list) => orderFaults(pod, old, list as List))
  if (order.length > 0) return [...faults, ...order]
  for (const list of LISTS) {
    for (const [index, container] of containersOf(pod, list).entries()) {
      faults.push(...removalFaults(container, containersOf(old, list)[index]!, `spec.${list}[${index}].resources`))
    }
  }
  for (const list of LISTS) {
    for (const [index, container] of containersOf(pod, list).entries()) {
      if (jsonEqual(fixedResources(container), fixedResources(containersOf(old, list)[index]!))) continue
      faults.push(
        list === 'containers' ? fault.forbidden('spec', 'only cpu and memory resources are mutable') : fault.forbidden(
          `spec.${list}[${index}]`,
          'only cpu and memory resources for init or sidecar containers are mutable',
        ),
      )
    }
  }
  return faults
}

function orderFaults(pod: ApiObject, old: ApiObject, list: List): Cause[] {
  const before = containersOf(old, list)
  const after = containersOf(pod, list)
  if (before.length !== after.length) {
    return [fault.forbidden(`spec.${list}`, `${list} may not be added or removed on resize`)]
  }
  return before.flatMap(({ name }, index) =>
    after[index]!['name'] === name
      ? []
      : [fault.forbidden(`spec.${list}[${index}].name`, `${list} may not be renamed or reordered on resize`)]
  )
}

function amounts(container: JsonObject, kind: string): JsonObject {
  const value = at(container, 'resources', kind)
  return isObject(value) ? value : {}
}

function removalFaults(container: JsonObject, old: JsonObject, path: string): Cause[] {
  return ['requests', 'limits'].flatMap((kind) => {
    const after = amounts(container, kind)
    const isRemoved = Object.keys(amounts(old, kind)).some((name) => after[name] === undefined)
    return isRemoved ? [fault.forbidden(`${path}.${kind}`, `resource ${kind} cannot be removed`)] : []
  })
}

/** Returns the resources that a resize cannot change. */
function fixedResources(container: JsonObject): JsonObject {
  const rest = (kind: string): JsonObject =>
    Object.fromEntries(Object.entries(amounts(container, kind)).filter(([name]) => !RESIZABLE.includes(name)))
  return { requests: rest('requests'), limits: rest('limits'), claims: at(container, 'resources', 'claims') ?? null }
}

function limitFaults(pod: ApiObject): Cause[] {
  return LISTS.flatMap((list) =>
    containersOf(pod, list).flatMap((container, index) =>
      Object.entries(amounts(container, 'requests')).flatMap(([name, request]) => {
        const limit = amounts(container, 'limits')[name]
        if (limit === undefined || amountOf(request) <= amountOf(limit)) return []
        const problem = `must be less than or equal to ${name} limit of ${String(limit)}`
        return [fault.invalid(`spec.${list}[${index}].resources.requests`, request, problem)]
      })
    )
  )
}
