import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import type { TLSSocket } from 'node:tls'
import { join } from 'node:path'
import { test } from 'node:test'
import { NetworkError } from '../../lib/core/errors.ts'
import { parseServer } from '../../lib/runtime/net/address.ts'
import { AgentPool } from '../../lib/runtime/net/agent.ts'
import { createAuthority, type IssuedCertificate } from '../../lib/runtime/net/certificates.ts'
import { isUntrusted, networkError } from '../../lib/runtime/net/network_error.ts'
import { httpTransport } from '../../lib/runtime/net/transport.ts'
import { withFolder } from '../tools/folder.ts'
import {
  certificates,
  type Handler,
  isNetworkError,
  keeping,
  servePlain,
  serveTls,
  type TestServer,
  textOf,
} from './servers.ts'

/** Responds with whether the client's certificate was accepted; on Bun a server knows no more about it. */
const sayAuthorized: Handler = (request, response) => response.end(String((request.socket as TLSSocket).authorized))

async function serveClients(): Promise<TestServer> {
  const { authority } = await certificates()
  return serveTls(sayAuthorized, { requestCert: true, rejectUnauthorized: true, ca: authority.ca })
}

const isConnectError = (message: RegExp) => isNetworkError('connect', message)

keeping('a server whose CA is not trusted is refused before anything is sent', async (keep) => {
  let requests = 0
  const server = await keep.serveTls((_, response) => {
    requests++
    response.end()
  })
  const other = await createAuthority()
  for (const ca of [other.ca, undefined]) {
    const transport = keep(httpTransport({ server: server.url, ca, token: 'very-secret' }))
    await assert.rejects(textOf(transport), (error) => {
      assert.doesNotMatch(String(error), /very-secret/)
      const start =
        `^Cannot connect to 127.0.0.1:${server.port}: its certificate is not signed by a CA that is trusted here`
      return isConnectError(new RegExp(start))(error)
    })
  }
  assert.equal(requests, 0)
})

keeping('a certificate for another name is refused', async (keep) => {
  const { authority } = await certificates()
  const leaf = await authority.issue({ commonName: 'x', dnsNames: ['other.test'], usage: 'server' })
  const server = await keep.serveTls((_, response) => response.end('ok'), leaf)
  const transport = await keep.transportTo(server)
  await assert.rejects(
    textOf(transport),
    isConnectError(/its certificate is for another name; .*set tls-server-name/),
  )
})

keeping('tls-server-name is the name that is verified', async (keep) => {
  const server = await keep.serveTls((_, response) => response.end('ok'))
  const right = await keep.transportTo(server, { serverName: 'api.test' })
  assert.equal((await textOf(right)).text, 'ok')
  const wrong = await keep.transportTo(server, { serverName: 'else.test' })
  await assert.rejects(textOf(wrong), isConnectError(/for another name/))
})

keeping('insecure trusts any certificate', async (keep) => {
  const server = await keep.serveTls((_, response) => response.end('ok'))
  const transport = keep(httpTransport({ server: server.url, insecure: true }))
  assert.equal((await textOf(transport)).text, 'ok')
})

keeping('an expired certificate is refused with that reason', async (keep) => {
  const { authority } = await certificates()
  const now = Date.now() - 3_600_000
  const leaf = await authority.issue({
    commonName: 'x',
    ipAddresses: ['127.0.0.1'],
    usage: 'server',
    now: now,
    validForMs: 60_000,
  })
  const server = await keep.serveTls((_, response) => response.end('ok'), leaf)
  const transport = await keep.transportTo(server)
  await assert.rejects(textOf(transport), isConnectError(/has expired;/))
})

keeping('an EC client certificate is sent', async (keep) => {
  const { authority } = await certificates()
  const server = keep(await serveClients())
  const client = await authority.issue({ commonName: 'me', organizations: ['system:masters'], usage: 'client' })
  const transport = await keep.transportTo(server, client)
  assert.equal((await textOf(transport)).text, 'true')
})

keeping('an RSA client certificate is sent, with a key in PKCS#8 or PKCS#1', async (keep) => {
  const server = keep(await serveClients())
  for (const key of ['pkcs8', 'pkcs1'] as const) {
    const transport = await keep.transportTo(server, await rsaClient(key))
    assert.equal((await textOf(transport)).text, 'true', key)
  }
})

keeping('a missing client certificate is an error that names the reason', async (keep) => {
  const server = keep(await serveClients())
  const transport = await keep.transportTo(server)
  // In TLS 1.3 the refusal comes after the client's handshake, so the phase may be either.
  await assert.rejects(textOf(transport), (error) => {
    assert.ok(error instanceof NetworkError, String(error))
    assert.match(error.message, /client certificate|connection was lost/)
    return true
  })
})

