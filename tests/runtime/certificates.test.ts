import assert from 'node:assert/strict'
import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto'
import { createServer, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { createAuthority, openAuthority } from '../../lib/runtime/net/certificates.ts'
import { readCertificate } from '../../lib/runtime/net/certificate_facts.ts'
import { readAll } from '../../lib/runtime/net/der.ts'
import { NOT_AN_AUTHORITY, RSA_AUTHORITY } from './openssl_certificates.ts'

const NOON = Date.UTC(2026, 10, 21, 12)
const DAY_MS = 24 * 60 * 60 * 1000

test('an authority is self-signed and may sign, but has no authorities below it', async () => {
  const authority = await createAuthority({ commonName: 'our ca', now: NOON, validForMs: DAY_MS })
  const cert = new X509Certificate(authority.ca)
  assert.equal(cert.subject, 'CN=our ca')
  assert.equal(cert.issuer, cert.subject)
  assert.equal(cert.ca, true)
  assert.equal(cert.verify(cert.publicKey), true)
  assert.equal(Date.parse(cert.validFrom), NOON - 60 * 60 * 1000)
  assert.equal(Date.parse(cert.validTo), NOON + DAY_MS)
  assert.ok(contains(cert.raw, '30060101ff020100'), 'basicConstraints: CA, path length 0')
  assert.ok(contains(cert.raw, '0603551d0f0101ff040403020106'), 'keyUsage: keyCertSign and cRLSign, critical')
})

test('a server certificate has its names and addresses, and is signed by its authority', async () => {
  const authority = await createAuthority({ now: NOON })
  const { cert, key } = await authority.issue({
    commonName: 'api',
    dnsNames: ['localhost', '*.svc.cluster.local'],
    ipAddresses: ['127.0.0.1', '::1', '::ffff:1.2.3.4', 'fe80::1:2'],
    usage: 'server',
  })
  const leaf = new X509Certificate(cert)
  const ca = new X509Certificate(authority.ca)
  assert.equal(leaf.verify(ca.publicKey), true)
  assert.equal(leaf.issuer, ca.subject)
  assert.equal(leaf.ca, false)
  assert.equal(leaf.subjectAltName?.split(', ').slice(0, 2).join(), 'DNS:localhost,DNS:*.svc.cluster.local')
  for (
    const bytes of [
      '87047f000001',
      `8710${'00'.repeat(15)}01`,
      `8710${'00'.repeat(10)}ffff01020304`,
      `8710fe80${'00'.repeat(10)}00010002`,
    ]
  ) {
    assert.ok(contains(leaf.raw, bytes), `address ${bytes}`)
  }
  assert.ok(contains(leaf.raw, '0603551d25040c300a06082b06010505070301'), 'extendedKeyUsage: serverAuth')
  assert.match(key, /^-----BEGIN PRIVATE KEY-----\n/)
  const ours = createPublicKey(createPrivateKey(key)).export({ type: 'spki', format: 'der' })
  assert.deepEqual(leaf.publicKey.export({ type: 'spki', format: 'der' }), ours)
})

test('a client certificate names a user and groups', async () => {
  const authority = await createAuthority()
  const { cert } = await authority.issue({
    commonName: 'jörg',
    organizations: ['system:masters', 'dev'],
    usage: 'client',
  })
  const leaf = new X509Certificate(cert)
  assert.deepEqual(subjectOf(leaf), ['O=system:masters', 'O=dev', 'CN=jörg'])
  assert.ok(contains(leaf.raw, '0603551d25040c300a06082b06010505070302'), 'extendedKeyUsage: clientAuth')
  assert.equal(leaf.subjectAltName, undefined)
})

test('key ids link a leaf to its authority', async () => {
  const authority = await createAuthority()
  const { cert } = await authority.issue({ commonName: 'a', usage: 'client' })
  const ca = Buffer.from(new X509Certificate(authority.ca).raw).toString('hex')
  const subjectKeyId = /0603551d0e04160414([0-9a-f]{40})/.exec(ca)?.[1]
  assert.ok(subjectKeyId)
  assert.ok(contains(new X509Certificate(cert).raw, `0603551d23041830168014${subjectKeyId}`), 'authorityKeyId')
})

test('a leaf never outlives its authority, and serial numbers are positive and differ', async () => {
  const authority = await createAuthority({ now: NOON, validForMs: 10 * DAY_MS })
  const [long, short] = await Promise.all([
    authority.issue({ commonName: 'long', usage: 'client' }),
    authority.issue({ commonName: 'short', usage: 'client', validForMs: DAY_MS }),
  ])
  const [a, b] = [new X509Certificate(long.cert), new X509Certificate(short.cert)]
  assert.equal(Date.parse(a.validTo), NOON + 10 * DAY_MS)
  assert.equal(Date.parse(b.validTo), NOON + DAY_MS)
  assert.notEqual(a.serialNumber, b.serialNumber)
  for (const { serialNumber } of [a, b]) assert.match(serialNumber, /^[4-7][0-9A-F]{31}$/)
})

test('dates from 2050 on are GeneralizedTime', async () => {
  const authority = await createAuthority({ now: Date.UTC(2049, 11, 31, 23, 30), validForMs: DAY_MS })
  const cert = new X509Certificate(authority.ca)
  assert.equal(Date.parse(cert.validTo), Date.UTC(2050, 0, 1, 23, 30))
  assert.ok(contains(cert.raw, Buffer.from('\x17\x0d491231223000Z').toString('hex')), 'UTCTime')
  assert.ok(contains(cert.raw, Buffer.from('\x18\x0f20500101233000Z').toString('hex')), 'GeneralizedTime')
})

test('an authority opened from its text issues certificates that the first one verifies', async () => {
  const first = await createAuthority()
  const { ca, key } = first.save()
  const again = await openAuthority(ca, key)
  assert.equal(again.ca, first.ca)
  const { cert } = await again.issue({ commonName: 'a', usage: 'client' })
  assert.equal(new X509Certificate(cert).verify(new X509Certificate(first.ca).publicKey), true)
})

test("subject and key id of another tool's RSA authority are kept byte for byte", async () => {
  const authority = await openAuthority(RSA_AUTHORITY.cert, RSA_AUTHORITY.key)
  const leaf = new X509Certificate((await authority.issue({ commonName: 'a', usage: 'client' })).cert)
  const ca = new X509Certificate(RSA_AUTHORITY.cert)
  assert.equal(leaf.verify(ca.publicKey), true)
  assert.equal(leaf.issuer, ca.subject)
  assert.ok(contains(leaf.raw, `0603551d23041830168014${RSA_AUTHORITY.subjectKeyId}`), 'authorityKeyId')
})

test('openAuthority refuses a leaf, another key and invalid PEM, without the key in the error', async () => {
  const [a, b] = [(await createAuthority()).save(), (await createAuthority()).save()]
  const refused = async (ca: string, key: string, message: RegExp): Promise<void> => {
    await assert.rejects(
      openAuthority(ca, key),
      (error: Error) => message.test(error.message) && !error.message.includes('BEGIN'),
    )
  }
  await refused(a.ca, b.key, /^Cannot open a certificate authority: the certificate belongs to another key; pass/)
  await refused(NOT_AN_AUTHORITY.cert, NOT_AN_AUTHORITY.key, /the certificate is not a CA certificate; use/)
  await refused('nonsense', a.key, /its certificate is not a certificate in PEM$/)
  await refused(a.ca, 'nonsense', /its key is not a private key in PEM$/)
})

test('the facts of a certificate: its validity, its issuer and its names', async () => {
  const [ours, other] = [
    await createAuthority({ now: NOON, validForMs: 2 * DAY_MS }),
    await createAuthority({ now: NOON }),
  ]
  const names = { dnsNames: ['localhost', 'a.b.svc'], ipAddresses: ['127.0.0.1', '::1', 'fd12:3456::78'] }
  const { cert } = await ours.issue({ commonName: 'x', ...names, usage: 'server', validForMs: DAY_MS })
  const leaf = readCertificate(cert)!
  assert.deepEqual([leaf.isAuthority, leaf.notAfterMs], [false, NOON + DAY_MS])
  assert.ok(leaf.notBeforeMs < NOON)
  const ca = readCertificate(ours.ca)!
  assert.deepEqual([ca.isAuthority, ca.notAfterMs, ca.isIssuedBy(ours.ca)], [true, NOON + 2 * DAY_MS, true])
  assert.equal(leaf.isIssuedBy(ours.ca), true)
  assert.equal(leaf.isIssuedBy(other.ca), false, 'the same name, another key')
  assert.equal(leaf.isIssuedBy('nonsense'), false)
  assert.equal(leaf.hasNames(names), true)
  assert.deepEqual(leaf.names, { ...names, ipAddresses: ['127.0.0.1', '0:0:0:0:0:0:0:1', 'fd12:3456:0:0:0:0:0:78'] })
  assert.deepEqual(ca.names, { dnsNames: [], ipAddresses: [] })
  assert.equal(leaf.hasNames({ dnsNames: ['a.b.svc'], ipAddresses: ['0:0:0:0:0:0:0:1'] }), true)
  assert.equal(leaf.hasNames({}), true)
  for (
    const missing of [{ dnsNames: ['b.svc'] }, { dnsNames: ['localhost', 'b'] }, { ipAddresses: ['127.0.0.2'] }, {
      dnsNames: ['127.0.0.1'],
    }]
  ) assert.equal(leaf.hasNames(missing), false, JSON.stringify(missing))
  assert.equal(ca.hasNames({ dnsNames: ['x'] }), false)
  assert.equal(readCertificate('nonsense'), undefined)
  assert.equal(readCertificate(''), undefined)
})

test('issue refuses a server without names, invalid addresses and names outside ASCII', async () => {
  const authority = await createAuthority()
  await assert.rejects(
    authority.issue({ commonName: 'x', usage: 'server' }),
    /Cannot issue a certificate for "x": it has no names; set dnsNames or ipAddresses/,
  )
  for (
    const address of ['1.2.3', '1.2.3.256', '01.2.3.4', '1.2.3.4.5', '1:2', ':::', '::1]', 'fe80::1%eth0', 'a', '']
  ) {
    await assert.rejects(
      authority.issue({ commonName: 'x', usage: 'server', ipAddresses: [address] }),
      { message: `Cannot issue a certificate for "x": "${address}" is not an IP address` },
    )
  }
  await assert.rejects(
    authority.issue({ commonName: 'x', usage: 'server', dnsNames: ['bücher'] }),
    /"bücher" is not a DNS name in ASCII/,
  )
})

test('both sides of TLS accept certificates of one authority, and no others', async () => {
  const [ours, other] = [await createAuthority(), await createAuthority()]
  const served = await ours.issue({ commonName: 'server', ipAddresses: ['127.0.0.1'], usage: 'server' })
  const client = await ours.issue({ commonName: 'client', usage: 'client' })
  const stranger = await other.issue({ commonName: 'client', usage: 'client' })
  const server = createServer(
    { ...served, ca: ours.ca, requestCert: true, rejectUnauthorized: true },
    (_, answer) => answer.end('hello'),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  try {
    assert.equal(await get(port, { ca: ours.ca, ...client }), 'hello')
    await assert.rejects(get(port, { ca: other.ca, ...client }), 'an unknown authority')
    await assert.rejects(get(port, { ca: ours.ca, ...stranger }), "a stranger's certificate")
    await assert.rejects(get(port, { ca: ours.ca, ...client, servername: 'localhost' }), {
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    })
  } finally {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

test('readAll throws if a value is cut off', () => {
  assert.throws(
    () => readAll(Uint8Array.of(0x30, 0x03, 0x02, 0x01)),
    /Cannot read DER: a value of 3 bytes at 0 is cut off/,
  )
})

function get(port: number, tls: { ca: string; cert: string; key: string; servername?: string }): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, agent: false, ...tls }, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (part: string) => (text += part)).on('end', () => resolve(text)).on(
        'error',
        reject,
      )
    })
    sent.on('error', reject).end()
  })
}

function contains(bytes: Uint8Array, hex: string): boolean {
  return Buffer.from(bytes).toString('hex').includes(hex)
}

/** Reads the subject's parts from the bytes, because runtimes print names outside ASCII differently. */
function subjectOf(certificate: X509Certificate): string[] {
  const [text] = readAll(readAll(certificate.raw)[0]?.content ?? new Uint8Array())
  const subject = readAll(text?.content ?? new Uint8Array())[5]
  return readAll(subject?.content ?? new Uint8Array()).map((set) => {
    const [type, value] = readAll(readAll(set.content)[0]?.content ?? new Uint8Array())
    return `${type?.content.at(-1) === 10 ? 'O' : 'CN'}=${new TextDecoder().decode(value?.content)}`
  })
}
