/**
 * What server-side apply answered, so that the same desired object is not sent again while the answer stands.
 * The answer, not the desired object, is what to compare with: servers normalise (`1000m` becomes `1`) and default.
 */
import { jsonEqual, project } from '../core/equal.ts'
import { formatKey, type KubeObject, type ObjectKey } from '../core/objects.ts'
import { resourceId, type AnyResource } from '../core/resource.ts'

interface Answer {
  readonly uid: string
  /** As JSON: what was sent, whatever becomes of the caller's object. */
  readonly desired: string
  /** The answer at the fields that were desired. */
  readonly projection: unknown
}

/** Above this many objects the oldest answers are forgotten; they cost one request each when asked for again. */
const MOST_ANSWERS = 50_000

/** The memory of one object. */
export interface AppliedObject {
  /** Whether `current` still has, at every desired field, what the last apply of the same object was answered with. */
  stands(desired: object, current: KubeObject): boolean
  remember(desired: object, answer: KubeObject): void
}

export class AppliedMemory {
  readonly #answers = new Map<string, Answer>()

  of(resource: AnyResource, key: ObjectKey, fieldManager: string): AppliedObject {
    const id = `${fieldManager} ${resourceId(resource)} ${formatKey(key)}`
    return {
      stands: (desired, current) => {
        const answer = this.#answers.get(id)
        if (!answer || answer.uid !== current.metadata.uid || current.metadata.deletionTimestamp) return false
        return answer.desired === JSON.stringify(desired) && jsonEqual(project(current, desired), answer.projection)
      },
      remember: (desired, answer) => {
        this.#answers.delete(id)
        if (this.#answers.size >= MOST_ANSWERS) this.#answers.delete(this.#answers.keys().next().value!)
        this.#answers.set(id, { uid: answer.metadata.uid, desired: JSON.stringify(desired), projection: project(answer, desired) })
      },
    }
  }
}
