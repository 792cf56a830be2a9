/**
 * `kubeloop/client-node`: @kubernetes/client-node beside kubeloop, its KubeConfig as a cluster and its generated APIs
 * over our transport. An auth-provider of a kubeconfig is what loads it otherwise.
 *
 * @module
 */
export { fromAuthProvider, fromKubeConfig, type KubeConfigLike } from './client_node.ts'
export { type ApiClass, makeApiClient } from './api_client.ts'
