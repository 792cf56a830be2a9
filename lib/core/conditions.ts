/** Conditions of a status. */
import { instant } from './duration.ts'

/**
 * A condition: meta/v1 Condition.
 *
 * @see https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/1623-standardize-conditions
 */
export interface Condition {
  /** Such as `Ready` or `example.dev/Ready`. A list has one condition of each type. */
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  /** The reason as one word for programs: `MinimumReplicasAvailable`. */
  readonly reason: string
  /** The reason as a sentence for people. */
  readonly message: string
  /** The time of the last change of `status`. RFC 3339, whole seconds. */
  readonly lastTransitionTime: string
  /** The `metadata.generation` that the condition was set for. */
  readonly observedGeneration?: number | undefined
}

/** Patterns and lengths of meta/v1 Condition, which built-in kinds and kubebuilder use. */
export const TYPE: RegExp =
  /^([a-z\d]([-a-z\d]*[a-z\d])?(\.[a-z\d]([-a-z\d]*[a-z\d])?)*\/)?(([A-Za-z\d][-\w.]*)?[A-Za-z\d])$/
/** What the reason of a condition must match. */
export const REASON: RegExp = /^[A-Za-z]([\w,:]*\w)?$/
/** The longest type of a condition, in characters. */
export const MAX_TYPE = 316
/** The longest reason of a condition, in characters. */
export const MAX_REASON = 1024
/** The longest message of a condition, in characters. */
export const MAX_MESSAGE = 32_768

/**
 * Returns the list with this condition set: a new list, or the same one if nothing changes. `lastTransitionTime`
 * changes only with the status. The order stays; a new type is appended. `nowMs`: milliseconds since 1970. A message is
 * cut at 32768 characters.
 *
 * @throws TypeError if the API server would refuse the type or the reason.
 */
export function setCondition(
  conditions: readonly Condition[] | undefined,
  wanted: Omit<Condition, 'lastTransitionTime'>,
  nowMs: number,
): readonly Condition[] {
  check(wanted)
  const known = conditions?.find(({ type }) => type === wanted.type)
  const { type, status, reason, observedGeneration } = wanted
  const message = cut(wanted.message)
  const isSame = known?.status === status && known.reason === reason && known.message === message &&
    known.observedGeneration === observedGeneration
  if (conditions && isSame) return conditions
  const lastTransitionTime = known?.status === status ? known.lastTransitionTime : instant(nowMs)
  const observed = observedGeneration === undefined ? {} : { observedGeneration }
  const next: Condition = { type, status, reason, message, lastTransitionTime, ...observed }
  return known ? conditions!.map((each) => (each === known ? next : each)) : [...(conditions ?? []), next]
}

/** Returns the list without the condition of this type: a new list, or the same one if it has none. */
export function remove<C extends { readonly type: string }>(
  conditions: readonly C[] | undefined,
  type: string,
): readonly C[] {
  const kept = conditions?.filter((each) => each.type !== type) ?? []
  return kept.length === conditions?.length ? conditions : kept
}

/** An object with conditions in its status, of a custom or a built-in kind. */
export interface Conditioned<C> {
  readonly metadata?: { readonly generation?: number | undefined } | undefined
  readonly status?: { readonly conditions?: readonly C[] | undefined } | undefined
}

/** Returns the condition of this type, or undefined. */
export function condition<C extends { readonly type: string }>(object: Conditioned<C>, type: string): C | undefined {
  return object.status?.conditions?.find((each) => each.type === type)
}

/** Tests whether the condition exists, is `True`, and is not of an earlier generation of the object. */
export function isTrue(
  object: Conditioned<
    { readonly type: string; readonly status: string; readonly observedGeneration?: number | undefined }
  >,
  type: string,
): boolean {
  const found = condition(object, type)
  const generation = object.metadata?.generation
  const isStale = found?.observedGeneration !== undefined && generation !== undefined &&
    found.observedGeneration < generation
  return found?.status === 'True' && !isStale
}

function check({ type, reason }: Pick<Condition, 'type' | 'reason'>): void {
  if (type.length > MAX_TYPE || !TYPE.test(type)) {
    throw new TypeError(`Cannot set the condition "${type}": a type is a name such as "Ready" or "example.dev/Ready"`)
  }
  if (reason.length > MAX_REASON || !REASON.test(reason)) {
    throw new TypeError(
      `Cannot set the condition "${type}" for the reason "${reason}": a reason is a word such as "ScaledUp"`,
    )
  }
}

/** Counts characters as the server does, and never cuts a surrogate pair. */
function cut(message: string): string {
  if (message.length <= MAX_MESSAGE) return message
  const characters = [...message]
  return characters.length <= MAX_MESSAGE ? message : `${characters.slice(0, MAX_MESSAGE - 1).join('')}…`
}
