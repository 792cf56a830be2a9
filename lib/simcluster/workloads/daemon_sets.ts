/** Runs one pod of each DaemonSet on the node. */
import { type Client, type Operator, selectors } from 'kubeloop'
import {
  ControllerRevision,
  DaemonSet,
  Node,
  Pod,
  type V1DaemonSet,
  type V1DaemonSetStatus,
  type V1Pod,
} from 'kubeloop/kinds'
import { revise, truncate } from './controller_revisions.ts'
import { adopters, claim, podsByOwner } from './owned.ts'
import { changePods, unlessNamespaceEnds } from './pod_changes.ts'
import { availability, isPodActive, isPodReady, untilAvailable } from './pod_plan.ts'
import { NODE } from './pods.ts'

const HASH = 'controller-revision-hash'
const GENERATION = 'pod-template-generation'
/** Taints of a node that its daemons stand. */
const TAINTS = [
  ...['not-ready', 'unreachable'].map((key) => [key, 'NoExecute']),
  ...['disk-pressure', 'memory-pressure', 'pid-pressure', 'unschedulable'].map((key) => [key, 'NoSchedule']),
]

/** Adds the controller of DaemonSets. */
export function addDaemonSets(app: Operator): void {
  app.controllerFor(DaemonSet, { name: 'daemonset', fieldManager: 'kube-controller-manager' })
    .owns(Pod)
    .owns(ControllerRevision)
    .watches(Pod, (pod, { client }) => adopters(client, DaemonSet, pod))
    .watches(Node, (_, { client }) => client.list(DaemonSet))
    .reconcile(async (set, { client, clock, events }) => {
      const pods = await claim(client, podsByOwner, set)
      const { update, all } = await revise(client, set, HASH)
      const hash = update.metadata.labels?.[HASH] ?? ''
      const node = await client.get(Node, { name: NODE })
      const isWanted = node !== undefined &&
        selectors.parseLabelSelector(set.spec?.template.spec?.nodeSelector ?? {})(node.metadata.labels)
      const nowMs = clock.now()
      const { create, remove } = planDaemonSet(set, pods, { isWanted, hash })
      const changes = { create: create ? [() => createPod(client, set, hash)] : [], remove }
      const left = await unlessNamespaceEnds(changePods({ client, events }, set, changes, [...pods]))
      if (!left) return undefined
      await client.setStatus(DaemonSet, set, statusOfDaemon(set, left, { isWanted, hash, nowMs }))
      const used = new Set([hash, ...left.map(({ metadata }) => metadata.labels?.[HASH])])
      await truncate(client, all, ({ metadata }) => used.has(metadata.labels?.[HASH]), set.spec?.revisionHistoryLimit)
      const leftMs = untilAvailable(left, set.spec?.minReadySeconds ?? 0, nowMs)
      return leftMs === undefined ? undefined : { requeueAfter: leftMs }
    })
}

interface Seen {
  /** Whether the node is one for these pods. */
  readonly isWanted: boolean
  readonly hash: string
}

/** Returns whether a pod is created, and which are deleted. An old pod ends before the new one starts. */
function planDaemonSet(
  set: V1DaemonSet,
  pods: readonly V1Pod[],
  { isWanted, hash }: Seen,
): { readonly create: boolean; readonly remove: readonly V1Pod[] } {
  if (set.metadata.deletionTimestamp) return { create: false, remove: [] }
  const active = pods.filter(isPodActive)
  const over = pods.filter((pod) => !isPodActive(pod) && !pod.metadata.deletionTimestamp)
  if (!isWanted) return { create: false, remove: [...active, ...over] }
  const [first, ...more] = active
  const isOld = set.spec?.updateStrategy?.type !== 'OnDelete' && first !== undefined &&
    first.metadata.labels?.[HASH] !== hash
  return { create: pods.length === 0, remove: [...over, ...more, ...(isOld ? [first] : [])] }
}

function statusOfDaemon(
  { metadata: { generation }, spec, status }: V1DaemonSet,
  pods: readonly V1Pod[],
  { isWanted, hash, nowMs }: Seen & { readonly nowMs: number },
): V1DaemonSetStatus {
  const active = isWanted ? pods.filter(isPodActive) : []
  const desired = isWanted ? 1 : 0
  const available = active.filter((pod) => availability(pod, spec?.minReadySeconds ?? 0, nowMs) === 0).length
  return {
    currentNumberScheduled: Math.min(1, active.length),
    desiredNumberScheduled: desired,
    numberMisscheduled: isWanted ? 0 : Math.min(1, pods.length),
    numberReady: active.filter(isPodReady).length,
    numberAvailable: available,
    numberUnavailable: desired - available,
    updatedNumberScheduled: active.filter(({ metadata }) => metadata.labels?.[HASH] === hash).length,
    ...(generation !== undefined && { observedGeneration: generation }),
    ...(status?.collisionCount !== undefined && { collisionCount: status.collisionCount }),
  }
}

async function createPod(client: Client, set: V1DaemonSet, hash: string): Promise<V1Pod> {
  const { metadata: { name, namespace }, spec } = set
  const { labels, annotations, finalizers } = spec!.template.metadata ?? {}
  const generation = set.metadata.annotations?.['deprecated.daemonset.template.generation']
  const own = { [HASH]: hash, ...(generation && { [GENERATION]: generation }) }
  const template = spec!.template.spec!
  const term = { matchFields: [{ key: 'metadata.name', operator: 'In', values: [NODE] }] }
  const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } }
  const tolerations = TAINTS.map(([key, effect]) => ({
    key: `node.kubernetes.io/${key}`,
    operator: 'Exists',
    effect: effect!,
  }))
  return await client.create(Pod, {
    metadata: { namespace, generateName: `${name}-`, labels: { ...labels, ...own }, annotations, finalizers },
    spec: {
      ...template,
      affinity: { ...template.affinity, nodeAffinity },
      tolerations: [...template.tolerations ?? [], ...tolerations],
    },
  }, { owner: set })
}
