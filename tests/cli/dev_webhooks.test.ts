/** `kubeloop dev` with an operator of webhooks, which the embedded API calls on loopback. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dynamicResource } from 'kubeloop'
import { inFolder, type Line } from './dev_command.ts'

const OPERATOR = `
import { defineResource, operator } from 'kubeloop'
import * as z from 'zod'

const names = { group: 'web.example.dev', kind: 'Site' }
const Old = defineResource({ ...names, version: 'v1alpha1', spec: z.object({ host: z.string() }) })
const Site = defineResource({ ...names, version: 'v1', spec: z.object({ hosts: z.array(z.string()) }) })
const app = operator({ name: 'sites', webhooks: { port: 1, certs: 'nowhere' } })
app.convert(Old, Site, {
  up: ({ spec }) => ({ spec: { hosts: spec.host.split(' ') } }),
  down: ({ spec }) => ({ spec: { host: spec.hosts.join(' ') } }),
})
app.admission(Site, { default: ({ spec }) => { spec.hosts = spec.hosts.map((host) => host.toLowerCase()) } })
await app.run(import.meta)
`
const SITE = (host: string): string =>
  `{ apiVersion: web.example.dev/v1alpha1, kind: Site, metadata: { name: a }, spec: { host: ${host} } }\n`
const Site = dynamicResource({ group: 'web.example.dev', version: 'v1', kind: 'Site' })

test('objects of --apply pass the webhooks, also after a restart that finds the address of the last run', () =>
  inFolder(async (folder) => {
    folder.write('sites.ts', OPERATOR)
    for (const host of ['A.dev', 'B.dev']) {
      folder.write('site.yaml', SITE(host))
      const dev = folder.run('dev', 'sites.ts', '--apply', 'site.yaml')
      const applied = await dev.line(
        'the object',
        ({ message, level }: Line) => message === 'applied' || level === 'error',
      )
      assert.equal(applied['object'], 'Site default/a', dev.output())
      const site = await (await folder.client()).get(Site, { namespace: 'default', name: 'a' })
      assert.deepEqual(site?.['spec'], { hosts: [host.toLowerCase()] })
      await dev.stop()
    }
  }))
