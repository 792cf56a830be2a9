/** Keeps the objects of a store as bytes, outside of the JavaScript heap. */
import { deepFreeze } from '../../core/clone.ts'
import { fnv1a } from '../../core/fnv.ts'
import { formatKey, keyOf, type KubeObject, type ObjectMeta } from '../../core/objects.ts'
import type { Objects, Snapshot } from '../store.ts'
import { ObjectCodec } from './object_codec.ts'

/** The maximum size of a slab in bytes, and the size of the first one. A larger object has its own slab. */
const SLAB_BYTES = 2 ** 18
const FIRST_SLAB_BYTES = 2 ** 12
/** Objects begin at multiples of this, so that a small integer holds a slab and a place in it. */
const STEP_BYTES = 4
const STEPS = SLAB_BYTES / STEP_BYTES
/** The length of an object's bytes stands in front of them. */
const LENGTH_BYTES = 4
/** A map with a million keys would take 50 ms to grow. */
const SHARDS = 64
/** Decoded objects that are kept, as a reconcile reads its object more than once. */
const RECENT = 64

/** A part of the memory. Bytes are appended and never changed, so that a snapshot can keep it. */
interface Slab {
  readonly bytes: Uint8Array
  used: number
  /** The bytes of objects that are still stored. */
  live: number
}

/**
 * Returns a function that makes the maps of the stores of one kind: an object is stored as bytes, and each read makes a
 * new one. They are in no order. `freeze`: freezes what is read.
 */
export function compactObjects(freeze: boolean | undefined): () => Objects<KubeObject> {
  const codec = new ObjectCodec()
  return () => new CompactObjects(codec, freeze)
}

export class CompactObjects implements Objects<KubeObject> {
  size = 0
  readonly #codec: ObjectCodec
  readonly #freeze: boolean | undefined
  /** The places of the objects: the number of a slab, times {@link STEPS}, plus the step; negative: in `#whole`. */
  readonly #shards: readonly Map<string, number>[]
  /** Undefined: dropped, and its number is free. */
  readonly #slabs: (Slab | undefined)[] = []
  readonly #free: number[] = []
  #current = -1
  /** What cannot be encoded, by its negative place. */
  readonly #whole = new Map<number, KubeObject>()
  #nextWhole = -1
  readonly #recent = new Map<number, KubeObject>()

  constructor(codec: ObjectCodec, freeze?: boolean) {
    this.#codec = codec
    this.#freeze = freeze
    this.#shards = Array.from({ length: SHARDS }, () => new Map<string, number>())
  }

  get bytes(): number {
    return this.#slabs.reduce((sum, slab) => sum + (slab?.bytes.length ?? 0), 0)
  }

  has(key: string): boolean {
    return this.#shardOf(key).has(key)
  }

  get(key: string): KubeObject | undefined {
    const place = this.#shardOf(key).get(key)
    return place === undefined ? undefined : this.#at(place)
  }

  set(key: string, object: KubeObject): void {
    const shard = this.#shardOf(key)
    const place = this.#store(object)
    // Read after that, which may move it, and replaced before the old bytes are given up, which may move others.
    const before = shard.get(key)
    shard.set(key, place)
    if (before === undefined) this.size++
    else this.#release(before)
    this.#keep(place, object)
  }

  delete(key: string): void {
    const shard = this.#shardOf(key)
    const place = shard.get(key)
    if (place === undefined) return
    shard.delete(key)
    this.size--
    this.#release(place)
  }

