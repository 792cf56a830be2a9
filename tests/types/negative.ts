// Code that must not compile: tsc reports an @ts-expect-error above a line that compiles. Run with `npm run check`.
// More mistakes, with their messages, are in messages.test.ts.
import {
  type Client,
  clients,
  defineResource,
  draft,
  dynamicResource,
  type KubeObject,
  type ObjectOf,
  operator,
  type Ref,
  type Resource,
} from 'kubeloop'
import { ConfigMap, Deployment, Namespace, NetworkPolicy, Pod } from 'kubeloop/kinds'
import * as z from 'zod'
declare const client: Client
const Foo = defineResource({
  group: 'g',
  version: 'v1',
  kind: 'Foo',
  spec: z.object({
    n: z.int32().default(1),
    args: z.array(z.string()).default([]),
    deep: z.object({ list: z.array(z.object({ a: z.string() })) }).optional(),
  }),
  status: z.object({ ok: z.boolean(), at: z.string().optional() }),
})
const Wide = defineResource({
  group: 'g',
  version: 'v1',
  kind: 'Wide',
  cluster: true,
  spec: z.object({ n: z.number() }),
})
const key = { namespace: 'a', name: 'b' }
const foo = (await client.get(Foo, key))!
const name: string = foo.metadata.name, ns: string = foo.metadata.namespace, uid: string = foo.metadata.uid

// objects that were read are readonly
// @ts-expect-error readonly
foo.spec.n = 2
// @ts-expect-error readonly, deep
foo.spec.deep!.list[0]!.a = 'x'
// @ts-expect-error readonly array
foo.spec.args.push('x') // @ts-expect-error readonly built-in
;(await client.get(Pod, key))!.spec!.containers[0]!.image = 'x'
const mine = draft(foo)
mine.spec.n = 2
mine.spec.args.push('x')
mine.spec.deep!.list[0]!.a = 'x'
await client.edit(Foo, foo, (d) => {
  d.spec.n = 3
  d.spec.args.push('y')
  d.metadata.labels = { a: 'b' }
})
await client.edit(Deployment, key, (d) => {
  d.spec!.template.spec!.containers[0]!.image = 'x'
})
await client.edit(Foo, foo, (d) => {
  const phase: unknown = d.status
  // @ts-expect-error an update does not write the status
  d.status = undefined
  void phase
})
await client.edit(Deployment, key, (d) => {
  // @ts-expect-error readonly at any depth
  d.status!.replicas = 1
})
await client.edit(await client.kindOf({ apiVersion: 'v1', kind: 'Any' }), { name: 'a' }, (d) => {
  d['status'] = {}
  d.metadata.labels = {}
})
await client.edit(Foo, foo, (d) => {
  // @ts-expect-error unknown field in a draft
  d.spec.m = 3
})

// defaults are optional to write, present to read
await client.create(Foo, { metadata: { namespace: 'a', name: 'x' }, spec: {} })
const n: number = foo.spec.n
// a spec that was read can be written, arrays included
await client.apply(Foo, { metadata: { namespace: 'a', name: 'x' }, spec: foo.spec })
await client.apply(Deployment, {
  metadata: { namespace: 'a', name: 'd' },
  spec: { template: { spec: { containers: [{ name: 'c', args: foo.spec.args }] } } },
})
// one field only; undefined means absent
await client.apply(Deployment, { metadata: { namespace: 'a', name: 'd' }, spec: { replicas: undefined } })
// @ts-expect-error typo, with an owner
await client.apply(Deployment, { metadata: { namespace: 'a', name: 'd' }, spec: { replica: 3 } }, { owner: foo })
await client.apply(NetworkPolicy, { metadata: { namespace: 'a', name: 'n' }, spec: { ingress: [{ from: [] }] } })
// @ts-expect-error not created without its namespace either
await client.create(Deployment, { metadata: { generateName: 'd-' } })
// the namespace of its owner, or of a client for one namespace, is filled in
await client.apply(Deployment, { metadata: { name: 'd' } }, { owner: foo })
await client.create(Deployment, { metadata: { name: 'd' } }, { owner: foo, dryRun: true })
await clients.namespaced(client, 'a').apply(Deployment, { metadata: { name: 'd' } })
await clients.namespaced(client, 'a').live.create(Deployment, { metadata: { name: 'd' } })
const narrower: Client = clients.namespaced(client, 'a')
void narrower
// @ts-expect-error a typo in the options
await client.apply(Deployment, { metadata: { name: 'd' } }, { owner: foo, forced: true })
// a cluster-scoped owner gives no namespace
declare const wide: ObjectOf<typeof Wide>
// @ts-expect-error so the object needs its own when it is created, too
await client.create(Deployment, { metadata: { generateName: 'd-' } }, { owner: wide })
await client.apply(Deployment, { metadata: { namespace: 'a', name: 'd' } }, { owner: wide })
await client.create(Deployment, { metadata: { namespace: 'a', generateName: 'd-' } }, { owner: wide })
await client.apply(Wide, { metadata: { name: 'w' }, spec: { n: 1 } }, { owner: wide })
// an owner of any kind, or one of several, may have a namespace
declare const any: KubeObject
declare const either: ObjectOf<typeof Foo> | ObjectOf<typeof Wide>
await client.apply(Deployment, { metadata: { name: 'd' } }, { owner: any })
await client.apply(Deployment, { metadata: { name: 'd' } }, { owner: either })
// a cluster-scoped kind has no namespace
await client.apply(Namespace, { metadata: { name: 'n' } })
// @ts-expect-error status is not written by apply
await client.apply(Foo, { metadata: { namespace: 'a', name: 'x' }, spec: {}, status: { ok: true } })

