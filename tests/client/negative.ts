// What the client must refuse: tsc reports an @ts-expect-error above a line that compiles. So the check is `npm run check`.
import type { Client, Draft } from '../../lib/client/client.ts'
import { intercepted } from '../../lib/client/wrappers.ts'
import { setController } from '../../lib/core/owner_references.ts'
import { ConfigMap, Deployment, Namespace, ServiceAccount } from '../../lib/kinds/mod.ts'
import { FOO } from './case_bench.ts'
declare const client: Client
const key = { namespace: 'a', name: 'b' }

await client.createOrUpdate(Deployment, key, (draft) => { draft.spec = { replicas: 2 } })
await client.createOrUpdate(FOO, key, (draft) => { draft.spec ??= { size: 1 }; draft.spec.list = ['a']; draft.metadata.labels = { a: 'b' } })
// @ts-expect-error a typo in a draft
await client.createOrUpdate(Deployment, key, (draft) => { draft.spec = { replica: 2 } })
// @ts-expect-error an object that is not there yet has no spec
await client.createOrUpdate(Deployment, key, (draft) => { draft.spec.replicas = 2 })
// @ts-expect-error a namespaced kind needs a namespace
await client.createOrUpdate(Deployment, { name: 'b' }, () => {})
await client.createOrUpdate(Namespace, { name: 'b' }, () => {})

const replicas: number | undefined = (await client.subresource(Deployment, key, 'scale').get()).spec.replicas
await client.subresource(Deployment, key, 'scale').update({ spec: { replicas: 2 } })
// @ts-expect-error a typo in a scale
await client.subresource(Deployment, key, 'scale').update({ spec: { replica: 2 } })
const token: string = (await client.subresource(ServiceAccount, key, 'token').create({ spec: { audiences: ['a'] } })).status.token
// @ts-expect-error tokens have no such field
await client.subresource(ServiceAccount, key, 'token').create({ spec: { audience: 'a' } })
await client.subresource(Deployment, key, 'other').create({ anything: 'goes' })

for await (const { items } of client.pages(ConfigMap, { limit: 10 })) {
  const data: Readonly<Record<string, string>> | undefined = items[0]?.data
  // @ts-expect-error what was read is readonly
  items[0]!.data = data
}
for await (const { type, object } of client.watch(ConfigMap)) {
  // @ts-expect-error bookmarks are left out
  if (type === 'BOOKMARK') break
  // @ts-expect-error readonly
  object.metadata.name = 'x'
}
// @ts-expect-error which ones must be said
await client.deleteAll(ConfigMap)
// @ts-expect-error validation is one of three
await client.update(ConfigMap, (await client.get(ConfigMap, key))!, { fieldValidation: 'strict' })

const foo = (await client.get(FOO, key))!
await client.edit(ConfigMap, key, (draft) => setController(draft, foo))
await client.createOrUpdate(ConfigMap, key, (draft) => setController(draft, foo))
// @ts-expect-error what was read is not changed
setController((await client.get(ConfigMap, key))!, foo)
// @ts-expect-error no such verb
intercepted(client, { remove: () => Promise.resolve() })
export type { Draft }
export { replicas, token }
