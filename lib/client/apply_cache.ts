/**
 * Remembers the results of server-side applies, to skip an apply that would change nothing.
 *
 * The server's response is compared, not the desired object: servers normalise (`1000m` becomes `1`) and set defaults.
 * It is compared whole: another writer's key in an atomic map (`spec.selector` of a Service), or the value of a
 * write-only field (`stringData` of a Secret), is in no field of the desired object, but an apply would undo it. A
 * change that an apply leaves alone costs one request, whose response is remembered.
 *
 * Only hashes are stored, about 140 bytes per object. A hash collision would skip a due write; {@link hashOf}
 * explains why that does not happen, not even on purpose.
 */
import { BoundedMap } from '../async/bounded_map.ts'
import { sortedJson } from '../core/equal.ts'
import { formatKey, type KubeObject, type ObjectKey } from '../core/objects.ts'
import { type AnyResource, apiVersionOf } from '../core/resource.ts'

/** Above this many entries the oldest are dropped; each costs one more request later. */
const MAX_ANSWERS = 50_000
/** The entries of further field managers are not dropped with their objects, only when they are the oldest. */
const MAX_MANAGERS = 100

/** The entry of one object and field manager. */
export interface AppliedObject {
  /** Whether the last apply was of the same `desired`, and `current` is its answer but for status and bookkeeping. */
  isUpToDate(desired: object, current: KubeObject): boolean
  /** Stores what an apply returned. */
  remember(desired: object, answer: KubeObject): void
}

/** The controllers and tasks that apply one object by one field manager. */
export interface SharedObject {
  /** Those besides the writer, if `desired` was not judged beside what they applied. */
  readonly others: readonly string[]
  /** Stores that the writer applies `desired`. */
  judged(): void
}

/** Remembers what was applied and answered, so that the same apply is not sent again. */
export class ApplyCache {
  /** Key: hash of field manager and object. Value: hashes of its uid, the desired object and the result. */
  readonly #answers = new BoundedMap<string, string>(MAX_ANSWERS)
  /** By object and field manager: controllers and tasks, and the hash of what each applies; '' is to be judged. */
  readonly #writers = new BoundedMap<string, readonly string[]>(MAX_ANSWERS)
  /** Usually one name. */
  readonly #managers = new Set<string>()
  /** The hashes of cached objects, which never change. */
  readonly #contents = new WeakMap<KubeObject, string>()

  of(resource: AnyResource, key: ObjectKey, fieldManager: string): AppliedObject {
    const id = idOf(fieldManager, resource, formatKey(key))
    return {
      isUpToDate: (desired, current) => {
        const known = this.#answers.get(id)
        return known !== undefined && !current.metadata.deletionTimestamp &&
          known.startsWith(applyOf(desired, current)) && known.endsWith(this.#contentOf(current))
      },
      remember: (desired, answer) => {
        if (this.#managers.size < MAX_MANAGERS) this.#managers.add(fieldManager)
        this.#answers.set(id, applyOf(desired, answer) + contentOf(answer))
      },
    }
  }

  /** Returns which controllers and tasks apply an object, before `writer` applies `desired`. */
  sharedBy(resource: AnyResource, key: ObjectKey, fieldManager: string, writer: string, desired: object): SharedObject {
    const id = idOf(fieldManager, resource, formatKey(key))
    const known = this.#writers.get(id) ?? []
    const hash = hashOf(JSON.stringify(desired))
    const at = known.indexOf(writer)
    const isJudged = known.includes(hash)
    return {
      others: isJudged ? [] : known.filter((each, index) => index % 2 === 0 && each !== writer),
      judged: () => {
        if (at >= 0 && isJudged) return
        const rest = known.map((each, index) => index % 2 === 0 || isJudged ? each : '')
        this.#writers.set(id, at < 0 ? [...rest, writer, hash] : rest.with(at + 1, hash))
      },
    }
  }

  /** Drops the entries of a deleted object, by its `namespace/name`. Those of a later object of that name stay. */
  forget(resource: AnyResource, key: string, uid: string): void {
    for (const fieldManager of this.#managers) {
      const id = idOf(fieldManager, resource, key)
      if (!this.#answers.get(id)?.startsWith(hashOf(uid))) continue
      this.#answers.delete(id)
      this.#writers.delete(id)
    }
  }

  #contentOf(cached: KubeObject): string {
    const content = this.#contents.get(cached) ?? contentOf(cached)
    this.#contents.set(cached, content)
    return content
  }

  get size(): number {
    return this.#answers.size
  }
}

function idOf(fieldManager: string, resource: AnyResource, key: string): string {
  return hashOf(`${fieldManager} ${apiVersionOf(resource)}/${resource.plural} ${key}`)
}

type WithStatus = object & { readonly status?: unknown }

/**
 * Hashes the uid (first, for {@link ApplyCache.forget}), the desired object, and the status if one is desired: then it
 * is an ordinary field of the kind.
 */
function applyOf(desired: WithStatus, { metadata, status }: KubeObject & WithStatus): string {
  const current = desired.status === undefined ? '' : sortedJson(status ?? null)
  return hashOf(metadata.uid, JSON.stringify(desired), current)
}

/** Hashes what an apply can change, the status aside. */
function contentOf({ metadata, status: _, ...rest }: KubeObject & WithStatus): string {
  const bookkeeping = { resourceVersion: undefined, generation: undefined, managedFields: undefined }
  return hashOf(sortedJson({ ...rest, metadata: { ...metadata, ...bookkeeping } }))
}

const KEY = crypto.getRandomValues(new Int32Array(4))

/**
 * Returns a keyed 128-bit hash of each text, as eight UTF-16 code units, in one flat string.
 *
 * The hash is after HalfSipHash-1-3, over pairs of UTF-16 code units; it is the algorithm's whole state. The key is
 * random in each process, so that texts with equal hashes cannot be found from outside. Two texts collide with a
 * probability of about 2^-128. Synchronous on every runtime. Not for signatures: a hash must stay in the process.
 *
 * @see https://www.aumasson.jp/siphash/siphash.pdf
 */
export function hashOf(...texts: readonly string[]): string {
  const units: number[] = []
  for (const text of texts) hashInto(units, text)
  return String.fromCharCode(...units)
}

function hashInto(units: number[], text: string): void {
  let [v0, v1, v2, v3] = KEY as unknown as [number, number, number, number]
  const { length } = text
  // The pairs, then the rest with the length, then three rounds that mix the last word.
  for (let at = 0, end = length + 7 - (length & 1); at < end; at += 2) {
    const word = at + 1 < length
      ? text.charCodeAt(at) | (text.charCodeAt(at + 1) << 16)
      : at > length
      ? 0
      : (length << 16) | (at < length ? text.charCodeAt(at) : 0)
    if (at > length) v2 ^= 0xff
    v3 ^= word
    v0 = (v0 + v1) | 0
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
    v0 = (v0 << 16) | (v0 >>> 16)
    v2 = (v2 + v3) | 0
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
    v0 = (v0 + v3) | 0
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
    v2 = (v2 + v1) | 0
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
    v2 = (v2 << 16) | (v2 >>> 16)
    v0 ^= word
  }
  units.push(v0 >>> 16, v0 & 0xffff, v1 >>> 16, v1 & 0xffff, v2 >>> 16, v2 & 0xffff, v3 >>> 16, v3 & 0xffff)
}
