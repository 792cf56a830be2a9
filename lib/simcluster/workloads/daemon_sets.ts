/** Runs one pod of each DaemonSet on the node. */
import { type Client, type KubeObject, type Operator, selectors } from 'kubeloop'
import { ControllerRevision, DaemonSet, Node, Pod, type V1DaemonSet, type V1Pod } from 'kubeloop/kinds'
import { revise, truncate } from './controller_revisions.ts'
import { adopters, claim, podsByOwner } from './owned.ts'
import { changePods, createPod, nextLook, type PodChanges, type PodCreation } from './pod_changes.ts'
import { isAvailable, isPodActive, isPodReady, isTerminal, untilAvailable } from './pod_plan.ts'
import { NODE } from './pods.ts'

const HASH = 'controller-revision-hash'
const GENERATION = 'pod-template-generation'
const hashOf = ({ metadata }: KubeObject): string | undefined => metadata.labels?.[HASH]
const generationOf = ({ metadata }: V1DaemonSet): string | undefined =>
  metadata.annotations?.['deprecated.daemonset.template.generation']
/** As in kube-controller-manager, a pod of an earlier DaemonSet is kept if that had the same generation. */
const isUpdated = (pod: V1Pod, set: V1DaemonSet, hash: string): boolean => {
  const generation = pod.metadata.labels?.[GENERATION]
  return hashOf(pod) === hash || (generation !== undefined && generation === generationOf(set))
}
/** For the taints of a node that its daemons stand. */
const TOLERATIONS = [
  ...['not-ready', 'unreachable'].map((key) => [key, 'NoExecute'] as const),
  ...['disk-pressure', 'memory-pressure', 'pid-pressure', 'unschedulable'].map((key) => [key, 'NoSchedule'] as const),
].map(([key, effect]) => ({ key: `node.kubernetes.io/${key}`, operator: 'Exists', effect }))

export function addDaemonSets(app: Operator): void {
  app.controllerFor(DaemonSet, { name: 'daemonset', fieldManager: 'kube-controller-manager' })
    .owns(Pod)
    .owns(ControllerRevision)
    .watches(Pod, (pod, { client }) => adopters(client, DaemonSet, pod))
    .watches(Node, (_, { client }) => client.list(DaemonSet))
    .reconcile(async (set, { client, clock, events }) => {
      // A pod that has ended, and that a finalizer keeps from being deleted, does not keep the next one from its start.
      const pods = (await claim(client, podsByOwner, set))
        .filter((pod) => !pod.metadata.deletionTimestamp || !isTerminal(pod))
      const { update, all } = await revise(client, set, HASH)
      const hash = hashOf(update) ?? ''
      const node = await client.get(Node, { name: NODE })
      const isWanted = node !== undefined &&
        selectors.parseLabelSelector(set.spec?.template.spec?.nodeSelector ?? {})(node.metadata.labels)
      const nowMs = clock.now()
      const changes = planDaemonSet(set, pods, isWanted, hash, { make: () => createDaemon(client, set, hash) })
      const changed = await changePods({ client, events }, set, changes, pods)
      if (!changed) return undefined
      const { counted: left, failure } = changed
      const active = isWanted ? left.filter(isPodActive) : []
      const available = active.filter((pod) => isAvailable(set, pod, nowMs)).length
      const { metadata: { generation }, status: { collisionCount } = {} } = set
      await client.setStatus(DaemonSet, set, {
        currentNumberScheduled: Math.min(1, active.length),
        desiredNumberScheduled: isWanted ? 1 : 0,
        numberMisscheduled: isWanted ? 0 : Math.min(1, left.length),
        numberReady: active.filter(isPodReady).length,
        numberAvailable: available,
        numberUnavailable: (isWanted ? 1 : 0) - available,
        updatedNumberScheduled: active.filter((pod) => isUpdated(pod, set, hash)).length,
        ...(generation !== undefined && { observedGeneration: generation }),
        ...(collisionCount !== undefined && { collisionCount }),
      })
      const used = new Set([hash, ...left.map(hashOf)])
      await truncate(client, all, (each) => used.has(hashOf(each)), set.spec?.revisionHistoryLimit)
      return nextLook(untilAvailable(set, left, nowMs), failure)
    })
}

/** An old pod ends before the new one starts. `isWanted`: whether the node is one for these pods. */
function planDaemonSet(
  set: V1DaemonSet,
  pods: readonly V1Pod[],
  isWanted: boolean,
  hash: string,
  create: PodCreation,
): PodChanges {
  if (set.metadata.deletionTimestamp) return { create: [], remove: [] }
  const active = pods.filter(isPodActive)
  const over = pods.filter((pod) => !isPodActive(pod) && !pod.metadata.deletionTimestamp)
  if (!isWanted) return { create: [], remove: [...active, ...over] }
  const [first, ...more] = active
  const isOld = set.spec?.updateStrategy?.type !== 'OnDelete' && first !== undefined && !isUpdated(first, set, hash)
  return { create: pods.length === 0 ? [create] : [], remove: [...over, ...more, ...(isOld ? [first] : [])] }
}

async function createDaemon(client: Client, set: V1DaemonSet, hash: string): Promise<V1Pod> {
  const { template } = set.spec!
  const generation = generationOf(set)
  const own = { [HASH]: hash, ...(generation && { [GENERATION]: generation }) }
  const term = { matchFields: [{ key: 'metadata.name', operator: 'In', values: [NODE] }] }
  const { affinity } = template.spec ?? {}
  const required = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } }
  return await createPod(client, set, template, { labels: { ...template.metadata?.labels, ...own } }, {
    affinity: { ...affinity, nodeAffinity: { ...affinity?.nodeAffinity, ...required } },
    tolerations: [...template.spec?.tolerations ?? [], ...TOLERATIONS],
  })
}
