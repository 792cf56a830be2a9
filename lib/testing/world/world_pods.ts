/** Loads the controllers of workloads for a world that has them. */
import { internals, type PodLog } from 'kubeloop/apiserver'
import type { FakeClock } from '../../async/fake_clock.ts'
import { type Duration, toMs } from '../../core/duration.ts'
import type { Pods } from '../../simcluster/workloads/pod_script.ts'
import type { Workloads, WorkloadsOptions } from '../../simcluster/workloads/workloads.ts'
import { seededRandom } from './random.ts'

/** How long the pods of a world take. */
export interface WorkloadTimes {
  /** From the start of a pod until it is Running and Ready. Default: 1 s. */
  readyAfter?: Duration
  /** From then until a pod completes whose `restartPolicy` is not `Always`. Default: 1 s. */
  completeAfter?: Duration
}

export interface Simulation {
  readonly pods: Pods
  readonly podLog: PodLog
  readonly workloads: (options: Pick<WorkloadsOptions, 'transport' | 'clock' | 'log'>) => Workloads
}

/** Resolves when the files are loaded, which other worlds do not need. All clusters of a world share the script. */
export async function simulate(
  times: WorkloadTimes | true,
  { clock, random, seed }: { readonly clock: FakeClock; readonly random: () => number; readonly seed: number },
): Promise<Simulation> {
  const { podLogOf, PodScript, TIMES, Workloads } = await import('../../simcluster/workloads/workloads.ts')
  const { readyAfter = TIMES.readyMs, completeAfter = TIMES.completeMs } = times === true ? {} : times
  const script = new PodScript(() => clock.now())
  // A source of its own, so that runs do not change the values of the operator.
  const ids = seededRandom(seed - 1)
  const common = { script, random, uuid: () => internals.newUid(ids) }
  const own = { times: { readyMs: toMs(readyAfter), completeMs: toMs(completeAfter) }, ...common }
  return { pods: script, podLog: podLogOf(script), workloads: (options) => new Workloads({ ...options, ...own }) }
}
