/** A finalizer in the hands of one controller: keeps it on what is reconciled, and takes it off what was cleaned up. */
import { BoundedMap } from '../async/bounded_map.ts'
import { jsonEqual } from '../core/equal.ts'
import { ApiError, isReason, messageOf } from '../core/errors.ts'
import { toMs } from '../core/duration.ts'
import { formatKey, keyOf, type KubeObject } from '../core/objects.ts'
import type { AnyResource } from '../core/resource.ts'
import type { Client } from '../client/client.ts'
import { isMissingObject } from '../client/codec.ts'
import { type FinalizerPlan, finalizerPlan } from './finalizer_plan.ts'
import type { Result } from './result.ts'

/** What one run does with its object, once the finalizer allows it. */
export interface FinalizerWork {
  /** Of the run: its writes are fenced, and end with it. */
  readonly client: Client
  /** For an object that is not being deleted and has the finalizer. */
  readonly reconcile: (object: KubeObject) => Promise<Result>
  /** For an object that is being deleted and has the finalizer. It has ended when it returns nothing. */
  readonly cleanup: (object: KubeObject) => Promise<Result>
}

/** Finalizers change seldom; a write that loses five times against others is better retried by its run. */
const MAX_TRIES = 5
/** A cache is behind by a moment: so many objects are remembered as being deleted, or as cleaned up, until it shows them so. */
const MAX_REMEMBERED = 1000

export class Finalizer {
  readonly #resource: AnyResource
  readonly #name: string
  /** By uids, the latest last. Nobody can undo a deletion, or put a finalizer on what is being deleted. */
  readonly #cleanups = new BoundedMap<string, 'begun' | 'ended'>(MAX_REMEMBERED)

  constructor(resource: AnyResource, name: string) {
    this.#resource = resource
    this.#name = name
  }

  /** Rejects with what the reconcile, the cleanup or the server threw: the finalizer is where it was then. */
  async run(object: KubeObject, { client, reconcile, cleanup }: FinalizerWork): Promise<Result> {
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
      // A cache may be behind what an earlier run was told by the server: what was cleaned up must not come to life again.
      if (known === 'ended' || (known === 'begun' && plan.kind !== 'clean')) return
      if (plan.kind === 'reconcile') return await reconcile(current)
      if (plan.kind === 'clean' && cleaned !== uid) {
        this.#cleanups.set(uid, 'begun')
        const result = await cleanup(current)
        if (result !== undefined && result !== null) return notYet(result)
        cleaned = uid
      }
      const outcome = await this.#write(client, current, plan, tries)
      if (outcome.kind === 'written' && plan.kind === 'add') return await reconcile(outcome.object)
      if (plan.kind === 'clean' && (outcome.kind === 'written' || outcome.object?.metadata.uid !== uid)) {
        this.#cleanups.set(uid, 'ended')
      }
      if (outcome.kind === 'written') return
      current = outcome.object
    }
  }

  async #write(client: Client, object: KubeObject, plan: Write, tries: number): Promise<Outcome> {
    try {
      return { kind: 'written', object: await client.patch(this.#resource, object, { json: plan.patch }) }
    } catch (error) {
      if (isMissingObject(error)) return { kind: 'moved', object: undefined }
      // A test that failed and an object that is invalid for other reasons are answered alike.
      const isConflict = isReason(error, 'Conflict')
      if (!(isConflict || isReason(error, 'Invalid')) || tries >= MAX_TRIES) throw this.#refused(plan, object, error)
      const live = await client.live.get<KubeObject>(this.#resource, object)
      if (live && !isConflict && jsonEqual(finalizerPlan(live, this.#name), plan)) {
        throw this.#refused(plan, object, error)
      }
      return { kind: 'moved', object: live }
    }
  }

  /** A user who wonders what was patched is told; what is no refusal of the server's says enough. */
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
  /** The object is not what was decided upon, as caches are behind: this is what the server has, undefined when it is gone. */
  | { readonly kind: 'moved'; readonly object: KubeObject | undefined }

/** A key that comes back at no time would be done with, and its object would wait for ever. */
function notYet(result: Exclude<Result, void>): Result {
  const { requeueAfter, requeue } = result
  // What else is wrong with it is reported where every result is read.
  if (requeue || toMs(requeueAfter ?? 0) > 0) return result
  const rule = 'a cleanup returns nothing when it has ended, else { requeueAfter } of more than 0 or { requeue: true }'
  throw new RangeError(`Cannot clean up again after ${String(requeueAfter)}: ${rule}`)
}
