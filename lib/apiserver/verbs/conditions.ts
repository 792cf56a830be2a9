/** Sets conditions in the status of objects. */
import { type ApiObject, type JsonObject, list, putAt } from '../model/json.ts'

export function conditionsOf(object: ApiObject): readonly JsonObject[] {
  return list(object, 'status', 'conditions')
}

/** Sets a condition, in place. The time of the transition changes with the status only. */
export function setCondition(object: ApiObject, condition: JsonObject & { type: string }, nowIso: string): void {
  const before = conditionsOf(object)
  const old = before.find((each) => each['type'] === condition.type)
  const { type, status, ...rest } = condition
  const next = {
    type,
    status,
    ...(old && 'lastProbeTime' in old || object.kind === 'Pod'
      ? { lastProbeTime: old?.['lastProbeTime'] ?? null }
      : {}),
    lastTransitionTime: old?.['status'] === status ? old?.['lastTransitionTime'] ?? nowIso : nowIso,
    ...rest,
  } as JsonObject
  putAt(object, ['status', 'conditions'], old ? before.map((each) => (each === old ? next : each)) : [...before, next])
}
