/** The admissions of an operator by their paths. */
import { jsonEqual } from '../../core/equal.ts'
import { type AnyResource, groupResourceOf, resourceId } from '../../core/resource.ts'
import {
  type AdmissionDescription as ConfiguredAdmission,
  checkAdmission,
} from '../../webhook/admission/admission_options.ts'
import { admissionPath, type AdmissionPhase } from '../../webhook/admission/admission_path.ts'
import type { AdmissionDescription, OperatorDescription } from '../description/description.ts'
import { rethrowAt } from '../description/places.ts'

export interface AdmissionGroup {
  readonly path: string
  readonly phase: AdmissionPhase
  readonly resource: AnyResource
  readonly members: AdmissionDescription[]
}

/** Returns the admissions by their paths, in the order of declaration. */
export function groupsOf({ admissions, conversions }: OperatorDescription): readonly AdmissionGroup[] {
  const groups = new Map<string, AdmissionGroup>()
  for (const admission of admissions) {
    const { resource, hooks, options, declaredAt } = admission
    for (const phase of ['mutate', 'validate'] as const) {
      if (!(phase === 'mutate' ? hooks.default : hooks.validate)) continue
      const base = admissionPath(phase, resource)
      rethrowAt(declaredAt, () => {
        checkAdmission({ resource, path: base, mutating: phase === 'mutate', options })
        if (phase === 'mutate' && options.matchPolicy !== 'Exact') refuseDefaultOfSpoke(resource, conversions)
      })
      // A webhook has one set of options, and two groups that differ by a dot and a dash have one path.
      const isOther = (group: AdmissionGroup | undefined): boolean =>
        !!group &&
        !(resourceId(group.resource) === resourceId(resource) && jsonEqual(group.members[0]!.options, options))
      let path = base
      for (let number = 2; isOther(groups.get(path)); number++) path = `${base}-${number}`
      const group = groups.get(path) ?? { path, phase, resource, members: [] }
      groups.set(path, group)
      group.members.push(admission)
    }
  }
  return [...groups.values()]
}

/** Throws if the API server would convert every write of the kind to a version that is not the hub, and back. */
function refuseDefaultOfSpoke(resource: AnyResource, conversions: OperatorDescription['conversions']): void {
  const { version, kind } = resource
  const id = groupResourceOf(resource)
  const spoke = conversions.find(({ from }) => from.version === version && groupResourceOf(from) === id)
  if (!spoke) return
  throw new TypeError(
    `Cannot configure the admission of ${kind}: with a default for ${version}, writes in all versions are converted to ` +
      `it and back, and lose what it cannot hold; declare it for the hub, ${spoke.hub.version}, or set ` +
      `matchPolicy: 'Exact', for writes in ${version} alone`,
  )
}

export function configured({ path, phase, resource, members }: AdmissionGroup): readonly ConfiguredAdmission[] {
  return members.map(({ options }) => ({ resource, path, mutating: phase === 'mutate', options }))
}
