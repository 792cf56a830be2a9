/** The conditions that a kubelet writes for a pod. */
import type { V1Container, V1Pod, V1PodCondition } from 'kubeloop/kinds'
import { instant } from './instant.ts'

/** What a status is made of. */
export interface PodMoment {
  readonly pod: V1Pod
  readonly nowMs: number
  /** The address of the pod. */
  readonly ip: string
  /** That of its node. */
  readonly hostIP: string
}

interface Facts {
  readonly isInitialized: boolean
  readonly isReady?: boolean
  /** Why it is not ready. Default: some containers are not. */
  readonly reason?: string
}

/** Returns the conditions of a pod: those of others stay. */
export function conditionsOf(
  { pod, nowMs }: PodMoment,
  { isInitialized, isReady = false, reason }: Facts,
): V1PodCondition[] {
  const known = pod.status?.conditions ?? []
  const names = (containers: readonly V1Container[] | undefined): string =>
    `[${containers?.map(({ name }) => name).join(' ')}]`
  const unready = reason
    ? { reason }
    : { reason: 'ContainersNotReady', message: `containers with unready status: ${names(pod.spec?.containers)}` }
  const closed = (pod.spec?.readinessGates ?? []).map(({ conditionType }) => conditionType)
    .filter((type) => !known.some((each) => each.type === type && each.status === 'True'))
  const gates = closed.map((type) =>
    known.some((each) => each.type === type)
      ? `the status of pod readiness gate "${type}" is not "True", but ${
        known.find((each) => each.type === type)!.status
      }`
      : `corresponding condition of pod readiness gate "${type}" does not exist.`
  )
  const gated = { reason: 'ReadinessGatesNotReady', message: gates.join(', ') }
  const uninitialized = {
    reason: 'ContainersNotInitialized',
    message: `containers with incomplete status: ${names(pod.spec?.initContainers)}`,
  }
  const wanted: readonly (readonly [string, boolean, object])[] = [
    ['PodReadyToStartContainers', !reason, {}],
    ['Initialized', isInitialized, isInitialized ? reason === 'PodCompleted' ? { reason } : {} : uninitialized],
    ['Ready', isReady && closed.length === 0, isReady ? closed.length === 0 ? {} : gated : unready],
    ['ContainersReady', isReady, isReady ? {} : unready],
  ]
  const own = wanted.map(([type, isTrue, why]): V1PodCondition => {
    const old = known.find((each) => each.type === type)
    const status = isTrue ? 'True' : 'False'
    const lastTransitionTime = old?.status === status ? old.lastTransitionTime : instant(nowMs)
    return { type, status, ...(lastTransitionTime && { lastTransitionTime }), ...why }
  })
  return [...known.filter(({ type }) => !own.some((each) => each.type === type)), ...own]
}
