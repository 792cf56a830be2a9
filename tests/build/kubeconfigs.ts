/** Kubeconfigs, and a script that reads one with the built package. */

/** Prints the server of ./config, or why it cannot be read. */
export const READ_KUBECONFIG: string = `
import { loadConfig } from './mod.js'
const loaded = await loadConfig({ kubeconfig: './config' }).catch((error) => error)
console.log(loaded.message ?? loaded.cluster.server)
`
export const ORDINARY: string = `apiVersion: v1
clusters:
- cluster:
    server: https://a:6443
  name: a
contexts:
- context:
    cluster: a
  name: a
current-context: a
`
/** Like ORDINARY, in flow style. */
export const FLOW: string = `apiVersion: v1
clusters: [{name: a, cluster: {server: "https://a:6443"}}]
contexts:
  - name: a
    context: {
      cluster: a, # the only one
      user: a
    }
users: [{name: a, user: {token: x}}]
current-context: a
`
/** Has an anchor, which only yaml.js reads. */
export const UNUSUAL: string = ORDINARY.replace('name: a', 'name: &name a').replace('cluster: a\n', 'cluster: *name\n')
