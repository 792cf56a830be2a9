/**
 * Remembers the results of server-side applies, to skip an apply that would change nothing.
 *
 * The server's response is compared, not the desired object: servers normalise (`1000m` becomes `1`) and set defaults.
 *
 * Only hashes are stored, about 140 bytes per object. A hash collision would skip a due write; `hash.ts` explains why
 * that does not happen, not even on purpose.
 */
import { BoundedMap } from '../async/bounded_map.ts'
import { project } from '../core/equal.ts'
import { hashOf } from '../core/hash.ts'
import { formatKey, type KubeObject, type ObjectKey } from '../core/objects.ts'
import { type AnyResource, apiVersionOf } from '../core/resource.ts'

/** Above this many entries the oldest are dropped; each costs one more request later. */
const MAX_ANSWERS = 50_000
/** The entries of further field managers are not dropped with their objects, only when they are the oldest. */
const MAX_MANAGERS = 100

/** The entry of one object and field manager. */
export interface AppliedObject {
  /**
   * Returns whether `current` still has, at every desired field, what the last apply of the same `desired` returned.
   */
  stands(desired: object, current: KubeObject): boolean
  /** Stores what an apply returned. */
  remember(desired: object, answer: KubeObject): void
}

/** Remembers what was applied and answered, so that the same apply is not sent again. */
export class ApplyCache {
  /** Key: hash of field manager and object. Value: hashes of its uid, the desired object and the result. */
  readonly #answers = new BoundedMap<string, string>(MAX_ANSWERS)
  /** Usually one name. */
  readonly #managers = new Set<string>()

  /** Returns the entry of an object for a field manager. */
  of(resource: AnyResource, key: ObjectKey, fieldManager: string): AppliedObject {
    const id = idOf(fieldManager, resource, formatKey(key))
    return {
      stands: (desired, current) => {
        const known = this.#answers.get(id)
        return known !== undefined && !current.metadata.deletionTimestamp && known === answerOf(desired, current)
      },
      remember: (desired, answer) => {
        if (this.#managers.size < MAX_MANAGERS) this.#managers.add(fieldManager)
        this.#answers.set(id, answerOf(desired, answer))
      },
    }
  }

  /** Drops the entries of a deleted object, by its `namespace/name`; with `uid`, only those of that object. */
  forget(resource: AnyResource, key: string, uid?: string): void {
    for (const fieldManager of this.#managers) {
      const id = idOf(fieldManager, resource, key)
      if (uid === undefined || this.#answers.get(id)?.startsWith(hashOf(uid))) this.#answers.delete(id)
    }
  }

  /** The number of entries. */
  get size(): number {
    return this.#answers.size
  }
}

function idOf(fieldManager: string, resource: AnyResource, key: string): string {
  return hashOf(`${fieldManager} ${apiVersionOf(resource)}/${resource.plural} ${key}`)
}

/**
 * Hashes the uid (first, for {@link ApplyCache.forget}), the desired object, and the object's values at the desired
 * fields.
 */
function answerOf(desired: object, object: KubeObject): string {
  return hashOf(object.metadata.uid, JSON.stringify(desired), JSON.stringify(project(object, desired)))
}
