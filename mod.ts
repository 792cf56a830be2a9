/**
 * kubeloop: Kubernetes operators in TypeScript.
 *
 * @module
 */

// The words of an operator file
export { operator, type Operator } from './lib/operator/operator.ts'
export type { OperatorOptions, Task } from './lib/operator/description.ts'
export type { Context, ControllerBuilder, ControllerOptions } from './lib/operator/context.ts'
export type { Result } from './lib/controller/result.ts'
export { generationChanged, type Predicate } from './lib/controller/predicate.ts'
export type { Duration } from './lib/core/duration.ts'

// Kinds and objects
export { defineResource, type ResourceDefinition } from './lib/schema/define_resource.ts'
export { dynamicResource } from './lib/schema/dynamic_resource.ts'
export { defineIndex, type Index } from './lib/core/index.ts'
export type { AnyResource, Desired, ObjectOf, Resource } from './lib/core/resource.ts'
export { draft } from './lib/core/objects.ts'
export type { CustomObject, DesiredObject, Frozen, KubeObject, ObjectKey, ObjectMeta, OwnerReference, Ref, Thawed } from './lib/core/objects.ts'

// The client
export type { Client, ListOptions, Patch, WriteOptions } from './lib/client/client.ts'

// Errors
export { ApiError, isReason, LeadershipLost, NetworkError, TerminalError } from './lib/core/errors.ts'

// Configuration and the network
export type { ClusterConfig } from './lib/core/cluster_config.ts'
export { fromKubeConfig } from './lib/config/client_node.ts'
export { loadConfig } from './lib/config/load.ts'
export { httpTransport } from './lib/runtime/transport.ts'
export type { Transport } from './lib/core/transport.ts'

// The parts, for those who assemble their own
export { Manager } from './lib/manager/manager.ts'
export { RunnableGroup } from './lib/manager/runnable_group.ts'
export type { Runnable } from './lib/core/runnable.ts'
export { LeaderElector } from './lib/leader/leader_elector.ts'
export { WorkQueue } from './lib/queue/work_queue.ts'
export { Cache } from './lib/cache/cache.ts'
export { Informer } from './lib/cache/informer.ts'
export { Controller } from './lib/controller/controller.ts'
export { Source } from './lib/controller/source.ts'
export { Api } from './lib/client/api.ts'
export { KubeClient } from './lib/client/kube_client.ts'
export { discoverKinds } from './lib/client/discovery.ts'
export { startOperator, type StartOptions } from './lib/operator/start.ts'
export type { Clock } from './lib/async/clock.ts'
export type { Log } from './lib/observe/log.ts'
