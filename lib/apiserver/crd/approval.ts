/** The approval of definitions in groups of the Kubernetes community, such as those of the Gateway API. */
import { isProtectedGroup } from '../../core/names.ts'
import { type ApiObject, at } from '../model/json.ts'
import { type Cause, fault } from '../model/status.ts'

const ANNOTATION = 'api-approved.kubernetes.io'
const FIELD = `metadata.annotations[${ANNOTATION}]`
const NEEDED = `protected groups must have approval annotation "${ANNOTATION}"`
const SEE = 'see https://github.com/kubernetes/enhancements/pull/1111'

interface Approval {
  readonly status: 'True' | 'False'
  readonly reason: 'MissingAnnotation' | 'UnapprovedAnnotation' | 'ApprovedAnnotation' | 'InvalidAnnotation'
  readonly message: string
}

/** Returns the state of a definition's approval; undefined if its group needs none. */
function approvalOf(crd: ApiObject): Approval | undefined {
  if (!isProtectedGroup(String(at(crd, 'spec', 'group') ?? ''))) return undefined
  const annotation = crd.metadata.annotations?.[ANNOTATION] ?? ''
  if (annotation === '') return { status: 'False', reason: 'MissingAnnotation', message: `${NEEDED}, ${SEE}` }
  if (annotation.startsWith('unapproved')) {
    const message = `not approved: ${JSON.stringify(annotation)}`
    return { status: 'False', reason: 'UnapprovedAnnotation', message }
  }
  if (/^[a-z][a-z\d+.-]*:\/\/[^/?#\s]/i.test(annotation) && URL.canParse(annotation)) {
    return { status: 'True', reason: 'ApprovedAnnotation', message: `approved in ${annotation}` }
  }
  const message = `${NEEDED} with either a URL or a reason starting with "unapproved", ${SEE}`
  return { status: 'False', reason: 'InvalidAnnotation', message }
}

/** Returns the condition of a definition's approval; undefined if its group needs none. */
export function approvalCondition(crd: ApiObject): Approval & { readonly type: string } | undefined {
  const approval = approvalOf(crd)
  return approval && { type: 'KubernetesAPIApprovalPolicyConformant', ...approval }
}

/** Returns the faults of a definition without a valid approval. An update may leave it as it was. */
export function approvalFaults(crd: ApiObject, old: ApiObject | undefined): Cause[] {
  const approval = approvalOf(crd)
  if (!approval || (old && approvalOf(old)?.reason === approval.reason)) return []
  if (approval.reason === 'MissingAnnotation') return [fault.required(FIELD, approval.message)]
  if (approval.reason !== 'InvalidAnnotation') return []
  return [fault.invalid(FIELD, crd.metadata.annotations?.[ANNOTATION] ?? '', approval.message)]
}
