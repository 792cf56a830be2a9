// Sites in two versions: the operator converts between them, fills in defaults, and refuses what its schema cannot say.
import { defineResource, operator } from 'kubeloop'
import { NetworkPolicy } from 'kubeloop/kinds'
import * as z from 'zod'

const issuer = z.string().optional()
const common = { group: 'web.example.dev', kind: 'Site', status: z.object({ ready: z.boolean() }) }
export const SiteV1alpha1 = defineResource({
  ...common,
  version: 'v1alpha1',
  deprecated: true,
  spec: z.object({ hostnames: z.string().regex(/^\S+( \S+)*$/), issuer, tlsSecret: z.string().min(1).optional() }),
})
export const Site = defineResource({
  ...common,
  version: 'v1',
  spec: z.object({
    hosts: z.array(z.string().regex(/^\S+$/)).min(1),
    issuer,
    tls: z.discriminatedUnion('mode', [
      z.object({ mode: z.literal('off') }),
      z.object({ mode: z.literal('on'), secretName: z.string().min(1) }),
    ]).default({ mode: 'off' }),
  }),
})

const app = operator({ name: 'sites', leaderElection: true, crds: 'install', webhooks: { certs: { secret: 'sites' } } })

app.convert(SiteV1alpha1, Site, {
  up: ({ spec: { hostnames, issuer, tlsSecret: secretName } }) => ({
    spec: { hosts: hostnames.split(' '), issuer, tls: secretName ? { mode: 'on', secretName } : { mode: 'off' } },
  }),
  down: ({ spec: { hosts, issuer, tls } }) => ({
    spec: { hostnames: hosts.join(' '), issuer, tlsSecret: tls.mode === 'on' ? tls.secretName : undefined },
  }),
})

app.admission(Site, {
  default({ spec }) {
    spec.hosts = spec.hosts.map((host) => host.toLowerCase())
    spec.issuer ??= 'letsencrypt'
  },
  validate({ spec }, { old, warn }) {
    if (old?.spec.tls.mode === 'on' && spec.tls.mode === 'off') warn('TLS is being turned off')
    return spec.hosts.flatMap((host, i) =>
      host.includes('_') ? [{ field: `spec.hosts[${i}]`, message: `"${host}" has an underscore` }] : []
    )
  },
})

app.controllerFor(Site).owns(NetworkPolicy).reconcile(async (site, { client }) => {
  const ingress = [{ from: [{ namespaceSelector: { matchLabels: { role: 'ingress' } } }] }]
  const spec = { podSelector: { matchLabels: { site: site.metadata.name } }, ingress }
  await client.apply(NetworkPolicy, { metadata: { name: site.metadata.name }, spec }, { owner: site })
  await client.setStatus(Site, site, { ready: true })
})

export default app
await app.run(import.meta)
