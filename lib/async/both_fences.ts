/** Combines the fences of two leases. */
import type { Fence } from '../core/fence.ts'
import { abortScope } from './abort.ts'

/** Returns a fence that lets writes pass only while both hold. Disposing it only removes its listeners. */
export function bothFences(...fences: readonly [Fence, Fence]): Fence & Disposable {
  const { signal, [Symbol.dispose]: dispose } = abortScope(...fences.map((fence) => fence.signal))
  return {
    signal,
    check() {
      for (const fence of fences) fence.check()
    },
    opened() {
      const ends = fences.flatMap((fence) => fence.opened?.() ?? [])
      return (end) => ends.forEach((each) => each(end))
    },
    [Symbol.dispose]: dispose,
  }
}
