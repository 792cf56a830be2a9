/**
 * What the answers to our own writes say that the watch has not brought yet, decided without I/O and without a clock.
 *
 * A store is what the server had at the last version that its watch has seen. So the answer to a write is news as long as
 * its version is above that one, and old from then on, whatever came in between and in whatever order: a change or a
 * deletion by others after our write has a higher version, and reaching that ends the answer, too. A deletion is answered
 * without a version. It is remembered by uid, which never comes back, until the watch says the same.
 *
 * | input                        | an answer's object at version v          | a deleted uid                                      |
 * |------------------------------|------------------------------------------|----------------------------------------------------|
 * | answer with an object        | set, if v is the highest of all known    | stays, and hides the object                        |
 * | answer: gone                 | stays, so that nothing older shows       | set, unless the watch has told of it since the request |
 * | event or bookmark at s       | ends when v ≤ s                          | stays                                              |
 * | DELETED event of the uid     | ends when v ≤ s                          | ends, where nothing is selected by labels          |
 * | list at s, without the uid   | ends when v ≤ s                          | ends, if a version ≤ s is known of it, and as above |
 * | another list                 | ends when v ≤ s                          | ends: that one was begun after the answer          |
 * | bookmark or list, much later | ends                                     | ends                                               |
 *
 * Where labels select, an object that is not there may come back: a DELETED event means that it has left the selection.
 */
import { BoundedMap } from '../async/bounded_map.ts'
import type { KubeObject } from '../core/objects.ts'
import { isNewerVersion } from './resource_version.ts'

/** One write, from before its request until its answer is read. */
export interface OwnWrite {
  /** Undefined for a create whose name is the server's to find. */
  readonly key: string | undefined
  /**
   * What was known under the key when the write began, as uid and version: a name has one object at a time, so a deletion by
   * name means that all of them are gone.
   */
  readonly known: ReadonlyMap<string, string>
  /** Those of them, or later ones, of whose deletion the watch has told meanwhile. */
  readonly ended: Set<string>
}

interface Answer<T> {
  readonly uid: string
  readonly version: string
  /** Undefined: the write took the object out of what the store selects. */
  readonly object: T | undefined
  readonly atMs: number
}

interface Gone {
  readonly key: string
  /** The newest version that is known of it. */
  readonly version: string | undefined
  readonly atMs: number
  /** A list has come since: the next one is begun after the answer, and right. */
  listed?: true
}

/** A silent watch is given up after 150 s: a bookmark that comes later than this has all that came before it. */
const LONGEST_MS = 300_000
/** Of each, so that a watch that is refused for days does not cost more and more. Above, the oldest are forgotten. */
const MOST = 50_000

export class OwnWritesState<T extends KubeObject> {
  readonly #stored: (key: string) => T | undefined
  readonly #selective: boolean
  readonly #answers = new BoundedMap<string, Answer<T>>(MOST)
  readonly #gone = new BoundedMap<string, Gone>(MOST)
  readonly #inFlight = new Set<OwnWrite>()
  #seen: string | undefined
  #changes = 0

  /**
   * `stored` is what the store has: every input from the watch is given after the store has taken it. `selective`: objects
   * come and go with their labels.
   */
  constructor(stored: (key: string) => T | undefined, selective = false) {
    this.#stored = stored
    this.#selective = selective
  }

  /** How much is remembered. With 0, reads are those of the store. */
  get size(): number {
    return this.#answers.size + this.#gone.size
  }

  /** Counts inputs: as long as it is the same, so is all that is shown. */
  get changes(): number {
    return this.#changes
  }

  /** Before the request. Every write that is begun is ended. */
  begin(key: string | undefined): OwnWrite {
    const known = new Map<string, string>()
    const write: OwnWrite = { key, known, ended: new Set() }
    const stored = key === undefined ? undefined : this.#stored(key)
    if (stored) known.set(stored.metadata.uid, stored.metadata.resourceVersion)
    const own = key === undefined ? undefined : this.#answers.get(key)
    if (own) known.set(own.uid, own.version)
    this.#inFlight.add(write)
    return write
  }

  end(write: OwnWrite): void {
    this.#inFlight.delete(write)
  }