keeping('a key that does not match, is invalid or is missing is refused before connecting', async (keep) => {
  const { authority } = await certificates()
  const server = keep(await serveClients())
  const [one, two] = [
    await authority.issue({ commonName: 'a', usage: 'client' }),
    await authority.issue({ commonName: 'b', usage: 'client' }),
  ]
  const cases: [Partial<IssuedCertificate>, RegExp][] = [
    [{ cert: one.cert, key: two.key }, /the client certificate and its key do not belong together/],
    [{ cert: one.cert, key: 'garbage' }, /the client certificate or its key cannot be read/],
    [{ cert: 'garbage', key: one.key }, /the client certificate or its key cannot be read/],
    [{ cert: one.cert }, /there is a client certificate, but no client key/],
  ]
  for (const [config, message] of cases) {
    const transport = await keep.transportTo(server, config)
    await assert.rejects(textOf(transport), isConnectError(message))
  }
  assert.equal(server.connections(), 0)
})

keeping('a rotated certificate is used for new connections, and a watch on an old one continues', async (keep) => {
  const { authority } = await certificates()
  const watching = Promise.withResolvers<import('node:http').ServerResponse>()
  const server = await keep.serveTls((request, response) => {
    if (!request.url!.includes('watch')) return void response.end(String((request.socket as TLSSocket).authorized))
    response.write('1')
    watching.resolve(response)
  }, { requestCert: true, rejectUnauthorized: false, ca: authority.ca })
  const foreign = await (await createAuthority()).issue({ commonName: 'a', usage: 'client' })
  let current = foreign
  const transport = await keep.transportTo(server, { credentials: () => Promise.resolve(current) })
  const watch = (await transport({ method: 'GET', path: '/?watch=1' })).body[Symbol.asyncIterator]()
  await watch.next()
  assert.equal((await textOf(transport)).text, 'false')
  assert.equal(server.connections(), 2)
  current = await authority.issue({ commonName: 'b', usage: 'client' })
  assert.equal((await textOf(transport)).text, 'true')
  assert.equal((await textOf(transport)).text, 'true')
  assert.equal(server.connections(), 3)
  ;(await watching.promise).end('2')
  assert.equal(Buffer.from((await watch.next()).value!).toString(), '2')
  assert.equal((await watch.next()).done, true)
  // Its connection is not kept, because it would never be used again.
  await server.closedConnections(2)
})

test('connections are shared for the same material only: CA, certificate and key', async () => {
  const { authority } = await certificates()
  const { cert, key } = await authority.issue({ commonName: 'a', usage: 'client' })
  const material = { ca: authority.ca, cert, key }
  const address = parseServer('https://127.0.0.1:1')
  const pool = new AgentPool({ address, proxy: undefined, serverName: undefined, insecure: false })
  for (const part of ['ca', 'cert', 'key'] as const) {
    const agent = pool.agent(material)
    assert.equal(pool.agent({ ...material }), agent)
    assert.notEqual(pool.agent({ ...material, [part]: material[part].trimEnd() }), agent, part)
  }
})

test('an idle connection is closed before a load balancer closes it, with and without TLS', () => {
  for (const url of ['https://127.0.0.1:1', 'http://127.0.0.1:1']) {
    const options = { address: parseServer(url), proxy: undefined, serverName: undefined, insecure: false }
    const agent = new AgentPool(options).agent({ ca: undefined, cert: undefined, key: undefined })
    const { timeout } = (agent as unknown as { readonly options: { readonly timeout: number } }).options
    assert.ok(timeout > 30_000 && timeout < 60_000, `${timeout}`)
  }
})

keeping('a rotated CA is trusted for new connections', async (keep) => {
  const [old, next] = await Promise.all([createAuthority(), createAuthority()])
  const leaf = await next.issue({ commonName: 'x', ipAddresses: ['127.0.0.1'], usage: 'server' })
  const server = await keep.serveTls((_, response) => response.end('ok'), leaf)
  let ca = old.ca
  const transport = await keep.transportTo(server, { ca: () => Promise.resolve(ca) })
  await assert.rejects(textOf(transport), isConnectError(/not signed by a CA/))
  ca = `${old.ca}\n${next.ca}`
  assert.equal((await textOf(transport)).text, 'ok')
})

