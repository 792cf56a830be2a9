/** Cases of subresources for any API server. */
import assert from 'node:assert/strict'
import { isReason } from '../../lib/core/errors.ts'
import { CertificateSigningRequest, Deployment, Pod, PodDisruptionBudget, ServiceAccount } from '../../lib/kinds/mod.ts'
import { dryRun, namespaced } from '../../lib/client/wrappers.ts'
import { type Case, casesOf, CONFIG_MAP, FOO, methods, results } from './case_bench.ts'
import { refuses } from './transports.ts'

const NOT_EMBEDDED = 'the embedded API has no such subresource'

/** A deployment that no controller acts on. */
const deployment = (name: string, namespace: string) => ({
  metadata: { name, namespace },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: 'a' } },
    template: { metadata: { labels: { app: 'a' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
  },
})
const pod = (name: string, namespace: string) => ({
  metadata: { name, namespace, labels: { app: 'a' } },
  spec: { containers: [{ name: 'c', image: 'i' }] },
})

/** A certificate signing request. */
const REQUEST = `-----BEGIN CERTIFICATE REQUEST-----
MIHKMHECAQAwDzENMAsGA1UEAwwEY2FzZTBZMBMGByqGSM49AgEGCCqGSM49AwEH
A0IABETESSLqpt2b9LdCW9Mgv0BOQrbPpZR3w+hYTb8ixpCAex9zREvOfwzYCeb5
mqi/pH6F1JZrelQGWnBIAzU8G86gADAKBggqhkjOPQQDAgNJADBGAiEAqfYCaTY4
QWBGc6Q4JPU3gJOMD5KRaw9K3klfDTYOTY4CIQC2H+niLlUgLY0Lpl+c3JkYZ3uH
07s3Pj5zh619l8avZw==
-----END CERTIFICATE REQUEST-----
`

