/** Creates and deletes the pods of workloads, as the controllers of a cluster do. */
import { type Client, type DesiredMeta, isReason, type KubeObject, type Recorder } from 'kubeloop'
import { Pod, type V1Pod, type V1PodSpec, type V1PodTemplateSpec } from 'kubeloop/kinds'
import { messageOf } from '../../core/errors.ts'

export interface PodChanges {
  readonly create: readonly (() => Promise<V1Pod>)[]
  readonly remove: readonly V1Pod[]
}

/**
 * Creates and deletes pods, one after the other, with an Event for each. Resolves with `pods`, to which the created
 * ones are added, also before a failure. Deleted pods count until they are gone: they may take their time to end.
 */
export async function changePods(
  { client, events }: { readonly client: Client; readonly events: Recorder },
  owner: KubeObject,
  { create, remove }: PodChanges,
  pods: V1Pod[],
  textOf = (verb: 'Create' | 'Delete', name: string): string => `${verb}d pod: ${name}`,
): Promise<readonly V1Pod[]> {
  for (const each of create) {
    const pod = await each()
    pods.push(pod)
    events.normal(owner, 'SuccessfulCreate', textOf('Create', pod.metadata.name))
  }
  for (const pod of remove) {
    await client.delete(Pod, { metadata: pod.metadata }, { uid: pod.metadata.uid })
    events.normal(owner, 'SuccessfulDelete', textOf('Delete', pod.metadata.name))
  }
  return pods
}

/** Creates a pod of a template. `metadata` and `spec` take the place of fields of the template. */
export async function createPod(
  client: Client,
  owner: KubeObject & { readonly metadata: { readonly namespace: string } },
  template: V1PodTemplateSpec | undefined,
  metadata: DesiredMeta = {},
  spec: Partial<V1PodSpec> = {},
): Promise<V1Pod> {
  const { namespace, name } = owner.metadata
  const { labels, annotations, finalizers } = template?.metadata ?? {}
  return await client.create(Pod, {
    metadata: { namespace, generateName: `${name}-`, labels, annotations, finalizers, ...metadata },
    spec: { ...template?.spec, ...spec },
  }, { owner })
}

/** Resolves with undefined if a write was refused for an expected reason. */
export async function unlessRefused<T>(
  write: Promise<T>,
  isExpected: (error: unknown) => boolean,
): Promise<T | undefined> {
  try {
    return await write
  } catch (error) {
    if (!isExpected(error)) throw error
    return undefined
  }
}

/** Resolves with undefined if a write was refused because the namespace is being deleted. */
export function unlessNamespaceEnds<T>(write: Promise<T>): Promise<T | undefined> {
  return unlessRefused(write, isNamespaceEnding)
}

/** Returns whether a write was refused because the namespace is being deleted. */
export function isNamespaceEnding(error: unknown): boolean {
  return isReason(error, 'NotFound') || isReason(error, 'Forbidden') && /being terminated/.test(messageOf(error))
}
