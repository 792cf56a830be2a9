/**
 * The state of own writes that the watch has not delivered yet, without I/O and without a clock.
 *
 * Safety: an answer is shown only while its version is above the last version that the watch has delivered. The store
 * is the server's state at that version. A later change or deletion by others has a higher version, so reaching it ends
 * the answer too, in any order of arrival. The answer to a deletion has no version. It is stored by uid, which is never
 * used again, until the watch delivers the deletion.
 *
 * | input                      | object of an answer, version v | deleted uid                                               | unclear key           |
 * |----------------------------|--------------------------------|-----------------------------------------------------------|-----------------------|
 * | answer with an object at s | set if s is the highest known  | stays, and hides the object                               | ends if v ≤ s         |
 * | answer: gone               | stays, to hide older states    | set, unless the watch delivered it since the request      | stays                 |
 * | answer without the object  | stays                          | stays                                                     | set; v may be known   |
 * | read of the key at v       | as an answer, also if missing  | stays, and hides the object                               | ends                  |
 * | event or bookmark at s     | ends if v ≤ s                  | stays                                                     | ends if v ≤ s         |
 * | DELETED event of the uid   | ends if v ≤ s                  | ends, without a selector                                  | ends, likewise        |
 * | list at s, without the uid | ends if v ≤ s                  | ends if a version ≤ s is known, without a selector        | ends if v ≤ s         |
 * | list begun after the answer| ends if v ≤ s                  | ends: a restored server has the object again              | ends                  |
 * | much later bookmark, list  | ends                           | ends                                                      | ends                  |
 *
 * With a selector, a DELETED event may mean that the object no longer matches, and the object may come back.
 *
 * A key is unclear after a write whose answer does not show what the store will have: of a subresource with a kind of
 * its own, of a deletion of many, or of an object that only the server can select. It is read from the server.
 */
import { BoundedMap } from '../async/bounded_map.ts'
import { isNewerVersion, type KubeObject } from '../core/objects.ts'

/** One write, from before its request until its answer was read. */
export interface OwnWrite {
  /** Undefined for a create with `generateName`. */
  readonly key: string | undefined
  /**
   * The known objects of the key when the write began: uid and version. A name has one object at a time, so after a
   * deletion by name all of them are gone.
   */
  readonly known: ReadonlyMap<string, string>
  /** The uids whose deletion the watch has delivered since then; all uids if the key is unknown. */
  readonly ended: Set<string>
}

/** A key whose object was written, with an answer that does not show it. */
export interface Unclear {
  /** The version of the write, if it is known. */
  readonly version: string | undefined
  readonly uid: string | undefined
  readonly atMs: number
}

interface Answer<T> {
  /** Empty for a read that found no object. */
  readonly uid: string
  readonly version: string
  /** Undefined if the object no longer matches the store's selector. */
  readonly object: T | undefined
  /** The same, or what it was before: a list that lacks it reports its deletion. */
  readonly last: T | undefined
  readonly atMs: number
}

interface Gone {
  readonly key: string
  /** The newest known version of the object. */
  readonly version: string | undefined
  readonly atMs: number
}

/** The max age of an answer. A silent watch ends after 150 s, so a bookmark after this time includes the write. */
const MAX_AGE_MS = 300_000
/**
 * The max number of answers, and of deleted uids; the oldest are forgotten. It bounds memory while a watch is refused.
 */
const MAX_ENTRIES = 50_000

export class OwnWritesState<T extends KubeObject> {
  readonly #stored: (key: string) => T | undefined
  readonly #selective: boolean
  readonly #answers = new BoundedMap<string, Answer<T>>(MAX_ENTRIES)
  readonly #gone = new BoundedMap<string, Gone>(MAX_ENTRIES)
  readonly #unclear = new BoundedMap<string, Unclear>(MAX_ENTRIES)
  readonly #inFlight = new Set<OwnWrite>()
  #seen: string | undefined
  #changes = 0

  /**
   * `stored` reads the store, which must have each input of the watch before this state gets it. `selective`: an object
   * may leave the store without being deleted.
   */
  constructor(stored: (key: string) => T | undefined, selective = false) {
    this.#stored = stored
    this.#selective = selective
  }

  /** The number of stored answers and deletions. If it is 0, reads equal those of the store. */
  get size(): number {
    return this.#answers.size + this.#gone.size
  }

  /** A counter of inputs: while it stays the same, reads stay the same. */
  get changes(): number {
    return this.#changes
  }

