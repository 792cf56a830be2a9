/** `webhooks.ts CLUSTER PORT CERTIFICATES`: serves the defaults and the validation of Sites until it is killed. */
import { argv } from 'node:process'
import { operator } from 'kubeloop'
import { Site } from '../site.ts'
import { clusterOf } from './surroundings.ts'

const app = operator({
  name: 'bench',
  crds: 'ignore',
  // As controller-runtime's, which are always on.
  metrics: '127.0.0.1:0',
  webhooks: { host: '127.0.0.1', port: Number(argv[3]), certs: argv[4]! },
})
app.admission(Site, {
  default({ spec }) {
    spec.hosts = spec.hosts.map((host) => host.toLowerCase())
    spec.issuer ??= 'letsencrypt'
  },
  validate: ({ spec }) =>
    spec.hosts.flatMap((host, i) =>
      host.includes('_') ? [{ field: `spec.hosts[${i}]`, message: `"${host}" has an underscore` }] : []
    ),
})
await app.start(new AbortController().signal, { cluster: clusterOf(argv[2]) })
