import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Writers } from '../../lib/cli/plan/changes.ts'

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
