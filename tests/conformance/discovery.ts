/** Cases of discovery, health and the objects of a new server. kinds/scenarios.ts has discovery of built-in kinds. */
import assert from 'node:assert/strict'
import { type Body, type Case, caseOf } from './api.ts'
import { casesOf } from './transcript.ts'

const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json'

export const DISCOVERY_CASES: readonly Case[] = casesOf('discovery', [
  caseOf('aggregated discovery lists custom kinds', async (api) => {
    const answer = await api.request('GET', '/apis', undefined, { accept: AGGREGATED })
    assert.match(answer.headers['content-type']!, /as=APIGroupDiscoveryList/)
    const group = answer.body.items.find((each: Body) => each.metadata.name === api.group)
    const [foos] = group.versions.find((each: Body) => each.version === 'v1').resources
    assert.deepEqual(foos.responseKind, { group: api.group, version: 'v1', kind: 'Foo' })
    assert.deepEqual([foos.resource, foos.scope], ['foos', 'Namespaced'])
    assert.deepEqual(foos.subresources.map((each: Body) => each.subresource).toSorted(), ['scale', 'status'])
  }),
])
