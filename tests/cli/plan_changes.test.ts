import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ApiObject } from 'kubeloop/apiserver'
import { plannedChanges, Writers } from '../../lib/cli/plan/changes.ts'
import { dryRunOf, uncheckableBeside } from '../../lib/cli/plan/dry_run.ts'
import { answer } from '../client/transports.ts'

test('the writers of an object are the keys that changed it, in its cluster, group, kind and namespace', () => {
  const writers = new Writers()
  const note = (controller: string, key: string, write: object): void =>
    writers.note({
      ...{ controller, key },
      writes: [{ group: 'g', kind: 'Foo', key: 'n/a', result: 'updated', ...write }] as never,
    })
  note('c', 'x', {})
  note('c', 'y', { kind: 'Foo/status' })
  note('d', 'x', {})
  note('c', 'x', { cluster: undefined })
  note('c', 'all', { key: 'n/*' })
  note('c', 'unchanged', { result: 'unchanged' })
  const others = { cluster: { cluster: 'east' }, group: { group: 'h' }, kind: { kind: 'Bar' }, name: { key: 'm/a' } }
  for (const [key, write] of Object.entries(others)) note('c', key, write)
  const of = (cluster: string | null, group = 'g', kind = 'Foo', namespace = 'n'): string[] =>
    writers.of(cluster, { place: { group } as never, namespace, name: 'a' }, kind)
      .map(({ controller, key }) => `${controller} ${key}`)
  assert.deepEqual(of(null), ['c x', 'c y', 'd x', 'c all'])
  assert.deepEqual([of('east'), of(null, 'h'), of(null, 'g', 'Bar'), of(null, 'g', 'Foo', 'm')], [
    ...[['c cluster'], ['c group'], ['c kind'], ['c name']],
  ])
})

const object = (name: string, uid: string, metadata: object = {}, more: object = {}) =>
  ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, uid, namespace: 'n', ...metadata }, ...more }) as ApiObject

const written = (
  before: ApiObject | undefined,
  after: ApiObject | undefined,
  [group, plural]: readonly string[] = ['', 'configmaps'],
) => {
  const place = { group: group!, version: 'v1', plural: plural! } as never
  const { name } = (after ?? before)!.metadata as { readonly name: string }
  return { place, namespace: 'n', name, before, after, isAssumed: false, isBuiltIn: true }
}

test('dependents go with what is deleted or replaced, not with an orphaning owner; Events and Leases are counted', async () => {
  const ownedBy = (name: string, ...uids: string[]) =>
    object(name, `uid of ${name}`, { ownerReferences: uids.map((uid) => ({ uid })) })
  const [gone, old, left] = [object('gone', '1'), object('old', '2'), object('left', '3')]
  const orphaning = object('left', '3', { deletionTimestamp: 'now', finalizers: ['orphan'] })
  const counted = [['', 'events'], ['events.k8s.io', 'events'], ['coordination.k8s.io', 'leases']]
  const mirror = {
    written: () =>
      Promise.resolve([
        ...[written(gone, undefined), written(old, object('old', '4')), written(left, orphaning)],
        ...[written(undefined, object('new', '5')), ...counted.map((of) => written(undefined, object('c', '6'), of))],
      ]),
    *loaded() {
      const owned = [ownedBy('a', '1'), ownedBy('b', '2', '1'), ownedBy('c', '3'), ownedBy('d', '3', '1'), ownedBy('e')]
      for (const each of owned) yield { object: each } as never
    },
  }
  const { changes, counts } = await plannedChanges(new Map([[null, mirror]]), new Writers(), { manager: 'op' })
  assert.deepEqual(changes.map(({ action, name, dependents }) => [action, name, dependents ?? []]), [
    ['delete', 'gone', ['ConfigMap n/a', 'ConfigMap n/b', 'ConfigMap n/d']],
    ['replace', 'old', []],
    ['delete', 'left', []],
    ['create', 'new', []],
  ])
  assert.equal(counts.events, 3)
})

test('a dry run is not sent where it cannot tell, and differs by what the server sets alone', async () => {
  const definition = object('foos.a', '1')
  const ofDefinition = written(definition, undefined, ['apiextensions.k8s.io', 'customresourcedefinitions'])
  const change = { action: 'change', before: definition, after: definition } as const
  const foo = written(object('x', '2'), object('x', '2', {}, { data: { a: 'b' } }), ['a', 'foos'])
  assert.match(
    uncheckableBeside([{ written: ofDefinition, difference: change }])({ written: foo, difference: change })!,
    /its CustomResourceDefinition is not written yet/,
  )
  const theirs = object(
    'x',
    '9',
    { creationTimestamp: 'now', generation: 7, resourceVersion: '8', managedFields: [] },
    {
      data: { a: 'b' },
    },
  )
  for (const [status, outcome] of [[200, 'accepted'], [405, 'unchecked'], [422, 'refused']] as const) {
    const send = () => Promise.resolve(answer(status, theirs))
    assert.equal((await dryRunOf({ written: foo, difference: change }, send, 'op')).outcome, outcome)
  }
})
