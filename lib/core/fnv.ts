/**
 * Returns the FNV-1a hash of the UTF-16 code units of a text, as an integer of 32 bits with a sign. It distributes
 * keys; texts with equal hashes are easy to find.
 */
export function fnv1a(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash
}
