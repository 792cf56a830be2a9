import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isReason } from 'kubeloop'
import { NetworkPolicy } from 'kubeloop/kinds'
import { checkConversion, world } from 'kubeloop/testing'
import app, { Site, SiteV1alpha1 } from '../../examples/8_site_webhooks.ts'

const at = (name: string) => ({ metadata: { namespace: 'default', name } })

test('sites are defaulted, checked, converted between their versions, and get a NetworkPolicy', async () => {
  await using w = await world(app)
  const made = await w.client.create(Site, { ...at('a'), spec: { hosts: ['A.example.dev'] } })
  assert.deepEqual(made.spec, { hosts: ['a.example.dev'], issuer: 'letsencrypt', tls: { mode: 'off' } })
  await assert.rejects(
    w.client.create(Site, { ...at('b'), spec: { hosts: ['not_ok.dev'] } }),
    (error: unknown) => isReason(error, 'Invalid') && error.causes[0]?.field === 'spec.hosts[0]',
  )
  const old = await w.client.create(SiteV1alpha1, {
    ...at('old'),
    spec: { hostnames: 'OLD.dev b.dev', tlsSecret: 's' },
  })
  assert.deepEqual(old.spec, { hostnames: 'old.dev b.dev', issuer: 'letsencrypt', tlsSecret: 's' })
  const hub = await w.client.get(Site, at('old').metadata)
  assert.deepEqual(hub?.spec.tls, { mode: 'on', secretName: 's' })
  assert.deepEqual(await w.settle(), [])
  assert.equal((await w.client.get(Site, at('old').metadata))?.status?.ready, true)
  assert.equal((await w.client.list(NetworkPolicy)).length, 2)
})

test('no conversion of a site loses anything', () => checkConversion(app, { lossless: true, seed: 1 }))
