/** `applied_memory.ts OBJECTS`: measures the heap of the memory of applied objects, and the time of a lookup. */
import { argv } from 'node:process'
import { ApplyCache } from '../../../lib/client/apply_cache.ts'
import type { KubeObject } from '../../../lib/core/objects.ts'
import { memoryFromNow, print } from './surroundings.ts'
import { Deployment } from '../../../lib/kinds/mod.ts'

const objects = Number(argv[2])

/** Returns an object of about 1.3 KB. */
function deployment(i: number): KubeObject & { readonly metadata: { readonly namespace: string } } {
  const labels = { app: `app-${i}`, 'app.kubernetes.io/managed-by': 'bench' }
  const env = Array.from({ length: 15 }, (_, k) => ({ name: `VAR_${k}`, value: `value-${i}-${k}` }))
  const container = {
    name: 'main',
    image: `registry.example.com/team/app:${i}`,
    args: ['--a', '--b=c', '--d=e'],
    env,
    resources: { limits: { cpu: '100m', memory: '128Mi' }, requests: { cpu: '50m', memory: '64Mi' } },
    ports: [{ containerPort: 8080, name: 'http', protocol: 'TCP' }],
    volumeMounts: [{ name: 'config', mountPath: '/etc/config' }],
  }
  const metadata = {
    name: `app-${i}`,
    namespace: `ns-${i % 100}`,
    uid: `00000000-0000-4000-8000-${i}`,
    resourceVersion: '1',
    creationTimestamp: '',
    labels,
  }
  const template = {
    metadata: { labels },
    spec: { containers: [container], volumes: [{ name: 'config', configMap: { name: `config-${i}` } }] },
  }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata,
    spec: { replicas: 1, selector: { matchLabels: labels }, template },
  } as never
}

function lookUp(i: number, memory: ApplyCache): boolean {
  const desired = deployment(i)
  const { metadata: { name, namespace } } = desired
  const applied = memory.of(Deployment, { namespace, name }, 'bench')
  if (applied.isUpToDate(desired, desired)) return true
  applied.remember(desired, desired)
  return false
}

const memory = memoryFromNow()
const cache = new ApplyCache()
for (let i = 0; i < objects; i++) lookUp(i, cache)
const { heapMib: appliedMib } = memory()
const began = performance.now()
let found = 0
for (let i = 0; i < objects; i++) if (lookUp(i, cache)) found++
const between = performance.now()
for (let i = 0; i < objects; i++) deployment(i)
const lookUs = ((between - began - (performance.now() - between)) * 1000) / objects
if (found !== objects) throw new Error(`${found} of ${objects} were found`)
print({ appliedMib, lookUs })
