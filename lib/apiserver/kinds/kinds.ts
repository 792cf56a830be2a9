/** All built-in kinds: the stable versions that kube-apiserver serves by default. */
import type { Kind } from '../model/kinds.ts'
import { type GroupTable, kindsOf } from '../model/kind_table.ts'
import { ADMISSIONREGISTRATION } from './groups/admissionregistration.ts'
import { APIEXTENSIONS } from './groups/apiextensions.ts'
import { APIREGISTRATION } from './groups/apiregistration.ts'
import { APPS } from './groups/apps.ts'
import { AUTHENTICATION, AUTHORIZATION } from './groups/reviews.ts'
import { AUTOSCALING_V1, AUTOSCALING_V2 } from './groups/autoscaling.ts'
import { BATCH } from './groups/batch.ts'
import { CERTIFICATES } from './groups/certificates.ts'
import { COORDINATION } from './groups/coordination.ts'
import { CORE } from './groups/core.ts'
import { DISCOVERY } from './groups/discovery.ts'
import { EVENTS } from './groups/events.ts'
import { FLOWCONTROL } from './groups/flowcontrol.ts'
import { NETWORKING } from './groups/networking.ts'
import { NODE } from './groups/node.ts'
import { POLICY } from './groups/policy.ts'
import { RBAC } from './groups/rbac.ts'
import { RESOURCE } from './groups/resource.ts'
import { SCHEDULING } from './groups/scheduling.ts'
import { STORAGE } from './groups/storage.ts'

/** In the order of discovery, which kubectl follows to find a kind by its short name. */
const GROUPS: readonly GroupTable[] = [
  CORE,
  APIREGISTRATION,
  APPS,
  EVENTS,
  AUTHENTICATION,
  AUTHORIZATION,
  AUTOSCALING_V2,
  AUTOSCALING_V1,
  BATCH,
  CERTIFICATES,
  NETWORKING,
  POLICY,
  RBAC,
  STORAGE,
  ADMISSIONREGISTRATION,
  APIEXTENSIONS,
  SCHEDULING,
  COORDINATION,
  NODE,
  DISCOVERY,
  RESOURCE,
  FLOWCONTROL,
]

let kinds: readonly Kind[] | undefined

/** Returns all built-in kinds, in the order of discovery. All servers share them. */
export function builtinKinds(): readonly Kind[] {
  return kinds ??= GROUPS.flatMap(kindsOf)
}
