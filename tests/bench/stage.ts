/** The API server of the benchmarks, and its objects. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { Cluster, type ClusterConfig } from 'kubeloop'
import { ApiServer, serve } from 'kubeloop/apiserver'
import { ConfigMap, CustomResourceDefinition, Namespace } from 'kubeloop/kinds'
import { kubeconfigText, startEnvtest } from '../../lib/testing/envtest/envtest.ts'
import { fooOf, nameOf } from './objects.ts'
import { Foo, namespaceOf } from './works/surroundings.ts'
import { definitionOf } from '../tools/definitions.ts'

export type Stage = Awaited<ReturnType<typeof openStage>>

/** Starts the real control plane if KUBEBUILDER_ASSETS is set, else the embedded API. */
export async function openStage() {
  const folder = mkdtempSync(join(tmpdir(), 'kubeloop-bench-'))
  const { name, config, kubeconfig, close } = process.env['KUBEBUILDER_ASSETS'] ? await real() : await embedded()
  const write = (file: string, text: string): string => {
    const path = join(folder, file)
    writeFileSync(path, text, { mode: 0o600 })
    return path
  }
  const { server, token, ca } = config
  const cluster = new Cluster({ name: 'bench', config })
  await cluster.client.apply(CustomResourceDefinition, DEFINITION as never)
  await cluster.client.list(Foo).catch(() => {})
  let made = 0, spaces = 0
  return {
    name,
    /** A file with `{ server, token, ca }`. */
    clusterFile: write('cluster.json', JSON.stringify({ server, token, ca })),
    kubeconfig: write('kubeconfig', kubeconfig),
    /** Creates or deletes objects until there are exactly `n`. */
    async fill(n: number) {
      await served(cluster)
      const names = Array.from({ length: Math.abs(n - made) }, (_, i) => nameOf(Math.min(n, made) + i))
      const each = n > made
        ? (of: string) => cluster.client.create(Foo, fooOf(of) as never)
        : (of: string) => cluster.client.delete(Foo, { namespace: 'default', name: of })
      await inParallel(names, 24, each)
      made = n
    },
    /** Creates namespaces until there are as many, with ten ConfigMaps each. */
    async spread(namespaces: number) {
      const more = Array.from({ length: Math.max(0, namespaces - spaces) }, (_, i) => namespaceOf(spaces + i))
      await inParallel(more, 24, async (namespace) => {
        await cluster.client.create(Namespace, { metadata: { name: namespace } })
        const data = { text: 'x'.repeat(1000) }
        for (let i = 0; i < 10; i++) {
          await cluster.client.create(ConfigMap, { metadata: { namespace, name: `map-${i}` }, data })
        }
      })
      spaces = Math.max(spaces, namespaces)
    },
    async close() {
      cluster.close()
      await close()
      rmSync(folder, { recursive: true })
    },
  }
}

async function real() {
  const envtest = await startEnvtest()
  const close = () => envtest.stop()
  return {
    name: 'kube-apiserver',
    config: envtest.tokenConfig,
    kubeconfig: envtest.kubeconfig(envtest.tokenConfig),
    close,
  }
}

async function embedded() {
  const api = await serve(new ApiServer())
  const config: ClusterConfig = { server: api.url, token: api.token, ca: api.ca }
  return { name: 'embedded API', config, kubeconfig: kubeconfigText(config), close: () => api.close() }
}

/** Resolves when the server serves the definition, which takes a moment after its creation. */
async function served(cluster: Cluster): Promise<void> {
  while (!(await cluster.kinds.find({ apiVersion: 'bench.example.com/v1', kind: 'Foo' }))) {
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

async function inParallel<T>(items: readonly T[], max: number, work: (item: T) => Promise<unknown>): Promise<void> {
  let next = 0
  await Promise.all(Array.from({ length: max }, async () => {
    while (next < items.length) await work(items[next++]!)
  }))
}

const ANY = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
const DEFINITION = definitionOf({
  ...{ group: 'bench.example.com', scope: 'Namespaced', properties: { spec: ANY, status: ANY } },
  version: { subresources: { status: {} } },
})
