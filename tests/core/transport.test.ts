import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isWatch, mayPause } from '../../lib/core/transport.ts'

test('watches, followed logs and proxied responses may pause', () => {
  const within = '/api/v1/namespaces/ns'
  for (const query of ['watch=true', 'x=1&watch=1', 'watch=true&x=1']) {
    assert.deepEqual([isWatch(`${within}/pods?${query}`), mayPause(`${within}/pods?${query}`)], [true, true], query)
  }
  const paths = ['/pods/a/log?follow=true', '/pods/a/log?x=1&follow=1', '/pods/a/proxy', '/services/a/proxy?x=1']
  for (const path of ['/api/v1/nodes/a/proxy/metrics', ...paths.map((path) => within + path)]) {
    assert.deepEqual([isWatch(path), mayPause(path)], [false, true], path)
  }
  for (
    const path of ['/pods', '/pods?watch=false', '/pods?watch=10', '/pods/a/log', '/secrets/a/proxy', '/pods/a/proxy1']
  ) {
    assert.equal(mayPause(within + path), false, path)
  }
})