test('each code by which a runtime refuses a certificate names the remedy, and whether its CA is not trusted', () => {
  const untrusted = /its certificate is not signed by a CA that is trusted here[;,].* check certificate-authority-data/
  const rows = {
    SELF_SIGNED_CERT_IN_CHAIN: untrusted,
    DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
    UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
    UNABLE_TO_GET_ISSUER_CERT: untrusted,
    UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
    CERT_SIGNATURE_FAILURE: untrusted,
    CERT_UNTRUSTED: untrusted,
    CERT_HAS_EXPIRED: /has expired; renew it/,
    CERT_NOT_YET_VALID: /not valid yet; check the clock/,
    ERR_TLS_CERT_ALTNAME_INVALID: /is for another name; .* tls-server-name/,
    ERR_SSL_TLSV1_ALERT_UNKNOWN_CA: /check client-certificate-data/,
    ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE: /check client-certificate-data/,
    ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: /check client-certificate-data/,
    EPROTO: /does not speak TLS on this port/,
    ERR_SSL_WRONG_VERSION_NUMBER: /does not speak TLS on this port/,
    EHOSTUNREACH: /there is no route to it/,
    ENETUNREACH: /there is no route to it/,
    ENOTFOUND: /its name cannot be resolved/,
    EAI_AGAIN: /its name cannot be resolved/,
    EAI_NODATA: /its name cannot be resolved/,
    ETIMEDOUT: /no answer in time/,
    ECONNRESET: /the connection was closed before it was ready/,
    ECONNABORTED: /the connection was closed before it was ready/,
    EPIPE: /the connection was closed before it was ready/,
    ERR_SOCKET_CLOSED: /the connection was closed before it was ready/,
    ERR_STREAM_PREMATURE_CLOSE: /the connection was closed before it was ready/,
    EMFILE: /raise the limit/,
  }
  for (const [thrown, text] of [['odd\nat ssl.c', 'odd (EODD)'], ['EODD: odd', 'EODD: odd']] as const) {
    const { message } = networkError(Object.assign(new Error(thrown), { code: 'EODD' }), 'connect', 'a:1')
    assert.ok(message.endsWith(`: ${text}`), message)
  }
  for (const [code, message] of Object.entries(rows)) {
    const of = (phase: NetworkError['phase']) => networkError(Object.assign(new Error('x'), { code }), phase, 'a:1')
    isNetworkError('connect', message, code)(of('connect'))
    assert.deepEqual([isUntrusted(of('connect')), isUntrusted(of('response'))], [message === untrusted, false], code)
  }
})

keeping('a closed port, an unknown name and a server without TLS have different errors', async (keep) => {
  const gone = await servePlain(() => {})
  await gone.close()
  const plain = await keep.servePlain((_, response) => response.end())
  for (
    const [server, message] of [
      [`https://127.0.0.1:${gone.port}`, /connection refused; check that the server runs.*\(ECONNREFUSED\)/],
      ['https://kubeloop.invalid', /^Cannot connect to kubeloop\.invalid:443: its name cannot be resolved/],
      [`https://127.0.0.1:${plain.port}`, /does not speak TLS on this port/],
    ] as const
  ) {
    const transport = keep(httpTransport({ server }))
    await assert.rejects(textOf(transport), isConnectError(message))
  }
})

/** Creates an RSA key and its certificate by the shared authority with openssl: `issue` creates EC keys only. */
async function rsaClient(type: 'pkcs1' | 'pkcs8'): Promise<IssuedCertificate> {
  const { authority } = await certificates()
  return withFolder((folder) => {
    const saved = authority.save()
    writeFileSync(join(folder, 'ca.crt'), saved.ca)
    writeFileSync(join(folder, 'ca.key'), saved.key, { mode: 0o600 })
    const openssl = (command: string): Buffer =>
      execFileSync('openssl', command.split(' '), { cwd: folder, stdio: 'pipe' })
    openssl(`genrsa ${type === 'pkcs1' ? '-traditional ' : ''}-out c.key 2048`)
    openssl('req -new -key c.key -out c.csr -subj /CN=rsa')
    // Without an extension it is X.509 v1, which rustls (Deno's server) refuses.
    writeFileSync(join(folder, 'extensions'), 'extendedKeyUsage=clientAuth\n')
    openssl('x509 -req -in c.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile extensions -out c.crt')
    const key = readFileSync(join(folder, 'c.key'), 'utf8')
    assert.match(key, type === 'pkcs1' ? /BEGIN RSA PRIVATE KEY/ : /BEGIN PRIVATE KEY/)
    return { cert: readFileSync(join(folder, 'c.crt'), 'utf8'), key }
  })
}
