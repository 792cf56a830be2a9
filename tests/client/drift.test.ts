/** Tests that an apply repairs what other writers change, and is not sent again for what it leaves alone. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operator } from 'kubeloop'
import { ConfigMap, Deployment, NetworkPolicy, Secret, Service } from 'kubeloop/kinds'
import { ours, type Started, starting } from '../operator/starting.ts'

const [WEB, DENY, PASSWORD, APP] = ['web', 'deny', 'password', 'app'].map((name) => ({ namespace: 'default', name }))
const labels = { app: 'web' }

/** Starts an operator that applies four kinds for a ConfigMap. */
async function applying(): Promise<Started> {
  const app = operator({ name: 'drift' })
  app.controllerFor(ConfigMap, { when: ours })
    .owns(Service).owns(NetworkPolicy).owns(Secret).owns(Deployment)
    .reconcile(async (owner, { client }) => {
      await client.apply(Service, { metadata: WEB!, spec: { selector: labels, ports: [{ port: 80 }] } }, { owner })
      await client.apply(NetworkPolicy, { metadata: DENY!, spec: { podSelector: {}, policyTypes: ['Ingress'] } }, {
        owner,
      })
      await client.apply(Secret, { metadata: PASSWORD!, stringData: { password: 'right' } }, { owner })
      const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } }
      await client.apply(Deployment, { metadata: APP!, spec: { selector: { matchLabels: labels }, template } }, {
        owner,
      })
    })
  const it = await starting(app, {
    before: (client) => client.create(ConfigMap, { metadata: { namespace: 'default', name: 'a' } }),
  })
  assert.deepEqual(patches(it), ['services/web', 'networkpolicies/deny', 'secrets/password', 'deployments/app'])
  return it
}

/** Returns what the operator has sent patches of since the last call. */
function patches({ network }: Started): string[] {
  return network.take().filter((line) => line.startsWith('PATCH')).map((line) => line.split('/').slice(-2).join('/'))
}

test("other writers' changes of atomic maps and of write-only fields are undone by the next apply", async () => {
  const it = await applying()
  await it.client.patch(Service, WEB!, { merge: { spec: { selector: { version: 'v2' } } } })
  await it.client.patch(NetworkPolicy, DENY!, { merge: { spec: { podSelector: { matchLabels: { a: 'b' } } } } })
  await it.client.patch(Secret, PASSWORD!, { merge: { data: { password: btoa('wrong') } } })
  await it.clock.advance(0)
  assert.deepEqual(patches(it).sort(), ['networkpolicies/deny', 'secrets/password', 'services/web'])
  assert.deepEqual([
    (await it.client.get(Service, WEB!))?.spec?.selector,
    (await it.client.get(NetworkPolicy, DENY!))?.spec?.podSelector,
    (await it.client.get(Secret, PASSWORD!))?.data,
  ], [labels, {}, { password: btoa('right') }])
  await it.stop()
})
