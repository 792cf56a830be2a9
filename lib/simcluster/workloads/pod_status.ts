/** The statuses that a kubelet writes for a pod, without a kubelet. */
import type { V1Container, V1ContainerState, V1ContainerStatus, V1Pod, V1PodStatus } from 'kubeloop/kinds'
import { instant } from './instant.ts'
import { conditionsOf, type PodMoment } from './pod_conditions.ts'
import type { PodFailure } from './pod_script.ts'

/** Containers with one of these reasons do not start. */
export const NOT_STARTED: ReadonlySet<string> = new Set([
  ...['ErrImagePull', 'ImagePullBackOff', 'InvalidImageName', 'CreateContainerConfigError', 'CreateContainerError'],
])
/** A pod with one of these reasons fails as a whole, whatever its restart policy is. */
export const OF_PODS: ReadonlySet<string> = new Set(['Evicted', 'NodeLost', 'NodeShutdown', 'DeadlineExceeded'])
/** The state of a container between two tries. */
export const CRASHED = 'CrashLoopBackOff'

/** Its containers are being created. With `failure` they cannot be. */
export function pendingStatus(moment: PodMoment, failure?: PodFailure): V1PodStatus {
  const { spec, status } = moment.pod
  const waits = spec?.initContainers?.length ? 'PodInitializing' : 'ContainerCreating'
  const { reason = waits, message } = failure ?? {}
  const waiting = { waiting: { reason, ...(message && { message }) } }
  return {
    ...common(moment),
    phase: 'Pending',
    conditions: conditionsOf(moment, { isInitialized: !spec?.initContainers?.length }),
    ...statusesOf(moment.pod, (each) => containerStatus(each, waiting, statusOf(status, each))),
  }
}

/** All its containers run. `restarts`: they have ended before. */
export function runningStatus(moment: PodMoment): V1PodStatus {
  const { pod, nowMs } = moment
  const running = { running: { startedAt: instant(nowMs) } }
  return {
    ...common(moment),
    phase: 'Running',
    conditions: conditionsOf(moment, { isInitialized: true, isReady: true }),
    ...statusesOf(pod, (each, isInit) => {
      if (isInit && each.restartPolicy !== 'Always') return completed(moment, each)
      const known = statusOf(pod.status, each)
      const restarted = known?.state?.waiting?.reason === CRASHED ? 1 : 0
      return containerStatus(each, running, known && { ...known, restartCount: known.restartCount + restarted })
    }),
  }
}

/** All its containers have ended, with code 0. */
export function succeededStatus(moment: PodMoment): V1PodStatus {
  return {
    ...common(moment),
    phase: 'Succeeded',
    conditions: conditionsOf(moment, { isInitialized: true, reason: 'PodCompleted' }),
    ...statusesOf(moment.pod, (each) => completed(moment, each)),
  }
}

/** Its containers have failed: they wait for their next start (`restarts`), or the pod has failed. */
export function failedStatus(moment: PodMoment, failure: PodFailure, restarts: boolean): V1PodStatus {
  const { pod, nowMs } = moment
  const { reason = 'Error', message } = failure
  const isWhole = OF_PODS.has(reason)
  const exitCode = failure.exitCode ?? (reason === 'OOMKilled' || isWhole ? 137 : 1)
  const finishedAt = instant(nowMs)
  return {
    ...common(moment),
    phase: restarts ? 'Running' : 'Failed',
    ...(isWhole && { reason, message: message ?? `The pod was ended: ${reason}.` }),
    conditions: conditionsOf(moment, { isInitialized: true, ...(!restarts && { reason: 'PodFailed' }) }),
    ...statusesOf(pod, (each, isInit) => {
      if (isInit && each.restartPolicy !== 'Always') return completed(moment, each)
      const known = statusOf(pod.status, each)
      const again = known?.state?.waiting?.reason === CRASHED ? 1 : 0
      const startedAt = known?.state?.running?.startedAt ?? finishedAt
      const ended = { exitCode, reason: isWhole ? 'Error' : reason, ...(message && { message }), startedAt, finishedAt }
      const { restartCount = 0 } = known ?? {}
      if (!restarts) return containerStatus(each, { terminated: ended }, known)
      const wait = `back-off ${backoffMs(restartCount + again) / 1000}s restarting failed container=${each.name}`
      const next = { ...known!, restartCount: restartCount + again, lastState: { terminated: ended } }
      return containerStatus(each, { waiting: { reason: CRASHED, message: wait } }, next)
    }),
  }
}

/** Returns how long containers wait after so many restarts. */
export function backoffMs(restarts: number): number {
  return Math.min(10_000 * 2 ** restarts, 300_000)
}

/** Ready says whether the gates of a running pod are open. Returns the same conditions if nothing changes. */
export function gatedStatus(moment: PodMoment): V1PodStatus {
  return { ...moment.pod.status, conditions: conditionsOf(moment, { isInitialized: true, isReady: true }) }
}

function common({ pod: { metadata, status }, nowMs, ip, hostIP }: PodMoment): V1PodStatus {
  const { message: _message, reason: _reason, ...kept } = status ?? {}
  const isNew = status?.startTime === undefined
  const { generation } = metadata
  return {
    ...kept,
    ...(generation !== undefined && { observedGeneration: generation }),
    ...(isNew && { startTime: instant(nowMs), hostIP, hostIPs: [{ ip: hostIP }], podIP: ip, podIPs: [{ ip }] }),
  }
}

function statusOf(status: V1PodStatus | undefined, { name }: V1Container): V1ContainerStatus | undefined {
  return [...status?.containerStatuses ?? [], ...status?.initContainerStatuses ?? []].find((each) => each.name === name)
}

function statusesOf(
  { spec }: V1Pod,
  of: (container: V1Container, isInit: boolean) => V1ContainerStatus,
): Pick<V1PodStatus, 'containerStatuses' | 'initContainerStatuses'> {
  const init = spec?.initContainers?.map((each) => of(each, true)) ?? []
  return {
    containerStatuses: spec?.containers.map((each) => of(each, false)) ?? [],
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
function completed({ pod, nowMs }: PodMoment, container: V1Container): V1ContainerStatus {
  const known = statusOf(pod.status, container)
  if (known?.state?.terminated) return known
  const finishedAt = instant(nowMs)
  const startedAt = known?.state?.running?.startedAt ?? finishedAt
  const terminated = { exitCode: 0, reason: 'Completed', startedAt, finishedAt }
  const isInit = pod.spec?.initContainers?.includes(container) ?? false
  return {
    ...containerStatus(container, { terminated }, { ...known, imageID: 'x' } as V1ContainerStatus),
    ready: isInit,
  }
}
