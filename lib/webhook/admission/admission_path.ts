/** Paths of admission webhooks, as controller-runtime names them, so that its configurations fit. */
import type { AnyResource } from '../../core/resource.ts'

/** What a path's handler does. */
export type AdmissionPhase = 'mutate' | 'validate'

/** Returns a kind's path, such as `/mutate-apps-v1-deployment`. The core group is empty: `/validate--v1-pod`. */
export function admissionPath(phase: AdmissionPhase, { group, version, kind }: AnyResource): string {
  return `/${phase}-${group.replaceAll('.', '-')}-${version}-${kind.toLowerCase()}`
}
