// Code that must not compile: tsc reports an @ts-expect-error above a line that compiles (`npm run check`).
import type { Client, Editable } from '../../lib/client/client.ts'
import { intercepted } from '../../lib/client/wrappers.ts'
import * as finalizers from '../../lib/core/finalizers.ts'
import { setController } from '../../lib/core/owner_references.ts'
import { type AnyResource, metadataOf, type Resource } from '../../lib/core/resource.ts'
import { ConfigMap, Deployment, Namespace, ServiceAccount } from '../../lib/kinds/mod.ts'
import { FOO } from './case_bench.ts'
declare const client: Client
const key = { namespace: 'a', name: 'b' }

await client.createOrUpdate(Deployment, key, (draft) => {
  draft.spec = { replicas: 2 }
})
await client.createOrUpdate(FOO, key, (draft) => {
  draft.spec ??= { size: 1 }
  draft.spec.list = ['a']
  draft.metadata.labels = { a: 'b' }
})
await client.createOrUpdate(Deployment, key, (draft) => {
  // @ts-expect-error a typo in a draft
  draft.spec = { replica: 2 }
})
await client.createOrUpdate(Deployment, key, (draft) => {
  // @ts-expect-error an object that may be new may have no spec
  draft.spec.replicas = 2
})
// @ts-expect-error a namespaced kind needs a namespace
await client.createOrUpdate(Deployment, { name: 'b' }, () => {})
await client.createOrUpdate(Namespace, { name: 'b' }, () => {})

const replicas: number | undefined = (await client.subresource(Deployment, key, 'scale').get()).spec.replicas
await client.subresource(Deployment, key, 'scale').update({ spec: { replicas: 2 } })
// @ts-expect-error a typo in a scale
await client.subresource(Deployment, key, 'scale').update({ spec: { replica: 2 } })
const token: string =
  (await client.subresource(ServiceAccount, key, 'token').create({ spec: { audiences: ['a'] } })).status.token
// @ts-expect-error no such field in tokens
await client.subresource(ServiceAccount, key, 'token').create({ spec: { audience: 'a' } })
await client.subresource(Deployment, key, 'other').create({ anything: 'goes' })
const applied: number | undefined =
  (await client.subresource(Deployment, key, 'status').apply({ status: { replicas: 1 } })).status?.replicas
await client.subresource(FOO, key, 'status').apply({ status: { nested: {} } }, { force: false })
await client.subresource(await client.kindOf({ apiVersion: 'v1', kind: 'Pod' }), key, 'status').apply({
  status: { anything: 'goes' },
})
// @ts-expect-error a typo in a status
await client.subresource(FOO, key, 'status').apply({ status: { fase: 'x' } })
// @ts-expect-error a wrong type within a status
await client.subresource(FOO, key, 'status').apply({ status: { nested: { a: 1 } } })
// @ts-expect-error a kind without a status
await client.subresource(ConfigMap, key, 'status').apply({ status: { a: 1 } })
// @ts-expect-error a kind needs a group and version, or an apiVersion
await client.kindOf({ kind: 'Pod' })
await client.edit(FOO, key, (draft) => void finalizers.add(draft, 'a.dev/b'))
await client.createOrUpdate(FOO, key, (draft) => void finalizers.remove(draft, 'a.dev/b'))
// @ts-expect-error an object that was read is readonly
finalizers.add((await client.get(FOO, key))!, 'a.dev/b')

for await (const { items } of client.pages(ConfigMap, { limit: 10 })) {
  const data: Readonly<Record<string, string>> | undefined = items[0]?.data
  // @ts-expect-error an object that was read is readonly
  items[0]!.data = data
}
for await (const { type, object } of client.watch(ConfigMap)) {
  // @ts-expect-error bookmarks are not delivered
  if (type === 'BOOKMARK') break
  // @ts-expect-error readonly
  object.metadata.name = 'x'
}
// @ts-expect-error the options are required
await client.deleteAll(ConfigMap)
// @ts-expect-error validation is one of three
await client.update(ConfigMap, (await client.get(ConfigMap, key))!, { fieldValidation: 'strict' })

const foo = (await client.get(FOO, key))!
await client.edit(ConfigMap, key, (draft) => setController(draft, foo))
await client.createOrUpdate(ConfigMap, key, (draft) => setController(draft, foo))
// @ts-expect-error an object that was read is readonly
setController((await client.get(ConfigMap, key))!, foo)
// @ts-expect-error no such verb
intercepted(client, { remove: () => Promise.resolve() })
const meta = metadataOf(ConfigMap)
const partial = (await client.get(meta, key))!
await client.list(meta)
await client.patch(meta, key, { merge: { metadata: { labels: { a: 'b' } } } })
await client.delete(meta, key)
await client.deleteAll(meta, { namespace: 'a' })
await client.subresource(meta, key, 'other').patch({ merge: {} })
// @ts-expect-error a metadata-only resource is not writable
await client.edit(meta, key, () => {})
// @ts-expect-error likewise
await client.update(meta, partial)
// @ts-expect-error likewise
await client.createOrUpdate(meta, key, () => {})
// @ts-expect-error likewise
await client.create(meta, { metadata: { name: 'b' } })
// @ts-expect-error likewise
await client.apply(meta, { metadata: { name: 'b' } })
// @ts-expect-error likewise, of a kind with a status
await client.setStatus(metadataOf(Deployment), key, {})
declare const anything: AnyResource
declare const some: Resource
await client.edit(anything, key, (draft) => {
  draft.metadata.labels = {}
})
await client.update(some, (await client.get(some, key))!)
export type { Editable }
export { applied, replicas, token }
