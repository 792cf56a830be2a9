/** Default classes. A real server reads them from a cache, so that the conformance suite cannot show them at once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiServer } from '../../lib/apiserver/mod.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { type Body, must } from './requests.ts'

const CLAIMS = '/api/v1/namespaces/default/persistentvolumeclaims'
const claim = (name: string, spec: Body = {}): Body => ({
  metadata: { name },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
})

test('a claim and an ingress without a class get the default one, the newest if there are several', async () => {
  const clock = new FakeClock()
  const server = new ApiServer({ clock })
  assert.equal((await must(server, 'POST', CLAIMS, claim('before'))).spec.storageClassName, undefined)
  for (const name of ['a', 'b']) {
    const annotations = {
      'storageclass.kubernetes.io/is-default-class': 'true',
      'ingressclass.kubernetes.io/is-default-class': 'true',
    }
    await must(server, 'POST', '/apis/storage.k8s.io/v1/storageclasses', {
      metadata: { name, annotations },
      provisioner: 'p',
    })
    await must(server, 'POST', '/apis/networking.k8s.io/v1/ingressclasses', {
      metadata: { name, annotations },
      spec: { controller: 'example.com/c' },
    })
    clock.advance(5000)
  }
  assert.equal((await must(server, 'POST', CLAIMS, claim('after'))).spec.storageClassName, 'b')
  assert.equal((await must(server, 'POST', CLAIMS, claim('none', { storageClassName: '' }))).spec.storageClassName, '')
  const defaultBackend = { service: { name: 's', port: { number: 80 } } }
  const ingresses = '/apis/networking.k8s.io/v1/namespaces/default/ingresses'
  const ingress = await must(server, 'POST', ingresses, { metadata: { name: 'i' }, spec: { defaultBackend } })
  assert.equal(ingress.spec.ingressClassName, 'b')
})
