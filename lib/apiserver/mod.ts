/** Exports the embedded Kubernetes API, for development and tests. */
export { ApiServer, type ApiServerOptions, type SavedState } from './server.ts'
export { serve, type ServedApi, type ServeOptions } from './http/serve.ts'
export type { AuthorizationMode } from './access/access.ts'
export type { FieldValidation } from './backend.ts'
export type { ApiObject, Json, JsonObject, ManagedFieldsEntry, Meta } from './json.ts'
export type { CallWebhook, WebhookAnswer, WebhookCallOptions } from './webhooks/call.ts'
export type { SavedStore } from './storage/store.ts'
