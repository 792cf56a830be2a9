/** Rolls Deployments out by ReplicaSets. */
import { type Client, isReason, type Operator, type Recorder } from 'kubeloop'
import { Deployment, ReplicaSet, type V1Deployment } from 'kubeloop/kinds'
import { messageOf } from '../../core/errors.ts'
import { type DeploymentPlan, planDeployment } from './deployment_plan.ts'
import { deadlineOf, untilDeadline, withCondition } from './deployment_status.ts'
import { HASH, newSetOf, REVISION } from './revisions.ts'
import { adopters, claim, setsByOwner } from './owned.ts'
import { isNamespaceEnding } from './pod_changes.ts'

/** Adds the controller of Deployments. */
export function addDeployments(app: Operator): void {
  app.controllerFor(Deployment, { name: 'deployment', fieldManager: 'kube-controller-manager', concurrency: 5 })
    .owns(ReplicaSet)
    .watches(ReplicaSet, (set, { client }) => adopters(client, Deployment, set))
    .reconcile(async (deployment, { client, clock, events }) => {
      const sets = await claim(client, setsByOwner, deployment)
      const nowMs = clock.now()
      const plan = planDeployment({ deployment, sets, nowMs })
      await resizeSets(client, events, deployment, plan)
      for (const { metadata } of plan.remove) await client.delete(ReplicaSet, { metadata })
      let { status } = plan
      if (plan.create) {
        try {
          await createSet(client, events, deployment, plan.create)
        } catch (error) {
          if (isNamespaceEnding(error)) return
          if (isReason(error, 'AlreadyExists')) {
            if (
              newSetOf(deployment, await client.live.list(ReplicaSet, { namespace: deployment.metadata.namespace }))
            ) {
              return { requeue: true }
            }
            // Another template has the same hash.
            const { collisionCount = 0 } = deployment.status ?? {}
            await client.setStatus(Deployment, deployment, { ...deployment.status, collisionCount: collisionCount + 1 })
            return
          }
          const message = `Failed to create new replica set "${plan.create.name}": ${messageOf(error)}`
          events.warning(deployment, 'ReplicaSetCreateError', message)
          const failed = { type: 'Progressing', status: 'False', reason: 'ReplicaSetCreateError', message }
          const { conditions = [] } = deployment.status ?? {}
          if (deadlineOf(deployment) === undefined) return { requeue: true }
          status = { ...deployment.status, conditions: withCondition(conditions, failed, nowMs) }
          await client.setStatus(Deployment, deployment, status)
          return { requeue: true }
        }
      }
      await writeStatus(client, deployment, plan)
      const leftMs = untilDeadline(deployment, status, nowMs)
      return leftMs === undefined ? undefined : { requeueAfter: leftMs }
    })
}

/** The revision is written through the status, so that the generation stays. */
async function writeStatus(
  client: Client,
  deployment: V1Deployment,
  { revision, status }: DeploymentPlan,
): Promise<void> {
  let current = deployment
  if (revision !== undefined && deployment.metadata.annotations?.[REVISION] !== revision) {
    const merge = { metadata: { annotations: { [REVISION]: revision } } }
    current = await client.subresource(Deployment, deployment, 'status').patch({ merge })
  }
  await client.setStatus(Deployment, current, status)
}

async function createSet(
  client: Client,
  events: Recorder,
  deployment: V1Deployment,
  { name, hash, replicas, annotations }: NonNullable<DeploymentPlan['create']>,
): Promise<void> {
  const { metadata: { namespace }, spec } = deployment
  const { selector, template, minReadySeconds } = spec!
  const labels = { ...template.metadata?.labels, [HASH]: hash }
  await client.create(ReplicaSet, {
    metadata: { namespace, name, labels, annotations },
    spec: {
      replicas,
      minReadySeconds,
      selector: { ...selector, matchLabels: { ...selector.matchLabels, [HASH]: hash } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  }, { owner: deployment })
  if (replicas > 0) {
    events.normal(deployment, 'ScalingReplicaSet', `Scaled up replica set ${name} from 0 to ${replicas}`)
  }
}

async function resizeSets(
  client: Client,
  events: Recorder,
  deployment: V1Deployment,
  { changes }: DeploymentPlan,
): Promise<void> {
  for (const { set: { metadata, spec }, replicas, annotations } of changes) {
    // Only the new ReplicaSet follows the Deployment.
    const isNew = annotations[REVISION] !== undefined
    const { minReadySeconds = 0 } = deployment.spec ?? {}
    const merge = { metadata: { annotations }, spec: { replicas, ...(isNew && { minReadySeconds }) } }
    await client.patch(ReplicaSet, { metadata }, { merge })
    const before = spec?.replicas ?? 0
    if (before === replicas) continue
    const [way, text] = [before < replicas ? 'up' : 'down', `from ${before} to ${replicas}`]
    events.normal(deployment, 'ScalingReplicaSet', `Scaled ${way} replica set ${metadata.name} ${text}`)
  }
}