// names of objects
await client.get(Wide, { name: 'b' })
await client.get(Namespace, { name: 'b' })
await client.get(Foo, foo)
await client.delete(Wide, (await client.get(Wide, { name: 'b' }))!)
// an object of a cluster-scoped kind may be reduced to its name
await client.get(Wide, { metadata: { name: 'b' } })
await client.delete(Namespace, { metadata: { name: 'b', namespace: undefined } })
await client.edit(Wide, { metadata: { name: 'b' } }, (d) => void (d.spec.n = 2))
// @ts-expect-error an object of a namespaced kind may not
await client.get(Foo, { metadata: { name: 'b' } })
// @ts-expect-error an object with a namespace is none of a cluster-scoped kind
await client.get(Wide, foo)
// @ts-expect-error nor is one that is reduced to both
await client.get(Wide, { metadata: { namespace: 'a', name: 'b' } })
// where the kind is a parameter, its objects name themselves
// deno-lint-ignore no-explicit-any -- what is written does not matter
const reread = <T extends KubeObject>(kind: Resource<T, any>, object: T): Promise<T | undefined> =>
  client.get(kind, object)
const keyed = <T extends KubeObject>(kind: Resource<T>, ref: Ref<T>): Promise<T | undefined> => client.get(kind, ref)
// @ts-expect-error a cluster-scoped object does not name a namespaced one
await client.get(ConfigMap, (await client.get(Wide, { name: 'b' }))!)

// status
await client.setStatus(Foo, key, { ok: true, at: undefined })
// @ts-expect-error ok is missing
await client.setStatus(Foo, key, { at: '1' })

const app = operator({ name: 'x' })
// @ts-expect-error a watch must be mapped to keys
app.controllerFor(Foo).watches(Pod, (pod) => [pod.metadata.labels])
app.controllerFor(Foo).watches(
  Pod,
  (pod) => pod.metadata.ownerReferences?.map((o) => ({ namespace: pod.metadata.namespace, name: o.name })) ?? [],
).reconcile(async (f) => {
  const s: ObjectOf<typeof Foo> = f
  void s
})
// @ts-expect-error a namespaced kind is not named without its namespace
app.controllerFor(Foo).watches(Wide, (w) => [{ name: w.metadata.name }])
void [name, ns, uid, n, reread, keyed]

// what defineResource returns has its definition; a kind without a schema may have none
const plural: string = Foo.definition.crd.spec.names.plural
const anyKind: Resource = dynamicResource({ group: 'g', version: 'v1', kind: 'Other' })
// @ts-expect-error it may be absent
void [plural, anyKind.definition.crd]

// options of caches
const kept = operator({
  name: 'x',
  cache: {
    labels: 'a',
    strip: (d) => void delete d.metadata.annotations,
    namespaces: { prod: {}, '*': { fields: 'a=b' } },
  },
})
kept.cache(Deployment, {
  namespaces: { 'kube-system': { labels: 'a', strip: (d) => void (d.spec!.replicas = 1) }, prod: {} },
})
kept.cache(Deployment, { namespaces: { labels: 'team=a' }, labels: 'b' })
kept.cache(Deployment, { namespaces: { labels: { labels: 'a' } } })
operator({ name: 'x', namespaces: { labels: 'team=a' } }).cluster('y', { server: '' }, { namespaces: { labels: 'b' } })
// @ts-expect-error namespaces of an operator have no selections
operator({ name: 'x', namespaces: { prod: {} } })
kept.cache(Deployment, { namespaces: ['a', 'b'], strip: (d) => void (d.spec!.replicas = 1) })
// @ts-expect-error unknown field in a draft of one namespace
kept.cache(Deployment, { namespaces: { prod: { strip: (d) => void (d.spec!.replica = 1) } } })
// @ts-expect-error a selection has no namespaces of its own
kept.cache(Deployment, { namespaces: { prod: { namespaces: ['a'] } } })
// @ts-expect-error a typo
kept.cache(Deployment, { namespaces: { prod: { label: 'a' } } })
// @ts-expect-error a single namespace must be a list too
kept.cache(Deployment, { namespaces: 'prod' })
// @ts-expect-error not all kinds have a spec
operator({ name: 'x', cache: { strip: (d) => void delete d.spec } })
// @ts-expect-error the defaults apply to all clusters
operator({ name: 'x', cache: { cluster: kept.cluster('west', { server: 'https://a' }) } })
