/** The names of other clusters in errors, log lines, probes and reports. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Cluster, defineResource, operator } from 'kubeloop'
import { ConfigMap } from 'kubeloop/kinds'
import * as z from 'zod'
import { refusal } from '../client/transports.ts'
import { ref, starting, type StartingOptions } from './starting.ts'

const nowhere = { server: 'https://127.0.0.1:1' }
const Thing = defineResource({ group: 'far.example.dev', version: 'v1', kind: 'Thing', spec: z.object({}) })

const broken = refusal(500, 'InternalError', {}, 'broken')
const refusing = (path: RegExp): NonNullable<StartingOptions['intercept']> =>
(
  request,
  next,
) => (path.test(request.path) ? Promise.resolve(broken) : next(request))

test('a missing or installed CRD in another cluster is logged with its name', async () => {
  const app = operator({ name: 'x' })
  const west = app.cluster('west', nowhere)
  app.controllerFor(Thing, { cluster: west }).reconcile(async () => {})
  const s = await starting(app, { crds: 'verify' })
  assert.match(
    String(s.outcome()),
    /CustomResourceDefinition "things\.far\.example\.dev" is not installed in cluster "west"; install it/,
  )
  const refused = await starting(app, { crds: 'install', interceptOthers: refusing(/customresourcedefinitions/) })
  assert.match(
    String(refused.outcome()),
    /^ApiError: Cannot get CustomResourceDefinition "things\.far\.example\.dev" in cluster "west": broken$/,
  )
  await using installed = await starting(app, { crds: 'install' })
  await installed.clock.advance(1000)
  assert.equal(
    installed.log.find(({ message }) => message === 'Installed things.far.example.dev/v1')?.fields['cluster'],
    'west',
  )
})

test("an error of an unreachable server has the cluster's name, with the address in brackets", async () => {
  const expected = /^NetworkError: Cannot connect to cluster "west" \(127\.0\.0\.1:1\): connection refused/
  const cluster = new Cluster({ name: 'x', label: 'west', config: nowhere })
  await assert.rejects(cluster.client.get(ConfigMap, ref('a')), expected)
  await assert.rejects(cluster.leaseApi.get({ resource: ConfigMap, ...ref('a') }), expected)
  assert.equal(
    cluster.leaseApi.describe({ resource: ConfigMap, ...ref('a') }),
    'ConfigMap "default/a" in cluster "west"',
  )
  cluster.close()
  const own = new Cluster({ name: 'x', config: nowhere })
  await assert.rejects(
    own.client.get(ConfigMap, ref('a')),
    /^NetworkError: Cannot connect to 127\.0\.0\.1:1: connection refused/,
  )
  own.close()
})
