/** All built-in kinds: the stable versions that kube-apiserver serves by default. */
import type { Kind } from '../model/kinds.ts'
import { type GroupTable, kindsOf } from '../model/kind_table.ts'
import { APPS, AUTOSCALING_V1, AUTOSCALING_V2, BATCH, POLICY } from './groups/workloads.ts'
import {
  ADMISSIONREGISTRATION,
  APIEXTENSIONS,
  APIREGISTRATION,
  AUTHENTICATION,
  AUTHORIZATION,
  CERTIFICATES,
  COORDINATION,
  DISCOVERY,
  EVENTS,
  FLOWCONTROL,
  NETWORKING,
  NODE,
  RBAC,
  RESOURCE,
  SCHEDULING,
  STORAGE,
} from './groups/others.ts'
import { CORE } from './groups/core.ts'

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
