/** Runs StatefulSets: pods with names, volumes and an order. */
import type { Client, Operator } from 'kubeloop'
import {
  ControllerRevision,
  Pod,
  StatefulSet,
  type V1ControllerRevision,
  type V1Pod,
  type V1StatefulSet,
  type V1StatefulSetStatus,
} from 'kubeloop/kinds'
import { createClaims, keepClaims } from './claims.ts'
import { revise, templateOf, truncate } from './controller_revisions.ts'
import { adopters, claim, podsByOwner } from './owned.ts'
import { changePods, createPod, nextLook } from './pod_changes.ts'
import { isAvailable, isPodReady, isTerminal, untilAvailable } from './pod_plan.ts'

const REVISION_LABEL = 'controller-revision-hash'

export function addStatefulSets(app: Operator): void {
  app.controllerFor(StatefulSet, { name: 'statefulset', fieldManager: 'kube-controller-manager', concurrency: 5 })
    .owns(Pod)
    .owns(ControllerRevision)
    .watches(Pod, (pod, { client }) => adopters(client, StatefulSet, pod))
    .reconcile(async (set, { client, clock, events }) => {
      const pods = await claim(client, podsByOwner, set)
      const { update, all } = await revise(client, set, 'controller.kubernetes.io/hash')
      const current = all.find(({ metadata }) => metadata.name === set.status?.currentRevision) ?? update
      const names = { current: current.metadata.name, update: update.metadata.name }
      const seen = { set, pods, nowMs: clock.now(), ...names }
      for (const pod of set.metadata.deletionTimestamp ? [] : pods) {
        await keepClaims(client, set, pod, !ordinalsOf(set).includes(ordinalOf(set, pod)))
      }
      const { create, remove } = planStatefulSet(seen)
      const changes = {
        create: create.map(({ ordinal, revision }) => ({
          name: `${set.metadata.name}-${ordinal}`,
          make: () => createMember(client, set, ordinal, revision === names.current ? current : update),
        })),
        remove,
      }
      const textOf = (verb: string, name: string, why?: string): string =>
        `${verb.toLowerCase()} Pod ${name} in StatefulSet ${set.metadata.name} ${
          why ? `failed error: ${why}` : 'successful'
        }`
      const changed = await changePods({ client, events }, set, changes, pods, textOf)
      if (!changed) return undefined
      const { counted, failure } = changed
      await client.setStatus(StatefulSet, set, statusOfStateful({ ...seen, pods: counted }))
      const used = new Set([names.current, names.update, ...pods.map(revisionOf)])
      await truncate(client, all, ({ metadata }) => used.has(metadata.name), set.spec?.revisionHistoryLimit)
      return nextLook(untilAvailable(set, pods, seen.nowMs), failure)
    })
}

/** Creates a pod, before that the claims of its volumes that are missing. */
async function createMember(
  client: Client,
  set: V1StatefulSet,
  ordinal: number,
  revision: V1ControllerRevision,
): Promise<V1Pod> {
  const { metadata: { name: setName }, spec } = set
  const name = `${setName}-${ordinal}`
  const volumes = await createClaims(client, set, name)
  const template = templateOf(revision)
  volumes.push(...template.spec?.volumes?.filter((each) => !volumes.some(({ name }) => name === each.name)) ?? [])
  const labels = {
    ...template.metadata?.labels,
    'statefulset.kubernetes.io/pod-name': name,
    'apps.kubernetes.io/pod-index': String(ordinal),
    [REVISION_LABEL]: revision.metadata.name,
  }
  return await createPod(client, set, template, { name, generateName: undefined, labels }, {
    ...(volumes.length > 0 && { volumes }),
    hostname: name,
    ...(spec?.serviceName && { subdomain: spec.serviceName }),
  })
}

interface StatefulSeen {
  readonly set: V1StatefulSet
  readonly pods: readonly V1Pod[]
  /** The names of the revisions. */
  readonly current: string
  readonly update: string
  readonly nowMs: number
}

/** Returns the ordinal of a pod of the set, or -1. */
function ordinalOf({ metadata }: V1StatefulSet, pod: V1Pod): number {
  const { name } = pod.metadata
  const ordinal = name.slice(metadata.name.length + 1)
  return name.startsWith(`${metadata.name}-`) && /^\d+$/.test(ordinal) ? Number(ordinal) : -1
}