export const SUBRESOURCE_CASES: readonly Case[] = [
  ...casesOf({
    async 'apply of a subresource owns its fields and keeps those of others'(it, { namespace }) {
      const { client } = it
      const ref = { namespace, name: 'applied' }
      const made = await client.create(FOO, { metadata: ref, spec: { size: 1 } })
      await client.subresource(FOO, ref, 'status').apply({ status: { phase: 'Ready', nested: { a: 'mine' } } })
      await client.subresource(FOO, ref, 'status').apply({ status: { count: 3 } }, { fieldManager: 'other' })
      const both = await client.subresource(FOO, made, 'status').apply({ status: { phase: 'Done' } })
      assert.deepEqual([both.status, both.spec], [{ phase: 'Done', count: 3 }, { size: 1 }])
      assert.equal(both.metadata.generation, made.metadata.generation)
      const trial = await client.subresource(FOO, ref, 'status').apply({ status: { phase: 'Never' } }, { dryRun: true })
      assert.deepEqual([trial.status?.phase, (await client.live.get(FOO, ref))?.status?.phase], ['Never', 'Done'])
      // Fields of others are taken over, unless `force` is false.
      const unforced = client.subresource(FOO, ref, 'status').apply({ status: { count: 4 } }, { force: false })
      await refuses('Conflict', unforced)
      assert.equal((await client.subresource(FOO, ref, 'status').apply({ status: { count: 4 } })).status?.count, 4)
      assert.deepEqual(results(it), [
        'create Foo created',
        ...Array.from({ length: 3 }, () => 'apply Foo/status changed'),
        'apply Foo/status changed',
      ])
      // It gets a wrapper's options, too.
      const { metadata } = await dryRun(client).subresource(FOO, ref, 'status').apply({ status: { phase: 'Never' } })
      assert.equal((await client.live.get(FOO, ref))?.metadata.resourceVersion, metadata.resourceVersion)
    },
    async 'kindOf resolves with the kind as the server serves it'({ client, network }, { namespace }) {
      const Foo = await client.kindOf({ apiVersion: 'cases.dev/v1', kind: 'Foo' })
      const Role = await client.kindOf({ group: 'rbac.authorization.k8s.io', version: 'v1', kind: 'ClusterRole' })
      assert.deepEqual(
        [Foo.plural, Foo.scope, Role.plural, Role.scope],
        ['foos', 'Namespaced', 'clusterroles', 'Cluster'],
      )
      network.take()
      const made = await client.create(Foo, {
        metadata: { namespace, name: 'found' },
        spec: { size: 1 },
      })
      assert.equal((await client.live.get(await client.live.kindOf(made), made))?.metadata.uid, made.metadata.uid)
      assert.equal((await namespaced(client, namespace).kindOf(made)).plural, 'foos')
      assert.equal(
        network.take().some((line) => !line.includes('/foos')),
        false,
        'what is known is not asked for again',
      )
      for (
        const name of [
          { apiVersion: 'cases.dev/v1', kind: 'Nope' },
          { group: 'nope.dev', version: 'v1', kind: 'Nope' },
          { apiVersion: 'v1/pods/x?', kind: 'Pod' },
        ]
      ) {
        await assert.rejects(
          client.kindOf(name),
          (error: Error) =>
            isReason(error, 'NotFound') &&
            /^Cannot find the kind (Nope|Pod) of .*: the server does not serve it \(is the CRD installed\?\)$/.test(
              error.message,
            ),
        )
      }
    },
    async 'scale is read and set for built-in and custom kinds'(it, { namespace }) {
      const ref = { namespace, name: 'a' }
      await it.client.create(Deployment, deployment('a', namespace))
      await it.client.create(FOO, { metadata: ref, spec: { size: 2 } })
      results(it)
      const scale = it.client.subresource(Deployment, ref, 'scale')
      const before = await scale.get()
      assert.deepEqual([before.spec.replicas, before.status?.selector, before.metadata.name], [1, 'app=a', 'a'])
      assert.equal((await scale.patch({ merge: { spec: { replicas: 3 } } })).spec.replicas, 3)
      assert.equal((await scale.update({ spec: { replicas: 4 } })).spec.replicas, 4)
      assert.equal((await it.client.get(Deployment, ref))?.spec?.replicas, 4)
      assert.equal((await scale.update({ spec: { replicas: 9 } }, { dryRun: true })).spec.replicas, 9)
      // To the server, what is left out is 0.
      for (const lost of [{ replicas: 5 }, { spec: { replicas: undefined } }]) {
        await assert.rejects(scale.update(lost as never), /^TypeError: Cannot scale ".*\/a": it needs spec\.replicas$/)
      }
      assert.equal((await scale.get()).spec.replicas, 4)
      assert.equal(
        (await it.client.subresource(FOO, ref, 'scale').patch({ merge: { spec: { replicas: 5 } } })).spec.replicas,
        5,
      )
      assert.equal((await it.client.live.get(FOO, ref))?.spec.size, 5)
      assert.deepEqual(
        results(it),
        ['patch Deployment/scale changed', 'update Deployment/scale changed', 'patch Foo/scale changed'],
      )
      await assert.rejects(
        scale.patch({ merge: { spec: { replicas: -1 } } }),
        (error: Error) =>
          isReason(error, 'Invalid') &&
          error.message.startsWith(`Cannot patch the scale of Deployment "${namespace}/a": `),
      )
      await refuses(
        'Conflict',
        scale.patch({
          merge: { metadata: { resourceVersion: before.metadata.resourceVersion }, spec: { replicas: 1 } },
        }),
      )
    },
    async 'the errors for a missing subresource and for a missing object differ'({ client }, { namespace }) {
      await client.create(CONFIG_MAP, { metadata: { name: 'a', namespace } })
      await assert.rejects(
        client.subresource(CONFIG_MAP, { namespace, name: 'a' }, 'scale').get(),
        new RegExp(`Cannot get the scale of ConfigMap "${namespace}/a": .*it does not serve this kind or subresource`),
      )
      await refuses(
        'NotFound',
        client.subresource(FOO, { namespace, name: 'nope' }, 'scale').get(),
        /foos\.cases\.dev "nope" not found/,
      )
    },
    async 'a subresource without a name or namespace, or with a path as its name, throws before anything is sent'(
      it,
      { namespace },
    ) {
      assert.throws(
        () => it.client.subresource(FOO, { namespace, name: '' }, 'scale'),
        /^TypeError: Cannot address the scale of foos\.cases\.dev: the object has no name$/,
      )
      await assert.rejects(
        it.client.subresource(FOO, { namespace, name: 'a' }, 'status/x').get(),
        /^TypeError: Cannot address Foo: the subresource "status\/x"/,
      )
      assert.deepEqual(methods(it), [])
    },
    async 'an eviction deletes a pod, unless a disruption budget forbids it'({ client }, { namespace }) {
      const made = await client.create(Pod, pod('a', namespace))
      await client.subresource(Pod, made, 'status').patch({
        merge: { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } },
      })
      const budget = await client.create(PodDisruptionBudget, {
        metadata: { name: 'a', namespace },
        spec: { minAvailable: 1, selector: { matchLabels: { app: 'a' } } },
      })
      const allow = async (disruptionsAllowed: number): Promise<unknown> =>
        await client.subresource(PodDisruptionBudget, budget, 'status').patch({
          merge: {
            status: {
              disruptionsAllowed,
              currentHealthy: 1,
              desiredHealthy: 1,
              expectedPods: 1,
              observedGeneration: budget.metadata.generation,
            },
          },
        })
      await allow(0)
      await assert.rejects(
        client.subresource(Pod, made, 'eviction').create({}),
        (error: Error) =>
          isReason(error, 'TooManyRequests') &&
          error.message.startsWith(
            `Cannot create the eviction of Pod "${namespace}/a": Cannot evict pod as it would violate`,
          ),
      )
      await allow(1)
      assert.equal((await client.subresource(Pod, made, 'eviction').create({}, { dryRun: true })).status, 'Success')
      const evicted = await client.subresource(Pod, made, 'eviction').create({
        deleteOptions: { gracePeriodSeconds: 0, preconditions: { uid: made.metadata.uid } },
      })
      assert.equal(evicted.status, 'Success')
      assert.equal(await client.get(Pod, made), undefined)
    },
    async 'a token is created for a service account, and no error contains it'(it, { namespace }) {
      const account = await it.client.create(ServiceAccount, { metadata: { name: 'a', namespace } })
      const { status, spec } = await it.client.subresource(ServiceAccount, account, 'token').create({
        spec: { expirationSeconds: 600 },
      })
      assert.match(status.token, /^ey[\w-]+\.[\w-]+\.[\w-]+$/)
      assert.ok(Date.parse(status.expirationTimestamp) > 0 && spec.expirationSeconds)
      assert.ok(!JSON.stringify(it.writes).includes(status.token))
      await assert.rejects(
        it.client.subresource(ServiceAccount, account, 'token').create({ spec: { expirationSeconds: 1 } }),
        (error: Error) =>
          isReason(error, 'Invalid') && error.causes.some(({ field }) => field === 'spec.expirationSeconds'),
      )
    },
    async 'a pod is bound to a node, once'({ client }, { namespace }) {
      const made = await client.create(Pod, pod('a', namespace))
      const binding = client.subresource(Pod, made, 'binding')
      await binding.create({ target: { apiVersion: 'v1', kind: 'Node', name: 'node-1' } })
      assert.equal((await client.get(Pod, made))?.spec?.nodeName, 'node-1')
      await refuses('Conflict', binding.create({ target: { apiVersion: 'v1', kind: 'Node', name: 'node-2' } }))
    },
  }),
  ...casesOf({
    async 'a certificate signing request is approved'({ client }, { namespace }) {
      const made = await client.create(CertificateSigningRequest, {
        metadata: { name: namespace },
        spec: { request: btoa(REQUEST), signerName: 'cases.dev/nobody', usages: ['client auth'] },
      })
      const approved = { type: 'Approved', status: 'True', reason: 'Case', message: 'as the case wants it' }
      const answer = await client.subresource(CertificateSigningRequest, made, 'approval').update({
        ...made,
        status: { conditions: [approved] },
      })
      assert.equal((answer['status'] as { conditions: { type: string }[] }).conditions[0]?.type, 'Approved')
      await client.delete(CertificateSigningRequest, made)
    },
  }, { realOnly: NOT_EMBEDDED }),
]
