/** Fences of a manager's own making: what one of several has closed is closed. */
import type { Fence, WriteEnd } from '../core/fence.ts'
import { abortScope } from '../async/abort.ts'

/** A fence that falls when the signal is aborted, with its reason. */
export function signalFence(signal: AbortSignal): Fence {
  return { signal, check: () => signal.throwIfAborted() }
}

/** A fence that falls with the first of several. They live as long as each other: it follows them for good. */
export function firstToFall(...fences: readonly Fence[]): Fence {
  return {
    signal: abortScope(...fences.map(({ signal }) => signal)).signal,
    check() {
      for (const fence of fences) fence.check()
    },
    opened() {
      const ends = fences.flatMap((fence) => fence.opened?.() ?? [])
      return (end: WriteEnd) => ends.forEach((each) => each(end))
    },
  }
}
