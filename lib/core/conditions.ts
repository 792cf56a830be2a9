/**
 * Conditions of a status, as meta/v1 Condition says them.
 *
 * @see https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/1623-standardize-conditions
 */

export interface Condition {
  /** What is true or not, such as `Ready`, or `example.dev/Ready`; one of each in a list. */
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  /** Why it is so, as a word for programs: `MinimumReplicasAvailable`. */
  readonly reason: string
  /** The same for people. */
  readonly message: string
  /** When `status` became what it is. RFC 3339, whole seconds. */
  readonly lastTransitionTime: string
  /** The `metadata.generation` that it was found true, or not, of. */
  readonly observedGeneration?: number | undefined
}

/** The patterns and lengths that Kubernetes' own kinds and kubebuilder's demand. */
export const TYPE: RegExp =
  /^([a-z\d]([-a-z\d]*[a-z\d])?(\.[a-z\d]([-a-z\d]*[a-z\d])?)*\/)?(([A-Za-z\d][-\w.]*)?[A-Za-z\d])$/
export const REASON: RegExp = /^[A-Za-z]([\w,:]*\w)?$/
export const MAX_TYPE = 316
export const MAX_REASON = 1024
export const MAX_MESSAGE = 32_768

/**
 * The list with this condition as it is now: a new list, or the same one when it says so already. `lastTransitionTime` moves when the
 * status does, and only then; the order stays, and a type that is new comes last. `nowMs`: milliseconds since 1970. A message is cut
 * at 32768 characters.
 *
 * @throws TypeError for a type or a reason that the API server would refuse.
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

/** An object whose status has conditions, our own or those of a built-in kind. */
export interface Conditioned<C> {
  readonly metadata?: { readonly generation?: number | undefined } | undefined
  readonly status?: { readonly conditions?: readonly C[] | undefined } | undefined
}

/** The condition of this type, if the object has one. */
export function condition<C extends { readonly type: string }>(object: Conditioned<C>, type: string): C | undefined {
  return object.status?.conditions?.find((each) => each.type === type)
}

/** Whether the condition is there, is `True`, and is not about an earlier generation of the object than this one. */
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

/** Characters as the server counts them, none cut in two. */
function cut(message: string): string {
  if (message.length <= MAX_MESSAGE) return message
  const characters = [...message]
  return characters.length <= MAX_MESSAGE ? message : `${characters.slice(0, MAX_MESSAGE - 1).join('')}…`
}

/** As metav1.Time writes an instant. */
function instant(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')
}
