/** Remembers what is made from a key: a schema, a pattern, a stored object. */

interface Known<K, V> {
  get(key: K): V | undefined
  set(key: K, value: V): unknown
}

/** Returns the value of a key, which is made when it is asked for first. */
export function remembered<K, V>(known: Known<K, V>, key: K, make: () => V): V {
  let value = known.get(key)
  if (value === undefined) known.set(key, value = make())
  return value
}
