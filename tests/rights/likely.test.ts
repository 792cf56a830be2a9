import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineResource, operator, type OperatorOptions } from 'kubeloop'
import { ConfigMap, Secret } from 'kubeloop/kinds'
import * as z from 'zod'
import { likelyRights } from '../../lib/rights/likely.ts'
import { accountOf } from '../../lib/rights/trial.ts'

const Foo = defineResource({
  ...{ group: 'example.com', version: 'v1', kind: 'Foo' },
  spec: z.object({}),
  status: z.object({}),
})
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

test('what an operator is likely to request in each of its clusters', () => {
  const app = described({
    ...{ sharding: { ring: 'ring' }, leaderElection: { identity: 's' } },
    metrics: { address: ':8443', tls: true, auth: true },
  })
  const east = app.cluster('east', { server: 'https://127.0.0.1:1' })
  app.controllerFor(Foo).owns(Secret).reconcile(reconcile)
  app.controllerFor(ConfigMap, { cluster: east, everyReplica: true }).reconcile(reconcile)
  const [cluster] = app.description.clusters
  const asked = [{}, { cluster }].map((place) => {
    const rights = likelyRights(app.description, { namespace: 'own', ...place })
    const some = Map.groupBy(rights, ({ group, resource, namespace }) => `${namespace ?? ''}/${group}/${resource}`)
    return [...some].map(([of, each]) => `${of} ${each.map(({ verb }) => verb)}`)
  })
  assert.deepEqual(asked, [
    [
      '/example.com/foos list,watch,get,patch',
      '//secrets list,watch,get,create,patch',
      'own/coordination.k8s.io/leases get,watch,create,update',
      '/authentication.k8s.io/tokenreviews create',
      '/authorization.k8s.io/subjectaccessreviews create',
      '/example.com/foos/status get,update,patch',
      '/example.com/foos/finalizers update',
      '/events.k8s.io/events create,patch',
    ],
    ['//configmaps list,watch,get', '/events.k8s.io/events create,patch'],
  ])
})
