/** Hears of writes around their requests: how a cache learns of a change before its watch brings it. */
import type { Target } from './requests.ts'

/** Notified of writes, before they are sent and when they end. */
export interface WriteObserver {
  /** Called before a write that is to last, of a kind's own objects. `undefined`: nobody wants to know how it ends. */
  begin(target: Target): WriteInFlight | undefined
}

/** One write, from before its request until its answer is read. */
export interface WriteInFlight {
  /** Called with the answer as the server gave it; a write that fails has none. Does not throw. */
  answered(answer: unknown): void
  /** Called with the answer to a delete: the object while it is kept, else a Status, or what it was. Does not throw. */
  deleted(answer: unknown): void
  /** Called last, always, and once. */
  end(): void
}
