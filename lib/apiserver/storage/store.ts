/** Stores objects, their revisions and a bounded history of changes. */
import { type ApiObject, forgetJson, type JsonObject } from '../model/json.ts'
import { gone } from '../model/status.ts'
import { shareEqual, sizeOf } from './share_equal.ts'
import { Listeners, type Term } from './terms.ts'

/** One write. */
export interface Change {
  readonly revision: number
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly storage: string
  readonly key: string
  /** The state after the write; for a deletion, the last state, at the revision of the deletion. */
  readonly object: ApiObject
  readonly before: ApiObject | undefined
  /** The time of the write, on the monotonic clock. */
  readonly atMs: number
  /** The size of `before`, which only the history keeps, as JSON or nearly. */
  readonly size: number
}

/** The content of a store as JSON. */
export interface SavedStore {
  readonly revision: number
  readonly objects: Readonly<Record<string, readonly ApiObject[]>>
}

interface Bucket {
  readonly objects: SortedObjects
  /** The number of objects by namespace. */
  readonly counts: Map<string, number>
  history: Change[]
  /** The sum of the sizes in `history`. */
  historySize: number
  /** The revision before the first entry of `history`; older changes are dropped. */
  trimmed: number
  /** Undefined before the first one. */
  listeners: Listeners<Change> | undefined
}

/** The number of changes of a storage that are kept; up to twice as many before the oldest are dropped. */
const HISTORY_LENGTH = 4096
/** Older changes are dropped, except for the last ones of each storage. As long as etcd keeps them on a real server. */
const HISTORY_MS = 5 * 60_000
const MIN_HISTORY_LENGTH = 100
/** The size of the changes of a storage, from which on the oldest half is dropped. */
const MAX_HISTORY_SIZE = 64 * 1024 * 1024
/** The time between two searches for old changes. */
const TRIM_EVERY_MS = 60_000
/** The number of edits of the sorted objects between two reads, up to which they are faster than sorting again. */
const MAX_EDITS = 64

/**
 * The objects in memory.
 *
 * One counter gives each write its resourceVersion, as in etcd. A write replaces the object and never changes it in
 * place, so readers, watchers and the history share objects. The bounded history serves lists at earlier revisions
 * and watches from earlier revisions.
 */
export class Store {
  readonly #nowMs: () => number
  readonly #onChange: ((change: Change) => void) | undefined
  #trimmedMs: number
  #revision = 1
  /** The revision of the last {@link compact}: older states cannot be read. */
  #compacted = 0
  readonly #buckets = new Map<string, Bucket>()

  /** `nowMs`: returns the monotonic time, for the age of changes. `onChange`: called for each change of any storage. */
  constructor(nowMs: () => number, onChange?: (change: Change) => void) {
    this.#nowMs = nowMs
    this.#onChange = onChange
    this.#trimmedMs = nowMs()
  }

  get revision(): number {
    return this.#revision
  }

  get(storage: string, key: string): ApiObject | undefined {
    return this.#bucket(storage).objects.get(key)
  }

  /** Returns all objects whose key starts with `prefix`, in key order: the same list until the next write. */
  list(storage: string, prefix: string): readonly ApiObject[] {
    return this.#bucket(storage).objects.list(prefix)
  }

  /** Returns the number of objects in a namespace. */
  countIn(storage: string, namespace: string): number {
    return this.#bucket(storage).counts.get(namespace) ?? 0
  }

  /** Like {@link list}, at an earlier revision. Throws 410 if that revision is dropped. */
  listAt(storage: string, prefix: string, revision: number): readonly ApiObject[] {
    if (revision >= this.#revision) return this.list(storage, prefix)
    const bucket = this.#bucket(storage)
    if (revision < this.#oldest(bucket)) throw gone('The resourceVersion for the provided list is too old.')
    const before = new Map<string, ApiObject | undefined>()
    for (let i = bucket.history.length - 1; i >= 0 && bucket.history[i]!.revision > revision; i--) {
      before.set(bucket.history[i]!.key, bucket.history[i]!.before)
    }
    return bucket.objects.listWith(prefix, before)
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
    if (before) shareEqual(stored, before)
    else count(bucket, key, 1)
    bucket.objects.set(key, stored)
    this.#publish(bucket, {
      revision: this.#revision,
      type: before ? 'MODIFIED' : 'ADDED',
      storage,
      key,
      object: stored,
      before,
      atMs: this.#nowMs(),
      size: before ? sizeBefore(before) : 0,
    })
    return stored
  }

