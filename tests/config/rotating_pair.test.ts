import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { loadConfig } from '../../lib/config/load.ts'
import { createAuthority, type IssuedCertificate } from '../../lib/runtime/net/certificates.ts'
import { RotatingPair } from '../../lib/config/rotating_pair.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { fakeEnvironment, kubeconfigOf } from './fake_environment.ts'

let [a, b]: IssuedCertificate[] = []
before(async () => {
  const authority = await createAuthority()
  ;[a, b] = [
    await authority.issue({ commonName: 'a', usage: 'client' }),
    await authority.issue({ commonName: 'b', usage: 'client' }),
  ]
})

/** A user with certificate and key in files, initially the first pair. */
async function setup(first: Partial<IssuedCertificate> = {}) {
  const environment = fakeEnvironment()
  const warnings: string[] = []
  const log = { ...silentLog, warn: (message: string) => void warnings.push(message) }
  const put = (cert: string, key: string): void => void Object.assign(environment.files, { '/crt': cert, '/key': key })
  put(first.cert ?? a!.cert, first.key ?? a!.key)
  environment.files['/k'] = kubeconfigOf({}, { 'client-certificate': '/crt', 'client-key': '/key' })
  const { cluster } = await loadConfig({ kubeconfig: '/k', environment, log })
  const credentials = cluster.credentials!
  return {
    environment,
    warnings,
    put,
    credentials,
    refused: () => cluster.invalidate!(),
    /** Throws if another pair is in use. */
    uses: async ({ cert, key }: IssuedCertificate) =>
      assert.deepEqual(await credentials(), { token: undefined, headers: undefined, cert, key }),
  }
}

test('half a rotation keeps the old pair; the new pair is used a second after it is complete', async () => {
  for (const order of ['certificate first', 'key first']) {
    const { environment, warnings, put, uses } = await setup()
    await uses(a!)
    environment.advance(60_000)
    if (order === 'certificate first') put(b!.cert, a!.key)
    else put(a!.cert, b!.key)
    await uses(a!)
    await uses(a!)
    assert.equal(warnings.length, 1)
    assert.match(warnings[0]!, /do not belong together, using the last two that did/)
    put(b!.cert, b!.key)
    environment.advance(1000)
    await uses(b!)
    // The second rotation like the first.
    environment.advance(60_000)
    put(a!.cert, b!.key)
    await uses(b!)
    put(a!.cert, a!.key)
    environment.advance(1000)
    await uses(a!)
  }
})

test('a half written between the two reads is harmless', async () => {
  const { environment, warnings, put, uses } = await setup()
  environment.advance(60_000)
  put(b!.cert, a!.key)
  const { readText } = environment
  let reads = 0
  environment.readText = (file) => {
    if (++reads === 3) put(b!.cert, b!.key)
    return readText(file)
  }
  await uses(b!)
  assert.deepEqual(warnings, [])
})

test('a partially written file keeps the old pair', async () => {
  const { environment, put, uses } = await setup()
  environment.advance(60_000)
  put(b!.cert.slice(0, 100), b!.key)
  await uses(a!)
  put(b!.cert, b!.key)
  environment.advance(1000)
  await uses(b!)
})

test('a pair that stays mismatched is read once a second and reported once a minute, not for each request', async () => {
  const { environment, warnings, put, uses, credentials } = await setup()
  environment.advance(60_000)
  put(b!.cert, a!.key)
  await uses(a!)
  const before = environment.reads.length
  for (let n = 0; n < 50; n++) await credentials()
  assert.equal(environment.reads.length, before)
  for (let second = 0; second < 119; second++) {
    environment.advance(1000)
    await uses(a!)
  }
  assert.ok(environment.reads.length - before <= 2 * 120, `${environment.reads.length - before} reads`)
  assert.equal(warnings.length, 2)
})

test('an initially mismatched pair is used, so that TLS refuses it with a reason, until it matches', async () => {
  const { environment, warnings, put, uses } = await setup({ key: b!.key })
  await uses({ cert: a!.cert, key: b!.key })
  assert.deepEqual(warnings, [])
  put(b!.cert, b!.key)
  environment.advance(1000)
  await uses(b!)
})

test('after a 401 both files are read at once', async () => {
  const { environment, put, uses, refused } = await setup()
  await uses(a!)
  put(b!.cert, b!.key)
  await uses(a!)
  refused()
  await uses(b!)
  // In the middle of a rotation, too.
  environment.advance(60_000)
  put(a!.cert, b!.key)
  await uses(b!)
  put(a!.cert, a!.key)
  refused()
  await uses(a!)
})

test('a pair that has not changed is not checked again', async () => {
  const fixed = (text: string) => ({ read: () => Promise.resolve(text), invalidate() {} })
  const [cert, key] = [fixed(a!.cert), fixed(a!.key)]
  const pair = new RotatingPair({ cert, key, clock: new FakeClock(), log: silentLog, at: 'here' })
  assert.equal(await pair.read(), await pair.read())
})
