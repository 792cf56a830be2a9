/** Decides what a simulated node does next with a pod, and computes the statuses that a kubelet writes. */
import type {
  V1Container,
  V1ContainerState,
  V1ContainerStatus,
  V1Pod,
  V1PodCondition,
  V1PodStatus,
} from 'kubeloop/kinds'
import { instant } from '../../core/duration.ts'
import type { PodFailure, PodRule } from './pod_script.ts'

export interface PodTimes {
  /** From the start of a pod until it is Running and Ready. */
  readonly readyMs: number
  /** From then until a pod completes whose restart policy is not `Always`. */
  readonly completeMs: number
}

export const TIMES: PodTimes = { readyMs: 1000, completeMs: 1000 }

export interface PodSeen {
  readonly pod: V1Pod
  readonly nowMs: number
  /** The address of the pod. */
  readonly ip: string
  /** That of its node. */
  readonly hostIP: string
  readonly node: string
  /** Since when the pod has its phase. */
  readonly sinceMs: number
  readonly rule: PodRule | undefined
  readonly times: PodTimes
}

/** Containers with one of these reasons do not start. */
const NOT_STARTED: ReadonlySet<string> = new Set([
  ...['ErrImagePull', 'ImagePullBackOff', 'InvalidImageName', 'CreateContainerConfigError', 'CreateContainerError'],
])
/** A pod with one of these reasons fails as a whole, whatever its restart policy is. */
const OF_PODS: ReadonlySet<string> = new Set(['Evicted', 'NodeLost', 'NodeShutdown', 'DeadlineExceeded'])
/** The state of a container between two tries. */
const CRASHED = 'CrashLoopBackOff'

/**
 * What to do: nothing, write a status, `bind` the pod to the node, `remove` it without a grace period as its containers
 * have ended, or ask again after so many milliseconds.
 */
export type PodStep = undefined | V1PodStatus | 'bind' | 'remove' | number

/** Returns the next step. */
export function planPod(seen: PodSeen): PodStep {
  const { pod, node } = seen
  const { metadata: { deletionTimestamp }, spec, status } = pod
  if (!spec?.nodeName) {
    const isOurs = (spec?.schedulerName ?? 'default-scheduler') === 'default-scheduler' &&
      !spec?.schedulingGates?.length
    return isOurs && isPodActive(pod) ? 'bind' : undefined
  }
  if (spec.nodeName !== node) return undefined
  if (deletionTimestamp) return ending(seen, Date.parse(deletionTimestamp))
  if (isTerminal(pod)) return undefined
  return status?.phase === 'Running' ? running(seen) : starting(seen)
}

function ending(seen: PodSeen, untilMs: number): PodStep {
  const { pod, nowMs, rule } = seen
  const { finalizers, deletionGracePeriodSeconds } = pod.metadata
  const isOver = isTerminal(pod)
  const isHeld = rule?.does === 'hold'
  if (isHeld && untilMs > nowMs && !isOver) return untilMs - nowMs
  // What holds the pod needs its outcome.
  if (finalizers?.length && !isOver) return failedStatus(seen, { exitCode: isHeld ? 137 : 143 }, false)
  return deletionGracePeriodSeconds === 0 ? undefined : 'remove'
}

function starting(seen: PodSeen): PodStep {
  const { pod: { status }, nowMs, sinceMs, rule, times } = seen
  if (!status?.startTime) return pendingStatus(seen)
  if (rule?.does === 'hold') return undefined
  const leftMs = sinceMs + times.readyMs - nowMs
  if (leftMs > 0) return leftMs
  if (rule && NOT_STARTED.has(rule.reason ?? '')) {
    const isKnown = status.containerStatuses?.every((each) => each.state?.waiting?.reason === rule.reason)
    return isKnown ? undefined : pendingStatus(seen, rule)
  }
  return rule ? failed(seen, rule) : runningStatus(seen)
}

function running(seen: PodSeen): PodStep {
  const { pod, nowMs, sinceMs, rule, times } = seen
  const [first] = pod.status?.containerStatuses ?? []
  if (first?.state?.waiting?.reason === CRASHED) {
    const endedMs = Date.parse(first.lastState?.terminated?.finishedAt ?? '') || sinceMs
    const leftMs = endedMs + backoffMs(first.restartCount) - nowMs
    if (leftMs > 0) return leftMs
    return rule?.does === 'fail' ? failed(seen, rule) : runningStatus(seen)
  }
  // An image that cannot be pulled is of no consequence for containers that run.
  if (rule?.does === 'fail' && !NOT_STARTED.has(rule.reason ?? '')) return failed(seen, rule)
  const gated = gatedStatus(seen)
  if (isPodReady({ status: gated }) !== isPodReady(pod)) return gated
  if (rule?.does === 'hold' || restartPolicyOf(pod) === 'Always') return undefined
  const leftMs = sinceMs + times.completeMs - nowMs
  return leftMs > 0 ? leftMs : succeededStatus(seen)
}

