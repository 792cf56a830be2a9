/** `queue.ts N [TIMES]`: adds and removes the keys of works/queue.ts in a bare Map. */
import { printTurns } from '../queue_keys.ts'

await printTurns((keys) => {
  const map = new Map<string, number>()
  const began = performance.now()
  for (let add = 0; add < 2; add++) for (const [i, key] of keys.entries()) map.set(key, i)
  for (const key of keys) map.delete(key)
  return performance.now() - began
})
