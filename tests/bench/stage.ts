/** The API server that the benchmarks run on, and the objects on it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { Cluster, type ClusterConfig } from 'kubeloop'
import { ApiServer, serve } from 'kubeloop/apiserver'
import { CustomResourceDefinition } from 'kubeloop/kinds'
import { startEnvtest } from '../../lib/testing/envtest.ts'
import { Foo } from './works/surroundings.ts'

export interface Stage {
  /** What it is, for the report. */
  readonly name: string
  /** A file with `{ server, token, ca }`. */
  readonly clusterFile: string
  /** A file as kubectl has it. */
  readonly kubeconfig: string
  /** Makes sure that there are exactly so many objects. */
  fill(n: number): Promise<void>
  close(): Promise<void>
}

/** The real control plane where KUBEBUILDER_ASSETS is set, else the embedded API. */
export async function openStage(): Promise<Stage> {
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
  let made = 0
  return {
    name,
    clusterFile: write('cluster.json', JSON.stringify({ server, token, ca })),
    kubeconfig: write('kubeconfig', kubeconfig),
    async fill(n) {
      await served(cluster)
      const names = Array.from({ length: Math.abs(n - made) }, (_, i) => `foo-${String(Math.min(n, made) + i).padStart(6, '0')}`)
      const each = n > made
        ? (of: string) => cluster.client.create(Foo, fooOf(of) as never)
        : (of: string) => cluster.client.delete(Foo, { namespace: 'default', name: of })
      await inParallel(names, 24, each)
      made = n
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
  return { name: 'kube-apiserver', config: envtest.tokenConfig, kubeconfig: envtest.kubeconfig(envtest.tokenConfig), close }
}

async function embedded() {
  const api = await serve(new ApiServer())
  const config: ClusterConfig = { server: api.url, token: api.token, ca: api.ca }
  const kubeconfig = JSON.stringify({
    apiVersion: 'v1', kind: 'Config', 'current-context': 'bench',
    contexts: [{ name: 'bench', context: { cluster: 'bench', user: 'bench' } }],
    clusters: [{ name: 'bench', cluster: { server: api.url, 'certificate-authority-data': Buffer.from(api.ca).toString('base64') } }],
    users: [{ name: 'bench', user: { token: api.token } }],
  })
  return { name: 'embedded API', config, kubeconfig, close: () => api.close() }
}

/** A new definition is served a moment after it was taken. */
async function served(cluster: Cluster): Promise<void> {
  while (!(await cluster.kinds.find({ apiVersion: 'bench.example.com/v1', kind: 'Foo' }))) await new Promise((resolve) => setTimeout(resolve, 50))
}

async function inParallel<T>(items: readonly T[], most: number, work: (item: T) => Promise<unknown>): Promise<void> {
  let next = 0
  await Promise.all(Array.from({ length: most }, async () => {
    while (next < items.length) await work(items[next++]!)
  }))
}

const DEFINITION = {
  metadata: { name: 'foos.bench.example.com' },
  spec: {
    group: 'bench.example.com', scope: 'Namespaced', names: { kind: 'Foo', plural: 'foos', singular: 'foo', listKind: 'FooList' },
    versions: [{
      name: 'v1', served: true, storage: true, subresources: { status: {} },
      schema: {
        openAPIV3Schema: {
          type: 'object',
          properties: {
            spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
          },
        },
      },
    }],
  },
}

/** About 1.9 KB on the wire, as an operator's objects are: a pod's template and the usual labels. */
function fooOf(name: string): object {
  const labels = { 'app.kubernetes.io/name': name, 'app.kubernetes.io/part-of': 'bench', 'app.kubernetes.io/managed-by': 'kubeloop' }
  const env = Array.from({ length: 8 }, (_, i) => ({ name: `SETTING_${i}`, value: `the value of setting number ${i} of ${name}` }))
  const resources = { requests: { cpu: '100m', memory: '128Mi' }, limits: { cpu: '500m', memory: '512Mi' } }
  const ports = [{ name: 'http', containerPort: 8080, protocol: 'TCP' }]
  const containers = [{ name: 'main', image: 'registry.example.com/team/app:1.2.3', args: ['--serve', '--verbose'], env, ports, resources }]
  return {
    metadata: { namespace: 'default', name, labels, annotations: { 'example.com/note': 'what somebody wanted to keep in mind about this object' } },
    spec: { deploymentName: `${name}-deployment`, replicas: 3, template: { metadata: { labels }, spec: { containers } } },
  }
}