function ordinalsOf({ spec }: V1StatefulSet): readonly number[] {
  return Array.from({ length: spec?.replicas ?? 1 }, (_, at) => (spec?.ordinals?.start ?? 0) + at)
}

const isEnding = ({ metadata }: V1Pod): boolean => metadata.deletionTimestamp !== undefined
const isRunning = (pod: V1Pod): boolean => pod.status?.phase === 'Running' && isPodReady(pod)
const revisionOf = ({ metadata }: V1Pod): string | undefined => metadata.labels?.[REVISION_LABEL]

/** Returns what to do now. Each change of a pod leads to another call. */
function planStatefulSet({ set, pods, current, update, nowMs }: StatefulSeen) {
  const { metadata, spec, status } = set
  const start = spec?.ordinals?.start ?? 0
  const isOrdered = spec?.podManagementPolicy !== 'Parallel'
  const { type = 'RollingUpdate', rollingUpdate } = spec?.updateStrategy ?? {}
  const isDone = (pod: V1Pod): boolean => isRunning(pod) && isAvailable(set, pod, nowMs)
  const byOrdinal = new Map(pods.map((pod) => [ordinalOf(set, pod), pod]))
  const ordinals = ordinalsOf(set)
  const keeps = type === 'RollingUpdate'
    ? start + (rollingUpdate ? rollingUpdate.partition ?? 0 : status?.currentReplicas ?? 0)
    : 0
  /** The ordinals to create, each with the name of its revision. */
  const create: { readonly ordinal: number; readonly revision: string }[] = []
  const remove: V1Pod[] = []
  const plan = { create, remove }
  if (metadata.deletionTimestamp) return plan
  for (const ordinal of ordinals) {
    const pod = byOrdinal.get(ordinal)
    if (!pod) create.push({ ordinal, revision: ordinal < keeps ? current : update })
    else if (isTerminal(pod) && !isEnding(pod)) remove.push(pod)
    if (isOrdered && (!pod || isEnding(pod) || !isDone(pod))) return plan
  }
  const condemned = pods.filter((pod) => ordinalOf(set, pod) >= 0 && !ordinals.includes(ordinalOf(set, pod)))
    .toSorted((a, b) => ordinalOf(set, b) - ordinalOf(set, a))
  const firstUnhealthy = ordinals.map((ordinal) => byOrdinal.get(ordinal)).find((pod) => pod && !isDone(pod)) ??
    condemned.findLast((pod) => !isDone(pod))
  for (const pod of condemned) {
    if (!isEnding(pod) && (!isOrdered || isDone(pod) || pod === firstUnhealthy)) remove.push(pod)
    if (isOrdered) return plan
  }
  if (type === 'OnDelete' || create.length + remove.length > 0) return plan
  for (const ordinal of ordinals.toReversed()) {
    if (ordinal < start + (rollingUpdate?.partition ?? 0)) break
    const pod = byOrdinal.get(ordinal)
    if (pod && revisionOf(pod) !== update && !isEnding(pod)) {
      remove.push(pod)
      break
    }
    if (!pod || isEnding(pod) || !isDone(pod)) break
  }
  return plan
}

function statusOfStateful({ set, pods, current, update, nowMs }: StatefulSeen): V1StatefulSetStatus {
  const { metadata: { generation }, spec, status } = set
  const live = pods.filter((pod) => !isEnding(pod))
  const count = spec?.replicas ?? 1
  const ready = pods.filter(isRunning)
  const updated = live.filter((pod) => revisionOf(pod) === update).length
  const isComplete = spec?.updateStrategy?.type !== 'OnDelete' && updated === count && ready.length === count &&
    pods.length === count
  const { conditions } = status ?? {}
  return {
    ...(generation !== undefined && { observedGeneration: generation }),
    replicas: pods.length,
    readyReplicas: ready.length,
    availableReplicas: ready.filter((pod) => isAvailable(set, pod, nowMs)).length,
    currentReplicas: isComplete ? updated : live.filter((pod) => revisionOf(pod) === current).length,
    updatedReplicas: updated,
    currentRevision: isComplete ? update : current,
    updateRevision: update,
    collisionCount: status?.collisionCount ?? 0,
    ...(conditions && { conditions }),
  }
}
