/** `queue.ts N [TIMES]`: N keys are added twice, then each is got, forgotten and done; TIMES with a new queue and new keys. */
import { WorkQueue } from 'kubeloop'
import { printTurns } from '../queue_keys.ts'

const never = new AbortController().signal
await printTurns(async (keys) => {
  const queue = new WorkQueue<string>()
  const began = performance.now()
  for (let add = 0; add < 2; add++) for (const key of keys) queue.add(key)
  for (let i = 0; i < keys.length; i++) {
    const key = (await queue.get(never))!
    queue.forget(key)
    queue.done(key)
  }
  return performance.now() - began
})
