/**
 * `kubeloop/client-node`: uses a KubeConfig of @kubernetes/client-node as a cluster, and runs its generated APIs over
 * kubeloop's transport. kubeloop itself loads this only for a kubeconfig with an `auth-provider`.
 *
 * @module
 */
export { fromAuthProvider, fromKubeConfig, type KubeConfigLike } from './client_node.ts'
export { type ApiClass, makeApiClient } from './api_client.ts'
