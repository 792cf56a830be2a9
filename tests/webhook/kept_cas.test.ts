import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAuthority } from '../../lib/runtime/net/certificates.ts'
import { KeptCas } from '../../lib/webhook/certificates/kept_cas.ts'

const HOUR_MS = 3_600_000
const NOW = Date.UTC(2026, 0, 1)
const ca = async (validForMs?: number) => (await createAuthority({ now: NOW, ...(validForMs && { validForMs }) })).ca

test('CAs that a leader finds stay for an hour, later ones stay, and its own earlier and expired ones go', async () => {
  const [own, next, found, later, expired] = [await ca(), await ca(), await ca(), await ca(), await ca(60_000)]
  const kept = new KeptCas()
  const keeps = (pem: string, afterMs = 0): boolean => kept.keeps(pem, NOW + afterMs, 5000 + afterMs)
  kept.begin(own)
  assert.deepEqual([found, expired, own, 'torn'].map((pem) => keeps(pem)), [true, true, false, false])
  kept.end(5000)
  kept.begin(`${next}\n${own}`)
  assert.deepEqual([later, found, expired].map((pem) => keeps(pem, 60_000)), [true, true, false])
  kept.begin(next)
  assert.deepEqual([own, found].map((pem) => keeps(pem, HOUR_MS - 1)), [false, true])
  assert.deepEqual([found, later].map((pem) => keeps(pem, HOUR_MS)), [false, true])
  assert.ok(keeps(later, 2 * HOUR_MS))
  assert.equal(keeps(found.replaceAll('\n', '\r\n'), HOUR_MS), false, 'it is the same certificate')
  kept.end(5000 + HOUR_MS)
  assert.ok(keeps(found, 2 * HOUR_MS), 'a replica of another release has added it again')
  // A failed injection is no first look: what it has not reached was not added later.
  const failed = new KeptCas()
  failed.begin(own)
  failed.begin(own)
  assert.equal(failed.keeps(found, NOW, 0) && failed.keeps(found, NOW, HOUR_MS), false)
})
