/** Joins byte arrays. */

/** Returns all chunks in one array of `size` bytes; a single chunk is returned as it is. */
export function concatenate(chunks: readonly Uint8Array[], size: number): Uint8Array {
  if (chunks.length === 1) return chunks[0]!
  const whole = new Uint8Array(size)
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.byteLength
  }
  return whole
}
