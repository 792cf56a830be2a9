/**
 * Adds a controller's finalizer to the objects it reconciles, and removes it after the cleanup.
 *
 * The first half is pure: the next step for an object, with its write as data. Each write tests the state it was
 * decided on, so it does nothing to an object that has changed.
 */
import { BoundedMap } from '../async/bounded_map.ts'
import { jsonEqual } from '../core/equal.ts'
import { ApiError, isReason, messageOf } from '../core/errors.ts'
import { toMs } from '../core/duration.ts'
import { formatKey, keyOf, type KubeObject } from '../core/objects.ts'
import { isPartial } from '../core/partial.ts'
import type { AnyResource } from '../core/resource.ts'
import type { Client } from '../client/client.ts'
import { isMissingObject } from '../client/codec.ts'
import { nameFinalizer } from './failures.ts'
import type { Predicate } from './predicates.ts'
import type { Result } from './result.ts'

/** An operation of a JSON Patch (RFC 6902). */
type PatchOperation =
  | { readonly op: 'test' | 'add'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }

export type FinalizerPlan =
  /** Not being deleted, without the finalizer: add it, then reconcile. */
  | { readonly kind: 'add'; readonly patch: readonly PatchOperation[] }
  /** Not being deleted, with the finalizer. */
  | { readonly kind: 'reconcile' }
  /** Being deleted, with the finalizer: clean up, then remove it. */
  | { readonly kind: 'clean'; readonly patch: readonly PatchOperation[] }
  /** Being deleted, without the finalizer: cleaned up already, or never reconciled. */
  | { readonly kind: 'ignore' }

/** Returns the next step for an object. Its patch never removes or moves the finalizers of others. */
export function finalizerPlan({ metadata }: KubeObject, finalizer: string): FinalizerPlan {
  const finalizers = metadata.finalizers ?? []
  const hasFinalizer = finalizers.includes(finalizer)
  if (metadata.deletionTimestamp === undefined) {
    return hasFinalizer
      ? { kind: 'reconcile' }
      : { kind: 'add', patch: [sameObject(metadata.uid), ...adding(finalizers, finalizer)] }
  }
  return hasFinalizer
    ? { kind: 'clean', patch: [sameObject(metadata.uid), ...removing(finalizers, finalizer)] }
    : { kind: 'ignore' }
}

/** Returns the test that excludes a later object with the same name. */
function sameObject(uid: string): PatchOperation {
  return { op: 'test', path: '/metadata/uid', value: uid }
}

const PATH = '/metadata/finalizers'

/** Returns the operations that add the finalizer. They test the whole list, because the server accepts duplicates. */
function adding(finalizers: readonly string[], finalizer: string): PatchOperation[] {
  // A missing member passes the test for null; "-" (append) fails without a list.
  if (finalizers.length === 0) {
    return [{ op: 'test', path: PATH, value: null }, { op: 'add', path: PATH, value: [finalizer] }]
  }
  return [{ op: 'test', path: PATH, value: finalizers }, { op: 'add', path: `${PATH}/-`, value: finalizer }]
}

/** Returns the operations that remove all duplicates, from the end, so that earlier indexes stay valid. */
function removing(finalizers: readonly string[], finalizer: string): PatchOperation[] {
  return finalizers
    .flatMap((each, index) => (each === finalizer ? [`${PATH}/${index}`] : []))
    .reverse()
    .flatMap((path): PatchOperation[] => [{ op: 'test', path, value: finalizer }, { op: 'remove', path }])
}

/** Returns a predicate that also passes deleted objects with the finalizer, which no other controller can remove. */
export function orNeedsCleanup(when: Predicate | undefined, finalizer: string): Predicate | undefined {
  return when && ((now, before, change) => needsCleanup(now, change.kind, finalizer) || when(now, before, change))
}

/**
 * Returns the same for the controller's own kind, without the change that only adds the finalizer. The run that added
 * it continues with the new object. A second run would follow at once, and count as the next try if the first one
 * failed.
 */
export function ownChanges(when: Predicate | undefined, finalizer: string): Predicate {
  return (now, before, change) =>
    needsCleanup(now, change.kind, finalizer) ||
    (!(before && isAddition(now, before, finalizer)) && (when?.(now, before, change) ?? true))
}

function needsCleanup(now: KubeObject, change: string, finalizer: string): boolean {
  return change !== 'deleted' && finalizerPlan(now, finalizer).kind === 'clean'
}

/** Returns whether the finalizer is certainly the only change: what is not read of an object may have changed, too. */
function isAddition(now: KubeObject, before: KubeObject, finalizer: string): boolean {
  if (isPartial(now)) return false
  if (!now.metadata.finalizers?.includes(finalizer) || before.metadata.finalizers?.includes(finalizer)) return false
  return jsonEqual(without(now, finalizer), without(before, finalizer))
}

/** Returns the object without the finalizer and without what every write changes. */
function without(object: KubeObject, finalizer: string): object {
  const { resourceVersion: _version, managedFields: _fields, ...metadata } = object.metadata as
    & KubeObject['metadata']
    & {
      readonly managedFields?: unknown
    }
  return {
    ...object,
    metadata: { ...metadata, finalizers: (metadata.finalizers ?? []).filter((each) => each !== finalizer) },
  }
}

export interface FinalizerWork {
  /** The run's own client: its writes are fenced, and end with the run. */
  readonly client: Client
  /** Reads an object from the server; resolves with `undefined` for one that the controller's kind does not select. */
  readonly read: (object: KubeObject) => Promise<KubeObject | undefined>
  /** Called for an object that is not being deleted and has the finalizer. */
  readonly reconcile: (object: KubeObject) => Promise<Result>
  /** Called for an object that is being deleted and has the finalizer. It is complete when it returns nothing. */
  readonly cleanup: (object: KubeObject) => Promise<Result>
}

