/** Shared by the benchmarks of this folder: the cluster, the kind, memory and output. */
import { readFileSync } from 'node:fs'
import process from 'node:process'
import { type ClusterConfig, dynamicResource } from 'kubeloop'

export const Foo = dynamicResource({
  group: 'bench.example.com',
  version: 'v1',
  kind: 'Foo',
  plural: 'foos',
  scope: 'Namespaced',
})

export function namespaceOf(i: number): string {
  return `bench-${i}`
}

/** Reads a file with `{ server, token, ca }`. */
export function clusterOf(path: string | undefined): ClusterConfig {
  return JSON.parse(readFileSync(path!, 'utf8')) as ClusterConfig
}

const runtime = globalThis as { gc?: (full?: boolean) => void; Bun?: { gc(full: boolean): void } }

export function collect(): void {
  if (runtime.gc) runtime.gc()
  else runtime.Bun?.gc(true)
}

/** Returns a function that measures the growth of memory since this call, after garbage collection. */
export function memoryFromNow(): () => { heapMib: number; outsideMib: number; peakMib: number } {
  collect()
  const before = process.memoryUsage()
  return () => {
    const peak = process.resourceUsage().maxRSS * 1024
    collect()
    const { heapUsed, external } = process.memoryUsage()
    return {
      heapMib: (heapUsed - before.heapUsed) / 2 ** 20,
      outsideMib: (external - before.external) / 2 ** 20,
      peakMib: (peak - before.rss) / 2 ** 20,
    }
  }
}

export function print(figures: Readonly<Record<string, number>>): void {
  console.log(JSON.stringify(figures))
}
