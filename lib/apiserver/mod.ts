/** Exports the embedded Kubernetes API, for development and tests. */
export {
  ApiServer,
  type ApiServerOptions,
  type ResourcePlace,
  type SavedState,
  type StoredChange,
} from './server/server.ts'
export { type ServableApi, serve, type ServedApi, type ServeOptions } from './server/serve.ts'
export type { AuthorizationMode } from './access/access.ts'
export type { FieldValidation, LogLine, PodLog } from './context/context.ts'
export type { ApiObject, Json, JsonObject, ManagedFieldsEntry, Meta } from './model/json.ts'
export type { CallWebhook, WebhookAnswer, WebhookCallOptions } from './webhooks/call.ts'
export type { SavedStore } from './storage/store.ts'
export { type Internals, internals } from './internals.ts'
export type { HttpBody, HttpRequest, HttpResponse } from '../core/transport.ts'
