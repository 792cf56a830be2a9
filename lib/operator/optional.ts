/** Clusters that an operator starts without: what waits for them, so that nothing else has to. */
import { isNotCapable, messageOf } from '../core/errors.ts'
import type { Runnable } from '../core/runnable.ts'
import type { Transport } from '../core/transport.ts'
import { untilAborted } from '../async/abort.ts'
import { backoffMs } from '../async/backoff.ts'
import { type Clock, sleep } from '../async/clock.ts'
import { Latch } from '../async/latch.ts'
import type { Log } from '../observe/log.ts'
import { OPTIONAL_MS } from '../cache/informer.ts'
import type { ClosableTransport } from '../runtime/net/transport.ts'
import type { Cluster } from '../manager/cluster.ts'

export interface OptionalSetup {
  /** As `app.cluster` named it. */
  readonly name: string
  readonly clock: Clock
  readonly log: Log
  readonly random?: (() => number) | undefined
}

/** As an informer's. */
const BACKOFF = { baseMs: 800, maxMs: 30_000, jitter: 1 } as const

/**
 * Returns a cluster as the manager runs it: its caches start when `prepare` has succeeded, which is tried until it does. It is ready
 * as {@link Cluster.ready} says, and also when the first try has failed, or after 5 s.
 */
export function optionalCluster(
  cluster: Cluster,
  prepare: (signal: AbortSignal) => Promise<void>,
  setup: OptionalSetup,
): Runnable {
  const { name, clock, log } = setup
  const [prepared, late] = [new Latch(), new Latch<string>()]
  return {
    name: cluster.name,
    role: cluster.role,
    async start(signal) {
      const stopTimer = clock.after(OPTIONAL_MS, () => late.open(`it has not answered within ${OPTIONAL_MS / 1000} s`))
      try {
        await untilDone(
          prepare,
          (reason) => late.isOpen ? log.warn(`The cluster "${name}" is not there yet: ${reason}`) : late.open(reason),
          setup,
          signal,
        )
      } finally {
        stopTimer()
      }
      prepared.open()
      if (late.isOpen) log.info(`The cluster "${name}" is there`)
      await cluster.start(signal)
    },
    async ready(signal) {
      const reason = await untilAborted(Promise.race([prepared.opened, late.opened]), signal)
      if (reason === undefined) return await cluster.ready(signal)
      log.warn(`Starting without the cluster "${name}": ${reason}; what needs it begins when it is there`)
    },
  }
}

/** Calls `work` until it resolves, with back-off. Each new reason of a failure is reported. Rejects with the signal's reason. */
export async function untilDone(
  work: (signal: AbortSignal) => Promise<void>,
  report: (reason: string) => void,
  { clock, log, random = Math.random }: OptionalSetup,
  signal: AbortSignal,
): Promise<void> {
  let last: string | undefined
  for (let failures = 0;; failures++) {
    try {
      return await work(signal)
    } catch (error) {
      signal.throwIfAborted()
      // No time will mend that.
      if (isNotCapable(error)) throw error
      const reason = messageOf(error)
      if (reason === last) log.debug(reason)
      else report(last = reason)
    }
    await sleep(clock, backoffMs(failures, BACKOFF, random), signal)
  }
}

/** A connection to a cluster whose configuration is not known yet: each request asks for it anew, until it is. */
export function lateConnection(open: () => Promise<ClosableTransport>): ClosableTransport {
  let opening: Promise<ClosableTransport> | undefined
  const connect = (): Promise<ClosableTransport> =>
    opening ??= open().catch((error: unknown) => {
      opening = undefined
      throw error
    })
  const send: Transport = async (request) => await (await untilAborted(connect(), request.signal))(request)
  // What is opened only after that is closed, too; what fails to open needs no closing.
  return Object.assign(send, { close: () => void opening?.then((connection) => connection.close(), () => {}) })
}
