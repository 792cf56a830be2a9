/**
 * Tests operators in memory with a fake clock, or on a real control plane.
 *
 * @module
 */
export { admit, type AdmitOptions, type Admitted } from './admit.ts'
export { checkConversion, type ConversionCheckOptions, type Converting } from './check_conversion.ts'
export { type World, world, type WorldOptions } from './world.ts'
export { type TestCluster, testCluster, type TestClusterOptions } from './test_cluster.ts'
export type { TraceEntry } from './trace.ts'
export type { WorldSnapshot } from './world_snapshots.ts'
export type { WorkloadTimes } from './world_pods.ts'
export type { PodFailure, Pods } from '../simcluster/workloads/pod_script.ts'
export type { Failing, Ran } from './replica.ts'
export { FakeClock, type FakeClockOptions } from '../async/fake_clock.ts'
export type { Fault } from './faults.ts'
export { type Envtest, type EnvtestOptions, startEnvtest } from './envtest.ts'
export type { ExtraArgs, ProgramName } from './control_plane_programs.ts'
