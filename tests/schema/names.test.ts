import { test } from 'node:test'
import assert from 'node:assert/strict'
import { compareVersions, isProtectedGroup } from '../../lib/core/names.ts'
import { nameProblem, pluralOf } from '../../lib/schema/names.ts'

const good = {
  group: 'example.com',
  version: 'v1alpha1',
  kind: 'Foo',
  plural: 'foos',
  shortNames: ['fo'],
  categories: ['all'],
}

test('usual names are accepted', () => assert.equal(nameProblem(good), undefined))

const bad: readonly (readonly [Partial<typeof good>, RegExp])[] = [
  [{ group: '' }, /^group "" must be a domain/],
  [{ group: 'example' }, /at least one dot/],
  [{ group: 'Example.com' }, /^group/],
  [{ group: 'a..b' }, /^group/],
  [{ version: '1' }, /^version "1"/],
  [{ version: 'v1.2' }, /^version/],
  [{ version: '' }, /^version/],
  [{ kind: 'foo' }, /^kind "foo" must be CamelCase/],
  [{ kind: 'Foo-Bar' }, /^kind/],
  [{ kind: 'F'.repeat(64) }, /^kind/],
  [{ plural: 'Foos' }, /^plural/],
  [{ plural: '-foos' }, /^plural/],
  [{ shortNames: ['FO'] }, /^short name "FO"/],
  [{ categories: ['a b'] }, /^category "a b"/],
  [{ group: `${'a'.repeat(124)}.${'b'.repeat(124)}`, plural: 'foosfoos' }, /at most 253/],
]

for (const [change, message] of bad) {
  test(`${JSON.stringify(change).slice(0, 60)} is refused`, () =>
    assert.match(nameProblem({ ...good, ...change }) ?? '', message))
}

test('a definition has a name of at most 253 characters', () => {
  const group = `${'a'.repeat(124)}.${'b'.repeat(120)}`
  assert.equal(nameProblem({ ...good, group, plural: 'foosfoo' }), undefined)
  assert.match(nameProblem({ ...good, group, plural: 'foosfoos' }) ?? '', /at most 253/)
})

test('plurals are derived from kinds', () => {
  const plurals = {
    Foo: 'foos',
    Proxy: 'proxies',
    Gateway: 'gateways',
    Ingress: 'ingresses',
    Box: 'boxes',
    Branch: 'branches',
    Mesh: 'meshes',
    Key: 'keys',
  }
  for (const [kind, plural] of Object.entries(plurals)) assert.equal(pluralOf(kind), plural)
})

test('versions are sorted as in the Kubernetes documentation', () => {
  const ordered = [
    'v10',
    'v2',
    'v1',
    'v11beta2',
    'v11beta1',
    'v10beta3',
    'v3beta1',
    'v12alpha1',
    'v11alpha2',
    'foo1',
    'foo10',
  ]
  for (let turn = 0; turn < ordered.length; turn++) {
    const shuffled = [...ordered.slice(turn), ...ordered.slice(0, turn)].reverse()
    assert.deepEqual(shuffled.sort(compareVersions), ordered)
  }
})

test('groups of the Kubernetes project are protected', () => {
  for (const group of ['samplecontroller.k8s.io', 'k8s.io', 'apps.kubernetes.io']) {
    assert.ok(isProtectedGroup(group), group)
  }
  for (const group of ['example.com', 'notk8s.io', 'k8s.io.example.com']) assert.ok(!isProtectedGroup(group), group)
})
