/** Runs a test of an operator in a world, or the same test on a real cluster. */
import { type Client, type Clock, Cluster, loadConfig, type Operator } from 'kubeloop'
import { sleep, systemClock } from '../../async/clock.ts'
import { type Duration, toMs } from '../../core/duration.ts'
import { messageOf } from '../../core/errors.ts'
import { resourceId } from '../../core/resource.ts'
import { refuseUnknown, type ShapeOf } from '../../core/option_names.ts'
import { silentLog } from '../../observe/log.ts'
import { ownKinds } from '../../operator/description/used_kinds.ts'
import { optionalEnv, unreadable } from '../../runtime/os/env.ts'
import { setFailed } from '../../runtime/os/this_runtime.ts'
import { consoleLog } from '../world/console_log.ts'
import { startEnvtest } from './envtest.ts'
import { type World, world, type WorldOptions } from '../world/world.ts'
import { createMissing } from '../world/world_account.ts'

const VARIABLE = 'KUBELOOP_TEST_CLUSTER'
const CHECK_MS = 100

/** Options of {@link testCluster}: those of a world that a real cluster has, too. */
export type TestClusterOptions = Pick<WorldOptions, 'objects' | 'replicas' | 'workloads' | 'log'>

const SHAPE: ShapeOf<TestClusterOptions> = {
  ...{ objects: [[]], replicas: 0, log: 0 },
  workloads: { readyAfter: 0, completeAfter: 0 },
}

/** An operator and a cluster, which may be a real one. */
export interface TestCluster extends AsyncDisposable {
  /** A client of an administrator. */
  readonly client: Client
  /** The world, for its clock, faults and pods. @throws Error on a real cluster. */
  readonly world: World
  /**
   * Resolves with what `check` returns when it does not throw any more. In a world time passes until then, on a cluster
   * it is real time. Rejects with the error of the last check after `within`, 1 minute by default, or with the error of
   * the operator.
   */
  eventually<T>(check: () => T | Promise<T>, within?: Duration): Promise<T>
  /**
   * Stops the operator, and envtest. Rejects with the error of the operator. The end of an `await using` block logs
   * that error instead, and the test process exits with code 1.
   */
  stop(): Promise<void>
}

/**
 * Starts an operator in a world or, by the environment variable `KUBELOOP_TEST_CLUSTER`, on a real cluster: `envtest`
 * starts a control plane with {@link startEnvtest}, any other value is the context of a kubeconfig. There definitions
 * are installed, `objects` that exist are left as they are, and nothing is removed at the end.
 *
 * @throws TypeError or RangeError for invalid options. Error if the cluster cannot be found or started, or is not the
 * only one of the operator.
 *
 * @example
 * ```ts
 * import assert from 'node:assert/strict'
 * import { Deployment } from 'kubeloop/kinds'
 * import { testCluster } from 'kubeloop/testing'
 * import app, { Foo } from './operator.ts'
 * const c = await testCluster(app)
 * await c.client.create(Foo, { metadata: { namespace: 'default', name: 'a' }, spec: { deploymentName: 'b' } })
 * await c.eventually(async () => assert.ok(await c.client.get(Deployment, { namespace: 'default', name: 'b' })))
 * await c.stop()
 * ```
 */
export async function testCluster(app: Operator, options: TestClusterOptions = {}): Promise<TestCluster> {
  refuseUnknown('Cannot start a test cluster: ', options, SHAPE)
  const [hidden] = unreadable([VARIABLE])
  // Without it, a test that is to run on a cluster would pass in a world.
  if (hidden) throw new Error(`Cannot start a test cluster: Deno needs --allow-env=${hidden}`)
  const where = optionalEnv(VARIABLE)
  if (where) return await onCluster(app, options, where)
  const w = await world(app, options)
  return {
    client: w.client,
    world: w,
    eventually: (check, within = '1m') =>
      until(check, w.clock, toMs(within), async (isFirst) => {
        if (!isFirst) await w.advance(CHECK_MS)
        await w.settle()
      }),
    stop: () => w.stop(),
    [Symbol.asyncDispose]: () => w[Symbol.asyncDispose](),
  }
}

async function onCluster(app: Operator, options: TestClusterOptions, where: string): Promise<TestCluster> {
  const { objects = [], replicas = 1, workloads = false, log } = options
  const { description } = app
  const [other] = [...description.clusters, ...description.groups]
  if (other) {
    const why = `the operator would write to "${other.name}" as its file names it; run it without ${VARIABLE}`
    throw new Error(`Cannot start a test cluster for an operator of several clusters: ${why}, in a world`)
  }
  const envtest = where === 'envtest' ? await startEnvtest({ controllerManager: workloads !== false }) : undefined
  const config = envtest?.tokenConfig ?? (await loadConfig({ context: where })).cluster
  const cluster = new Cluster({ name: 'test', config, fieldValidation: 'Strict' })
  const stopping = new AbortController()
  let running: Promise<unknown> = Promise.resolve()
  let failure: { readonly error: unknown } | undefined
  const stop = async (): Promise<void> => {
    stopping.abort()
    await running
    cluster.close()
    await envtest?.stop()
    if (failure) throw failure.error
  }
  try {
    const { api } = cluster
    // The operator itself refuses definitions, by all its versions.
    const writer = { api, clock: systemClock, log: silentLog, fieldManager: description.options.name, optional: true }
    const { createCrds } = await import('../../operator/definitions.ts')
    const { conversions } = description
    // Versions that are converted need the address of the operator's webhooks: the operator adds them.
    const isConverted = (id: string): boolean => conversions.some(({ from }) => resourceId(from) === id)
    const stored = ownKinds(description).filter((each) => !isConverted(resourceId(each)))
    await createCrds(stored, writer, stopping.signal)
    await createMissing(cluster, objects, conversions)
  } catch (error) {
    await stop()
    throw error
  }
  // The API server of envtest reaches no Service, and the replicas share a machine.
  const webhooks = envtest ? { port: 0 } : 'stated'
  const common = { cluster: config, crds: 'install', serves: false, webhooks, ...(log && { log }) } as const
  running = Promise.all(Array.from({ length: replicas }, async (_, number) => {
    const election = replicas > 1 ? { identity: `replica-${number}` } : { leaderElection: false }
    await app.start(stopping.signal, { ...common, ...election, instance: `replica-${number}` })
      .catch((error: unknown) => void (failure ??= { error }))
  }))
  return {
    client: cluster.client,
    get world(): World {
      throw new Error(
        `This test needs the clock, the faults or the pods of a world, and runs on the cluster "${where}": run it without ${VARIABLE}, or leave it out there`,
      )
    },
    eventually: (check, within = '1m') =>
      until(check, systemClock, toMs(within), async (isFirst) => {
        if (!isFirst) await sleep(systemClock, CHECK_MS)
        if (failure) throw failure.error
      }),
    stop,
    // A rejection would hide a failed assertion.
    [Symbol.asyncDispose]: () =>
      stop().catch((error: unknown) => {
        consoleLog(systemClock).error(messageOf(error), { error })
        setFailed()
      }),
  }
}

async function until<T>(
  check: () => T | Promise<T>,
  clock: Pick<Clock, 'monotonic'>,
  withinMs: number,
  next: (isFirst: boolean) => Promise<unknown>,
): Promise<T> {
  const beganMs = clock.monotonic()
  for (let isFirst = true;; isFirst = false) {
    await next(isFirst)
    try {
      return await check()
    } catch (error) {
      if (clock.monotonic() - beganMs >= withinMs) throw error
    }
  }
}
