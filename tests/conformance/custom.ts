/** Cases of custom kinds: validation, defaults, pruning, versions and definitions. */
import assert from 'node:assert/strict'
import { type Body, type Case, CRDS } from './api.ts'
import { casesOf, foo } from './transcript.ts'

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
  {
    name: 'a custom object that violates its schema is Invalid, with a cause per field',
    steps: BROKEN.map((spec) => ['POST foos', foo('a', spec)]),
  },
  {
    name: 'defaults replace missing fields and nulls',
    steps: [
      [
        'POST foos ? spec',
        foo('a', { size: 1, mode: null, nested: null, name: null, optional: null, parts: [{ name: 'x' }] }),
      ],
    ],
  },
  {
    name: 'unknown fields are pruned with a warning, unless the schema preserves them',
    steps: [
      ['POST foos ? top spec', {
        ...foo('a', { size: 1, bogus: 1, free: { any: { thing: [1] } }, parts: [{ name: 'x', odd: 1 }] }),
        top: 1,
      }],
    ],
  },
  {
    name: 'unknown fields are refused with fieldValidation=Strict',
    steps: [['POST foos?fieldValidation=Strict', foo('a', { size: 1, bogus: 1 })]],
  },
  {
    name: 'a body with a different or missing kind is refused',
    steps: [
      ['POST foos', { ...foo('a'), kind: 'Bar' }],
      ['POST foos', { ...foo('a'), apiVersion: `{group}/v9` }],
      ['POST foos', { metadata: { name: 'a' }, spec: { size: 1 } }],
    ],
  },
  {
    name: 'an object is served in every version',
    steps: [['POST foos ? .', foo('a')], 'GET /apis/{group}/v2/namespaces/{ns}/foos/a ? .'],
  },
  {
    name: 'the status of a definition has conditions, names and stored versions',
    steps: [`GET ${CRDS}/foos.{group} ? status.conditions status.storedVersions status.acceptedNames spec.conversion`],
  },
  {
    name: 'the name of a definition is that of its resource and group',
    async run(api) {
      const { message } = await api.refused(422, 'Invalid', 'POST', CRDS, {
        ...api.fooDefinition(),
        metadata: { name: 'foos' },
      })
      assert.match(message, /metadata\.name: Invalid value: "foos": must be spec\.names\.plural\+"\."\+spec\.group/)
    },
  },
  {
    name: 'the scope of a definition cannot change',
    steps: [[`MERGE ${CRDS}/foos.{group}`, { spec: { scope: 'Cluster' } }]],
  },
  {
    name: 'deleting a definition deletes its objects and its kind',
    async run(api) {
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
    },
  },
])
