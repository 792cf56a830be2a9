/** Kubeconfigs, and programs that use the built package. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DIST } from '../tools/dist.ts'
import { mustRun } from '../tools/run_command.ts'
import { ROOT } from '../tools/tree.ts'
import { withFolder } from '../tools/folder.ts'

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
/** Prints why an operator with a webhook does not start. */
export const ADMIT: string = `import { defineResource, operator } from './mod.js'
import { z } from 'zod'
const Site = defineResource({ group: 'example.com', version: 'v1', kind: 'Site', spec: z.object({}) })
const app = operator({ name: 'a' }).admission(Site, { validate: () => [] })
const cluster = { server: 'http://127.0.0.1:1' }
await app.start(new AbortController().signal, { cluster }).catch(({ message }) => console.log(message))
`

/** Bundles the operator as a user's bundler does. Returns the text. */
export async function bundled(operator: string, ...imports: readonly string[]): Promise<string> {
  return await withFolder(async (folder) => {
    mkdirSync(join(folder, 'node_modules'))
    symlinkSync(DIST, join(folder, 'node_modules/kubeloop'))
    const lines = imports.map((name) => `import 'kubeloop/${name}'\n`)
    writeFileSync(join(folder, 'operator.mjs'), lines.join('') + operator.replace('./mod.js', 'kubeloop'))
    const outside = ['zod', 'prom-client', '@opentelemetry/api'].map((name) => `--external:${name}`)
    const args = [join(folder, 'operator.mjs'), '--bundle', '--format=esm', '--platform=node', ...outside]
    return await mustRun(join(ROOT, 'node_modules/.bin/esbuild'), args)
  })
}
