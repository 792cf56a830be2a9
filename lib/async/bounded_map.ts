/** A map with a maximum size that forgets the oldest entries. */

/** A Map whose `set` makes its entry the newest one, and forgets the oldest one if there are more than `max`. */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #max: number

  /** `max`: at least 1. */
  constructor(max: number) {
    super()
    this.#max = max
  }

  /** Also moves a known key to the end: a loop over the map that sets its own key does not end. */
  override set(key: K, value: V): this {
    this.delete(key)
    // A new iterator each time: one that is kept would keep the tables of deleted entries alive on Node.
    if (this.size >= this.#max) this.delete(this.keys().next().value!)
    return super.set(key, value)
  }
}
