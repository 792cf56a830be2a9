/**
 * What server-side apply answered, so that the same desired object is not sent again while the answer stands.
 * The answer, not the desired object, is what to compare with: servers normalise (`1000m` becomes `1`) and default.
 *
 * Only hashes are kept, so that an entry has some 140 bytes, however large its object. Were two texts to have the same hash, a
 * write that is due would be left out; see `hash.ts` for why that does not happen, not even on purpose.
 */
import { project } from '../core/equal.ts'
import { hashOf } from '../core/hash.ts'
import { formatKey, type KubeObject, type ObjectKey } from '../core/objects.ts'
import { type AnyResource, apiVersionOf } from '../core/resource.ts'

/** Above this many objects the oldest answers are forgotten; they cost one request each when asked for again. */
const MAX_ANSWERS = 50_000
/** The answers of more field managers than these are not dropped with their objects, but when they are the oldest. */
const MAX_MANAGERS = 100

/** The memory of one object. */
export interface AppliedObject {
  /** Whether `current` still has, at every desired field, what the last apply of the same object was answered with. */
  stands(desired: object, current: KubeObject): boolean
  remember(desired: object, answer: KubeObject): void
}

/** Remembers what was applied and answered, so that the same apply is not sent again. */
export class ApplyCache {
  /** By the hash of a field manager and an object's name: the hashes of its uid, of what was desired, and of the answer. */
  readonly #answers = new Map<string, string>()
  /** Usually one. */
  readonly #managers = new Set<string>()

  of(resource: AnyResource, key: ObjectKey, fieldManager: string): AppliedObject {
    const id = idOf(fieldManager, resource, formatKey(key))
    return {
      stands: (desired, current) => {
        const known = this.#answers.get(id)
        return known !== undefined && !current.metadata.deletionTimestamp && known === answerOf(desired, current)
      },
      remember: (desired, answer) => {
        if (this.#managers.size < MAX_MANAGERS) this.#managers.add(fieldManager)
        this.#answers.delete(id)
        if (this.#answers.size >= MAX_ANSWERS) this.#answers.delete(this.#answers.keys().next().value!)
        this.#answers.set(id, answerOf(desired, answer))
      },
    }
  }

  /** Drops what is known of an object, given its `namespace/name`: it is gone. With a uid, not what is known of a namesake. */
  forget(resource: AnyResource, key: string, uid?: string): void {
    for (const fieldManager of this.#managers) {
      const id = idOf(fieldManager, resource, key)
      if (uid === undefined || this.#answers.get(id)?.startsWith(hashOf(uid))) this.#answers.delete(id)
    }
  }

  /** How many answers are remembered. */
  get size(): number {
    return this.#answers.size
  }
}

function idOf(fieldManager: string, resource: AnyResource, key: string): string {
  return hashOf(`${fieldManager} ${apiVersionOf(resource)}/${resource.plural} ${key}`)
}

/** An object's uid first, then what was desired of it, and what it has at the desired fields. */
function answerOf(desired: object, object: KubeObject): string {
  return hashOf(object.metadata.uid, JSON.stringify(desired), JSON.stringify(project(object, desired)))
}
