/** Cases of custom kinds: validation, defaults, pruning, versions and definitions. */
import assert from 'node:assert/strict'
import { type Body, type Case, caseOf, CRDS } from './api.ts'
import { casesOf, foo, script } from './transcript.ts'

/** Invalid specs. */
const BROKEN: readonly Readonly<Record<string, unknown>>[] = [
  {},
  { size: 'x' },
  { size: 11 },
  { size: -1 },
  { size: 1, mode: 'x' },
  { size: 1, name: 'ABC' },
  { size: 1, name: 'a' },
  { size: 1, name: 'abcdef' },
  { size: 1, when: 'never' },
  { size: 1, port: 1.5 },
  { size: 1, labels: { a: 1 } },
  { size: 1, parts: [{}] },
  { size: 1, tags: ['a', 'a'] },
  { size: 1, parts: [{ name: 'a' }, { name: 'a' }] },
]

export const CUSTOM_CASES: readonly Case[] = casesOf('custom', [
  script(
    'a custom object that violates its schema is Invalid, with a cause per field',
    BROKEN.map((spec) => ['POST foos', foo('a', spec)]),
  ),
  script('a body with a different or missing kind is refused', [
    ['POST foos', { ...foo('a'), kind: 'Bar' }],
    ['POST foos', { ...foo('a'), apiVersion: `{group}/v9` }],
    ['POST foos', { metadata: { name: 'a' }, spec: { size: 1 } }],
  ]),
  script('the scope of a definition cannot change', [[`MERGE ${CRDS}/foos.{group}`, { spec: { scope: 'Cluster' } }]]),
  caseOf('deleting a definition deletes its objects and its kind', async (api) => {
    const base = api.fooDefinition()
    const crd = {
      ...base,
      metadata: { name: `bazs.${api.group}` },
      spec: { ...base.spec, scope: 'Cluster', names: { plural: 'bazs', kind: 'Baz' } },
    }
    const { metadata } = await api.expect(201, 'POST', CRDS, crd)
    const path = `/apis/${api.group}/v1/bazs`
    for (let tries = 0; tries < 5000 && (await api.request('GET', path)).status !== 200; tries++);
    const baz = { apiVersion: `${api.group}/v1`, kind: 'Baz', metadata: { name: 'b' }, spec: { size: 1 } }
    for (let tries = 0; tries < 5000 && (await api.request('POST', path, baz)).status !== 201; tries++);
    const watch = await api.watch(
      CRDS,
      `resourceVersion=${metadata.resourceVersion}&fieldSelector=metadata.name%3Dbazs.${api.group}`,
    )
    const deleting = await api.expect(200, 'DELETE', `${CRDS}/bazs.${api.group}`)
    assert.deepEqual(deleting.metadata.finalizers, ['customresourcecleanup.apiextensions.k8s.io'])
    assert.ok(deleting.status.conditions.some((each: Body) => each.type === 'Terminating' && each.status === 'True'))
    for (let isGone = false; !isGone;) {
      const event = await watch.next()
      assert.ok(event, 'the watch ended before the definition was removed')
      isGone = event.type === 'DELETED'
    }
    watch.cancel()
    for (let tries = 0; tries < 5000 && (await api.request('GET', path)).status !== 404; tries++);
    assert.equal((await api.request('GET', path)).status, 404)
  }),
])
