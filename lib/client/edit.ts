/**
 * Retries writes that conflict: {@link Client.edit}, {@link Client.createOrUpdate}, {@link Client.createIfMissing}, and
 * any other write.
 */
import { untilAborted } from '../async/abort.ts'
import { type Clock, sleep, systemClock } from '../async/clock.ts'
import { cloneJson } from '../core/clone.ts'
import { jsonEqual } from '../core/equal.ts'
import { isReason } from '../core/errors.ts'
import { isExact } from '../core/exact_json.ts'
import { keyOf, type KubeObject, type Ref } from '../core/objects.ts'
import { copyMarks, isPartial } from '../core/partial.ts'
import { checkWritable, type Resource, type ResourceOf } from '../core/resource.ts'
import type { Client, Editable, Ensured, WriteOptions } from './client.ts'
import { isMissingObject } from './codec.ts'
import { describe } from './requests.ts'
import { isChanged, isRace, retried } from './retries.ts'
import { owned } from './target.ts'

export interface Reads {
  /** `forWrite`: what is read decides about a write, so the server is read while the watch fails. */
  get<T extends KubeObject>(resource: ResourceOf<T>, ref: Ref<NoInfer<T>>, forWrite?: boolean): Promise<T | undefined>
}

type Verbs = Reads & Pick<Client, 'update' | 'live'>

/** Implements {@link Client.edit} by the client's other verbs. */
export async function edit<T extends KubeObject>(
  client: Verbs,
  resource: ResourceOf<T>,
  ref: Ref<NoInfer<T>>,
  change: (draft: never) => void,
  options: WriteOptions,
): Promise<T | undefined> {
  try {
    return (await changeObject(client, resource, ref, change as (draft: object) => void, options))?.object
  } catch (error) {
    if (isMissingObject(error)) return undefined
    throw error
  }
}

/** Implements {@link Client.createOrUpdate} by the client's other verbs. */
export async function createOrUpdate<T extends KubeObject, D>(
  client: Verbs & Pick<Client, 'create'>,
  resource: Resource<T, D>,
  ref: Ref<NoInfer<T>>,
  change: (draft: Editable<NoInfer<D>>) => void,
  options: WriteOptions,
): Promise<Ensured<T>> {
  const create = (object: object): Promise<T> => client.create(resource, object as D & object, options)
  return (await changeObject(client, resource, ref, change as (draft: object) => void, options, create))!
}

/** Changes an object, or creates it; without `create`, it resolves with `undefined` if the object does not exist. */
async function changeObject<T extends KubeObject>(
  client: Verbs,
  resource: ResourceOf<T>,
  ref: Ref<NoInfer<T>>,
  change: (draft: object) => void,
  options: WriteOptions,
  create?: (object: object) => Promise<T>,
): Promise<Ensured<T> | undefined> {
  let current = await completeObject(client, resource, ref, options)
  return await retried(async (): Promise<Ensured<T> | undefined> => {
    if (!current && !create) return undefined
    const key = keyOf(current ?? ref)
    const action = (): string => `${create ? 'create or update' : 'edit'} ${describe({ resource, ...key })}`
    const changed = current ? copyMarks(current, cloneJson(current as object)) : { metadata: { ...key } }
    changeNow(change, changed, action)
    refuseRenaming(changed as Partial<KubeObject>, key, action)
    if (!current) return { object: await create!(changed), result: 'created' }
    const wanted = owned(resource, changed, options.owner) as T
    if (jsonEqual(wanted, current)) return { object: current, result: 'unchanged' }
    const object = await client.update(resource, wanted, options)
    refuseStatus(action(), wanted, current, object)
    return { object, result: jsonEqual(content(object), content(current)) ? 'unchanged' : 'updated' }
  }, async (error) => {
    if (!(current && create ? isRace(error) : isChanged(error))) return false
    // The cache may not have the conflicting write yet; the server does.
    current = await untilAborted(client.live.get(resource, ref), options.signal)
    return true
  })
}

