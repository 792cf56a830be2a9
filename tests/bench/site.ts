/** The kind of the webhook benchmark, and its objects: 1.9 KB on the wire. */
import { defineResource } from 'kubeloop'
import * as z from 'zod'

export const Site = defineResource({
  group: 'bench.example.com',
  version: 'v1',
  kind: 'Site',
  spec: z.object({
    hosts: z.array(z.string()),
    issuer: z.string().optional(),
    routes: z.array(z.object({ path: z.string(), backend: z.object({ service: z.string(), port: z.int32() }) })),
  }),
})

/** Returns an object with two hosts to write in lower case, and without an issuer. */
export function siteOf(name: string) {
  const hosts = Array.from({ length: 16 }, (_, i) => `${i < 2 ? 'WWW' : `host-${i}`}.${name}.example.dev`)
  const routes = Array.from(
    { length: 12 },
    (_, i) => ({ path: `/api/v1/section-${i}`, backend: { service: `${name}-${i}`, port: 8080 + i } }),
  )
  return { metadata: { namespace: 'default', name }, spec: { hosts, routes } }
}
