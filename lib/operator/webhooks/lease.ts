/** Installs the configurations of webhooks under a Lease, for operators without leader election. */
import { LeadershipLost, messageOf } from '../../core/errors.ts'
import { abortScope } from '../../async/abort.ts'
import { pause } from '../../async/clock.ts'
import type { Api } from '../../client/api.ts'
import type { PartEnvironment } from '../../observe/environment.ts'
import type { LeaderElector } from '../../leader/leader_elector.ts'

/** How often configurations that were deleted or changed by others are restored: without them, no webhook is called. */
export const RESTORE_MS = 60_000

/** The time after which the first installation does not wait for the Lease. */
const NO_LEASE_MS = 10_000

/** What {@link underLease} needs. */
export interface LeasedWork extends PartEnvironment {
  readonly elect: (onOther: () => void) => LeaderElector
  readonly api: Api
  readonly onDecided: () => void
  readonly install: (api: Api, signal: AbortSignal) => Promise<void>
  /** Installs, and restores until the signal is aborted. */
  readonly restore: (api: Api, signal: AbortSignal) => Promise<void>
}

/** Runs `OperatorWebhooks.installUnderLease`. Rejects if the first installation fails. */
export async function underLease(
  { elect, onDecided, api, install, restore, clock, log }: LeasedWork,
  signal: AbortSignal,
): Promise<void> {
  const scope = abortScope(signal)
  let isDecided = false
  const decide = (): void => {
    isDecided = true
    onDecided()
  }
  const first = async (api: Api, signal: AbortSignal): Promise<void> => {
    await install(api, signal)
    decide()
  }
  const withoutLease = async (): Promise<void> => {
    await pause(clock, NO_LEASE_MS, scope.signal)
    if (!isDecided && !scope.signal.aborted) await first(api, scope.signal)
  }
  const lead = async (fenced: Api, signal: AbortSignal): Promise<void> => {
    if (!isDecided) {
      await first(fenced, signal)
      await pause(clock, RESTORE_MS, signal)
    }
    await restore(fenced, signal)
  }
  const terms = async (): Promise<void> => {
    const elector = elect(decide)
    while (!scope.signal.aborted) {
      const term = abortScope(scope.signal)
      let led: Promise<void> | undefined
      try {
        await elector.start(term.signal, (fence) => {
          led = lead(api.fenced(fence), term.signal)
          led.catch((error: unknown) => term.abort(error))
        })
        await led
      } catch (error) {
        if (scope.signal.aborted) return
        if (!(error instanceof LeadershipLost)) throw error
        log.warn(messageOf(error))
      } finally {
        term.abort()
        term[Symbol.dispose]()
        // Its failure has ended the term above, with itself as the reason.
        await led?.catch(() => {})
      }
    }
  }
  const all = [withoutLease(), terms()]
  try {
    await Promise.all(all)
  } finally {
    scope.abort()
    scope[Symbol.dispose]()
    await Promise.allSettled(all)
  }
}
