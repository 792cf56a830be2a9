/** Tests whether a written object matches the scope of an informer. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ObjectMeta } from '../../lib/core/objects.ts'
import { defineIndex } from '../../lib/core/object_indexer.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { OwnWrites, scopeMatch } from '../../lib/cache/own_writes.ts'
import { Store } from '../../lib/cache/store.ts'

const meta = (name: string, namespace?: string, labels?: Record<string, string>) =>
  ({ name, ...(namespace === undefined ? {} : { namespace }), ...(labels ? { labels } : {}) }) as ObjectMeta

const cases: readonly [
  string,
  Parameters<typeof scopeMatch>[0],
  ObjectMeta,
  'selected' | 'unselected' | 'outside',
][] = [
  ['without selectors everything is selected', {}, meta('a', 'x'), 'selected'],
  ['the same namespace', { namespace: 'x' }, meta('a', 'x'), 'selected'],
  ['another namespace', { namespace: 'x' }, meta('a', 'y'), 'outside'],
  ['no namespace', { namespace: 'x' }, meta('a'), 'outside'],
  ['matching labels', { labels: 'team in (red)' }, meta('a', 'x', { team: 'red' }), 'selected'],
  [
    'labels that do not match, but may change',
    { labels: { team: 'red' } },
    meta('a', 'x', { team: 'blue' }),
    'unselected',
  ],
  ['no labels', { labels: 'team' }, meta('a', 'x'), 'unselected'],
  ['the empty selector selects everything', { labels: '' }, meta('a', 'x'), 'selected'],
  ['the same name', { fields: 'metadata.name=a' }, meta('a', 'x'), 'selected'],
  ['a different name', { fields: 'metadata.name=a' }, meta('b', 'x'), 'outside'],
  ['the same name with ==', { fields: 'metadata.name==a' }, meta('a', 'x'), 'selected'],
  ['a different name with ==', { fields: 'metadata.name==a' }, meta('b', 'x'), 'outside'],
  ['all names except one', { fields: 'metadata.name!=a' }, meta('b', 'x'), 'selected'],
  ['the excluded name', { fields: 'metadata.name!=a' }, meta('a', 'x'), 'outside'],
  [
    'all namespaces except two: another one',
    { fields: 'metadata.namespace!=x,metadata.namespace!=y' },
    meta('a', 'z'),
    'selected',
  ],
  [
    'all namespaces except two: the second',
    { fields: 'metadata.namespace!=x,metadata.namespace!=y' },
    meta('a', 'y'),
    'outside',
  ],
  ['all terms must match', { fields: 'metadata.name=a,metadata.namespace=y' }, meta('a', 'x'), 'outside'],
  ['no namespace equals the empty one', { fields: 'metadata.namespace=' }, meta('a'), 'selected'],
  ['no namespace differs from a named one', { fields: 'metadata.namespace=x' }, meta('a'), 'outside'],
  ['a named namespace differs from the empty one', { fields: 'metadata.namespace=' }, meta('a', 'x'), 'outside'],
  [
    'fields that do not match count before labels',
    { labels: 'team', fields: 'metadata.name=a' },
    meta('b'),
    'outside',
  ],
]

for (const [name, options, metadata, place] of cases) {
  test(name, () => assert.equal(scopeMatch(options)!(metadata), place))
}

test('scopeMatch returns undefined for other fields, also beside names, and for escaped values', () => {
  for (
    const fields of [
      'spec.nodeName=n',
      'metadata.name=a,status.phase!=Running',
      'metadata.names=a',
      'metadata.name=a\\,b',
      'metadata.name',
    ]
  ) {
    assert.equal(scopeMatch({ fields }), undefined, fields)
  }
})

const resource = { group: 'autoscaling', version: 'v1', kind: 'HorizontalPodAutoscaler' } as never
const answered = (kind: string, version: string) => ({
  apiVersion: 'autoscaling/v1',
  kind,
  metadata: { ...meta('a', 'x'), uid: 'u', resourceVersion: version },
})

test('own writes: none outside of the scope, none of another kind of the group, and none after the end', () => {
  const store = new Store()
  const own = new OwnWrites({ resource, namespace: 'x', store, clock: new FakeClock(), prepare() {} })
  assert.equal(own.begin({ resource, namespace: 'y', name: 'a' }), undefined)
  const write = own.begin({ resource, namespace: 'x', name: 'a' })!
  write.answered(answered('Scale', '7'))
  assert.equal(own.reader, store)
  write.answered(answered('HorizontalPodAutoscaler', '7'))
  assert.equal(own.reader.get('x/a')?.metadata.resourceVersion, '7')
  own.end()
  assert.equal(own.reader, store)
  write.answered(answered('HorizontalPodAutoscaler', '8'))
  assert.equal(own.reader, store)
})

test('the objects of own writes are indexed once for each change', () => {
  let calls = 0
  const index = defineIndex(resource, () => (calls++, 'k'))
  const own = new OwnWrites({ resource, store: new Store(), clock: new FakeClock(), prepare() {} })
  own.begin({ resource, namespace: 'x', name: 'a' })!.answered(answered('HorizontalPodAutoscaler', '7'))
  for (let times = 0; times < 2; times++) assert.equal(own.reader.lookup(index, 'k').length, 1)
  assert.equal(calls, 1)
})
