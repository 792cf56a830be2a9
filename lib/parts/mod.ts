/**
 * `kubeloop/parts`: sources and types for those who assemble an operator from its parts, and the types that signatures
 * of `kubeloop` mention and an operator's file rarely names.
 *
 * @module
 */
export type { ControllerDependencies, ReconcileReport } from '../controller/controller.ts'
export type { Sink, SinkOptions, Source, SourceFailure } from '../controller/source.ts'
export type { KindSourceOptions } from '../controller/kind_source.ts'
export { StreamSource, type StreamSourceOptions } from '../controller/stream_source.ts'
export { TickerSource, type TickerSourceOptions } from '../controller/ticker_source.ts'
export type { Call } from '../controller/bounded_call.ts'
export type { EventRecorderOptions } from '../events/event_recorder.ts'
export type { ConfigOrigin, Credentials, Impersonation } from '../core/cluster_config.ts'
export type { AdmissionKind, AdmissionResource, AdmissionUser } from '../webhook/admission/admission.ts'
export type { Fence, WriteEnd } from '../core/fence.ts'
export type { Keys, Named } from '../core/objects.ts'
export type {
  CustomResourceConversion,
  CustomResourceVersion,
  Definition,
  KindType,
  MetadataOf,
  ResourceOf,
  ScaleSubresource,
  ValidateOptions,
  WebhookClientConfig,
  Writable,
} from '../core/resource.ts'
export type { HttpBody, HttpRequest, HttpResponse } from '../core/transport.ts'
export type { Aging } from '../queue/queue_state.ts'
export type { Api, ApiOptions, WriteInFlight, WriteObserver, Written } from '../client/api.ts'
export type { NamespaceSelection } from '../cache/cache_options.ts'
export type {
  Departure,
  NamespaceFollower,
  NamespacesSetup,
  NamespaceWork,
  SelectedNamespaces,
} from '../cache/selected_namespaces.ts'
export type { AppliedObject, ApplyCache, SharedObject } from '../client/apply_cache.ts'
export type {
  DeletionOptions,
  DraftToWrite,
  Editable,
  Ensured,
  ListPage,
  OwnedBy,
  Placed,
  SendOptions,
  Subresource,
  WriteRecord,
} from '../client/client.ts'
export type { ListBody } from '../client/codec.ts'
export type { Pace } from '../client/list_body.ts'
export type { RestMapper } from '../client/rest_mapper.ts'
export type { KubeClient, KubeClientOptions, OwnerCheck } from '../client/kube_client.ts'
export type {
  DeleteQuery,
  ListVersion,
  PageQuery,
  Patch,
  PatchType,
  SelectOptions,
  Target,
  WatchQuery,
  WriteQuery,
} from '../client/requests.ts'
export type {
  EvictionOptions,
  SubresourceAnswer,
  SubresourceBody,
  SubresourceName,
  TokenRequestSpec,
} from '../client/subresources.ts'
export type { NamespacedClient } from '../client/wrappers.ts'
export type { Condition, Conditioned } from '../core/conditions.ts'
export type { ExecOptions, ExecResult } from '../runtime/os/exec.ts'
export type { ClosableTransport, TransportOptions } from '../runtime/net/transport.ts'
export type { SelectionOptions } from '../cache/cache_options.ts'
export type { Handler, HandlerOptions } from '../cache/handler_set.ts'
export type { HandlerRegistration } from '../cache/informer.ts'
export type { StoreReader } from '../cache/store.ts'
export type { Environment } from '../config/environment.ts'
export type { ConfigSource } from '../config/loaded.ts'
export type { EventLimits } from '../events/event_state.ts'
export type { PartEnvironment, PartOptions, RandomPartEnvironment, RandomPartOptions } from '../observe/environment.ts'
export type { ConversionDescription, Converted, ConvertedStatus, ConvertibleKind } from '../schema/conversions.ts'
export type { Requeue, Run } from '../controller/result.ts'
export type { ElectionCallbacks } from '../leader/callbacks.ts'
export type { LeaseCandidate } from '../leader/lease_lock.ts'
export type { LeaseTimings } from '../leader/lease_state.ts'
export type { ClusterOptions } from '../manager/cluster.ts'
export type { HealthServer } from '../manager/servers/health.ts'
export type { MetricsServer, MetricsServerOptions, ScrapeSource } from '../manager/servers/metrics_server.ts'
export type { RunnableFunction } from '../manager/runnable_group.ts'
export type { Fetch, ListenOptions, ServerOptions } from '../manager/servers/server.ts'
export type { CacheDeclaration, CacheNamespaces, Namespaces, ShardingOptions } from '../operator/description/options.ts'
export type {
  AdmissionDescription,
  CacheDescription,
  ClusterDescription,
  ControllerDescription,
  FinalizeDescription,
  GroupDescription,
  SourceDescription,
  StepDescription,
  TaskDescription,
} from '../operator/description/description.ts'
export type { AdmissionOperation } from '../webhook/admission/admission_options.ts'
export type { WebhookParts } from '../operator/description/context.ts'
export type { OperatorWebhooks, WebhookMode } from '../operator/webhooks/setup.ts'
