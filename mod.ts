/**
 * kubeloop: Kubernetes operators in TypeScript.
 *
 * @module
 */

// The words of an operator file
export { operator, type Operator } from './lib/operator/operator.ts'
export type { OperatorOptions } from './lib/operator/description.ts'
export type { Context, ControllerBuilder, ControllerOptions, OtherCluster } from './lib/operator/context.ts'
export type { Parts } from './lib/operator/parts.ts'
export { RetryError, type Result } from './lib/controller/result.ts'
export * as predicates from './lib/controller/predicate.ts'
export { EventChannel } from './lib/async/event_channel.ts'

// Kinds and objects
export { defineResource } from './lib/schema/define_resource.ts'
export { dynamicResource } from './lib/schema/dynamic_resource.ts'
export { defineIndex, type Index } from './lib/core/index.ts'
export { metadataOf, type AnyResource, type Desired, type ObjectOf, type Resource } from './lib/core/resource.ts'
export { draft } from './lib/core/objects.ts'
export type { CustomObject, DesiredObject, Frozen, KubeObject, ObjectKey, ObjectMeta, Ref, Thawed } from './lib/core/objects.ts'

export * as conditions from './lib/core/conditions.ts'

// The client
export type { Client } from './lib/client/client.ts'
export * as clients from './lib/client/wrappers.ts'
export * as owners from './lib/core/owner_references.ts'

// Errors
export { ApiError, isReason, LeadershipLost, NetworkError, TerminalError } from './lib/core/errors.ts'

// Configuration and the network
export type { ClusterConfig } from './lib/core/cluster_config.ts'
export { fromKubeConfig } from './lib/config/client_node.ts'
export { makeApiClient } from './lib/config/api_client.ts'
export { loadConfig } from './lib/config/load.ts'
export { httpTransport } from './lib/runtime/transport.ts'
export type { Transport } from './lib/core/transport.ts'

// The parts, for those who assemble their own
export { Manager } from './lib/manager/manager.ts'
export { Cluster } from './lib/manager/cluster.ts'
export { Server } from './lib/manager/server.ts'
export { RunnableGroup } from './lib/manager/runnable_group.ts'
export type { Runnable } from './lib/core/runnable.ts'
export { LeaderElector } from './lib/leader/leader_elector.ts'
export { WorkQueue } from './lib/queue/work_queue.ts'
export * as limiters from './lib/queue/rate_limiter.ts'
export { Cache } from './lib/cache/cache.ts'
export { Informer } from './lib/cache/informer.ts'
export { Controller } from './lib/controller/controller.ts'
export { KindSource } from './lib/controller/kind_source.ts'
export { EventRecorder } from './lib/events/event_recorder.ts'
export type { Clock } from './lib/async/clock.ts'
export type { Log } from './lib/observe/log.ts'