/** Implements {@link Client.createIfMissing} by the client's other verbs. */
export async function createIfMissing<T extends KubeObject, D>(
  client: Reads & Pick<Client, 'create' | 'live'>,
  resource: Resource<T, D>,
  object: D,
  options: WriteOptions,
): Promise<Ensured<T>> {
  checkWritable(resource)
  const wanted = owned(resource, object as object, options.owner) as KubeObject
  if (!wanted.metadata?.name) {
    throw new TypeError(`Cannot create a missing ${resource.kind}: the object has no name; use create`)
  }
  let found = await untilAborted(client.get(resource, wanted as Ref<T>, true), options.signal)
  return await retried(async (): Promise<Ensured<T>> => {
    if (found) return { object: found, result: 'unchanged' }
    return { object: await client.create(resource, object as D & object, options), result: 'created' }
  }, async (error) => {
    if (!isReason(error, 'AlreadyExists')) return false
    found = await untilAborted(client.live.get(resource, wanted as Ref<T>), options.signal)
    return true
  })
}

/** Throws a TypeError if the server has left out a change of the status, as it does where that is a subresource. */
export function refuseStatus(action: string, wanted: object, before: object, answer: object): void {
  const [now, was, is] = [wanted, before, answer].map((each) => (each as { readonly status?: unknown }).status ?? {})
  if (jsonEqual(now, was) || !jsonEqual(is, was)) return
  const why = 'the status was changed, and only setStatus writes the status of this kind; other changes were sent'
  throw new TypeError(`Cannot ${action}: ${why}`)
}

/** Throws if a change would write to another object than the one that was read. */
function refuseRenaming(
  { metadata }: Partial<KubeObject>,
  { name, namespace }: { readonly name: string; readonly namespace?: string | undefined },
  action: () => string,
): void {
  if (metadata?.name === name && (namespace === undefined || metadata.namespace === namespace)) return
  throw new TypeError(`Cannot ${action()}: the change function must not set another name or namespace`)
}

/** Reads the object to change; from the server if the cached one is stripped, or has numbers that may be rounded. */
async function completeObject<T extends KubeObject>(
  client: Pick<Verbs, 'get' | 'live'>,
  resource: ResourceOf<T>,
  ref: Ref<NoInfer<T>>,
  { signal }: WriteOptions,
): Promise<T | undefined> {
  checkWritable(resource)
  const found = await untilAborted(client.get(resource, ref, true), signal)
  if (!found || (!isPartial(found) && isExact(found))) return found
  return await untilAborted(client.live.get(resource, ref), signal)
}

/** Calls `change`, and throws a TypeError if it is async or returns a changed copy: its changes would be lost. */
function changeNow(change: (draft: object) => void, changed: Partial<KubeObject>, action: () => string): void {
  const result = change(changed) as unknown as typeof changed | Promise<never> | undefined
  if (result instanceof Promise) result.catch(() => {}) // the TypeError below is reported instead
  else if (result === changed || result?.metadata !== changed.metadata) return
  throw new TypeError(`Cannot ${action()}: the change function must change the draft, and not be async`)
}

/** Returns the object without the server's bookkeeping, which a dry run does not update. */
function content(object: KubeObject): object {
  return {
    ...object,
    metadata: { ...object.metadata, resourceVersion: undefined, generation: undefined, managedFields: undefined },
  }
}

/** Options of {@link retryOnConflict}. */
export interface RetryOnConflictOptions {
  /** Aborts the wait between two tries, with its reason. Default: none. */
  readonly signal?: AbortSignal | undefined
  /** Default: the system clock. */
  readonly clock?: Clock | undefined
  /** Default: Math.random. */
  readonly random?: (() => number) | undefined
}

const WAIT_MS = 10
const JITTER = 0.1

/**
 * Calls `write` until it does not reject with a Conflict: at most 5 times, with waits of 10 to 11 ms, as client-go's
 * `retry.RetryOnConflict` with its `DefaultRetry`. `write` must read the object again each time. For one object, `edit`
 * does it all.
 *
 * @throws What `write` rejects with: another error at once, a Conflict after the last try.
 * @see https://pkg.go.dev/k8s.io/client-go/util/retry#RetryOnConflict
 */
export async function retryOnConflict<T>(write: () => Promise<T>, options: RetryOnConflictOptions = {}): Promise<T> {
  const { clock = systemClock, random = Math.random, signal } = options
  return await retried(write, async (error) => {
    if (!isReason(error, 'Conflict')) return false
    await sleep(clock, WAIT_MS * (1 + random() * JITTER), signal)
    return true
  })
}
