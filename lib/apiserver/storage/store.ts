/** Stores objects, their revisions and a bounded history of changes. */
import { type ApiObject, type JsonObject } from '../json.ts'
import { gone } from '../http/status.ts'

/** One write. */
export interface Change {
  readonly revision: number
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly storage: string
  readonly key: string
  /** The state after the write; for a deletion, the last state, at the revision of the deletion. */
  readonly object: ApiObject
  readonly before: ApiObject | undefined
}

/** The content of a store as JSON. */
export interface SavedStore {
  readonly revision: number
  readonly objects: Readonly<Record<string, readonly ApiObject[]>>
}

interface Bucket {
  readonly objects: Map<string, ApiObject>
  /** The sorted keys; undefined after a key was added or removed. */
  sorted: string[] | undefined
  history: Change[]
  /** The revision before the first entry of `history`; older changes are dropped. */
  trimmed: number
  readonly listeners: Set<(change: Change) => void>
}

const HISTORY_LENGTH = 4096

/**
 * The objects in memory.
 *
 * One counter gives each write its resourceVersion, as in etcd. A write replaces the object and never changes it in
 * place, so readers, watchers and the history share objects. The bounded history serves lists at earlier revisions
 * and watches from earlier revisions.
 */
export class Store {
  #revision = 1
  /** The revision of the last {@link compact}: older states cannot be read. */
  #compacted = 0
  readonly #buckets = new Map<string, Bucket>()

  get revision(): number {
    return this.#revision
  }

  get(storage: string, key: string): ApiObject | undefined {
    return this.#bucket(storage).objects.get(key)
  }

  /** Returns all objects whose key starts with `prefix`, in key order. */
  list(storage: string, prefix: string): readonly ApiObject[] {
    const bucket = this.#bucket(storage)
    bucket.sorted ??= [...bucket.objects.keys()].sort(byBytes)
    const keys = prefix ? bucket.sorted.filter((key) => key.startsWith(prefix)) : bucket.sorted
    return keys.map((key) => bucket.objects.get(key)!)
  }

  /** Like {@link list}, at an earlier revision. Throws 410 if that revision is dropped. */
  listAt(storage: string, prefix: string, revision: number): readonly ApiObject[] {
    if (revision >= this.#revision) return this.list(storage, prefix)
    const bucket = this.#bucket(storage)
    if (revision < this.#oldest(bucket)) throw gone('The resourceVersion for the provided list is too old.')
    const objects = new Map(bucket.objects)
    for (let i = bucket.history.length - 1; i >= 0 && bucket.history[i]!.revision > revision; i--) {
      const { key, before } = bucket.history[i]!
      if (before) objects.set(key, before)
      else objects.delete(key)
    }
    return [...objects.keys()].filter((key) => key.startsWith(prefix)).sort(byBytes).map((key) => objects.get(key)!)
  }

  /** Returns the changes after a revision. Throws 410 if some of them are dropped. */
  since(storage: string, revision: number): readonly Change[] {
    const bucket = this.#bucket(storage)
    const oldest = this.#oldest(bucket)
    if (revision < oldest) throw gone(`too old resource version: ${revision} (${oldest})`)
    return bucket.history.filter((change) => change.revision > revision)
  }

  /** Stores an object at the next revision and notifies the listeners. Returns the stored object. */
  put(storage: string, key: string, object: ApiObject): ApiObject {
    const bucket = this.#bucket(storage)
    const before = bucket.objects.get(key)
    const stored = this.#stamp(object)
    bucket.objects.set(key, stored)
    if (!before) bucket.sorted = undefined
    this.#publish(bucket, {
      revision: this.#revision,
      type: before ? 'MODIFIED' : 'ADDED',
      storage,
      key,
      object: stored,
      before,
    })
    return stored
  }

  /** Removes an object. Returns its last state (default: the stored one) at the revision of the deletion. */
  remove(storage: string, key: string, last?: ApiObject): ApiObject {
    const bucket = this.#bucket(storage)
    const before = bucket.objects.get(key)!
    bucket.objects.delete(key)
    bucket.sorted = undefined
    const object = this.#stamp(last ?? before)
    this.#publish(bucket, { revision: this.#revision, type: 'DELETED', storage, key, object, before })
    return object
  }

  /** Calls `listener` synchronously for each change of a storage. Returns a function that removes the listener. */
  listen(storage: string, listener: (change: Change) => void): () => void {
    const { listeners } = this.#bucket(storage)
    listeners.add(listener)
    return () => listeners.delete(listener)
  }

  /** Drops the history: reads and watches at older revisions get 410. */
  compact(): void {
    this.#compacted = this.#revision
    for (const bucket of this.#buckets.values()) bucket.history = []
  }

  save(): SavedStore {
    const objects: Record<string, readonly ApiObject[]> = {}
    for (const [storage, bucket] of this.#buckets) {
      if (bucket.objects.size > 0) objects[storage] = [...bucket.objects.values()]
    }
    return { revision: this.#revision, objects }
  }

  /** Replaces the state with a saved one. Older history is dropped, so clients with old watches list again. */
  restore(saved: SavedStore): void {
    this.#revision = saved.revision
    this.#compacted = saved.revision
    for (const [storage, objects] of Object.entries(saved.objects)) {
      for (const object of objects) this.#bucket(storage).objects.set(keyOf(object.metadata), object)
    }
  }

  #bucket(storage: string): Bucket {
    let bucket = this.#buckets.get(storage)
    if (!bucket) {
      bucket = { objects: new Map(), sorted: undefined, history: [], trimmed: 0, listeners: new Set() }
      this.#buckets.set(storage, bucket)
    }
    return bucket
  }

  #oldest(bucket: Bucket): number {
    return Math.max(bucket.trimmed, this.#compacted)
  }

  #stamp(object: ApiObject): ApiObject {
    this.#revision++
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#revision) } }
  }

  #publish(bucket: Bucket, change: Change): void {
    bucket.history.push(change)
    if (bucket.history.length > 2 * HISTORY_LENGTH) {
      const dropped = bucket.history.splice(0, bucket.history.length - HISTORY_LENGTH)
      bucket.trimmed = dropped[dropped.length - 1]!.revision
    }
    for (const listener of [...bucket.listeners]) listener(change)
  }
}

/** Returns the key of an object: `namespace/name`, or `name`. */
export function keyOf(meta: JsonObject): string {
  return meta['namespace'] ? `${String(meta['namespace'])}/${String(meta['name'])}` : String(meta['name'])
}

/** Compares keys in etcd's order. Names are ASCII, so code units are bytes. */
function byBytes(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
