/** Creates and deletes the pods of workloads, as the controllers of a cluster do. */
import {
  ApiError,
  type Client,
  type DesiredMeta,
  isReason,
  type KubeObject,
  type Recorder,
  type Result,
} from 'kubeloop'
import { Pod, type V1Pod, type V1PodSpec, type V1PodTemplateSpec } from 'kubeloop/kinds'
import { messageOf } from '../../core/errors.ts'

export interface PodChanges {
  readonly create: readonly PodCreation[]
  readonly remove: readonly V1Pod[]
}

/** The creation of a pod. `name`: unless the server generates it. */
export interface PodCreation {
  readonly name?: string
  readonly make: () => Promise<V1Pod>
}

export interface Failure {
  readonly reason: 'FailedCreate' | 'FailedDelete'
  readonly message: string
}

type Verb = 'Create' | 'Delete'

/** Returns the text of an Event. `why`: the change failed. */
function textOfChange(verb: Verb, name: string, why?: string): string {
  return why === undefined ? `${verb}d pod: ${name}` : `Error ${verb.slice(0, -1).toLowerCase()}ing: ${why}`
}

/**
 * Creates and deletes pods, one after the other, with an Event for each, until one fails. Resolves with the pods that
 * there are then: deleted ones count until they are gone, as they may take their time to end. Resolves with undefined
 * if the namespace is being deleted.
 */
export async function changePods(
  { client, events }: { readonly client: Client; readonly events: Recorder },
  owner: KubeObject,
  { create, remove }: PodChanges,
  pods: readonly V1Pod[],
  textOf: typeof textOfChange = textOfChange,
): Promise<{ readonly counted: readonly V1Pod[]; readonly failure?: Failure } | undefined> {
  const counted = [...pods]
  const creations = create.map(({ name = '', make }) => {
    const send = async (): Promise<string> => counted[counted.push(await make()) - 1]!.metadata.name
    return { verb: 'Create' as const, name, send }
  })
  const deletions = remove.map(({ metadata }) => {
    const send = (): Promise<unknown> => client.delete(Pod, { metadata }, { uid: metadata.uid })
    return { verb: 'Delete' as const, name: metadata.name, send: () => send().then(() => metadata.name) }
  })
  for (const { verb, name, send } of [...creations, ...deletions]) {
    try {
      events.normal(owner, `Successful${verb}`, textOf(verb, await send()))
    } catch (error) {
      if (isNamespaceEnding(error)) return undefined
      const [reason, message] = [`Failed${verb}` as const, error instanceof ApiError ? error.status.message : undefined]
      const failure = { reason, message: message ?? messageOf(error) }
      // As in kube-controller-manager, there is no Event if a pod of others has the name.
      if (!isReason(error, 'AlreadyExists')) events.warning(owner, reason, textOf(verb, name, failure.message))
      return { counted, failure }
    }
  }
  return { counted }
}

/** Returns when a workload is looked at again: in `ms`, if it waits for something, and if a change has failed. */
export function nextLook(ms: number | undefined, failure?: Failure): Result {
  return failure && ms === undefined ? { requeue: true } : { requeue: false, requeueAfter: ms }
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

/** Resolves with undefined if the object has been deleted, of which a watch will tell. */
export function unlessGone<T>(write: Promise<T>): Promise<T | undefined> {
  return unlessRefused(write, (error) => isReason(error, 'NotFound'))
}

/** Resolves with undefined if a write was refused because the namespace is being deleted. */
export function unlessNamespaceEnds<T>(write: Promise<T>): Promise<T | undefined> {
  return unlessRefused(write, isNamespaceEnding)
}

export function isNamespaceEnding(error: unknown): boolean {
  return isReason(error, 'NotFound') || isReason(error, 'Forbidden') && /being terminated/.test(messageOf(error))
}