  /** The write was answered with this object. `of` is what is kept of it, undefined when the store does not select it any more. */
  answered(
    key: string,
    { metadata: { uid, resourceVersion: version } }: KubeObject,
    of: T | undefined,
    nowMs: number,
  ): void {
    if (!this.isNews(key, version)) return
    this.#changes++
    if (this.#seen === undefined) this.#forgetBefore(nowMs - LONGEST_MS)
    this.#answers.set(key, { uid, version, object: of, atMs: nowMs })
  }

  /** Whether the store cannot have this state or a later one yet. */
  isNews(key: string, resourceVersion: string): boolean {
    return isNewerVersion(resourceVersion, this.#seen) &&
      isNewerVersion(resourceVersion, this.#stored(key)?.metadata.resourceVersion) &&
      isNewerVersion(resourceVersion, this.#answers.get(key)?.version)
  }

  /** The write was answered with the end of an object: the one with this uid, where the answer says. */
  gone({ key, known, ended }: OwnWrite, uid: string | undefined, nowMs: number): void {
    if (key === undefined) return
    this.#changes++
    const own = this.#answers.get(key)
    const stored = this.#stored(key)?.metadata
    const uids = new Set(known.keys())
    if (uid !== undefined) uids.add(uid)
    for (const each of uids) {
      if (ended.has(each)) continue
      const now = [
        own?.uid === each ? own.version : undefined,
        stored?.uid === each ? stored.resourceVersion : undefined,
      ]
      const version = now.reduce((a, b) => (isNewerVersion(b, a) ? b : a), known.get(each))
      if (this.#seen === undefined) this.#forgetBefore(nowMs - LONGEST_MS)
      this.#gone.set(each, { key, version, atMs: nowMs })
    }
  }

  /** The watch has brought an event about the key. */
  seen(key: string, version: string): void {
    this.#advance(version)
    const own = this.#answers.get(key)
    if (own && !this.#isAhead(own)) this.#answers.delete(key)
  }

  /** The watch has brought the end of an object. */
  deleted(key: string, uid: string, version: string): void {
    this.seen(key, version)
    if (this.#selective) return
    this.#gone.delete(uid)
    for (const write of this.#inFlight) if (write.key === key) write.ended.add(uid)
  }

  /** The watch has brought all up to this version. */
  bookmark(version: string, nowMs: number): void {
    this.#advance(version)
    for (const [key, own] of this.#answers) if (!this.#isAhead(own)) this.#answers.delete(key)
    this.#forgetBefore(nowMs - LONGEST_MS)
  }

  /** The store has become a list of this version. */
  listed(version: string, nowMs: number): void {
    const isEnded = (key: string, uid: string, known: string | undefined): boolean =>
      !this.#selective && known !== undefined && this.#stored(key)?.metadata.uid !== uid &&
      !isNewerVersion(known, version)
    this.bookmark(version, nowMs)
    for (const [uid, gone] of this.#gone) {
      if (gone.listed || isEnded(gone.key, uid, gone.version)) this.#gone.delete(uid)
      else gone.listed = true
    }
    for (const { key, known, ended } of this.#inFlight) {
      for (const [uid, last] of known) if (isEnded(key!, uid, last)) ended.add(uid)
    }
  }

  /** No watch will bring anything any more. */
  clear(): void {
    this.#changes++
    this.#answers.clear()
    this.#gone.clear()
  }

  /** What is to be read in place of what the store has under a key. */
  shown(key: string, stored: T | undefined): T | undefined {
    const own = this.#answers.get(key)
    const object = own && this.#isAhead(own) ? own.object : stored
    return object && !this.#gone.has(object.metadata.uid) ? object : undefined
  }

  /** The keys under which reads may differ from the store. */
  keys(): ReadonlySet<string> {
    const keys = new Set(this.#answers.keys())
    for (const { key } of this.#gone.values()) keys.add(key)
    return keys
  }

  #isAhead({ version }: Answer<T>): boolean {
    return isNewerVersion(version, this.#seen)
  }

  /** Answers come nearly in the order of their versions: the first that is ahead ends the search, and reads look for themselves. */
  #advance(version: string): void {
    this.#seen = version
    this.#changes++
    for (const [key, own] of this.#answers) {
      if (this.#isAhead(own)) break
      this.#answers.delete(key)
    }
  }

  #forgetBefore(ms: number): void {
    for (const map of [this.#answers, this.#gone]) {
      for (const [key, { atMs }] of map) {
        if (atMs >= ms) break
        map.delete(key)
      }
    }
  }
}
