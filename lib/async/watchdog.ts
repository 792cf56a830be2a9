/** Notices silence: calls back when nothing was heard for so long. */
import type { Clock } from './clock.ts'

export interface Watchdog extends Disposable {
  /** Something was heard: the time begins anew. */
  heard(): void
}

/** Calls `onSilence` once, when {@link Watchdog.heard} was not called for `ms`. It must be disposed of. */
export function watchdog(clock: Clock, ms: number, onSilence: () => void): Watchdog {
  let heardAt = clock.monotonic()
  // One timer that looks again, rather than a new one for everything that is heard: that may be a lot.
  let cancel = clock.after(ms, look)
  function look(): void {
    const left = heardAt + ms - clock.monotonic()
    if (left > 0) cancel = clock.after(left, look)
    else onSilence()
  }
  return {
    heard: () => void (heardAt = clock.monotonic()),
    [Symbol.dispose]: () => cancel(),
  }
}
