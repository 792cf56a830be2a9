/** A Kubernetes API in one process, for development and tests. */
export { ApiServer, type ApiServerOptions, type SavedState } from './server.ts'
export { serve, type ServedApi, type ServeOptions } from './serve.ts'
