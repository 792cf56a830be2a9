/** Cases of deletion, with and without finalizers. */
import assert from 'node:assert/strict'
import { type Case, caseOf, MERGE } from './api.ts'
import { casesOf, foo, script } from './transcript.ts'

export const DELETION_CASES: readonly Case[] = casesOf('deletion', [
  script('finalizers cannot be added during a deletion', [
    ['POST foos', foo('a', { size: 1 }, { finalizers: ['x.io/a'] })],
    'DELETE foos/a',
    ['MERGE foos/a', { metadata: { finalizers: ['x.io/a', 'x.io/b'] } }],
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
])
