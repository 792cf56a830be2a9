import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operator, type OperatorOptions } from 'kubeloop'
import { ConfigMap, Secret } from 'kubeloop/kinds'
import { likelyRights } from '../../lib/rights/likely.ts'
import { accountOf } from '../../lib/rights/trial.ts'

const reconcile = async (): Promise<void> => {}
const described = (options: Partial<OperatorOptions>) => operator({ name: 'a', crds: 'ignore', ...options })

test('the rights on the lease are in its namespace, and those on a CA beside the certificates', () => {
  const webhooks = { certs: { secret: 'tls', namespace: 'there', ca: { secret: 'ca' } } }
  const app = described({ leaderElection: { namespace: 'leases' }, webhooks })
  const named = likelyRights(app.description, { namespace: 'own' }).filter(({ name }) => name)
  assert.deepEqual(
    new Set(named.map(({ namespace, name }) => `${namespace}/${name}`)),
    new Set([
      ...['leases/a', 'there/tls', 'there/ca'],
    ]),
  )
})

test('a finalizer is one in its cluster', () => {
  const app = described({})
  const east = app.cluster('east', { server: 'https://127.0.0.1:1' })
  app.controllerFor(Secret).finalize(reconcile).reconcile(reconcile)
  app.controllerFor(ConfigMap, { cluster: east }).reconcile(reconcile)
  app.cache(Secret, { cluster: east })
  const [cluster] = app.description.clusters
  const verbsIn = (place: object): string[] =>
    likelyRights(app.description, { namespace: 'own', ...place }).filter(({ resource }) => resource === 'secrets')
      .map(({ verb }) => verb)
  assert.deepEqual([verbsIn({}), verbsIn({ cluster })], [['list', 'watch', 'get', 'patch'], ['list', 'watch', 'get']])
})

test('an account that also installs gets no right again', () => {
  const app = described({ sharding: { buckets: 2 }, leaderElection: { namespace: 'leases' } })
  app.controllerFor(ConfigMap).reconcile(reconcile)
  app.admission(ConfigMap, { validate: () => [] })
  const objects = accountOf(app.description, undefined).objectsIn(undefined)
  assert.deepEqual(objects.map(({ kind, metadata: { namespace, name } }) => `${kind} ${namespace ?? ''}/${name}`), [
    ...['Namespace /a-system', 'Namespace /leases', 'ServiceAccount a-system/a'],
    ...['ClusterRole /a', 'ClusterRoleBinding /a', 'Role leases/a', 'RoleBinding leases/a'],
    ...['ClusterRole /a-installs', 'ClusterRoleBinding /a-installs'],
  ])
})
