/** Runs clusters that an operator can start without, and retries what they need. */
import { isNotCapable, messageOf } from '../../core/errors.ts'
import type { ClusterConfig } from '../../core/cluster_config.ts'
import { OPTIONAL_MS, type Runnable } from '../../core/runnable.ts'
import type { Transport } from '../../core/transport.ts'
import { abortScope, untilAborted } from '../../async/abort.ts'
import { backoffMs, SERVER_BACKOFF } from '../../async/backoff.ts'
import { type Clock, isInTime, sleep } from '../../async/clock.ts'
import { Latch } from '../../async/latch.ts'
import type { ClosableTransport } from '../../runtime/net/transport.ts'
import type { Cluster, ClusterOptions } from '../../manager/cluster.ts'
import type { ClusterDescription, OperatorDescription } from './description.ts'
import type { RandomPartEnvironment } from '../../observe/environment.ts'

export interface OptionalSetup extends RandomPartEnvironment {
  /** The name given to `app.cluster`. */
  readonly name: string
}

/**
 * Returns the runnable of an optional cluster. Its caches start after `prepare`, which is retried until it succeeds. It
 * is ready as {@link Cluster.ready} is, but at the latest after the first failure or 5 s.
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
          (reason) =>
            late.isOpen ? log.warn(`The cluster "${name}" is not available yet: ${reason}`) : late.open(reason),
          setup,
          signal,
        )
      } finally {
        stopTimer()
      }
      prepared.open()
      if (late.isOpen) log.info(`The cluster "${name}" is available`)
      await cluster.start(signal)
    },
    async ready(signal) {
      const reason = await untilAborted(Promise.race([prepared.opened, late.opened]), signal)
      if (reason === undefined) return await cluster.ready(signal)
      log.warn(`Starting without the cluster "${name}": ${reason}; what needs it starts when it is available`)
    },
    beforeLeading: (signal) => cluster.beforeLeading(signal),
  }
}

/** Calls `work` with back-off until it resolves or the signal is aborted. Reports each new reason of a failure. */
export async function untilDone(
  work: (signal: AbortSignal) => Promise<void>,
  report: (reason: string, error: unknown) => void,
  { clock, log, random }: OptionalSetup,
  signal: AbortSignal,
): Promise<void> {
  let last: string | undefined
  for (let failures = 0;; failures++) {
    try {
      return await work(signal)
    } catch (error) {
      signal.throwIfAborted()
      // A retry cannot help: the runtime lacks a permission.
      if (isNotCapable(error)) throw error
      const reason = messageOf(error)
      if (reason === last) log.debug(reason)
      else report(last = reason, error)
    }
    await sleep(clock, backoffMs(failures, SERVER_BACKOFF, random), signal)
  }
}

/** Returns a connection to a cluster whose configuration may fail: each request tries it again until it succeeds. */
export function lateConnection(open: () => Promise<ClosableTransport>): ClosableTransport {
  let opening: Promise<ClosableTransport> | undefined
  const connect = (): Promise<ClosableTransport> =>
    opening ??= open().catch((error: unknown) => {
      opening = undefined
      throw error
    })
  const send: Transport = async (request) => await (await untilAborted(connect(), request.signal))(request)
  // Also closes a connection that is opened only later.
  return Object.assign(send, { close: () => void opening?.then((connection) => connection.close(), () => {}) })
}

/** As in `StartOptions`. */
export interface Replacements {
  readonly clusters?: Readonly<Record<string, ClusterConfig>>
  readonly transports?: Readonly<Record<string, Transport>>
}

/**
 * Opens the stated clusters. A failing configuration of an optional one is retried later, and one that takes more than
 * 5 s is waited for later: such connections are added to `late`.
 */
export async function openOthers(
  { clusters }: OperatorDescription,
  { clusters: configs = {}, transports = {} }: Replacements,
  { late, add, connect, clock, signal }: {
    readonly late: ClosableTransport[]
    readonly add: (other: ClusterDescription, at: Pick<ClusterOptions, 'config' | 'transport'>) => void
    readonly connect: (config: ClusterConfig) => ClosableTransport
    readonly clock: Clock
    readonly signal?: AbortSignal | undefined
  },
): Promise<void> {
  const scope = abortScope(signal)
  const find = async (other: ClusterDescription): Promise<Pick<ClusterOptions, 'config' | 'transport'>> => {
    const { name, optional } = other
    // A cluster may be called "constructor".
    if (Object.hasOwn(transports, name)) return { transport: transports[name] }
    const first = Object.hasOwn(configs, name) ? Promise.resolve(configs[name]!) : configOf(other)
    const found = untilAborted(first, scope.signal)
    if (!optional) return { config: await found }
    const inTime = await isInTime(clock, OPTIONAL_MS, found).catch(() => undefined)
    if (inTime) return { config: await found }
    let pending = inTime === false ? first : undefined
    const transport = lateConnection(async () => {
      const config = pending ?? configOf(other)
      pending = undefined
      return connect(await config)
    })
    late.push(transport)
    return { transport }
  }
  try {
    const found = await Promise.all(clusters.map(find))
    clusters.forEach((other, at) => add(other, found[at]!))
  } catch (error) {
    // Also ends the other waits.
    scope.abort(error)
    throw error
  } finally {
    scope[Symbol.dispose]()
  }
}

async function configOf({ name, config }: ClusterDescription): Promise<ClusterConfig> {
  if (typeof config !== 'function') return config
  try {
    return await config()
  } catch (cause) {
    throw new Error(`Cannot find the cluster "${name}": ${messageOf(cause)}`, { cause })
  }
}
