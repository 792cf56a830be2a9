/** Cases of deletion, with and without finalizers. */
import assert from 'node:assert/strict'
import { type Case, caseOf, MERGE } from './api.ts'
import { casesOf, foo, script, type Step } from './transcript.ts'

export const DELETION_CASES: readonly Case[] = casesOf('deletion', [
  script('a deletion returns a Status with the uid', [
    ['POST foos ? metadata.uid', foo('a')],
    'DELETE foos/a ? kind status details',
    'DELETE foos/a',
  ]),
  script('an object is removed with its last finalizer', [
    ['POST foos', foo('a', { size: 1 }, { finalizers: ['x.io/a', 'x.io/b'] })],
    'DELETE foos/a ? kind metadata.deletionTimestamp metadata.deletionGracePeriodSeconds metadata.generation',
    ['MERGE foos/a', { metadata: { finalizers: ['x.io/b'] } }],
    'GET foos/a ? metadata.resourceVersion',
    ['JSON foos/a ? metadata.resourceVersion metadata.finalizers', [{ op: 'remove', path: '/metadata/finalizers' }]],
    'GET foos/a',
  ]),
  script('a second deletion changes nothing', [
    ['POST foos', foo('a', { size: 1 }, { finalizers: ['x.io/a'] })],
    'DELETE foos/a ? .',
    'DELETE foos/a ? .',
  ]),
  script('finalizers cannot be added during a deletion', [
    ['POST foos', foo('a', { size: 1 }, { finalizers: ['x.io/a'] })],
    'DELETE foos/a',
    ['MERGE foos/a', { metadata: { finalizers: ['x.io/a', 'x.io/b'] } }],
  ]),
  script('deletionTimestamp cannot be set or unset by a write', [
    [
      'POST foos ? metadata.deletionTimestamp',
      foo('a', { size: 1 }, { deletionTimestamp: '2020-01-01T00:00:00Z', finalizers: ['x.io/a'] }),
    ],
    'DELETE foos/a ? metadata.deletionTimestamp',
    ['MERGE foos/a ? metadata.deletionTimestamp', { metadata: { deletionTimestamp: null, labels: { a: 'b' } } }],
  ]),
  caseOf('deleting a namespace deletes its contents, and blocks new ones', async (api) => {
    await api.expect(201, 'POST', api.foos, api.foo('held', { size: 1 }, { finalizers: ['x.io/a'] }))
    await api.expect(201, 'POST', api.configMaps, api.configMap('c'))
    await api.expect(200, 'DELETE', `/api/v1/namespaces/${api.namespace}`)
    await api.refused(404, 'NotFound', 'GET', `${api.configMaps}/c`)
    assert.equal((await api.expect(200, 'GET', `/api/v1/namespaces/${api.namespace}`)).status.phase, 'Terminating')
    const status = await api.refused(403, 'Forbidden', 'POST', api.configMaps, api.configMap('d'))
    assert.equal(status.details.causes[0].reason, 'NamespaceTerminating')
    await api.expect(200, 'PATCH', `${api.foos}/held`, { metadata: { finalizers: null } }, { type: MERGE })
    await api.refused(404, 'NotFound', 'GET', `/api/v1/namespaces/${api.namespace}`)
  }),
  caseOf('a deleted namespace reports what is left in it', async (api) => {
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
  }),
  script('the namespaces of the system cannot be deleted', [
    ...['default', 'kube-system', 'kube-public'].flatMap((name): Step[] => [
      `DELETE /api/v1/namespaces/${name}`,
      `DELETE /api/v1/namespaces/${name}?dryRun=All`,
    ]),
    'GET /api/v1/namespaces/default ? status.phase',
  ]),
])
