import { Session } from 'node:inspector/promises'
import { operator } from '../mod.ts'
import { ConfigMap } from '../lib/kinds/mod.ts'
import { world } from '../lib/testing/mod.ts'
const session = new Session(); session.connect()
await session.post('Profiler.enable')
const app = operator({ name: 'x' })
let n = 0
app.controllerFor(ConfigMap).reconcile(async (o, { client }) => { n++; if (o.metadata.name === 'write') await client.apply(ConfigMap, { metadata: { name: 'out', namespace: 'default' }, data: { n: String(n) } }) })
const w = await world(app)
await w.client.create(ConfigMap, { metadata: { namespace: 'default', name: 'a' } }); await w.settle()
const measure = async (what: string, act: () => Promise<unknown>) => {
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await session.post('Profiler.takePreciseCoverage')
  await act(); 
  const { result } = await session.post('Profiler.takePreciseCoverage') as any
  const files = new Map<string, string[]>()
  for (const script of result) {
    if (!script.url.includes('/lib/')) continue
    const f = script.url.replace(/.*\/lib\//, '')
    if (/^(apiserver|testing|simcluster|kinds)/.test(f)) continue
    const fns = script.functions.filter((x: any) => x.ranges[0].count > 0 && x.functionName).map((x: any) => x.functionName)
    if (fns.length) files.set(f, fns)
  }
  console.log(what, files.size); for (const [f, fns] of [...files].sort()) console.log('  ', f, fns.join(' '))
}
const other = w.client

const patch = () => other.patch(ConfigMap, {namespace:'default',name:'a'}, { merge: {data:{x: String(n)}} })
// the patch itself is not of the way
const gate = new Promise<void>((resolve) => setTimeout(resolve, 50))
await patch(); await w.settle(); await gate
await measure('event', async () => { await patch(); for (let i = 0; i < 50; i++) await new Promise((r) => setImmediate(r)) })
console.log(n)
await w.stop()
