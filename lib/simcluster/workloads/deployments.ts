/** Rolls Deployments out by ReplicaSets. */
import { isReason, type Operator } from 'kubeloop'
import { Deployment, ReplicaSet } from 'kubeloop/kinds'
import { messageOf } from '../../core/errors.ts'
import { newSetOf, planDeployment, REVISION } from './deployment_plan.ts'
import { untilDeadline, withCondition } from './deployment_status.ts'
import { adopters, byOwner, claim, setsByOwner } from './owned.ts'
import { isNamespaceEnding } from './pod_changes.ts'

export function addDeployments(app: Operator): void {
  app.controllerFor(Deployment, { name: 'deployment', fieldManager: 'kube-controller-manager', concurrency: 5 })
    .owns(ReplicaSet)
    .watches(ReplicaSet, (set, { client }) => adopters(client, Deployment, set))
    .reconcile(async (deployment, { client, clock, events }) => {
      const { metadata: { namespace, annotations: own }, spec, status: known } = deployment
      const sets = await claim(client, setsByOwner, deployment)
      const nowMs = clock.now()
      const { create, changes, remove, revision, status } = planDeployment(deployment, sets, nowMs)
      const scaled = (name: string, before: number, after: number): void => {
        if (before === after) return
        const text = `Scaled ${before < after ? 'up' : 'down'} replica set ${name} from ${before} to ${after}`
        events.normal(deployment, 'ScalingReplicaSet', text)
      }
      for (const { set: { metadata, spec: before }, replicas, annotations } of changes) {
        // Only the new ReplicaSet follows the Deployment.
        const minReady = annotations[REVISION] !== undefined && { minReadySeconds: spec?.minReadySeconds ?? 0 }
        const merge = { metadata: { annotations }, spec: { replicas, ...minReady } }
        await client.patch(ReplicaSet, { metadata }, { merge })
        scaled(metadata.name, before?.replicas ?? 0, replicas)
      }
      for (const { metadata } of remove) await client.delete(ReplicaSet, { metadata }, { uid: metadata.uid })
      if (create) {
        const { metadata: { name = '' }, spec: { replicas = 0 } = {} } = create
        try {
          await client.create(ReplicaSet, create, { owner: deployment })
          scaled(name, 0, replicas)
        } catch (error) {
          if (isNamespaceEnding(error)) return
          if (isReason(error, 'AlreadyExists')) {
            const existing = await client.live.get(ReplicaSet, { namespace, name })
            const isOwn = existing && byOwner(existing) === deployment.metadata.uid
            if (!existing || (isOwn && newSetOf(deployment, [existing]))) return { requeue: true }
            // Another template has the same hash, or the ReplicaSet has left this Deployment.
            const collisionCount = (known?.collisionCount ?? 0) + 1
            return void await client.setStatus(Deployment, deployment, { ...known, collisionCount })
          }
          const message = `Failed to create new replica set "${name}": ${messageOf(error)}`
          events.warning(deployment, 'ReplicaSetCreateError', message)
          const failed = ['False', 'ReplicaSetCreateError', message] as const
          const conditions = withCondition({ deployment, nowMs }, known?.conditions ?? [], 'Progressing', failed)
          if (conditions.length > 0) await client.setStatus(Deployment, deployment, { ...known, conditions })
          return { requeue: true }
        }
      }
      let current = deployment
      if (revision !== undefined && own?.[REVISION] !== revision) {
        // Through the status, so that the generation stays.
        const merge = { metadata: { annotations: { [REVISION]: revision } } }
        current = await client.subresource(Deployment, deployment, 'status').patch({ merge })
      }
      await client.setStatus(Deployment, current, status)
      return { requeue: false, requeueAfter: untilDeadline(deployment, status, nowMs) }
    })
}
