/**
 * The objects, their revisions, and what happened lately.
 *
 * One counter gives every write its resourceVersion, as etcd does. Objects are never changed in place: a write
 * replaces, so that readers, watchers and the history share them. Of the past the store keeps a bounded window, from
 * which it can go back to an earlier revision and tell a watcher what it has missed.
 */
import { type ApiObject, type JsonObject } from '../json.ts'
import { gone } from '../http/status.ts'

/** One write, in order. */
export interface Change {
  readonly revision: number
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly storage: string
  readonly key: string
  /** After the write; for a deletion, the last state, at the revision of its deletion. */
  readonly object: ApiObject
  readonly before: ApiObject | undefined
}

/** The store as JSON. */
export interface SavedStore {
  readonly revision: number
  readonly objects: Readonly<Record<string, readonly ApiObject[]>>
}

interface Bucket {
  readonly objects: Map<string, ApiObject>
  /** The keys in order; undefined after one came or went. */
  sorted: string[] | undefined
  history: Change[]
  /** The revision before the first of `history`: what lies before it is forgotten. */
  forgotten: number
  readonly listeners: Set<(change: Change) => void>
}

const HISTORY_LENGTH = 4096

export class Store {
  #revision = 1
  /** What {@link compact} was called at: nothing can be read as it was before. */
  #compacted = 0
  readonly #buckets = new Map<string, Bucket>()

  get revision(): number {
    return this.#revision
  }

  get(storage: string, key: string): ApiObject | undefined {
    return this.#bucket(storage).objects.get(key)
  }

  /** All objects whose key begins with `prefix`, in the order of their keys. */
  list(storage: string, prefix: string): readonly ApiObject[] {
    const bucket = this.#bucket(storage)
    bucket.sorted ??= [...bucket.objects.keys()].sort(byBytes)
    const keys = prefix ? bucket.sorted.filter((key) => key.startsWith(prefix)) : bucket.sorted
    return keys.map((key) => bucket.objects.get(key)!)
  }

  /** The same as it was at a revision. Throws 410 when that is forgotten. */
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

  /** The changes after a revision. Throws 410 when some of them are forgotten. */
  since(storage: string, revision: number): readonly Change[] {
    const bucket = this.#bucket(storage)
    const oldest = this.#oldest(bucket)
    if (revision < oldest) throw gone(`too old resource version: ${revision} (${oldest})`)
    return bucket.history.filter((change) => change.revision > revision)
  }

  /** Puts an object in under its key, at the next revision, and tells the watchers. Returns it as stored. */
  put(storage: string, key: string, object: ApiObject): ApiObject {
    const bucket = this.#bucket(storage)
    const before = bucket.objects.get(key)
    const stored = this.#stamp(object)
    bucket.objects.set(key, stored)
    if (!before) bucket.sorted = undefined
    this.#announce(bucket, {
      revision: this.#revision,
      type: before ? 'MODIFIED' : 'ADDED',
      storage,
      key,
      object: stored,
      before,
    })
    return stored
  }

  /** Takes an object out. Returns its last state (`last`, or as it was stored) at the revision of the deletion. */
  remove(storage: string, key: string, last?: ApiObject): ApiObject {
    const bucket = this.#bucket(storage)
    const before = bucket.objects.get(key)!
    bucket.objects.delete(key)
    bucket.sorted = undefined
    const object = this.#stamp(last ?? before)
    this.#announce(bucket, { revision: this.#revision, type: 'DELETED', storage, key, object, before })
    return object
  }

  /** Calls `listener` at once for each change of a storage; returns how to end that. */
  listen(storage: string, listener: (change: Change) => void): () => void {
    const { listeners } = this.#bucket(storage)
    listeners.add(listener)
    return () => listeners.delete(listener)
  }

  /** Forgets the past: reads and watches from before now get 410. */
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

  /** Takes a saved state over. What was before it is forgotten, so that old watchers list again. */
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
      bucket = { objects: new Map(), sorted: undefined, history: [], forgotten: 0, listeners: new Set() }
      this.#buckets.set(storage, bucket)
    }
    return bucket
  }

  #oldest(bucket: Bucket): number {
    return Math.max(bucket.forgotten, this.#compacted)
  }

  #stamp(object: ApiObject): ApiObject {
    this.#revision++
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#revision) } }
  }

  #announce(bucket: Bucket, change: Change): void {
    bucket.history.push(change)
    if (bucket.history.length > 2 * HISTORY_LENGTH) {
      const dropped = bucket.history.splice(0, bucket.history.length - HISTORY_LENGTH)
      bucket.forgotten = dropped[dropped.length - 1]!.revision
    }
    for (const listener of [...bucket.listeners]) listener(change)
  }
}

/** The key of an object: `namespace/name`, or `name`. */
export function keyOf(meta: JsonObject): string {
  return meta['namespace'] ? `${String(meta['namespace'])}/${String(meta['name'])}` : String(meta['name'])
}

/** The order of etcd's keys. Names are ASCII, so that code units are bytes. */
function byBytes(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