  *keys(): Generator<string> {
    for (const shard of this.#shards) yield* shard.keys()
  }

  *values(): Generator<KubeObject> {
    for (const [, object] of this) yield object
  }

  *[Symbol.iterator](): Generator<[string, KubeObject]> {
    for (const shard of this.#shards) {
      // An iteration leaves the recent objects alone: it would replace all that reconciles read again.
      for (const [key, place] of shard) yield [key, this.#known(place) ?? this.#decode(this.#slabs, place)]
    }
  }

  /** Decodes no more than the metadata. */
  *heads(): Generator<Pick<KubeObject, 'metadata'>> {
    for (const shard of this.#shards) {
      for (const place of shard.values()) {
        const slab = this.#slabs[Math.floor(place / STEPS)]
        yield slab ? { metadata: this.#metadataAt(slab, place) } : this.#at(place)
      }
    }
  }

  /** Returns the objects as they are now, each decoded when it is read. */
  snapshot(): Snapshot<KubeObject> {
    const places = new Int32Array(this.size)
    let length = 0
    for (const shard of this.#shards) for (const place of shard.values()) places[length++] = place
    const [slabs, whole] = [[...this.#slabs], new Map(this.#whole)]
    const at = (index: number): KubeObject => whole.get(places[index]!) ?? this.#decode(slabs, places[index]!)
    return { length, at }
  }

  /** Returns whether the bytes of an object are the same as in another map of the same kind. */
  equals(key: string, other: Objects<KubeObject>): boolean {
    if (!(other instanceof CompactObjects)) return false
    const [own, theirs] = [this.#bytesOf(key), other.#bytesOf(key)]
    return own !== undefined && own.length === theirs?.length && own.every((byte, at) => byte === theirs[at])
  }

  #bytesOf(key: string): Uint8Array | undefined {
    const place = this.#shardOf(key).get(key)
    if (place === undefined || place < 0) return undefined
    const { bytes } = this.#slabs[Math.floor(place / STEPS)]!
    const begin = (place % STEPS) * STEP_BYTES
    return bytes.subarray(begin + LENGTH_BYTES, begin + LENGTH_BYTES + lengthAt(bytes, begin))
  }

  #shardOf(key: string): Map<string, number> {
    const hash = fnv1a(key)
    return this.#shards[(hash ^ (hash >>> 16)) & (SHARDS - 1)]!
  }

  #known(place: number): KubeObject | undefined {
    return this.#whole.get(place) ?? this.#recent.get(place)
  }

  #at(place: number): KubeObject {
    const known = this.#known(place)
    if (known) return known
    const object = this.#decode(this.#slabs, place)
    this.#keep(place, object)
    return object
  }

  #keep(place: number, object: KubeObject): void {
    if (this.#recent.size === RECENT) this.#recent.delete(this.#recent.keys().next().value!)
    this.#recent.set(place, object)
  }

  #decode(slabs: readonly (Slab | undefined)[], place: number): KubeObject {
    const { bytes } = slabs[Math.floor(place / STEPS)]!
    const object = this.#codec.decode(bytes, (place % STEPS) * STEP_BYTES + LENGTH_BYTES) as KubeObject
    return this.#freeze ? deepFreeze(object) : object
  }

  #metadataAt({ bytes }: Slab, place: number): ObjectMeta {
    return this.#codec.decodeField(bytes, (place % STEPS) * STEP_BYTES + LENGTH_BYTES, 'metadata') as ObjectMeta
  }

  /** Appends an object, and returns its place. */
  #store(object: KubeObject): number {
    const bytes = this.#codec.encode(object)
    if (bytes) return this.#append(bytes)
    const place = this.#nextWhole--
    this.#whole.set(place, object)
    return place
  }

  #append(bytes: Uint8Array): number {
    const count = stepped(bytes.length)
    const last = this.#current
    let slab = this.#slabs[last]
    if (!slab || slab.used + count > slab.bytes.length) {
      // Of a few objects, a whole slab would be a waste: a kind may be watched in a thousand namespaces.
      const size = Math.min(SLAB_BYTES, slab ? 2 * slab.bytes.length : FIRST_SLAB_BYTES)
      slab = { bytes: new Uint8Array(Math.max(size, count)), used: 0, live: 0 }
      this.#current = this.#free.pop() ?? this.#slabs.length
      this.#slabs[this.#current] = slab
    }
    const place = this.#current * STEPS + slab.used / STEP_BYTES
    // An object that was at this place before may have been read lately.
    this.#recent.delete(place)
    for (let left = bytes.length, at = 0; at < LENGTH_BYTES; at++, left >>>= 8) slab.bytes[slab.used + at] = left
    slab.bytes.set(bytes, slab.used + LENGTH_BYTES)
    slab.used += count
    slab.live += count
    // What it had may have been given up before it was full.
    if (this.#current !== last) this.#shrink(last)
    return place
  }

  /** Gives up the bytes of an object. */
  #release(place: number): void {
    if (this.#whole.delete(place)) return
    const number = Math.floor(place / STEPS)
    const slab = this.#slabs[number]!
    slab.live -= stepped(lengthAt(slab.bytes, (place % STEPS) * STEP_BYTES))
    if (number !== this.#current) this.#shrink(number)
  }

  /** Copies and drops a slab, not the current one, of which at most half is stored. */
  #shrink(number: number): void {
    const slab = this.#slabs[number]
    if (!slab || slab.live * 2 > slab.used) return
    for (let at = 0; slab.live > 0 && at < slab.used; at += stepped(lengthAt(slab.bytes, at))) {
      this.#move(slab, number * STEPS + at / STEP_BYTES)
    }
    this.#slabs[number] = undefined
    this.#free.push(number)
  }

  /** Copies the bytes of an object, if it is still stored at this place. */
  #move(slab: Slab, place: number): void {
    const key = formatKey(keyOf({ metadata: this.#metadataAt(slab, place) }))
    const shard = this.#shardOf(key)
    if (shard.get(key) !== place) return
    shard.set(key, this.#append(this.#bytesOf(key)!))
  }
}

/** The bytes that an object of this length takes. */
function stepped(length: number): number {
  return Math.ceil((length + LENGTH_BYTES) / STEP_BYTES) * STEP_BYTES
}

function lengthAt(bytes: Uint8Array, at: number): number {
  return (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0
}
