/** The rules of the subresources that write a part of a pod: ephemeralcontainers and resize. */
import type { PartRules } from '../../model/kinds.ts'
import { podSpecFaults } from './checks.ts'
import { jsonEqual } from '../../../core/equal.ts'
import { checked, type Checks, ifSet, name, required, unset } from '../../model/checks.ts'
import {
  type ApiObject,
  at,
  clone,
  type Json,
  type JsonObject,
  list,
  objectAt,
  restoreField,
  str,
} from '../../model/json.ts'
import { type Cause, fault } from '../../model/status.ts'

export const POD_PARTS: Readonly<Record<string, PartRules>> = {
  ephemeralcontainers: {
    prepare: (pod, old) => restoreBut(pod, old, { ephemeralContainers: at(pod, 'spec', 'ephemeralContainers') }),
    validate: (pod, old) => [...ephemeralFaults(pod), ...changeFaults(pod, old)],
  },
  resize: {
    prepare: (pod, old) =>
      restoreBut(pod, old, Object.fromEntries(LISTS.map((field) => [field, resized(pod, old, field)]))),
    validate: (pod, old) => [
      ...podSpecFaults(objectAt(pod['spec']), 'spec'),
      ...LISTS.filter((field) => namesOf(pod, field) !== namesOf(old, field))
        .map((field) => fault.forbidden(`spec.${field}`, 'containers may not change on resize')),
    ],
  },
}

const LISTS = ['initContainers', 'containers'] as const

/** Restores a pod but for some fields of its spec, in place. */
function restoreBut(pod: ApiObject, old: ApiObject, spec: JsonObject): void {
  const { managedFields, resourceVersion } = pod.metadata
  pod.metadata = clone(old.metadata)
  Object.assign(pod.metadata, resourceVersion && { resourceVersion })
  if (managedFields) pod.metadata.managedFields = managedFields
  else delete pod.metadata.managedFields
  const next = clone(objectAt(old['spec']))
  for (const name of Object.keys(spec)) restoreField(next, spec, name)
  pod['spec'] = next
  restoreField(pod, old, 'status')
}

function namesOf(pod: ApiObject, field: string): string {
  return JSON.stringify(list(pod, 'spec', field).map(({ name }) => name))
}

/** Returns the old containers with the new resources; if the names differ, the new ones, which validation refuses. */
function resized(pod: ApiObject, old: ApiObject, field: string): Json | undefined {
  const [before, after] = [list(old, 'spec', field), list(pod, 'spec', field)]
  if (namesOf(old, field) !== namesOf(pod, field)) return at(pod, 'spec', field)
  if (before.length === 0) return at(old, 'spec', field)
  return before.map((container, index) => {
    const next = clone(container)
    for (const name of ['resources', 'resizePolicy']) restoreField(next, after[index]!, name)
    return next
  })
}

const FORBIDDEN_FIELDS: readonly string[] =
  'ports resources resizePolicy restartPolicy livenessProbe readinessProbe startupProbe lifecycle'.split(' ')

const EPHEMERAL: Checks = [
  ['name', required(), name('label')],
  ['image', required()],
  ...FORBIDDEN_FIELDS.map((field) => [field, ifSet(unset('cannot be set for an Ephemeral Container'))] as const),
]

function ephemeralFaults(pod: ApiObject): Cause[] {
  const others = LISTS.flatMap((field) => list(pod, 'spec', field).map((each) => str(each, 'name')))
  const names = new Set(others)
  return list(pod, 'spec', 'ephemeralContainers').flatMap((container, index) => {
    const path = `spec.ephemeralContainers[${index}]`
    const [own, target] = [str(container, 'name'), str(container, 'targetContainerName')]
    const isKnown = own !== '' && names.has(own)
    names.add(own)
    return [
      ...checked(container, EPHEMERAL, path),
      ...(isKnown ? [fault.duplicate(`${path}.name`, own)] : []),
      ...(target && !others.includes(target) ? [fault.notFound(`${path}.targetContainerName`, target)] : []),
    ]
  })
}

function changeFaults(pod: ApiObject, old: ApiObject): Cause[] {
  const now = list(pod, 'spec', 'ephemeralContainers')
  return list(old, 'spec', 'ephemeralContainers')
    .filter((before) => !now.some((after) => jsonEqual(after, before)))
    .map(({ name }) => fault.forbidden('spec.ephemeralContainers', `${String(name)} may not be changed or removed`))
}
