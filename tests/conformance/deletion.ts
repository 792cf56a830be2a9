/** Cases of deletion, with and without finalizers. */
import assert from 'node:assert/strict'
import { type Case, JSON_PATCH, MERGE } from './api.ts'

export const DELETION_CASES: readonly Case[] = [
  {
    name: 'a deletion returns a Status with the uid',
    async run(api) {
      const created = await api.expect(201, 'POST', api.foos, api.foo('a'))
      const status = await api.expect(200, 'DELETE', `${api.foos}/a`)
      assert.equal(status.kind, 'Status')
      assert.equal(status.status, 'Success')
      assert.deepEqual(status.details, { name: 'a', group: api.group, kind: 'foos', uid: created.metadata.uid })
      await api.refused(404, 'NotFound', 'DELETE', `${api.foos}/a`)
    },
  },
  {
    name: 'an object is removed with its last finalizer',
    async run(api) {
      await api.expect(201, 'POST', api.foos, api.foo('a', { size: 1 }, { finalizers: ['x.io/a', 'x.io/b'] }))
      const deleting = await api.expect(200, 'DELETE', `${api.foos}/a`)
      assert.equal(deleting.kind, 'Foo')
      assert.match(deleting.metadata.deletionTimestamp, /Z$/)
      assert.equal(deleting.metadata.deletionGracePeriodSeconds, 0)
      assert.equal(deleting.metadata.generation, 2)
      await api.expect(200, 'PATCH', `${api.foos}/a`, { metadata: { finalizers: ['x.io/b'] } }, { type: MERGE })
      const before = await api.expect(200, 'GET', `${api.foos}/a`)
      const last = await api.expect(200, 'PATCH', `${api.foos}/a`, [{ op: 'remove', path: '/metadata/finalizers' }], {
        type: JSON_PATCH,
      })
      assert.equal(last.metadata.resourceVersion, before.metadata.resourceVersion)
      assert.equal(last.metadata.finalizers, undefined)
      await api.refused(404, 'NotFound', 'GET', `${api.foos}/a`)
    },
  },
  {
    name: 'a second deletion changes nothing',
    async run(api) {
      await api.expect(201, 'POST', api.foos, api.foo('a', { size: 1 }, { finalizers: ['x.io/a'] }))
      const first = await api.expect(200, 'DELETE', `${api.foos}/a`)
      assert.deepEqual(await api.expect(200, 'DELETE', `${api.foos}/a`), first)
    },
  },
  {
    name: 'finalizers cannot be added during a deletion',
    async run(api) {
      await api.expect(201, 'POST', api.foos, api.foo('a', { size: 1 }, { finalizers: ['x.io/a'] }))
      await api.expect(200, 'DELETE', `${api.foos}/a`)
      const status = await api.refused(
        422,
        'Invalid',
        'PATCH',
        `${api.foos}/a`,
        { metadata: { finalizers: ['x.io/a', 'x.io/b'] } },
        { type: MERGE },
      )
      assert.match(
        status.message,
        /no new finalizers can be added if the object is being deleted, found new finalizers \[\]string\{"x\.io\/b"\}/,
      )
    },
  },
  {
    name: 'deletionTimestamp cannot be set or unset by a write',
    async run(api) {
      const created = await api.expect(
        201,
        'POST',
        api.foos,
        api.foo('a', { size: 1 }, { deletionTimestamp: '2020-01-01T00:00:00Z', finalizers: ['x.io/a'] }),
      )
      assert.equal(created.metadata.deletionTimestamp, undefined)
      const deleting = await api.expect(200, 'DELETE', `${api.foos}/a`)
      const next = await api.expect(
        200,
        'PATCH',
        `${api.foos}/a`,
        { metadata: { deletionTimestamp: null, labels: { a: 'b' } } },
        { type: MERGE },
      )
      assert.equal(next.metadata.deletionTimestamp, deleting.metadata.deletionTimestamp)
    },
  },
  {
    name: 'foreground and orphan add a finalizer for the garbage collector',
    async run(api) {
      await api.expect(201, 'POST', api.foos, api.foo('a'))
      const foreground = await api.expect(200, 'DELETE', `${api.foos}/a`, { propagationPolicy: 'Foreground' })
      assert.deepEqual(foreground.metadata.finalizers, ['foregroundDeletion'])
      assert.ok(foreground.metadata.deletionTimestamp)
      await api.expect(201, 'POST', api.foos, api.foo('b'))
      assert.deepEqual(
        (await api.expect(200, 'DELETE', `${api.foos}/b?propagationPolicy=Orphan`)).metadata.finalizers,
        ['orphan'],
      )
    },
  },
  {
    name: 'a failed precondition is a Conflict',
    async run(api) {
      const created = await api.expect(201, 'POST', api.foos, api.foo('a'))
      const status = await api.refused(409, 'Conflict', 'DELETE', `${api.foos}/a`, { preconditions: { uid: 'other' } })
      assert.equal(
        status.message,
        `Operation cannot be fulfilled on Foo.${api.group} "a": ` +
          'the UID in the precondition (other) does not match the UID in record ' +
          `(${created.metadata.uid}). The object might have been deleted and then recreated`,
      )
      await api.refused(409, 'Conflict', 'DELETE', `${api.foos}/a`, { preconditions: { resourceVersion: '1' } })
      await api.expect(
        200,
        'DELETE',
        `${api.foos}/a`,
        { preconditions: { uid: created.metadata.uid, resourceVersion: created.metadata.resourceVersion } },
      )
    },
  },
  {
    name: 'an unknown propagation policy is Invalid',
    async run(api) {
      await api.expect(201, 'POST', api.foos, api.foo('a'))
      await api.refused(422, 'Invalid', 'DELETE', `${api.foos}/a`, { propagationPolicy: 'Sideways' })
    },
  },
  {
    name: 'a dry run deletes nothing',
    async run(api) {
      await api.expect(201, 'POST', api.foos, api.foo('a'))
      await api.expect(200, 'DELETE', `${api.foos}/a?dryRun=All`)
      await api.expect(200, 'GET', `${api.foos}/a`)
    },
  },
  {
    name: 'a collection is deleted by selector',
    async run(api) {
      for (const [name, team] of [['a', 'x'], ['b', 'x'], ['c', 'y']] as const) {
        await api.expect(
          201,
          'POST',
          api.foos,
          api.foo(name, { size: 1 }, { labels: { team } }),
        )
      }
      await api.expect(200, 'DELETE', `${api.foos}?labelSelector=team%3Dx`)
      const left = await api.expect(200, 'GET', api.foos)
      assert.deepEqual(left.items.map((each: { metadata: { name: string } }) => each.metadata.name), ['c'])
    },
  },
  {
    name: 'deleting a namespace deletes its contents, and blocks new ones',
    skip: { real: 'without kube-controller-manager a namespace is not emptied' },
    async run(api) {
      await api.expect(201, 'POST', api.foos, api.foo('held', { size: 1 }, { finalizers: ['x.io/a'] }))
      await api.expect(201, 'POST', api.configMaps, api.configMap('c'))
      await api.expect(200, 'DELETE', `/api/v1/namespaces/${api.namespace}`)
      await api.refused(404, 'NotFound', 'GET', `${api.configMaps}/c`)
      assert.equal((await api.expect(200, 'GET', `/api/v1/namespaces/${api.namespace}`)).status.phase, 'Terminating')
      const status = await api.refused(403, 'Forbidden', 'POST', api.configMaps, api.configMap('d'))
      assert.equal(status.details.causes[0].reason, 'NamespaceTerminating')
      await api.expect(200, 'PATCH', `${api.foos}/held`, { metadata: { finalizers: null } }, { type: MERGE })
      await api.refused(404, 'NotFound', 'GET', `/api/v1/namespaces/${api.namespace}`)
    },
  },
  {
    name: 'a deleted namespace reports what is left in it',
    skip: { real: 'without kube-controller-manager a namespace is not emptied' },
    async run(api) {
      const path = `/api/v1/namespaces/${api.namespace}`
      const conditions = async (): Promise<Record<string, string>> =>
        Object.fromEntries(
          ((await api.expect(200, 'GET', path)).status.conditions ?? []).map((each: Record<string, string>) => [
            each['type'],
            `${each['status']} ${each['reason']}: ${each['message']}`,
          ]),
        )
      for (const name of ['a', 'b']) {
        await api.expect(201, 'POST', api.configMaps, api.configMap(name, {}, { finalizers: ['x.io/a'] }))
      }
      await api.expect(201, 'POST', api.foos, api.foo('c', { size: 1 }, { finalizers: ['x.io/a', 'x.io/b'] }))
      await api.expect(201, 'POST', api.configMaps, api.configMap('gone'))
      assert.deepEqual(await conditions(), {})
      await api.expect(200, 'DELETE', path)
      assert.deepEqual(await conditions(), {
        NamespaceDeletionDiscoveryFailure: 'False ResourcesDiscovered: All resources successfully discovered',
        NamespaceDeletionGroupVersionParsingFailure:
          'False ParsedGroupVersions: All legacy kube types successfully parsed',
        NamespaceDeletionContentFailure:
          'False ContentDeleted: All content successfully deleted, may be waiting on finalization',
        NamespaceContentRemaining: 'True SomeResourcesRemain: Some resources are remaining: ' +
          `configmaps. has 2 resource instances, foos.${api.group} has 1 resource instances`,
        NamespaceFinalizersRemaining: 'True SomeFinalizersRemain: Some content in the namespace has finalizers ' +
          'remaining: x.io/a in 3 resource instances, x.io/b in 1 resource instances',
      })
      const release = { metadata: { finalizers: null } }
      await api.expect(200, 'PATCH', `${api.foos}/c`, release, { type: MERGE })
      await api.expect(200, 'PATCH', `${api.configMaps}/a`, release, { type: MERGE })
      const left = await conditions()
      assert.match(left['NamespaceContentRemaining']!, /: configmaps\. has 1 resource instances$/)
      assert.match(left['NamespaceFinalizersRemaining']!, /: x\.io\/a in 1 resource instances$/)
      await api.expect(200, 'PATCH', `${api.configMaps}/b`, release, { type: MERGE })
      await api.refused(404, 'NotFound', 'GET', path)
    },
  },
  {
    name: 'the namespaces of the system cannot be deleted',
    async run(api) {
      for (const name of ['default', 'kube-system', 'kube-public']) {
        for (const query of ['', '?dryRun=All']) {
          const status = await api.refused(403, 'Forbidden', 'DELETE', `/api/v1/namespaces/${name}${query}`)
          assert.equal(status.message, `namespaces "${name}" is forbidden: this namespace may not be deleted`)
          assert.deepEqual(status.details, { name, kind: 'namespaces' })
        }
      }
      const left = await api.expect(200, 'GET', '/api/v1/namespaces/default')
      assert.equal(left.status.phase, 'Active')
    },
  },
]
