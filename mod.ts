/**
 * kubeloop: Kubernetes operators in TypeScript.
 *
 * @module
 */

// In the order of the layers: the bundle has this order, and similar code side by side compresses better

// Configuration and the network
export type { ClusterConfig } from './lib/core/cluster_config.ts'
export { loadConfig } from './lib/config/load.ts'
export { httpTransport } from './lib/runtime/net/transport.ts'
export type { Transport } from './lib/core/transport.ts'

// Kinds and objects
export { defineResource } from './lib/schema/define_resource.ts'
export { dynamicResource } from './lib/schema/dynamic_resource.ts'
export { defineIndex, type Index } from './lib/core/object_indexer.ts'
export { type AnyResource, type Desired, metadataOf, type ObjectOf, type Resource } from './lib/core/resource.ts'
export { draft } from './lib/core/objects.ts'
export type {
  CustomObject,
  DeepReadonly,
  DesiredObject,
  Draft,
  KubeObject,
  ObjectKey,
  ObjectMeta,
  Ref,
} from './lib/core/objects.ts'

/** The conditions of a status: reading them, setting and removing one. */
export * as conditions from './lib/core/conditions.ts'
/** Label selectors: parsing them, matching labels, and writing them as text. */
export * as selectors from './lib/core/selectors.ts'

// The client
export type { Client } from './lib/client/client.ts'
/** Clients made of another client: of one namespace, for dry runs, with hooks around calls. */
export * as clients from './lib/client/wrappers.ts'
export { retryOnConflict, type RetryOnConflictOptions } from './lib/client/edit.ts'
export type { KindName } from './lib/client/rest_mapper.ts'
/** Owner references: setting, reading and removing them. */
export * as owners from './lib/core/owner_references.ts'
/** Finalizers: adding, finding and removing them. */
export * as finalizers from './lib/core/finalizers.ts'

export type { HasOwners } from './lib/core/owners.ts'

// Errors
export { ApiError, isReason, LeadershipLost, NetworkError, TerminalError } from './lib/core/errors.ts'

// The parts, for those who assemble their own
export { Manager, type ManagerOptions } from './lib/manager/manager.ts'
export { Cluster } from './lib/manager/cluster.ts'
export { Server } from './lib/manager/servers/server.ts'
export { RunnableGroup } from './lib/manager/runnable_group.ts'
export type { Runnable } from './lib/core/runnable.ts'
export { LeaderElector, type LeaderElectorOptions } from './lib/leader/leader_elector.ts'
export { type AddOptions, WorkQueue, type WorkQueueOptions } from './lib/queue/work_queue.ts'
/** Rate limiters of a {@link WorkQueue}. */
export * as limiters from './lib/queue/rate_limiter.ts'
export type { RateLimiter } from './lib/queue/rate_limiter.ts'
export { Cache, type CacheDependencies } from './lib/cache/cache.ts'
export type { Delta } from './lib/cache/store.ts'
export { Informer, type InformerOptions } from './lib/cache/informer.ts'
export { Controller } from './lib/controller/controller.ts'
export { KindSource } from './lib/controller/kind_source.ts'
/** Handlers: which keys a change of an object adds to the queue. */
export * as handlers from './lib/controller/handlers.ts'
export type { KeyMapper, ObjectKeyMapper } from './lib/controller/handlers.ts'
export { EventRecorder, type Recorder } from './lib/events/event_recorder.ts'
export type { Clock } from './lib/async/clock.ts'
export type { Log } from './lib/observe/log.ts'

// The words of an operator file
export { type Operator, operator } from './lib/operator/operator.ts'
export type { OperatorOptions } from './lib/operator/description/options.ts'
export type {
  ClusterChange,
  ClusterGroup,
  ClusterParts,
  ClusterProvider,
  Context,
  ControllerBuilder,
  ControllerDefaults,
  ControllerOptions,
  MapContext,
  OtherCluster,
  Parts,
  WatchContext,
} from './lib/operator/description/context.ts'
export { type Result, RetryError } from './lib/controller/result.ts'
/** Predicates: which changes of an object are reconciled. */
export * as predicates from './lib/controller/predicates.ts'
export type { Predicate } from './lib/controller/predicates.ts'
export { EventChannel } from './lib/async/event_channel.ts'

// Types that those above mention
export type { Duration, DurationLike } from './lib/core/duration.ts'
export type {
  Admission,
  AdmissionAnswer,
  AdmissionContext,
  AdmissionProblem,
  AdmissionRequest,
} from './lib/webhook/admission/admission.ts'
export type { Problem, Reason, Status } from './lib/core/errors.ts'
export type { DesiredMeta, KeyIn, OwnerReference, StatusOf } from './lib/core/objects.ts'
export type { CustomResourceDefinition, DefinedResource, JsonSchema, PrinterColumn } from './lib/core/resource.ts'
export type { RunnableRole } from './lib/core/runnable.ts'
export type { LogFields, LogLevel } from './lib/observe/log.ts'
export type {
  DeleteAllOptions,
  DeleteOptions,
  ListOptions,
  LookupOptions,
  PageOptions,
  PatchOptions,
  Reader,
  WatchBookmark,
  WatchChange,
  WatchOptions,
  WriteOptions,
} from './lib/client/client.ts'
export type { Scale, TokenRequest } from './lib/client/subresources.ts'
export type { CacheOptions } from './lib/cache/cache_options.ts'
export type { LoadedCluster, LoadOptions } from './lib/config/loaded.ts'
export type { EventOptions, Regarding } from './lib/events/event.ts'
export type { Conversion } from './lib/schema/conversions.ts'
export type { ColumnDefinition } from './lib/schema/columns.ts'
export type { ResourceDefinition, ZodSchema } from './lib/schema/define_resource.ts'
export type { ScaleDefinition } from './lib/schema/subresources.ts'
export type { DynamicKind } from './lib/schema/dynamic_resource.ts'
export type { Disposition } from './lib/controller/result.ts'
export type { ElectionOptions } from './lib/leader/leader_elector.ts'
export type { HealthCheck, HealthOptions } from './lib/manager/servers/health.ts'
export type {
  FinalizeOptions,
  OwnsOptions,
  QueueOptions,
  WatchOptions as WatchesOptions,
  WorkContext,
} from './lib/operator/description/context.ts'
export type {
  Address,
  CacheDefaults,
  CacheSelection,
  LeaderElectionOptions,
  MetricsOptions,
  ScheduleOptions,
  Task,
  TaskOptions,
} from './lib/operator/description/options.ts'
export type { OperatorDescription } from './lib/operator/description/description.ts'
export type { StartOptions } from './lib/operator/run/start.ts'
export type { AdmissionOptions, MatchCondition } from './lib/webhook/admission/admission_options.ts'
export type { WebhookHandler, WebhookRequest, WebhookResponse } from './lib/webhook/common/handler.ts'
export type { SelfMadeOptions, WebhookOptions } from './lib/operator/description/options.ts'
