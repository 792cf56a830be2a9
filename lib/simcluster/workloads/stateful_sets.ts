/** Runs StatefulSets: pods with names, volumes and an order. */
import type { Client, Operator } from 'kubeloop'
import {
  ControllerRevision,
  PersistentVolumeClaim,
  Pod,
  StatefulSet,
  type V1Pod,
  type V1PodTemplateSpec,
  type V1StatefulSet,
} from 'kubeloop/kinds'
import { revise, templateOf, truncate } from './controller_revisions.ts'
import { adopters, claim, podsByOwner } from './owned.ts'
import { changePods, unlessNamespaceEnds } from './pod_changes.ts'
import { planStatefulSet, REVISION_LABEL, revisionOf, statusOfStateful } from './stateful_set_plan.ts'

/** Adds the controller of StatefulSets. */
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
      const { create, remove, againMs } = planStatefulSet(seen)
      const changes = {
        create: create.map(({ ordinal, revision }) => () => {
          const template = templateOf(revision === names.current ? current : update)
          return createPod(client, set, { ordinal, revision, template })
        }),
        remove,
      }
      const textOf = (verb: string, name: string): string =>
        `${verb.toLowerCase()} Pod ${name} in StatefulSet ${set.metadata.name} successful`
      const counted = await unlessNamespaceEnds(changePods({ client, events }, set, changes, [...pods], textOf))
      if (!counted) return undefined
      await client.setStatus(StatefulSet, set, statusOfStateful({ ...seen, pods: counted }))
      const used = new Set([names.current, names.update, ...pods.map(revisionOf)])
      await truncate(client, all, ({ metadata }) => used.has(metadata.name), set.spec?.revisionHistoryLimit)
      return againMs === undefined ? undefined : { requeueAfter: againMs }
    })
}

interface NewPod {
  readonly ordinal: number
  readonly revision: string
  readonly template: V1PodTemplateSpec
}

async function createPod(client: Client, set: V1StatefulSet, { ordinal, revision, template }: NewPod): Promise<V1Pod> {
  const { metadata: { namespace, name: setName }, spec } = set
  const name = `${setName}-${ordinal}`
  const claims = (spec?.volumeClaimTemplates ?? []).map((each) => ({ ...each, name: `${each.metadata?.name}-${name}` }))
  for (const { name, metadata, spec: { ...wanted } = {} } of claims) {
    const labels = { ...metadata?.labels, ...spec?.selector.matchLabels }
    const { annotations } = metadata ?? {}
    await client.createIfMissing(PersistentVolumeClaim, {
      metadata: { namespace, name, labels, annotations },
      spec: wanted,
    })
  }
  const own = claims.map(({ metadata, name }) => ({
    name: metadata?.name ?? '',
    persistentVolumeClaim: { claimName: name },
  }))
  const others = template.spec?.volumes?.filter((each) => !own.some((volume) => volume.name === each.name)) ?? []
  const { labels, annotations, finalizers } = template.metadata ?? {}
  const identity = {
    'statefulset.kubernetes.io/pod-name': name,
    'apps.kubernetes.io/pod-index': String(ordinal),
    [REVISION_LABEL]: revision,
  }
  return await client.create(Pod, {
    metadata: { namespace, name, labels: { ...labels, ...identity }, annotations, finalizers },
    spec: {
      ...template.spec,
      ...(own.length + others.length > 0 && { volumes: [...own, ...others] }),
      hostname: name,
      ...(spec?.serviceName && { subdomain: spec.serviceName }),
    },
  }, { owner: set })
}
