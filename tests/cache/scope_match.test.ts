/** Whether an object that was written is one that an informer would have. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ObjectMeta } from '../../lib/core/objects.ts'
import { scopeMatch } from '../../lib/cache/scope_match.ts'

const meta = (name: string, namespace?: string, labels?: Record<string, string>) =>
  ({ name, ...(namespace === undefined ? {} : { namespace }), ...(labels ? { labels } : {}) }) as ObjectMeta

const cases: readonly [
  string,
  Parameters<typeof scopeMatch>[0],
  ObjectMeta,
  'selected' | 'unselected' | 'elsewhere',
][] = [
  ['without a selection everything is selected', {}, meta('a', 'x'), 'selected'],
  ['an object of the namespace', { namespace: 'x' }, meta('a', 'x'), 'selected'],
  ['one of another namespace can never come', { namespace: 'x' }, meta('a', 'y'), 'elsewhere'],
  ['one without a namespace neither', { namespace: 'x' }, meta('a'), 'elsewhere'],
  ['labels that match', { labels: 'team in (red)' }, meta('a', 'x', { team: 'red' }), 'selected'],
  ['labels that do not may change', { labels: { team: 'red' } }, meta('a', 'x', { team: 'blue' }), 'unselected'],
  ['no labels at all', { labels: 'team' }, meta('a', 'x'), 'unselected'],
  ['the empty selector selects everything', { labels: '' }, meta('a', 'x'), 'selected'],
  ['a name', { fields: 'metadata.name=a' }, meta('a', 'x'), 'selected'],
  ['another name', { fields: 'metadata.name=a' }, meta('b', 'x'), 'elsewhere'],
  ['a name, written as a program writes it', { fields: 'metadata.name==a' }, meta('a', 'x'), 'selected'],
  ['another name, likewise', { fields: 'metadata.name==a' }, meta('b', 'x'), 'elsewhere'],
  ['all names but one', { fields: 'metadata.name!=a' }, meta('b', 'x'), 'selected'],
  ['that one', { fields: 'metadata.name!=a' }, meta('a', 'x'), 'elsewhere'],
  [
    'all namespaces but two, another',
    { fields: 'metadata.namespace!=x,metadata.namespace!=y' },
    meta('a', 'z'),
    'selected',
  ],
  [
    'all namespaces but two, the second',
    { fields: 'metadata.namespace!=x,metadata.namespace!=y' },
    meta('a', 'y'),
    'elsewhere',
  ],
  ['every term must hold', { fields: 'metadata.name=a,metadata.namespace=y' }, meta('a', 'x'), 'elsewhere'],
  ['no namespace is the empty one', { fields: 'metadata.namespace=' }, meta('a'), 'selected'],
  ['and no other', { fields: 'metadata.namespace=x' }, meta('a'), 'elsewhere'],
  ['which no other is', { fields: 'metadata.namespace=' }, meta('a', 'x'), 'elsewhere'],
  [
    'a field that selects goes before labels that do not',
    { labels: 'team', fields: 'metadata.name=a' },
    meta('b'),
    'elsewhere',
  ],
]

for (const [name, options, metadata, place] of cases) {
  test(name, () => assert.equal(scopeMatch(options)!(metadata), place))
}

test('other fields only the server can judge, also beside names, and escaped values', () => {
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
