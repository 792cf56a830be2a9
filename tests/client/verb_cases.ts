/** Cases of each verb with typed, schemaless and user-typed kinds, for any API server. */
import assert from 'node:assert/strict'
import type { Client } from '../../lib/client/client.ts'
import { isReason } from '../../lib/core/errors.ts'
import type { KubeObject } from '../../lib/core/objects.ts'
import type { AnyResource } from '../../lib/core/resource.ts'
import { dynamicResource } from '../../lib/schema/dynamic_resource.ts'
import { bench, type Case, CONFIG_MAP, FOO } from './case_bench.ts'
import { refuses } from './transports.ts'

const KINDS: Readonly<Record<string, readonly [AnyResource, object]>> = {
  'a built-in kind': [CONFIG_MAP, { data: { x: '1' } }],
  'a custom kind': [FOO, { spec: { size: 1 } }],
  'a kind without a schema': [dynamicResource({ group: 'cases.dev', version: 'v1', kind: 'Foo' }), {
    spec: { size: 1 },
  }],
  'a built-in kind without a schema': [dynamicResource({ group: '', version: 'v1', kind: 'ConfigMap' }), {
    data: { x: '1' },
  }],
}

/** The verbs on one object, which may exist or not. */
const VERBS: Readonly<Record<string, (client: Client, kind: AnyResource, object: KubeObject) => Promise<unknown>>> = {
  get: (client, kind, object) => client.get(kind, object),
  update: (client, kind, object) => client.update(kind, object),
  apply: (client, kind, { metadata: { name, namespace }, ...rest }) =>
    client.apply(kind, { ...rest, metadata: { name, namespace } }),
  edit: (client, kind, object) =>
    client.edit(kind, object, (draft: { metadata: { labels?: object } }) => {
      draft.metadata.labels = { edited: 'yes' }
    }),
  'merge patch': (client, kind, object) => client.patch(kind, object, { merge: { metadata: { labels: { a: 'b' } } } }),
  'JSON patch': (client, kind, object) =>
    client.patch(kind, object, { json: [{ op: 'add', path: '/metadata/annotations', value: { a: 'b' } }] }),
}

export const VERB_CASES: readonly Case[] = [
  ...Object.entries(KINDS).map(([what, [kind, content]]): Case => ({
    name: `every verb answers with apiVersion and kind, for ${what}`,
    async run(context) {
      const { client } = bench(context, false)
      const metadata = { name: 'a', namespace: context.namespace }
      const made = (await client.create(kind, { metadata, ...content })) as KubeObject
      const gvk = { apiVersion: kind.group ? `${kind.group}/${kind.version}` : kind.version, kind: kind.kind }
      let at = made
      for (const [verb, call] of Object.entries(VERBS)) {
        at = (await call(client, kind, at)) as KubeObject
        assert.deepEqual({ apiVersion: at.apiVersion, kind: at.kind }, gvk, verb)
        assert.equal(at.metadata.uid, made.metadata.uid, verb)
      }
      assert.deepEqual(
        (await client.list(kind, { namespace: context.namespace, labels: 'edited' })).map(({ apiVersion, kind }) => ({
          apiVersion,
          kind,
        })),
        [gvk],
      )
      await assert.rejects(
        client.create(kind, { metadata, ...content }),
        (error: Error) => isReason(error, 'AlreadyExists') && !isReason(error, 'Conflict'),
      )
      await assert.rejects(
        client.create(kind, { metadata: { ...metadata, name: 'Not A Name' }, ...content }),
        (error: Error) => isReason(error, 'Invalid') && error.causes.some(({ field }) => field === 'metadata.name'),
      )
      assert.equal(await client.delete(kind, at), true)
      assert.equal(await client.get(kind, at), undefined)
      assert.equal(await client.delete(kind, at), false)
      for (const [verb, call] of Object.entries(VERBS)) {
        if (verb === 'apply') continue // it creates the object
        if (verb === 'get' || verb === 'edit') assert.equal(await call(client, kind, at), undefined, verb)
        else await refuses('NotFound', call(client, kind, at))
      }
    },
  })),
  {
    name: 'every verb reports a kind that is not served, not a missing object',
    async run(context) {
      const { client } = bench(context, false)
      const kind = dynamicResource({ group: 'nope.dev', version: 'v1', kind: 'Nope' })
      const metadata = { name: 'a', namespace: context.namespace }
      const object = {
        apiVersion: 'nope.dev/v1',
        kind: 'Nope',
        metadata: { ...metadata, uid: 'u', resourceVersion: '1', creationTimestamp: '' },
      }
      const calls = [
        ...Object.values(VERBS).map((call) => () => call(client, kind, object)),
        () => client.create(kind, { metadata }),
        () => client.list(kind),
        () => client.delete(kind, metadata),
        () => client.deleteAll(kind, { namespace: context.namespace }),
        () => client.createOrUpdate(kind, metadata, () => {}),
        () => client.subresource(kind, metadata, 'scale').get(),
      ]
      for (const call of calls) {
        await refuses('NotFound', call(), /it does not serve this kind/)
      }
    },
  },
]