function failed(seen: PodSeen, rule: PodRule & { readonly does: 'fail' }): V1PodStatus {
  return failedStatus(seen, rule, restartPolicyOf(seen.pod) !== 'Never' && !OF_PODS.has(rule.reason ?? ''))
}

const restartPolicyOf = ({ spec }: V1Pod): string => spec?.restartPolicy ?? 'Always'

type Stated = Pick<V1Pod, 'status'>

/** Returns since when a pod is Ready, in milliseconds; undefined if it is not. */
export function readySince({ status }: Stated): number | undefined {
  const ready = status?.conditions?.find(({ type, status }) => type === 'Ready' && status === 'True')
  return ready && Date.parse(ready.lastTransitionTime ?? '')
}

export const isPodReady = (pod: Stated): boolean => readySince(pod) !== undefined

export const isTerminal = ({ status }: Stated): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed'

/** Returns whether a pod counts as a replica: it neither has ended nor is being deleted. */
export const isPodActive = (pod: V1Pod): boolean => !pod.metadata.deletionTimestamp && !isTerminal(pod)

/** A workload whose pods are available when they are Ready for so long. */
interface Workload {
  readonly spec?: { readonly minReadySeconds?: number }
}

/** Returns the time until a pod is available; undefined if it is not Ready. */
function availableIn({ spec }: Workload, pod: V1Pod, nowMs: number): number | undefined {
  const sinceMs = readySince(pod)
  if (sinceMs === undefined) return undefined
  return !spec?.minReadySeconds ? 0 : Math.max(0, sinceMs + spec.minReadySeconds * 1000 - nowMs)
}

export function isAvailable(workload: Workload, pod: V1Pod, nowMs: number): boolean {
  return availableIn(workload, pod, nowMs) === 0
}

/** Returns the time until the next pod is available. Undefined if no pod waits for that. */
export function untilAvailable(workload: Workload, pods: readonly V1Pod[], nowMs: number): number | undefined {
  return soonest(pods.map((pod) => availableIn(workload, pod, nowMs)))
}

/** Returns the shortest of the times that are not over; undefined if there are none. */
export function soonest(times: readonly (number | undefined)[]): number | undefined {
  const left = times.filter((ms) => ms !== undefined && ms > 0) as number[]
  return left.length > 0 ? Math.min(...left) : undefined
}

/** Its containers are being created. With `failure` they cannot be. */
function pendingStatus(moment: PodSeen, failure: PodFailure = {}): V1PodStatus {
  const isInitialized = !moment.pod.spec?.initContainers?.length
  const { reason = isInitialized ? 'ContainerCreating' : 'PodInitializing', message } = failure
  const waiting = { reason, ...(message && { message }) }
  return statusIn('Pending', moment, { isInitialized }, (each, known) => containerStatus(each, { waiting }, known))
}

function runningStatus(moment: PodSeen): V1PodStatus {
  const running = { startedAt: instant(moment.nowMs) }
  return statusIn(
    'Running',
    moment,
    { isReady: true },
    (each, known) => containerStatus(each, { running }, known && { ...known, restartCount: nextCount(known) }),
  )
}

/** All its containers have ended, with code 0. */
function succeededStatus(moment: PodSeen): V1PodStatus {
  return statusIn('Succeeded', moment, { reason: 'PodCompleted' }, (each, known) => completed(moment, each, known))
}

/** Its containers have failed: they wait for their next start (`restarts`), or the pod has failed. */
function failedStatus(moment: PodSeen, failure: PodFailure, restarts: boolean): V1PodStatus {
  const { reason = 'Error', message } = failure
  const isWhole = OF_PODS.has(reason)
  const exitCode = failure.exitCode ?? (reason === 'OOMKilled' || isWhole ? 137 : 1)
  const finishedAt = instant(moment.nowMs)
  const status = statusIn(
    restarts ? 'Running' : 'Failed',
    moment,
    restarts ? {} : { reason: 'PodFailed' },
    (each, known) => {
      const startedAt = known?.state?.running?.startedAt ?? finishedAt
      const why = { reason: isWhole ? 'Error' : reason, ...(message && { message }) }
      const terminated = { exitCode, ...why, startedAt, finishedAt }
      if (!restarts) return containerStatus(each, { terminated }, known)
      const restartCount = nextCount(known)
      const wait = `back-off ${backoffMs(restartCount) / 1000}s restarting failed container=${each.name}`
      const next = { ...known!, restartCount, lastState: { terminated } }
      return containerStatus(each, { waiting: { reason: CRASHED, message: wait } }, next)
    },
  )
  return { ...status, ...(isWhole && { reason, message: message ?? `The pod was ended: ${reason}.` }) }
}

/** Returns how often a container has restarted once it has left a back-off. */
function nextCount(known: V1ContainerStatus | undefined): number {
  return (known?.restartCount ?? 0) + (known?.state?.waiting?.reason === CRASHED ? 1 : 0)
}

function backoffMs(restarts: number): number {
  return Math.min(10_000 * 2 ** restarts, 300_000)
}

/** Ready says whether the gates of a running pod are open. */
function gatedStatus(moment: PodSeen): V1PodStatus {
  return { ...moment.pod.status, conditions: conditionsOf(moment, { isReady: true }) }
}