  /** Called before the request. Each write must be ended with {@link end}. */
  begin(key: string | undefined): OwnWrite {
    const known = new Map<string, string>()
    const write: OwnWrite = { key, known, ended: new Set() }
    if (key !== undefined) {
      const [stored, own] = [this.#stored(key)?.metadata, this.#answers.get(key)]
      if (stored) known.set(stored.uid, stored.resourceVersion)
      if (own?.uid) known.set(own.uid, own.version)
    }
    this.#inFlight.add(write)
    return write
  }

  end(write: OwnWrite): void {
    this.#inFlight.delete(write)
  }

  /** Called for an answer with an object. `kept`: what reads return; undefined if the store does not select it. */
  answered(
    key: string,
    { metadata: { uid, resourceVersion: version } }: KubeObject,
    kept: T | undefined,
    nowMs: number,
  ): void {
    if (!this.isNews(key, version)) return
    this.#changes++
    if (this.#seen === undefined) this.#forgetOld(nowMs)
    const last = kept ?? this.#answers.get(key)?.last
    this.#answers.set(key, { uid, version, object: kept, last, atMs: nowMs })
    const unclear = this.#unclear.get(key)?.version
    if (unclear !== undefined && !isNewerVersion(unclear, version)) this.#unclear.delete(key)
  }

  /** Returns whether the store cannot have this or a later version yet. */
  isNews(key: string, resourceVersion: string): boolean {
    return isNewerVersion(resourceVersion, this.#seen) &&
      isNewerVersion(resourceVersion, this.#stored(key)?.metadata.resourceVersion) &&
      isNewerVersion(resourceVersion, this.#answers.get(key)?.version)
  }

  /** Called for an answer that an object is gone. `uid`: its uid, if the answer has it. */
  gone({ key, known, ended }: OwnWrite, uid: string | undefined, nowMs: number): void {
    if (key === undefined) return
    this.#changes++
    const own = this.#answers.get(key)
    const stored = this.#stored(key)?.metadata
    for (const each of new Set([...known.keys(), uid])) {
      if (each === undefined || ended.has(each)) continue
      const now = [
        own?.uid === each ? own.version : undefined,
        stored?.uid === each ? stored.resourceVersion : undefined,
      ]
      const version = now.reduce((a, b) => (isNewerVersion(b, a) ? b : a), known.get(each))
      if (this.#seen === undefined) this.#forgetOld(nowMs)
      this.#gone.set(each, { key, version, atMs: nowMs })
    }
  }

  /** Called for an answer that does not show the object. `uid` and `version`: the object's, if the answer has them. */
  hidden(
    { ended }: OwnWrite,
    key: string,
    { uid, version }: { readonly uid?: string; readonly version?: string },
    nowMs: number,
  ): void {
    if (uid !== undefined && ended.has(uid)) return
    if (version !== undefined && !isNewerVersion(version, this.#seen)) return
    if (this.#seen === undefined) this.#forgetOld(nowMs)
    const before = this.#unclear.get(key)
    if (before) {
      // It stands for both writes, whose answers may come in any order.
      if (before.uid !== uid) uid = undefined
      if (before.version === undefined || version === undefined) version = undefined
      else if (isNewerVersion(before.version, version)) version = before.version
    }
    this.#unclear.set(key, { uid, version, atMs: nowMs })
  }

  /** Returns the unclear keys: of the objects of one namespace or with one key, or all. Undefined if there are none. */
  unclear(of: { readonly key?: string; readonly namespace?: string | undefined }): Map<string, Unclear> | undefined {
    if (this.#unclear.size === 0) return undefined
    const { key, namespace } = of
    const found = new Map<string, Unclear>()
    for (const [each, unclear] of key === undefined ? this.#unclear : [[key, this.#unclear.get(key)] as const]) {
      if (!unclear || (namespace !== undefined && !each.startsWith(`${namespace}/`))) continue
      if (unclear.version === undefined || isNewerVersion(unclear.version, this.#seen)) found.set(each, unclear)
      else this.#unclear.delete(each)
    }
    return found.size > 0 ? found : undefined
  }

  /**
   * Called for a read from the server that began when the key was unclear. `object` is what it found at this version,
   * and `kept` what reads return; both are undefined if there is no object, or the store does not select it.
   */
  settled(
    key: string,
    unclear: object,
    { version, object, kept }: { readonly version: string; readonly object?: KubeObject; readonly kept?: T },
    nowMs: number,
  ): void {
    // The key was written again since the read began.
    if (this.#unclear.get(key) !== unclear) return
    this.#unclear.delete(key)
    this.answered(key, object ?? ({ metadata: { uid: '', resourceVersion: version } } as KubeObject), kept, nowMs)
  }

  /** Called for an event of the key. */
  seen(key: string, version: string): void {
    this.#advance(version)
    const own = this.#answers.get(key)
    if (own && !this.#isAhead(own)) this.#answers.delete(key)
  }

  /** Called for a DELETED event. */
  deleted(key: string, uid: string, version: string): void {
    this.seen(key, version)
    if (this.#selective) return
    this.#gone.delete(uid)
    if (this.#unclear.get(key)?.uid === uid) this.#unclear.delete(key)
    for (const write of this.#inFlight) if (write.key === undefined || write.key === key) write.ended.add(uid)
  }

  /** Called for a bookmark: the watch has delivered everything up to this version. */
  bookmark(version: string, nowMs: number): void {
    this.#advance(version)
    for (const [key, own] of this.#answers) if (!this.#isAhead(own)) this.#answers.delete(key)
    this.#forgetOld(nowMs)
  }

  /**
   * Called before the store is replaced by a list of this version. Returns the objects of own writes that neither of
   * them has: they are gone, and the watch has never delivered them.
   */
  lost(list: { get(key: string): KubeObject | undefined }, version: string): readonly T[] {
    // A server that was restored has none of the own writes that the watch has not delivered.
    const isRestored = isNewerVersion(this.#seen, version)
    const lost: T[] = []
    for (const [key, own] of this.#answers) {
      const { last } = own
      const uid = last?.metadata.uid
      const isKnown = this.#stored(key)?.metadata.uid === uid || list.get(key)?.metadata.uid === uid
      if (isKnown || !this.#isAhead(own) || !last) continue
      if (isRestored || !isNewerVersion(own.version, version)) lost.push(last)
    }
    return lost
  }

  /** Called after the store was replaced by a list of this version, which began at this time. */
  listed(version: string, nowMs: number, beganMs: number): void {
    const isEnded = (key: string, uid: string, known: string | undefined): boolean =>
      !this.#selective && known !== undefined && this.#stored(key)?.metadata.uid !== uid &&
      !isNewerVersion(known, version)
    // The server was restored to an older state, which may lack the own writes.
    if (isNewerVersion(this.#seen, version)) this.clear()
    this.bookmark(version, nowMs)
    for (const [uid, gone] of this.#gone) {
      if (gone.atMs < beganMs || isEnded(gone.key, uid, gone.version)) this.#gone.delete(uid)
    }
    for (const [key, { atMs }] of this.#unclear) if (atMs < beganMs) this.#unclear.delete(key)
    for (const { key, known, ended } of this.#inFlight) {
      for (const [uid, last] of known) if (isEnded(key!, uid, last)) ended.add(uid)
    }
  }

  /** Forgets everything, because the watch has ended. */
  clear(): void {
    this.#changes++
    this.#answers.clear()
    this.#gone.clear()
    this.#unclear.clear()
  }

  /** Returns what reads of a key return. `stored`: what the store has. */
  shown(key: string, stored: T | undefined): T | undefined {
    const own = this.#answers.get(key)
    const object = own && this.#isAhead(own) ? own.object : stored
    return object && !this.#gone.has(object.metadata.uid) ? object : undefined
  }

  /** Returns the keys for which reads may differ from the store. */
  keys(): ReadonlySet<string> {
    const keys = new Set(this.#answers.keys())
    for (const { key } of this.#gone.values()) keys.add(key)
    return keys
  }

  #isAhead({ version }: Answer<T>): boolean {
    return isNewerVersion(version, this.#seen)
  }

  /** Drops old answers, up to the first newer one: they are nearly ordered by version, and reads check again. */
  #advance(version: string): void {
    this.#seen = version
    this.#changes++
    for (const [key, own] of this.#answers) {
      if (this.#isAhead(own)) break
      this.#answers.delete(key)
    }
  }

  #forgetOld(nowMs: number): void {
    for (const map of [this.#answers, this.#gone, this.#unclear]) {
      for (const [key, { atMs }] of map) {
        if (nowMs - atMs <= MAX_AGE_MS) break
        map.delete(key)
      }
    }
  }
}
