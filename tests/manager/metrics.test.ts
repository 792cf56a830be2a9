import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Cache } from '../../lib/cache/cache.ts'
import { memoryMeter } from '../observe/memory_meter.ts'

test('caches are reported at each scrape, by cluster, kind and namespace, until the end', () => {
  const meter = memoryMeter()
  const resource = { group: 'apps', version: 'v1', kind: 'Deployment', plural: 'deployments', scope: 'Namespaced' }
  const own = { resource, namespace: undefined, isSynced: true, failure: undefined as unknown }
  const west = { resource, namespace: 'a', isSynced: false, failure: undefined as unknown }
  const cacheOf = (...informers: unknown[]): Cache => ({ informers: () => informers }) as unknown as Cache
  const westInformers = [west]
  const end = meter.caches(
    new Map([['', cacheOf(own)], ['west', { informers: () => westInformers } as unknown as Cache]]),
  )
  const value = (cluster: string, namespace: string): number | undefined =>
    meter.value('kubeloop_cache_synced', { cluster, namespace, resource: 'deployments.apps' })
  assert.deepEqual(meter.series(), [])
  meter.scrape()
  assert.deepEqual([value('', ''), value('west', 'a')], [1, 0])
  own.failure = new Error('refused')
  westInformers.length = 0
  meter.scrape()
  assert.deepEqual([value('', ''), value('west', 'a')], [0, undefined])
  end()
  assert.deepEqual(meter.series(), [])
  meter.scrape()
  assert.deepEqual(meter.series(), [])
})
