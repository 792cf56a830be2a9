import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Namespace, Secret } from 'kubeloop/kinds'
import { type World, world } from 'kubeloop/testing'
import { failures, replicas, works } from '../operator/starting.ts'
import app from '../../examples/2_secret_replicator.ts'

const source = { namespace: 'vault', name: 'tls' }
const namespace = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })

/** Returns a world with namespaces, and a source to copy to those that match. */
async function replicating(to: string, namespaces: readonly string[]): Promise<World> {
  const w = await world(app, { objects: ['vault', ...namespaces].map(namespace) })
  await w.client.create(Secret, {
    metadata: { ...source, labels: { 'replicator.dev/role': 'source' }, annotations: { 'replicator.dev/to': to } },
    type: 'kubernetes.io/tls',
    data: { 'tls.crt': btoa('one'), 'tls.key': btoa('two') },
  })
  await w.settle()
  return w
}

/** Returns `namespace=value` of every copy. */
async function copies({ client }: Pick<World, 'client'>): Promise<string[]> {
  const found = await client.list(Secret, { labels: { 'replicator.dev/role': 'copy' } })
  return found.map(({ metadata, data }) => `${metadata.namespace}=${atob(data?.['tls.crt'] ?? '')}`).toSorted()
}

test('a source is copied completely to matching namespaces, existing and new', async () => {
  await using w = await replicating('team-.*', ['team-a', 'team-b', 'other'])
  assert.deepEqual(await copies(w), ['team-a=one', 'team-b=one'])
  const copy = await w.client.get(Secret, { namespace: 'team-a', name: 'tls' })
  assert.deepEqual([copy?.type, copy?.data?.['tls.key']], ['kubernetes.io/tls', btoa('two')])
  await w.client.create(Namespace, { metadata: { name: 'team-c' } })
  await w.settle()
  assert.deepEqual(await copies(w), ['team-a=one', 'team-b=one', 'team-c=one'])
})

test('copies follow changes of their source and of its target namespaces', async () => {
  await using w = await replicating('team-.*', ['team-a', 'team-b'])
  await w.client.edit(Secret, source, (draft) => void (draft.data = { ...draft.data, 'tls.crt': btoa('new') }))
  await w.settle()
  assert.deepEqual(await copies(w), ['team-a=new', 'team-b=new'])
  await w.client.edit(Secret, source, (draft) => void (draft.metadata.annotations = { 'replicator.dev/to': 'team-b' }))
  await w.settle()
  assert.deepEqual(await copies(w), ['team-b=new'])
})

test('a changed or deleted copy is restored', async () => {
  await using w = await replicating('team-a', ['team-a'])
  await w.client.edit(
    Secret,
    { namespace: 'team-a', name: 'tls' },
    (draft) => void (draft.data = { ...draft.data, 'tls.crt': btoa('mine') }),
  )
  await w.settle()
  assert.deepEqual(await copies(w), ['team-a=one'])
  await w.client.delete(Secret, { namespace: 'team-a', name: 'tls' })
  await w.settle()
  assert.deepEqual(await copies(w), ['team-a=one'])
})

test('a deleted source stays until its copies are deleted', async () => {
  await using w = await replicating('team-.*', ['team-a', 'team-b'])
  assert.deepEqual((await w.client.get(Secret, source))?.metadata.finalizers, ['secret-replicator/secret'])
  w.fault({ verb: 'delete', resource: Secret, status: 500, times: 2 })
  await w.client.delete(Secret, source)
  await w.settle()
  assert.deepEqual(await copies(w), ['team-a=one', 'team-b=one'])
  assert.ok((await w.client.get(Secret, source))?.metadata.deletionTimestamp)
  await w.advance('5ms')
  assert.equal((await copies(w)).length, 2)
  await w.advance('10ms')
  assert.deepEqual([await copies(w), await w.client.get(Secret, source)], [[], undefined])
})

test('only one of two replicas copies, and other Secrets are not changed', async () => {
  const [first, second] = await replicas(app, 2)
  const { client, clock } = first!
  await client.create(Namespace, { metadata: { name: 'team-a' } })
  await client.create(Secret, { metadata: { namespace: 'default', name: 'mine' }, data: {} })
  await client.create(Secret, {
    metadata: {
      namespace: 'default',
      name: 'tls',
      labels: { 'replicator.dev/role': 'source' },
      annotations: { 'replicator.dev/to': 'team-a' },
    },
    data: { 'tls.crt': btoa('one') },
  })
  await clock.advance(1000)
  assert.deepEqual(await copies(first!), ['team-a=one'])
  assert.equal((await client.get(Secret, { namespace: 'default', name: 'mine' }))?.metadata.finalizers, undefined)
  assert.deepEqual([works(first!), works(second!)], [true, false])
  assert.deepEqual(failures(second!), [], 'the follower tries to write')
  await first!.stop()
  await client.delete(Secret, { namespace: 'default', name: 'tls' })
  await clock.advance(5000)
  assert.deepEqual(await copies(first!), [])
  assert.deepEqual([works(first!), works(second!)], [false, true])
  await second!.stop()
})
