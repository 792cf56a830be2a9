import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AnyResource } from '../../lib/core/resource.ts'
import { type CacheOptions, describeOptions, isSubsumed, scopesOf } from '../../lib/cache/cache_options.ts'
import { NODE, POD } from './scripted_server.ts'

const strip = (): void => {}
const other = (): void => {}
const COMMON: CacheOptions = {
  labels: 'common',
  fields: 'spec.a=b',
  namespaces: { a: { labels: 'common-a' }, '*': {} },
}
const REST = 'spec.a=b,metadata.namespace!=a'

/** Columns: the options of the kind, those of the cache, the kind, and what each informer watches. */
const SCOPES: readonly (readonly [CacheOptions, CacheOptions, AnyResource, readonly string[]])[] = [
  [{}, {}, POD, ['*']],
  [{}, COMMON, POD, ['a common-a spec.a=b', `* common ${REST}`]],
  [{ labels: 'own' }, COMMON, POD, ['a own spec.a=b', `* own ${REST}`]],
  [{ labels: '' }, COMMON, POD, ['a  spec.a=b', `*  ${REST}`]],
  [{ namespaces: ['a', 'b', 'a'] }, COMMON, POD, ['a common-a spec.a=b', 'b common spec.a=b']],
  [{ namespaces: { a: { fields: 'spec.c=d' } }, labels: 'own' }, COMMON, POD, ['a own spec.c=d']],
  [{ namespaces: [] }, COMMON, POD, ['* common spec.a=b']],
  [{ namespaces: {} }, { ...COMMON, namespaces: {} }, POD, ['* common spec.a=b']],
  [{ namespaces: { a: {}, '': {}, b: {} } }, {}, POD, ['a', '*  metadata.namespace!=a,metadata.namespace!=b', 'b']],
  [{}, COMMON, NODE, ['* common spec.a=b']],
  [{ labels: 'own', namespaces: [] }, COMMON, NODE, ['* own spec.a=b']],
]

for (const [own, common, resource, expected] of SCOPES) {
  test(`${resource.kind} with ${describeOptions(own)} in a cache with ${describeOptions(common)}`, () => {
    const scopes = scopesOf(resource, own, common).map(({ namespace = '*', labels = '', fields = '' }) =>
      `${namespace} ${String(labels)} ${String(fields)}`.trim()
    )
    assert.deepEqual(scopes, expected)
  })
}

test('strip functions have the same precedence: the namespace, the kind, the cache', () => {
  const namespaces = { a: { strip: other }, b: {} }
  const strips = (own: CacheOptions): unknown[] => scopesOf(POD, own, { strip }).map((scope) => scope.strip)
  assert.deepEqual(strips({ namespaces: ['a', 'b'] }), [strip, strip])
  assert.deepEqual(strips({ namespaces }), [other, strip])
  assert.deepEqual(strips({ strip: other, namespaces: { a: { strip }, b: {} } }), [strip, other])
})

const NAMED: CacheOptions = { namespaces: { a: { labels: { x: 'y' } }, '*': { strip } } }

/** Columns: an earlier declaration, a later one, and whether they agree. */
const DECLARATIONS: readonly (readonly [CacheOptions, CacheOptions, boolean])[] = [
  [{ labels: { a: 'b' }, strip }, {}, true],
  [{ labels: { a: 'b' }, strip }, { labels: { a: 'b' }, strip }, true],
  [{ labels: { a: 'b' } }, { labels: { a: 'c' } }, false],
  ...([{ labels: 'a' }, { fields: 'a=b' }, { namespaces: ['a'] }, { strip }, { read: 'live' }] as CacheOptions[])
    .flatMap((one) => [[{}, one, false], [one, one, true], [one, { ...one, labels: 'z' }, false]] as const),
  [{ namespaces: ['a', 'b'] }, { namespaces: { b: {}, a: {} } }, true],
  [{ namespaces: ['b', 'a', 'b'] }, { namespaces: ['a', 'b'] }, true],
  [{ namespaces: ['b', 'a'] }, { namespaces: ['a'] }, false],
  [NAMED, {}, true],
  [NAMED, { namespaces: { '': { strip }, a: { labels: { x: 'y' } } } }, true],
  [NAMED, { labels: 'a' }, false],
  [NAMED, { namespaces: ['a'] }, false],
  [NAMED, { namespaces: {} }, false],
  [NAMED, { namespaces: { a: {}, '*': { strip } } }, false],
  [NAMED, { namespaces: { a: { labels: { x: 'y' } } } }, false],
  [NAMED, { namespaces: { a: { labels: { x: 'y' } }, '*': { strip: other } } }, false],
  [NAMED, { namespaces: { a: { labels: { x: 'y' } }, b: { strip } } }, false],
  [NAMED, { namespaces: { a: { labels: { x: 'y' }, fields: 'metadata.name=a' }, '*': { strip } } }, false],
]

test('declarations agree if they have the same options, or the later one has none', () => {
  for (const [known, wanted, agree] of DECLARATIONS) {
    assert.equal(isSubsumed(wanted, known), agree, `${describeOptions(known)}, then ${describeOptions(wanted)}`)
  }
})

test('options are described for errors', () => {
  assert.equal(describeOptions({}), 'default options')
  assert.equal(
    describeOptions({ labels: { a: 'b' }, namespaces: ['a'], strip, read: 'live', compact: true }),
    'labels {"a":"b"}, namespaces ["a"], a strip function, read "live", compact true',
  )
})

test('invalid namespaces and selectors are refused', () => {
  const refused = (options: CacheOptions, why: RegExp, resource = POD): void => {
    assert.throws(() => scopesOf(resource, options), why)
    if (resource === POD) assert.throws(() => scopesOf(POD, {}, options), why)
  }
  refused({ namespaces: { '': {}, '*': {} } }, /Cannot cache pods in "" and "\*": both mean all other namespaces/)
  refused({ namespaces: ['*'] }, /Cannot cache pods in the namespace "\*": .*; use \[\] for all namespaces/)
  refused({ namespaces: ['', 'a'] }, /Cannot cache pods in a namespace without a name/)
  for (const name of ['kube-system/pods', 'A', 'a.b', '-a', 'x'.repeat(64)]) {
    refused({ namespaces: { [name]: {} } }, new RegExp(`in the namespace "${name}": a name has at most 63 lower-case`))
  }
  refused({ namespaces: { a: {} } }, /Cannot cache nodes in namespaces: it is cluster-scoped/, NODE)
  refused({ labels: 'a in b' }, /a in b/)
  refused({ namespaces: { a: { labels: { 'a b': 'c' } } } }, /Cannot select by the label "a b"/)
})
