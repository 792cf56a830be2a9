/** The table of metrics in docs/metrics.md is what an operator exports. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Cluster, defineResource, operator } from 'kubeloop'
import { ApiServer } from 'kubeloop/apiserver'
import { ConfigMap } from 'kubeloop/kinds'
import { Registry } from 'prom-client'
import * as z from 'zod'
import { Latch } from '../../lib/async/latch.ts'
import { pageText } from '../tools/docs.ts'

const PAGE = pageText('docs/metrics.md')

const spec = z.object({ host: z.string() })
const Old = defineResource({ group: 'example.dev', version: 'v1alpha1', kind: 'Site', spec })
const Site = defineResource({
  group: 'example.dev',
  version: 'v1',
  kind: 'Site',
  spec: z.object({ hosts: z.array(z.string()) }),
})

/** A metric as `name type label,label`. */
async function exported(): Promise<string[]> {
  const registry = new Registry()
  const app = operator({
    name: 'sites',
    crds: 'install',
    leaderElection: true,
    metrics: { address: 0, registry },
    webhooks: { port: 0, certs: { secret: 'sites', namespace: 'default' } },
  })
  app.convert(Old, Site, {
    up: ({ spec }) => ({ spec: { hosts: [spec.host] } }),
    down: ({ spec }) => ({ spec: { host: spec.hosts[0] ?? '' } }),
  })
  app.admission(Site, { default() {} })
  app.schedule('report', '@yearly', async () => {})
  const seen = new Latch<void>()
  app.controllerFor(ConfigMap).reconcile(async () => seen.open())
  const stopping = new AbortController()
  const { handle: transport } = new ApiServer()
  const { client } = new Cluster({ name: 'admin', transport })
  await client.create(ConfigMap, { metadata: { namespace: 'default', name: 'a' } })
  const running = app.start(stopping.signal, { transport })
  await Promise.race([seen.opened, running])
  const text = await registry.metrics()
  stopping.abort()
  await running
  return [...text.matchAll(/^# TYPE (\S+) (\w+)\n((?:[^#\n].*\n?)*)/gm)].map(([, name, type, series]) => {
    const labels = [...series!.matchAll(/[{,](\w+)="/g)].map(([, label]) => label!).filter((label) => label !== 'le')
    return `${name} ${type} ${[...new Set(labels)].toSorted().join(',')}`
  }).toSorted()
}

test('the table of metrics is what an operator with all parts exports', async () => {
  const rows = [...PAGE.matchAll(/^\| `([a-z_]+)` \| (counter|gauge|histogram) \| ([^|]*)\|/gm)].map((
    [, name, type, labels],
  ) => `${name} ${type} ${[...labels!.matchAll(/`(\w+)`/g)].map(([, label]) => label!).toSorted().join(',')}`)
  assert.deepEqual(rows.toSorted(), await exported())
})
