/** Changes of objects by a function on a draft. */
import { untilAborted } from '../async/abort.ts'
import { cloneJson } from '../core/clone.ts'
import { jsonEqual } from '../core/equal.ts'
import { isReason } from '../core/errors.ts'
import { isExact } from '../core/exact_json.ts'
import type { Draft, KubeObject, Ref } from '../core/objects.ts'
import { copyMarks, isPartial } from '../core/partial.ts'
import { checkWritable, type Resource } from '../core/resource.ts'
import { describe } from './api.ts'
import type { Client, Editable, Ensured, WriteOptions } from './client.ts'
import { isMissingObject } from './codec.ts'
import { owned, targetOf } from './target.ts'

// deno-lint-ignore no-explicit-any -- reading does not depend on D
type Of<T extends KubeObject> = Resource<T, any>

/** Enough for ordinary contention; a write that loses five times against others is better retried by its reconcile. */
const EDIT_TRIES = 5

/** {@link Client.edit} by a client's other verbs. */
export async function edit<T extends KubeObject>(
  client: Pick<Client, 'get' | 'update' | 'live'>,
  resource: Of<T>,
  ref: Ref<NoInfer<T>>,
  change: (draft: Draft<NoInfer<T>>) => void,
  options: WriteOptions,
): Promise<T | undefined> {
  let current = await wholeObject(client, resource, ref, options)
  for (let attempt = 1; current; attempt++) {
    const changed = copyMarks(current, cloneJson(current)) as Draft<T>
    changeNow(change, changed, () => `edit ${describe(targetOf(resource, current!, 'edit'))}`)
    const wanted = owned(resource, changed as T, options.owner) as T
    if (jsonEqual(wanted, current)) return current
    try {
      return await client.update(resource, wanted, options)
    } catch (error) {
      if (isMissingObject(error)) return undefined
      if (!isReason(error, 'Conflict') || attempt >= EDIT_TRIES) throw error
      // The cache may not have caught up with what we conflicted with; the server has.
      current = await untilAborted(client.live.get(resource, ref), options.signal)
    }
  }
  return undefined
}

/** {@link Client.createOrUpdate} by a client's other verbs. */
export async function createOrUpdate<T extends KubeObject, D>(
  client: Pick<Client, 'get' | 'create' | 'update' | 'live'>,
  resource: Resource<T, D>,
  ref: Ref<NoInfer<T>>,
  change: (draft: Editable<NoInfer<D>>) => void,
  options: WriteOptions,
): Promise<Ensured<T>> {
  const action = 'create or update'
  const target = targetOf(resource, ref, action)
  const current = await wholeObject(client, resource, ref, options)
  const { name, namespace } = target
  const changed = current
    ? copyMarks(current, cloneJson(current as object))
    : { metadata: { name, ...(namespace ? { namespace } : {}) } }
  changeNow(change, changed as unknown as Editable<D>, () => `${action} ${describe(target)}`)
  const { metadata } = changed as Partial<KubeObject>
  if (metadata?.name !== name || (resource.scope === 'Namespaced' && metadata.namespace !== namespace)) {
    throw new TypeError(`Cannot ${action} ${describe(target)}: the change gave it another name or namespace`)
  }
  if (!current) return { object: await client.create(resource, changed as D & object, options), result: 'created' }
  const wanted = owned(resource, changed, options.owner) as T
  if (jsonEqual(wanted, current)) return { object: current, result: 'unchanged' }
  const object = await client.update(resource as Of<T>, wanted, options)
  return { object, result: jsonEqual(content(object), content(current)) ? 'unchanged' : 'updated' }
}

/**
 * What a change begins from: what the client reads, or the server's object where that has less of it (`strip`) or numbers that
 * may have been rounded.
 */
async function wholeObject<T extends KubeObject>(
  client: Pick<Client, 'get' | 'live'>,
  resource: Of<T>,
  ref: Ref<NoInfer<T>>,
  { signal }: WriteOptions,
): Promise<T | undefined> {
  checkWritable(resource)
  const found = await untilAborted(client.get(resource, ref), signal)
  if (!found || (!isPartial(found) && isExact(found))) return found
  return await untilAborted(client.live.get(resource, ref), signal)
}

/** Lets a draft be changed at once. What an async function would do after it has waited comes too late for anybody. */
function changeNow<D>(change: (draft: D) => void, changed: D, action: () => string): void {
  const waiting: unknown = change(changed)
  if (!(waiting instanceof Promise)) return
  waiting.catch(() => {}) // nobody can hear of it any more
  throw new TypeError(
    `Cannot ${action()}: the change is an async function, and what it does after it has waited would be lost`,
  )
}

/** An object without what the server keeps about its writing; a dry run changes that no more than a write without effect. */
function content(object: KubeObject): object {
  return {
    ...object,
    metadata: { ...object.metadata, resourceVersion: undefined, generation: undefined, managedFields: undefined },
  }
}
