import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ipv6 } from '../../lib/core/ip.ts'

test('an IPv6 address may end as an IPv4 address', () => {
  assert.equal(ipv6('64:ff9b::192.0.2.33'), ipv6('64:ff9b::c000:221'))
})
