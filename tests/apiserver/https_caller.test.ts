import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { httpsCaller } from '../../lib/apiserver/webhooks/https_caller.ts'
import { encodeBase64 } from '../../lib/core/base64.ts'
import { createAuthority } from '../../lib/runtime/net/certificates.ts'

test('a webhook is called by the CA of the call, and connections are kept to 16 servers', async () => {
  const authority = await createAuthority()
  const { cert, key } = await authority.issue({ usage: 'server', commonName: 'a', ipAddresses: ['127.0.0.1'] })
  let open = 0
  let onClose = (): void => {}
  const server = createServer({ cert, key, keepAliveTimeout: 0 }, (_, response) => response.end('{}'))
  server.on('secureConnection', (socket) => {
    open++
    socket.on('error', () => {}).on('close', () => (open--, onClose()))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const call = httpsCaller()
  const answer = (ca: string) =>
    call({ url, caBundle: encodeBase64(ca) }, '{}', { timeoutMs: 10_000, signal: AbortSignal.timeout(10_000) })
  for (let at = 0; at < 20; at++) {
    assert.deepEqual(await answer(authority.ca + '\n'.repeat(at)), { status: 200, body: '{}' })
  }
  await assert.rejects(answer((await createAuthority()).ca))
  // The oldest ones are closed: 15 of these, beside that of the last CA, which is not trusted.
  while (open > 15) await new Promise<void>((resolve) => (onClose = resolve))
  assert.equal(open, 15)
  server.close()
  server.closeAllConnections()
})