  /** Stores an object with its own version, as no write of this store. The store's version is then at least that. */
  adopt(storage: string, key: string, object: ApiObject): void {
    const bucket = this.#bucket(storage)
    const revision = Number(object.metadata.resourceVersion)
    if (revision > this.#revision) this.#revision = revision
    if (!bucket.objects.get(key)) count(bucket, key, 1)
    bucket.objects.set(key, object)
  }

  /** Removes an object. Returns its last state (default: the stored one) at the revision of the deletion. */
  remove(storage: string, key: string, last?: ApiObject): ApiObject {
    const bucket = this.#bucket(storage)
    const before = bucket.objects.get(key)!
    bucket.objects.delete(key)
    count(bucket, key, -1)
    const object = this.#stamp(last ?? before)
    const change = { revision: this.#revision, type: 'DELETED', storage, key, object, before } as const
    this.#publish(bucket, { ...change, atMs: this.#nowMs(), size: sizeBefore(before) })
    return object
  }

  /**
   * Calls `listener` synchronously for each change of a storage; with a term, at least for those of an object that has
   * its value, or had it before. Returns a function that removes the listener.
   */
  listen(storage: string, listener: (change: Change) => void, term?: Term): () => void {
    return (this.#bucket(storage).listeners ??= new Listeners()).add(listener, term)
  }

  /** Drops old changes of all storages, at most once a minute. Called with requests: an idle server has no timer. */
  trim(): void {
    const nowMs = this.#nowMs()
    if (nowMs - this.#trimmedMs >= TRIM_EVERY_MS) this.#trimOld(nowMs)
  }

  /** Drops the history: reads and watches at older revisions get 410. */
  compact(): void {
    this.#compacted = this.#revision
    for (const bucket of this.#buckets.values()) Object.assign(bucket, { history: [], historySize: 0 })
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
    // Versions of a server that has run are not used twice.
    this.#revision = this.#revision === 1 ? saved.revision : Math.max(this.#revision, saved.revision) + 1
    this.#compacted = this.#revision
    for (const bucket of this.#buckets.values()) Object.assign(bucket, emptyBucket(), { listeners: bucket.listeners })
    for (const [storage, objects] of Object.entries(saved.objects)) {
      const bucket = this.#bucket(storage)
      for (const object of objects) {
        const key = keyOf(object.metadata)
        bucket.objects.set(key, object)
        count(bucket, key, 1)
      }
    }
  }

  #bucket(storage: string): Bucket {
    let bucket = this.#buckets.get(storage)
    if (!bucket) {
      bucket = emptyBucket()
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
    bucket.historySize += change.size
    if (bucket.history.length > 2 * HISTORY_LENGTH) trim(bucket, bucket.history.length - HISTORY_LENGTH)
    if (bucket.historySize > MAX_HISTORY_SIZE) trimLarge(bucket)
    this.trim()
    for (const listener of bucket.listeners?.of(change) ?? []) listener(change)
    this.#onChange?.(change)
  }

  /** Drops old changes of all storages. */
  #trimOld(nowMs: number): void {
    this.#trimmedMs = nowMs
    for (const bucket of this.#buckets.values()) {
      const { history } = bucket
      const most = history.length - MIN_HISTORY_LENGTH
      let old = 0
      while (old < most && nowMs - history[old]!.atMs > HISTORY_MS) old++
      trim(bucket, old)
    }
  }
}

function emptyBucket(): Bucket {
  return {
    objects: new SortedObjects(),
    counts: new Map(),
    history: [],
    historySize: 0,
    trimmed: 0,
    listeners: undefined,
  }
}

/** The objects of a storage by key and in key order. Hands out lists that later writes do not change. */
class SortedObjects {
  readonly #byKey = new Map<string, ApiObject>()
  /** The keys in order, with their objects; undefined if they must be sorted again. */
  #sorted: { readonly keys: string[]; readonly objects: ApiObject[] } | undefined
  /** How often `#sorted` was edited since it was last read. */
  #edits = 0
  /** The lists that were handed out since the last write, by prefix. Readers of one state share them. */
  readonly #lists = new Map<string, readonly ApiObject[]>()

  get size(): number {
    return this.#byKey.size
  }

  get(key: string): ApiObject | undefined {
    return this.#byKey.get(key)
  }

  set(key: string, object: ApiObject): void {
    const isNew = !this.#byKey.has(key)
    this.#byKey.set(key, object)
    this.#edit(key, (at, keys, objects) => {
      if (isNew) keys.splice(at, 0, key)
      objects.splice(at, isNew ? 0 : 1, object)
    })
  }

  delete(key: string): void {
    this.#byKey.delete(key)
    this.#edit(key, (at, keys, objects) => {
      keys.splice(at, 1)
      objects.splice(at, 1)
    })
  }

  values(): IterableIterator<ApiObject> {
    return this.#byKey.values()
  }

  /** Returns the objects whose key starts with `prefix`, in key order: the same list until the next write. */
  list(prefix: string): readonly ApiObject[] {
    let list = this.#lists.get(prefix)
    if (!list) {
      const { keys, objects } = this.#sort()
      // No key has this character.
      list = objects.slice(positionOf(keys, prefix), positionOf(keys, `${prefix}\uffff`))
      this.#lists.set(prefix, list)
    }
    return list
  }

  /** Like {@link list}, with other objects for some keys; undefined stands for none. */
  listWith(prefix: string, others: ReadonlyMap<string, ApiObject | undefined>): readonly ApiObject[] {
    const { keys, objects } = this.#sort()
    const changed = [...others.keys()].filter((key) => key.startsWith(prefix)).sort(byBytes)
    const found: ApiObject[] = []
    let from = positionOf(keys, prefix)
    for (const key of changed) {
      const to = positionOf(keys, key)
      for (; from < to; from++) found.push(objects[from]!)
      if (keys[from] === key) from++
      const other = others.get(key)
      if (other) found.push(other)
    }
    for (const end = positionOf(keys, `${prefix}\uffff`); from < end; from++) found.push(objects[from]!)
    return found
  }

  #sort(): { readonly keys: string[]; readonly objects: ApiObject[] } {
    this.#edits = 0
    if (!this.#sorted) {
      const keys = [...this.#byKey.keys()].sort(byBytes)
      this.#sorted = { keys, objects: keys.map((key) => this.#byKey.get(key)!) }
    }
    return this.#sorted
  }

  #edit(key: string, change: (at: number, keys: string[], objects: ApiObject[]) => void): void {
    this.#lists.clear()
    if (!this.#sorted) return
    if (this.#edits++ >= MAX_EDITS) this.#sorted = undefined
    else change(positionOf(this.#sorted.keys, key), this.#sorted.keys, this.#sorted.objects)
  }
}

/** Drops the oldest changes. */
function trim(bucket: Bucket, count: number): void {
  if (count <= 0) return
  bucket.trimmed = bucket.history[count - 1]!.revision
  for (let i = 0; i < count; i++) bucket.historySize -= bucket.history[i]!.size
  bucket.history = bucket.history.slice(count)
}

/** Drops the oldest half of the changes by size, except for the last ones. */
function trimLarge(bucket: Bucket): void {
  const { history } = bucket
  const most = history.length - MIN_HISTORY_LENGTH
  let [count, size] = [0, bucket.historySize]
  while (count < most && size > MAX_HISTORY_SIZE / 2) size -= history[count++]!.size
  trim(bucket, count)
}

/** Returns the size of an object that is replaced, and drops its text. */
function sizeBefore(before: ApiObject): number {
  return forgetJson(before) || sizeOf(before)
}

/** Counts one object more or less in the namespace of a key. */
function count(bucket: Bucket, key: string, by: 1 | -1): void {
  const namespace = namespaceOf(key)
  const sum = (bucket.counts.get(namespace) ?? 0) + by
  if (sum > 0) bucket.counts.set(namespace, sum)
  else bucket.counts.delete(namespace)
}

/** Returns the namespace of a key; empty for cluster-scoped kinds. */
function namespaceOf(key: string): string {
  return key.slice(0, Math.max(0, key.indexOf('/')))
}

/** Returns the key of an object: `namespace/name`, or `name`. */
export function keyOf(meta: JsonObject): string {
  return meta['namespace'] ? `${String(meta['namespace'])}/${String(meta['name'])}` : String(meta['name'])
}

/** Returns the position of the first key that is not less than `key`. */
function positionOf(sorted: readonly string[], key: string): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (sorted[middle]! < key) low = middle + 1
    else high = middle
  }
  return low
}

/** Compares keys in etcd's order. Names are ASCII, so code units are bytes. */
function byBytes(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