/** Finalizers change rarely; after five conflicts the run is retried instead. */
const MAX_TRIES = 5
/** The maximum number of objects stored as being deleted or cleaned up, because the cache may not show it yet. */
const MAX_REMEMBERED = 1000

export class Finalizer {
  readonly #resource: AnyResource
  readonly #name: string
  /**
   * By uid, the newest last. Final unless etcd is restored: an object being deleted gets no new finalizers.
   */
  readonly #cleanups = new BoundedMap<string, 'begun' | 'ended'>(MAX_REMEMBERED)

  constructor(resource: AnyResource, name: string) {
    this.#resource = resource
    this.#name = name
  }

  /** Rejects with the error of the reconcile, the cleanup or the server. The finalizer is then unchanged. */
  async run(object: KubeObject, { reconcile, cleanup, ...work }: FinalizerWork): Promise<Result> {
    let cleaned: string | undefined
    let current: KubeObject | undefined = object
    for (let tries = 1; current; tries++) {
      const { uid } = current.metadata
      const plan = finalizerPlan(current, this.#name)
      const known = this.#cleanups.get(uid)
      if (plan.kind === 'ignore') {
        if (known) this.#cleanups.set(uid, 'ended')
        return
      }
      // The cache may be older than the server's answer to an earlier run: never reconcile a cleaned up object again.
      if (known === 'ended' || (known === 'begun' && plan.kind !== 'clean')) {
        const undone = await this.#undone(work, current, known)
        if (!undone) return
        current = undone
        continue
      }
      if (plan.kind === 'reconcile') return await reconcile(current)
      if (plan.kind === 'clean' && cleaned !== uid) {
        this.#cleanups.set(uid, 'begun')
        const result = await this.#cleanUp(cleanup, current)
        if (result !== undefined && result !== null) return withNextRun(result)
        cleaned = uid
      }
      const outcome = await this.#write(work, current, plan, tries)
      if (outcome.kind === 'written' && plan.kind === 'add') return await reconcile(outcome.object)
      if (plan.kind === 'clean' && (outcome.kind === 'written' || outcome.object?.metadata.uid !== uid)) {
        this.#cleanups.set(uid, 'ended')
      }
      if (outcome.kind === 'written') return
      current = outcome.object
    }
  }

  /** Forgets a cleanup, and returns the object, if the server has it as before: etcd was restored from a backup. */
  async #undone({ read }: Pick<FinalizerWork, 'read'>, object: KubeObject, known: string) {
    const live = await read(object)
    if (!live || live.metadata.uid !== object.metadata.uid) return undefined
    const { kind } = finalizerPlan(live, this.#name)
    if (kind === 'ignore' || (known === 'begun' && kind === 'clean')) return undefined
    this.#cleanups.delete(object.metadata.uid)
    return live
  }

  /** Runs the cleanup. The log of its failure names the finalizer, which keeps the object from being deleted. */
  async #cleanUp(cleanup: FinalizerWork['cleanup'], object: KubeObject): Promise<Result> {
    try {
      return await cleanup(object)
    } catch (error) {
      nameFinalizer(error, this.#name)
      throw error
    }
  }

  async #write(
    { client, read }: Pick<FinalizerWork, 'client' | 'read'>,
    object: KubeObject,
    plan: Write,
    tries: number,
  ): Promise<Outcome> {
    try {
      return { kind: 'written', object: await client.patch(this.#resource, object, { json: plan.patch }) }
    } catch (error) {
      if (isMissingObject(error)) return { kind: 'changed', object: undefined }
      // The server answers Invalid both for a failed test and for an invalid object.
      const isConflict = isReason(error, 'Conflict')
      if (!(isConflict || isReason(error, 'Invalid')) || tries >= MAX_TRIES) throw this.#refused(plan, object, error)
      // An object that has left the selection gets no finalizer, but loses the one that it has.
      const live = plan.kind === 'add' ? await read(object) : await client.live.get<KubeObject>(this.#resource, object)
      if (live && !isConflict && jsonEqual(finalizerPlan(live, this.#name), plan)) {
        throw this.#refused(plan, object, error)
      }
      return { kind: 'changed', object: live }
    }
  }

  /**
   * Returns an error that names the finalizer and the object if the server refused the write, else the error itself.
   */
  #refused({ kind }: Write, object: KubeObject, cause: unknown): unknown {
    if (!(cause instanceof ApiError)) return cause
    const [verb, preposition] = kind === 'add' ? ['add', 'to'] : ['remove', 'from']
    const what = `${this.#resource.kind} "${formatKey(keyOf(object))}"`
    return new Error(`Cannot ${verb} the finalizer "${this.#name}" ${preposition} ${what}: ${messageOf(cause)}`, {
      cause,
    })
  }
}

type Write = Extract<FinalizerPlan, { readonly patch: unknown }>

type Outcome =
  | { readonly kind: 'written'; readonly object: KubeObject }
  /** The object has changed since the decision. `object`: the server's state, undefined if it is gone. */
  | { readonly kind: 'changed'; readonly object: KubeObject | undefined }

/** Throws if the result has no next run, because the deletion of the object would then never finish. */
function withNextRun(result: Exclude<Result, void>): Result {
  const { requeueAfter, requeue, priority: _, ...others } = result
  // The reconciler reports all other mistakes in a result, such as a misspelt name.
  if (requeue || toMs(requeueAfter ?? 0) > 0 || Object.keys(others).length > 0) return result
  const rule = 'a cleanup returns nothing when it is complete, else { requeueAfter } above 0 or { requeue: true }'
  throw new RangeError(`Cannot clean up again after ${String(requeueAfter)}: ${rule}`)
}