/** `of` returns the status of a container; init containers have completed when the pod is not pending. */
function statusIn(
  phase: string,
  moment: PodSeen,
  facts: Facts,
  of: (container: V1Container, known: V1ContainerStatus | undefined) => V1ContainerStatus,
): V1PodStatus {
  const { pod: { metadata: { generation }, spec, status }, nowMs, ip, hostIP } = moment
  const { message: _message, reason: _reason, ...kept } = status ?? {}
  const all = [...status?.containerStatuses ?? [], ...status?.initContainerStatuses ?? []]
  const knownOf = ({ name }: V1Container): V1ContainerStatus | undefined => all.find((each) => each.name === name)
  const init =
    spec?.initContainers?.map((each) =>
      phase === 'Pending' || each.restartPolicy === 'Always'
        ? of(each, knownOf(each))
        : completed(moment, each, knownOf(each))
    ) ?? []
  const isNew = status?.startTime === undefined
  return {
    ...kept,
    ...(generation !== undefined && { observedGeneration: generation }),
    ...(isNew && { startTime: instant(nowMs), hostIP, hostIPs: [{ ip: hostIP }], podIP: ip, podIPs: [{ ip }] }),
    phase,
    conditions: conditionsOf(moment, facts),
    containerStatuses: spec?.containers.map((each) => of(each, knownOf(each))) ?? [],
    ...(init.length > 0 && { initContainerStatuses: init }),
  }
}

function containerStatus(
  { name, image = '' }: V1Container,
  state: V1ContainerState,
  known: V1ContainerStatus | undefined,
): V1ContainerStatus {
  const { restartCount = 0, lastState = {} } = known ?? {}
  const isRunning = state.running !== undefined
  const hasRun = isRunning || known?.imageID
  const ids = hasRun ? { imageID: image, containerID: `kubeloop://${name}-${restartCount}` } : { imageID: '' }
  return { name, image, ready: isRunning, started: isRunning, restartCount, state, lastState, ...ids }
}

/** An init container, or a container of a pod that completes. */
function completed(
  { pod, nowMs }: PodSeen,
  container: V1Container,
  known: V1ContainerStatus | undefined,
): V1ContainerStatus {
  if (known?.state?.terminated) return known
  const finishedAt = instant(nowMs)
  const startedAt = known?.state?.running?.startedAt ?? finishedAt
  const terminated = { exitCode: 0, reason: 'Completed', startedAt, finishedAt }
  const ready = pod.spec?.initContainers?.includes(container) ?? false
  return { ...containerStatus(container, { terminated }, { ...known, imageID: 'x' } as V1ContainerStatus), ready }
}

interface Facts {
  /** Default: true. */
  readonly isInitialized?: boolean
  /** Default: false. */
  readonly isReady?: boolean
  /** Why it is not ready. Default: some containers are not. */
  readonly reason?: string
}

/** Returns the conditions of a pod: those of others stay. */
function conditionsOf({ pod, nowMs }: PodSeen, { isInitialized = true, isReady = false, reason }: Facts) {
  const known = pod.status?.conditions ?? []
  const statusOf = (type: string): string | undefined => known.find((each) => each.type === type)?.status
  const names = (containers: readonly V1Container[] | undefined): string =>
    `[${containers?.map(({ name }) => name).join(' ')}]`
  const unready = reason
    ? { reason }
    : { reason: 'ContainersNotReady', message: `containers with unready status: ${names(pod.spec?.containers)}` }
  const gates = (pod.spec?.readinessGates ?? []).map(({ conditionType }) => conditionType)
    .filter((type) => statusOf(type) !== 'True').map((type) =>
      statusOf(type) === undefined
        ? `corresponding condition of pod readiness gate "${type}" does not exist.`
        : `the status of pod readiness gate "${type}" is not "True", but ${statusOf(type)}`
    )
  const gated = { reason: 'ReadinessGatesNotReady', message: gates.join(', ') }
  const uninitialized = {
    reason: 'ContainersNotInitialized',
    message: `containers with incomplete status: ${names(pod.spec?.initContainers)}`,
  }
  const wanted: readonly (readonly [string, boolean, object])[] = [
    ['PodReadyToStartContainers', !reason, {}],
    ['Initialized', isInitialized, isInitialized ? reason === 'PodCompleted' ? { reason } : {} : uninitialized],
    ['Ready', isReady && gates.length === 0, isReady ? gates.length === 0 ? {} : gated : unready],
    ['ContainersReady', isReady, isReady ? {} : unready],
  ]
  const own = wanted.map(([type, isTrue, why]): V1PodCondition => {
    const status = isTrue ? 'True' : 'False'
    const old = known.find((each) => each.type === type)
    const lastTransitionTime = old?.status === status ? old.lastTransitionTime : instant(nowMs)
    return { type, status, ...(lastTransitionTime && { lastTransitionTime }), ...why }
  })
  return [...known.filter(({ type }) => !own.some((each) => each.type === type)), ...own]
}
