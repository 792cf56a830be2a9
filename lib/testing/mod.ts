/**
 * Tests operators in memory with a fake clock, or on a real control plane.
 *
 * @module
 */
export { admit, type AdmitOptions, type Admitted } from './admit.ts'
export { checkConversion, type ConversionCheckOptions, type Converting } from './check_conversion.ts'
export { type World, world, type WorldOptions } from './world/world.ts'
export { type TestCluster, testCluster, type TestClusterOptions } from './envtest/test_cluster.ts'
export type { TraceEntry } from './world/trace.ts'
export type { WorldSnapshot } from './world/world_snapshots.ts'
export type { WorkloadTimes } from './world/world_pods.ts'
export type { PodFailure, Pods } from '../simcluster/workloads/pod_script.ts'
export type { Failing, Ran } from './world/replica.ts'
export { FakeClock, type FakeClockOptions } from '../async/fake_clock.ts'
export type { Fault } from './world/faults.ts'
export { type Envtest, type EnvtestOptions, startEnvtest } from './envtest/envtest.ts'
export type { ExtraArgs, ProgramName } from './envtest/control_plane_programs.ts'
